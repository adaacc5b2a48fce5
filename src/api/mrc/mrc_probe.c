/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_probe - endpoint operations: questions to a peer's NIC over one path, and the way there and
 * back measured.
 *
 * No QP is needed: the device finds the peer's by its GID, which may take a turn.  Answers carry a
 * number of ours; those of an earlier batch that come too late are recognised by it and dropped.
 * Port status is told by the engine itself, whenever a port changes and until it is answered; what
 * a controller tells holds until then.  Requests travel in the control class, like their answers:
 * its code point may be asked for, or 0 for whatever is usual.
 */
#include "mrc_local.h"

#include <stdlib.h>
#include <time.h>
#include <weft/net.h>

#define EVS_MAX   4096u
#define BATCH_MAX 1024
#define TURN_NS   50000

static struct weft_lock batch_lock = WEFT_LOCK_INIT; /* answers have one reader */
static uint32_t next_cookie = 1;

static int send_one(struct station *station, enum mrc_ctl_ep_op_type op,
	const struct mrc_ctl_ep_req *req, uint32_t cookie, uint32_t evs[EVS_MAX])
{
	uint8_t gid[16];

	gid_find(&req->dgid, gid);
	int n = weft_dev_evs(station->dev, gid, evs, EVS_MAX);
	uint32_t ev = n <= 0 ? NO_EV
			     : profile_match(station->dev, gid, req->ev_fmt_mode, &req->req_ev, evs,
				       WEFT_MIN((uint32_t)n, EVS_MAX));

	if (ev == NO_EV)
		return EHOSTUNREACH;
	return op == MRC_CTL_EP_OP_EV_PROBE
		       ? weft_dev_probe(station->dev, gid, ev, cookie)
		       : weft_dev_port_status(station->dev, gid, ev,
				 req->op.port_status_update.port_status >> 1, cookie);
}

/* What ends one request of a batch, and not the batch. */
static bool is_of_one(int error)
{
	return error == EHOSTUNREACH || error == ENETUNREACH || error == ENOENT;
}

/* Answers that have come; they are in no order.  Returns how many of the batch are settled. */
static int collect(struct station *station, const struct mrc_ctl_ep_req *req, int n, uint32_t first,
	struct mrc_ctl_ep_rsp *rsp, int *num_rsp)
{
	struct weft_probe_done done[32];
	int got = weft_dev_probe_poll(station->dev, done, WEFT_COUNT(done));
	int settled = 0;

	for (int i = 0; i < got; i++) {
		uint32_t index = done[i].cookie - first;

		if (index >= (uint32_t)n)
			continue;
		settled++;
		if (!done[i].rtt_ns)
			continue; /* nobody answered */
		rsp[(*num_rsp)++] = (struct mrc_ctl_ep_rsp){ .req_id = req[index].req_id,
			.port = (uint8_t)(done[i].port + 1),
			.rtt = done[i].rtt_ns };
	}
	return settled;
}

/*
 * Each turn tries one request that has not gone: whoever cannot be asked yet (as many as fit are
 * under way; a host that was never met has not answered) stands behind the others.
 */
static int run_batch(struct station *station, enum mrc_ctl_ep_op_type op,
	const struct mrc_ctl_ep_req *req, int num_req, uint64_t until_ns,
	struct mrc_ctl_ep_rsp *rsp, int *num_rsp)
{
	uint32_t *evs = calloc(EVS_MAX, sizeof(*evs));
	uint32_t first = next_cookie;
	bool has_gone[BATCH_MAX] = { false };
	int left = num_req, settled = 0, unreached = 0, rc = evs ? 0 : ENOMEM;

	next_cookie += (uint32_t)num_req;
	for (int at = 0; !rc && settled < num_req && weft_clock_now(NULL) < until_ns;
		at = (at + 1) % num_req) {
		bool moves = false;

		if (left && has_gone[at])
			continue;
		if (left) {
			rc = send_one(station, op, &req[at], first + (uint32_t)at, evs);
			moves = rc != EAGAIN;
			has_gone[at] = moves;
			left -= moves;
			if (is_of_one(rc)) { /* the others have their answers */
				unreached++;
				settled++;
			}
			rc = rc == EAGAIN || is_of_one(rc) ? 0 : rc;
		}
		int more = collect(station, req, num_req, first, rsp, num_rsp);

		settled += more;
		if (!more && !moves)
			nanosleep(&(struct timespec){ .tv_nsec = TURN_NS }, NULL);
	}
	free(evs);
	if (!rc && !*num_rsp)
		rc = unreached == num_req ? EHOSTUNREACH : ETIMEDOUT;
	return rc;
}

static bool is_possible(const struct station *station, enum mrc_ctl_ep_op_type op,
	const struct mrc_ctl_ep_req *req)
{
	uint64_t ports = ((UINT64_C(1) << station->planes) - 1) << 1;

	return fields_mode_width(req->ev_fmt_mode) && req->req_ev.port &&
	       req->req_ev.port <= station->planes &&
	       (op == MRC_CTL_EP_OP_EV_PROBE ||
		       !(req->op.port_status_update.port_status & ~ports));
}

int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
	enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req *req, int num_req,
	uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp, int *num_rsp)
{
	if (!alive_is(mrc_ctx) || !req || !rsp || !num_rsp || num_req < 1 || num_req > BATCH_MAX)
		return fail(EINVAL);
	*num_rsp = 0;
	if ((op_type != MRC_CTL_EP_OP_EV_PROBE && op_type != MRC_CTL_EP_OP_PORT_STATUS_UPDATE) ||
		(req_tc && req_tc != WEFT_DSCP_DEFAULT.control))
		return fail(ENOTSUP);
	for (int i = 0; i < num_req; i++) {
		if (!is_possible(mrc_ctx->station, op_type, &req[i]))
			return fail(EINVAL);
	}
	weft_lock_take(&batch_lock);
	int rc = run_batch(mrc_ctx->station, op_type, req, num_req,
		weft_clock_now(NULL) + rsp_timeout, rsp, num_rsp);

	weft_lock_give(&batch_lock);
	return rc ? fail(rc) : 0;
}
