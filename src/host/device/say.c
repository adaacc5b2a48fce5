/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * say - lines on stderr, for what a program would only tell as "it did not work".
 *
 * Programs for cards name a status at best, and nobody can look into a card; here the reason is
 * known.  Each reason is told once per cause, few times per process, and never where $WEFT_LOG is
 * "quiet".  A stderr that nobody empties does not hold up the device: then nothing is said.
 */
#include "device_local.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 400 /* one write of it is not torn apart (PIPE_BUF) */
#define LOST_MAX 8u    /* lines: what ends more than that together has one reason */

void weft_dev_say(const char *format, ...)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	const char *log = getenv("WEFT_LOG");
	char line[LINE_BYTES] = "weft: ";
	va_list args;

	if ((log && !strcmp(log, "quiet")) || poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
		return;
	va_start(args, format);
	(void)vsnprintf(line + 6, sizeof(line) - 7, format, args);
	va_end(args);
	(void)weft_text_clean(line);
	size_t n = strlen(line);

	line[n] = '\n';
	(void)!write(STDERR_FILENO, line, n + 1);
}

/* True the first times. */
static bool is_new(uint32_t *told, uint32_t max)
{
	return __atomic_load_n(told, __ATOMIC_RELAXED) < max &&
	       __atomic_fetch_add(told, 1, __ATOMIC_RELAXED) < max;
}

void say_lost(const struct weft_dev_qp *qp)
{
	static uint32_t told;
	char peer[WEFT_PLANE_TEXT_BYTES];
	uint32_t planes = qp->dev->port->planes;
	uint32_t plane;
	uint16_t udp_port;
	uint8_t addr[16];

	if (qp->is_unfit || !is_new(&told, LOST_MAX))
		return;
	bool has_file = qp->dev->live && weft_live_topo(qp->dev->live);
	bool is_up = has_file || qp->dev->planes_up >> qp->dev->end.home & 1;
	const char *last =
		__atomic_load_n(&told, __ATOMIC_RELAXED) == LOST_MAX ? "; more are not told" : "";
	/* What is known here comes before what may be there. */
	const char *why = qp->dev->planes_up
				  ? "the program there has ended, or UDP is filtered on the way"
				  : "none of this host's planes has a link";

	if (qp->connected && weft_live_peer_at(qp->dev->live, qp->peer, addr, &plane, &udp_port)) {
		weft_plane_text(addr, peer);
		weft_dev_say("%s: queue pair %u: nothing came back from %s (plane %u of %u, UDP "
			     "port %u): %s%s",
			qp->dev->name.name, qp->number, peer, plane, planes, udp_port, why, last);
		return;
	}
	plane = qp->dev->end.home;
	weft_plane_text(qp->attr.gid, peer);
	weft_dev_say("%s: queue pair %u: %s (plane %u of %u%s) does not answer on UDP port %u: "
		     "%s%s%s",
		qp->dev->name.name, qp->number, peer, plane, planes, is_up ? "" : ", down here",
		WEFT_DEV_PORT_BASE + (qp->attr.peer_qpn >> SLOT_BITS), why,
		has_file || !qp->dev->planes_up ? "" : ", or that plane is dead there", last);
}

void say_unfit(struct weft_dev *dev, const struct weft_live_end *peer, const char *why)
{
	static uint32_t told;
	char at[WEFT_PLANE_TEXT_BYTES];

	if (!strcmp(dev->unfit, why) || !is_new(&told, LOST_MAX))
		return;
	(void)snprintf(dev->unfit, sizeof(dev->unfit), "%s", why);
	weft_plane_text(peer->addr[peer->home], at);
	weft_dev_say("%s: no connection to %s: %s", dev->name.name, at, why);
}

void say_too_long(uint64_t bytes)
{
	static uint32_t told;

	if (is_new(&told, 1))
		weft_dev_say("a message of %llu bytes: at most %u are possible, as with cards",
			(unsigned long long)bytes, MESSAGE_MAX);
}

void say_no_stats(const char *path, const char *why)
{
	static uint32_t told;

	if (is_new(&told, 1))
		weft_dev_say("WEFT_STATS: %s: %s: nothing is counted there", path, why);
}
