/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_port - by which port an endpoint reaches the fabric: a table by name.
 *
 * Who said so, in this order: the program's --via, $WEFT_VIA, $WEFT_SWITCH (there is a switch in
 * this directory: shm), and otherwise sockets.  The rest of live knows ports by their contract and
 * by these three functions only.
 *
 * To add a port: its row here, beside what include/weft/net.h asks for.
 */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_udp(struct weft_live *live, char *error, size_t error_bytes)
{
	if (weft_udp_open(&live->port, &live->udp, error, error_bytes))
		return -1;
	live->n_src_ports = weft_udp_numbers(live->port, &live->udp_port, live->src_port);
	return 0;
}

static const struct live_port_kind kinds[] = {
	{ "udp", open_udp, weft_udp_peer_add, weft_udp_peer_drop },
};

const struct live_port_kind *live_port_find(const char *via, char *error, size_t error_bytes)
{
	char names[128] = "";
	size_t at = 0;

	if (!via)
		via = getenv("WEFT_VIA");
	if (!via || !*via)
		via = "udp";
	for (size_t i = 0; i < WEFT_COUNT(kinds); i++) {
		if (!strcmp(kinds[i].name, via))
			return &kinds[i];
		at += (size_t)snprintf(
			names + at, sizeof(names) - at, "%s%s", i ? ", " : "", kinds[i].name);
	}
	snprintf(error, error_bytes, "no port is called \"%s\"; there are %s", via, names);
	return NULL;
}
