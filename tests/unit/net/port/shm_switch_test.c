/* SPDX-License-Identifier: BSD-2-Clause */
/* A port whose far end is none of ours: a switch, honest or not. */
#include "shm_switched.h"

#include <poll.h>

TEST(rx__sees_marks_and_counts_what_is_foul)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_dscp dscp = WEFT_DSCP_DEFAULT;
	struct weft_pkt out = data(1, 0, 42), in[8];
	struct switched s;

	open_switched(&s, &config);
	CHECK_EQ(weft_shm_port_number(s.port), 5000);
	for (uint32_t i = 0; i < 6; i++) {
		uint8_t *ip = weft_shm_packet(&s.pool, i);
		struct weft_shm_desc desc = { .slot = i,
			.bytes = (uint16_t)raw_put(s.raw, &out, ip) };

		if (i == 1)
			ip[1] |= 0x10; /* ECT(0) becomes CE */
		if (i == 2) {
			desc.bytes = 114;
			ip[0] = (uint8_t)(0x60 | dscp.trimmed >> 2);
			ip[1] = (uint8_t)(dscp.trimmed << 6);
		}
		if (i == 3)
			ip[200] ^= 1;
		if (i == 4)
			desc.plane = 1; /* not where its source sends */
		if (i == 5)
			memset(ip, 0x66, desc.bytes);
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_RX, &desc, 1), 1);
	}
	CHECK_EQ(s.port->ops->rx(s.port, in, 8), 3);
	CHECK_EQ(in[0].mark, 0);
	CHECK_EQ(in[1].mark, WEFT_MARK_CE);
	CHECK_EQ(in[2].mark, WEFT_MARK_TRIMMED);
	CHECK_EQ(in[2].psn, 42);
	CHECK_EQ(in[2].w.len_bytes, 0);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_BAD_ICRC], 1);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_UNKNOWN_PEER], 1);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_TRUNCATED], 1); /* it says 26214 bytes */
	struct pollfd bell = { .fd = weft_shm_wait_fd(s.link), .events = POLLIN };
	struct weft_shm_desc back[8];

	CHECK(weft_shm_bell_clear(s.link));
	weft_shm_will_sleep(s.link, true);
	CHECK_EQ(s.port->ops->rx(s.port, in, 8), 0);
	CHECK_EQ(poll(&bell, 1, 0), 0); /* slots that are read are nothing to wake a switch for */
	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_DONE, back, 8), 6); /* the foul ones as well */
	close_switched(&s);
}

TEST(room__keeps_a_planes_queue_short)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_shm_desc descs[48];
	struct switched s;
	size_t max;

	config.queue_pkts = 8;
	open_switched(&s, &config);
	CHECK_EQ(s.port->ops->room(s.port, &max), 0); /* no slots yet */
	for (uint32_t i = 0; i < 48; i++)
		descs[i] = (struct weft_shm_desc){ .slot = i };
	CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, descs, 48), 48);
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(max, 8);
	struct weft_pkt out[8];

	for (unsigned i = 0; i < 8; i++)
		out[i] = data(3, 0, i);
	s.port->ops->tx(s.port, out, 8, WEFT_WAKE_NOW);
	CHECK_EQ(s.port->ops->room(s.port, &max), 2);
	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_TX, descs, 3), 3);
	uint64_t now = weft_clock_now(NULL);

	CHECK(descs[0].at_ns <= now && descs[0].at_ns + SECOND > now);
	CHECK_EQ(descs[0].flags, 0);
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(max, 3);
	s.port->ops->tx(s.port, out, 1, (struct weft_wake){ .is_bulk = true });
	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_TX, descs, 48), 6);
	CHECK_EQ(descs[4].flags, 0);
	CHECK_EQ(descs[5].flags, WEFT_SHM_BULK);
	close_switched(&s);
}

/* True: a wait that might have lasted ten seconds ended at once. */
static bool ends_at_once(struct weft_port *port)
{
	uint64_t from = weft_clock_now(NULL);

	port->ops->wait(port, 10 * SECOND);
	return weft_clock_now(NULL) - from < SECOND;
}

TEST(wait_for__does_not_sleep_over_slots_or_room_that_came_meanwhile)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_shm_desc desc[8];
	struct weft_pkt out[4];
	struct switched s;
	size_t max;

	config.queue_pkts = 4;
	open_switched(&s, &config);
	CHECK_EQ(s.port->ops->carrier(s.port), 0);
	CHECK_EQ(s.port->ops->room(s.port, &max), 0);
	for (uint32_t i = 0; i < 8; i++)
		desc[i] = (struct weft_shm_desc){ .slot = i };
	CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, desc, 8), 8); /* and no bell */
	CHECK(ends_at_once(s.port));
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	for (uint32_t i = 0; i < 4; i++)
		out[i] = data(3, 0, i);
	s.port->ops->tx(s.port, out, 4, WEFT_WAKE_NOW);
	CHECK_EQ(s.port->ops->room(s.port, &max), 2);
	CHECK_EQ(weft_shm_take(s.link, WEFT_SHM_TX, desc, 2), 2);
	CHECK(ends_at_once(s.port));
	CHECK_EQ(s.port->ops->room(s.port, &max), 3);
	CHECK_EQ(max, 2);
	close_switched(&s);
}

TEST(tx__makes_the_icrc_that_it_was_told_to__and_rx_believes_as_much)
{
	static const struct {
		enum weft_icrc_use use;
		enum weft_drop at_checker; /* of what we send */
		size_t taken;              /* of what came with a wrong one */
	} rows[] = {
		{ WEFT_ICRC_CHECKED, WEFT_DROP_COUNT, 0 },
		{ WEFT_ICRC_MADE, WEFT_DROP_COUNT, 1 },
		{ WEFT_ICRC_NONE, WEFT_DROP_BAD_ICRC, 1 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_shm_port_config config = config_of(1, false);
		struct weft_pkt out = data(3, 0, 1), in;
		struct weft_shm_desc desc = { .slot = 1 };
		struct switched s;
		size_t max;

		config.icrc = rows[i].use;
		open_switched(&s, &config);
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_FILL, &desc, 1), 1);
		CHECK_EQ(s.port->ops->room(s.port, &max), 3);
		s.port->ops->tx(s.port, &out, 1, WEFT_WAKE_NOW);
		REQUIRE(weft_shm_take(s.link, WEFT_SHM_TX, &desc, 1) == 1);
		uint8_t *ip = weft_shm_packet(&s.pool, desc.slot), dst[16];

		weft_usid_shift(ip + 24, 3, dst);
		memcpy(ip + 24, dst, 16);
		CHECK_EQ(raw_get(s.raw, 0, ip, desc.bytes, &in), rows[i].at_checker);
		out = data(1, 0, 2);
		desc = (struct weft_shm_desc){ .slot = 2 };
		ip = weft_shm_packet(&s.pool, desc.slot);
		desc.bytes = (uint16_t)raw_put(s.raw, &out, ip);
		ip[200] ^= 1;
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_RX, &desc, 1), 1);
		CHECK_EQ(s.port->ops->rx(s.port, &in, 1), rows[i].taken);
		CHECK_EQ(s.port->stats.drops[WEFT_DROP_BAD_ICRC], !rows[i].taken);
		close_switched(&s);
	}
}

/* Memory flips no bits, but the wire in front of it may have. */
TEST(rx__checks_what_came_by_a_wire_whatever_it_trusts)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct weft_pkt out = data(1, 0, 2), in[2];
	struct switched s;

	config.icrc = WEFT_ICRC_MADE;
	open_switched(&s, &config);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t *ip = weft_shm_packet(&s.pool, i);
		struct weft_shm_desc desc = { .slot = i, .flags = WEFT_SHM_DOUBTED };

		desc.bytes = (uint16_t)raw_put(s.raw, &out, ip);
		ip[200] ^= (uint8_t)i;
		CHECK_EQ(weft_shm_put(s.link, WEFT_SHM_RX, &desc, 1), 1);
	}
	CHECK_EQ(s.port->ops->rx(s.port, in, 2), 1);
	CHECK_EQ(s.port->stats.drops[WEFT_DROP_BAD_ICRC], 1);
	close_switched(&s);
}

TEST(carrier__is_what_the_switch_says_and_wakes)
{
	struct weft_shm_port_config config = config_of(1, false);
	struct switched s;

	open_switched(&s, &config);
	CHECK_EQ(s.port->ops->carrier(s.port), 0);
	weft_shm_carrier_set(s.link, 2);
	uint64_t from = weft_clock_now(NULL);

	s.port->ops->wait(s.port, 10 * SECOND);
	CHECK(weft_clock_now(NULL) - from < SECOND);
	CHECK_EQ(s.port->ops->carrier(s.port), 2);
	close_switched(&s);
}
