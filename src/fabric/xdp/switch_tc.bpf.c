/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * switch_tc.bpf - the switch where the kernel's packets come in (tc ingress).
 *
 * Made for veths: a packet goes on into the next switch's namespace by a few pointers, in the same
 * call, where XDP pays for a copy at the first hop and for an interrupt's worth of scheduling at
 * each.
 */
#include "shared.h"

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define hook_context __sk_buff

enum { HOOK_DROP = TC_ACT_SHOT, ETHER_BYTES = 14, HEADERS_BYTES = ETHER_BYTES + 40 };

const volatile struct xdp_const config SEC(".rodata.config");
struct xdp_state state;

static __always_inline uint32_t hook_ifindex(const struct __sk_buff *ctx)
{
	return ctx->ifindex;
}

static __always_inline uint32_t hook_bytes(const struct __sk_buff *ctx)
{
	return ctx->len;
}

/* NULL: no room for Ethernet's and IPv6's.  Senders that map rings leave headers in pages. */
static __always_inline uint8_t *hook_headers(struct __sk_buff *ctx)
{
	uint8_t *data = (uint8_t *)(long)ctx->data;

	if (data + HEADERS_BYTES <= (uint8_t *)(long)ctx->data_end)
		return data;
	if (bpf_skb_pull_data(ctx, HEADERS_BYTES))
		return 0;
	data = (uint8_t *)(long)ctx->data;
	return data + HEADERS_BYTES > (uint8_t *)(long)ctx->data_end ? 0 : data;
}

static __always_inline long hook_load(struct __sk_buff *ctx, uint32_t at, void *to, uint32_t bytes)
{
	return bpf_skb_load_bytes(ctx, at, to, bytes);
}

static __always_inline long hook_store(
	struct __sk_buff *ctx, uint32_t at, const void *from, uint32_t bytes)
{
	return bpf_skb_store_bytes(ctx, at, from, bytes, 0);
}

static __always_inline long hook_resize(struct __sk_buff *ctx, uint32_t bytes, uint32_t length)
{
	(void)length;
	return bpf_skb_change_tail(ctx, bytes, 0);
}

static __always_inline int hook_send(uint32_t out_port, const struct xdp_port *port)
{
	(void)out_port;
	return port->flags & XDP_PORT_PEER ? bpf_redirect_peer(port->ifindex, 0)
					   : bpf_redirect(port->ifindex, 0);
}

#include "program.h"

SEC("tc")
int weft_switch(struct __sk_buff *ctx)
{
	return forward(ctx);
}

char terms[] SEC("license") = "Dual BSD/GPL";
