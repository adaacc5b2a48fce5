/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAB_LOCAL_H
#define LAB_LOCAL_H
/* What the files of lab share: the world (the keeper's side), the state folder, the messages. */
#include <weft/base.h>
#include <weft/lab.h>

#include <libmnl/libmnl.h>

#define ERROR_BYTES 256
#define STATE_PATH_BYTES 108 /* sockaddr_un's */

/* ---- netlink.c: many requests in one send, every one acknowledged ---- */

struct netlink {
	struct mnl_socket *socket;
	uint32_t seq;
};

struct batch {
	struct netlink *netlink;
	size_t used;
	uint32_t first_seq;
	int error;              /* errno of the first request that failed; later ones go on */
	char text[ERROR_BYTES]; /* what that was */
	const char *whats[256]; /* per request in flight: what it is, for text */
	uint32_t n;
	_Alignas(8) char buf[32768];
};

bool netlink_open(struct netlink *netlink); /* in the calling thread's namespace; errno */
void netlink_close(struct netlink *netlink);
void batch_begin(struct batch *batch, struct netlink *netlink);
/* Starts a request; what must outlive the batch.  Requests are at most 1 KiB. */
struct nlmsghdr *batch_add(struct batch *batch, uint16_t type, uint16_t flags, const char *what);
/* Sends what is left; false when anything failed since batch_begin. */
bool batch_end(struct batch *batch);

/* ---- lab_request.c: the requests that the lab is made of ---- */

struct veth_end {
	int ns_fd;
	int ifindex;
	const char *name;
	uint8_t mac[6];
};

/* ends[0] is up then, ends[1] is not yet. */
void request_veth(struct batch *batch, const struct veth_end ends[2], uint32_t mtu_bytes);
void request_link_state(struct batch *batch, int ifindex, bool up);
void request_address(struct batch *batch, int ifindex, const uint8_t address[16]);
void request_address4(
	struct batch *batch, int ifindex, const uint8_t address[4], uint8_t prefix_bits);
void request_bridge(struct batch *batch, int ifindex, const char *name); /* up */
void request_master(struct batch *batch, int ifindex, int bridge_ifindex);
void request_neighbour(struct batch *batch, int ifindex, const uint8_t mac[6]);
/* Token bucket of rate_bps with a queue behind it. */
struct shaper {
	uint64_t rate_bps;
	uint32_t frame_bytes, queue_bytes; /* of the longest frame; of the queue */
	uint16_t overhead_bytes;           /* that a frame takes of the line beside its own */
};
void request_shaper(struct batch *batch, int ifindex, const struct shaper *shaper);

enum route_form { ROUTE_GATEWAY, ROUTE_LOCAL, ROUTE_END, ROUTE_END_X, ROUTE_BLACKHOLE };

struct route_request {
	enum route_form form;
	const struct weft_route *route;
	const uint8_t *source; /* preferred source address, or NULL */
	/* Of ROUTE_GATEWAY: n > 1 shares flows between them.  Of ROUTE_END_X: where to leave. */
	const int *ifindexes;
	uint32_t n;
};
void request_route(struct batch *batch, const struct route_request *request);
void request_next_hop(struct batch *batch, int ifindex); /* ROUTE_END_X through it needs this */
void request_route_gone(struct batch *batch, const struct weft_route *route);
/* Counters and state of an interface; false: errno. */
bool request_stats(struct netlink *netlink, int ifindex, struct weft_lab_end_stats *stats);

/* The queue's part of them, untouched where there is none; false: errno. */
bool request_queue_stats(struct netlink *netlink, int ifindex, struct weft_lab_end_stats *stats);

/* ---- sids.c ---- */

/* The uSIDs of a switch, at most n, with what the kernel has counted; how many, or -1: errno. */
int sids_read(struct netlink *netlink, struct weft_lab_sid sids[], size_t n);

/* ---- world.c: the fabric, built ---- */

struct port {
	bool down, hole;   /* down: admin down at this end; hole: its uSIDs are dropped */
	uint32_t loss_ppm; /* of what comes in here */
	/* Soft switches' only. */
	uint32_t spoil_ppm; /* of what comes in here */
	uint64_t rate_bps;  /* of the link, said at its upper end; 0: as built */
};

struct node {
	int ns_fd;
	struct netlink netlink;
	int control_fd;          /* a socket in there, for what netlink cannot do */
	struct port *now, *want; /* per port: how it is, how the faults want it */
	uint32_t ports;
	bool frozen, want_frozen;
	bool bare, want_bare; /* tables gone */
	struct weft_xdp *xdp; /* the program that switches here; NULL: the kernel, or a host */
};

/* ---- soft.c, soft_ask.c: all switches in one process ---- */

struct soft_told {            /* about a link */
	uint64_t rate_bps;    /* 0: as built */
	uint32_t loss_ppm[2]; /* up, down */
	uint32_t spoil_ppm[2];
	unsigned holes; /* enum weft_lab_way bits */
	bool is_down;
};

struct soft {
	struct node at;             /* the namespace with the far ends of the hosts' cables */
	pid_t pid;                  /* 0: it has ended, and end says how */
	int pid_fd;                 /* readable when it has; -1 */
	char dir[STATE_PATH_BYTES]; /* of its sockets */
	char end[ERROR_BYTES];
	struct soft_told *told;                /* per link */
	struct weft_lab_end_stats (*stats)[2]; /* per link, as of stats_ns; 0: never */
	uint64_t stats_ns;
};

struct world {
	struct weft_topo *topo;
	struct node *nodes;
	uint32_t n_nodes;
	uint64_t rate_bps;
	bool offloads;
	enum weft_lab_switches switches; /* never DEFAULT */
	struct soft soft;                /* soft switches: the nodes of switches are empty */
	struct node front;               /* the bridge between the hosts' front0 */
	struct weft_lab_fault faults[WEFT_LAB_FAULTS_MAX]; /* age_ns: when it began */
	uint32_t n_faults, next_id;
	struct weft_lab_record records[WEFT_LAB_RECORDS_MAX]; /* by id, the newest of each place */
	char error[ERROR_BYTES];
};

/* Takes over topo.  False: world->error; world_close is due in any case. */
bool world_open(
	struct world *world, struct weft_topo *topo, const struct weft_lab_options *options);
void world_close(struct world *world);
bool world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool world_enter(struct world *world, uint32_t node); /* this thread into the node's namespace */
/* A namespace and what is needed to work in it; leaves the thread there. */
bool node_open(struct world *world, struct node *node);
void node_close(struct node *node);
bool offloads_off(struct world *world, const struct node *node, const char *ifname);
bool world_sysctl(const char *path, const char *value); /* of the namespace it is in */
int port_ifindex(const struct world *world, uint32_t node, uint32_t port);
void link_mac(uint32_t link, unsigned end, uint8_t mac[6]);
/* At which a link is shaped; 0: it is not. */
uint64_t link_bps(const struct world *world, const struct weft_link *link);
void port_name(const struct world *world, uint32_t node, uint32_t port, char name[16]);

/* The interface at one end of a cable; at NULL: there is none. */
struct end {
	struct node *at;
	int ifindex;
	char name[16];
};
struct end link_end(struct world *world, uint32_t link, unsigned end);
bool link_stats(struct world *world, uint32_t link, struct weft_lab_end_stats ends[2]);
/* Makes both ends take notice of a change now, not when the kernel gets to it. */
void link_sync(struct world *world, uint32_t link);
/* Everything that topo says a node must know, except what is broken just now. */
void table_write(struct world *world, uint32_t node, struct batch *batch);
void table_remove(struct world *world, uint32_t node, struct batch *batch);
void neighbour_write(struct world *world, uint32_t node, uint32_t port, struct batch *batch);

/* ---- switches.c ---- */

enum weft_lab_switches switches_choose(const struct weft_lab_options *options);

/* ---- soft.c, soft_ask.c ---- */

bool soft_make(struct world *world);   /* before the cables */
bool soft_finish(struct world *world); /* after them */
/* Starts the process; name: the lab's, whose folder has the fabric file and takes the sockets. */
bool soft_start(struct world *world, const char *name);
void soft_reap(struct world *world); /* pid_fd is readable */
void soft_close(struct world *world);
struct end soft_end(struct world *world, uint32_t link); /* the upper one */
bool soft_settle(struct world *world);
bool soft_stats(struct world *world, uint32_t link, struct weft_lab_end_stats ends[2]);
int soft_sids(struct world *world, uint32_t node, struct weft_lab_sid sids[], size_t n);

/* ---- front.c: the network on which programs find each other ---- */

bool front_open(struct world *world); /* the hosts' namespaces are there */
bool front_write_names(const char *lab, const struct weft_topo *topo);
/* WEFT_IPV4 of a host; a switch has none. */
bool front_export(const struct weft_topo *topo, uint32_t node);
/* This process from now on: the lab's names in /etc/hosts, node as its host name; or -1. */
int front_use_names(const char *lab, const char *node, char *error, size_t error_bytes);

/* ---- program.c: switches that are a program in the kernel ---- */

bool program_open(struct world *world, uint32_t node); /* its cables are there */
void program_close(struct node *node);
/* Makes the program as the node's want_frozen says; and everything as its wants say. */
void program_freeze(struct node *node);
bool program_settle(struct world *world, uint32_t node);
/* What the program has counted at a port; leaves up and carrier. */
void program_stats(const struct node *node, uint32_t port, struct weft_lab_end_stats *stats);
int program_sids(struct world *world, uint32_t node, struct weft_lab_sid sids[], size_t n);

/* ---- lab_fault.c: from the list of faults to the state of every port ---- */

bool fault_check(struct world *world, const struct weft_lab_fault *fault);
bool fault_add(
	struct world *world, const struct weft_lab_fault *fault, uint64_t now_ns, uint32_t *id);
/* Its time counts from now on: what it took to make it is not taken off. */
void fault_since(struct world *world, uint32_t id, uint64_t now_ns);
bool fault_undo(struct world *world, uint32_t id); /* 0: all */
bool fault_expire(struct world *world, uint64_t now_ns);
bool fault_record(struct world *world, uint32_t id, struct weft_lab_record *record);
uint64_t fault_next_ns(const struct world *world); /* when one ends by itself; UINT64_MAX: none */

/* ---- lab_loss.c ---- */

bool loss_set(struct world *world, uint32_t node); /* the losses of all ports of a node, anew */

/* ---- lab_clock.c ---- */
uint64_t clock_now_ns(void); /* monotonic */

/* ---- state.c: the folder of a lab ---- */

/* name NULL: the folder of all labs.  file NULL: the lab's folder. */
bool state_path(char path[STATE_PATH_BYTES], const char *name, const char *file);
/* From now on, for this process and its children: where it is now, whoever we become. */
bool state_pin(void);
/* Makes and locks the folder; the lock's descriptor, or -1 with error. */
int state_take(const char *name, char *error, size_t error_bytes);
/* Whether the folder of labs may be believed; one that is not there may. */
bool state_is_ours(char *error, size_t error_bytes);
bool state_is_alive(const char *name); /* removes what a dead keeper left */
void state_remove(const char *name);
bool state_name_ok(const char *name);

/* ---- keeper.c ---- */

enum lab_op {
	LAB_HELLO,
	LAB_DOWN,
	LAB_ENTER,
	LAB_FAULT,
	LAB_UNDO,
	LAB_FAULTS,
	LAB_STATS,
	LAB_SIDS,
	LAB_RECORD
};

#define LAB_PROTOCOL 0x5745464c04u

struct lab_request {
	uint64_t protocol;
	uint32_t op, arg;
	struct weft_lab_fault fault;
};

struct lab_reply { /* LAB_FAULTS, LAB_SIDS: n of them follow */
	int32_t result;
	uint32_t n, switches;
	int32_t switch_pid;
	char text[ERROR_BYTES];
	struct weft_lab_end_stats ends[2];
	struct weft_lab_record record;
};

/* Never returns.  Writes "" (up) or an error line to ready_fd. */
void keeper_run(const char *name, struct weft_topo *topo, const struct weft_lab_options *options,
	int lock_fd, int ready_fd) __attribute__((noreturn));

#endif
