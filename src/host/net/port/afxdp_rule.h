/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef NET_AFXDP_RULE_H
#define NET_AFXDP_RULE_H
/* afxdp_rule - what the port tells its program in the kernel before it loads it. */
#include <linux/types.h>

#define AFXDP_QUEUES_MAX 64

struct afxdp_rule {
	__u8 addr[16];  /* own, on this plane; IPv4 as ::ffff:a.b.c.d */
	__u8 usid[6];   /* the /48 of which every address is ours too; zero: none */
	__u16 udp_port; /* as on the wire */
};

#endif /* NET_AFXDP_RULE_H */
