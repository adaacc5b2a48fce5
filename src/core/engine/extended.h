/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_ENGINE_EXTENDED_H
#define WEFT_ENGINE_EXTENDED_H
/*
 * The extended profile's part of engine_local.h, which includes it at its end: what a QP of any
 * kind but STRICT has beyond a strict one, and the calls between the files that serve it.
 */

struct recv_slot { /* where a posted receive leads; its id is in rq[] */
	void *to;
	uint32_t len_bytes;
	uint16_t recvq;     /* from which it was taken; WEFT_NO_RECVQ: the QP's own */
	bool scattered, spoilt;
	uint32_t qkey, group; /* of the datagram that it was bound to */
};

struct work_extra { /* beside each slot of the send queue */
	void *to;
	uint64_t operand[2];
	uint32_t srqn;
	bool scattered;
};

struct read_out { /* a read or atomic of ours that has left; by its number */
	uint32_t len_bytes, pkts_left;
	uint16_t slot;    /* in the send queue */
	uint8_t status;   /* enum weft_status */
	bool done;
};

struct read_in { /* the peer's, until everything before it has been placed */
	uint64_t va, operand[2];
	uint32_t rkey, len_bytes, psn, pd;
	uint8_t op;
	bool valid;
};

struct tail { /* the last bytes of a write that has overtaken others */
	uint8_t *to;
	uint8_t bytes[8];
	uint32_t psn, rkey;
	uint16_t msn;
	uint8_t n;
};
enum { TAILS = 64 }; /* per QP */

struct ext {
	struct weft_qp *qp;      /* requests */
	struct weft_qp *replies;
	struct recv_slot *slot;  /* ring beside rq[] */
	struct work_extra *extra; /* ring beside sq[] */
	struct read_out *out;    /* rings of rd_atomic_max */
	struct read_in *in;
	struct tail *tail;       /* TAILS of them, in no order */
	uint64_t *result;        /* beside the last slots of the replies' sq[] */
	uint32_t recvq;          /* of XRC: while a packet is taken that names it */
	uint32_t xrcd, srqn;     /* XRC: domain; queue that messages under way go to */
	uint32_t msn_acked;      /* messages that the peer has; reads may still lack their data */
	uint32_t rnr_psn;        /* refused last */
	uint64_t rnr_since_ns, rnr_give_up_ns; /* since: the first refusal in a row */
	uint16_t rd_tx, rd_rx;
	uint16_t out_head, out_tail; /* oldest not finished, next number; run freely */
	uint16_t in_next;        /* number of the peer's next to be executed */
	uint16_t tails;
	uint8_t rnr_row, rnr_retry, rnr_timer;
	uint8_t xrc;             /* enum xrc_role */
	bool datagrams;          /* and nothing else, either way */
	bool in_use, settling;   /* settling: stands in ep->settle */
};

enum xrc_role { XRC_NONE, XRC_SENDS, XRC_RECEIVES };

struct recvq {
	struct weft_recv *ring;
	uint32_t head, tail, limit, users;
	uint32_t xrcd, pd, srqn; /* xrcd 0: not of XRC */
	uint8_t lives;           /* distinguishes numbers of queues that had this slot */
	bool in_use, hit;
};

/* region.c */
struct reach { /* what a packet to this QP asks for */
	uint32_t rkey, pd, qpn, len_bytes, access; /* access: one of enum weft_access */
	uint64_t va;
};
enum weft_drop region_fault(const struct weft_endpoint *ep, const struct reach *asked); /* why */
/* NULL: key, domain, window's QP, access or bounds forbid it. */
uint8_t *region_reach(const struct weft_endpoint *ep, const struct reach *asked);
uint32_t region_free_slot(const struct weft_endpoint *ep, uint32_t salt); /* config.regions: none */
uint32_t region_key(const struct weft_endpoint *ep, uint32_t salt, uint32_t slot);

/* memwin.c */

/* A message of this QP says that one is to be shut; false: it may not. */
bool memwin_shut_by(struct weft_qp *qp, uint32_t rkey);

/* extended.c */
bool ext_is_possible(const struct weft_endpoint *ep, const struct weft_qp_attr *attr);
struct weft_qp *ext_open(struct weft_endpoint *ep, const struct weft_qp_attr *attr);
int ext_become_rtr(struct weft_qp *qp, const struct weft_qp_attr *attr);
int ext_become_rts(struct weft_qp *qp, const struct weft_qp_attr *attr);
void ext_free(struct weft_qp *qp); /* also its stream of replies */
bool ext_may_begin(const struct weft_qp *qp, const struct sq_work *work);
void ext_on_ack(struct weft_qp *qp, int32_t n); /* the peer has that many more messages */
void ext_finish(struct weft_qp *qp); /* works whose time has come */
static inline struct weft_qp *ext_other(const struct weft_qp *qp)
{
	return qp == qp->ext->qp ? qp->ext->replies : qp->ext->qp;
}

/* respond_ext.c */
void respond_extended(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now,
		      struct weft_place *place);
void respond_deliver(struct weft_qp *qp, uint8_t port);

/* reads.c */
void reads_settle_later(struct ext *ext);
void reads_settle(struct weft_endpoint *ep);
bool reads_take_request(struct weft_qp *qp, const struct weft_pkt *pkt);
void reads_begin(struct ext *ext, struct sq_work *work);
/* The read that this reply is for; NULL: none, or it does not fit. */
struct read_out *reads_find(struct ext *ext, const struct weft_pkt *pkt);
void reads_forget_region(struct weft_endpoint *ep, const struct region *region);
void reads_forget_key(struct weft_endpoint *ep, uint32_t rkey); /* of a window that is shut */
static inline bool reads_outstanding(const struct ext *ext)
{
	return ext->out_head != ext->out_tail;
}

/* tails.c */
void tails_keep(struct weft_qp *qp, const struct weft_pkt *pkt, struct weft_place *place);
bool tails_are_due(const struct ext *ext);
void tails_settle(struct ext *ext);
void tails_cut(struct ext *ext, uint32_t psn); /* nothing after that will have its turn */
void tails_store(struct ext *ext, uint32_t rkey); /* out of turn */
void tails_forget(struct ext *ext, const uint8_t *base, uint64_t len_bytes);

/* recvq.c */

/* The receive of the message that is `ahead` of the next one to end; NULL: none is posted. */
struct recv_slot *recvq_bind(struct weft_qp *qp, uint16_t ahead);
void recvq_refuse(struct weft_qp *qp, const struct weft_pkt *pkt, uint64_t now);
void recvq_on_rnr(struct weft_qp *qp, const struct weft_pkt_nack *nack, uint64_t now);
uint64_t recvq_rnr_ns(uint8_t code);

/* engine_xrc.c */
bool xrc_belongs(const struct weft_qp *qp, const struct weft_pkt *pkt); /* a request */
/* The packet's queue becomes the QP's until xrc_leave(); false: it is refused. */
bool xrc_enter(struct weft_qp *qp, const struct weft_pkt *pkt);
void xrc_leave(struct weft_qp *qp);
bool xrc_may_begin(const struct weft_qp *qp, const struct sq_work *work);
void xrc_begin(struct weft_qp *qp, const struct sq_work *work);
void xrc_stamp(const struct weft_qp *qp, const struct sq_work *work, struct weft_pkt *pkt);
void xrc_forget(struct weft_endpoint *ep, uint32_t recvq); /* who has receives of it fails */

#endif
