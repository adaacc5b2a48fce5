/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

TEST(loop_digest__tells_any_two_deliveries_apart)
{
	struct weft_pkt pkt = { .op = WEFT_OP_WRITE_MIDDLE, .psn = 7, .w.len_bytes = 100 };
	uint64_t digest[7] = { 0 };

	loop_digest(&digest[0], 5, 0, 1, &pkt);
	loop_digest(&digest[1], 6, 0, 1, &pkt);
	loop_digest(&digest[2], 5, 1, 0, &pkt);
	pkt.psn = 8;
	loop_digest(&digest[3], 5, 0, 1, &pkt);
	pkt.w.va = 1;
	loop_digest(&digest[4], 5, 0, 1, &pkt);
	pkt = (struct weft_pkt){ .op = WEFT_OP_SACK, .psn = 7 };
	loop_digest(&digest[5], 5, 0, 1, &pkt);
	pkt.sack.bitmap = 1;
	loop_digest(&digest[6], 5, 0, 1, &pkt);
	for (unsigned i = 0; i < 7; i++)
		for (unsigned k = 0; k < i; k++)
			CHECK(digest[i] != digest[k]);
}
