/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part - shutdown, close, and the end of a process.
 *
 * The kernel sends on what a closed socket or an ended process has written; here nobody is left to
 * do it.  So the end of a stream waits until all of it is in the peer's memory, at most as long
 * as a queue pair tries, or as SO_LINGER says; and a process that ends closes what it has open.
 */
#include "rsocket_local.h"

#include <unistd.h>

#define FLUSH_MS 10000 /* more than any queue pair tries */
#define EXIT_MS 2000   /* all together */
#define DATAGRAMS_MS 1000

static bool is_flushed(struct rsock *rs)
{
	return rs->state == BROKEN || (rs->state != JOINING && !rs->flow.posted && !rs->owed_fin) ||
	       rs->peer_fin & FIN_READ;
}

/* With the lock. */
static void finish(struct rsock *rs, uint8_t fin, int timeout_ms)
{
	if (rs->dgram) /* what has been sent shall leave */
		(void)wait_until(rs, dgram_is_flushed, WEFT_MIN(timeout_ms, DATAGRAMS_MS));
	if (!is_connected(rs) || (rs->own_fin & fin) == fin)
		return;
	rs->own_fin |= fin;
	rs->owed_fin = 1;
	(void)wait_until(rs, is_flushed, timeout_ms);
}

int rshutdown(int socket, int how)
{
	struct rsock *rs = table_enter(socket);

	if (!rs)
		return -1;
	bool was_connected = is_connected(rs) || (rs->state == BROKEN && rs->flow.peer_bytes);
	if (how == SHUT_RD)
		rs->own_fin |= FIN_READ;
	else if (how == SHUT_WR || how == SHUT_RDWR)
		finish(rs, how == SHUT_WR ? FIN_WRITE : FIN_WRITE | FIN_READ, FLUSH_MS);
	int rc = was_connected ? 0 : fail(ENOTCONN);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		rc = fail(EINVAL);
	return (int)table_leave(rs, rc);
}

static int patience_ms(const struct rsock *rs)
{
	if (!rs->linger.l_onoff)
		return FLUSH_MS;
	return rs->linger.l_linger > FLUSH_MS / 1000 ? FLUSH_MS : rs->linger.l_linger * 1000;
}

static void part(struct rsock *rs, int timeout_ms)
{
	uint64_t one = 1;

	weft_lock_take(&rs->lock);
	finish(rs, FIN_WRITE | FIN_READ, timeout_ms);
	rs->closed = true;
	/* Whoever waits at it finds it closed. */
	(void)!write(rs->kick_fd, &one, sizeof(one));
	weft_lock_give(&rs->lock);
}

int rclose(int socket)
{
	struct rsock *rs = table_get(socket);

	if (!rs)
		return epoll_close(socket) || table_take_out(socket) ? 0 : fail(EBADF);
	part(rs, patience_ms(rs));
	(void)table_take_out(socket);
	table_put(rs);
	return 0;
}

__attribute__((destructor)) static void close_all(void)
{
	int64_t until_ms = wait_now_ms() + EXIT_MS;

	for (int fd = table_next(-1); fd >= 0; fd = table_next(fd)) {
		struct rsock *rs = table_get(fd);
		int64_t left_ms = until_ms - wait_now_ms();

		if (!rs)
			continue;
		/* A thread that sits in a call of ours keeps it. */
		if (weft_lock_try(&rs->lock)) {
			finish(rs, FIN_WRITE | FIN_READ, (int)WEFT_MAX(left_ms, 0));
			weft_lock_give(&rs->lock);
		}
		table_put(rs);
	}
}
