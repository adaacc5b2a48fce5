/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_LAB_H
#define WEFT_LAB_H
/*
 * lab - an emulated fabric on this machine: hosts in network namespaces, between them our switches
 * in a process (soft) or in the kernel (XDP), or the kernel's own SRv6.
 *
 *   fabric file --> keeper process -- owns --> one network namespace per host, veth cables, and
 *                      ^                       `weft switch`; or one namespace per switch as well,
 *                      |                       with seg6local tables and token buckets
 *       weft_lab_open  | unix socket
 *                      +--- faults, counters, "let me in": any process of the same user
 *
 * Only the keeper holds the namespaces: when it ends, in whatever way, the kernel takes all of
 * them back.  Without root it works inside a user namespace of its own.
 *
 * Time     faults may end by themselves; everything else happens before a call returns.
 * Memory   opened objects are the caller's to close.
 * Threads  one per struct weft_lab; several opens of one lab may be used at once.
 * Errors   0, or -1 with one line in error.
 */
#include <weft/topo.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_LAB_NODES_MAX 1024
#define WEFT_LAB_FAULTS_MAX 256
#define WEFT_LAB_RECORDS_MAX 1024 /* of faults, newest last: a few runs of any demo */
#define WEFT_LAB_RATE_NONE UINT64_MAX
#define WEFT_LAB_SHAPED_BPS_MAX UINT64_C(10000000000) /* faster links are left unshaped */

struct weft_lab;

/* Who forwards.  The fabric file, the faults and the counters are the same for all. */
enum weft_lab_switches {
	WEFT_LAB_SWITCHES_DEFAULT, /* soft; kernel where offloads are to be left on */
	WEFT_LAB_SWITCHES_KERNEL,  /* a namespace per switch, seg6local routes */
	WEFT_LAB_SWITCHES_SOFT,    /* all switches in one process: <weft/switchd.h> */
	WEFT_LAB_SWITCHES_XDP,     /* a namespace per switch, our program on its ports */
	WEFT_LAB_SWITCHES_COUNT,
};
const char *weft_lab_switches_name(enum weft_lab_switches switches); /* "kernel" */
bool weft_lab_switches_find(const char *name, enum weft_lab_switches *switches);

struct weft_lab_options {
	const char *fabric; /* file */
	const char *name;   /* NULL: the fabric's */
	uint64_t rate_bps;  /* of every link; 0: as the file says; WEFT_LAB_RATE_NONE: unshaped */
	bool offloads;      /* leave checksum and segmentation offload on: not what a NIC emits */
	enum weft_lab_switches switches;
};

/* Returns once the fabric forwards.  A lab of that name must not be up. */
int weft_lab_up(const struct weft_lab_options *options, char *error, size_t error_bytes);
/* name NULL: the only one that is up. */
int weft_lab_open(struct weft_lab **lab, const char *name, char *error, size_t error_bytes);
void weft_lab_close(struct weft_lab *lab); /* NULL is fine */
/* Ends what runs in the lab, takes everything down, waits for it.  Does not close. */
int weft_lab_down(struct weft_lab *lab, char *error, size_t error_bytes);

/* How many labs are up, at most n, and their names; what dead keepers left is removed in passing.
 * -1: nobody can look there. */
int weft_lab_list(char names[][WEFT_TOPO_NAME_BYTES], size_t n, char *error, size_t error_bytes);

const char *weft_lab_name(const struct weft_lab *lab);
const char *weft_lab_fabric(const struct weft_lab *lab); /* path of the lab's copy of the file */
const struct weft_topo *weft_lab_topo(const struct weft_lab *lab);
enum weft_lab_switches weft_lab_switches(const struct weft_lab *lab); /* never DEFAULT */
int weft_lab_switch_pid(const struct weft_lab *lab); /* of soft switches; 0: they have ended */
const char *weft_lab_switch_dir(const struct weft_lab *lab); /* see <weft/switchd.h>; NULL: none */
/* What was wrong with the lab when it was opened, in one line; "": nothing. */
const char *weft_lab_trouble(const struct weft_lab *lab);
int weft_lab_keeper_pid(const struct weft_lab *lab);

/*
 * Moves the calling thread into a node's network (and, without root, user) namespace for good;
 * the latter only works while the process has one thread.  Sets WEFT_FABRIC, WEFT_LAB and
 * WEFT_HOST in the environment, WEFT_RATE (bits per second of every link) where options->rate_bps
 * was set, WEFT_SWITCH (the folder of <weft/switchd.h>) where switches are soft, and WEFT_LABS so
 * that labs are found from inside as well.  WEFT_IPV4 is a host's address in the front network: all
 * hosts have an interface front0, 10.0.0.1 and so on, on a bridge that is no part of the fabric.
 */
int weft_lab_enter(struct weft_lab *lab, uint32_t node, char *error, size_t error_bytes);
/*
 * After weft_lab_enter(): the process goes into mount and UTS namespaces of its own, in which the
 * lab's hosts have names (/etc/hosts, their front addresses) and this one has the node's.
 */
int weft_lab_use_names(struct weft_lab *lab, uint32_t node, char *error, size_t error_bytes);

/*
 * Faults.  What is asked for is in force when the call returns; overlapping faults add up, and
 * each is undone by itself.
 */
enum weft_lab_fault_kind {
	WEFT_LAB_LINK_DOWN,    /* link: the upper (switch) end goes down, both lose carrier */
	WEFT_LAB_LOSS,         /* link: loss_ppm of the packets that go this way */
	WEFT_LAB_BLACKHOLE,    /* link: the switch it leaves drops its uSIDs, silently */
	WEFT_LAB_FREEZE,       /* switch: links stay up, nothing is forwarded */
	WEFT_LAB_REBOOT,       /* switch: links down and tables lost for for_ns, then restored */
	WEFT_LAB_PLANE_DOWN,   /* plane: every link loses carrier */
	WEFT_LAB_PLANE_FREEZE, /* plane: every switch freezes */
	WEFT_LAB_PORT_DOWN,    /* host link: the host's end goes down, both lose carrier */
	WEFT_LAB_NIC_DOWN,     /* host: all its ports */
	WEFT_LAB_SLOW,         /* link: rate_bps, both ways; soft switches only */
	WEFT_LAB_CORRUPT, /* link: a bit turns in loss_ppm of the packets; soft switches only */
	WEFT_LAB_FAULT_COUNT,
};

enum weft_lab_way { WEFT_LAB_UP = WEFT_WAY_UP, WEFT_LAB_DOWN = WEFT_WAY_DOWN }; /* bits */

struct weft_lab_fault {
	uint64_t for_ns; /* ends by itself after; 0: stays until undone */
	uint64_t age_ns; /* filled in when listed */
	uint32_t id;     /* given by the lab, from 1 */
	enum weft_lab_fault_kind kind;
	uint32_t where;    /* link, node or plane: see the kinds */
	uint32_t loss_ppm; /* WEFT_LAB_LOSS and _CORRUPT only */
	uint32_t way;      /* of these two and _BLACKHOLE only */
	uint64_t rate_bps; /* WEFT_LAB_SLOW only; 1 Mb/s and up */
};

const char *weft_lab_fault_name(enum weft_lab_fault_kind kind); /* "link-down" */
const char *weft_lab_fault_help(enum weft_lab_fault_kind kind); /* one line */
/* Fills kind and where from words, way with both, the rest with 0 (a reboot: for_ns 200 ms). */
int weft_lab_fault_parse(const struct weft_topo *topo, const char *kind, const char *where,
	struct weft_lab_fault *fault, char *error, size_t error_bytes);
/* "loss 20 % of p0.t0-0:t1-0 up" */
void weft_lab_fault_text(
	const struct weft_topo *topo, const struct weft_lab_fault *fault, char *text, size_t bytes);

int weft_lab_fault(struct weft_lab *lab, const struct weft_lab_fault *fault, uint32_t *id,
	char *error, size_t error_bytes);
int weft_lab_undo(struct weft_lab *lab, uint32_t id, char *error, size_t error_bytes); /* 0: all */
/* The active ones, at most n; how many, or -1. */
int weft_lab_faults(struct weft_lab *lab, struct weft_lab_fault faults[], size_t n);

/*
 * What the lab itself has noted of a fault, when all switches that it concerns had answered:
 * CLOCK_MONOTONIC.  It was in force, all of it, from on_ns to lift_ns at least, and nothing of it
 * was left at off_ns.  0: not yet.
 */
struct weft_lab_record {
	uint64_t on_ns, lift_ns, off_ns;
	uint32_t id;
};
/* The last WEFT_LAB_RECORDS_MAX are kept, ended ones too. */
int weft_lab_record(struct weft_lab *lab, uint32_t id, struct weft_lab_record *record, char *error,
	size_t error_bytes);

struct weft_lab_end_stats { /* what the kernel counts at one end of a link */
	uint64_t tx_packets, tx_bytes, tx_dropped;
	uint64_t rx_packets, rx_bytes, rx_dropped;
	uint64_t queue_dropped; /* packets that its egress queue had no room for */
	uint32_t queue_bytes;   /* waiting in it now */
	bool up, carrier;
};
/* ends[0]: the lower one. */
int weft_lab_link_stats(struct weft_lab *lab, uint32_t link, struct weft_lab_end_stats ends[2]);

/*
 * Packets that came to a switch with one of its own uSIDs in front: its uN, or the uA of a port.
 * Counted since its table was last written, which the end of some faults does (programs: since
 * the lab came up); what a queue drops later is included.  At most n; how many, or -1 with error
 * (a host has none).
 */
struct weft_lab_sid {
	uint64_t packets;
	uint64_t bytes;  /* of them, as IPv6 packets: kernel switches only */
	uint64_t errors; /* of them, out of hop limit, or nothing behind: kernel switches only */
	uint16_t usid;
	bool is_ua;
};
int weft_lab_sids(struct weft_lab *lab, uint32_t node, struct weft_lab_sid sids[], size_t n,
	char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_LAB_H */
