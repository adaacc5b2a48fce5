/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef SHARED_H
#define SHARED_H
/*
 * What the program in the kernel and its loader see of each other: one block of constants (read
 * only, so that the verifier removes what they rule out), one block of state (mapped by the
 * loader), and maps of counters that each CPU keeps for itself.
 *
 * Both sides are compiled by different compilers for different machines: every member has a size
 * of its own and every gap a name.
 */
#ifdef __bpf__
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT64_TYPE__ int64_t;
#else
#include <stdint.h>
#endif

enum {
	XDP_PORTS_MAX = 1024,
	XDP_IFINDEXES = 65536, /* a port's interface number is below */
	XDP_SIDS = 65536,
	XDP_GROUP_PLACES = 8192, /* ports of all hops that choose between several */
	XDP_FAULTS_MAX = 64,
	XDP_QUEUES = 2,
};

/* As enum weft_hop_kind; the loader asserts it. */
enum { XDP_HOP_NONE, XDP_HOP_UN, XDP_HOP_UA, XDP_HOP_PORT, XDP_HOP_HASH, XDP_HOP_FIELD };

enum { XDP_HOP_HOLE = 0x80 }; /* or-ed to a kind: what would follow this entry is dropped */

#define XDP_ANY 0xffffffffu

/* A choice (HASH, FIELD) is among groups[first .. first + ports - 1]. */
struct xdp_hop {
	uint8_t kind; /* XDP_HOP_ */
	uint8_t shift;
	uint16_t first; /* a port; in choices a place in groups */
	uint16_t ports;
	uint16_t counter; /* its place among the counters of uSIDs */
} __attribute__((aligned(8)));

struct xdp_prefix {       /* key of the map of prefixes */
	uint32_t addr[4]; /* as bytes lie in a packet */
	uint32_t bits;
};

/*
 * Depths are measured in time: what waits would keep the line busy for so many nanoseconds, times
 * 2^16.  So a clock's difference is what was served, without a multiplication.
 */
struct xdp_port {
	/* Written by the loader only. */
	uint64_t macs_low;  /* bytes 0 to 7 of the Ethernet header that frames leave with */
	uint32_t macs_high; /* bytes 8 to 11 */
	uint16_t trim_to_bytes;
	uint8_t trim_tclass;  /* DSCP of a trimmed frame, in place */
	uint8_t flags;        /* XDP_PORT_ bits */
	uint64_t byte_ns_q16; /* how long a byte lasts; 0: as fast as it comes, no queue */
	uint64_t trim_q16;    /* 0: never */
	uint64_t drop_q16[XDP_QUEUES];
	uint64_t ecn_min_q16, ecn_range_q16; /* range 0: never; mark all from min + range */
	/* The virtual queue; under lock. */
	uint32_t lock;
	uint32_t control_share_q8; /* of the line, while data waits too; the loader's */
	uint64_t last_ns;
	uint64_t depth_q16[XDP_QUEUES];
	uint64_t watermark_q16[XDP_QUEUES];
	uint32_t ifindex; /* the loader's */
	uint32_t reserved[3];
} __attribute__((aligned(64)));

enum { XDP_PORT_UP = 1, XDP_PORT_PEER = 2 }; /* PEER: straight to the other end of a veth */

struct xdp_fault {
	uint64_t route, route_mask;
	uint32_t in_port, out_port; /* UINT32_MAX: any */
	uint32_t loss_ppm;
	uint32_t reserved;
};

enum { XDP_CLASS_TRIMMABLE = 1, XDP_CLASS_CONTROL = 2 };

struct xdp_const {
	uint32_t block_be;
	uint32_t mtu_bytes;
	uint64_t seed;
	uint32_t is_test_clock; /* now is state.test_now_ns */
	uint8_t classes[64];    /* by DSCP: XDP_CLASS_ bits */
	uint32_t reserved;
};

struct xdp_state {
	uint32_t is_frozen;
	uint32_t n_faults;
	uint32_t prefix_lengths; /* bit 0, 1, 2: there are some of 48, 64, 128 bits */
	uint32_t reserved;
	uint64_t test_now_ns;
	uint16_t in_ports[XDP_IFINDEXES];
	struct xdp_port ports[XDP_PORTS_MAX];
	struct xdp_hop sids[XDP_SIDS];
	uint16_t groups[XDP_GROUP_PLACES];
	struct xdp_fault faults[XDP_FAULTS_MAX];
};

#endif
