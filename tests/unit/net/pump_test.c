/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole way, engine included, in virtual time: what the live path must do as well. */
#include "pair.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)
#define MIB (1u << 20)

static void fill(struct pair_end *end, uint64_t seed)
{
	struct weft_rng rng;

	weft_rng_seed(&rng, seed);
	for (size_t i = 0; i + 8 <= end->memory_bytes; i += 8) {
		uint64_t value = weft_rng_u64(&rng);

		memcpy(end->memory + i, &value, 8);
	}
}

static void expect_same(const struct pair *pair)
{
	CHECK_MEM(pair->end[1].memory, pair->end[0].memory, pair->end[0].memory_bytes);
}

static void print(const char *what, struct pair *pair, uint64_t ns)
{
	const struct weft_counters *c = weft_stats(pair->end[0].ep);

	fprintf(stderr,
		"%s: %.1f us, %llu data pkts, %llu rtx, lost fifo %llu reorder %llu timer %llu, "
		"retired %llu, timeouts %llu, spurious %llu\n",
		what, (double)ns / 1000, (unsigned long long)c->tx_data_pkts,
		(unsigned long long)c->tx_rtx_pkts, (unsigned long long)c->lost_fifo,
		(unsigned long long)c->lost_reorder, (unsigned long long)c->lost_timer,
		(unsigned long long)c->paths_retired, (unsigned long long)c->timeouts,
		(unsigned long long)c->spurious);
}

TEST(weft_pump_step__moves_one_byte_and_one_megabyte)
{
	struct pair pair;
	struct pair_config config = pair_default();

	pair_open(&pair, &config, MIB);
	fill(&pair.end[0], 1);
	memset(pair.end[1].memory, 0, MIB);
	pair_write(&pair, 0, 0, 0, 1, false);
	pair_run(&pair, 1, 10 * MS);
	CHECK_EQ(pair.end[0].writes_done, 1);
	CHECK_EQ(pair.end[0].last.status, WEFT_OK);
	CHECK_EQ(pair.end[1].memory[0], pair.end[0].memory[0]);
	pair_write(&pair, 0, 0, 0, MIB, false);
	pair_run(&pair, 2, 20 * MS);
	CHECK_EQ(pair.end[0].writes_done, 2);
	expect_same(&pair);
	CHECK_EQ(weft_pump_stats(pair.end[1].pump)->placed_bytes, MIB + 1);
	pair_close(&pair);
}

TEST(weft_pump_step__a_clean_transfer_reaches_the_framing_limit)
{
	struct pair pair;
	struct pair_config config = pair_default();
	size_t bytes = 64 * MIB;

	pair_open(&pair, &config, bytes);
	fill(&pair.end[0], 2);
	pair_write(&pair, 0, 0, 0, (uint32_t)bytes, true);
	REQUIRE(!weft_post_recv(pair.end[1].qp[0], 1));
	uint64_t ns = pair_run(&pair, 1, 100 * MS);

	print("clean 64 MiB", &pair, ns);
	CHECK_EQ(pair.end[0].writes_done, 1);
	CHECK_EQ(pair.end[1].imms_done, 1);
	expect_same(&pair);
	CHECK_EQ(weft_stats(pair.end[0].ep)->tx_rtx_pkts, 0);
	/* 800 Gb/s x 4096 / 4222, and a round trip to start and end with. */
	double limit_ns = (double)bytes * 8 / 800 * 4222 / 4096;

	fprintf(stderr, "  %.2f %% of the framing limit\n", 100 * limit_ns / (double)(ns - 11000));
	CHECK((double)(ns - 11000) * 0.99 <= limit_ns);
	pair_close(&pair);
}

TEST(weft_pump_step__same_seed_same_digest_with_and_without_bytes)
{
	uint64_t digest[3];

	for (unsigned run = 0; run < 3; run++) {
		struct pair pair;
		struct pair_config config = pair_default();
		struct weft_loop_fault loss = { .src = WEFT_LOOP_ANY,
			.dst = WEFT_LOOP_ANY,
			.plane = WEFT_LOOP_ANY,
			.uplink = WEFT_LOOP_ANY,
			.until_ns = WEFT_NEVER,
			.loss_ppm = 10000 };

		config.loop.wire_check = run == 2;
		config.loop.spread_ns = 2000;
		pair_open(&pair, &config, 2 * MIB);
		fill(&pair.end[0], 3);
		CHECK_EQ(weft_loop_fault(pair.loop, &loss), 0);
		pair_write(&pair, 0, 0, 0, 2 * MIB, false);
		uint64_t ns = pair_run(&pair, 1, 100 * MS);

		print("1 % loss", &pair, ns);
		CHECK_EQ(pair.end[0].writes_done, 1);
		expect_same(&pair);
		digest[run] = weft_loop_stats(pair.loop)->digest;
		pair_close(&pair);
	}
	CHECK_EQ(digest[0], digest[1]);
	CHECK_EQ(digest[0], digest[2]);
}

TEST(weft_pump_step__survives_a_silent_path_a_dead_plane_and_a_lost_carrier)
{
	static const struct weft_loop_fault faults[] = {
		{ .src = 0,
			.dst = 1,
			.plane = 3,
			.uplink = 5,
			.from_ns = 100000,
			.until_ns = WEFT_NEVER,
			.loss_ppm = 1000000 },
		{ .src = 0,
			.dst = 1,
			.plane = 3,
			.uplink = 6,
			.from_ns = 100000,
			.until_ns = WEFT_NEVER,
			.loss_ppm = 200000 },
		{ .src = WEFT_LOOP_ANY,
			.dst = WEFT_LOOP_ANY,
			.plane = 2,
			.uplink = WEFT_LOOP_ANY,
			.from_ns = 100000,
			.until_ns = 700000,
			.loss_ppm = 1000000 },
		{ .src = 1, .plane = 2, .from_ns = 100000, .until_ns = 600000, .carrier = true },
		{ .src = 0, .plane = 2, .from_ns = 100000, .until_ns = 600000, .carrier = true },
	};
	static const char *const names[] = { "path silent", "path loses 20 %", "plane silent",
		"peer's carrier", "own carrier" };

	for (size_t i = 0; i < WEFT_COUNT(faults); i++) {
		struct pair pair;
		struct pair_config config = pair_default();

		pair_open(&pair, &config, 96 * MIB);
		fill(&pair.end[0], 4 + i);
		CHECK_EQ(weft_loop_fault(pair.loop, &faults[i]), 0);
		for (unsigned part = 0; part < 12; part++)
			pair_write(&pair, 0, 0, part * 8 * MIB, 8 * MIB, false);
		uint64_t ns = pair_run(&pair, 12, 200 * MS);

		print(names[i], &pair, ns);
		CHECK_EQ(pair.end[0].writes_done, 12);
		CHECK_EQ(pair.end[0].last.status, WEFT_OK);
		expect_same(&pair);
		CHECK(ns < 3 * MS); /* 1.04 ms without faults */
		pair_close(&pair);
	}
}

TEST(weft_pump_step__all_planes_dead_ends_in_an_error)
{
	struct pair pair;
	struct pair_config config = pair_default();
	struct weft_loop_fault dead = { .src = WEFT_LOOP_ANY,
		.dst = WEFT_LOOP_ANY,
		.plane = WEFT_LOOP_ANY,
		.uplink = WEFT_LOOP_ANY,
		.from_ns = 50000,
		.until_ns = WEFT_NEVER,
		.loss_ppm = 1000000 };

	pair_open(&pair, &config, 16 * MIB);
	CHECK_EQ(weft_loop_fault(pair.loop, &dead), 0);
	pair_write(&pair, 0, 0, 0, 16 * MIB, false);
	uint64_t ns = pair_run(&pair, 1, UINT64_C(10000) * MS);

	print("all dead", &pair, ns);
	CHECK_EQ(pair.end[0].writes_done, 1);
	CHECK_EQ(pair.end[0].last.status, WEFT_RETRY_EXCEEDED);
	pair_close(&pair);
}

TEST(weft_pump_step__many_qps_both_ways)
{
	struct pair pair;
	struct pair_config config = pair_default();

	config.qps = 16;
	pair_open(&pair, &config, 16 * MIB);
	fill(&pair.end[0], 9);
	memcpy(pair.end[1].memory + 8 * MIB, pair.end[0].memory + 8 * MIB, 8 * MIB);
	for (uint32_t i = 0; i < 16; i++) {
		pair_write(&pair, 0, i, i * (MIB / 2), MIB / 2, false);
		pair_write(&pair, 1, i, 8 * MIB + i * (MIB / 2), MIB / 2, false);
	}
	uint64_t ns = pair_run(&pair, 16, 100 * MS);

	for (unsigned i = 0; i < 100 && pair.end[1].writes_done < 16; i++)
		pair_run(&pair, 17, ns + i * 10 * US);
	CHECK_EQ(pair.end[0].writes_done, 16);
	CHECK_EQ(pair.end[1].writes_done, 16);
	expect_same(&pair);
	pair_close(&pair);
}

TEST(weft_pump_step__an_idle_connection_is_silent)
{
	struct pair pair;
	struct pair_config config = pair_default();

	pair_open(&pair, &config, MIB);
	pair_write(&pair, 0, 0, 0, MIB, false);
	pair_run(&pair, 1, 10 * MS);
	while (weft_loop_now(pair.loop) < 20 * MS)
		weft_loop_step(pair.loop, 20 * MS);
	uint64_t sent = weft_loop_stats(pair.loop)->sent;
	uint64_t steps = weft_pump_stats(pair.end[0].pump)->steps;

	while (weft_loop_now(pair.loop) < 1000 * MS)
		weft_loop_step(pair.loop, 1000 * MS);
	CHECK_EQ(weft_loop_stats(pair.loop)->sent, sent);
	CHECK(weft_pump_stats(pair.end[0].pump)->steps - steps < 10);
	pair_close(&pair);
}

/* The packet that asks for an answer may overtake those before it; then nobody owes one. */
TEST(weft_pump_step__a_small_window_out_of_order_never_waits_for_a_probe)
{
	struct pair pair;
	struct pair_config config = pair_default();

	config.cc = &weft_cc_fixed;
	config.cc_config.fixed_bytes = 8 * weft_nominal_bytes(4096);
	config.engine.sack_bytes = 131072; /* more than the window: the receiver never starts */
	config.loop.spread_ns = 5000;
	pair_open(&pair, &config, 8 * MIB);
	fill(&pair.end[0], 11);
	pair_write(&pair, 0, 0, 0, 8 * MIB, false);
	uint64_t ns = pair_run(&pair, 1, 100 * MS);

	print("8 packets of window", &pair, ns);
	CHECK_EQ(pair.end[0].writes_done, 1);
	CHECK_EQ(weft_stats(pair.end[0].ep)->tail_probes, 0);
	/* 2048 packets, 8 per round trip of at most 21 us, and some rounds sent in two parts. */
	CHECK(ns < 2048 / 8 * 2 * 21 * US);
	expect_same(&pair);
	pair_close(&pair);
}

/* A port that has so many full bursts lying in its sockets, all from strangers. */
struct backlog {
	struct weft_port port;
	unsigned bursts;
	uint64_t *now, pause_ns; /* that the process is not run for, before it looks */
};

static size_t backlog_rx(struct weft_port *port, struct weft_pkt pkts[], size_t max)
{
	struct backlog *backlog = (struct backlog *)port;

	if (!backlog->bursts)
		return 0;
	backlog->bursts--;
	*backlog->now += backlog->pause_ns;
	memset(pkts, 0, max * sizeof(*pkts));
	for (size_t i = 0; i < max; i++)
		pkts[i].op = WEFT_OP_WRITE_ONLY;
	return max;
}

static void backlog_tx(
	struct weft_port *port, const struct weft_pkt pkts[], size_t n, struct weft_wake wake)
{
	(void)port;
	(void)pkts;
	(void)n;
	(void)wake;
}

static uint32_t backlog_room(struct weft_port *port, size_t *max)
{
	(void)port;
	(void)max;
	return 0;
}

static uint32_t backlog_carrier(struct weft_port *port)
{
	return (1u << port->planes) - 1;
}

static void backlog_wait(struct weft_port *port, uint64_t max_ns)
{
	(void)port;
	(void)max_ns;
}

static uint64_t read_clock(void *arg)
{
	return *(const uint64_t *)arg;
}

TEST(weft_pump_step__reads_all_that_lay_waiting_after_a_pause_of_its_own)
{
	static const struct weft_port_ops ops = { .name = "backlog",
		.rx = backlog_rx,
		.tx = backlog_tx,
		.room = backlog_room,
		.carrier = backlog_carrier,
		.wait = backlog_wait };
	uint64_t now = MS;
	struct backlog backlog = { .port = { .ops = &ops, .planes = 8 }, .now = &now };
	struct weft_config config;
	struct weft_pump *pump;
	struct weft_endpoint *ep;

	weft_config_default(&config);
	void *block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));

	REQUIRE(!weft_endpoint_init(&ep, block, &config));
	struct weft_pump_config pump_config = {
		.ep = ep, .port = &backlog.port, .clock = read_clock, .clock_arg = &now
	};
	REQUIRE(!weft_pump_open(&pump, &pump_config));
	CHECK_EQ(weft_pump_step(pump, MS), 0);
	backlog.bursts = 3;
	now += MS; /* woken in time: one burst a turn, so that the peer hears of us */
	CHECK_EQ(weft_pump_step(pump, MS), WEFT_NET_BURST);
	backlog.bursts = 5;
	now += 20 * MS;
	CHECK_EQ(weft_pump_step(pump, MS), 5 * WEFT_NET_BURST);
	CHECK_EQ(backlog.bursts, 0);
	/* Not run between clock and rings: what came meanwhile came then, and not before. */
	now += MS;
	backlog.bursts = 1;
	backlog.pause_ns = 2 * MS;
	CHECK_EQ(weft_pump_step(pump, MS), WEFT_NET_BURST);
	CHECK_EQ(weft_pump_now(pump), now);
	weft_pump_close(pump);
	free(block);
}

struct two { /* a list of the caller's: here, two halves */
	uint8_t *half[2];
};

static void scatter(void *arg, const struct weft_place *place)
{
	const struct pair_end *end = arg;
	const struct two *two = place->to;
	const uint8_t *from = place->from;

	for (uint32_t i = 0; i < place->len_bytes; i++) {
		uint32_t at = place->list_at - 1 + i;

		two->half[at >= 5000][at % 5000] = from[i];
	}
	CHECK(end->pump != NULL);
}

TEST(weft_pump_step__hands_scattered_receives_to_the_hook)
{
	struct pair pair;
	struct pair_config config = pair_default();
	struct weft_done done;

	config.kind = WEFT_QP_EXTENDED;
	config.scatter = scatter;
	config.engine.extended_qps = 1;
	config.engine.rd_atomic_max = 1;
	pair_open(&pair, &config, MIB);
	fill(&pair.end[0], 1);
	memset(pair.end[1].memory, 0, MIB);
	struct two two = { { pair.end[1].memory + 5000, pair.end[1].memory } };
	struct weft_recv recv = { .id = 1, .to = &two, .len_bytes = 10000, .scattered = true };
	struct weft_work send = { .kind = WEFT_WORK_SEND, .data = pair.end[0].memory,
		.len_bytes = 10000 };

	CHECK_EQ(weft_post_receive(pair.end[1].qp[0], &recv), 0);
	CHECK_EQ(weft_post(pair.end[0].qp[0], &send), 0);
	pair_run(&pair, 1, 10 * MS);
	CHECK_EQ(pair.end[0].last.status, WEFT_OK);
	CHECK(!weft_poll(pair.end[1].ep, 0, &done, 1)); /* pair_run() has taken it */
	CHECK_MEM(two.half[0], pair.end[0].memory, 5000);
	CHECK_MEM(two.half[1], pair.end[0].memory + 5000, 5000);
	pair_close(&pair);
}

static uint64_t time_of_write(uint64_t hold_ns)
{
	struct pair pair;
	struct pair_config config = pair_default();

	pair_open(&pair, &config, MIB);
	weft_pump_hold(pair.end[1].pump, hold_ns);
	pair_write(&pair, 0, 0, 0, 1, false);
	uint64_t ns = pair_run(&pair, 1, 10 * MS);

	CHECK_EQ(pair.end[0].writes_done, 1);
	CHECK_EQ(weft_stats(pair.end[0].ep)->tx_rtx_pkts, 0);
	pair_close(&pair);
	return ns;
}

/* Until a turn comes that is later: these are for whoever calls again and again. */
TEST(weft_pump_hold__keeps_acknowledgements_back)
{
	uint64_t at_once = time_of_write(0), later = time_of_write(4 * US);

	CHECK(at_once < 20 * US);
	CHECK(later >= at_once + 3 * US);
}

/* Acknowledgements are kept for company: here it is. */
TEST(weft_pump_hold__keeps_no_data_back)
{
	struct pair pair;
	struct pair_config config = pair_default();

	pair_open(&pair, &config, MIB);
	weft_pump_hold(pair.end[1].pump, MS);
	pair_write(&pair, 0, 0, 0, 1, false);
	while (!weft_acks_since(pair.end[1].ep))
		weft_loop_step(pair.loop, 10 * MS);
	pair_write(&pair, 1, 0, 0, 1, false);
	uint64_t ns = pair_run(&pair, 1, 10 * MS);

	CHECK_EQ(pair.end[0].writes_done, 1);
	CHECK(ns < 20 * US); /* together */
	pair_close(&pair);
}
