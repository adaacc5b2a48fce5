/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_DATAGRAMS_LOCAL_H
#define DEVICE_DATAGRAMS_LOCAL_H
/* What the files of datagrams share with each other, and with no other part of the device. */
#include "device_local.h"

#define GROUP_OTHERS_MAX 256u

/* ---- held.c ---- */

struct grh { /* GIDs: the sender's; the receiver's, or a group's */
	const uint8_t *from, *to;
};
struct held *held_share(struct held *held);   /* of one more */
uint32_t held_queue(const struct held *held); /* the engine's, to receive from */
void held_feed(struct held *held);            /* room for the engine to receive into */
/* A datagram lies in `slot`; wc->len_bytes with its GRH. */
void held_put(struct weft_dev_qp *qp, uint64_t slot, const struct weft_dev_wc *wc, struct grh gids,
	bool solicited);
void held_drop(struct held *held, uint64_t slot); /* it is to be nothing */

/* ---- courier.c ---- */

struct courier *courier_open(struct weft_dev_qp *qp, struct contact *contact); /* NULL: no room */
void courier_say(const struct courier *courier, struct greet_qp *own);
int courier_connect(
	struct courier *courier, const struct contact *contact, const struct greet_qp *peer);
void courier_let_go(struct courier *courier); /* before its contact is wiped */
/* 0: a copy is under way; EAGAIN: later; ENOENT: it is lost. */
int courier_send(struct courier *courier, struct weft_work *work);

/* ---- contact.c ---- */

bool contact_is_awaited(const struct contact *contact); /* he may answer yet */

/* ---- group.c ---- */

uint32_t group_tag(const uint8_t gid[16]);
/* Whether that queue pair, of this host or another, is known to be in it. */
bool group_has(
	const struct weft_dev *dev, const uint8_t gid[16], const uint8_t host[16], uint32_t qpn);
/* Somebody will send to it. */
void group_expect(struct weft_dev *dev, const uint8_t gid[16]);
/* The group of this tag that the queue pair is in; NULL: none. */
const uint8_t *group_of(const struct weft_dev_qp *qp, uint32_t tag);

#endif /* DEVICE_DATAGRAMS_LOCAL_H */
