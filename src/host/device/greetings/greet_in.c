/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet_in - what greetings do when they come.
 *
 *   A (asks)                             B (did not know of A)
 *     HELLO {nonce a} -----------------> nothing is kept but the challenge
 *                     <----------------- HELLO {nonce b, echo a}
 *     HELLO_ANSWER {echo b} -----------> learns who A is
 *                     <----------------- HELLO_ANSWER {echo a}
 *     learns who B is
 *
 * The two ends of a TCP connection meet in this way (RFC 9293, 3.5), and for the same reason: what
 * asks may be of an earlier life of that process, or from somebody who writes another's address on
 * it.  So a question changes nothing, whatever is known, until the one who asked has repeated a
 * random number; B has learned before A sends its first datagram; and what is lost A asks for
 * again, so that B waits for nobody.  A process takes the place of its former life by its echo.
 */
#include "greetings/greet_local.h"

#include <string.h>

#define READ_MAX 64

enum result {
	NOT_ASKED, /* it answers what nobody has asked */
	TAKEN,     /* a question, or of no use any more */
	AWAITED,   /* its sender costs us nothing that we have not asked for */
};

struct heard { /* a greeting, and where it came from */
	struct greet greet;
	uint8_t addr[16];
	uint32_t plane;
};

/* To where it came from, by the way that it came; to the address that names somebody, from the one
 * that names us, whatever planes these are. */
static void send_back(struct weft_dev *dev, const struct heard *to, struct greet *greet)
{
	bool is_named = to->plane == to->greet.end.home && greet->kind != GREET_PLANE_ANSWER &&
			!weft_live_topo(dev->live);

	greet->echo = to->greet.nonce;
	greet_send_by(dev, is_named ? dev->end.home : to->plane, to->addr, to->greet.number, greet);
}

/* A process that is there, of which nothing else is said. */
static void put_process(struct greet *greet, const struct greet *to)
{
	greet->qp.qpn = to->qp.peer_qpn;
	greet->qp.peer_qpn = to->qp.qpn;
	greet->qp.mpr_psns = WEFT_MPR_UNIT_PSNS;
}

/* ---- connections ---- */

/* The queue pair that it is for, whose program named this one. */
static struct weft_dev_qp *find_qp(const struct weft_dev *dev, const struct greet *greet)
{
	struct weft_dev_qp *qp = dev->qps[greet->qp.peer_qpn & (QP_SLOTS - 1)];

	if (!qp || qp->number != greet->qp.peer_qpn || !qp->eq ||
		qp->attr.peer_qpn != greet->qp.qpn || memcmp(qp->attr.gid, greet_gid(greet), 16) ||
		qp->attr.state < WEFT_DEV_RTR || qp->attr.state > WEFT_DEV_SQD)
		return NULL;
	return qp;
}

/* And as what it should. */
static struct weft_dev_qp *find_pair(const struct weft_dev *dev, const struct greet *greet)
{
	struct weft_dev_qp *qp = find_qp(dev, greet);

	return qp && xrc_peer(qp->init.profile) == greet->qp.profile ? qp : NULL;
}

/* Who asks gets an answer, but is not believed before he has answered a question of ours: what
 * asks may be a datagram from an earlier life of that queue pair. */
static enum result take_pair(struct weft_dev *dev, const struct heard *heard)
{
	const struct greet *asked = &heard->greet;
	struct weft_dev_qp *qp = find_pair(dev, asked);
	struct greet greet = { .kind = GREET_WAIT };
	uint32_t absent;

	if (qp && (!qp->connected || qp->peer_eq_number == asked->qp.eq_number) &&
		identity_planes(dev, asked, &absent)) {
		greet.kind = GREET_PAIR_ANSWER;
		greet_own_qp(qp, &greet.qp);
	} else {
		put_process(&greet, asked);
	}
	send_back(dev, heard, &greet);
	if (qp && !qp->connected && qp->asked_back != asked->nonce) {
		qp->asked_back = asked->nonce;
		greet_ask_for(qp, device_now(dev));
	}
	return qp ? AWAITED : TAKEN;
}

static enum result take_pair_answer(struct weft_dev *dev, const struct heard *heard)
{
	struct weft_dev_qp *qp = find_pair(dev, &heard->greet);
	struct weft_live_end end = heard->greet.end;

	if (!qp || qp->nonce != heard->greet.echo)
		return TAKEN;
	if (!qp->connected && identity_planes(dev, &heard->greet, &end.absent) &&
		qp_connect(qp, &end, &heard->greet.qp) && qp->is_unfit)
		dev->greetings.at_ns = 0; /* what it was to send ends now */
	return AWAITED;
}

static enum result take_wait(struct weft_dev *dev, const struct heard *heard)
{
	struct weft_dev_qp *qp = find_qp(dev, &heard->greet);

	if (!qp || !link_is_in(&qp->in_greeting) || qp->nonce != heard->greet.echo)
		return TAKEN;
	qp->heard_ns = device_now(dev);
	return AWAITED;
}

/* ---- datagrams ---- */

static struct contact *find_contact(struct weft_dev *dev, const struct greet *greet)
{
	return contact_find(dev, greet->qp.peer_qpn, greet_gid(greet), greet->qp.qpn);
}

static void say_hello(struct weft_dev *dev, const struct heard *to, uint8_t kind, uint64_t nonce)
{
	const struct contact *contact = find_contact(dev, &to->greet);
	struct greet greet = { .kind = kind, .nonce = nonce };

	put_process(&greet, &to->greet);
	if (contact)
		contact_say(contact, &greet.qp);
	send_back(dev, to, &greet);
}

/* A question, or what answers one of ours before it is believed. */
static enum result take_hello(struct weft_dev *dev, const struct heard *heard)
{
	const struct greet *asked = &heard->greet;
	const struct contact *contact = find_contact(dev, asked);
	uint32_t absent;

	if (asked->echo) {
		if (!contact || contact->nonce != asked->echo)
			return NOT_ASKED;
		(void)identity_planes(dev, asked, &absent); /* he is he: begin to ask */
		say_hello(dev, heard, GREET_HELLO_ANSWER, contact->nonce);
		return AWAITED;
	}
	if (!contact_own(dev, asked->qp.peer_qpn))
		return TAKEN; /* it has just gone, or is not ready */
	if (contact && contact->known && contact_is_same(contact, asked))
		say_hello(dev, heard, GREET_HELLO_ANSWER, 0);
	else
		say_hello(dev, heard, GREET_HELLO, identity_challenge(dev, asked));
	return TAKEN;
}

/* Of one whom we asked, or who asked us and was asked in turn. */
static enum result take_hello_answer(struct weft_dev *dev, const struct heard *heard)
{
	const struct greet *greet = &heard->greet;
	const struct contact *contact = find_contact(dev, greet);
	bool is_asked = contact && contact->nonce == greet->echo;
	uint32_t absent;

	if (!is_asked && !identity_has_echoed(dev, greet))
		return NOT_ASKED;
	if ((is_asked && contact->known) || !contact_own(dev, greet->qp.peer_qpn) ||
		!identity_planes(dev, greet, &absent))
		return AWAITED;
	if (contact_learn(dev, greet, absent) && !is_asked)
		say_hello(dev, heard, GREET_HELLO_ANSWER, 0);
	return AWAITED;
}

/* ---- the rest ---- */

static void take_group(struct weft_dev *dev, const struct heard *heard)
{
	struct greet greet = { 0 };

	group_asked(dev, &heard->greet, &greet);
	send_back(dev, heard, &greet);
}

static enum result take_group_answer(struct weft_dev *dev, const struct heard *heard)
{
	struct greet greet = { 0 };

	if (!group_answered(dev, &heard->greet))
		return NOT_ASKED;
	if (heard->greet.nonce) {
		group_asked(dev, &heard->greet, &greet);
		greet.nonce = 0; /* we have just been told */
		send_back(dev, heard, &greet);
	}
	return AWAITED;
}

static void take_plane(struct weft_dev *dev, const struct heard *heard)
{
	struct greet greet = { .kind = GREET_PLANE_ANSWER };

	put_process(&greet, &heard->greet);
	send_back(dev, heard, &greet);
}

static enum result take(struct weft_dev *dev, const struct heard *heard)
{
	switch (heard->greet.kind) {
	case GREET_HELLO:
		return take_hello(dev, heard);
	case GREET_HELLO_ANSWER:
		return take_hello_answer(dev, heard);
	case GREET_PAIR:
		return take_pair(dev, heard);
	case GREET_PAIR_ANSWER:
		return take_pair_answer(dev, heard);
	case GREET_WAIT:
		return take_wait(dev, heard);
	case GREET_GROUP:
		take_group(dev, heard);
		return TAKEN;
	case GREET_GROUP_ANSWER:
		return take_group_answer(dev, heard);
	case GREET_PLANE:
		take_plane(dev, heard);
		return TAKEN;
	case GREET_PLANE_ANSWER:
		return identity_plane_answered(dev, &heard->greet, heard->plane) ? AWAITED
										 : NOT_ASKED;
	default:
		return NOT_ASKED;
	}
}

static enum greet_reason take_bytes(struct weft_dev *dev, const uint8_t *bytes, size_t n,
	const uint8_t from[16], uint32_t number, uint64_t now)
{
	struct heard heard;
	const struct greet *greet = &heard.greet;

	if (!greet_decode(bytes, n, &heard.greet))
		return GREET_MALFORMED;
	if (!identity_is(dev, greet, from, number, &heard.plane))
		return GREET_FORGED;
	memcpy(heard.addr, from, sizeof(heard.addr));
	if (!greet_may(dev, heard.addr, greet->number, now))
		return GREET_FLOOD;
	enum result result = take(dev, &heard);

	if (result == AWAITED)
		greet_give_back(dev, heard.addr, greet->number);
	return result == NOT_ASKED ? GREET_UNASKED : GREET_REASONS;
}

void greet_read(struct weft_dev *dev)
{
	uint8_t bytes[GREET_BYTES_MAX], from[16];
	uint64_t now = device_now(dev);
	uint32_t number;

	for (unsigned i = 0; i < READ_MAX; i++) {
		int n = dev->net.recv(dev->net.arg, bytes, sizeof(bytes), from, &number);

		if (n < 0)
			return;
		enum greet_reason why = take_bytes(dev, bytes, (size_t)n, from, number, now);

		if (why != GREET_REASONS)
			dev->greetings.refused[why]++;
	}
}
