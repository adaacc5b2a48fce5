/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short messages of all kinds that overtake each other in every way: what is in flight lies in two
 * bags, from which packets are drawn at random, some never, some twice, some cut.  After each step
 * a reader looks at all of the responder's memory.  A failure names its seed.
 */
#include "pair.h"

enum { MESSAGES = 160, RUNS = 40, PLACE = 12288, BAG = 4096, BATCH = 4 };
enum { COUNTER = 1 << 22, RESULTS = (1 << 22) + 64 }; /* offsets in memory; messages end before */

enum kind { WRITE, WRITE_IMM, SEND, SEND_IMM, ADD };

struct mess {
	struct world w;
	bool strict;
	uint32_t seed;
	struct weft_pkt bag[2][BAG]; /* on their way to that end */
	uint32_t n[2];
	uint8_t kind[MESSAGES];
	uint32_t len_bytes[MESSAGES];
	uint32_t posted, receives; /* by now */
	uint32_t whole;            /* all writes before this message are there */
	uint32_t told, finished; /* to this message: completions of the responder, the requester */
	uint32_t heard;          /* completions of the responder */
};

static bool likely(struct mess *m, uint32_t percent)
{
	return weft_rng_chance(&m->w.rng, percent, 100);
}

static bool consumes(const struct mess *m, uint32_t i)
{
	return m->kind[i] != WRITE && m->kind[i] != ADD;
}

static uint8_t *at(const struct mess *m, int end, uint32_t i)
{
	return m->w.memory[end] + i * PLACE;
}

static void draw_messages(struct mess *m)
{
	static const uint32_t lens[] = { 0, 1, 3, 7, 8, 9, 40, 512, 4096, 4097, 4103, 9000 };

	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t len_bytes = lens[weft_rng_below(&m->w.rng, WEFT_COUNT(lens))];

		m->kind[i] = (uint8_t)weft_rng_below(&m->w.rng, m->strict ? SEND : ADD + 1);
		m->len_bytes[i] = m->kind[i] == ADD ? 8 : len_bytes;
		if (len_bytes)
			at(m, 0, i)[len_bytes - 1] |= 1; /* so that a reader sees it come */
	}
	memset(m->w.memory[0] + RESULTS, 0xff, 8 * MESSAGES);
}

static void start(struct mess *m)
{
	struct weft_config config;

	pair_config(&config);
	config.seed = m->seed;
	config.recvq_depth = 64;
	world_open(&m->w, &config);
	struct weft_qp_attr attr = pair_attr(&m->w);

	attr.kind = m->strict ? WEFT_QP_STRICT : WEFT_QP_EXTENDED;
	attr.wimm_rx = attr.wimm_tx = 1u << (1 + m->seed % 5);
	attr.rnr_timer = 1;
	attr.retry_count = 7;
	for (int i = 0; !m->strict && m->seed % 2 && i < 2; i++)
		CHECK_EQ(weft_recvq_open(m->w.end[i], &attr.recvq), 0);
	pair_open(&m->w, &attr);
	pair_join(&m->w, &attr);
	draw_messages(m);
}

/* ---- steps ---- */

static void post_receive(struct mess *m)
{
	uint32_t id = m->receives;
	struct weft_recv recv = {
		.id = id, .to = pair_recv_at(&m->w, 1, id), .len_bytes = PAIR_RECV_BYTES
	};
	uint32_t shared = m->strict ? WEFT_NO_RECVQ : m->w.qp[1]->ext->recvq;

	if (id - m->heard == 64)
		return;
	if (m->strict)
		CHECK_EQ(weft_post_recv(m->w.qp[1], id), 0);
	else if (shared)
		CHECK_EQ(weft_recvq_post(m->w.end[1], shared, &recv), 0);
	else
		CHECK_EQ(weft_post_receive(m->w.qp[1], &recv), 0);
	m->receives++;
}

static void post(struct mess *m)
{
	static const uint8_t kinds[] = { WEFT_WORK_WRITE, WEFT_WORK_WRITE, WEFT_WORK_SEND,
		WEFT_WORK_SEND, WEFT_WORK_FETCH_ADD };
	uint32_t i = m->posted;

	if (i == MESSAGES || i - m->finished == m->w.config.sq_depth)
		return;
	struct weft_work work =
		pair_work(&m->w, 0, kinds[m->kind[i]], i, i * PLACE, m->len_bytes[i]);

	work.has_imm = m->kind[i] == WRITE_IMM || m->kind[i] == SEND_IMM;
	work.imm = i * 7;
	if (m->kind[i] == ADD) {
		work.remote_va = 0x10000 + COUNTER;
		work.to = m->w.memory[0] + RESULTS + i * 8;
		work.operand[0] = 1;
	}
	CHECK_EQ(weft_post(m->w.qp[0], &work), 0);
	m->posted++;
}

static void put(struct mess *m, int end, const struct weft_pkt *pkt)
{
	REQUIRE(m->n[end] < BAG);
	m->bag[end][m->n[end]] = *pkt;
	m->bag[end][m->n[end]++].peer = 7;
}

static void output(struct mess *m, int from)
{
	struct weft_pkt pkts[BATCH];
	size_t n = weft_output(m->w.end[from], pkts, BATCH, UINT32_MAX, m->w.now);

	for (size_t i = 0; i < n; i++) {
		if (likely(m, 4))
			continue;
		if (weft_op_is_data(pkts[i].op) && likely(m, 4))
			pkts[i].mark |= WEFT_MARK_TRIMMED;
		put(m, !from, &pkts[i]);
		if (likely(m, 4))
			put(m, !from, &pkts[i]);
	}
}

/* As a port does it: all of a batch goes in, then the bytes are moved. */
static void input(struct mess *m, int to)
{
	struct weft_pkt pkts[BATCH];
	struct weft_place places[BATCH];
	size_t n = weft_rng_below(&m->w.rng, BATCH) + 1;

	n = WEFT_MIN(n, (size_t)m->n[to]);
	for (size_t i = 0; i < n; i++) {
		uint32_t pick = (uint32_t)weft_rng_below(&m->w.rng, m->n[to]);

		pkts[i] = m->bag[to][pick];
		m->bag[to][pick] = m->bag[to][--m->n[to]];
	}
	weft_input(m->w.end[to], pkts, n, m->w.now, places);
	for (size_t i = 0; i < n; i++)
		if (places[i].len_bytes)
			memcpy(places[i].to, places[i].from, places[i].len_bytes);
}

static void wait_a_little(struct mess *m)
{
	uint64_t due = WEFT_MIN(weft_next_timeout(m->w.end[0]), weft_next_timeout(m->w.end[1]));

	if (m->n[0] + m->n[1] == 0 && due != WEFT_NEVER)
		m->w.now = WEFT_MAX(m->w.now, due);
	m->w.now += weft_rng_below(&m->w.rng, 400);
}

/* ---- what must be so ---- */

static bool is_there(const struct mess *m, uint32_t i)
{
	return m->kind[i] >= SEND || !memcmp(at(m, 1, i), at(m, 0, i), m->len_bytes[i]);
}

static uint64_t adds_before(const struct mess *m, uint32_t end)
{
	uint64_t adds = 0;

	for (uint32_t i = 0; i < end; i++)
		adds += m->kind[i] == ADD;
	return adds;
}

/*
 * Of whose end may be seen all is there, and so is all before it.  An add comes after what was
 * posted before it; what was posted after it, without a fence, may come first (IBTA vol. 1, table
 * "Work Request Operation Ordering").
 */
static void look(struct mess *m)
{
	while (m->whole < m->posted && is_there(m, m->whole))
		m->whole++;
	if (m->strict)
		return;
	if (*(const uint64_t *)(const void *)(m->w.memory[1] + COUNTER) > adds_before(m, m->whole))
		CHECK_FAIL("seed %u: an add came before message %u", m->seed, m->whole);
	for (uint32_t i = m->whole; i < m->posted; i++)
		if (m->kind[i] <= WRITE_IMM && m->len_bytes[i] && at(m, 1, i)[m->len_bytes[i] - 1])
			CHECK_FAIL(
				"seed %u: the end of %u is seen before %u", m->seed, i, m->whole);
}

/* The responder hears of what consumes a receive, in order, and not before it is all there. */
static void hear(struct mess *m, const struct weft_done *done)
{
	while (m->told < m->posted && !consumes(m, m->told))
		m->told++;
	REQUIRE(m->told < m->posted);
	uint32_t i = m->told++;
	bool imm = m->kind[i] == WRITE_IMM || m->kind[i] == SEND_IMM;
	bool send = m->kind[i] >= SEND;

	look(m);
	if (done->status != WEFT_OK || done->id != m->heard || done->len_bytes != m->len_bytes[i] ||
		(imm && done->imm != i * 7) ||
		done->kind != (send ? WEFT_DONE_RECV : WEFT_DONE_RECV_IMM))
		CHECK_FAIL("seed %u: %s for receive %llu instead of message %u", m->seed,
			weft_status_name(done->status), (unsigned long long)done->id, i);
	if (m->whole <= i)
		CHECK_FAIL("seed %u: %u was told before %u was there", m->seed, i, m->whole);
	if (send && memcmp(pair_recv_at(&m->w, 1, m->heard), at(m, 0, i), m->len_bytes[i]))
		CHECK_FAIL("seed %u: bytes of send %u", m->seed, i);
	memset(pair_recv_at(&m->w, 1, m->heard++), 0, PLACE);
}

static void finish(struct mess *m, const struct weft_done *done)
{
	uint32_t i = m->finished++;
	uint64_t before = adds_before(m, i);

	REQUIRE(i < m->posted);
	if (done->status != WEFT_OK || done->id != i)
		CHECK_FAIL("seed %u: %s for %llu instead of message %u", m->seed,
			weft_status_name(done->status), (unsigned long long)done->id, i);
	if (m->whole <= i)
		CHECK_FAIL("seed %u: %u completed before %u was there", m->seed, i, m->whole);
	if (m->kind[i] == ADD && memcmp(m->w.memory[0] + RESULTS + i * 8, &before, 8))
		CHECK_FAIL("seed %u: add %u was not number %u", m->seed, i, (uint32_t)before);
}

static void poll_end(struct mess *m, int end)
{
	struct weft_done done;

	while (weft_poll(m->w.end[end], 0, &done, 1)) {
		if (end)
			hear(m, &done);
		else
			finish(m, &done);
	}
}

static void step(struct mess *m)
{
	int end = (int)weft_rng_below(&m->w.rng, 2);
	bool few = m->receives < 8 || m->strict; /* MRC has no RNR: there must be one */

	switch (weft_rng_below(&m->w.rng, 8)) {
	case 0:
	case 1:
		if (few || likely(m, 60))
			post_receive(m);
		if (!m->strict || m->receives - m->heard > m->posted - m->told + 1)
			post(m);
		break;
	case 2:
	case 3:
		output(m, end);
		break;
	case 4:
	case 5:
		input(m, end);
		break;
	case 6:
		poll_end(m, end);
		break;
	default:
		wait_a_little(m);
	}
	look(m);
}

static void run(bool strict, uint32_t seed)
{
	struct mess *m = calloc(1, sizeof(*m));

	REQUIRE(m);
	m->strict = strict;
	m->seed = seed;
	start(m);
	for (uint32_t i = 0; i < 2000000 && m->finished < MESSAGES; i++) {
		step(m);
		if (i % 64 == 0) {
			weft_check(m->w.end[0]);
			weft_check(m->w.end[1]);
		}
	}
	for (uint32_t i = 0; i < 2000; i++) /* what is still on its way changes nothing */
		step(m);
	poll_end(m, 0);
	poll_end(m, 1);
	while (m->told < MESSAGES && !consumes(m, m->told))
		m->told++;
	if (m->finished != MESSAGES || m->told != MESSAGES || m->whole != MESSAGES)
		CHECK_FAIL("seed %u: %u completed, %u told, %u there", seed, m->finished, m->told,
			m->whole);
	CHECK(weft_stats(m->w.end[0])->tx_rtx_pkts > 0);
	CHECK(weft_stats(m->w.end[1])->rx_duplicate > 0);
	pair_end(&m->w);
	free(m);
}

TEST(order__of_writes_and_immediates_holds_on_strict_qps)
{
	for (uint32_t seed = 1; seed <= RUNS; seed++)
		run(true, seed);
}

TEST(order__of_all_kinds_holds_on_extended_qps)
{
	for (uint32_t seed = 1; seed <= RUNS; seed++)
		run(false, seed);
}
