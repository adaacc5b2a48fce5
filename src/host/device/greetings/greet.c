/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet - two devices agree on what their programs do not know.
 *
 *   A (RTR)                              B
 *     PAIR {my QP, my PSN} ------------> not in RTR yet: WAIT
 *     ...                    <---------- PAIR, when it is
 *     PAIR_ANSWER ---------------------> connects
 *     PAIR, at once -------------------> PAIR_ANSWER
 *     connects               <----------
 *
 * Both ends ask, and connect when they are answered, so that neither believes a datagram from an
 * earlier life of the other; an answer that is lost is given again.  What is asked goes to the
 * peer's address on one plane after the other, so that dead planes cost a millisecond each.
 *
 * Who may be believed is one question for all of them (identity.c), and answers must repeat a
 * random number of ours.  A QP connects only to the peer that its program named, GID and QPN.  What
 * comes is limited per source (greet_limit.c), and what answers a stranger goes to where the
 * greeting came from and is no longer than it was, so that nobody can use us against a third.
 */
#include "greetings/greet_local.h"

#include <string.h>

#define FIRST_WAIT_NS UINT64_C(1000000)
#define LAST_WAIT_NS UINT64_C(64000000)
#define WAITED_FOR_NS UINT64_C(10000000000) /* the peer lives, but does not come to RTR */
#define TRIES_MIN 8u /* whatever the clock says: this process may have stood still */

/* Where the other end's greetings are heard on this plane; the planes are tried in turn. */
static void find_address(
	const struct weft_dev *dev, const uint8_t gid[16], uint32_t plane, uint8_t addr[16])
{
	const struct weft_topo *topo = weft_live_topo(dev->live);
	uint32_t host, at;

	memcpy(addr, gid, 16);
	if (topo && weft_topo_host_find(topo, gid, &host, &at))
		weft_topo_host_addr(topo, host, plane, addr);
}

void greet_send_by(struct weft_dev *dev, uint32_t plane, const uint8_t addr[16], uint32_t number,
	struct greet *greet)
{
	uint8_t bytes[GREET_BYTES_MAX];

	greet->number = dev->number;
	greet->end = dev->end;
	dev->net.send(dev->net.arg, dev->end.addr[plane], addr, number, bytes,
		greet_encode(greet, bytes));
}

/* Of those by which that process has answered, each in its turn. */
static uint32_t proven_plane(const struct weft_dev *dev, const struct proof *proof, uint32_t turn)
{
	uint64_t planes = proof->proven & ((UINT64_C(1) << dev->end.planes) - 1);

	if (!planes)
		return dev->end.home;
	for (turn %= weft_popcount64(planes); turn; turn--)
		planes &= planes - 1;
	return weft_ctz64(planes);
}

void greet_send_to(struct weft_dev *dev, const uint8_t gid[16], uint32_t number, uint32_t try,
	struct greet *greet)
{
	bool has_file = weft_live_topo(dev->live) != NULL;
	const struct proof *proof = has_file ? NULL : identity_proof(dev, gid, number);
	/* Where nothing says which addresses a host has, there is the one that names it. */
	uint32_t plane = has_file ? try % dev->end.planes : dev->end.home;
	uint8_t addr[16];

	find_address(dev, gid, plane, addr);
	if (proof && try % 2) {
		plane = proven_plane(dev, proof, try / 2);
		memcpy(addr, proof->end.addr[plane], 16);
	}
	greet_send_by(dev, plane, addr, number, greet);
}

void greet_own_qp(const struct weft_dev_qp *qp, struct greet_qp *own)
{
	*own = (struct greet_qp){ .qpn = qp->number,
		.peer_qpn = qp->attr.peer_qpn,
		.eq_number = qp->eq_number,
		.psn = qp->psn_tx,
		.mpr_psns = qp->attr.mpr_rx_psns,
		.wimm = qp->attr.wimm_rx,
		.rd_atomic = qp->attr.rd_rx,
		.profile = qp->init.profile,
		.trim_nack = qp->attr.trim_nack,
		.dynamic_mpr = qp->attr.dynamic_mpr };
}

void greet_ask_for(struct weft_dev_qp *qp, uint64_t now)
{
	struct greet greet = { .kind = GREET_PAIR, .nonce = qp->nonce };
	uint64_t wait_ns = WEFT_MIN(FIRST_WAIT_NS << WEFT_MIN(qp->tries, 6u), LAST_WAIT_NS);

	greet_own_qp(qp, &greet.qp);
	greet_send_to(qp->dev, qp->attr.gid, qp->attr.peer_qpn >> SLOT_BITS, qp->tries++, &greet);
	qp->greet_at_ns = now + wait_ns;
	greet_due(qp->dev, qp->greet_at_ns);
}

void greet_due(struct weft_dev *dev, uint64_t at_ns)
{
	dev->greetings.at_ns = WEFT_MIN(dev->greetings.at_ns, at_ns);
}

void greet_start(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;

	qp->nonce = device_random(dev);
	qp->tries = 0;
	qp->is_unfit = false;
	qp->greet_since_ns = qp->heard_ns = 0;
	link_in(&dev->greeting, &qp->in_greeting, qp);
	greet_ask_for(qp, device_now(dev));
	run_greet(dev);
}

void greet_stop(struct weft_dev_qp *qp)
{
	link_out(&qp->in_greeting);
}

void greet_ask(struct weft_dev *dev, struct contact *contact)
{
	struct greet greet = { .kind = GREET_HELLO,
		.nonce = contact->nonce,
		.qp = { .qpn = contact->own_qpn, .peer_qpn = contact->qpn } };
	uint64_t now = device_now(dev);

	contact->ask_at_ns = now + (FIRST_WAIT_NS << WEFT_MIN(contact->tries, 6u));
	contact_say(contact, &greet.qp);
	greet_send_to(dev, contact->gid, contact->qpn >> SLOT_BITS, contact->tries++, &greet);
	greet_due(dev, contact->ask_at_ns);
}

/* Work waits, and the peer has been silent for longer than the program allows. */
static bool is_over(struct weft_dev_qp *qp, uint64_t now)
{
	uint64_t budget_ns = retry_budget_ns(&qp->attr);

	if (qp->attr.state != WEFT_DEV_RTS || qp->sq_head == qp->sq_tail) {
		qp->greet_since_ns = 0;
		return false;
	}
	if (qp->is_unfit)
		return true;
	if (!qp->greet_since_ns)
		qp->greet_since_ns = now;
	if (!budget_ns || qp->tries < TRIES_MIN)
		return false;
	/* One that lives and is not ready yet is waited for, but not for ever. */
	return weft_elapsed(now, WEFT_MAX(qp->heard_ns, qp->greet_since_ns)) > budget_ns ||
	       weft_elapsed(now, qp->greet_since_ns) > WEFT_MAX(budget_ns, WAITED_FOR_NS);
}

void greet_timers(struct weft_dev *dev, uint64_t now)
{
	if (now < dev->greetings.at_ns)
		return;
	dev->greetings.at_ns = WEFT_NEVER;
	for (const struct link *at = dev->greeting; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		if (is_over(qp, now)) { /* it leaves the list, and no other does */
			done_fail_front(qp, WEFT_DEV_RETRY_EXC_ERR);
			continue;
		}
		if (now >= qp->greet_at_ns)
			greet_ask_for(qp, now);
		greet_due(dev, qp->greet_at_ns);
	}
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &dev->datagrams.contacts[i];

		if (!contact->in_use || contact->known || contact->tries >= CONTACT_TRIES)
			continue;
		if (now >= contact->ask_at_ns)
			greet_ask(dev, contact);
		greet_due(dev, contact->ask_at_ns);
	}
	group_timers(dev, now);
	identity_timers(dev, now);
}

void greet_again(struct weft_dev *dev, const uint8_t gid[16])
{
	dev->greetings.at_ns = 0;
	for (const struct link *at = dev->greeting; at; at = at->next) {
		struct weft_dev_qp *qp = at->of;

		if (!memcmp(qp->attr.gid, gid, 16))
			qp->greet_at_ns = 0;
	}
	for (uint32_t i = 0; i < CONTACTS_MAX; i++)
		if (!memcmp(dev->datagrams.contacts[i].gid, gid, 16))
			dev->datagrams.contacts[i].ask_at_ns = 0;
}
