/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet_wire - a greeting as bytes, and the distrust with which it is read.
 *
 *   "WFTd" | version | kind | number | nonce | echo | what the other end must know of us | the QP
 *   | of GROUP and its answer: GID, numbers of processes, queue pairs | of GROUP: zeros
 *
 * Big endian, fixed order.  Whatever is out of range makes the whole datagram nothing: a device
 * has no use for half a greeting.
 */
#include "greetings/greet_local.h"

#include <string.h>

#define MAGIC 0x57465464u
#define VERSION 3u /* 2: HELLO tells of a courier; 3: who asks is challenged */
#define FLAG_TRIM 1u
#define FLAG_DYNAMIC 2u

struct writer {
	uint8_t *at;
};

struct reader {
	const uint8_t *at, *end;
	bool failed;
};

static void put(struct writer *w, uint64_t value, unsigned bytes)
{
	while (bytes--)
		*w->at++ = (uint8_t)(value >> (8 * bytes));
}

static uint64_t get(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < bytes) {
		r->failed = true;
		return 0;
	}
	while (bytes--)
		value = value << 8 | *r->at++;
	return value;
}

static void put_bytes(struct writer *w, const void *from, size_t n)
{
	memcpy(w->at, from, n);
	w->at += n;
}

static void get_bytes(struct reader *r, void *to, size_t n)
{
	if ((size_t)(r->end - r->at) < n) {
		r->failed = true;
		return;
	}
	memcpy(to, r->at, n);
	r->at += n;
}

static void put_qp(struct writer *w, const struct greet_qp *qp)
{
	put(w, qp->qpn, 4);
	put(w, qp->peer_qpn, 4);
	put(w, qp->eq_number, 4);
	put(w, qp->psn, 4);
	put(w, qp->mpr_psns, 4);
	put(w, qp->wimm, 4);
	put(w, qp->rd_atomic, 4);
	put(w, qp->profile, 1);
	put(w, (qp->trim_nack ? FLAG_TRIM : 0) | (qp->dynamic_mpr ? FLAG_DYNAMIC : 0), 1);
}

static void put_group(struct writer *w, const struct greet_group *group)
{
	put_bytes(w, group->gid, sizeof(group->gid));
	put_bytes(w, group->numbers, sizeof(group->numbers));
	put(w, group->n, 1);
	for (uint32_t i = 0; i < group->n; i++)
		put(w, group->qpn[i], 4);
}

static void get_group(struct reader *r, struct greet_group *group)
{
	get_bytes(r, group->gid, sizeof(group->gid));
	get_bytes(r, group->numbers, sizeof(group->numbers));
	group->n = (uint32_t)get(r, 1);
	if (group->n > GREET_MEMBERS_MAX || !group_is(group->gid)) {
		r->failed = true;
		return;
	}
	for (uint32_t i = 0; i < group->n; i++) {
		group->qpn[i] = (uint32_t)get(r, 4);
		if (!group->qpn[i] || group->qpn[i] >= GROUP_QPN)
			r->failed = true;
	}
}

/* A question has room for the longest answer, so that no answer is longer than its question. */
static uint32_t padding(const struct greet *greet)
{
	return greet->kind == GREET_GROUP ? 4 * (GREET_MEMBERS_MAX - greet->group.n) : 0;
}

static bool has_group(const struct greet *greet)
{
	return greet->kind == GREET_GROUP || greet->kind == GREET_GROUP_ANSWER;
}

static void get_qp(struct reader *r, struct greet_qp *qp)
{
	uint64_t flags;

	qp->qpn = (uint32_t)get(r, 4);
	qp->peer_qpn = (uint32_t)get(r, 4);
	qp->eq_number = (uint32_t)get(r, 4);
	qp->psn = (uint32_t)get(r, 4);
	qp->mpr_psns = (uint32_t)get(r, 4);
	qp->wimm = (uint32_t)get(r, 4);
	qp->rd_atomic = (uint32_t)get(r, 4);
	qp->profile = (uint8_t)get(r, 1);
	flags = get(r, 1);
	qp->trim_nack = flags & FLAG_TRIM;
	qp->dynamic_mpr = flags & FLAG_DYNAMIC;
	if (qp->qpn > WEFT_PSN_MASK || qp->peer_qpn > WEFT_PSN_MASK ||
		qp->eq_number > WEFT_PSN_MASK || qp->psn > WEFT_PSN_MASK ||
		qp->mpr_psns < WEFT_MPR_UNIT_PSNS || qp->mpr_psns > WEFT_MPR_MAX_PSNS ||
		qp->mpr_psns % WEFT_MPR_UNIT_PSNS || qp->wimm > UINT16_MAX || qp->rd_atomic > 255 ||
		qp->profile > WEFT_DEV_XRC_RECV)
		r->failed = true;
}

size_t greet_encode(const struct greet *greet, uint8_t bytes[GREET_BYTES_MAX])
{
	const struct weft_live_end *end = &greet->end;
	struct writer w = { bytes };

	put(&w, MAGIC, 4);
	put(&w, VERSION, 1);
	put(&w, greet->kind, 1);
	put(&w, greet->number, 2);
	put(&w, greet->nonce, 8);
	put(&w, greet->echo, 8);
	put(&w, end->format, 1);
	put(&w, end->planes, 1);
	put(&w, end->n_src_ports, 1);
	put(&w, (uint64_t)end->home << 1 | end->trim_nack, 1);
	put(&w, end->mtu_bytes, 4);
	put(&w, end->rate_bps, 8);
	put(&w, end->udp_port, 2);
	put_bytes(&w, end->host, sizeof(end->host));
	put_bytes(&w, end->fabric, sizeof(end->fabric));
	for (uint32_t i = 0; i < end->n_src_ports; i++)
		put(&w, end->src_port[i], 2);
	for (uint32_t i = 0; i < end->planes; i++)
		put_bytes(&w, end->addr[i], 16);
	put_qp(&w, &greet->qp);
	if (has_group(greet)) {
		put_group(&w, &greet->group);
		memset(w.at, 0, padding(greet));
		w.at += padding(greet);
	}
	return (size_t)(w.at - bytes);
}

static void get_end(struct reader *r, struct weft_live_end *end)
{
	end->format = (uint32_t)get(r, 1);
	end->planes = (uint32_t)get(r, 1);
	end->n_src_ports = (uint32_t)get(r, 1);
	end->home = (uint32_t)get(r, 1);
	end->trim_nack = end->home & 1;
	end->home >>= 1;
	end->mtu_bytes = (uint32_t)get(r, 4);
	end->rate_bps = get(r, 8);
	end->udp_port = (uint16_t)get(r, 2);
	get_bytes(r, end->host, sizeof(end->host));
	get_bytes(r, end->fabric, sizeof(end->fabric));
	if (!end->planes || end->planes > WEFT_PORTS_MAX || end->home >= end->planes ||
		!end->n_src_ports || end->n_src_ports > WEFT_UDP_SRC_PORTS_MAX ||
		end->format > WEFT_UDP_PLAIN || !end->udp_port || !end->rate_bps ||
		!memchr(end->host, 0, sizeof(end->host)) ||
		!memchr(end->fabric, 0, sizeof(end->fabric))) {
		r->failed = true;
		return;
	}
	for (uint32_t i = 0; i < end->n_src_ports; i++)
		end->src_port[i] = (uint16_t)get(r, 2);
	for (uint32_t i = 0; i < end->planes; i++)
		get_bytes(r, end->addr[i], 16);
	if (!end->src_port[0])
		r->failed = true;
}

bool greet_decode(const uint8_t *bytes, size_t n, struct greet *greet)
{
	struct reader r = { bytes, bytes + n, false };

	*greet = (struct greet){ 0 };
	if (get(&r, 4) != MAGIC || get(&r, 1) != VERSION)
		return false;
	greet->kind = (uint8_t)get(&r, 1);
	greet->number = (uint32_t)get(&r, 2);
	greet->nonce = get(&r, 8);
	greet->echo = get(&r, 8);
	if (greet->kind < GREET_HELLO || greet->kind >= GREET_KINDS || greet->number >= NUMBERS)
		return false;
	get_end(&r, &greet->end);
	if (!r.failed)
		get_qp(&r, &greet->qp);
	if (!r.failed && has_group(greet))
		get_group(&r, &greet->group);
	return !r.failed && (size_t)(r.end - r.at) == padding(greet);
}
