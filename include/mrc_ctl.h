/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_MRC_CTL_H
#define WEFT_MRC_CTL_H
/*
 * mrc_ctl - the controller API of the OCP Multipath Reliable Connection project, versions 1.0.0
 * and 1.0.1, as Weft implements it in lib_mrc.so.  The words are Weft's, see mrc.h.
 *
 *    EV format profile      EV profile               QP
 *    how wide is each  <--- which EVs, and how <---- ev_profile_id
 *    field on the wire      they expand               |
 *                             |                       | sprays over
 *                             +-- state of each EV <--+ GOOD, ASSUMED_BAD, DENIED
 *                             +-- events ---> EV event CQ
 *    CC profile  <--------------------------------- cc_profile_id
 *
 * Profiles exist from the beginning, numbered by their users, and go INIT -> OFFLINE (configured)
 * -> ONLINE (usable by QPs) -> OFFLINE -> INIT.  They belong to the verbs context's device within
 * this process: every MRC context of the process sees the same ones.
 *
 * Ports    numbered from 1; bit n of a mask is port n.  A port is a plane.
 * Errors   0, or -1 with errno, unless said otherwise.  EINVAL: an argument; EPERM: not with this
 *          user's rights.  Nothing has changed then, except where entries are handled one by one.
 */
#include <mrc.h>
#include <mrc_ctl_api_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MRC_CTL_MAX_VENDOR_CFG_SIZE 128 /* bytes */
#define MRC_CTL_EV_MAX_BYTES        32

/* ---- the device ---- */

enum mrc_ctl_protocol_version { /* bits; 0 leaves the choice to the library */
	MRC_CTL_PROTOCOL_VERSION_0 = 0,
	MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0,
};

enum mrc_ctl_ev_fmt_mode {
	MRC_CTL_EV_FMT_MODE_STEV = 1 << 0, /* 32 bits: source port and flow label */
	MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1, /* 128 bits: uSID carrier; 256 with one SRH segment */
	MRC_CTL_EV_FMT_MODE_UDP = 1 << 2,  /* 16 bits: source port */
};

enum mrc_ctl_ev_mode {
	MRC_CTL_EV_MODE_AUTO = 1 << 0, /* the device knows its paths */
	MRC_CTL_EV_MODE_EXP = 1 << 1,  /* the controller lists the EVs */
	MRC_CTL_EV_MODE_GEN = 1 << 2,  /* the device generates them out of fields */
};

enum mrc_ctl_attr_opt {
	MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0,
	MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1,
	MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2,
	MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3, /* explicit EVs may have fields with ranges */
	MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4,
	MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5,
};

struct mrc_ctl_device_attr {
	uint32_t mrc_ctl_protocol_version; /* bits of enum mrc_ctl_protocol_version */
	struct {
		uint32_t ev_max_fmt_profiles, ev_max_profiles;
		uint32_t ev_max_count;         /* EVs of all profiles together */
		uint32_t ev_free_count;        /* of these, not yet taken */
		uint32_t ev_max_count_profile; /* EVs of one profile */
		uint32_t ev_count_align;       /* counts are multiples of this */
		uint32_t ev_max_width;         /* bits of an EV before it is expanded */
		uint32_t ev_fmt_mode_mask;     /* bits of enum mrc_ctl_ev_fmt_mode */
		uint32_t ev_mode_mask;         /* bits of enum mrc_ctl_ev_mode */
		uint32_t ev_op_max_entries;    /* entries of one EV operation; 0: any number */
	} ev;
	struct {
		uint32_t cc_max_profiles;
		const char **algorithms; /* the library's; ends with NULL */
	} cc;
	uint32_t phy_port_mask; /* bit n: port n, from 1 */
	uint32_t opt_attr;      /* bits of enum mrc_ctl_attr_opt */
};

/* ENODEV: the verbs context is not Weft's.  *supported: whether it speaks MRC. */
int mrc_ctl_query_device_ex(struct ibv_context *context, struct mrc_context *mcontext,
	struct mrc_ctl_device_attr *ctl_attr, int *supported);
int mrc_ctl_query_device(struct ibv_context *context, struct mrc_ctl_device_attr *ctl_attr);
void mrc_ctl_query_version(uint32_t *current_version, uint32_t *last_supported_version,
	uint32_t *vendor_version, uint32_t *last_supported_vendor_version);

/* ---- ports ---- */

enum mrc_ctl_port_admin_state {
	MRC_CTL_PORT_ADMIN_DISABLED,
	MRC_CTL_PORT_ADMIN_ENABLED,
};

enum mrc_ctl_port_attr_mask {
	MRC_CTL_PORT_ADMIN_STATE = 1 << 0,
};

struct mrc_ctl_port_attr {
	enum mrc_ctl_port_admin_state port_admin_state;
};

/* A disabled port is left by every path at once and peers are told, as if its cable were out; by
 * other processes that use the device through this API within 10 ms.  EINVAL: no such port. */
int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
	struct mrc_ctl_port_attr *attr, int attr_mask);
int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
	struct mrc_ctl_port_attr *attr, int attr_mask);

/* ---- EV format profiles ---- */

enum mrc_ctl_profile_state {
	MRC_CTL_PROFILE_INIT,    /* not configured */
	MRC_CTL_PROFILE_OFFLINE, /* configured, may be changed */
	MRC_CTL_PROFILE_ONLINE,  /* usable */
};

enum mrc_ctl_ev_fmt_profile_attr_mask {
	MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1, /* modify: only if it is in this state */
	MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3,
	MRC_CTL_EV_FMT_VENDOR_CFG = -2147483647 - 1,
};

enum mrc_ctl_ev_fmt_op {
	MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
	MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
};

struct mrc_ctl_ev_fmt_field {
	uint8_t width; /* bits, 1..32 */
};

struct mrc_ctl_ev_fmt_profile_attr {
	enum mrc_ctl_profile_state profile_state;     /* to go to */
	enum mrc_ctl_profile_state cur_profile_state; /* in which it is */
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct {
		enum mrc_ctl_ev_fmt_op op;
		struct mrc_ctl_ev_fmt_field *fmt_fields; /* in the order of the wire */
		int fmt_field_count;
	} ev_fmt_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE]; /* kept, not used */
};

/*
 * To OFFLINE needs MODE, to ONLINE fields (at any time before).  E2BIG: the fields are together
 * wider than the mode allows (STEV 32, SRV6 256, UDP 16 bits); EBUSY: an EV profile of this format
 * is online.
 */
int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
	struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);
/* With OP and QUERY_FIELDS, E2BIG: fmt_field_count is too small; it then says what is needed. */
int mrc_ctl_query_ev_fmt_profile(struct mrc_context *mrc_ctx, uint64_t ev_fmt_profile_id,
	struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask);

/* ---- EVs ---- */

typedef uint8_t mrc_ctl_ev_t[MRC_CTL_EV_MAX_BYTES];

/*
 * One path.  The value's bits count from the most significant bit of val[0].  STEV: 4 bytes, UDP:
 * 2 bytes, SRV6: 16 bytes of destination address and, where used, 16 of an SRH segment; what lies
 * beyond is 0.
 */
struct mrc_ctl_ev {
	mrc_ctl_ev_t val;
	uint8_t port; /* from 1 */
};

/* The entries of an explicit profile that nobody has filled yet. */
#define MRC_CTL_EV_UNPOPULATED ((struct mrc_ctl_ev){ .val = { 0 }, .port = 0 })

enum mrc_ctl_ev_state { /* bits where a mask is wanted */
	MRC_CTL_EV_GOOD = 1 << 0,
	MRC_CTL_EV_ASSUMED_BAD = 1 << 1, /* lost packets; probes may bring it back */
	MRC_CTL_EV_DENIED = 1 << 2,      /* by the controller; only the controller brings it back */
	MRC_CTL_EV_UNKNOWN = -2147483647 - 1,
};

enum mrc_ctl_ev_op {
	MRC_CTL_EV_OP_REPLACE_EV,
	MRC_CTL_EV_OP_MODIFY_EV_STATE,
	MRC_CTL_EV_OP_QUERY_EV_STATE,
	MRC_CTL_EV_OP_QUERY_EV_ARRAY,
};

enum mrc_ctl_ev_op_flags {
	MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0, /* replace: every entry that is equal, not one */
};

struct mrc_ctl_ev_op_entry {
	struct mrc_ctl_ev ev;
	struct mrc_ctl_ev ev_new; /* replace: by what */
	enum mrc_ctl_ev_state state; /* replace: of ev_new, GOOD (or 0) or DENIED */
	uint32_t flags;              /* enum mrc_ctl_ev_op_flags */
};

enum mrc_ctl_ev_fields_op {
	MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
	MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
};

/*
 * How a field of the expanded EV comes about: it starts as init_val, and the set bits of mask,
 * from the most significant one down, are overwritten by the next bits of the EV:
 *
 *      EV       1 0 1 1 0 0 1 0 ...          min_val <= these bits together <= max_val
 *               | | \___
 *      mask   0 1 1 0 0 1 ...                a fixed field: mask, min_val, max_val all 0
 *      field  i 1 0 i i 1 ...                i: of init_val
 */
struct mrc_ctl_ev_field {
	uint32_t width; /* bits, 1..32 */
	uint32_t init_val;
	uint32_t min_val, max_val; /* what a generated EV has here */
	uint32_t mask;
};

enum mrc_ctl_ev_profile_attr_mask {
	MRC_CTL_EV_PROFILE_STATE = 1 << 0,
	MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1, /* modify: only if it is in this state */
	MRC_CTL_EV_PROFILE_MODE = 1 << 2,
	MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3,
	MRC_CTL_EV_PROFILE_COUNT = 1 << 4,
	MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5,
	MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6,
	MRC_CTL_EV_PROFILE_EV_OP = 1 << 7,
	MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8,
	MRC_CTL_EV_PROFILE_VENDOR_CFG = -2147483647 - 1,
};

struct mrc_ctl_ev_profile_attr {
	enum mrc_ctl_profile_state profile_state;     /* to go to */
	enum mrc_ctl_profile_state cur_profile_state; /* in which it is */
	enum mrc_ctl_ev_mode ev_mode;
	uint64_t ev_fmt_profile_id; /* must be configured before; not for AUTO */
	uint32_t ev_count;
	uint32_t ev_min_active; /* so many stay in use, whatever happens; <= ev_count */
	int ev_event_mask;      /* which new states are reported: GOOD, ASSUMED_BAD */
	struct {
		enum mrc_ctl_ev_op op;
		struct mrc_ctl_ev_op_entry *entries;
		int entry_count;
	} ev_op;
	struct {
		enum mrc_ctl_ev_fields_op op;
		struct mrc_ctl_ev_field *fields; /* in the order of the wire */
		int field_count;
	} ev_fields_op;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE]; /* kept, not used */
};

/*
 * To OFFLINE needs MODE and, unless AUTO, FMT_ID and COUNT; GEN also fields before it goes ONLINE,
 * EXP no entry left unpopulated.  ONLINE, EVs, states, fields and the event mask may be changed;
 * QPs follow within 10 ms.  One operation at a time: EV_OP together with EV_FIELDS_OP is
 * EINVAL, and so are fields that do not fit their format (see docs/mrc-api.md).  Entries of an EV
 * operation are handled in their order up to the first that fails: earlier ones are done then.
 * ENOENT: no such EV, or no such format; E2BIG: too many; EBUSY: QPs use the profile.
 */
int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
	struct mrc_ctl_ev_profile_attr *attr, int attr_mask);
/*
 * QUERY_EV_STATE fills in the state of each given entry: the worst that a QP has found, of all
 * that use the profile in this process.  QUERY_EV_ARRAY fills in all EVs and their states, for GEN
 * as they are before expansion.  E2BIG: too few entries or fields; the count then says what is
 * needed.
 */
int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
	struct mrc_ctl_ev_profile_attr *attr, int attr_mask);

/* ---- CC profiles ---- */

enum mrc_ctl_cc_profile_attr_mask {
	MRC_CTL_CC_PROFILE_STATE = 1 << 0,
	MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1, /* modify: only if it is in this state */
	MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2,
	MRC_CTL_CC_PROFILE_CONFIG = 1 << 3,
	MRC_CTL_CC_PROFILE_VENDOR_CFG = -2147483647 - 1,
};

/* "uet-1.0-nscc": NSCC of the Ultra Ethernet specification 1.0, Tables 3-76 and 3-82.  A 0 is the
 * algorithm's own default. */
struct mrc_ctl_cc_nscc_cfg {
	uint8_t disable_qa;               /* no quick adapt */
	uint32_t adjust_bytes_threshold;  /* bytes */
	uint32_t adjust_period_threshold; /* ns */
	uint32_t base_rtt;                /* ns */
	float eta;                        /* bytes */
	float fi;                         /* bytes */
	float fi_scale;
	float gamma;
	float max_md_jump;
	uint32_t max_cwnd;     /* bytes */
	uint8_t qa_gate;       /* act when less than max_cwnd / 2^qa_gate was achieved */
	uint32_t qa_threshold; /* ns */
	uint32_t target_delay; /* ns */
};

struct mrc_ctl_cc_profile_attr {
	enum mrc_ctl_profile_state profile_state;     /* to go to */
	enum mrc_ctl_profile_state cur_profile_state; /* in which it is */
	const char *algorithm;  /* of mrc_ctl_device_attr.cc.algorithms; NULL: no control */
	const void *cc_config;  /* NSCC: struct mrc_ctl_cc_nscc_cfg; NULL: all defaults */
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE]; /* kept, not used */
};

/* To OFFLINE needs ALGORITHM, to ONLINE CONFIG (at any time before).  EBUSY: QPs use it. */
int mrc_ctl_modify_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
	struct mrc_ctl_cc_profile_attr *attr, int attr_mask);
/* algorithm becomes a string of the library.  CONFIG: cc_config comes in pointing to the program's
 * struct, which is filled; NULL comes out as one of the library's, valid until the next change. */
int mrc_ctl_query_cc_profile(struct mrc_context *mrc_ctx, uint64_t cc_profile_id,
	struct mrc_ctl_cc_profile_attr *attr, int attr_mask);

/* ---- EV events ---- */

struct mrc_ctl_ev_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	uint32_t drop_count; /* events that found the queue full since the one before */
#if MRC_CTL_API_VER_USED >= MRC_CTL_API_VER(1, 0, 1)
	enum mrc_ctl_ev_state state; /* the new one */
#endif
};

/*
 * pointer, as mrc_create_cq().  Takes the events of every profile of the device from now on and
 * never overruns: what finds no room is counted.  mrc_req_notify_cq(), mrc_get_cq_event() and
 * mrc_destroy_cq() work on it.
 */
struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
	struct mrc_comp_channel *channel, int comp_vector);
/* Number of events, 0..num_entries, or a negative errno value.  Contexts made for API 1.0.0 get
 * the shorter struct of that version. */
int mrc_ctl_poll_ev_event(
	struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event);

/* ---- endpoint operations: questions to a peer's NIC, not to a QP ---- */

enum mrc_ctl_ep_op_type {
	MRC_CTL_EP_OP_EV_PROBE,          /* does this path live, and how far is it */
	MRC_CTL_EP_OP_PORT_STATUS_UPDATE /* tell the peer which ports of ours are up */
};

struct mrc_ctl_ep_req {
	uint16_t req_id;
	union ibv_gid sgid, dgid;
	enum mrc_ctl_ev_fmt_mode ev_fmt_mode;
	struct mrc_ctl_ev req_ev; /* expanded */
	union {
		struct {
			uint32_t port_status; /* bit n: port n is up, from 1 */
		} port_status_update;
	} op;
};

struct mrc_ctl_ep_rsp {
	uint16_t req_id;
	uint8_t port;         /* where the answer came in, from 1 */
	unsigned int rtt;     /* ns */
	uint8_t adj_svc_time; /* the peer's own time has been taken out of rtt */
};

/*
 * Sends all, waits until all are answered or rsp_timeout ns have passed.  rsp has room for num_req;
 * *num_rsp came, in the order of arrival.  0 also when some did not come, ETIMEDOUT when none did.
 * EHOSTUNREACH: no path to a dgid; ENOTSUP: no such operation, or a traffic class (a DSCP) that is
 * neither 0, whatever is usual, nor that of control packets.
 */
int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
	enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req *req, int num_req,
	uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp, int *num_rsp);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_MRC_CTL_H */
