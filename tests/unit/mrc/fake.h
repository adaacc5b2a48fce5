/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKE_H
#define FAKE_H
/*
 * fake - a device that does what it is told and remembers it, in the place of the real one.
 *
 * What is tested with it is what the API makes of its arguments; that the real device does as told
 * is tested in tests/unit/device and tests/live/mrc.sh.  It has four planes and knows a peer,
 * fe80::2, by three paths per plane.
 */
#include "stage.h"

#include <fcntl.h>

#define FAKE_PLANES 4u
#define FAKE_UPLINKS 3u

struct weft_dev {
	int n_events, n_done, n_probes;
	struct weft_dev_event event[8];
	struct weft_dev_wc done[64];
	struct weft_probe_done probe[64];
	bool admin[FAKE_PLANES];
	uint32_t paths[64], n_paths, active, n_marks, n_replaced, told_planes;
	uint32_t unmet_ev; /* its probe waits for a host to answer; 0: none does */
	struct {
		uint32_t ev;
		enum weft_path_state to;
	} mark[16];
	bool is_connected, overrun;
	struct weft_lock *must_be_held; /* by who takes an event, NULL: whoever */
	enum weft_path_state state[FAKE_PLANES * FAKE_UPLINKS];
	int paths_open, qps_open, cqs_open, channels_open, listeners;
};
struct weft_dev_pd {
	int unused;
};
struct weft_dev_channel {
	int fd[2];
};
struct weft_dev_cq {
	uint32_t owner;
	void *user;
	struct weft_dev_channel *channel;
};
struct weft_dev_qp {
	struct weft_dev_qp_init init;
	struct weft_dev_qp_attr attr;
	uint32_t mask;
	int fail;
	struct weft_dev_send sent[8];
	bool more[8];
	int n_sent, n_recv;
};

static struct weft_dev fake_dev;
static struct weft_dev_pd fake_pd;
static struct ibv_context fake_context;
static struct ibv_pd fake_ibv_pd = { .context = &fake_context };
static const uint8_t fake_peer[16] = { 0xfe, 0x80, [15] = 2 };

struct weft_dev *weft_verbs_device(struct ibv_context *context)
{
	return context == &fake_context ? &fake_dev : NULL;
}
struct weft_dev_pd *weft_verbs_pd(struct ibv_pd *pd)
{
	return pd == &fake_ibv_pd ? &fake_pd : NULL;
}
void weft_dev_query(const struct weft_dev *dev, struct weft_dev_attr *attr)
{
	(void)dev;
	*attr = (struct weft_dev_attr){ .name = "fake0",
		.guid = 42,
		.rate_bps = 400000000000,
		.planes = FAKE_PLANES,
		.mtu_bytes = 4096,
		.max_inline_bytes = 1024,
		.max_wimm = 128,
		.max_mpr_psns = 4096 };
}
int weft_dev_plane_query(struct weft_dev *dev, uint32_t plane, struct weft_dev_plane *info)
{
	*info = (struct weft_dev_plane){ .link = true, .admin = !dev->admin[plane] };
	return 0;
}
int weft_dev_plane_admin(struct weft_dev *dev, uint32_t plane, bool up)
{
	dev->admin[plane] = !up;
	return 0;
}
int weft_dev_listener_open(
	struct weft_dev *dev, uint32_t owner, struct weft_dev_listener **listener)
{
	CHECK(owner != 0);
	dev->listeners++;
	*listener = (void *)dev;
	return 0;
}
void weft_dev_listener_close(struct weft_dev_listener *listener)
{
	(void)listener;
	fake_dev.listeners--;
}
int weft_dev_listener_fd(const struct weft_dev_listener *listener)
{
	(void)listener;
	return -1;
}
int weft_dev_listener_get(struct weft_dev_listener *listener, struct weft_dev_event *event)
{
	struct weft_dev *dev = (void *)listener;

	if (!dev->n_events)
		return EAGAIN;
	*event = dev->event[0];
	memmove(dev->event, dev->event + 1, sizeof(dev->event) - sizeof(dev->event[0]));
	dev->n_events--;
	return 0;
}
void weft_dev_cq_set_owner(struct weft_dev_cq *cq, uint32_t owner)
{
	cq->owner = owner;
}
int weft_dev_channel_open(struct weft_dev *dev, struct weft_dev_channel **channel)
{
	*channel = calloc(1, sizeof(**channel));
	dev->channels_open++;
	return pipe((*channel)->fd) ? errno : 0;
}
int weft_dev_channel_close(struct weft_dev_channel *channel)
{
	close(channel->fd[0]);
	close(channel->fd[1]);
	free(channel);
	fake_dev.channels_open--;
	return 0;
}
int weft_dev_channel_fd(const struct weft_dev_channel *channel)
{
	return channel->fd[0];
}
int weft_dev_channel_get(struct weft_dev_channel *channel, void **user)
{
	if (fake_dev.must_be_held)
		CHECK(!weft_lock_try(fake_dev.must_be_held));
	return read(channel->fd[0], user, sizeof(*user)) == sizeof(*user) ? 0 : errno;
}
int weft_dev_cq_open(struct weft_dev *dev, uint32_t entries, struct weft_dev_channel *channel,
	void *user, struct weft_dev_cq **cq)
{
	if (entries > 1000)
		return EINVAL;
	*cq = calloc(1, sizeof(**cq));
	(*cq)->user = user;
	(*cq)->channel = channel;
	dev->cqs_open++;
	return 0;
}
int weft_dev_cq_close(struct weft_dev_cq *cq)
{
	if (fake_dev.qps_open)
		return EBUSY;
	fake_dev.cqs_open--;
	free(cq);
	return 0;
}
int weft_dev_cq_poll(struct weft_dev_cq *cq, struct weft_dev_wc wc[], int max)
{
	int n = WEFT_MIN(max, fake_dev.n_done);

	(void)cq;
	if (fake_dev.overrun)
		return -1;
	memcpy(wc, fake_dev.done, sizeof(wc[0]) * (size_t)n);
	memmove(fake_dev.done, fake_dev.done + n, sizeof(wc[0]) * (size_t)(fake_dev.n_done - n));
	fake_dev.n_done -= n;
	return n;
}
int weft_dev_cq_arm(struct weft_dev_cq *cq, bool solicited_only)
{
	(void)solicited_only;
	return write(cq->channel->fd[1], &cq->user, sizeof(cq->user)) > 0 ? 0 : EIO;
}
int weft_dev_qp_open(
	struct weft_dev_pd *pd, const struct weft_dev_qp_init *init, struct weft_dev_qp **qp)
{
	if (!pd || init->inline_bytes > 1024)
		return EINVAL;
	*qp = calloc(1, sizeof(**qp));
	(*qp)->init = *init;
	(*qp)->attr = (struct weft_dev_qp_attr){ .mpr_tx_psns = 1024,
		.mpr_rx_psns = 1024,
		.wimm_rx = 128,
		.wimm_tx = 128,
		.timeout = 14,
		.retry = 7,
		.linear = 7 };
	fake_dev.qps_open++;
	return 0;
}
int weft_dev_qp_close(struct weft_dev_qp *qp)
{
	fake_dev.qps_open--;
	free(qp);
	return 0;
}
uint32_t weft_dev_qp_number(const struct weft_dev_qp *qp)
{
	(void)qp;
	return 0x123456;
}
int weft_dev_qp_modify(struct weft_dev_qp *qp, const struct weft_dev_qp_attr *attr, uint32_t mask)
{
	if (qp->fail)
		return qp->fail;
	qp->attr = *attr;
	qp->mask = mask;
	return 0;
}
void weft_dev_qp_query(
	struct weft_dev_qp *qp, struct weft_dev_qp_attr *attr, struct weft_dev_qp_init *init)
{
	*attr = qp->attr;
	*init = qp->init;
}
int weft_dev_post_send(struct weft_dev_qp *qp, const struct weft_dev_send *send, bool more)
{
	if (qp->n_sent == 4)
		return ENOMEM;
	qp->more[qp->n_sent] = more;
	qp->sent[qp->n_sent++] = *send;
	return 0;
}
int weft_dev_post_recv(struct weft_dev_qp *qp, const struct weft_dev_recv *recv)
{
	if (qp->n_recv == 4 || recv->n_sges)
		return ENOMEM;
	qp->n_recv++;
	return 0;
}
int weft_dev_evs(struct weft_dev *dev, const uint8_t gid[16], uint32_t evs[], size_t max)
{
	(void)dev;
	if (memcmp(gid, fake_peer, 16))
		return -1;
	for (uint32_t i = 0; i < FAKE_PLANES * FAKE_UPLINKS && i < max; i++)
		evs[i] = (i % FAKE_PLANES) << 16 | i / FAKE_PLANES;
	return FAKE_PLANES * FAKE_UPLINKS;
}
/* fcbb:PLANE+1:UPLINK+1:0077:EV:EV, as if the block had 16 bits */
int weft_dev_ev_address(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint8_t dst[16])
{
	const uint8_t addr[16] = { 0xfc, 0xbb, 0, (uint8_t)((ev >> 16) + 1), 0,
		(uint8_t)((ev & 0xffff) + 1), 0, 0x77, (uint8_t)(ev >> 24), (uint8_t)(ev >> 16),
		(uint8_t)(ev >> 8), (uint8_t)ev };

	(void)dev;
	(void)gid;
	memcpy(dst, addr, 16);
	return 0;
}
int weft_dev_paths_open(struct weft_dev *dev, const uint32_t evs[], uint32_t n, uint32_t active,
	uint32_t active_min, uint32_t *paths)
{
	CHECK(active_min <= active);
	memcpy(dev->paths, evs, n * sizeof(evs[0]));
	dev->n_paths = n;
	dev->active = active;
	dev->paths_open++;
	*paths = 5;
	return 0;
}
int weft_dev_paths_close(struct weft_dev *dev, uint32_t paths)
{
	CHECK_EQ(paths, 5);
	dev->paths_open--;
	return 0;
}
int weft_dev_path_info(struct weft_dev_qp *qp, uint32_t index, struct weft_path_info *info)
{
	(void)qp;
	if (!fake_dev.is_connected)
		return ENOTCONN;
	if (index >= FAKE_PLANES * FAKE_UPLINKS)
		return ENOENT;
	*info = (struct weft_path_info){ .ev = (index % FAKE_PLANES) << 16 | index / FAKE_PLANES,
		.state = (uint8_t)fake_dev.state[index] };
	return 0;
}
int weft_dev_paths_mark(struct weft_dev *dev, uint32_t paths, uint32_t ev, enum weft_path_state to)
{
	CHECK_EQ(paths, 5);
	REQUIRE(dev->n_marks < 16);
	dev->mark[dev->n_marks].ev = ev;
	dev->mark[dev->n_marks++].to = to;
	return 0;
}
int weft_dev_paths_replace(struct weft_dev *dev, uint32_t paths, uint32_t ev, uint32_t ev_new)
{
	uint32_t at = 0;

	CHECK_EQ(paths, 5);
	while (at < dev->n_paths && dev->paths[at] != ev)
		at++;
	if (at == dev->n_paths)
		return ENOENT;
	dev->paths[at] = ev_new;
	dev->n_replaced++;
	return 0;
}
int weft_dev_probe(struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint32_t cookie)
{
	(void)dev;
	CHECK_MEM(gid, fake_peer, 16);
	if (fake_dev.n_probes == 4 || (ev && ev == fake_dev.unmet_ev))
		return EAGAIN;
	fake_dev.probe[fake_dev.n_probes++] = (struct weft_probe_done){ .ev = ev,
		.rtt_ns = ev == 2 ? 0 : 1000 + ev,
		.cookie = cookie,
		.port = (uint8_t)(ev >> 16) };
	return 0;
}
int weft_dev_port_status(
	struct weft_dev *dev, const uint8_t gid[16], uint32_t ev, uint32_t planes, uint32_t cookie)
{
	dev->told_planes = planes;
	return weft_dev_probe(dev, gid, ev, cookie);
}
int weft_dev_probe_poll(struct weft_dev *dev, struct weft_probe_done done[], size_t max)
{
	if (!dev->n_probes || !max)
		return 0;
	done[0] = dev->probe[--dev->n_probes];
	return 1;
}

/* ---- a program over it ---- */

static struct mrc_context *fake_open(uint32_t version)
{
	struct mrc_context_attr attr = { .mrc_api_version_used = version };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/weft-fake-%d", (int)getpid());
	setenv("WEFT_MRC_PROFILES", path, 1);
	memset(&fake_dev, 0, sizeof(fake_dev));
	for (uint32_t i = 0; i < FAKE_PLANES * FAKE_UPLINKS; i++)
		fake_dev.state[i] = WEFT_PATH_GOOD;
	struct mrc_context *context = mrc_create_context(&fake_context, &attr);

	REQUIRE(context);
	return context;
}

static inline void fake_close(struct mrc_context *context)
{
	CHECK(!mrc_destroy_context(context));
	CHECK_EQ(fake_dev.qps_open + fake_dev.cqs_open + fake_dev.channels_open, 0);
	CHECK_EQ(fake_dev.paths_open + fake_dev.listeners, 0);
	CHECK(access(getenv("WEFT_MRC_PROFILES"), F_OK)); /* with its last user */
}

static inline struct mrc_qp *fake_qp(struct mrc_context *context, struct mrc_cq *cq)
{
	struct mrc_qp_init_attr init = { .send_cq = cq,
		.recv_cq = cq,
		.pd = &fake_ibv_pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 4 } };

	struct mrc_qp *qp = mrc_create_qp(context, &init);
	REQUIRE(qp);
	return qp;
}

static inline int fake_rtr(struct mrc_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .dest_qp_num = 7, .rq_psn = 100, .path_mtu = IBV_MTU_4096
	};

	attr.ah_attr.is_global = 1;
	memcpy(attr.ah_attr.grh.dgid.raw, fake_peer, 16);
	qp->inner->attr.state = WEFT_DEV_INIT; /* as if that had been before */
	return mrc_modify_qp(qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU, NULL,
		0);
}

/* An explicit profile of n EVs that is online; stage works on any context. */
static inline void fake_profile(struct mrc_context *context, uint64_t id,
	enum mrc_ctl_ev_fmt_mode mode, const struct mrc_ctl_ev evs[], uint32_t n)
{
	struct stage stage = { .other = context };
	struct mrc_ctl_ev_op_entry entries[16];

	stage_format(&stage, id + 100, mode);
	REQUIRE(!stage_evs(&stage, id, MRC_CTL_EV_MODE_EXP, id + 100, n));
	for (uint32_t i = 0; i < n; i++)
		entries[i] = (struct mrc_ctl_ev_op_entry){ .ev_new = evs[i] };
	REQUIRE(!stage_op(&stage, id, MRC_CTL_EV_OP_REPLACE_EV, entries, (int)n));
	REQUIRE(!stage_state(&stage, id, MRC_CTL_PROFILE_ONLINE));
}

static inline int fake_deny(
	struct mrc_context *context, uint64_t id, struct mrc_ctl_ev ev, bool denied)
{
	struct stage stage = { .other = context };
	struct mrc_ctl_ev_op_entry entry = { .ev = ev,
		.state = denied ? MRC_CTL_EV_DENIED : MRC_CTL_EV_GOOD };

	return stage_op(&stage, id, MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1);
}

static inline int fake_init(struct mrc_qp *qp, uint64_t evs_id, uint64_t cc_id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct mrc_qp_attr mrc = { .profile = { evs_id, cc_id } };

	return mrc_modify_qp(
		qp, &attr, IBV_QP_STATE, &mrc, MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID);
}

#endif
