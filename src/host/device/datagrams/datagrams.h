/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_DATAGRAMS_H
#define DEVICE_DATAGRAMS_H
/*
 * datagrams - unreliable datagrams (UD) on reliable connections, and multicast: for the rest of the
 * room, whose queue pairs post them and hold receives for them.
 */
#include <weft/device.h>
#include <weft/session.h>

struct greet;
struct greet_qp;
struct group;
struct held;
struct link;
struct work;

#define CONTACTS_MAX 512u
#define CONTACT_BUCKETS (2 * CONTACTS_MAX)
#define CONTACT_TRIES 20u /* a second: a busy host, and planes that are down */
#define GROUPS_MAX WEFT_DEV_GROUPS_MAX
#define GROUP_QPN 0xffffffu

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

struct datagrams {
	struct link *qps; /* those that take datagrams */
	/* lost: longer than their receive; with another Q_Key; to a peer that takes none */
	uint64_t too_long, refused, lost;
	struct contact contacts[CONTACTS_MAX];
	struct contact *buckets[CONTACT_BUCKETS]; /* those in use, by who they are */
	/* group.c */
	struct group *groups[GROUPS_MAX];
	uint8_t numbers[NUMBERS / 8]; /* of processes of this host; bit n */
	uint64_t numbers_ns;
	uint64_t copies, copies_refused, members_refused;
};

/* ---- sending ---- */

/* One of that work to there: 0: it is under way; EAGAIN: no room; EINPROGRESS: he is being asked
 * for; ENOENT: nobody can be found. */
int datagram_post(
	struct weft_dev_qp *qp, const uint8_t gid[16], uint32_t qpn, struct weft_work *to);
bool group_is(const uint8_t gid[16]); /* of a group, by its form */
/* As give_one(): copies to the members; EAGAIN with some of them posted. */
int group_give(struct weft_dev_qp *qp, struct work *work, struct weft_work *to);

/* ---- receiving ---- */

struct held *held_open(struct weft_dev *dev); /* of one user; NULL: no room */
void held_release(struct held *held);
void held_hand_over(struct weft_dev_qp *qp);   /* as far as there are receives */
bool held_waits(const struct weft_dev_qp *qp); /* for receives */

/* ---- what the engine says of a courier ---- */

void courier_done(struct weft_dev *dev, struct courier *courier, const struct weft_done *done);
void courier_free(struct courier *courier);
void contact_failed(struct courier *courier);

/* ---- what greetings say ---- */

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
void contact_say(const struct contact *contact, struct greet_qp *own); /* what peers must know */
void contact_forget_qp(struct weft_dev_qp *qp);
void group_timers(struct weft_dev *dev, uint64_t now);
/* What is answered; with a nonce where the asker shall answer, too. */
void group_asked(struct weft_dev *dev, const struct greet *greet, struct greet *answer);
bool group_answered(struct weft_dev *dev, const struct greet *greet); /* false: not believed */

#endif /* DEVICE_DATAGRAMS_H */
