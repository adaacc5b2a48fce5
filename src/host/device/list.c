/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list - which devices this host has.
 *
 * Three sources, in the order of how explicit they are: a file of this host ($WEFT_CONFIG), a list
 * of addresses ($WEFT_PLANES), the fabric file with the host's name as `weft lab run` sets them.
 * Where none is set there is no device, which is no error: a program that asks for devices on a
 * host without a NIC gets an empty list, too.
 *
 * The GID of a device is its address on plane 0: unique in the fabric, known to whoever reads the
 * fabric file, and an address that the kernel routes, so that greetings can be sent to it.  Without
 * the file that plane must be up for greetings: device.c takes another one's where it is not.
 */
#include "device_local.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/session.h>
#include <weft/topo.h>

#define LINE_BYTES 2048

static uint64_t fnv(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static void put_guid(struct weft_dev_name *name, const char *host)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, name->gid, gid, sizeof(gid));
	name->guid = fnv(fnv(fnv(UINT64_C(0xcbf29ce484222325), gid), host), name->name);
	/* Locally administered, as an EUI-64 says it. */
	name->guid = (name->guid & ~(UINT64_C(3) << 56)) | UINT64_C(2) << 56;
}

/* words: addresses and interfaces, by commas.  NULL, or the one that is neither. */
static const char *take_planes(struct weft_dev_name *name, char *words)
{
	size_t at = 0;
	uint32_t planes = 0, found = 0;
	const char *missing = NULL;
	char *rest = words, *word;

	while ((word = strsep(&rest, ","))) {
		char text[WEFT_PLANE_TEXT_BYTES];
		uint8_t addr[16];

		bool is_there = weft_plane_address(word, addr);

		if (!is_there && !weft_plane_may_come(word))
			return word;
		if (planes++ == WEFT_PORTS_MAX)
			return "more than 32 planes";
		/* What may come is looked for again when the device is opened, and then on. */
		if (is_there)
			weft_plane_text(addr, text);
		else
			snprintf(text, sizeof(text), "%s", word);
		missing = is_there || missing ? missing : word;
		if (is_there && !found++)
			memcpy(name->gid, addr, 16);
		at += (size_t)snprintf(name->planes + at, sizeof(name->planes) - at, "%s%s",
			at ? "," : "", text);
	}
	return found ? NULL : missing;
}

static int read_line(struct weft_dev_name list[], uint32_t n, char *line, char *error, size_t bytes)
{
	char *rest = line, *word = strsep(&rest, " \t"), *planes = NULL;
	struct weft_dev_name *dev = &list[n];
	const char *wrong;

	while (rest && !planes) {
		planes = strsep(&rest, " \t");
		planes = *planes ? planes : NULL;
	}
	if (!planes || strlen(word) >= sizeof(dev->name)) {
		snprintf(error, bytes, "\"%s\": wanted are a name of up to 31 characters and "
			"addresses or interfaces, separated by commas", word);
		return -1;
	}
	*dev = (struct weft_dev_name){ 0 };
	snprintf(dev->name, sizeof(dev->name), "%s", word);
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, word)) {
			snprintf(error, bytes, "name: \"%s\" is there twice", word);
			return -1;
		}
	wrong = take_planes(dev, planes);
	if (wrong) {
		snprintf(error, bytes, "planes: \"%s\" is neither an address nor an interface "
			"with one", wrong);
		return -1;
	}
	put_guid(dev, "");
	return 0;
}

static int read_config(
	struct weft_dev_name list[WEFT_DEV_MAX], const char *path, char *error, size_t bytes)
{
	FILE *file = fopen(path, "re");
	char line[LINE_BYTES];
	int n = 0, rc = 0;

	if (!file) {
		snprintf(error, bytes, "WEFT_CONFIG: cannot read %s", path);
		return -1;
	}
	for (unsigned number = 1; !rc && fgets(line, sizeof(line), file); number++) {
		char *text = line + strspn(line, " \t"), why[200] = "";

		text[strcspn(text, "#\r\n")] = 0;
		for (size_t end = strlen(text); end && strchr(" \t", text[end - 1]);)
			text[--end] = 0;
		if (!*text)
			continue;
		if (n == WEFT_DEV_MAX) {
			snprintf(why, sizeof(why), "more than %u devices", WEFT_DEV_MAX);
			rc = -1;
		} else {
			rc = read_line(list, (uint32_t)n, text, why, sizeof(why));
		}
		if (rc)
			snprintf(error, bytes, "%s:%u: %s", path, number, why);
		n++;
	}
	fclose(file);
	return rc ? -1 : n;
}

static int read_planes(struct weft_dev_name *dev, const char *planes, char *error, size_t bytes)
{
	char words[LINE_BYTES];
	const char *wrong;

	*dev = (struct weft_dev_name){ .name = "mrc0" };
	snprintf(words, sizeof(words), "%s", planes);
	wrong = take_planes(dev, words);
	if (wrong) {
		snprintf(error, bytes, "WEFT_PLANES: \"%s\" is neither an address nor an interface "
			"with one", wrong);
		return -1;
	}
	put_guid(dev, "");
	return 1;
}

static int read_fabric(struct weft_dev_name *dev, const char *path, char *error, size_t bytes)
{
	const char *host = getenv("WEFT_HOST");
	char room[WEFT_TOPO_NAME_BYTES];
	struct weft_topo *topo;
	uint32_t node;

	if (!host || !*host) {
		snprintf(error, bytes, "which host of %s is this?  Set WEFT_HOST", path);
		return -1;
	}
	if (weft_topo_open(&topo, path, error, bytes))
		return -1;
	*dev = (struct weft_dev_name){ .name = "mrc0" };
	host = weft_live_this_host(topo, room);
	node = weft_topo_node_find(topo, host);
	if (node < weft_topo_shape(topo)->hosts)
		weft_topo_host_addr(topo, node, 0, dev->gid);
	else
		snprintf(error, bytes, "%s: \"%s\" is not a host of this fabric", path, host);
	put_guid(dev, host);
	int rc = node < weft_topo_shape(topo)->hosts ? 1 : -1;

	weft_topo_close(topo);
	return rc;
}

int weft_dev_list(struct weft_dev_name list[WEFT_DEV_MAX], char *error, size_t error_bytes)
{
	const char *config = getenv("WEFT_CONFIG"), *planes = getenv("WEFT_PLANES");
	const char *fabric = getenv("WEFT_FABRIC");

	if (config && *config)
		return read_config(list, config, error, error_bytes);
	if (planes && *planes)
		return read_planes(&list[0], planes, error, error_bytes);
	if (fabric && *fabric)
		return read_fabric(&list[0], fabric, error, error_bytes);
	return 0;
}
