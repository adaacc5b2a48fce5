/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames - which frames are ours, said once and in two languages of the kernel.
 *
 * A port that takes whole frames must tell the kernel twice: a socket filter (classic BPF) keeps
 * others' traffic from being copied, and a firewall rule (nftables, netdev ingress) keeps the
 * kernel's own stack from answering ours.  Both are made from one list of comparisons, so they
 * cannot disagree.  They look at destinations alone; everything else is judged, and counted, in
 * user space.
 *
 * The uSID's 48 bits stand for the whole address (docs/decisions/040): the rest is EV.
 */
#include "port/frames.h"

#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>

#define SRV6_NEXT 41
#define SRH_WORDS 2 /* one segment */

static void want(struct frames_rule *rule, uint16_t offset, uint8_t bytes, uint32_t value)
{
	WEFT_ASSERT(rule->n < FRAMES_MATCHES_MAX);
	rule->match[rule->n++] = (struct frames_match){ offset, bytes, value };
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void want_usid(struct frames_rule *rule, const uint8_t usid[16])
{
	want(rule, 24, 4, get32(usid));
	want(rule, 28, 2, (uint32_t)usid[4] << 8 | usid[5]);
}

void frames_describe(struct frames *frames, enum weft_encap_kind kind, const uint8_t addr[16],
	const uint8_t usid[16], uint16_t udp_port)
{
	struct frames_rule *rule = &frames->rule[0];

	*frames = (struct frames){ .n = 1 };
	switch (kind) {
	case WEFT_ENCAP_USID:
		want(rule, 6, 1, IPPROTO_UDP);
		want_usid(rule, usid);
		want(rule, 42, 2, udp_port);
		break;
	case WEFT_ENCAP_SRV6:
		want(rule, 6, 1, SRV6_NEXT);
		want_usid(rule, usid);
		want(rule, 46, 1, IPPROTO_UDP);
		want(rule, 82, 2, udp_port);
		rule = &frames->rule[frames->n++]; /* with a routing header */
		want(rule, 6, 1, IPPROTO_ROUTING);
		want_usid(rule, usid);
		want(rule, 40, 1, SRV6_NEXT);
		want(rule, 41, 1, SRH_WORDS);
		want(rule, 70, 1, IPPROTO_UDP);
		want(rule, 106, 2, udp_port);
		break;
	default:
		want(rule, 6, 1, IPPROTO_UDP);
		for (uint16_t i = 0; i < 16; i += 4)
			want(rule, 24 + i, 4, get32(addr + i));
		want(rule, 42, 2, udp_port);
	}
}

static uint16_t load_of(uint8_t bytes)
{
	return bytes == 1   ? BPF_LD | BPF_B | BPF_ABS
	       : bytes == 2 ? BPF_LD | BPF_H | BPF_ABS
			    : BPF_LD | BPF_W | BPF_ABS;
}

size_t frames_filter(const struct frames *frames, struct sock_filter code[])
{
	const struct sock_filter no = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_filter yes = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(load_of(2), offsetof(struct ethhdr, h_proto));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 1, 0);
	code[n++] = no;
	for (uint32_t r = 0; r < frames->n; r++) {
		const struct frames_rule *rule = &frames->rule[r];

		for (uint32_t i = 0; i < rule->n; i++) {
			const struct frames_match *match = &rule->match[i];
			uint8_t rest = (uint8_t)(2 * (rule->n - i) - 1); /* to behind `yes` */

			code[n++] = (struct sock_filter)BPF_STMT(
				load_of(match->bytes), ETH_HLEN + match->offset);
			code[n++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, match->value, 0, rest);
		}
		code[n++] = yes;
	}
	code[n++] = no;
	WEFT_ASSERT(n <= FRAMES_FILTER_MAX);
	return n;
}

size_t frames_nft(const struct frames *frames, uint32_t r, char *text, size_t bytes)
{
	const struct frames_rule *rule = &frames->rule[r];
	size_t at = 0;

	WEFT_ASSERT(r < frames->n);
	at += (size_t)snprintf(text, bytes, "meta protocol ip6");
	for (uint32_t i = 0; i < rule->n && at < bytes; i++) {
		const struct frames_match *match = &rule->match[i];

		at += (size_t)snprintf(text + at, bytes - at, " @nh,%u,%u 0x%x", match->offset * 8u,
			match->bytes * 8u, match->value);
	}
	WEFT_ASSERT(at < bytes);
	return at;
}
