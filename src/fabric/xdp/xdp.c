/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdp - the program into the kernel [M 3.5], in front of interfaces, and out again.
 *
 * Everything hangs on descriptors of this process, the attachments too (links, not netlink's
 * IFLA_XDP): a program that outlives its owner goes on eating frames by tables that nobody keeps.
 *
 * The driver's mode is asked for and nothing else: the kernel's generic mode works everywhere, but
 * behind a copy into one piece, and without many of the savings that this room exists for.
 */
#include "xdp_local.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fail(char *error, size_t error_bytes, const char *what, int code)
{
	bool is_rights = code == EPERM || code == EACCES;
	const char *hint = is_rights ? " (needs CAP_BPF, as root has it)" : "";

	(void)snprintf(error, error_bytes, "xdp: cannot %s: %s%s", what, strerror(code), hint);
	return -1;
}

static bool is_possible(const struct weft_xdp_config *c)
{
	return c->ports && c->ports <= WEFT_XDP_PORTS_MAX && c->sids && c->sids < XDP_SIDS &&
	       c->prefixes <= 65536 && c->mtu_bytes >= 1280 &&
	       c->mtu_bytes <= UINT16_MAX - WEFT_FRAME_ETHER_BYTES;
}

static uint8_t class_of(const struct weft_dscp *dscp, uint8_t codepoint)
{
	/* The order of src/fabric/switch/bytes.c, for code points that mean two things. */
	if (codepoint == dscp->data || codepoint == dscp->rtx)
		return XDP_CLASS_TRIMMABLE;
	if (codepoint == dscp->control || codepoint == dscp->trimmed ||
		codepoint == dscp->trimmed_lasthop)
		return XDP_CLASS_CONTROL;
	return 0;
}

static struct bpf_map *map_of(struct weft_xdp *xdp, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(xdp->object, name);

	WEFT_ASSERT(map);
	return map;
}

static int set_up_maps(struct weft_xdp *xdp)
{
	const struct weft_xdp_config *c = &xdp->config;
	struct xdp_const constants = { .block_be = __builtin_bswap32(c->block),
		.mtu_bytes = c->mtu_bytes,
		.seed = c->seed,
		.is_test_clock = c->has_test_clock };

	for (unsigned i = 0; i < WEFT_COUNT(constants.classes); i++)
		constants.classes[i] = class_of(&c->dscp, (uint8_t)i);
	int code = bpf_map__set_initial_value(
		map_of(xdp, ".rodata.config"), &constants, sizeof(constants));

	if (!code)
		code = bpf_map__set_max_entries(map_of(xdp, "counters"), c->ports);
	if (!code && c->hook == WEFT_XDP_AT_DRIVER)
		code = bpf_map__set_max_entries(map_of(xdp, "devices"), c->ports);
	if (!code)
		code = bpf_map__set_max_entries(map_of(xdp, "sid_pkts"), c->sids);
	if (!code)
		code = bpf_map__set_max_entries(map_of(xdp, "prefixes"), WEFT_MAX(c->prefixes, 1u));
	return code;
}

static int load(struct weft_xdp *xdp)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "weft");

	if (xdp->config.hook == WEFT_XDP_AT_DRIVER)
		xdp->object =
			bpf_object__open_mem(switch_xdp_bpf_o, switch_xdp_bpf_o_bytes, &options);
	else
		xdp->object =
			bpf_object__open_mem(switch_tc_bpf_o, switch_tc_bpf_o_bytes, &options);
	if (!xdp->object)
		return -errno;
	int code = set_up_maps(xdp);

	if (!code)
		code = bpf_object__load(xdp->object);
	if (code)
		return code;
	xdp->program_fd =
		bpf_program__fd(bpf_object__find_program_by_name(xdp->object, "weft_switch"));
	if (xdp->config.hook == WEFT_XDP_AT_DRIVER)
		xdp->devices_fd = bpf_map__fd(map_of(xdp, "devices"));
	xdp->counters_fd = bpf_map__fd(map_of(xdp, "counters"));
	xdp->drops_fd = bpf_map__fd(map_of(xdp, "drops"));
	xdp->sid_pkts_fd = bpf_map__fd(map_of(xdp, "sid_pkts"));
	xdp->prefixes_fd = bpf_map__fd(map_of(xdp, "prefixes"));
	void *state = mmap(NULL, sizeof(struct xdp_state), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(map_of(xdp, ".bss")), 0);

	if (state == MAP_FAILED)
		return -errno;
	xdp->state = state;
	return 0;
}

static bool allocate(struct weft_xdp *xdp)
{
	const struct weft_xdp_config *c = &xdp->config;

	xdp->link_fds = calloc(c->ports, sizeof(*xdp->link_fds));
	for (uint32_t i = 0; xdp->link_fds && i < c->ports; i++)
		xdp->link_fds[i] = -1;
	xdp->sids = calloc(c->sids, sizeof(*xdp->sids));
	xdp->rates_bps = calloc(c->ports, sizeof(*xdp->rates_bps));
	xdp->profiles = calloc(c->ports, sizeof(*xdp->profiles));
	xdp->is_set = calloc(c->ports, sizeof(*xdp->is_set));
	xdp->prefix_keys = calloc(WEFT_MAX(c->prefixes, 1u), sizeof(*xdp->prefix_keys));
	return xdp->link_fds && xdp->sids && xdp->rates_bps && xdp->profiles && xdp->is_set &&
	       xdp->prefix_keys;
}

int weft_xdp_open(struct weft_xdp **out, const struct weft_xdp_config *config, char *error,
	size_t error_bytes)
{
	if (!is_possible(config))
		return fail(error, error_bytes, "open a switch of this size", EINVAL);
	struct weft_xdp *xdp = calloc(1, sizeof(*xdp));

	if (!xdp)
		return fail(error, error_bytes, "open", ENOMEM);
	xdp->config = *config;
	xdp->cpus = (uint32_t)libbpf_num_possible_cpus();
	int code = allocate(xdp) ? 0 : -ENOMEM;

	if (!code) {
		libbpf_print_fn_t before = libbpf_set_print(NULL);

		code = load(xdp);
		libbpf_set_print(before);
	}
	if (code) {
		weft_xdp_close(xdp);
		return fail(error, error_bytes, "load the program", -code);
	}
	*out = xdp;
	return 0;
}

void weft_xdp_close(struct weft_xdp *xdp)
{
	if (!xdp)
		return;
	for (uint32_t i = 0; xdp->link_fds && i < xdp->config.ports; i++) {
		if (xdp->link_fds[i] >= 0)
			(void)close(xdp->link_fds[i]);
	}
	if (xdp->state)
		(void)munmap(xdp->state, sizeof(*xdp->state));
	bpf_object__close(xdp->object);
	free(xdp->link_fds);
	free(xdp->sids);
	free(xdp->rates_bps);
	free(xdp->profiles);
	free(xdp->is_set);
	free(xdp->prefix_keys);
	free(xdp);
}

int weft_xdp_program(const struct weft_xdp *xdp)
{
	return xdp->program_fd;
}

void weft_xdp_test_clock(struct weft_xdp *xdp, uint64_t now_ns)
{
	WEFT_ASSERT(xdp->config.has_test_clock);
	xdp->state->test_now_ns = now_ns;
}
