/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_MRC_H
#define WEFT_MRC_H
/*
 * mrc - the application API of the OCP Multipath Reliable Connection project, versions 1.0.0 and
 * 1.0.1, as Weft implements it in lib_mrc.so.
 *
 *    libibverbs                      this API                           the fabric
 *    device, PD, MR, GID      +--> context --+-- comp channel          plane 0  ==>
 *   ibv_open_device() --------+              +-- CQ <--- completions   plane 1  ==>
 *   ibv_reg_mr()                             +-- QP ---- writes -----> plane ... ==>
 *                                            +-- hint
 *
 * What crosses the interface (names, layouts, values) is the public ABI; the words are Weft's.
 * A shape test compares the layouts with tables of that ABI (tests/abi).
 *
 * Strict   An MRC QP does RDMA Write and RDMA Write with Immediate, nothing else.
 * Verbs    Device, protection domain, memory regions and GIDs come from libibverbs.  Weft's own
 *          libibverbs.so.1 has to be the one in the process: `weft run` sees to it.
 * Threads  Calls on different objects may run in parallel, calls on one object too: they queue
 *          for a lock.
 * Errors   Functions say which of these they follow:
 *            errno    0, or -1 with errno
 *            value    0, or a positive errno value (the custom of ibv_destroy_*, ibv_modify_qp)
 *            pointer  NULL with errno
 */
#include <infiniband/verbs.h>
#include <stdint.h>

#include <mrc_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_MAX_VENDOR_CFG_SIZE 128 /* bytes */

struct mrc_context;
struct mrc_cq;
struct mrc_qp;
struct mrc_qp_hint;
struct mrc_comp_channel;

/* ---- the device ---- */

enum mrc_protocol_version { /* bits; 0 leaves the choice to the library */
	MRC_PROTOCOL_VERSION_0 = 0,
	MRC_PROTOCOL_VERSION_1 = 1 << 0,
};

enum mrc_device_cap {
	MRC_DEVICE_CAP_TRIM_NACK = 1 << 0,   /* answers trimmed packets with a NACK */
	MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1, /* may change its receive window on the way */
	MRC_DEVICE_CAP_SVC_TIME = 1 << 2,    /* tells how long it sat on a packet */
};

struct mrc_device_attr {
	uint32_t mrc_protocol_version; /* bits of enum mrc_protocol_version */
	struct {
		uint16_t max_wimm;      /* immediates in flight that a QP can send */
		uint16_t max_wimm_dest; /* that a QP can park until it is their turn */
	} wimm_attr;
	struct {
		uint8_t max_mpr;        /* receive window, units of 128 packets */
		uint8_t mpr_resolution; /* windows are multiples of this many units */
	} mpr_attr;
	struct {
		uint32_t max_qp_hint; /* hints that may exist at a time */
	} qp_attr;
	uint32_t cap; /* bits of enum mrc_device_cap */
};

/*
 * What the device behind a verbs context can do.  *supported becomes 0 where there is no MRC (the
 * context is not one of Weft's); attr is zeroed then.  errno: EINVAL for a NULL.
 * The short form (1.0.0) needs no MRC context; the long one (1.0.1) takes one and may be given
 * NULL for it.
 */
int mrc_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
	struct mrc_device_attr *attr, int *supported);
int mrc_query_device(struct ibv_context *context, struct mrc_device_attr *attr, int *supported);
/* Of the library, as MRC_API_VER() numbers; a NULL is not filled in. */
void mrc_query_version(uint32_t *current_version, uint32_t *last_supported_version,
	uint32_t *vendor_version, uint32_t *last_supported_vendor_version);

/* ---- context ---- */

struct mrc_context_attr {
	uint32_t mrc_api_version_used;        /* MRC_API_CURRENT_VERSION; 0: that, too */
	uint32_t mrc_vendor_api_version_used; /* 0: none */
};

/* pointer: EINVAL (no verbs context), ENOTSUP (a newer version than the library's), ENODEV (the
 * verbs context is not Weft's).  context_attr may be NULL: versions of the library's choice, the
 * newest.  Several contexts per verbs context are fine. */
struct mrc_context *mrc_create_context(
	struct ibv_context *vcontext, struct mrc_context_attr *context_attr);
/* errno: EBUSY while it has channels, CQs, QPs or hints. */
int mrc_destroy_context(struct mrc_context *mrc_ctx);

/* ---- completion channels and queues ---- */

/* value: ENOMEM, EMFILE */
int mrc_create_comp_channel(struct mrc_context *mrc_ctx, struct mrc_comp_channel **channel);
/* errno.  The descriptor is readable while an event waits; it may be made O_NONBLOCK and belongs
 * to the channel. */
int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd);
/* value: EBUSY while queues use it. */
int mrc_destroy_comp_channel(struct mrc_comp_channel *channel);

/* pointer: EINVAL (cqe < 1 or too many, comp_vector not 0), ENOMEM.  channel may be NULL. */
struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
	struct mrc_comp_channel *channel, int comp_vector);
/* Number of completions, 0..num_entries; -1: the queue has overrun and is dead.  Not for a queue
 * of EV events: EINVAL. */
int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc);
/* value: EBUSY while QPs use it. */
int mrc_destroy_cq(struct mrc_cq *cq);
/* value.  Arms for one event.  An event comes at once where completions wait already. */
int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only);
/* errno: EAGAIN on a channel made O_NONBLOCK.  Every event must be acknowledged. */
int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context);
void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents);

/* ---- hints: what a group of QPs is going to be used for ---- */

enum mrc_qp_hint_attr_mask {
	MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0,
	MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1,
	MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2,
	MRC_QP_HINT_VENDOR_CFG = -2147483647 - 1,
};

/* Any number may be 0: not known. */
struct mrc_qp_hint_attr {
	int num_qps_per_peer;      /* QPs that send to one address at a time */
	int num_send_peers;        /* addresses that are sent to at a time */
	int num_remote_recv_peers; /* others that send to our QP's peer meanwhile: the incast */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE]; /* kept, not used */
};

struct mrc_qp_hint_init_attr {
	struct mrc_qp_hint_attr attr;
};

/* pointer: EINVAL (a negative number), ENOMEM (max_qp_hint reached) */
struct mrc_qp_hint *mrc_create_qp_hint(
	struct mrc_context *mrc_ctx, struct mrc_qp_hint_init_attr *init_attr);
/* errno: EBUSY while QPs have it. */
int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint);
/* errno: EINVAL for a bit that is none of enum mrc_qp_hint_attr_mask. */
int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
	int qp_hint_attr_mask);
int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
	int qp_hint_attr_mask);

/* ---- queue pairs ---- */

struct mrc_qp_init_attr {
	void *qp_context; /* the program's own */
	struct mrc_cq *send_cq, *recv_cq;
	struct ibv_qp_cap cap; /* granted values are written back: at least what was asked */
	int sq_sig_all;        /* every work completes visibly, not only signalled ones */
	struct ibv_pd *pd;
	uint64_t send_ops_flags; /* IBV_QP_EX_WITH_RDMA_WRITE, _WITH_IMM, or 0 */
	enum mrc_protocol_version protocol_version;
};

/* pointer: EINVAL, ENOMEM, ENOTSUP (send_ops_flags beyond strict MRC) */
struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx, struct mrc_qp_init_attr *mrc_qp_attr);
/* value.  Completions that were not polled are gone. */
int mrc_destroy_qp(struct mrc_qp *qp);

/*
 * Which fields of struct mrc_qp_attr count, and when they are due.  What is never given keeps its
 * default.
 *      INIT   HINT, EV_PROFILE_ID, CC_PROFILE_ID
 *      RTR    MAX_WIMM_DEST, MPR_DEST, CAP
 *      RTS    MAX_WIMM, MPR, RETRY_CNT, TIMEOUT
 */
enum mrc_qp_attr_mask {
	MRC_QP_MAX_WIMM = 1 << 0,
	MRC_QP_MAX_WIMM_DEST = 1 << 1,
	MRC_QP_MPR = 1 << 2,
	MRC_QP_MPR_DEST = 1 << 3,
	MRC_QP_TIMEOUT = 1 << 4,
	MRC_QP_EV_PROFILE_ID = 1 << 5,
	MRC_QP_CC_PROFILE_ID = 1 << 6,
	MRC_QP_HINT = 1 << 7,
	MRC_QP_RETRY_CNT = 1 << 8,
	MRC_QP_CAP = 1 << 9,
	MRC_QP_VENDOR_CFG = -2147483647 - 1,
};

enum mrc_qp_cap {
	MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0, /* the peer answers no trimmed packets */
	MRC_QP_CAP_DYNAMIC_MPR = 1 << 1,                /* both ends must set it */
	MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2,
};

struct mrc_qp_attr {
	struct {
		uint8_t mpr;      /* window that the peer promised us, units of 128 packets */
		uint8_t mpr_dest; /* window that we promise the peer */
	} mpr;
	struct {
		uint16_t max_wimm;      /* immediates in flight that the peer parks for us */
		uint16_t max_wimm_dest; /* that we park for the peer */
	} wimm;
	uint8_t timeout; /* of an answer: 1.024 us * 2^timeout, 1..24 */
	struct {
		uint64_t ev_profile_id, cc_profile_id; /* 0: the device's own choice */
	} profile;
	struct {
		uint8_t linear_cnt; /* 0..7 expiries at the base interval, ... */
		uint8_t exp_cnt;    /* ... then 0..25 doubling ones; 25: for ever */
	} retry;
	struct mrc_qp_hint *qp_hint;
	uint32_t cap; /* bits of enum mrc_qp_cap */
	uint8_t vendor_cfg[MRC_MAX_VENDOR_CFG_SIZE]; /* kept, not used */
};

/*
 * value.  RESET -> INIT -> RTR -> RTS, ERR from anywhere, RESET from anywhere.  RTR needs in vattr:
 * AV with a global route (the peer's GID), DEST_QPN, RQ_PSN; PATH_MTU may be given.  RTS needs
 * SQ_PSN.  Attributes of verbs that MRC has no use for (PORT, TIMEOUT, RETRY_CNT, RNR_RETRY,
 * MIN_RNR_TIMER, the READ and atomic limits, ALT_PATH, PATH_MIG_STATE) are accepted and ignored:
 * programs that came from verbs pass them.  EINVAL: something is missing or out of its range;
 * ENOENT: no such profile is online; EHOSTUNREACH: no path to that GID.
 */
int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
	struct mrc_qp_attr *mrc_attr, int mrc_attr_mask);
/* value.  Any pointer may be NULL with a mask of 0; init_attr may be NULL. */
int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
	struct mrc_qp_attr *mrc_attr, int mrc_attr_mask, struct mrc_qp_init_attr *init_attr);
/* errno.  24 bits, to be told to the peer. */
int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn);

/* value; *bad_wr: the first one that was not taken.  ENOMEM: the queue is full; EINVAL: QP state,
 * opcode, key or length.  A receive is consumed by an immediate; its buffers are not written. */
int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* ---- what happens by itself ---- */

struct mrc_async_event {
	union {
		struct mrc_cq *cq;
		struct mrc_qp *qp;
		int port_num;
	} element; /* which: by the type, as for ibv_async_event */
	enum ibv_event_type event_type;
};

/* errno.  Waits; EAGAIN where the verbs context's async_fd was made O_NONBLOCK, which is otherwise
 * verbs': it is not readable for what comes here.  A context gets the events of its own QPs and
 * queues (QP_FATAL, QP_ACCESS_ERR, CQ_ERR) and those of ports (PORT_ACTIVE, PORT_ERR), which verbs
 * and other contexts get as well.  Acknowledge every one: destroying its object waits for that. */
int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event);
void mrc_ack_async_event(struct mrc_async_event *event);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_MRC_H */
