/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_DATAGRAMS_H
#define DEVICE_DATAGRAMS_H
/* datagrams (UD) on reliable connections, and multicast: their state.  For device_local.h. */
#include <weft/device.h>
#include <weft/session.h>

struct greet;
struct greet_qp;
struct group;
struct held;
struct work;

/* A datagram QP of some host, and ours that talks to it; or a process, for probes. */
struct contact {
	uint8_t gid[16];
	uint32_t own_qpn, qpn;   /* as programs call them; slot 0: the process */
	uint32_t eq_number, psn; /* of its courier */
	uint32_t peer, pathset, tries;
	bool in_use, known;
	bool vain;       /* he has been silent for all tries once: nobody waits again */
	bool is_passive; /* the peer asked for it, and no datagram has passed yet */
	uint64_t nonce, ask_at_ns, used_ns, since_ns;
	struct weft_live_end end;
	struct courier *courier; /* NULL: of a process */
	struct contact *next;    /* in its bucket */
};

struct courier { /* see courier.c */
	struct contact *contact;
	struct weft_dev_qp *qp; /* NULL, and contact: it has been let go */
	struct held *held;      /* where it receives */
	struct weft_qp *eq;
	uint32_t eq_number, psn_tx;
	uint32_t under_way; /* copies that have not been acknowledged */
	uint64_t moved_ns;  /* when the last one was, or the first of them was posted */
};
#define COURIER_USER UINT64_C(1) /* in weft_done.user: it is a courier's, and not a QP's */

/* ---- held.c ---- */

struct grh { /* GIDs: the sender's; the receiver's, or a group's */
	const uint8_t *from, *to;
};
struct held *held_open(struct weft_dev *dev); /* of one user; NULL: no room */
struct held *held_share(struct held *held);   /* of one more */
void held_release(struct held *held);
uint32_t held_queue(const struct held *held); /* the engine's, to receive from */
void held_feed(struct held *held);            /* room for the engine to receive into */
/* A datagram lies in `slot`; wc->len_bytes with its GRH. */
void held_put(struct weft_dev_qp *qp, uint64_t slot, const struct weft_dev_wc *wc, struct grh gids,
	bool solicited);
void held_drop(struct held *held, uint64_t slot); /* it is to be nothing */
void held_hand_over(struct weft_dev_qp *qp);      /* as far as there are receives */
bool held_waits(const struct weft_dev_qp *qp);    /* for receives */

/* ---- courier.c ---- */

struct courier *courier_open(struct weft_dev_qp *qp, struct contact *contact); /* NULL: no room */
void courier_say(const struct courier *courier, struct greet_qp *own);
int courier_connect(
	struct courier *courier, const struct contact *contact, const struct greet_qp *peer);
void courier_let_go(struct courier *courier); /* before its contact is wiped */
void courier_free(struct courier *courier);
/* 0: a copy is under way; EAGAIN: later; ENOENT: it is lost. */
int courier_send(struct courier *courier, struct weft_work *work);
void courier_done(struct weft_dev *dev, struct courier *courier, const struct weft_done *done);

/* ---- contact.c ---- */

/* Known or being asked; NULL: too many. */
struct contact *contact_take(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn);
/* Known or not; NULL: there is none. */
struct contact *contact_find(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn);
/* What it says in its greeting is what is known. */
bool contact_is_same(const struct contact *contact, const struct greet *greet);
/* From the greeting of one who has echoed our nonce, and replaces what was known.  absent: planes
 * of his that have not.  NULL: no room, or it makes no sense. */
struct contact *contact_learn(struct weft_dev *dev, const struct greet *greet, uint32_t absent);
/* Ours of that number that takes datagrams, or the process; false: there is none. */
bool contact_own(const struct weft_dev *dev, uint32_t own_qpn);
bool contact_is_awaited(const struct contact *contact);                /* he may answer yet */
void contact_say(const struct contact *contact, struct greet_qp *own); /* what peers must know */
void contact_forget_qp(struct weft_dev_qp *qp);
void contact_failed(struct courier *courier);

/* ---- group.c: multicast ---- */

bool group_is(const uint8_t gid[16]); /* of a group, by its form */
/* As give_one(): copies to the members; EAGAIN with some of them posted. */
int group_give(struct weft_dev_qp *qp, struct work *work, struct weft_work *to);
void group_timers(struct weft_dev *dev, uint64_t now);
/* What is answered; with a nonce where the asker shall answer, too. */
void group_asked(struct weft_dev *dev, const struct greet *greet, struct greet *answer);
bool group_answered(struct weft_dev *dev, const struct greet *greet); /* false: not believed */
void group_expect(struct weft_dev *dev, const uint8_t gid[16]);       /* somebody will send to it */
uint32_t group_tag(const uint8_t gid[16]);
/* Whether that queue pair, of this host or another, is known to be in it. */
bool group_has(
	const struct weft_dev *dev, const uint8_t gid[16], const uint8_t host[16], uint32_t qpn);
/* The group of this tag that the queue pair is in; NULL: none. */
const uint8_t *group_of(const struct weft_dev_qp *qp, uint32_t tag);

#endif /* DEVICE_DATAGRAMS_H */
