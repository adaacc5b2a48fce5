/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group - multicast in a fabric that has none: the sender makes the copies.
 *
 *   A: send to ff12::1, QPN 0xffffff         B: QP 7 joined        C: nobody joined
 *     GROUP {ff12::1} ----------------------> GROUP_ANSWER {7}
 *     GROUP {ff12::1} -----------------------------------------------> GROUP_ANSWER {}
 *     datagram to QP 7 ---------------------> receive
 *
 * Who sends to a group, makes an address handle of it, or joins it, asks the processes of all hosts
 * of the fabric which queue pairs are in it, four times within 0.1 s and every second until 10 s
 * after that.  A member who is
 * not confirmed for three such rounds is none any more.  Who joins or leaves asks, too, and says
 * who is left: senders ask back at once.  So nobody keeps a list for others, and nobody who dies
 * leaves one wrong for long.
 *
 * Only answers are believed, under the rules of greetings.  Which numbers the processes of a host
 * have is not known: the first few are asked, a few others in turn, and whoever answers says which
 * there are.
 */
#include "datagrams/datagrams_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NUMBERS 4u
#define OTHER_NUMBERS 4u
#define PER_HOST (FIRST_NUMBERS + OTHER_NUMBERS)
#define FOLLOWED_MAX 64u
#define MET_MAX 128u
#define TURN_HOSTS 32u /* asked at once */
#define TURN_NS UINT64_C(1000000)
#define ROUND_NS UINT64_C(1000000000)
#define ASK_COST_NS UINT64_C(100000)         /* rounds are rarer in large fabrics */
#define FIRST_ANSWERS_NS UINT64_C(100000000) /* a first send waits for members so long, */
#define NO_ANSWERS_NS UINT64_C(1000000000)   /* or so long, if none is known by then */
#define IDLE_NS (10 * ROUND_NS)
#define BACK_NS UINT64_C(1000000)
#define NUMBERS_NS UINT64_C(100000000)
#define MISSED_ROUNDS 3u
#define WAIT_NS UINT64_C(50000000) /* for the way to a member, once a round */

static const uint64_t first_rounds_ns[] = { 10000000, 30000000, 60000000 };

struct member { /* qpn 0: none */
	uint8_t gid[16];
	uint32_t qpn;
	uint64_t heard_ns;
};

struct group {
	uint8_t gid[16];
	uint64_t nonce, since_ns, begun_ns, sent_ns, back_ns, ask_at_ns, wait_ns;
	uint32_t rounds, host_at, n_own, n_others, end; /* end: behind the last member */
	uint32_t tag;                                   /* by which packets name it */
	bool ready;
	struct member member[GROUP_OTHERS_MAX + GREET_MEMBERS_MAX];
};

bool group_is(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid[0] == 0xff || (!memcmp(gid, mapped, 12) && gid[12] >> 4 == 14);
}

static bool is_own(const struct weft_dev *dev, const struct member *m)
{
	return m->qpn >> SLOT_BITS == dev->number && !memcmp(m->gid, dev->name.gid, 16);
}

static struct group *find(const struct weft_dev *dev, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < GROUPS_MAX; i++)
		if (dev->datagrams.groups[i] && !memcmp(dev->datagrams.groups[i]->gid, gid, 16))
			return dev->datagrams.groups[i];
	return NULL;
}

/* FNV-1a, and not 0: that would be no group. */
uint32_t group_tag(const uint8_t gid[16])
{
	uint32_t tag = 2166136261u;

	for (unsigned i = 0; i < 16; i++)
		tag = (tag ^ gid[i]) * 16777619u;
	return tag ? tag : 1;
}

/* Members are asked for, and known. */
static bool is_busy(const struct group *group, uint64_t now)
{
	return now <= WEFT_MAX(group->sent_ns, group->begun_ns) + IDLE_NS;
}

static struct group *take(struct weft_dev *dev, const uint8_t gid[16], uint64_t now)
{
	struct group *group = find(dev, gid);

	for (uint32_t i = 0; !group && i < GROUPS_MAX; i++) {
		struct group *old = dev->datagrams.groups[i];

		if (old && (old->n_own || is_busy(old, now)))
			continue;
		group = old ? old : malloc(sizeof(*group));
		if (!group)
			return NULL;
		memset(group, 0, sizeof(*group));
		dev->datagrams.groups[i] = group;
		memcpy(group->gid, gid, 16);
		group->nonce = device_random(dev);
		group->tag = group_tag(gid);
		group->since_ns = now;
	}
	return group;
}

/* ---- members ---- */

static struct member *find_member(struct group *group, const uint8_t gid[16], uint32_t qpn)
{
	for (uint32_t i = 0; i < group->end; i++)
		if (group->member[i].qpn == qpn && !memcmp(group->member[i].gid, gid, 16))
			return &group->member[i];
	return NULL;
}

/* A new one.  Others can be so many, and there is room for our own whatever others say. */
static struct member *put_member(struct group *group, const uint8_t gid[16], uint32_t qpn)
{
	struct member *m = group->member;

	while (m->qpn)
		m++;
	WEFT_ASSERT(m < group->member + WEFT_COUNT(group->member));
	group->end = WEFT_MAX(group->end, (uint32_t)(m - group->member) + 1);
	m->qpn = qpn;
	memcpy(m->gid, gid, 16);
	return m;
}

bool group_has(
	const struct weft_dev *dev, const uint8_t gid[16], const uint8_t host[16], uint32_t qpn)
{
	struct group *group = find(dev, gid);

	return group && find_member(group, host, qpn);
}

/* NULL: no room. */
static struct member *take_other(struct group *group, const uint8_t gid[16], uint32_t qpn)
{
	struct member *m = find_member(group, gid, qpn);

	if (m || group->n_others == GROUP_OTHERS_MAX)
		return m;
	group->n_others++;
	return put_member(group, gid, qpn);
}

static void drop_member(const struct weft_dev *dev, struct group *group, struct member *m)
{
	if (is_own(dev, m))
		group->n_own--;
	else
		group->n_others--;
	*m = (struct member){ 0 };
	while (group->end && !group->member[group->end - 1].qpn)
		group->end--;
}

static uint64_t round_ns(const struct weft_dev *dev)
{
	const struct weft_topo *topo = weft_live_topo(dev->live);
	uint64_t hosts = topo ? weft_topo_shape(topo)->hosts : 1;

	return WEFT_MAX(ROUND_NS, hosts * PER_HOST * ASK_COST_NS);
}

static void drop_silent(const struct weft_dev *dev, struct group *group, uint64_t now)
{
	uint64_t life_ns = MISSED_ROUNDS * round_ns(dev);

	for (uint32_t i = group->end; i--;) {
		struct member *m = &group->member[i];

		if (m->qpn && !is_own(dev, m) && now > m->heard_ns + life_ns)
			drop_member(dev, group, m);
	}
}

/* ---- asking ---- */

static void read_numbers(struct weft_dev *dev, uint64_t now)
{
	if (dev->datagrams.numbers_ns && now < dev->datagrams.numbers_ns + NUMBERS_NS)
		return;
	dev->datagrams.numbers_ns = now;
	greet_numbers(dev, dev->datagrams.numbers);
}

static void say(struct weft_dev *dev, const uint8_t gid[16], struct greet *greet, uint64_t now)
{
	const struct group *group = find(dev, gid);
	struct greet_group *to = &greet->group;

	greet->qp = (struct greet_qp){ .qpn = dev->number << SLOT_BITS,
		.mpr_psns = WEFT_MPR_UNIT_PSNS };
	read_numbers(dev, now);
	memcpy(to->gid, gid, 16);
	memcpy(to->numbers, dev->datagrams.numbers, sizeof(to->numbers));
	to->n = 0;
	for (uint32_t i = 0; group && i < group->end; i++)
		if (group->member[i].qpn && is_own(dev, &group->member[i]))
			to->qpn[to->n++] = group->member[i].qpn;
}

static void ask(struct weft_dev *dev, const struct group *group, const uint8_t host[16],
	uint32_t number, struct greet *greet)
{
	if (number != dev->number || memcmp(host, dev->name.gid, 16))
		greet_send_to(dev, host, number, group->rounds, greet);
}

/* False: no such host.  Without a fabric file those are asked of whom there is a contact. */
static bool host_at(const struct weft_dev *dev, uint32_t i, uint8_t gid[16])
{
	const struct weft_topo *topo = weft_live_topo(dev->live);

	if (topo) {
		if (i >= weft_topo_shape(topo)->hosts)
			return false;
		weft_topo_host_addr(topo, i, 0, gid);
		return true;
	}
	if (i > CONTACTS_MAX)
		return false;
	memcpy(gid, i ? dev->datagrams.contacts[i - 1].gid : dev->name.gid, 16);
	return true;
}

static bool is_asked(const struct weft_dev *dev, uint32_t i, const uint8_t gid[16])
{
	return !i || weft_live_topo(dev->live) ||
	       (dev->datagrams.contacts[i - 1].in_use && memcmp(gid, dev->name.gid, 16));
}

static void ask_some(struct weft_dev *dev, struct group *group, uint64_t now)
{
	struct greet greet = { .kind = GREET_GROUP, .nonce = group->nonce };
	uint32_t other = FIRST_NUMBERS + group->rounds * OTHER_NUMBERS % (NUMBERS - FIRST_NUMBERS);
	uint8_t gid[16];

	say(dev, group->gid, &greet, now);
	for (uint32_t asked = 0; asked < TURN_HOSTS; group->host_at++) {
		if (!host_at(dev, group->host_at, gid)) {
			group->host_at = 0;
			group->ask_at_ns = now + (group->rounds < WEFT_COUNT(first_rounds_ns)
								 ? first_rounds_ns[group->rounds]
								 : round_ns(dev));
			group->rounds++;
			return;
		}
		if (!is_asked(dev, group->host_at, gid))
			continue;
		for (uint32_t i = 0; i < FIRST_NUMBERS; i++)
			ask(dev, group, gid, i, &greet);
		for (uint32_t i = 0; i < OTHER_NUMBERS; i++)
			ask(dev, group, gid, other + i, &greet);
		asked++;
	}
	group->ask_at_ns = now + TURN_NS;
}

/* When to be called again. */
static uint64_t turn(struct weft_dev *dev, struct group *group, uint64_t now)
{
	if (now < group->ask_at_ns)
		return group->ask_at_ns;
	if (group->rounds > WEFT_COUNT(first_rounds_ns) && !is_busy(group, now))
		return WEFT_NEVER;
	drop_silent(dev, group, now);
	ask_some(dev, group, now);
	return group->ask_at_ns;
}

static void begin(struct weft_dev *dev, struct group *group, uint64_t now)
{
	group->rounds = group->host_at = 0;
	group->ask_at_ns = 0;
	group->begun_ns = now;
	greet_due(dev, turn(dev, group, now));
	run_greet(dev);
}

void group_timers(struct weft_dev *dev, uint64_t now)
{
	for (uint32_t i = 0; i < GROUPS_MAX; i++) {
		struct group *group = dev->datagrams.groups[i];

		if (group)
			greet_due(dev, turn(dev, group, now));
	}
}

/* ---- what comes ---- */

static bool is_of(const struct member *m, const struct greet *greet)
{
	return m->qpn && m->qpn >> SLOT_BITS == greet->number &&
	       !memcmp(m->gid, greet_gid(greet), 16);
}

static bool is_listed(const struct member *m, const struct greet_group *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->qpn[i] == m->qpn)
			return true;
	return false;
}

/* Whether what a process says of itself is what is known of it. */
static bool is_known(struct group *group, const struct greet *greet)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < greet->group.n; i++)
		if (!find_member(group, greet_gid(greet), greet->group.qpn[i]))
			return false;
	for (uint32_t i = 0; i < group->end; i++)
		n += is_of(&group->member[i], greet);
	return n == greet->group.n;
}

void group_asked(struct weft_dev *dev, const struct greet *greet, struct greet *answer)
{
	struct group *group = find(dev, greet->group.gid);
	uint64_t now = device_now(dev);

	answer->kind = GREET_GROUP_ANSWER;
	say(dev, greet->group.gid, answer, now);
	if (!group || !is_busy(group, now) || now < group->back_ns || is_known(group, greet))
		return;
	group->back_ns = now + BACK_NS;
	answer->nonce = group->nonce;
}

/* The first of a host's processes has said who the others are. */
static void follow(
	struct weft_dev *dev, const struct group *group, const struct greet *from, uint64_t now)
{
	struct greet greet = { .kind = GREET_GROUP, .nonce = group->nonce };
	uint32_t asked = 0;

	for (uint32_t i = 0; i < from->number; i++)
		if (from->group.numbers[i / 8] >> i % 8 & 1)
			return;
	say(dev, group->gid, &greet, now);
	for (uint32_t i = WEFT_MAX(FIRST_NUMBERS, from->number + 1);
		i < NUMBERS && asked < FOLLOWED_MAX; i++) {
		if (!(from->group.numbers[i / 8] >> i % 8 & 1))
			continue;
		ask(dev, group, greet_gid(from), i, &greet);
		asked++;
	}
}

/* Who sends soon may go at once, as mckey does: the way is found beforehand. */
static void meet(struct weft_dev *dev, const struct group *group, const struct member *m)
{
	uint32_t left = MET_MAX / group->end;

	for (const struct link *at = dev->datagrams.qps; at && left; at = at->next, left--) {
		const struct weft_dev_qp *qp = at->of;

		(void)contact_take(dev, qp->number, m->gid, m->qpn);
	}
}

bool group_answered(struct weft_dev *dev, const struct greet *greet)
{
	struct group *group = find(dev, greet->group.gid);
	uint64_t now = device_now(dev);

	if (!group || group->nonce != greet->echo ||
		(greet->number == dev->number && !memcmp(greet_gid(greet), dev->name.gid, 16)))
		return false;
	for (uint32_t i = 0; i < greet->group.n; i++)
		if (greet->group.qpn[i] >> SLOT_BITS != greet->number)
			return false;
	for (uint32_t i = 0; i < greet->group.n; i++) {
		bool is_new = !find_member(group, greet_gid(greet), greet->group.qpn[i]);
		struct member *m = take_other(group, greet_gid(greet), greet->group.qpn[i]);

		if (m)
			m->heard_ns = now;
		else
			dev->datagrams.members_refused++;
		if (m && is_new)
			meet(dev, group, m);
	}
	for (uint32_t i = group->end; i--;) {
		struct member *m = &group->member[i];

		if (is_of(m, greet) && !is_listed(m, &greet->group))
			drop_member(dev, group, m);
	}
	follow(dev, group, greet, now);
	return true;
}

/* ---- sending ---- */

/* Who sends does not hear himself. */
static bool gets_copy(const struct weft_dev_qp *sender, const struct member *m)
{
	return m->qpn && !(m->qpn == sender->number && is_own(sender->dev, m));
}

static bool is_ready(const struct weft_dev_qp *qp, struct group *group, uint64_t now)
{
	uint32_t others = 0;

	if (group->ready)
		return true;
	for (uint32_t i = 0; i < group->end; i++)
		others += gets_copy(qp, &group->member[i]);
	group->ready = now > group->since_ns + (others ? FIRST_ANSWERS_NS : NO_ANSWERS_NS);
	return group->ready;
}

/*
 * A member has not said yet where he is.  Others' datagrams wait for him a little, once in a while:
 * whoever invents members, or dies, takes a twentieth of the sender's time at most.
 */
static bool may_wait(struct weft_dev *dev, struct group *group, uint64_t now)
{
	if (now > group->wait_ns + ROUND_NS)
		group->wait_ns = now;
	if (now > group->wait_ns + WAIT_NS)
		return false;
	greet_due(dev, group->wait_ns + WAIT_NS);
	return true;
}

int group_give(struct weft_dev_qp *qp, struct work *work, struct weft_work *to)
{
	uint64_t now = weft_pump_now(qp->dev->pump);
	struct group *group = take(qp->dev, work->ah->gid, now);

	if (!group)
		return 0;
	if (!is_busy(group, now)) {
		group->since_ns = now;
		group->ready = false;
		begin(qp->dev, group, now);
	}
	group->sent_ns = now;
	if (now >= group->ask_at_ns)
		greet_due(qp->dev, turn(qp->dev, group, now));
	if (!is_ready(qp, group, now))
		return EAGAIN;
	to->group = group->tag;
	for (; work->next_copy < group->end; work->next_copy++) {
		const struct member *m = &group->member[work->next_copy];

		if (!gets_copy(qp, m))
			continue;
		int rc = datagram_post(qp, m->gid, m->qpn, to);

		if (rc < 0 || rc == EAGAIN)
			return rc;
		if (rc == EINPROGRESS && may_wait(qp->dev, group, now))
			return EAGAIN;
		qp->dev->datagrams.copies += !rc;
	}
	return 0;
}

/* ---- joining ---- */

void group_expect(struct weft_dev *dev, const uint8_t gid[16])
{
	uint64_t now = device_now(dev);
	struct group *group = take(dev, gid, now);

	if (group && !is_busy(group, now))
		begin(dev, group, now);
}

static int join(struct weft_dev_qp *qp, const uint8_t gid[16])
{
	struct weft_dev *dev = qp->dev;
	uint64_t now = device_now(dev);
	struct group *group = take(dev, gid, now);

	if (!group)
		return ENOMEM;
	if (find_member(group, dev->name.gid, qp->number))
		return 0;
	if (group->n_own == GREET_MEMBERS_MAX)
		return ENOMEM;
	(void)put_member(group, dev->name.gid, qp->number);
	group->n_own++;
	qp->n_groups++;
	begin(dev, group, now);
	return 0;
}

static int leave(struct weft_dev_qp *qp, struct group *group)
{
	struct member *m = group ? find_member(group, qp->dev->name.gid, qp->number) : NULL;

	if (!m)
		return EINVAL;
	drop_member(qp->dev, group, m);
	qp->n_groups--;
	begin(qp->dev, group, device_now(qp->dev));
	return 0;
}

int weft_dev_group_join(struct weft_dev_qp *qp, const uint8_t gid[16])
{
	struct weft_dev *dev = qp->dev;

	if (device_is_dead(dev))
		return ENODEV;
	if (qp->init.profile != WEFT_DEV_DATAGRAM || !group_is(gid))
		return EINVAL;
	weft_lock_take(&dev->lock);
	int rc = run_start(dev);

	if (!rc)
		rc = join(qp, gid);
	weft_lock_give(&dev->lock);
	return rc;
}

int weft_dev_group_leave(struct weft_dev_qp *qp, const uint8_t gid[16])
{
	struct weft_dev *dev = qp->dev;

	if (device_is_dead(dev))
		return ENODEV;
	weft_lock_take(&dev->lock);
	int rc = leave(qp, find(dev, gid));

	weft_lock_give(&dev->lock);
	return rc;
}

const uint8_t *group_of(const struct weft_dev_qp *qp, uint32_t tag)
{
	const struct weft_dev *dev = qp->dev;

	for (uint32_t i = 0; qp->n_groups && i < GROUPS_MAX; i++)
		if (dev->datagrams.groups[i] && dev->datagrams.groups[i]->tag == tag &&
			group_has(dev, dev->datagrams.groups[i]->gid, dev->name.gid, qp->number))
			return dev->datagrams.groups[i]->gid;
	return NULL;
}
