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
 * Trust is that of the addresses: a greeting must come from an address of the host that it says it
 * is (the fabric file knows those, where there is one) and from the greeting port of the process
 * it names; answers must repeat a random number of ours.  A QP connects only to the peer that its
 * program named, GID and QPN.  Answers are limited in number per second, and no longer than what
 * asked for them by much, so that nobody can use us against a third.
 */
#include "local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_WAIT_NS UINT64_C(1000000)
#define LAST_WAIT_NS UINT64_C(64000000)
#define WAITED_FOR_NS UINT64_C(10000000000) /* the peer lives, but does not come to RTR */
#define ANSWERS_PER_S 4096u
#define READ_MAX 64
#define TRIES_MIN 8u /* whatever the clock says: this process may have stood still */

int greet_open(struct weft_dev *dev, char *error, size_t error_bytes)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int))) {
		snprintf(error, error_bytes, "no socket for greetings: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 1 << 20 }, sizeof(int));
	/* The number that is free is this process's on this host. */
	for (dev->number = 0; dev->number < NUMBERS; dev->number++) {
		struct sockaddr_in6 name = { .sin6_family = AF_INET6,
			.sin6_port = htons((uint16_t)(WEFT_DEV_PORT_BASE + dev->number)) };

		if (!bind(fd, (struct sockaddr *)&name, sizeof(name))) {
			dev->greet_fd = fd;
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	snprintf(error, error_bytes, "no UDP port of %u..%u for greetings: %s", WEFT_DEV_PORT_BASE,
		WEFT_DEV_PORT_BASE + NUMBERS - 1, strerror(errno));
	close(fd);
	return -1;
}

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

void greet_send_to(struct weft_dev *dev, const uint8_t gid[16], uint32_t number, uint32_t try,
	struct greet *greet)
{
	uint32_t plane = try % dev->end.planes;
	uint8_t bytes[GREET_BYTES_MAX], control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)(WEFT_DEV_PORT_BASE + number)) };
	struct in6_pktinfo from = { 0 };

	greet->number = dev->number;
	greet->end = dev->end;
	find_address(dev, gid, plane, (uint8_t *)&to.sin6_addr);
	memcpy(&from.ipi6_addr, dev->end.addr[weft_live_topo(dev->live) ? plane : 0], 16);
	struct iovec data = { bytes, greet_encode(greet, bytes) };
	struct msghdr msg = { .msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(from));
	memcpy(CMSG_DATA(c), &from, sizeof(from));
	if (sendmsg(dev->greet_fd, &msg, 0) < 0)
		return; /* it is asked again */
}

static void own_qp(const struct weft_dev_qp *qp, struct greet_qp *own)
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

static void ask_for(struct weft_dev_qp *qp, uint64_t now)
{
	struct greet greet = { .kind = GREET_PAIR, .nonce = qp->nonce };
	uint64_t wait_ns = WEFT_MIN(FIRST_WAIT_NS << WEFT_MIN(qp->tries, 6u), LAST_WAIT_NS);

	own_qp(qp, &greet.qp);
	greet_send_to(
		qp->dev, qp->attr.gid, qp->attr.peer_qpn >> SLOT_BITS, qp->tries++, &greet);
	qp->greet_at_ns = now + wait_ns;
	qp->dev->greet_at_ns = WEFT_MIN(qp->dev->greet_at_ns, qp->greet_at_ns);
}

void greet_start(struct weft_dev_qp *qp)
{
	struct weft_dev *dev = qp->dev;

	qp->nonce = device_random();
	qp->tries = 0;
	qp->greet_since_ns = qp->heard_ns = 0;
	qp->in_greeting = true;
	qp->next_greeting = dev->greeting;
	dev->greeting = qp;
	ask_for(qp, weft_clock_now(NULL));
	if (dev->asleep || dev->stands)
		watch_kick(dev);
}

void greet_stop(struct weft_dev_qp *qp)
{
	struct weft_dev_qp **at = &qp->dev->greeting;

	if (!qp->in_greeting)
		return;
	while (*at != qp)
		at = &(*at)->next_greeting;
	*at = qp->next_greeting;
	qp->in_greeting = false;
}

void greet_ask(struct weft_dev *dev, struct contact *contact)
{
	struct greet greet = { .kind = GREET_HELLO,
		.nonce = contact->nonce,
		.qp = { .qpn = contact->own_qpn, .peer_qpn = contact->qpn } };
	uint64_t now = weft_clock_now(NULL);

	contact->ask_at_ns = now + (FIRST_WAIT_NS << WEFT_MIN(contact->tries, 6u));
	contact_say(contact, &greet.qp);
	greet_send_to(dev, contact->gid, contact->qpn >> SLOT_BITS, contact->tries++, &greet);
	dev->greet_at_ns = WEFT_MIN(dev->greet_at_ns, contact->ask_at_ns);
}

/* Work waits, and the peer has been silent for longer than the program allows. */
static bool is_over(struct weft_dev_qp *qp, uint64_t now)
{
	uint64_t budget_ns = retry_budget_ns(&qp->attr);

	if (qp->attr.state != WEFT_DEV_RTS || qp->sq_head == qp->sq_tail) {
		qp->greet_since_ns = 0;
		return false;
	}
	if (!qp->greet_since_ns)
		qp->greet_since_ns = now;
	if (!budget_ns || qp->tries < TRIES_MIN)
		return false;
	/* One that lives and is not ready yet is waited for, but not for ever. */
	return now - WEFT_MAX(qp->heard_ns, qp->greet_since_ns) > budget_ns ||
	       now - qp->greet_since_ns > WEFT_MAX(budget_ns, WAITED_FOR_NS);
}

void greet_timers(struct weft_dev *dev, uint64_t now)
{
	if (now < dev->greet_at_ns)
		return;
	dev->greet_at_ns = WEFT_NEVER;
	for (struct weft_dev_qp *qp = dev->greeting, *next; qp; qp = next) {
		next = qp->next_greeting;
		if (is_over(qp, now)) {
			done_fail_front(qp, WEFT_DEV_RETRY_EXC_ERR);
			/* The list may have lost more than this one: begin again soon. */
			dev->greet_at_ns = now;
			return;
		}
		if (now >= qp->greet_at_ns)
			ask_for(qp, now);
		dev->greet_at_ns = WEFT_MIN(dev->greet_at_ns, qp->greet_at_ns);
	}
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &dev->contacts[i];

		if (!contact->in_use || contact->known || contact->tries >= CONTACT_TRIES)
			continue;
		if (now >= contact->ask_at_ns)
			greet_ask(dev, contact);
		dev->greet_at_ns = WEFT_MIN(dev->greet_at_ns, contact->ask_at_ns);
	}
	group_timers(dev, now);
}

/* ---- what comes ---- */

static struct weft_dev_qp *find_qp(const struct weft_dev *dev, const struct greet *greet)
{
	struct weft_dev_qp *qp = dev->qps[greet->qp.peer_qpn & (SLOTS - 1)];

	if (!qp || qp->number != greet->qp.peer_qpn || !qp->eq ||
		qp->attr.peer_qpn != greet->qp.qpn ||
		xrc_peer(qp->init.profile) != greet->qp.profile ||
		greet->qp.qpn >> SLOT_BITS != greet->number ||
		memcmp(qp->attr.gid, greet->end.addr[0], 16) || qp->attr.state < WEFT_DEV_RTR ||
		qp->attr.state > WEFT_DEV_SQD)
		return NULL;
	return qp;
}

static void answer(struct weft_dev *dev, const struct greet *to, struct greet *greet,
	uint32_t plane)
{
	greet->echo = to->nonce;
	if (!greet->qp.mpr_psns) {
		greet->qp.qpn = to->qp.peer_qpn;
		greet->qp.peer_qpn = to->qp.qpn;
		greet->qp.mpr_psns = WEFT_MPR_UNIT_PSNS;
	}
	greet_send_to(dev, to->end.addr[0], to->number, plane, greet);
}

/* Who asks gets an answer, but is not believed before he has answered a question of ours: what
 * asks may be a datagram from an earlier life of that queue pair. */
static void take_pair(struct weft_dev *dev, const struct greet *asked, uint32_t plane)
{
	struct weft_dev_qp *qp = find_qp(dev, asked);
	struct greet greet = { .kind = GREET_WAIT };

	if (qp && (!qp->connected || qp->peer_eq_number == asked->qp.eq_number)) {
		greet.kind = GREET_PAIR_ANSWER;
		own_qp(qp, &greet.qp);
	}
	answer(dev, asked, &greet, plane);
	if (qp && !qp->connected && qp->asked_back != asked->nonce) {
		qp->asked_back = asked->nonce;
		ask_for(qp, weft_clock_now(NULL));
	}
}

static void take_hello(struct weft_dev *dev, const struct greet *asked, uint32_t plane)
{
	struct greet greet = { .kind = GREET_HELLO_ANSWER,
		.qp = { .qpn = asked->qp.peer_qpn, .peer_qpn = asked->qp.qpn } };
	const struct contact *contact;

	if (asked->qp.qpn >> SLOT_BITS != asked->number || !contact_own(dev, asked->qp.peer_qpn))
		return;
	contact = contact_learn(dev, asked, NULL);
	if (!contact)
		return;
	contact_say(contact, &greet.qp);
	answer(dev, asked, &greet, plane);
}

static void take_hello_answer(struct weft_dev *dev, const struct greet *greet)
{
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		struct contact *contact = &dev->contacts[i];

		if (contact->in_use && !contact->known && contact->nonce == greet->echo &&
			contact->qpn == greet->qp.qpn &&
			contact->qpn >> SLOT_BITS == greet->number &&
			!memcmp(contact->gid, greet->end.addr[0], 16))
			(void)contact_learn(dev, greet, contact);
	}
}

static void take_group(struct weft_dev *dev, const struct greet *asked, uint32_t plane)
{
	struct greet greet = { .echo = asked->nonce };

	group_asked(dev, asked, &greet);
	greet_send_to(dev, asked->end.addr[0], asked->number, plane, &greet);
}

static void take_greeting(struct weft_dev *dev, const struct greet *greet, uint32_t plane)
{
	struct weft_dev_qp *qp;

	switch (greet->kind) {
	case GREET_HELLO:
		take_hello(dev, greet, plane);
		break;
	case GREET_HELLO_ANSWER:
		take_hello_answer(dev, greet);
		break;
	case GREET_PAIR:
		take_pair(dev, greet, plane);
		break;
	case GREET_PAIR_ANSWER:
		qp = find_qp(dev, greet);
		if (qp && !qp->connected && qp->nonce == greet->echo)
			(void)qp_connect(qp, &greet->end, &greet->qp);
		break;
	case GREET_WAIT:
		qp = dev->qps[greet->qp.peer_qpn & (SLOTS - 1)];
		if (qp && qp->in_greeting && qp->nonce == greet->echo)
			qp->heard_ns = weft_clock_now(NULL);
		break;
	case GREET_GROUP:
		take_group(dev, greet, plane);
		break;
	case GREET_GROUP_ANSWER:
		dev->greetings_refused[GREET_UNASKED] += !group_answered(dev, greet);
		break;
	default:
		break;
	}
}

/* The plane by whose address it came; false: it lies about where it is from. */
static bool check_source(const struct weft_dev *dev, const struct greet *greet,
	const struct sockaddr_in6 *from, uint32_t *plane)
{
	const struct weft_topo *topo = weft_live_topo(dev->live);
	uint32_t host, at;

	if (from->sin6_family != AF_INET6 ||
		ntohs(from->sin6_port) != WEFT_DEV_PORT_BASE + greet->number)
		return false;
	for (*plane = 0; *plane < greet->end.planes; (*plane)++)
		if (!memcmp(&from->sin6_addr, greet->end.addr[*plane], 16))
			break;
	if (*plane == greet->end.planes)
		return false;
	return !topo || (weft_topo_host_find(topo, (const uint8_t *)&from->sin6_addr, &host, &at) &&
				at == *plane && weft_topo_node_find(topo, greet->end.host) == host);
}

void greet_read(struct weft_dev *dev)
{
	uint8_t bytes[GREET_BYTES_MAX];
	uint64_t now = weft_clock_now(NULL);

	if (now >= dev->second_ns) {
		dev->second_ns = now + 1000000000;
		dev->greet_tokens = ANSWERS_PER_S;
	}
	for (unsigned i = 0; i < READ_MAX; i++) {
		struct sockaddr_in6 from = { 0 };
		socklen_t from_bytes = sizeof(from);
		struct greet greet;
		uint32_t plane;
		ssize_t n = recvfrom(dev->greet_fd, bytes, sizeof(bytes), MSG_DONTWAIT,
			(struct sockaddr *)&from, &from_bytes);

		if (n < 0)
			return;
		enum greet_reason why = !dev->greet_tokens ? GREET_FLOOD
					: !greet_decode(bytes, (size_t)n, &greet)
						? GREET_MALFORMED
					: !check_source(dev, &greet, &from, &plane)
						? GREET_FORGED
						: GREET_REASONS;

		if (why != GREET_REASONS) {
			dev->greetings_refused[why]++;
			continue;
		}
		dev->greet_tokens--;
		take_greeting(dev, &greet, plane);
	}
}
