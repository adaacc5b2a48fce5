/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_LOOP_H
#define WEFT_LOOP_H
/*
 * loop - a small fabric in one process and in virtual time, behind the port contract of net.h.
 *
 *   node 0 --[NIC port, rate]--+-- EV (plane, uplink): delay, loss --+--[queue, rate]--> node 1
 *                              +-- ...                               +
 *
 * Any number of nodes, each with one port per plane.  A packet leaves its node's port at the
 * port's rate, takes its path's delay, queues for the last link (where it may be marked, trimmed
 * or dropped) and arrives.  Packets of one path never overtake each other.  Peer numbers are node
 * numbers; an EV is plane << 16 | uplink, as in topo.h.
 *
 * Time     Virtual ns, starting at 1; moves only in weft_loop_step().
 * Memory   As net.h; payload is read from the sender's memory when it is placed.
 * Threads  One for the whole loop.
 * Same seed, same calls: same bytes, same times, same digest.
 */
#include <weft/net.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_LOOP_ANY UINT32_MAX
#define WEFT_LOOP_FAULTS_MAX 256u
#define WEFT_LOOP_NODES_MAX 4096u

struct weft_loop;

/*
 * What lies between the ports, where it is to be more than delays and a queue: whole switches.
 * The loop's own rates, delays, queue and losses are not used then, nor is weft_loop_step().  Who
 * has the middle has the time, which may be finer than nanoseconds, and calls weft_loop_arrive()
 * and weft_loop_run().
 */
struct weft_loop_middle {
	void *user;
	uint32_t (*free)(void *user, uint32_t node); /* planes whose line takes a packet now */
	void (*send)(void *user, uint32_t node, const struct weft_pkt *pkt);
};

struct weft_loop_config {
	uint32_t nodes, planes, uplinks;
	uint64_t rate_bps;    /* of a NIC port and of the last link; 0: no limit */
	uint64_t delay_ns;    /* one way, serialisation not counted */
	uint64_t spread_ns;   /* each path adds a fixed 0 .. this, drawn from the seed */
	uint32_t nic_pkts;    /* a port takes more while fewer than this wait in it; 0: 4 */
	uint32_t queue_bytes; /* of the last link; 0: no limit */
	uint32_t ecn_min_bytes, ecn_max_bytes; /* marks none below, all above; 0: never */
	bool trim;                             /* cut what does not fit instead of dropping it */
	bool wire_check;                       /* every packet becomes bytes and is decoded again */
	uint64_t seed;
	const struct weft_loop_middle *middle; /* lent for the life of the loop; NULL: its own */
};

/* What goes wrong, from when until when.  Fields of ANY match all. */
struct weft_loop_fault {
	uint32_t src, dst, plane, uplink;
	uint64_t from_ns, until_ns;
	uint32_t loss_ppm; /* 1000000: a silent death */
	uint64_t delay_ns; /* added */
	bool carrier;      /* the port `plane` of node `src` sees its link down; loses both ways */
};

struct weft_loop_stats {
	uint64_t sent, delivered, lost, queue_drops, marked, trimmed, data_pkts, data_bytes;
	uint64_t wire_bytes; /* framing included, of all that was sent */
	uint64_t digest;     /* of every delivery: when, to whom, what */
};

/* NULL: the configuration is impossible. */
struct weft_loop *weft_loop_open(const struct weft_loop_config *config);
void weft_loop_close(struct weft_loop *loop);
struct weft_port *weft_loop_port(struct weft_loop *loop, uint32_t node); /* the loop's to close */
/* clock and clock_arg of a pump that runs here. */
uint64_t weft_loop_clock(void *loop);
void weft_loop_attach(
	struct weft_loop *loop, uint32_t node, struct weft_pump *pump, struct weft_endpoint *ep);
/* Who runs at a node in place of a pump: until there is nothing more to do now.  Returns when it is
 * to be called again at the latest; what comes, and weft_loop_kick(), call it sooner. */
typedef uint64_t weft_loop_run_fn(void *arg);
void weft_loop_attach_run( /* run NULL: nobody does any more, as if its host were dead */
	struct weft_loop *loop, uint32_t node, weft_loop_run_fn *run, void *arg);
/* As weft_udp_peer_add(), for who numbers his peers.  Of attr counts udp_port alone: 1 + the node.
 * A port that was never told of any takes nodes for peers. */
int weft_loop_peer_add(struct weft_port *port, uint32_t peer, const struct weft_udp_peer *attr);
void weft_loop_peer_drop(struct weft_port *port, uint32_t peer);
int weft_loop_fault(struct weft_loop *loop, const struct weft_loop_fault *fault);
/* Work was posted on this node: its pump runs in the next step. */
void weft_loop_kick(struct weft_loop *loop, uint32_t node);
/*
 * Goes to the next instant at which anything happens, but not past until_ns, and runs the pumps
 * concerned.  False: nothing is left to happen before until_ns, which is now.
 */
bool weft_loop_step(struct weft_loop *loop, uint64_t until_ns);
/*
 * With a middle.  A packet is there (pkt->peer: whom it is from); and the node's pump runs until it
 * has nothing more to do at that time.  now_ns never goes backwards.
 */
void weft_loop_arrive(struct weft_loop *loop, uint32_t node, const struct weft_pkt *pkt);
void weft_loop_run(struct weft_loop *loop, uint32_t node, uint64_t now_ns);
uint64_t weft_loop_now(const struct weft_loop *loop);
const struct weft_loop_stats *weft_loop_stats(const struct weft_loop *loop);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_LOOP_H */
