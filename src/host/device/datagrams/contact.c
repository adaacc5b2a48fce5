/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contact - who sends us datagrams and whom we send them.
 *
 * A datagram names its receiver by GID and QPN; where that process has its endpoint, and what its
 * engine calls the other end of the courier, one must ask.  The answer is kept while there is room.
 * Who asks says the same of itself, because a receiver must know whom a datagram is from, and its
 * port would drop what comes from an address that nobody has told it.  A process that took
 * another's place asks anew, and replaces it when it has echoed our nonce (greet_in.c); so does one
 * whose courier has failed.
 *
 * Every datagram sent looks for its contact, so they are found by a hash of what names them.  Who
 * chooses numbers so that all meet in one bucket makes it the list that it would be without.
 */
#include "datagrams/datagrams_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_NS UINT64_C(1000000000)
#define KEEP_NS UINT64_C(1000000000) /* what has been used so lately is not taken away */
#define PASSIVE_PER_HOST (CONTACTS_MAX / 4)

static struct contact **bucket(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn)
{
	uint64_t word[2], hash;

	memcpy(word, gid, 16);
	hash = (word[0] ^ qpn) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 32 ^ word[1] ^ (uint64_t)own_qpn << 32) *
	       UINT64_C(0x9e3779b97f4a7c15);
	return &dev->datagrams.buckets[hash >> 32 & (CONTACT_BUCKETS - 1)];
}

static void forget(struct weft_dev *dev, struct contact *contact)
{
	struct contact **at = bucket(dev, contact->own_qpn, contact->gid, contact->qpn);

	while (*at && *at != contact) /* one that is not in use is in none */
		at = &(*at)->next;
	if (*at)
		*at = contact->next;
	if (contact->courier)
		courier_let_go(contact->courier); /* and the peer with it */
	else if (contact->known)
		weft_live_peer_close(dev->live, contact->peer);
	*contact = (struct contact){ 0 };
}

struct contact *contact_find(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn)
{
	struct contact *contact = *bucket(dev, own_qpn, gid, qpn);

	while (contact && (contact->qpn != qpn || contact->own_qpn != own_qpn ||
				  memcmp(contact->gid, gid, 16) != 0))
		contact = contact->next;
	return contact;
}

static bool is_process(uint32_t qpn)
{
	return !(qpn & (QP_SLOTS - 1));
}

bool contact_own(const struct weft_dev *dev, uint32_t own_qpn)
{
	const struct weft_dev_qp *qp = dev->qps[own_qpn & (QP_SLOTS - 1)];

	if (is_process(own_qpn))
		return own_qpn >> SLOT_BITS == dev->number;
	return qp && qp->number == own_qpn && qp->held && qp->attr.state != WEFT_DEV_ERR;
}

/* A courier that nobody has been told of yet; true where none is wanted. */
static bool get_courier(struct weft_dev *dev, struct contact *contact)
{
	if (is_process(contact->own_qpn))
		return true;
	if (!contact_own(dev, contact->own_qpn))
		return false;
	contact->courier = courier_open(dev->qps[contact->own_qpn & (QP_SLOTS - 1)], contact);
	return contact->courier != NULL;
}

/* The one of the two that has not been used for longer; NULL: none. */
static struct contact *older(struct contact *a, struct contact *b)
{
	return !a || b->used_ns < a->used_ns ? b : a;
}

/*
 * The place for a new one; NULL: none.  What peers asked for, and never used, goes first.  Of it
 * nobody fills more than a share: a host that asks for more takes the place of its own.
 */
static struct contact *find_place(
	struct weft_dev *dev, const uint8_t gid[16], bool is_passive, uint64_t now)
{
	struct contact *oldest = NULL, *unused = NULL, *own = NULL, *free = NULL;
	uint32_t n_own = 0;

	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &dev->datagrams.contacts[i];

		if (!contact->in_use) {
			free = free ? free : contact;
			continue;
		}
		oldest = older(oldest, contact);
		if (!contact->is_passive)
			continue;
		unused = older(unused, contact);
		if (!memcmp(contact->gid, gid, 16)) {
			own = older(own, contact);
			n_own++;
		}
	}
	if (is_passive && n_own >= PASSIVE_PER_HOST)
		return weft_elapsed(now, own->used_ns) < KEEP_NS ? NULL : own;
	if (free)
		return free;
	if (unused && (!is_passive || weft_elapsed(now, unused->used_ns) >= KEEP_NS))
		return unused;
	return weft_elapsed(now, oldest->used_ns) < KEEP_NS ? NULL : oldest;
}

static struct contact *make(struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16],
	uint32_t qpn, bool is_passive)
{
	uint64_t now = device_now(dev);
	struct contact *contact = find_place(dev, gid, is_passive, now);

	if (!contact)
		return NULL;
	if (contact->in_use)
		forget(dev, contact);
	contact->in_use = true;
	contact->is_passive = is_passive;
	contact->own_qpn = own_qpn;
	contact->qpn = qpn;
	contact->nonce = device_random(dev);
	contact->used_ns = now;
	memcpy(contact->gid, gid, 16);
	struct contact **head = bucket(dev, own_qpn, gid, qpn);

	contact->next = *head;
	*head = contact;
	if (!get_courier(dev, contact)) {
		forget(dev, contact);
		return NULL;
	}
	return contact;
}

struct contact *contact_take(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn)
{
	struct contact *contact = contact_find(dev, own_qpn, gid, qpn);
	uint64_t now = weft_pump_now(dev->pump);

	if (!contact) {
		contact = make(dev, own_qpn, gid, qpn, false);
		if (contact)
			greet_ask(dev, contact);
		return contact;
	}
	contact->used_ns = WEFT_MAX(contact->used_ns, now);
	contact->is_passive = false;
	if (!contact->known && contact->tries >= CONTACT_TRIES &&
		now > contact->ask_at_ns + ASK_AGAIN_NS) {
		contact->tries = 0;
		contact->vain = true;
		greet_ask(dev, contact);
	}
	return contact;
}

/* It is where it was, and has not begun anew. */
bool contact_is_same(const struct contact *contact, const struct greet *greet)
{
	return contact->end.udp_port == greet->end.udp_port &&
	       contact->end.src_port[0] == greet->end.src_port[0] &&
	       contact->eq_number == greet->qp.eq_number && contact->psn == greet->qp.psn;
}

static int connect_to(
	struct weft_dev *dev, struct contact *contact, const struct greet *greet, uint32_t absent)
{
	char error[256];

	contact->end = greet->end;
	contact->end.absent = absent;
	if (weft_live_peer_open(dev->live, &contact->end, &contact->peer, &contact->pathset, error,
		    sizeof(error))) {
		say_unfit(dev, &contact->end, error);
		return -1;
	}
	contact->known = true;
	contact->eq_number = greet->qp.eq_number;
	contact->psn = greet->qp.psn;
	return contact->courier ? courier_connect(contact->courier, contact, &greet->qp) : 0;
}

struct contact *contact_learn(struct weft_dev *dev, const struct greet *greet, uint32_t absent)
{
	const uint8_t *gid = greet_gid(greet);
	struct contact *contact = contact_find(dev, greet->qp.peer_qpn, gid, greet->qp.qpn);
	bool is_passive = !contact || contact->is_passive;

	if (contact && contact->known && contact_is_same(contact, greet))
		return contact;
	if (contact && contact->known) {
		forget(dev, contact);
		contact = NULL;
	}
	if (!contact)
		contact = make(dev, greet->qp.peer_qpn, gid, greet->qp.qpn, is_passive);
	if (contact && connect_to(dev, contact, greet, absent)) {
		forget(dev, contact);
		return NULL;
	}
	return contact;
}

bool contact_is_awaited(const struct contact *contact)
{
	return !contact->known && !contact->vain && contact->tries < CONTACT_TRIES;
}

int datagram_post(
	struct weft_dev_qp *qp, const uint8_t gid[16], uint32_t qpn, struct weft_work *to)
{
	struct contact *contact = contact_take(qp->dev, qp->number, gid, qpn);

	if (!contact || !contact->known) /* lost, in the end, as datagrams may be */
		return contact && contact_is_awaited(contact) ? EINPROGRESS : ENOENT;
	return courier_send(contact->courier, to);
}

void contact_say(const struct contact *contact, struct greet_qp *own)
{
	own->mpr_psns = WEFT_MPR_UNIT_PSNS;
	if (contact->courier)
		courier_say(contact->courier, own);
}

void contact_forget_qp(struct weft_dev_qp *qp)
{
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &qp->dev->datagrams.contacts[i];

		if (contact->in_use && contact->own_qpn == qp->number)
			forget(qp->dev, contact);
	}
}

void contact_failed(struct courier *courier)
{
	if (courier->contact)
		forget(courier->qp->dev, courier->contact);
}

/* ---- address handles ---- */

int weft_dev_ah_open(struct weft_dev_pd *pd, const uint8_t gid[16], struct weft_dev_ah **out)
{
	struct weft_dev *dev = pd->dev;
	struct weft_dev_ah *ah;

	if (device_is_dead(dev))
		return ENODEV;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return ENOMEM;
	ah->pd = pd;
	memcpy(ah->gid, gid, 16);
	weft_lock_take(&dev->lock);
	if (dev->n_ahs == AHS_MAX) {
		weft_lock_give(&dev->lock);
		free(ah);
		return ENOMEM;
	}
	dev->n_ahs++;
	pd->users++;
	if (group_is(gid) && !run_start(dev))
		group_expect(dev, gid);
	weft_lock_give(&dev->lock);
	*out = ah;
	return 0;
}

int weft_dev_ah_close(struct weft_dev_ah *ah)
{
	struct weft_dev *dev = ah->pd->dev;
	bool is_named = false;

	if (!device_is_dead(dev)) {
		weft_lock_take(&dev->lock);
		dev->n_ahs--;
		ah->pd->users--;
		/* A datagram that waits for its contact still names this, and will fail. */
		is_named = ah->works != 0;
		ah->is_closed = true;
		weft_lock_give(&dev->lock);
	}
	if (!is_named)
		free(ah);
	return 0;
}
