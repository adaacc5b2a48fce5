/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map - riomap(): own memory that the peer may write at an offset, and riowrite(), which does.
 *
 * Each end keeps a table of the other's mappings in its registered memory; the other writes the row
 * that has changed into it, by a write with immediate.  So a row is there before any data that was
 * sent later, which is what the interface promises.  riowrite() copies through the send ring: a
 * program may reuse its memory at once, as it may after rsend().
 *
 * Who has mapped memory looks at a byte of it, often at the last one (riostream does), and takes
 * what was written before for granted.  MRC places packets as they come.  So what riowrite() ends
 * with, a packet at most, leaves when all before it has been acknowledged, and so does the next
 * riowrite(): a round trip each, the price of an order that the wire does not have.
 */
#include "rsocket_local.h"

#include <endian.h>
#include <string.h>

#define PACKET_BYTES 64u /* one packet on any path */

static bool can_note(struct rsock *rs)
{
	return rs->state == BROKEN || (rs->state == JOINED && flow_can_note(&rs->flow));
}

/* With the lock. */
static int tell_row(struct rsock *rs, uint32_t row)
{
	for (;;) {
		int error = wait_until(rs, can_note, -1);

		if (error)
			return fail(error);
		if (rs->state == BROKEN)
			return fail(EPIPE);
		if (link_tell_row(rs, row))
			return 0;
	}
}

static bool overlaps(const struct map_row *row, uint64_t offset, uint64_t bytes)
{
	uint64_t from = be64toh(row->offset), length = be64toh(row->bytes);

	return length && offset < from + length && from < offset + bytes;
}

/* A free row for these; -1: none, or they lie over another. */
static int find_row(struct rsock *rs, uint64_t offset, uint64_t bytes)
{
	const struct map_row *rows = link_rows(rs, true);
	int found = -1;

	for (int i = 0; i < WEFT_RSOCK_MAPS; i++) {
		if (overlaps(&rows[i], offset, bytes))
			return fail(EINVAL);
		if (!rows[i].bytes && found < 0)
			found = i;
	}
	return found < 0 ? fail(ENOBUFS) : found;
}

/* Behind all there are. */
static uint64_t choose_offset(struct rsock *rs)
{
	const struct map_row *rows = link_rows(rs, true);
	uint64_t end = 0;

	for (int i = 0; i < WEFT_RSOCK_MAPS; i++) {
		if (rows[i].bytes)
			end = WEFT_MAX(end, be64toh(rows[i].offset) + be64toh(rows[i].bytes));
	}
	return end;
}

static off_t map(struct rsock *rs, void *at, size_t bytes, bool for_peer, off_t asked)
{
	uint64_t offset = asked == -1 ? choose_offset(rs) : (uint64_t)asked;
	int i = find_row(rs, offset, bytes);

	if (i < 0)
		return -1;
	struct ibv_mr *mr = for_peer ? ibv_reg_mr(rs->id->pd, at, bytes,
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
				     : ibv_reg_mr(rs->id->pd, at, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return -1;
	rs->maps[i] = (struct mapping){ at, bytes, mr };
	link_rows(rs, true)[i] = (struct map_row){ .offset = htobe64(offset),
		.address = htobe64((uintptr_t)at),
		.bytes = htobe64(bytes),
		.rkey = htobe32(mr->rkey) };
	/* Memory for ourselves alone is nobody's business; its row only keeps the offset. */
	if (for_peer && tell_row(rs, (uint32_t)i))
		return -1;
	return (off_t)offset;
}

off_t riomap(int socket, void *at, size_t bytes, int prot, int flags, off_t offset)
{
	struct rsock *rs = table_enter(socket);
	off_t rc;

	if (!rs)
		return -1;
	if (!at || !bytes || flags || prot & ~(PROT_WRITE) || offset < -1)
		rc = fail(EINVAL);
	else if (!is_connected(rs))
		rc = fail(ENOTCONN);
	else
		rc = map(rs, at, bytes, prot & PROT_WRITE, offset);
	return table_leave(rs, rc);
}

static int unmap(struct rsock *rs, const void *at, size_t bytes)
{
	for (uint32_t i = 0; i < WEFT_RSOCK_MAPS; i++) {
		struct mapping *m = &rs->maps[i];

		if (!m->mr || m->at != at || m->bytes != bytes)
			continue;
		int error = ibv_dereg_mr(m->mr);
		if (error)
			return fail(error);
		*m = (struct mapping){ 0 };
		link_rows(rs, true)[i].bytes = 0;
		return is_connected(rs) ? tell_row(rs, i) : 0;
	}
	return fail(EINVAL);
}

int riounmap(int socket, void *at, size_t bytes)
{
	struct rsock *rs = table_enter(socket);

	if (!rs)
		return -1;
	return (int)table_leave(rs, rs->memory ? unmap(rs, at, bytes) : fail(ENOTCONN));
}

/* The peer's mapping at an offset: how many bytes from there on.  0: none. */
static uint64_t look_up(struct rsock *rs, uint64_t offset, uint64_t *address, uint32_t *rkey)
{
	const struct map_row *rows = link_rows(rs, false);

	for (int i = 0; i < WEFT_RSOCK_MAPS; i++) {
		struct map_row row = rows[i];
		uint64_t from = be64toh(row.offset), bytes = be64toh(row.bytes);

		if (offset < from || offset - from >= bytes)
			continue;
		*address = be64toh(row.address) + (offset - from);
		*rkey = be32toh(row.rkey);
		return bytes - (offset - from);
	}
	return 0;
}

static bool can_stage(struct rsock *rs)
{
	uint32_t out;

	return is_write_over(rs) ||
	       (rs->state == JOINED && flow_can_stage(&rs->flow, 1, &out));
}

static bool can_follow(struct rsock *rs)
{
	return can_stage(rs) && (rs->state != JOINED || !rs->flow.posted);
}

static ssize_t write_mapped(
	struct rsock *rs, const char *from, size_t bytes, uint64_t offset, int flags)
{
	bool waits = !rs->nonblocking && !(flags & MSG_DONTWAIT);
	size_t done = 0, body = bytes > PACKET_BYTES ? bytes - PACKET_BYTES : 0;

	while (done < bytes) {
		bool follows = !done || done >= body;
		int error = wait_until(rs, follows ? can_follow : can_stage, waits ? -1 : 0);
		uint64_t address;
		uint32_t rkey;

		if (!error && is_write_over(rs))
			error = EPIPE;
		if (error)
			return done ? (ssize_t)done : fail(error);
		uint64_t room = look_up(rs, offset + done, &address, &rkey);
		if (!room)
			return done ? (ssize_t)done : fail(EINVAL);
		size_t left = (done < body ? body : bytes) - done;
		uint32_t n = (uint32_t)WEFT_MIN(WEFT_MIN(room, left), (uint64_t)CHUNK_MAX);
		done += (size_t)link_write(rs, from + done, n, address, rkey);
	}
	return (ssize_t)done;
}

size_t riowrite(int socket, const void *data, size_t bytes, off_t offset, int flags)
{
	struct rsock *rs = table_enter(socket);
	ssize_t rc;

	if (!rs)
		return (size_t)-1;
	if (!is_connected(rs))
		rc = fail(rs->state == BROKEN ? EPIPE : ENOTCONN);
	else
		rc = write_mapped(rs, data, bytes, (uint64_t)offset, flags);
	return (size_t)table_leave(rs, rc);
}
