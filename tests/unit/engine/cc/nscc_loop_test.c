/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nscc_loop - the control loop closed over one bottleneck, in virtual time.
 *
 *   flow 0 --NIC--\
 *   flow 1 --NIC---> queue: mark 0.2..0.8 BDP, trim or drop --link--> receiver --SACK/NACK--> flows
 *   flow n --NIC--/
 *
 * Unit tests show that each rule does what it says; only the loop shows that the rules together
 * fill the link, share it and keep the queue where it should be.  The switch follows the settings
 * that UET recommends (random marks 0.2 to 0.8 BDP, trim at 1 BDP, drop at 5), the receiver sends
 * a SACK per 16 KiB and at once for a mark or a request, as MRC does.
 */
#include "check.h"

#include <weft/cc.h>

#define FLOWS_MAX 16
#define RING (1u << 16)
#define MTU 4184u /* 4096 and its nominal headers */
#define SACK_BYTES 16384u
#define US UINT64_C(1000000) /* the loop counts in ps */
#define MS (1000 * US)
#define NEVER UINT64_MAX

struct packet {
	uint64_t sent_ps, back_ps; /* back: when its SACK or NACK reaches the sender */
	unsigned flow;
	bool marked, ask;
};

struct flow {
	uint64_t state[WEFT_CC_STATE_MAX / 8];
	uint64_t start_ps, nic_ps, done_ps;
	uint64_t left_bytes; /* to send; NEVER: as much as goes */
	uint64_t delivered_bytes, counted_bytes, size_bytes;
	uint32_t inflight_bytes, unsacked_bytes;
	unsigned on_the_way;
};

struct loop {
	struct weft_cc_config config;
	uint64_t bdp_bytes, busy_ps, now_ps, tx_ps;
	uint64_t noise_ps;      /* answers come up to so much later */
	uint64_t stall_ps;      /* for so long out of every 10 ms no answer is heard */
	unsigned lose_permille; /* at random, without a mark and without a trim */
	unsigned n;
	struct flow flows[FLOWS_MAX];
	struct packet acks[RING], nacks[RING];
	unsigned ack_head, ack_tail, nack_head, nack_tail;
	struct weft_rng rng;
	/* what was seen since count_from() */
	uint64_t from_ps, queue_sum_ps, queue_max_ps, arrivals, trims, marks;
	uint32_t cwnd_min, cwnd_max;
};

static struct loop loop;

static struct loop *loop_open(unsigned n, uint64_t rate_bps, uint32_t base_ns, bool trimming)
{
	struct loop *l = &loop;

	memset(l, 0, sizeof(*l));
	l->config = (struct weft_cc_config){
		.rate_bps = rate_bps, .mtu_bytes = MTU, .base_rtt_ns = base_ns, .trimming = trimming
	};
	l->bdp_bytes = rate_bps / 8 * base_ns / 1000000000;
	l->tx_ps = MTU * UINT64_C(8000000000000) / rate_bps;
	l->n = n;
	l->now_ps = 1 * US;
	weft_rng_seed(&l->rng, n);
	for (unsigned i = 0; i < n; i++) {
		l->flows[i].left_bytes = NEVER;
		l->flows[i].start_ps = l->now_ps;
		weft_cc_nscc.init(l->flows[i].state, &l->config);
	}
	return l;
}

static uint64_t queue_bytes(const struct loop *l)
{
	return l->busy_ps > l->now_ps ? (l->busy_ps - l->now_ps) * MTU / l->tx_ps : 0;
}

static void push(struct packet ring[RING], unsigned *tail, unsigned head, struct packet p)
{
	WEFT_ASSERT(*tail - head < RING);
	ring[(*tail)++ % RING] = p;
}

/* A packet reaches the queue. */
static void arrive(struct loop *l, struct packet p)
{
	uint64_t depth = queue_bytes(l), low = l->bdp_bytes / 5, high = l->bdp_bytes * 4 / 5;
	uint64_t base_ps = UINT64_C(1000) * l->config.base_rtt_ns;

	l->arrivals++;
	l->queue_sum_ps += l->busy_ps > l->now_ps ? l->busy_ps - l->now_ps : 0;
	if (depth > l->bdp_bytes * (l->config.trimming ? 1 : 5) ||
		weft_rng_chance(&l->rng, l->lose_permille, 1000)) {
		/* A trimmed header overtakes the queue; a lost packet is missed after a while. */
		p.back_ps = l->now_ps + (l->config.trimming ? base_ps : 8 * base_ps);
		push(l->nacks, &l->nack_tail, l->nack_head, p);
		l->trims++;
		return;
	}
	p.marked = depth > low && weft_rng_below(&l->rng, high - low) < depth - low;
	l->marks += p.marked;
	l->busy_ps = WEFT_MAX(l->busy_ps, l->now_ps) + l->tx_ps;
	l->queue_max_ps = WEFT_MAX(l->queue_max_ps, l->busy_ps - l->now_ps);
	p.back_ps = l->busy_ps + base_ps - l->tx_ps;
	if (p.back_ps % (10 * MS) < l->stall_ps)
		p.back_ps += l->stall_ps - p.back_ps % (10 * MS);
	if (l->noise_ps) /* a busy CPU at either end: later, never reordered */
		p.back_ps += weft_rng_below(&l->rng, l->noise_ps);
	if (l->ack_tail != l->ack_head)
		p.back_ps = WEFT_MAX(p.back_ps, l->acks[(l->ack_tail - 1) % RING].back_ps);
	push(l->acks, &l->ack_tail, l->ack_head, p);
}

static uint64_t can_send(const struct flow *f)
{
	if (!f->left_bytes || f->inflight_bytes + MTU > weft_cc_nscc.window_bytes(f->state))
		return NEVER;
	return WEFT_MAX(f->nic_ps, f->start_ps);
}

static void send(struct loop *l, unsigned i)
{
	struct flow *f = &l->flows[i];
	uint32_t cwnd = weft_cc_nscc.window_bytes(f->state);

	f->inflight_bytes += MTU;
	f->on_the_way++;
	f->nic_ps = l->now_ps + l->tx_ps;
	if (f->left_bytes != NEVER)
		f->left_bytes -= WEFT_MIN(f->left_bytes, MTU);
	bool ask = cwnd - f->inflight_bytes < MTU || cwnd < SACK_BYTES || !f->left_bytes;

	arrive(l, (struct packet){ .sent_ps = l->now_ps, .flow = i, .ask = ask });
}

static void take_ack(struct loop *l, struct packet p)
{
	struct flow *f = &l->flows[p.flow];

	f->delivered_bytes += MTU;
	f->unsacked_bytes += MTU;
	f->on_the_way--;
	if (f->size_bytes && f->delivered_bytes >= f->size_bytes && !f->done_ps)
		f->done_ps = l->now_ps;
	/* With nothing on the way the sender would ask by a probe. */
	if (f->unsacked_bytes < SACK_BYTES && !p.marked && !p.ask && f->on_the_way)
		return;
	f->inflight_bytes -= f->unsacked_bytes;
	weft_cc_nscc.on_ack(f->state, &(struct weft_cc_ack){
					      .now = l->now_ps / 1000,
					      .newly_bytes = f->unsacked_bytes,
					      .inflight_bytes = f->inflight_bytes,
					      .rtt_ns = (uint32_t)((l->now_ps - p.sent_ps) / 1000),
					      .marked = p.marked,
				      });
	f->unsacked_bytes = 0;
}

static void take_nack(struct loop *l, struct packet p)
{
	struct flow *f = &l->flows[p.flow];

	f->inflight_bytes -= MTU;
	f->on_the_way--;
	if (f->left_bytes != NEVER)
		f->left_bytes += MTU;
	weft_cc_nscc.on_loss(f->state,
		&(struct weft_cc_loss){
			.now = l->now_ps / 1000,
			.lost_bytes = MTU,
			.inflight_bytes = f->inflight_bytes,
			.kind = l->config.trimming ? WEFT_CC_LOSS_TRIM : WEFT_CC_LOSS_INFERRED,
		});
}

static void watch(struct loop *l, unsigned i)
{
	uint32_t cwnd = weft_cc_nscc.window_bytes(l->flows[i].state);

	l->cwnd_min = WEFT_MIN(l->cwnd_min, cwnd);
	l->cwnd_max = WEFT_MAX(l->cwnd_max, cwnd);
}

/* Runs until then, or until nothing is left to do. */
static void run(struct loop *l, uint64_t until_ps)
{
	for (;;) {
		bool acks = l->ack_head != l->ack_tail, nacks = l->nack_head != l->nack_tail;
		uint64_t ack = acks ? l->acks[l->ack_head % RING].back_ps : NEVER;
		uint64_t nack = nacks ? l->nacks[l->nack_head % RING].back_ps : NEVER;
		uint64_t at = NEVER;
		/* Equal times go to anyone: a fixed order would always trim the same flow. */
		unsigned sender = 0, first = (unsigned)weft_rng_below(&l->rng, l->n);

		for (unsigned k = 0; k < l->n; k++) {
			unsigned i = (first + k) % l->n;
			uint64_t t = can_send(&l->flows[i]);

			sender = t < at ? i : sender;
			at = WEFT_MIN(at, t);
		}
		at = WEFT_MAX(at, l->now_ps);
		uint64_t next = WEFT_MIN(WEFT_MIN(ack, nack), at);

		if (next == NEVER || next > until_ps)
			break;
		l->now_ps = next;
		if (next == ack)
			take_ack(l, l->acks[l->ack_head++ % RING]);
		else if (next == nack)
			take_nack(l, l->nacks[l->nack_head++ % RING]);
		else
			send(l, sender);
		for (unsigned i = 0; i < l->n; i++)
			watch(l, i);
	}
	if (until_ps != NEVER)
		l->now_ps = until_ps;
}

static void count_from_here(struct loop *l)
{
	l->from_ps = l->now_ps;
	l->queue_sum_ps = l->queue_max_ps = l->arrivals = l->trims = l->marks = 0;
	l->cwnd_min = UINT32_MAX;
	l->cwnd_max = 0;
	for (unsigned i = 0; i < l->n; i++)
		l->flows[i].counted_bytes = l->flows[i].delivered_bytes;
}

static double utilisation(const struct loop *l)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < l->n; i++)
		bytes += l->flows[i].delivered_bytes - l->flows[i].counted_bytes;
	return (double)bytes / MTU * (double)l->tx_ps / (double)(l->now_ps - l->from_ps);
}

/* Jain's index of the flows' shares: 1 for equal ones, 1/n where one has everything. */
static double fairness(const struct loop *l)
{
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < l->n; i++) {
		double x = (double)(l->flows[i].delivered_bytes - l->flows[i].counted_bytes);

		sum += x;
		squares += x * x;
	}
	return squares > 0 ? sum * sum / (l->n * squares) : 0;
}

static double queue_ns(const struct loop *l)
{
	return l->arrivals ? (double)l->queue_sum_ps / (double)l->arrivals / 1000 : 0;
}

static void print_row(const struct loop *l, const char *what)
{
	fprintf(stderr,
		"%-28s n %2u  use %.3f  fair %.3f  queue %6.0f ns, most %6.0f  marks %.3f  "
		"trims %5llu  cwnd %u..%u\n",
		what, l->n, utilisation(l), fairness(l), queue_ns(l), (double)l->queue_max_ps / 1e3,
		(double)l->marks / (double)(l->arrivals + 1), (unsigned long long)l->trims,
		l->cwnd_min, l->cwnd_max);
}

TEST(loop__fills_the_link_fairly_with_the_queue_at_its_target)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t base_ns;
		bool trimming;
	} rows[] = {
		{ UINT64_C(100000000000), 12000, true }, { UINT64_C(100000000000), 12000, false },
		{ UINT64_C(800000000000), 12000, true }, { UINT64_C(800000000000), 12000, false },
		{ UINT64_C(8000000000), 200000, false }, /* a software fabric */
	};

	for (size_t r = 0; r < WEFT_COUNT(rows); r++)
		for (unsigned n = 2; n <= 8; n *= 2) {
			struct loop *l =
				loop_open(n, rows[r].rate_bps, rows[r].base_ns, rows[r].trimming);
			uint64_t rtt_ps = rows[r].base_ns * UINT64_C(1000);
			double target_ns = rows[r].base_ns * (rows[r].trimming ? 0.75 : 1.0);

			/* One after the other: the late ones find the link taken. */
			for (unsigned i = 0; i < n; i++)
				l->flows[i].start_ps += i * 10 * rtt_ps;
			run(l, 400 * rtt_ps);
			count_from_here(l);
			run(l, 1200 * rtt_ps);
			print_row(l, "steady");
			CHECK(utilisation(l) >= 0.95);
			CHECK(fairness(l) >= 0.95);
			CHECK_NEAR(queue_ns(l), target_ns, 0.15 * target_ns);
			CHECK((double)l->queue_max_ps / 1000 < 2 * target_ns);
		}
}

TEST(loop__one_flow_keeps_its_whole_window_and_no_queue)
{
	struct loop *l = loop_open(1, UINT64_C(800000000000), 12000, true);

	run(l, 1 * MS);
	count_from_here(l);
	run(l, 3 * MS);
	CHECK(utilisation(l) >= 0.99);
	CHECK(queue_ns(l) < 100);
	CHECK_EQ(l->cwnd_min, 1800000);
}

TEST(loop__takes_the_room_that_others_leave)
{
	struct loop *l = loop_open(8, UINT64_C(800000000000), 12000, true);

	run(l, 2 * MS);
	for (unsigned i = 1; i < 8; i++)
		l->flows[i].left_bytes = 0;
	run(l, 2 * MS + 200 * US); /* 17 round trips */
	count_from_here(l);
	run(l, 3 * MS);
	print_row(l, "seven of eight leave");
	CHECK(utilisation(l) >= 0.99);
}

/* Everybody starts at once with a whole MaxWnd: 12 BDP arrive at a queue that holds 1 (or 5). */
TEST(loop__incast_drains_without_collapse)
{
	for (unsigned trimming = 0; trimming < 2; trimming++)
		for (unsigned n = 8; n <= 16; n *= 2) {
			struct loop *l = loop_open(n, UINT64_C(800000000000), 12000, trimming);
			uint64_t size = 4000 * MTU, last_ps = 0, first_ps = NEVER;

			for (unsigned i = 0; i < n; i++)
				l->flows[i].size_bytes = l->flows[i].left_bytes = size;
			count_from_here(l);
			run(l, NEVER);
			for (unsigned i = 0; i < n; i++) {
				REQUIRE(l->flows[i].done_ps);
				last_ps = WEFT_MAX(last_ps, l->flows[i].done_ps);
				first_ps = WEFT_MIN(first_ps, l->flows[i].done_ps);
			}
			double ideal_ps = (double)(n * size / MTU * l->tx_ps);

			print_row(l, trimming ? "incast, trimming" : "incast, dropping");
			fprintf(stderr,
				"    %.3f of the ideal time, first done at %.3f of the last\n",
				(double)last_ps / ideal_ps, (double)first_ps / (double)last_ps);
			CHECK((double)last_ps <= 1.15 * ideal_ps);
			CHECK((double)first_ps >= 0.5 * (double)last_ps);
			CHECK(l->cwnd_min >= MTU);
		}
}

/* Both hosts so busy that round trips vary 50-fold, then quiet again: the lab's daily life. */
TEST(loop__comes_back_after_noise)
{
	struct loop *l = loop_open(1, UINT64_C(8000000000), 200000, false);

	run(l, 20 * MS);
	l->noise_ps = 10 * MS;
	count_from_here(l);
	run(l, 500 * MS);
	print_row(l, "noise of 10 ms");
	CHECK(l->cwnd_min >= MTU);
	CHECK(utilisation(l) > 0.004); /* a packet per 10 ms */
	l->noise_ps = 0;
	run(l, 500 * MS + 15 * MS); /* the last late ones are back, then 25 round trips */
	count_from_here(l);
	run(l, 600 * MS);
	print_row(l, "after the noise");
	CHECK(utilisation(l) >= 0.99);
}

/* A bad link in one of the planes: every loss costs the window its own size, and no more. */
TEST(loop__random_loss_costs_what_is_lost)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t base_ns;
	} rows[] = { { UINT64_C(800000000000), 12000 }, { UINT64_C(8000000000), 200000 } };

	for (size_t r = 0; r < WEFT_COUNT(rows); r++) {
		struct loop *l = loop_open(1, rows[r].rate_bps, rows[r].base_ns, false);
		uint64_t rtt_ps = rows[r].base_ns * UINT64_C(1000);

		l->lose_permille = 10;
		run(l, 100 * rtt_ps);
		count_from_here(l);
		run(l, 600 * rtt_ps);
		print_row(l, "1 % lost");
		CHECK(utilisation(l) >= 0.97 * 0.99);
	}
}

/* A process that does not get its CPU: 15 round trips of nothing, then all answers at once. */
TEST(loop__a_stall_costs_no_more_than_itself)
{
	for (unsigned n = 1; n <= 4; n *= 2) {
		struct loop *l = loop_open(n, UINT64_C(8000000000), 200000, false);

		l->stall_ps = 3 * MS;
		run(l, 50 * MS);
		count_from_here(l);
		run(l, 1050 * MS);
		print_row(l, "stalls of 3 ms in 10");
		CHECK(utilisation(l) >= 0.7);
	}
}
