/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline_ops - two hosts with a baseline's transport under any calls, any packets, at any time.
 *
 * The input is a row of operations: messages are posted, time passes, packets come in any order,
 * twice, changed or not at all, ports are paused, routes change.  What must hold: every invariant
 * of both ends after each call; no message is done twice or arrives twice; nothing leaves by a port
 * that is busy, no data by one that is paused.  If no packet was changed, all that was posted
 * arrives and is done once the network behaves.
 */
#include <weft/base.h>
#include <weft/baseline.h>

#include <stdlib.h>
#include <string.h>

enum { FLIGHTS = 256, OPS_MAX = 2000, WORKS = 48, BLOCK = 1 << 20, PLANES = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);
uint64_t ops_calls;

struct input {
	const uint8_t *at, *end;
};

struct world {
	struct input in;
	struct weft_baseline *end[2];
	struct weft_pkt flights[FLIGHTS];
	uint8_t to[FLIGHTS];
	uint32_t n, salt;
	uint64_t now_ps;
	uint32_t paused;
	bool may_forge, forged;
	uint32_t posted[2];
	bool done[2][WORKS], arrived[2][WORKS]; /* by who posted */
};

static uint8_t get(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint32_t path(void *user, uint32_t peer, uint32_t plane, uint32_t hash, uint8_t *port)
{
	const struct world *w = user;

	WEFT_ASSERT(peer < 2);
	hash += w->salt;
	*port = (uint8_t)(plane == WEFT_BASELINE_ANY_PLANE ? hash % PLANES : plane);
	if (plane != WEFT_BASELINE_ANY_PLANE && w->salt % (PLANES + 1) == plane)
		return WEFT_BASELINE_NO_PATH;
	return (uint32_t)*port << 16;
}

static void poll(struct world *w, uint32_t end)
{
	struct weft_baseline_done done;

	while (weft_baseline_poll(w->end[end], &done)) {
		uint32_t owner = done.arrived ? !end : end;

		if (w->forged)
			continue; /* ids may be anything */
		WEFT_ASSERT(done.id < w->posted[owner]);
		bool *once = done.arrived ? &w->arrived[owner][done.id] : &w->done[owner][done.id];

		WEFT_ASSERT(!*once);
		*once = true;
		WEFT_ASSERT(w->arrived[owner][done.id]); /* nobody is told before */
	}
	weft_baseline_check(w->end[end]);
}

static void send(struct world *w, uint32_t end, uint32_t free, uint32_t most)
{
	struct weft_pkt pkt;

	for (; most && w->n < FLIGHTS; most--) {
		if (!weft_baseline_output(w->end[end], &pkt, free, w->paused, w->now_ps))
			break;
		WEFT_ASSERT(free >> pkt.port & 1 && pkt.peer == !end);
		WEFT_ASSERT(!weft_op_is_write(pkt.op) || !(w->paused >> pkt.port & 1));
		pkt.peer = end;
		w->flights[w->n] = pkt;
		w->to[w->n++] = (uint8_t)!end;
	}
	poll(w, end);
}

static void deliver(struct world *w, uint32_t i, bool keep)
{
	struct weft_pkt pkt = w->flights[i];
	uint32_t to = w->to[i];

	if (!keep) {
		w->flights[i] = w->flights[--w->n];
		w->to[i] = w->to[w->n];
	}
	weft_baseline_input(w->end[to], &pkt, w->now_ps);
	poll(w, to);
}

static void forge(struct world *w, uint32_t i)
{
	uint8_t *bytes = (uint8_t *)&w->flights[i];
	static const uint8_t ops[] = { WEFT_OP_ACK, WEFT_OP_SACK, WEFT_OP_NACK, WEFT_OP_PROBE,
		WEFT_OP_EP_REQUEST, WEFT_OP_WRITE_MIDDLE, WEFT_OP_WRITE_LAST };

	w->forged = true;
	bytes[get(&w->in) % sizeof(struct weft_pkt)] = get(&w->in);
	if (get(&w->in) & 1)
		w->flights[i].op = ops[get(&w->in) % sizeof(ops)];
}

static void post(struct world *w, uint32_t end)
{
	uint32_t len = (uint32_t)get(&w->in) << 8 | get(&w->in);

	if (w->posted[end] == WORKS)
		return;
	if (weft_baseline_post(w->end[end], 0, w->posted[end], len * 4, w->now_ps))
		w->posted[end]++;
	else
		WEFT_ASSERT(!len);
}

static void operate(struct world *w)
{
	uint8_t op = get(&w->in);
	uint32_t end = op >> 7, i = w->n ? get(&w->in) % w->n : 0;

	ops_calls++;
	switch (op % 12) {
	case 0:
		post(w, end);
		break;
	case 1:
	case 2:
		send(w, end, get(&w->in), 1 + op % 8);
		break;
	case 3:
		w->now_ps += get(&w->in) * UINT64_C(100000);
		break;
	case 4:
		w->now_ps += get(&w->in) * UINT64_C(10000000);
		break;
	case 5:
		w->paused = get(&w->in) & 7;
		break;
	case 6:
		w->salt = get(&w->in);
		weft_baseline_routes_changed(w->end[end]);
		poll(w, end);
		break;
	default:
		if (!w->n)
			break;
		if (op % 12 == 7 && w->may_forge)
			forge(w, i);
		else if (op % 12 == 8)
			w->flights[i].mark ^= (op >> 4) & 7; /* switches do that */
		else if (op % 12 == 9)
			w->n--; /* lost */
		else
			deliver(w, i, op % 12 == 10);
	}
}

/* A network that behaves: what is under way is lost, the rest comes in order. */
static void behave(struct world *w)
{
	w->n = w->paused = 0;
	for (unsigned turn = 0; turn < 20000; turn++) {
		for (uint32_t end = 0; end < 2; end++)
			send(w, end, 7, FLIGHTS / 2);
		w->now_ps += 2000000;
		for (uint32_t i = 0; i < w->n; i++) {
			weft_baseline_input(w->end[w->to[i]], &w->flights[i], w->now_ps);
			poll(w, w->to[i]);
		}
		w->n = 0;
		uint64_t next = WEFT_MIN(
			weft_baseline_next_ps(w->end[0]), weft_baseline_next_ps(w->end[1]));

		if (next != WEFT_NEVER && next > w->now_ps &&
			!weft_baseline_wants_output(w->end[0]) &&
			!weft_baseline_wants_output(w->end[1]))
			w->now_ps = next;
		if (next == WEFT_NEVER && !weft_baseline_wants_output(w->end[0]) &&
			!weft_baseline_wants_output(w->end[1]))
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static uint8_t blocks[2][BLOCK] WEFT_CACHE_ALIGNED;
	struct world *w = calloc(1, sizeof(*w));

	WEFT_ASSERT(w);
	w->in = (struct input){ data, data + len_bytes };
	uint8_t kind = get(&w->in), more = get(&w->in);

	w->may_forge = more >> 7;
	struct weft_baseline_config config = {
		.settings = { .kind = (enum weft_baseline_kind)(
				      1 + kind % (WEFT_BASELINE_KINDS - 1)),
			.qps = (kind >> 4) % 4,
			.dcqcn = kind >> 7 && kind % (WEFT_BASELINE_KINDS - 1) < 3,
			.window_pkts = more % 40 },
		.planes = PLANES,
		.sends = 1,
		.receives = 1,
		.works = WORKS,
		.payload_bytes = 4096,
		.overhead_bytes = 166,
		.port_bps = UINT64_C(100000000000),
		.rtt_ps = 4000000,
		.path = path,
		.user = w
	};

	for (uint32_t end = 0; end < 2; end++) {
		config.host = config.seed = end;
		WEFT_ASSERT(weft_baseline_size(&config) && weft_baseline_size(&config) <= BLOCK);
		WEFT_ASSERT(weft_baseline_init(&w->end[end], blocks[end], &config));
		weft_baseline_connect(w->end[end], false, 0, !end, 0);
		weft_baseline_connect(w->end[end], true, 0, !end, 0);
	}
	for (unsigned i = 0; i < OPS_MAX && w->in.at < w->in.end; i++)
		operate(w);
	behave(w);
	for (uint32_t end = 0; end < 2 && !w->forged; end++) {
		for (uint32_t i = 0; i < w->posted[end]; i++)
			WEFT_ASSERT(w->done[end][i] && w->arrived[end][i]);
	}
	free(w);
	return 0;
}
