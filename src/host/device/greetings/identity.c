/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identity - who a greeting is from, and what must be shown before anything is believed.
 *
 * An address is all that anybody has here to be known by.  So a greeting counts as that of a host
 * and process if its source is the address which it names for that plane, and its source port the
 * process's; a fabric file knows all addresses of a host, and every one named must be that.  Where
 * there is no file, a host is its address on one plane, and the others are its word only: whoever
 * names a third host's address among them would have our packets sent there, and that host's
 * dropped.  So each of them is asked, and used when it has answered from there with our nonce.
 *
 * Which plane that is, each device says of itself: the first that was there when it was opened
 * (device.c).  Two that have met greet by any plane that has been proven; two that have not, by
 * that of the other's GID, and where it is dead they cannot know that anything else is his.
 *
 *   A: 10.0.0.1, 10.0.1.1                B: "I am 10.0.0.2 and 10.0.1.2"
 *     PLANE {nonce}  10.0.1.1 ------------------> 10.0.1.2
 *                    10.0.1.1 <------------------ 10.0.1.2  PLANE_ANSWER {echo}
 *
 * A plane that is dead now would hold up its host for ever: after a while the others do without it,
 * and it is asked on, once a second, and joins when it answers.
 *
 * A HELLO is answered with a challenge that is kept here, and not at a contact: of contacts there
 * are few, and strangers' questions shall not take them.  Not taken: a challenge made of a keyed
 * hash, with nothing kept (SYN cookies): it would hold for as long as its key, and so for a late
 * copy; one of these holds once.
 */
#include "greetings/greet_local.h"

#include <stdlib.h>
#include <string.h>

#define PLANES_NS UINT64_C(100000000)  /* so long a host waits for all of its planes */
#define PLANE_ASK_NS UINT64_C(1000000) /* the first wait; then twice as long, to */
#define PLANE_AGAIN_NS UINT64_C(1000000000)
#define PLANE_ASKS_PER_S 1024u /* to addresses that may be a third host's, all together */

static bool is_address_of(
	const struct weft_topo *topo, const struct greet *greet, uint32_t host, uint32_t plane)
{
	uint8_t addr[16];

	weft_topo_host_addr(topo, host, plane, addr);
	return !memcmp(addr, greet->end.addr[plane], 16);
}

/* That all of its addresses are those of the host that it says it is. */
static bool is_host(const struct weft_topo *topo, const struct greet *greet)
{
	uint32_t host = weft_topo_node_find(topo, greet->end.host);

	if (host >= weft_topo_shape(topo)->hosts ||
		greet->end.planes != weft_topo_shape(topo)->planes)
		return false;
	for (uint32_t i = 0; i < greet->end.planes; i++)
		if (!is_address_of(topo, greet, host, i))
			return false;
	return true;
}

static const uint8_t *proof_gid(const struct proof *proof)
{
	return proof->end.addr[proof->end.home];
}

static bool is_of(const struct proof *proof, const struct greet *greet)
{
	return proof->in_use && proof->number == greet->number &&
	       !memcmp(proof_gid(proof), greet_gid(greet), 16);
}

const struct proof *identity_proof(
	const struct weft_dev *dev, const uint8_t gid[16], uint32_t number)
{
	for (uint32_t i = 0; dev->greetings.proofs.list && i < PROOFS_MAX; i++) {
		const struct proof *proof = &dev->greetings.proofs.list[i];

		if (proof->in_use && proof->number == number && !memcmp(proof_gid(proof), gid, 16))
			return proof;
	}
	return NULL;
}

/* It has answered from there before, and so may speak by it while its own plane is dead. */
static bool has_proven(const struct weft_dev *dev, const struct greet *greet, uint32_t plane)
{
	const struct proof *proof = identity_proof(dev, greet_gid(greet), greet->number);

	return proof && plane < proof->end.planes && proof->proven >> plane & 1 &&
	       !memcmp(proof->end.addr[plane], greet->end.addr[plane], 16);
}

bool identity_is(const struct weft_dev *dev, const struct greet *greet, const uint8_t from[16],
	uint32_t number, uint32_t *plane)
{
	const struct weft_topo *topo = weft_live_topo(dev->live);
	bool is_of_plane = greet->kind == GREET_PLANE || greet->kind == GREET_PLANE_ANSWER;

	if (number != greet->number || greet->qp.qpn >> SLOT_BITS != number)
		return false;
	for (*plane = 0; *plane < greet->end.planes; (*plane)++)
		if (!memcmp(from, greet->end.addr[*plane], 16))
			break;
	if (!memcmp(from, greet_gid(greet), 16))
		*plane = greet->end.home;
	/* One that we do not have, or that it does not. */
	if (*plane >= WEFT_MIN(greet->end.planes, dev->end.planes))
		return false;
	if (topo)
		return !greet->end.home && is_host(topo, greet);
	return *plane == greet->end.home || is_of_plane || has_proven(dev, greet, *plane);
}

/* ---- who asks ---- */

uint64_t identity_challenge(struct weft_dev *dev, const struct greet *asked)
{
	uint32_t at = dev->greetings.challenges.at++ % CHALLENGES;
	struct challenge *c = &dev->greetings.challenges.list[at];

	*c = (struct challenge){ .nonce = device_random(dev) / CHALLENGES * CHALLENGES + at,
		.number = asked->number,
		.own_qpn = asked->qp.peer_qpn,
		.qpn = asked->qp.qpn };
	memcpy(c->gid, greet_gid(asked), 16);
	return c->nonce;
}

bool identity_has_echoed(struct weft_dev *dev, const struct greet *greet)
{
	struct challenge *c = &dev->greetings.challenges.list[greet->echo % CHALLENGES];

	if (!c->nonce || c->nonce != greet->echo || c->number != greet->number ||
		c->own_qpn != greet->qp.peer_qpn || c->qpn != greet->qp.qpn ||
		memcmp(c->gid, greet_gid(greet), 16))
		return false;
	*c = (struct challenge){ 0 };
	return true;
}

/* ---- its planes ---- */

static uint32_t all_planes(const struct proof *proof)
{
	return (uint32_t)((UINT64_C(1) << proof->end.planes) - 1);
}

/* The one of this process; a new one takes the place of one that is free or has not been used for
 * the longest: of the same host, where that has many. */
static struct proof *find_or_make(struct weft_dev *dev, const struct greet *greet, uint64_t now)
{
	struct proof *list = dev->greetings.proofs.list, *oldest = NULL, *own = NULL;
	uint32_t n_own = 0;

	for (uint32_t i = 0; i < PROOFS_MAX; i++) {
		if (is_of(&list[i], greet))
			return &list[i];
		if (!oldest || list[i].used_ns < oldest->used_ns)
			oldest = &list[i]; /* free ones: 0 */
		if (!list[i].in_use || memcmp(proof_gid(&list[i]), greet_gid(greet), 16) != 0)
			continue;
		n_own++;
		if (!own || list[i].used_ns < own->used_ns)
			own = &list[i];
	}
	if (n_own >= PROOFS_PER_HOST)
		oldest = own;
	*oldest = (struct proof){ .number = greet->number,
		.end = greet->end,
		.nonce = device_random(dev),
		.proven = 1u << greet->end.home,
		.since_ns = now,
		.in_use = true };
	return oldest;
}

static void ask(struct weft_dev *dev, struct proof *proof, uint64_t now)
{
	struct greet greet = { .kind = GREET_PLANE,
		.nonce = proof->nonce,
		.qp = { .qpn = dev->number << SLOT_BITS,
			.peer_qpn = proof->number << SLOT_BITS,
			.mpr_psns = WEFT_MPR_UNIT_PSNS } };

	if (now >= dev->greetings.proofs.second_ns) {
		dev->greetings.proofs.second_ns = now + UINT64_C(1000000000);
		dev->greetings.proofs.tokens = PLANE_ASKS_PER_S;
	}
	for (uint32_t i = 0; i < proof->end.planes && i < dev->end.planes; i++) {
		if (proof->proven >> i & 1 || !dev->greetings.proofs.tokens ||
			weft_inet_is_none(dev->end.addr[i]) ||
			weft_inet_is_none(proof->end.addr[i]))
			continue;
		dev->greetings.proofs.tokens--;
		greet_send_by(dev, i, proof->end.addr[i], proof->number, &greet);
	}
	proof->ask_at_ns =
		now + WEFT_MIN(PLANE_ASK_NS << WEFT_MIN(proof->tries, 10u), PLANE_AGAIN_NS);
	proof->tries++;
	greet_due(dev, proof->ask_at_ns);
}

/* Planes on which one of the two has no address: nobody waits for these. */
static uint32_t nowhere(const struct weft_dev *dev, const struct proof *proof)
{
	uint32_t planes = 0;

	for (uint32_t i = 0; i < proof->end.planes; i++)
		if (i >= dev->end.planes || weft_inet_is_none(dev->end.addr[i]) ||
			weft_inet_is_none(proof->end.addr[i]))
			planes |= 1u << i;
	return planes;
}

bool identity_planes(struct weft_dev *dev, const struct greet *greet, uint32_t *absent)
{
	uint64_t now = device_now(dev);
	struct proof *proof;

	*absent = 0;
	if (weft_live_topo(dev->live) || greet->end.planes == 1)
		return true;
	struct proofs *proofs = &dev->greetings.proofs;

	if (!proofs->list)
		proofs->list = calloc(PROOFS_MAX, sizeof(*proofs->list));
	if (!proofs->list)
		return false;
	proof = find_or_make(dev, greet, now);
	if (proof->end.planes != greet->end.planes ||
		memcmp(proof->end.addr, greet->end.addr, 16 * (size_t)greet->end.planes) != 0)
		*proof = (struct proof){ .number = greet->number,
			.nonce = device_random(dev),
			.proven = 1u << greet->end.home,
			.since_ns = now,
			.in_use = true };
	proof->end = greet->end; /* its ports may be new ones */
	proof->used_ns = now;
	*absent = all_planes(proof) & ~proof->proven;
	if (!proof->tries && *absent)
		ask(dev, proof, now);
	proof->was_used = !(*absent & ~nowhere(dev, proof)) ||
			  weft_elapsed(now, proof->since_ns) >= PLANES_NS;
	return proof->was_used;
}

bool identity_plane_answered(struct weft_dev *dev, const struct greet *greet, uint32_t plane)
{
	for (uint32_t i = 0; dev->greetings.proofs.list && i < PROOFS_MAX; i++) {
		struct proof *proof = &dev->greetings.proofs.list[i];

		if (!is_of(proof, greet) || proof->nonce != greet->echo ||
			plane >= proof->end.planes ||
			memcmp(proof->end.addr[plane], greet->end.addr[plane], 16) != 0)
			continue;
		if (proof->proven >> plane & 1)
			return true;
		proof->proven |= 1u << plane;
		proof->end.absent = all_planes(proof) & ~proof->proven;
		if (proof->was_used)
			weft_live_peer_planes(dev->live, &proof->end);
		if (!proof->end.absent)
			greet_again(dev, proof_gid(proof));
		return true;
	}
	return false;
}

void identity_timers(struct weft_dev *dev, uint64_t now)
{
	for (uint32_t i = 0; dev->greetings.proofs.list && i < PROOFS_MAX; i++) {
		struct proof *proof = &dev->greetings.proofs.list[i];

		if (!proof->in_use || proof->proven == all_planes(proof))
			continue;
		if (now >= proof->ask_at_ns &&
			weft_elapsed(now, proof->since_ns) >= PLANE_AGAIN_NS &&
			!weft_live_peer_is_open(dev->live, &proof->end)) {
			proof->in_use = false;
			continue;
		}
		if (now >= proof->ask_at_ns)
			ask(dev, proof, now);
		greet_due(dev, proof->ask_at_ns);
	}
}
