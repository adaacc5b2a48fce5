/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOCAL_H
#define LOCAL_H
#include "shared.h"

#include <weft/base.h>
#include <weft/xdp.h>

#include <bpf/libbpf.h>

#pragma GCC visibility push(hidden)

/* Embedded by the build. */
extern const unsigned char switch_tc_bpf_o[], switch_xdp_bpf_o[];
extern const unsigned switch_tc_bpf_o_bytes, switch_xdp_bpf_o_bytes;

struct weft_xdp {
	struct weft_xdp_config config;
	struct bpf_object *object;
	int program_fd;
	struct xdp_state *state; /* shared with the program */
	int devices_fd;          /* AT_DRIVER */
	int counters_fd, drops_fd, sid_pkts_fd, prefixes_fd;
	uint32_t cpus;       /* that may ever be there */
	int *link_fds;       /* of each port's attachment; -1: none */
	uint64_t *rates_bps; /* of each port */
	struct weft_port_profile *profiles;
	bool *is_set;
	uint16_t *sids; /* by place among the counters */
	uint32_t n_sids, n_prefixes, n_group;
	struct xdp_prefix *prefix_keys; /* to empty the map by */
};

/* ---- xdp_fault.c ---- */

/* Thresholds of a port in time at its rate. */
void port_scale(struct weft_xdp *xdp, uint32_t port);

/* ---- xdp_table.c ---- */

void tables_empty(struct weft_xdp *xdp);

#pragma GCC visibility pop
#endif
