/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * way - how a socket of datagrams gets to another one.
 *
 *   socket A, port 7                                          socket B, port 9
 *     rsendto(B)  -- ASK, and the data itself, by UDP ------>   rrecvfrom()
 *                 <- ANSWER {GID, QPN, Q_Key}, by UDP -------
 *     rsendto(B)  == by the queue pair, over all planes ====>   rrecvfrom()
 *
 * It is asked anew each second, since the peer may be another process by then; who does not answer
 * three times is sent to by the kernel again.  Where to send to is believed from the address alone
 * that was asked, with a number of ours; what comes is never answered to where it only says that it
 * is from.
 */
#include "dgram.h"

#include <endian.h>
#include <sys/random.h>
#include <unistd.h>

#define ASK_EACH_MS 1000
#define ASK_FIRST_MS 20
#define VAIN_MAX 3u

struct where { /* ASK: but for the token nothing counts */
	struct head head;
	uint64_t token;
	uint32_t qpn, qkey;
	uint8_t gid[16];
};
static_assert(sizeof(struct head) == 24 && sizeof(struct where) == 56, "as on the wire");

static bool is_any(const uint8_t *address, size_t bytes)
{
	static const uint8_t any[16];

	return !memcmp(address, any, bytes);
}

/* The address to which the socket is bound, or else that from which the kernel would send there. */
static int introduce(struct rsock *rs, struct way *way)
{
	struct sockaddr_storage own, there = way->to;
	socklen_t bytes = sizeof(own);
	size_t n;

	if (dgram_name(rs, &own, false))
		return -1;
	way->head = (struct head){ .magic = htobe32(DGRAM_MAGIC),
		.family = (uint8_t)rs->family,
		.port = *name_port(&own) };
	const void *address = name_address(&own, &n);

	if (is_any(address, n)) {
		int fd = socket(rs->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		int rc = fd < 0 ? -1
				: connect(fd, (struct sockaddr *)&there,
					  weft_address_bytes(rs->family));

		if (!rc)
			rc = getsockname(fd, (struct sockaddr *)&own, &bytes);
		if (fd >= 0)
			(void)close(fd);
		if (rc)
			return -1;
	}
	memcpy(way->head.address, address, n);
	return 0;
}

static void ask(struct rsock *rs, struct way *way, int64_t now_ms)
{
	struct sockaddr_storage to = way->to;
	struct where where = { .head = way->head, .token = way->token };

	where.head.kind = ASK;
	way->asked_ms = now_ms;
	if (way->vain++ >= VAIN_MAX)
		way->qpn = 0; /* the kernel's again */
	(void)sendto(rs->dgram->udp_fd, &where, sizeof(where), 0, (struct sockaddr *)&to,
		weft_address_bytes(rs->family));
}

void way_forget(struct way *way)
{
	if (way->ah)
		(void)ibv_destroy_ah(way->ah);
	*way = (struct way){ 0 };
}

struct way *way_find(struct rsock *rs, const struct sockaddr_storage *to)
{
	struct dgram *d = rs->dgram;
	struct way *oldest = &d->ways[0];
	int64_t now_ms = wait_now_ms();

	for (unsigned i = 0; i < WAYS; i++) {
		struct way *way = &d->ways[i];

		if (way->to.ss_family && name_is_same(&way->to, to)) {
			way->used_ms = now_ms;
			if (now_ms - way->asked_ms > (way->qpn ? ASK_EACH_MS : ASK_FIRST_MS))
				ask(rs, way, now_ms);
			return way;
		}
		if (way->used_ms < oldest->used_ms)
			oldest = way;
	}
	if (oldest->ah && d->sending) { /* a work may still name it */
		errno = ENOBUFS;
		return NULL;
	}
	way_forget(oldest);
	oldest->to = *to;
	oldest->used_ms = now_ms;
	if (introduce(rs, oldest) ||
		getrandom(&oldest->token, sizeof(oldest->token), 0) != sizeof(oldest->token)) {
		int error = errno;

		way_forget(oldest);
		errno = error;
		return NULL;
	}
	ask(rs, oldest, now_ms);
	return oldest;
}

static void answered(
	struct rsock *rs, const struct sockaddr_storage *from, const struct where *where)
{
	struct dgram *d = rs->dgram;
	struct way *way = d->ways;
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = { .hop_limit = 64, .sgid_index = 3 }
	};

	while (way < d->ways + WAYS && !(way->to.ss_family && name_is_same(&way->to, from)))
		way++;
	if (way == d->ways + WAYS || way->token != where->token)
		return;
	way->vain = 0;
	if (way->ah && memcmp(way->gid, where->gid, 16)) {
		if (d->sending)
			return; /* when it is asked for the next time */
		(void)ibv_destroy_ah(way->ah);
		way->ah = NULL;
	}
	memcpy(way->gid, where->gid, 16);
	memcpy(attr.grh.dgid.raw, where->gid, 16);
	if (!way->ah)
		way->ah = ibv_create_ah(d->pd, &attr);
	way->qpn = way->ah ? be32toh(where->qpn) & 0xffffff : 0;
	way->qkey = be32toh(where->qkey) & INT32_MAX;
}

static void answer(struct rsock *rs, const struct sockaddr_storage *to, const struct where *asked)
{
	struct dgram *d = rs->dgram;
	struct where where = { .head = { .magic = htobe32(DGRAM_MAGIC), .kind = ANSWER },
		.token = asked->token,
		.qpn = htobe32(d->qp->qp_num),
		.qkey = htobe32(d->qkey) };

	memcpy(where.gid, d->gid, 16);
	(void)sendto(d->udp_fd, &where, sizeof(where), 0, (const struct sockaddr *)to,
		weft_address_bytes(rs->family));
}

void way_hear(
	struct rsock *rs, const struct sockaddr_storage *from, const void *packet, size_t bytes)
{
	struct where where;

	if (bytes != sizeof(where))
		return;
	memcpy(&where, packet, sizeof(where));
	if (be32toh(where.head.magic) != DGRAM_MAGIC)
		return;
	if (where.head.kind == ASK)
		answer(rs, from, &where);
	else if (where.head.kind == ANSWER)
		answered(rs, from, &where);
}
