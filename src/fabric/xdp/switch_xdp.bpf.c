/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * switch_xdp.bpf - the switch at the driver (XDP): frames are bytes in pages and never become the
 * kernel's packets.  Made for NICs.  Frames of more than one page come in pieces ("frags").
 */
#include "shared.h"

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define hook_context xdp_md

enum { HOOK_DROP = XDP_DROP, ETHER_BYTES = 14, HEADERS_BYTES = ETHER_BYTES + 40 };

const volatile struct xdp_const config SEC(".rodata.config");
struct xdp_state state;

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, XDP_PORTS_MAX);
	__type(key, uint32_t);
	__type(value, uint32_t);
} devices SEC(".maps");

static __always_inline uint32_t hook_ifindex(const struct xdp_md *ctx)
{
	return ctx->ingress_ifindex;
}

static __always_inline uint32_t hook_bytes(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

/* NULL: no room for Ethernet's and IPv6's. */
static __always_inline uint8_t *hook_headers(struct xdp_md *ctx)
{
	uint8_t *data = (uint8_t *)(long)ctx->data;

	return data + HEADERS_BYTES > (uint8_t *)(long)ctx->data_end ? 0 : data;
}

static __always_inline long hook_load(struct xdp_md *ctx, uint32_t at, void *to, uint32_t bytes)
{
	return bpf_xdp_load_bytes(ctx, at, to, bytes);
}

static __always_inline long hook_store(struct xdp_md *ctx, uint32_t at, void *from, uint32_t bytes)
{
	return bpf_xdp_store_bytes(ctx, at, from, bytes);
}

static __always_inline long hook_resize(struct xdp_md *ctx, uint32_t bytes, uint32_t length)
{
	return bpf_xdp_adjust_tail(ctx, (int)bytes - (int)length);
}

static __always_inline int hook_send(uint32_t out_port, const struct xdp_port *port)
{
	(void)port;
	return bpf_redirect_map(&devices, out_port, 0);
}

#include "program.h"

SEC("xdp.frags")
int weft_switch(struct xdp_md *ctx)
{
	return forward(ctx);
}

char terms[] SEC("license") = "Dual BSD/GPL";
