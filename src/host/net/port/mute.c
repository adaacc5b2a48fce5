/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mute - keeps the kernel's own stack out of what a packet socket takes.
 *
 * A packet socket gets copies.  The originals go on into the stack, which would look for a UDP
 * socket, check a checksum that is not there, or answer an IPv6 header inside another one with an
 * ICMP error, and spend a third of a microsecond on it.  An nftables chain at netdev ingress,
 * behind the packet sockets and before the stack, drops them.
 *
 * The table is *owned* (Linux 5.12): it belongs to our netlink socket, nobody else can change it,
 * and the kernel removes it when the socket goes, so also after kill -9.  clsact with a BPF program
 * would be faster by a few nanoseconds, but stays when its maker dies; TCX links need Linux 6.6.
 */
#include "port/frames.h"
#include "port/mute.h"

#include <nftables/libnftables.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2048u

struct mute {
	struct nft_ctx *nft;
	size_t at;
	char text[TEXT_BYTES];
};

static void say(struct mute *mute, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct mute *mute, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(mute->text + mute->at, TEXT_BYTES - mute->at, format, args);

	va_end(args);
	WEFT_ASSERT(n > 0 && mute->at + (size_t)n < TEXT_BYTES);
	mute->at += (size_t)n;
}

struct mute *mute_open(uint16_t udp_port, uint32_t plane, const struct frames *frames,
	const char *ifname, char *error, size_t error_bytes)
{
	struct mute *mute = calloc(1, sizeof(*mute));

	if (mute)
		mute->nft = nft_ctx_new(NFT_CTX_DEFAULT);
	if (!mute || !mute->nft) {
		snprintf(error, error_bytes, "no memory for nftables");
		mute_close(mute);
		return NULL;
	}
	say(mute, "table netdev weft_%u_%u { flags owner;\n", udp_port, plane);
	say(mute, "chain plane { type filter hook ingress device \"%s\" priority 0;\n", ifname);
	for (uint32_t r = 0; r < frames->n; r++) {
		char rule[FRAMES_NFT_MAX];

		(void)frames_nft(frames, r, rule, sizeof(rule));
		say(mute, "%s drop;\n", rule);
	}
	say(mute, "}\n}\n");
	nft_ctx_buffer_output(mute->nft);
	nft_ctx_buffer_error(mute->nft);
	if (!nft_run_cmd_from_buffer(mute->nft, mute->text))
		return mute;
	const char *why = nft_ctx_get_error_buffer(mute->nft);

	snprintf(error, error_bytes, "cannot keep the kernel from answering (nftables): %.*s",
		(int)strcspn(why, "\n"), why);
	mute_close(mute);
	return NULL;
}

void mute_close(struct mute *mute)
{
	if (!mute)
		return;
	if (mute->nft)
		nft_ctx_free(mute->nft);
	free(mute);
}
