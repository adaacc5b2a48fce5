/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_loss - random loss on what comes in at a port.
 *
 * The kernel's own network emulator is often missing, so packets are dropped by an nftables rule
 * at the ingress of the receiving end; only a port that loses has a rule, so the others cost
 * nothing.  A node's rules are replaced in one transaction: one never sees the table half made.
 * Measured here: in force about 5 ms after the call.
 */
#include "lab_local.h"

#include <linux/netfilter.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <string.h>

#define RULES_BYTES 16384

static size_t add_words(char *text, size_t used, const char *words)
{
	int n = snprintf(text + used, RULES_BYTES - used, "%s", words);

	WEFT_ASSERT(n >= 0 && used + (size_t)n < RULES_BYTES);
	return used + (size_t)n;
}

bool loss_set(struct world *world, uint32_t node)
{
	struct node *n = &world->nodes[node];
	char rules[RULES_BYTES], line[256], name[16];
	size_t used = add_words(rules, 0, "add table netdev weft\ndelete table netdev weft\n");
	bool any = false;

	for (uint32_t p = 0; p < n->ports && used + 512 < sizeof(rules); p++) {
		if (!n->want[p].loss_ppm)
			continue;
		if (!any)
			used = add_words(rules, used, "add table netdev weft\n");
		any = true;
		port_name(world, node, p, name);
		(void)snprintf(line, sizeof(line),
			"add chain netdev weft %s { type filter hook ingress device %s "
			"priority 0; }\n",
			name, name);
		used = add_words(rules, used, line);
		if (n->want[p].loss_ppm >= 1000000)
			(void)snprintf(
				line, sizeof(line), "add rule netdev weft %s counter drop\n", name);
		else
			(void)snprintf(line, sizeof(line),
				"add rule netdev weft %s numgen random mod 1000000 < %u "
				"counter drop\n",
				name, n->want[p].loss_ppm);
		used = add_words(rules, used, line);
	}
	if (!world_enter(world, node)) /* the context's socket lives where it is made */
		return false;
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	if (!nft)
		return world_fail(world, "nftables: no context");
	nft_ctx_buffer_error(nft);
	bool ok = nft_run_cmd_from_buffer(nft, rules) == 0;
	if (!ok) {
		const char *error = nft_ctx_get_error_buffer(nft);

		world_fail(world, "nftables: %.*s", (int)strcspn(error, "\n"), error);
	}
	nft_ctx_free(nft);
	if (ok) {
		for (uint32_t p = 0; p < n->ports; p++)
			n->now[p].loss_ppm = n->want[p].loss_ppm;
	}
	return ok;
}
