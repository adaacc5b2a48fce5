/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

#include <jansson.h>

static struct place place;
static struct weft_switchd *sw;
static struct program alice, bob;

/* Three packets from alice to bob over plane 0, by T1 1. */
static void begin(void)
{
	struct weft_shm_desc d[3];

	place_open(&place, SMALL2);
	sw = switch_open(&place, NULL);
	CHECK_EQ(program_open(&alice, sw, "alice", 4000), 0);
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0);
	for (unsigned i = 0; i < 3; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 1), 5000, 186));
	REQUIRE(program_receive(&bob, sw, d, 3) == 3);
	program_done(&bob, d, 3);
}

static void end(void)
{
	program_close(&alice);
	program_close(&bob);
	weft_switchd_close(sw);
	place_close(&place);
}

static uint64_t number(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		CHECK_FAIL("no number '%s'", key);
	return (uint64_t)json_integer_value(value);
}

/* The member of a list whose key has that value. */
static json_t *pick(const json_t *list, const char *key, const char *value)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *one = json_array_get(list, i);
		const char *found = json_string_value(json_object_get(one, key));

		if (found && !strcmp(found, value))
			return one;
	}
	CHECK_FAIL("nothing has %s %s", key, value);
	return NULL;
}

TEST(report_hello__names_who_has_attached)
{
	begin();
	json_t *hello = report_hello(sw);
	json_t *one = pick(json_object_get(hello, "processes"), "host", "alice");
	CHECK_EQ(number(one, "udp_port"), 4000);
	CHECK_EQ(number(one, "sent"), 3);
	CHECK_EQ(number(one, "received"), 0);
	CHECK_EQ(number(hello, "hosts"), 2);
	CHECK_EQ(number(hello, "rate_bps"), 1000000000);
	CHECK(number(hello, "slots_free") < number(hello, "slots"));
	json_decref(hello);
	end();
}

TEST(report_counters__has_sais_names)
{
	begin();
	json_t *counters = report_counters(sw, WEFT_TOPO_NONE);
	json_t *switches = json_object_get(counters, "switches");
	CHECK_EQ(json_array_size(switches), 8);
	json_t *t0 = pick(switches, "node", "p0.t0-0");
	json_t *in = pick(json_object_get(t0, "ports"), "link", "alice.p0");
	json_t *out = pick(json_object_get(t0, "ports"), "link", "p0.t0-0:t1-1");
	CHECK_EQ(number(in, "SAI_PORT_STAT_IF_IN_UCAST_PKTS"), 3);
	CHECK_EQ(number(in, "SAI_PORT_STAT_IF_IN_OCTETS"), 600);
	CHECK_EQ(number(out, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS"), 3);
	json_t *data = pick(json_object_get(out, "queues"), "queue", "data");
	json_t *control = pick(json_object_get(out, "queues"), "queue", "control");
	CHECK_EQ(number(data, "SAI_QUEUE_STAT_PACKETS") + number(control, "SAI_QUEUE_STAT_PACKETS"),
		3);
	CHECK_EQ(number(data, "depth_bytes"), 0);
	CHECK_EQ(number(json_object_get(counters, "fabric"), "arrived"), 3);
	CHECK_EQ(number(json_object_get(counters, "fabric"), "hops"), 9);
	CHECK_EQ(number(json_object_get(t0, "drops"), "no_sid"), 0);
	CHECK_EQ(number(json_object_get(counters, "hosts"), "nobody"), 0);
	json_decref(counters);
	counters = report_counters(sw, weft_topo_node_find(sw->topo, "p0.t1-1"));
	CHECK_EQ(json_array_size(json_object_get(counters, "switches")), 1);
	json_decref(counters);
	end();
}

TEST(report_counters__counts_every_drop_by_reason)
{
	struct weft_shm_desc d = { .bytes = 60 };
	uint8_t *ip;

	begin();
	d.slot = program_slot(&alice); /* a uSID that nobody has */
	ip = weft_shm_packet(&alice.pool, d.slot);
	packet_make(sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, ip, 60);
	ip[28] = 0x3f;
	ip[29] = 0xff;
	CHECK_EQ(weft_shm_put(alice.link, WEFT_SHM_TX, &d, 1), 1);
	CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 9, 60));
	turns(sw, 10);
	json_t *counters = report_counters(sw, WEFT_TOPO_NONE);
	json_t *t0 = pick(json_object_get(counters, "switches"), "node", "p0.t0-0");
	CHECK_EQ(number(json_object_get(t0, "drops"), "no_sid"), 1);
	CHECK_EQ(number(json_object_get(counters, "hosts"), "nobody"), 1);
	json_t *fabric = json_object_get(counters, "fabric");
	CHECK_EQ(number(fabric, "sent"), number(fabric, "arrived") + number(fabric, "dropped"));
	json_decref(counters);
	end();
}

TEST(report_table__counts_packets_per_sid)
{
	begin();
	uint32_t node = weft_topo_node_find(sw->topo, "p0.t1-1");
	json_t *table = report_table(sw, node);
	json_t *entries = json_object_get(table, "entries");
	/* Steered by nodes: its own SID, and the link to the T0 beyond. */
	CHECK_EQ(number(pick(entries, "kind", "end"), "packets"), 3);
	CHECK_EQ(number(pick(entries, "link", "p0.t0-1:t1-1"), "packets"), 3);
	json_decref(table);
	loop_power(sw, node, false, 0);
	table = report_table(sw, node);
	CHECK_EQ(json_array_size(json_object_get(table, "entries")), 0);
	CHECK(json_is_false(json_object_get(table, "power")));
	json_decref(table);
	end();
}

TEST(report_table__tells_links_that_steer)
{
	place_open(&place, SMALL2 "usid: {behavior: uA}\n");
	sw = switch_open(&place, NULL);
	json_t *table = report_table(sw, weft_topo_node_find(sw->topo, "p0.t1-1"));
	json_t *one = pick(json_object_get(table, "entries"), "link", "p0.t0-1:t1-1");

	CHECK_STR(json_string_value(json_object_get(one, "kind")), "ua");
	CHECK_STR(json_string_value(json_object_get(one, "sid")), "0xe001");
	CHECK_EQ(number(one, "packets"), 0);
	json_decref(table);
	weft_switchd_close(sw);
	place_close(&place);
}

TEST(report_links__counts_at_both_ends)
{
	begin();
	json_t *links = report_links(sw), *list = json_object_get(links, "links");
	json_t *one = pick(list, "link", "p0.t0-1:t1-1"); /* down it they went */
	json_t *lower = json_object_get(one, "lower"), *upper = json_object_get(one, "upper");

	CHECK_EQ(number(upper, "out_pkts"), 3);
	CHECK_EQ(number(upper, "out_octets"), 3 * (186 + WEFT_FRAME_ETHER_BYTES));
	CHECK_EQ(number(lower, "in_pkts"), 3);
	CHECK_EQ(number(lower, "in_octets"), 3 * (186 + WEFT_FRAME_ETHER_BYTES));
	CHECK_EQ(number(upper, "in_pkts") + number(lower, "out_pkts"), 0);
	CHECK_EQ(number(upper, "depth_bytes") + number(upper, "out_discards"), 0);
	one = pick(list, "link", "bob.p0");
	CHECK_EQ(json_object_size(json_object_get(one, "lower")), 0);
	CHECK_EQ(number(json_object_get(one, "upper"), "out_pkts"), 3);
	json_decref(links);
	end();
}

TEST(report_links__shows_state_and_faults)
{
	begin();
	uint32_t link = find_link(sw, "bob.p1");
	sw->told[link].loss_ppm[1] = 1234;
	weft_network_link_mark(sw->network, link, false, sw->ran_ps);
	json_t *links = report_links(sw);
	CHECK_EQ(json_array_size(json_object_get(links, "links")), 12);
	json_t *one = pick(json_object_get(links, "links"), "link", "bob.p1");
	CHECK(json_is_false(json_object_get(one, "up")));
	CHECK_EQ(number(one, "loss_down_ppm"), 1234);
	CHECK_EQ(number(one, "loss_up_ppm"), 0);
	CHECK_EQ(number(one, "bps"), 1000000000);
	json_decref(links);
	end();
}
