/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Twins: one load through sim; through the pump of net and port/loop in virtual time, with the
 * same switches in the middle; and the same with every packet made into bytes, sealed, checked and
 * decoded again before it is taken in.  Every host must get the same packets at the same
 * picosecond.  This is what keeps "what was simulated is what runs" true.
 */
#include "../sim/twin.h"

#include <weft/loop.h>

/* ---- the pump in the world ---- */

struct pumped {
	struct weft_loop_middle middle;
	struct weft_loop *loop;
	struct weft_pump *pumps[TWIN_HOSTS];
};

static uint32_t free_planes(void *user, uint32_t node)
{
	return world_free_planes(user, node);
}

static void send(void *user, uint32_t node, const struct weft_pkt *pkt)
{
	world_depart(user, node, pkt);
}

static void take_in(struct world *w, uint32_t host, const struct weft_pkt *pkt)
{
	struct pumped *p = w->driver_arg;

	weft_loop_arrive(p->loop, host, pkt);
}

static void emit(struct world *w, uint32_t host)
{
	struct pumped *p = w->driver_arg;

	weft_loop_run(p->loop, host, w->now_ps / 1000);
}

static const struct world_driver driver = { take_in, emit };

static struct pumped *pump_world(struct world *w, bool wire_check)
{
	struct pumped *p = calloc(1, sizeof(*p));

	REQUIRE(p);
	p->middle = (struct weft_loop_middle){ .user = w, .free = free_planes, .send = send };
	struct weft_loop_config config = { .nodes = w->shape.hosts,
		.planes = w->shape.planes,
		.uplinks = w->shape.uplinks,
		.wire_check = wire_check,
		.middle = &p->middle };

	p->loop = weft_loop_open(&config);
	REQUIRE(p->loop);
	for (uint32_t host = 0; host < w->shape.hosts; host++) {
		struct weft_pump_config pump = { .ep = w->hosts[host].ep,
			.port = weft_loop_port(p->loop, host),
			.clock = weft_loop_clock,
			.clock_arg = p->loop };

		REQUIRE(!weft_pump_open(&p->pumps[host], &pump));
		weft_loop_attach(p->loop, host, p->pumps[host], pump.ep);
	}
	w->driver = &driver;
	w->driver_arg = p;
	return p;
}

static void unpump(struct pumped *p)
{
	for (uint32_t host = 0; host < TWIN_HOSTS; host++)
		weft_pump_close(p->pumps[host]);
	weft_loop_close(p->loop);
	free(p);
}

/* Through sim and through the pump, once with packets as structs and once as bytes. */
static void compare(uint32_t fan_in, uint32_t len_bytes, void (*breaks)(struct twin *t))
{
	for (unsigned wire = 0; wire < 2; wire++) {
		struct twin *t = twin_open(fan_in, len_bytes, 1 + wire);
		struct pumped *p = pump_world(t->world, wire);

		if (breaks)
			breaks(t);
		twin_run(t);
		twin_compare(t);
		CHECK(weft_loop_stats(p->loop)->delivered > t->n);
		unpump(p);
		twin_close(t);
	}
}

TEST(weft_pump_step__gets_what_the_simulator_gets_on_a_permutation)
{
	compare(0, 150000, NULL);
}

TEST(weft_pump_step__gets_what_the_simulator_gets_where_headers_are_cut)
{
	compare(12, 60000, NULL);
}

static void freeze_and_cut(struct twin *t)
{
	twin_fault(t, 5000000, WEFT_SIM_NODE_FREEZE, weft_topo_t1(t->topo, 0, 1));
	twin_fault(t, 9000000, WEFT_SIM_LINK_DOWN, weft_topo_link_find(t->topo, "p1.t0-2:t1-3"));
	twin_fault(t, 31000000, WEFT_SIM_NODE_THAW, weft_topo_t1(t->topo, 0, 1));
}

TEST(weft_pump_step__gets_what_the_simulator_gets_while_things_break)
{
	compare(0, 150000, freeze_and_cut);
}

/* ---- what sim has no load for: sends, reads, atomics ---- */

/*
 * Two hosts exchange works of every kind while five others crowd one of them (headers are cut) and
 * a T1 stops (packets are lost): through the world alone, through the pump, and as bytes.
 */
enum { HERE = 0, THERE = 13, WORKS = 40, WORK_BYTES = 1 << 14, FAR_VA = 0x100000 };

struct exchange {
	struct world *w;
	struct weft_qp *qps[2];
	uint32_t rkeys[2], sets[2];
	uint8_t *memory[2];
};

static const uint32_t ends[2] = { HERE, THERE };

static void open_end(struct exchange *x, int end)
{
	struct host *h = &x->w->hosts[ends[end]];
	struct weft_config config;

	weft_config_default(&config);
	config.qps = config.cqs = config.regions = config.pathsets = 16;
	config.sq_depth = config.rq_depth = 64;
	config.cq_depth = 256;
	config.extended_qps = 3;
	config.rd_atomic_max = 16;
	config.ports = x->w->shape.planes;
	config.base_rtt_ns = x->w->shape.base_rtt_ns;
	config.seed = 100 + ends[end];
	config.inflight_pkts = 4096;
	free(h->block);
	h->block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));
	REQUIRE(h->block && !weft_endpoint_init(&h->ep, h->block, &config));
	x->w->qp_window_psns = config.window_psns;
	x->memory[end] = calloc(2 * WORKS, WORK_BYTES);
	REQUIRE(x->memory[end]);
	CHECK_EQ(weft_region_add(h->ep, FAR_VA, x->memory[end], 2 * WORKS * WORK_BYTES, 3,
			 WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
				 WEFT_ACCESS_REMOTE_ATOMIC,
			 77, &x->rkeys[end]),
		0);
	struct weft_qp_attr attr = { .pd = 3,
		.kind = WEFT_QP_EXTENDED,
		.cc = &weft_cc_nscc,
		.cc_config = { .rate_bps = x->w->shape.host_bps * x->w->shape.planes,
			.mtu_bytes = weft_nominal_bytes(4096),
			.base_rtt_ns = x->w->shape.base_rtt_ns,
			.trimming = true } };

	x->sets[end] = world_open_paths(x->w, ends[end], ends[!end]);
	REQUIRE(!weft_qp_open(h->ep, &attr, &x->qps[end]));
}

static void join_ends(struct exchange *x)
{
	struct weft_qp_info info[2];

	for (int i = 0; i < 2; i++)
		weft_qp_info(x->qps[i], &info[i]);
	for (int i = 0; i < 2; i++) {
		struct weft_qp_attr attr = { .peer = ends[!i],
			.peer_qpn = info[!i].qpn,
			.pathset = x->sets[i],
			.mpr_rx_psns = x->w->qp_window_psns,
			.mpr_tx_psns = x->w->qp_window_psns,
			.wimm_rx = 16,
			.wimm_tx = 16,
			.trim_nack_rx = true,
			.timeout_exp = 8,
			.linear_count = 7,
			.retry_count = 25,
			.rnr_timer = 1,
			.rnr_retry = WEFT_RNR_FOR_EVER,
			.rd_atomic_rx = 16,
			.rd_atomic_tx = 16 };

		CHECK_EQ(weft_qp_move(x->qps[i], WEFT_QP_RTR, &attr, x->w->now_ps / 1000), 0);
		CHECK_EQ(weft_qp_move(x->qps[i], WEFT_QP_RTS, &attr, x->w->now_ps / 1000), 0);
	}
}

/* Work i has the i-th piece of both memories; what is received goes behind all of them. */
static void post_works(struct exchange *x)
{
	static const uint8_t kinds[] = { WEFT_WORK_SEND, WEFT_WORK_READ, WEFT_WORK_WRITE,
		WEFT_WORK_FETCH_ADD, WEFT_WORK_CMP_SWAP };

	for (uint32_t i = 0; i < WORKS * WORK_BYTES; i++) {
		x->memory[0][i] = (uint8_t)(i * 7);
		x->memory[1][i] = (uint8_t)(i * 11 + 3);
	}
	for (uint32_t i = 0; i < WORKS; i++) {
		uint8_t kind = kinds[i % WEFT_COUNT(kinds)];
		bool is_atomic = kind == WEFT_WORK_FETCH_ADD || kind == WEFT_WORK_CMP_SWAP;
		struct weft_work work = { .id = i,
			.kind = kind,
			.data = x->memory[0] + i * WORK_BYTES,
			.to = x->memory[0] + i * WORK_BYTES,
			.remote_va = FAR_VA + i * WORK_BYTES,
			.rkey = x->rkeys[1],
			.len_bytes = is_atomic ? 8 : WORK_BYTES - 3 * i,
			.operand = { 5, 6 } };

		if (kind == WEFT_WORK_SEND) {
			struct weft_recv recv = { .id = i,
				.to = x->memory[1] + (WORKS + i) * WORK_BYTES,
				.len_bytes = WORK_BYTES };

			CHECK_EQ(weft_post_receive(x->qps[1], &recv), 0);
		}
		CHECK_EQ(weft_post(x->qps[0], &work), 0);
	}
	world_wake(x->w, HERE, x->w->now_ps);
}

/* The pump moves bytes; the world alone does not. */
static void check_memory(const struct exchange *x)
{
	uint8_t *here = x->memory[0], *there = x->memory[1];

	for (uint32_t i = 0; i < WORKS; i += 5) {
		uint32_t at = i * WORK_BYTES, read = at + WORK_BYTES, write = read + WORK_BYTES;

		CHECK(!memcmp(here + at, there + WORKS * WORK_BYTES + at, WORK_BYTES - 3 * i));
		CHECK(!memcmp(here + read, there + read, WORK_BYTES - 3 * (i + 1)));
		CHECK(!memcmp(here + write, there + write, WORK_BYTES - 3 * (i + 2)));
		CHECK_EQ(here[read], (uint8_t)(read * 11 + 3)); /* theirs, not ours */
		CHECK_EQ(there[write], (uint8_t)(write * 7));
	}
}

enum how { BARE, PUMPED, AS_BYTES };

static void exchange(enum how how, uint64_t digests[TWIN_HOSTS])
{
	struct exchange x = { 0 };
	struct pumped *p = NULL;
	char text[TWIN_TEXT_BYTES];
	uint64_t trimmed = 0;

	twin_fabric(text);
	x.w = world_open(text, WEFT_DISCIPLINE_TRIM);
	for (int end = 0; end < 2; end++)
		open_end(&x, end);
	join_ends(&x);
	for (uint32_t host = 4; host < 9; host++)
		world_send(x.w, host, THERE, 150000, 1, true);
	if (how != BARE)
		p = pump_world(x.w, how == AS_BYTES);
	post_works(&x);
	world_run(x.w, 9000);
	weft_switch_freeze(
		x.w->switches[weft_topo_t1(x.w->topo, 1, 2) - TWIN_HOSTS], true, x.w->now_ps);
	world_run(x.w, 1000000);
	CHECK_EQ(x.w->hosts[HERE].done, WORKS);
	CHECK_EQ(x.w->hosts[THERE].done, WORKS / 5); /* receives */
	CHECK(x.w->lost > 0);
	for (uint32_t i = 0; i < x.w->n_switches; i++) {
		for (uint32_t k = 0; k < weft_topo_node(x.w->topo, TWIN_HOSTS + i).ports; k++)
			trimmed += weft_switch_port_counters(x.w->switches[i], k)->trimmed;
	}
	CHECK(trimmed > 0);
	for (uint32_t host = 0; host < TWIN_HOSTS; host++)
		digests[host] = x.w->hosts[host].digest;
	fprintf(stderr, "exchange: %u lost, %u trimmed\n", (unsigned)x.w->lost, (unsigned)trimmed);
	if (p)
		check_memory(&x);
	if (p)
		unpump(p);
	for (int end = 0; end < 2; end++)
		free(x.memory[end]);
	world_close(x.w);
}

TEST(weft_pump_step__exchanges_works_of_all_kinds_alike)
{
	uint64_t digests[3][TWIN_HOSTS];

	for (unsigned how = 0; how < 3; how++)
		exchange((enum how)how, digests[how]);
	for (uint32_t host = 0; host < TWIN_HOSTS; host++) {
		CHECK_EQ(digests[PUMPED][host], digests[BARE][host]);
		CHECK_EQ(digests[AS_BYTES][host], digests[BARE][host]);
	}
}
