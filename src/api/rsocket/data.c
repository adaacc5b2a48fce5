/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data - the stream: everything that reads and writes.
 *
 * Both directions copy, through the rings; so a program may reuse its memory at once, as sockets
 * promise.  All calls are two: a vector of pieces written, a vector of pieces read.
 */
#include "rsocket_local.h"

#include <limits.h>
#include <string.h>

#define READ_EACH (1u << 16) /* then the peer is told of the room */

static size_t total(const struct iovec *iov, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

static bool must_not_wait(const struct rsock *rs, int flags)
{
	return rs->nonblocking || flags & MSG_DONTWAIT;
}

/* ---- writing ---- */

static int why_not_write(const struct rsock *rs)
{
	if (rs->own_fin & FIN_WRITE || rs->peer_fin & FIN_READ)
		return EPIPE;
	if (rs->state == BROKEN)
		return rs->error ? rs->error : EPIPE;
	if (rs->state == CONNECTING)
		return EAGAIN;
	return is_connected(rs) ? 0 : ENOTCONN;
}

static bool can_write(struct rsock *rs)
{
	uint32_t out, at;

	return is_write_over(rs) || (rs->state == JOINED && flow_can_send(&rs->flow, 1, &out, &at));
}

/* One piece, or what there is room for.  0, or why it went no further. */
static int write_piece(struct rsock *rs, const struct iovec *piece, int flags, size_t *written)
{
	const char *from = piece->iov_base;
	size_t left = piece->iov_len;

	while (left) {
		int error = why_not_write(rs);

		if (error)
			return error;
		int n = rs->state != JOINED
				? 0
				: link_send(rs, from, (uint32_t)WEFT_MIN(left, INT_MAX));
		from += n;
		left -= (size_t)n;
		*written += (size_t)n;
		if (n)
			continue;
		error = wait_until(rs, can_write, must_not_wait(rs, flags) ? 0 : -1);
		if (error)
			return error;
	}
	return 0;
}

static ssize_t write_all(struct rsock *rs, const struct iovec *iov, int n, int flags)
{
	size_t written = 0;
	int error = 0;

	if (!total(iov, n))
		error = why_not_write(rs);
	for (int i = 0; i < n && !error; i++)
		error = write_piece(rs, &iov[i], flags, &written);
	if (error && !written && rs->error == error)
		rs->error = 0;
	return error && !written ? fail(error) : (ssize_t)written;
}

static ssize_t send_all(int socket, const struct iovec *iov, int n, int flags,
	const struct sockaddr *to, socklen_t to_bytes)
{
	struct rsock *rs = table_enter(socket);
	ssize_t rc;

	if (!rs)
		return -1;
	if (n < 0 || n > IOV_MAX)
		rc = fail(EINVAL);
	else if (flags & MSG_OOB)
		rc = fail(EOPNOTSUPP);
	else if (rs->dgram)
		rc = dgram_send(rs, iov, n, flags, to, to_bytes);
	else /* connected: nobody looks at where to */
		rc = write_all(rs, iov, n, flags);
	return table_leave(rs, rc);
}

ssize_t rsendto(int socket, const void *data, size_t bytes, int flags, const struct sockaddr *to,
	socklen_t to_bytes)
{
	struct iovec iov = { (void *)(uintptr_t)data, bytes };

	return send_all(socket, &iov, 1, flags, to, to_bytes);
}

ssize_t rsend(int socket, const void *data, size_t bytes, int flags)
{
	return rsendto(socket, data, bytes, flags, NULL, 0);
}

ssize_t rwrite(int socket, const void *data, size_t bytes)
{
	return rsendto(socket, data, bytes, 0, NULL, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int n)
{
	return send_all(socket, iov, n, 0, NULL, 0);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_controllen)
		return fail(EOPNOTSUPP);
	return send_all(socket, msg->msg_iov, (int)WEFT_MIN(msg->msg_iovlen, (size_t)INT_MAX),
		flags, msg->msg_name, msg->msg_namelen);
}

/* ---- reading ---- */

static bool is_at_end(const struct rsock *rs)
{
	return rs->peer_fin & FIN_WRITE || rs->own_fin & FIN_READ;
}

static bool can_read(struct rsock *rs)
{
	return flow_readable(&rs->flow) || is_at_end(rs) || rs->state == BROKEN;
}

/* What is there, as far as the pieces go; `flags` may say that it stays there. */
static size_t read_what_is_there(struct rsock *rs, const struct iovec *iov, int n, int flags)
{
	bool peeks = flags & MSG_PEEK;
	size_t done = 0;
	uint32_t at;

	for (int i = 0; i < n; i++) {
		size_t filled = 0;

		while (filled < iov[i].iov_len) {
			uint32_t want =
				(uint32_t)WEFT_MIN(iov[i].iov_len - filled, (size_t)READ_EACH);
			uint32_t skip = peeks ? (uint32_t)done : 0;
			uint32_t got = flow_can_read(&rs->flow, want, skip, &at);

			if (!got)
				return done;
			if (!(flags & MSG_TRUNC))
				link_take(rs, (char *)iov[i].iov_base + filled, got, skip);
			filled += got;
			done += got;
			if (peeks)
				continue;
			rs->flow.consumed += got;
			link_settle(rs);
		}
	}
	return done;
}

static int why_not_read(struct rsock *rs)
{
	if (rs->state == OPEN || rs->state == BOUND || rs->state == LISTENING)
		return ENOTCONN;
	if (rs->state != BROKEN || is_at_end(rs))
		return 0;
	if (!rs->broken_by)
		return 0;
	/* As with TCP, told once; then the stream has just ended. */
	int error = rs->broken_by;
	rs->error = rs->broken_by = 0;
	return error;
}

static ssize_t read_all(struct rsock *rs, const struct iovec *iov, int n, int flags)
{
	size_t want = total(iov, n), done = 0;
	struct iovec rest = n == 1 ? iov[0] : (struct iovec){ 0 };
	int error = 0;

	if (rs->state == CONNECTING && must_not_wait(rs, flags))
		wait_progress(rs);
	while (!error && done < want) {
		size_t got = n == 1 ? read_what_is_there(rs, &rest, 1, flags)
				    : read_what_is_there(rs, iov, n, flags);

		done += got;
		rest.iov_base = (char *)rest.iov_base + got;
		rest.iov_len -= n == 1 ? got : 0;
		if (done && (n != 1 || done == want || flags & MSG_PEEK || !(flags & MSG_WAITALL)))
			break;
		if (is_at_end(rs) && !flow_readable(&rs->flow))
			break;
		error = flow_readable(&rs->flow) ? 0 : why_not_read(rs);
		if (error || (rs->state == BROKEN && !flow_readable(&rs->flow)))
			break;
		if (!flow_readable(&rs->flow))
			error = wait_until(rs, can_read, must_not_wait(rs, flags) ? 0 : -1);
	}
	return error && !done ? fail(error) : (ssize_t)done;
}

/* *from: a stream's bytes have no names.  *is_cut: a datagram was longer than the room for it. */
static ssize_t receive(int socket, const struct iovec *iov, int n, int flags,
	struct sockaddr_storage *from, bool *is_cut)
{
	struct rsock *rs = table_enter(socket);
	ssize_t rc;

	if (!rs)
		return -1;
	*from = (struct sockaddr_storage){ 0 };
	*is_cut = false;
	if (n < 0 || n > IOV_MAX || flags & MSG_OOB)
		rc = fail(EINVAL);
	else if (rs->dgram)
		rc = dgram_receive(rs, iov, n, flags, from);
	else
		rc = read_all(rs, iov, n, flags);
	if (rs->dgram && rc > 0 && (size_t)rc > total(iov, n)) {
		*is_cut = true;
		rc = flags & MSG_TRUNC ? rc : (ssize_t)total(iov, n);
	}
	return table_leave(rs, rc);
}

/* How long it is; as much of it as there is room for. */
static socklen_t give_name(const struct sockaddr_storage *name, void *to, socklen_t room)
{
	socklen_t bytes = name->ss_family ? weft_address_bytes(name->ss_family) : 0;

	memcpy(to, name, WEFT_MIN(bytes, room));
	return bytes;
}

ssize_t rrecvfrom(
	int socket, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *from_bytes)
{
	struct iovec iov = { to, bytes };
	struct sockaddr_storage name;
	bool is_cut;
	ssize_t n = receive(socket, &iov, 1, flags, &name, &is_cut);

	if (n >= 0 && from && from_bytes)
		*from_bytes = give_name(&name, from, *from_bytes);
	return n;
}

ssize_t rrecv(int socket, void *to, size_t bytes, int flags)
{
	return rrecvfrom(socket, to, bytes, flags, NULL, NULL);
}

ssize_t rread(int socket, void *to, size_t bytes)
{
	return rrecvfrom(socket, to, bytes, 0, NULL, NULL);
}

ssize_t rreadv(int socket, const struct iovec *iov, int n)
{
	struct sockaddr_storage name;
	bool is_cut;

	return receive(socket, iov, n, 0, &name, &is_cut);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	struct sockaddr_storage name;
	bool is_cut;
	ssize_t n = receive(socket, msg->msg_iov, (int)WEFT_MIN(msg->msg_iovlen, (size_t)INT_MAX),
		flags, &name, &is_cut);

	if (n < 0)
		return n;
	msg->msg_flags = is_cut ? MSG_TRUNC : 0;
	msg->msg_controllen = 0;
	msg->msg_namelen = msg->msg_name ? give_name(&name, msg->msg_name, msg->msg_namelen) : 0;
	return n;
}
