/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * afxdp.bpf - which frames of an interface go to our socket; all others go on to the kernel.
 *
 * It judges by destination alone: our address or uSID outside, our UDP port inside.  Who sent a
 * frame and whether it is any good is found out in user space, where refusals are counted.  The
 * outer IPv6 header of an SRv6 frame (RFC 8986; with an SRH where it has one, RFC 8754) stays on:
 * its traffic class is what the switches have written on.
 *
 * A frame that is cut short, fragmented, or has headers that MRC does not use is not ours.  Cost:
 * one pass over at most 126 bytes of the first buffer, one look-up.
 */
#include "port/afxdp_rule.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#define ROUTING 43
#define SRH_BYTES_MAX 24 /* one segment */

char terms[] SEC("license") = "Dual BSD/GPL";

const volatile struct afxdp_rule rule;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, AFXDP_QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct routing { /* the part that all routing headers share (RFC 8200 4.4) */
	__u8 next, len_words, type, segments_left;
};

static __always_inline int is_same(const __u8 *a, const volatile __u8 *b, int bytes)
{
	for (int i = 0; i < bytes; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static __always_inline int is_ours(const __u8 dst[16])
{
	if (is_same(dst, rule.addr, 16))
		return 1;
	return rule.usid[0] && is_same(dst, rule.usid, 6);
}

static __always_inline int is_our_port(const void *at, const void *end)
{
	const struct udphdr *udp = at;

	return (const void *)(udp + 1) <= end && udp->dest == rule.udp_port;
}

static __always_inline int wants_ipv4(const void *at, const void *end)
{
	const struct iphdr *ip = at;

	if ((const void *)(ip + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
		ip->frag_off & bpf_htons(0x3fff) ||
		!is_same((const __u8 *)&ip->daddr, rule.addr + 12, 4))
		return 0;
	return is_our_port(ip + 1, end);
}

static __always_inline int wants_ipv6(const void *at, const void *end)
{
	const struct ipv6hdr *ip = at;

	if ((const void *)(ip + 1) > end || !is_ours(ip->daddr.s6_addr))
		return 0;
	__u8 next = ip->nexthdr;

	at = ip + 1;
	if (next == ROUTING) {
		const struct routing *routing = at;

		if ((const void *)(routing + 1) > end)
			return 0;
		__u32 bytes = 8 + 8u * routing->len_words;

		if (bytes > SRH_BYTES_MAX)
			return 0;
		next = routing->next;
		at += bytes;
	}
	if (next == IPPROTO_IPV6) {
		const struct ipv6hdr *inner = at;

		if ((const void *)(inner + 1) > end)
			return 0;
		next = inner->nexthdr;
		at = inner + 1;
	}
	return next == IPPROTO_UDP && is_our_port(at, end);
}

SEC("xdp.frags") int weft_afxdp(struct xdp_md *ctx)
{
	const void *at = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct ethhdr *eth = at;
	int is_wanted = 0;

	if ((const void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		is_wanted = wants_ipv6(eth + 1, end);
	else if (eth->h_proto == bpf_htons(ETH_P_IP))
		is_wanted = wants_ipv4(eth + 1, end);
	/* The kernel takes what comes by a queue without a socket. */
	return is_wanted ? (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS)
			 : XDP_PASS;
}
