/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * front - the network beside the fabric: plain Ethernet on which programs find each other.
 *
 *   h0: front0 ===veth=== h0 \
 *   h1: front0 ===veth=== h1  >  bridge "front", in a namespace that only the keeper holds
 *   h2: front0 ===veth=== h2 /
 *
 * Training clusters have one: job launchers, MPI's TCP and every RDMA program that says its queue
 * pair's number to its peer use it, and it is never what is measured or broken here.  So it has
 * IPv4 only, takes no part in faults, and is not shaped; its offloads stay on.
 *
 * Names are a file per lab, bound over /etc/hosts in a mount namespace of the program's own: no
 * resolver is needed, and nothing outside sees it.
 */
#include "lab_local.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define HOST_IFINDEX 90 /* even: the lower end, see world.c */
#define BRIDGE_IFINDEX 2
#define PORT_IFINDEX 101
#define PREFIX_BITS 16
#define MTU_BYTES 1500

/* 10.0.0.1 is h0's; from the 256th on they go on with 10.0.1.0. */
static void address_of(uint32_t host, uint8_t address[4])
{
	uint32_t n = host + 1;

	address[0] = 10;
	address[1] = 0;
	address[2] = (uint8_t)(n >> 8);
	address[3] = (uint8_t)n;
}

static void text_of(uint32_t host, char text[16])
{
	uint8_t a[4];

	address_of(host, a);
	(void)snprintf(text, 16, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
}

static bool make_cables(struct world *world)
{
	uint32_t hosts = weft_topo_shape(world->topo)->hosts;
	struct batch batch;

	batch_begin(&batch, &world->front.netlink);
	request_bridge(&batch, BRIDGE_IFINDEX, "front");
	for (uint32_t i = 0; i < hosts; i++) {
		uint8_t low = (uint8_t)i, high = (uint8_t)(i >> 8);
		char name[16];
		const struct veth_end ends[2] = {
			{ world->nodes[i].ns_fd, HOST_IFINDEX, "front0",
				{ 0x02, 0x66, 0, high, low, 0 } },
			{ world->front.ns_fd, PORT_IFINDEX + 2 * (int)i, name,
				{ 0x02, 0x66, 0, high, low, 1 } },
		};

		(void)snprintf(name, sizeof(name), "h%u", (uint16_t)i);
		request_veth(&batch, ends, MTU_BYTES);
		request_master(&batch, ends[1].ifindex, BRIDGE_IFINDEX);
		request_link_state(&batch, ends[1].ifindex, true);
	}
	return batch_end(&batch) || world_fail(world, "front network: %s", batch.text);
}

bool front_open(struct world *world)
{
	uint32_t hosts = weft_topo_shape(world->topo)->hosts;

	if (!node_open(world, &world->front))
		return false;
	/* Frames pass; the kernel there has nothing to say. */
	(void)world_sysctl("ipv6/conf/all/disable_ipv6", "1");
	(void)world_sysctl("ipv6/conf/default/disable_ipv6", "1");
	if (!make_cables(world))
		return false;
	for (uint32_t i = 0; i < hosts; i++) {
		struct batch batch;
		uint8_t address[4];

		address_of(i, address);
		batch_begin(&batch, &world->nodes[i].netlink);
		request_address4(&batch, HOST_IFINDEX, address, PREFIX_BITS);
		if (!batch_end(&batch))
			return world_fail(world, "front network: %s", batch.text);
	}
	return true;
}

/* ---- names ---- */

bool front_write_names(const char *lab, const struct weft_topo *topo)
{
	char path[STATE_PATH_BYTES], name[WEFT_TOPO_NAME_BYTES], text[16];
	FILE *out = state_path(path, lab, "hosts") ? fopen(path, "we") : NULL;
	bool ok = out && fputs("127.0.0.1 localhost\n::1 localhost\n", out) >= 0;

	for (uint32_t i = 0; ok && i < weft_topo_shape(topo)->hosts; i++) {
		weft_topo_node_name(topo, i, name, sizeof(name));
		text_of(i, text);
		ok = fprintf(out, "%s %s\n", text, name) > 0;
	}
	return out && !fclose(out) && ok;
}

bool front_export(const struct weft_topo *topo, uint32_t node)
{
	char text[16];

	if (node >= weft_topo_shape(topo)->hosts)
		return !unsetenv("WEFT_IPV4");
	text_of(node, text);
	return !setenv("WEFT_IPV4", text, 1);
}

int front_use_names(const char *lab, const char *node, char *error, size_t error_bytes)
{
	char path[STATE_PATH_BYTES];

	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) || sethostname(node, strlen(node)) ||
		mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
		!state_path(path, lab, "hosts") ||
		mount(path, "/etc/hosts", NULL, MS_BIND, NULL)) {
		(void)snprintf(error, error_bytes, "names of hosts: %s", strerror(errno));
		return -1;
	}
	return 0;
}
