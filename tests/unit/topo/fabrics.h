/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_FABRICS_H
#define TOPO_FABRICS_H
/* Fabrics that several tests of topo use. */
#include "check.h"
#include "topo_local.h"

#define LAB8 "name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\n"
#define UNEVEN                                                                                     \
	"name: uneven\nplanes: 3\nt0s: 3\nt1s: 2\nparallel_links: 2\nhosts: 7\nhosts_per_t0: 3\n"
#define PAPER "name: paper\nplanes: 8\nt0s: 512\nt1s: 256\nhosts: 131072\nswitch: {radix: 512}\n"
#define ONE_TIER "name: one\nplanes: 2\nt0s: 1\nhosts: 3\n"

static inline struct weft_topo *fabric(const char *text)
{
	struct weft_topo *topo = NULL;
	char error[256] = "";

	if (weft_topo_open_text(&topo, text, strlen(text), "test.yaml", error, sizeof(error))) {
		CHECK_FAIL("%s", error);
		longjmp(check_leave, 1);
	}
	return topo;
}

#endif
