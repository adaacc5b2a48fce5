/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contact - who sends us datagrams and whom we send them.
 *
 * A datagram names its receiver by GID and QPN; where that process has its endpoint, and what its
 * engine calls that QP, one must ask.  The answer is kept while there is room.  Who asks says the
 * same of himself, because a receiver must know whom a datagram is from, and his port would drop
 * what comes from an address that nobody has told it.  A process that took another's place asks
 * anew, and thereby replaces it.
 */
#include "local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_NS UINT64_C(1000000000)
#define KEEP_NS UINT64_C(1000000000)
#define TRIES 8u

static void forget(struct weft_dev *dev, struct contact *contact)
{
	if (contact->known)
		weft_live_peer_close(dev->live, contact->peer);
	*contact = (struct contact){ 0 };
}

static struct contact *find(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn)
{
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &dev->contacts[i];

		if (contact->in_use && contact->qpn == qpn && contact->own_qpn == own_qpn &&
			!memcmp(contact->gid, gid, 16))
			return contact;
	}
	return NULL;
}

static struct contact *make(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn)
{
	struct contact *oldest = NULL;
	uint64_t now = weft_clock_now(NULL);

	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &dev->contacts[i];

		if (!oldest || contact->used_ns < oldest->used_ns)
			oldest = contact; /* free ones: 0 */
	}
	if (oldest->in_use && now - oldest->used_ns < KEEP_NS)
		return NULL;
	forget(dev, oldest);
	oldest->in_use = true;
	oldest->own_qpn = own_qpn;
	oldest->qpn = qpn;
	oldest->nonce = device_random();
	oldest->used_ns = now;
	memcpy(oldest->gid, gid, 16);
	return oldest;
}

struct contact *contact_take(
	struct weft_dev *dev, uint32_t own_qpn, const uint8_t gid[16], uint32_t qpn)
{
	struct contact *contact = find(dev, own_qpn, gid, qpn);
	uint64_t now = weft_pump_now(dev->pump);

	if (!contact) {
		contact = make(dev, own_qpn, gid, qpn);
		if (contact)
			greet_ask(dev, contact);
		return contact;
	}
	contact->used_ns = WEFT_MAX(contact->used_ns, now);
	if (!contact->known && contact->tries >= TRIES && now > contact->ask_at_ns + ASK_AGAIN_NS) {
		contact->tries = 0;
		greet_ask(dev, contact);
	}
	return contact;
}

bool contact_learn(struct weft_dev *dev, const struct greet *greet, struct contact *contact)
{
	char error[256];
	uint32_t peer, pathset;

	if (!contact)
		contact = find(dev, greet->qp.peer_qpn, greet->end.addr[0], greet->qp.qpn);
	if (!contact)
		contact = make(dev, greet->qp.peer_qpn, greet->end.addr[0], greet->qp.qpn);
	if (!contact)
		return false;
	contact->eq_number = greet->qp.eq_number;
	if (contact->known) {
		if (contact->end.udp_port == greet->end.udp_port &&
			contact->end.src_port[0] == greet->end.src_port[0])
			return true;
		weft_live_peer_close(dev->live, contact->peer);
		contact->known = false;
	}
	if (weft_live_peer_open(dev->live, &greet->end, &peer, &pathset, error, sizeof(error)))
		return false;
	contact->known = true;
	contact->peer = peer;
	contact->pathset = pathset;
	contact->end = greet->end;
	return true;
}

const struct contact *contact_by_peer(
	const struct weft_dev *dev, uint32_t peer, uint32_t own_qpn, uint32_t eq_number)
{
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		const struct contact *contact = &dev->contacts[i];

		if (contact->known && contact->peer == peer && contact->own_qpn == own_qpn &&
			contact->eq_number == eq_number)
			return contact;
	}
	return NULL;
}

bool contact_own(const struct weft_dev *dev, uint32_t own_qpn, uint32_t *eq_number)
{
	const struct weft_dev_qp *qp = dev->qps[own_qpn & (SLOTS - 1)];

	*eq_number = 0;
	if (own_qpn >> SLOT_BITS == dev->number && !(own_qpn & (SLOTS - 1)))
		return true;
	if (!qp || qp->number != own_qpn || qp->init.profile != WEFT_DEV_DATAGRAM || !qp->eq)
		return false;
	*eq_number = qp->eq_number;
	return true;
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
	pthread_mutex_lock(&dev->lock);
	dev->n_ahs++;
	pd->users++;
	if (group_is(gid) && !run_start(dev))
		group_expect(dev, gid);
	pthread_mutex_unlock(&dev->lock);
	*out = ah;
	return 0;
}

int weft_dev_ah_close(struct weft_dev_ah *ah)
{
	struct weft_dev *dev = ah->pd->dev;

	if (!device_is_dead(dev)) {
		pthread_mutex_lock(&dev->lock);
		dev->n_ahs--;
		ah->pd->users--;
		/* A datagram that waits for its contact still names this. */
		for (uint32_t i = 0; i < SLOTS; i++) {
			struct weft_dev_qp *qp = dev->qps[i];

			if (!qp || qp->init.profile != WEFT_DEV_DATAGRAM)
				continue;
			for (uint64_t k = qp->sq_fed; k != qp->sq_tail; k++)
				if (qp->sq[k & qp->sq_mask].ah == ah)
					qp->sq[k & qp->sq_mask].fault = WEFT_DEV_LOC_QP_OP_ERR;
		}
		pthread_mutex_unlock(&dev->lock);
	}
	free(ah);
	return 0;
}
