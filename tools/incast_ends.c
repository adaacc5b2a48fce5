/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast_ends - the endpoints of a live run, in two processes: all that receive, all that send.
 *
 * One thread turns all pumps of a process and sleeps a little when none had anything to do.  Ten
 * processes would be more like ten hosts, but on two CPUs they would mostly wait for each other,
 * and that would be what is measured.  Each flow has an endpoint of its own at its receiver, so
 * that bytes are counted by flow; those of the one NIC share its line, as processes of a host do.
 */
#include "incast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/base.h>
#include <weft/session.h>

#define NAP_NS UINT64_C(50000)
#define SETUP_NS UINT64_C(10000000000)
#define TRIES 20
#define TRY_AGAIN_NS UINT64_C(50000000)
#define PUBLISH_NS UINT64_C(5000000)
#define TCP_PORT 18600u /* set-up lines: one number per flow; they are sockets in dir */

struct end {
	struct weft_live *live;
	struct weft_session session;
	uint8_t *memory;
	uint32_t rkey;
};

struct side {
	const struct incast_plan *plan;
	struct incast_shared *shared;
	struct incast_side *mine;
	unsigned which;
	struct end ends[INCAST_FLOWS];
	struct incast_sender senders[INCAST_FLOWS];
};

static int fail(struct side *s, const char *what)
{
	if (!s->mine->error[0])
		(void)snprintf(s->mine->error, sizeof(s->mine->error), "%s", what);
	atomic_store(&s->mine->has_failed, true);
	return -1;
}

/* ---- set-up ---- */

static int open_end(struct side *s, uint32_t flow, const char *fabric, const char *dir)
{
	struct weft_live_config config;
	struct end *end = &s->ends[flow];
	char host[8], error[INCAST_TEXT_BYTES] = "";
	uint32_t ends[2];

	incast_ends(flow, &ends[INCAST_TRANSMITTERS], &ends[INCAST_RECEIVERS]);
	(void)snprintf(host, sizeof(host), "h%u", ends[s->which]);
	weft_live_defaults(&config);
	config.fabric = fabric;
	config.host = host;
	config.switch_dir = dir;
	config.via = "shm";
	config.engine.qps = 64;
	end->memory = calloc(1, INCAST_MEMORY);
	if (!end->memory)
		return fail(s, "out of memory");
	/* A switch waits for a caller's first words for some milliseconds only. */
	for (unsigned n = 0; weft_live_open(&end->live, &config, error, sizeof(error)); n++) {
		if (n == TRIES)
			return fail(s, error);
		weft_clock_sleep(TRY_AGAIN_NS);
	}
	if (s->which == INCAST_TRANSMITTERS)
		return 0;
	if (weft_region_add(weft_live_endpoint(end->live), 0, end->memory, INCAST_MEMORY, 0,
		    WEFT_ACCESS_REMOTE_WRITE, weft_live_random(end->live), &end->rkey))
		return fail(s, "no room for a memory region");
	if (weft_live_listen(end->live, (uint16_t)(TCP_PORT + flow), error, sizeof(error)))
		return fail(s, error);
	return 0;
}

static int await_client(struct side *s, uint32_t flow)
{
	struct end *end = &s->ends[flow];
	struct weft_meeting *meeting;
	char error[INCAST_TEXT_BYTES] = "nobody came";

	if (weft_live_accept(end->live, SETUP_NS, &meeting, error, sizeof(error)) != 1)
		return fail(s, error);
	json_t *app = json_pack("{s:I}", "rkey", (json_int_t)end->rkey);
	int result = weft_live_answer(meeting, app, &end->session, error, sizeof(error));

	json_decref(app);
	return result ? fail(s, error) : 0;
}

static int call_server(struct side *s, uint32_t flow)
{
	struct end *end = &s->ends[flow];
	struct incast_sender *sender = &s->senders[flow];
	uint32_t src, dst, n_qps = flow == INCAST_VICTIM ? 1 : 1 + s->plan->bursts;
	char host[8], error[INCAST_TEXT_BYTES] = "";
	json_t *app = json_object();

	incast_ends(flow, &src, &dst);
	(void)snprintf(host, sizeof(host), "h%u", dst);
	int result = weft_live_connect(end->live, host, (uint16_t)(TCP_PORT + flow), n_qps, app,
		SETUP_NS, &end->session, error, sizeof(error));

	json_decref(app);
	if (result)
		return fail(s, error);
	*sender = (struct incast_sender){ .plan = s->plan,
		.flow = flow,
		.ep = weft_live_endpoint(end->live),
		.data = end->memory };
	sender->rkey = (uint32_t)json_integer_value(json_object_get(end->session.app, "rkey"));
	for (uint32_t i = 0; i < n_qps; i++)
		sender->qp[i] = end->session.qp[i];
	return 0;
}

/* Receivers listen before anybody calls; both go through the flows in the same order. */
static int meet(struct side *s, const char *fabric, const char *dir)
{
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++)
		if (open_end(s, flow, fabric, dir))
			return -1;
	if (s->which == INCAST_RECEIVERS)
		atomic_store(&s->mine->is_ready, true);
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++)
		if (s->which == INCAST_RECEIVERS ? await_client(s, flow) : call_server(s, flow))
			return -1;
	atomic_store(&s->mine->is_ready, true);
	return 0;
}

/* ---- the run ---- */

static void publish(struct side *s)
{
	struct incast_counts sum = { 0 };

	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++) {
		const struct weft_counters *c = weft_stats(weft_live_endpoint(s->ends[flow].live));

		sum.data += c->tx_data_pkts;
		sum.again += c->tx_rtx_pkts;
		sum.nacks += c->rx_nack;
		sum.timeouts += c->timeouts;
		sum.tail_probes += c->tail_probes;
		sum.spurious += c->spurious;
	}
	s->mine->counts = sum;
	if (s->which == INCAST_RECEIVERS)
		return;
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++)
		memcpy(s->shared->took_ns[flow], s->senders[flow].took_ns,
			sizeof(s->shared->took_ns[flow]));
}

static size_t turn(struct side *s, uint64_t at_ns)
{
	size_t moved = 0;

	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++) {
		struct end *end = &s->ends[flow];

		moved += weft_pump_step(weft_live_pump(end->live), 0);
		if (s->which == INCAST_RECEIVERS) {
			atomic_store_explicit(&s->shared->bytes[flow],
				weft_stats(weft_live_endpoint(end->live))->rx_data_bytes,
				memory_order_relaxed);
			continue;
		}
		(void)incast_send(&s->senders[flow], at_ns);
		if (s->senders[flow].status) {
			char text[64];

			(void)snprintf(text, sizeof(text), "flow %u: %s", flow,
				weft_status_name(s->senders[flow].status));
			(void)fail(s, text);
		}
	}
	return moved;
}

static void run(struct side *s)
{
	uint64_t last_ns = weft_clock_now(NULL), published_ns = 0;

	while (!atomic_load(&s->shared->stop) && !atomic_load(&s->mine->has_failed)) {
		uint64_t now = weft_clock_now(NULL), start_ns = atomic_load(&s->shared->start_ns);

		if (start_ns && now - last_ns > atomic_load(&s->mine->late_ns))
			atomic_store(&s->mine->late_ns, now - last_ns);
		last_ns = now;
		if (!start_ns || now < start_ns) {
			weft_clock_sleep(NAP_NS);
			continue;
		}
		size_t moved = turn(s, now - start_ns);

		if (now - published_ns >= PUBLISH_NS) {
			publish(s);
			published_ns = now;
		}
		if (!moved)
			weft_clock_sleep(NAP_NS);
	}
	publish(s);
}

void incast_side_run(const struct incast_plan *plan, unsigned side, const char *fabric,
	const char *dir, struct incast_shared *shared)
{
	struct side *s = calloc(1, sizeof(*s));

	WEFT_ASSERT(s && side < INCAST_SIDES);
	*s = (struct side){
		.plan = plan, .shared = shared, .mine = &shared->side[side], .which = side
	};
	if (!meet(s, fabric, dir))
		run(s);
	for (uint32_t flow = 0; flow < INCAST_FLOWS; flow++) {
		struct end *end = &s->ends[flow];

		if (end->live)
			weft_session_close(end->live, &end->session);
		weft_live_close(end->live);
		free(end->memory);
	}
	free(s);
}
