/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_LOCAL_H
#define SIM_LOCAL_H
/*
 * What the files of sim share.
 *
 *   sim_open.c    memory, hosts, switches, connections    sim_run.c   windows and threads
 *   plan.c    sizes, who owns what                    sim_mail.c  frames under way, per receiver
 *   wiring.c  which connections a load needs          sim_flow.c  what waits for what
 *   host.c    routes and alarms of hosts               slab.c  packets, and memory itself
 *   visit.h   one host through one window             wheel.c far-away alarms
 *   mrc.c     hosts with the engine                   baseline.c hosts with another transport
 *   hop.c     one switch through one window           routes.c what baselines' paths follow
 *   sim_fault.c   what breaks, sorted by who is hit       sim_load.c, sim_ideal.c, result.c
 *   ranks.h   several processes: ranks.c agrees, parcel.c carries from one to another
 *
 * A "lane" is what one thread owns: hosts, the T0s above them, a share of the T1s.  It writes into
 * its own memory only, with one exception (slots of the slab change lanes by the batch), and reads
 * other lanes' mail of the window before.
 */
#include <weft/base.h>
#include <weft/nic.h>
#include <weft/sim.h>

#include <pthread.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
	CHUNK_FRAMES = 7,
	CHUNK_BACK = 8,
	SLAB_BATCH = 1024,
	WHEEL_BITS = 8,
	WHEEL_LEVELS = 64 / WHEEL_BITS, /* no time is too far */
	AREAS_MAX = 1024,
	FETCH_VISITS = 5, /* memory is asked for so many visits before it is needed */
	RING_MAX = 4096,
	STEP_WINDOWS_MAX = 16,
	POD_HOSTS = 256, /* that are taken through a step together: what a cache holds */
	OUTGOING = 16,   /* frames that wait for the memory of their boxes; power of two */
	OUTGOING_BOX = 8, /* of these for that of the box itself */
	MAIL_NUMBER_BITS = 20,
	DEPTH_MAX = 16,                        /* messages that a connection has under way */
	ACK_BYTES = 14 + 80 + 8 + 12 + 4 + 4, /* the shortest frame there is */
	DATA_HEADERS = 14 + 80 + 8 + 12 + 4 + 4 + 4 + 16,
};

/* ---- slab.c: memory, and packets by number ---- */

/* Addresses for that many bytes, zero; memory comes when they are touched.  NULL: refused. */
void *memory_reserve(uint64_t bytes);
void memory_release(void *at, uint64_t bytes);
uint64_t memory_available(void); /* what this machine has left; UINT64_MAX: it does not say */

struct slab { /* shared by the lanes: packets, or chunks of mail */
	union {
		uint8_t *items;
		struct weft_pkt *pkts;
		struct chunk *chunks;
	};
	uint32_t item_bytes;
	uint32_t n, n_batches;
	_Atomic uint32_t fresh;
	uint32_t *batches; /* first slot of each full batch that nobody owns */
	pthread_mutex_t lock;
};
struct slab_cache {            /* a lane's */
	uint32_t free, n_free; /* list through the slots themselves */
	uint32_t full;         /* a batch kept aside, complete; NONE: none */
};
bool slab_open(struct slab *slab, uint32_t n, uint32_t item_bytes);
void slab_close(struct slab *slab);
uint32_t slab_refill(struct slab *slab, struct slab_cache *cache);
void slab_spill(struct slab *slab, struct slab_cache *cache);
/* A list of n slots at once. */
void slab_give_list(struct slab *slab, struct slab_cache *cache, uint32_t first, uint32_t last,
	uint32_t n);

static inline uint32_t *slab_link(struct slab *slab, uint32_t slot)
{
	return (uint32_t *)(void *)(slab->items + (uint64_t)slot * slab->item_bytes);
}

static inline uint32_t slab_take(struct slab *slab, struct slab_cache *cache)
{
	uint32_t slot = cache->free;

	if (WEFT_UNLIKELY(slot == NONE))
		return slab_refill(slab, cache);
	cache->free = *slab_link(slab, slot);
	cache->n_free--;
	return slot;
}

static inline void slab_give(struct slab *slab, struct slab_cache *cache, uint32_t slot)
{
	if (WEFT_UNLIKELY(cache->n_free == SLAB_BATCH))
		slab_spill(slab, cache);
	*slab_link(slab, slot) = cache->free;
	cache->free = slot;
	cache->n_free++;
}

/* ---- sim_mail.c: frames under way ---- */

struct chunk {
	uint32_t back[CHUNK_BACK]; /* those before it of the same box; NONE: none */
	struct weft_frame frames[CHUNK_FRAMES];
};
_Static_assert(sizeof(struct chunk) == 256, "four lines");

/* What one lane has sent to one node for one window; valid if its bit is set. */
struct box {
	uint32_t last; /* chunk << 3 | frames in it */
};
static inline uint32_t box_chunk(const struct box *box)
{
	return box->last >> 3;
}
static inline uint32_t box_frames(const struct box *box, uint32_t chunk) /* in that one */
{
	return chunk == box->last >> 3 ? box->last & 7 : CHUNK_FRAMES;
}

struct post { /* one lane's mail for one window */
	struct chunk *chunks; /* of all lanes */
	struct box *boxes;
	uint64_t *bits;
	bool used; /* something was put down */
};

/*
 * What goes to hosts and T0s is put down by windows, what goes to T1s by steps, which are a whole
 * number of windows and no longer than the cables between T0s and T1s.
 */
enum clock { CLOCK_WINDOW, CLOCK_STEP, CLOCKS };
struct mailbox { /* one lane's mail by one clock */
	struct post *posts; /* ring, by number of the window or step */
	uint64_t start_ps;  /* of the one that is being run */
	uint32_t slot;      /* its place in the ring */
};

struct line { /* what a cable is like, one way */
	uint64_t byte_ps_q16;
	uint64_t delay_ps;
};

struct cable { /* where a switch's port leads to */
	uint32_t node;
	uint16_t port; /* over there */
	uint16_t line;
};

struct host {
	union { /* its transport's state */
		void *state;
		struct weft_endpoint *ep;
		struct weft_baseline *baseline;
	};
	uint64_t wake_ps; /* when it wants to be run for its own sake */
	uint64_t digest;
	uint32_t next_flow, end_flow; /* of sim->starts: the heap of what it has to begin */
	uint32_t wheel_next, wheel_prev;
	uint64_t wheel_window; /* WEFT_NEVER: it stands in no list */
	uint16_t wheel_slot;
	uint16_t is_paused;
	uint16_t ports_up, ports_gray; /* bit n: port n; gray: see struct gray */
	uint16_t t0, downlink;
	uint16_t paused; /* bit n: its switch wants no data by port n */
	bool listens; /* something that comes may consume a receive */
};
_Static_assert(sizeof(struct host) == 64, "a hundred thousand of these");

/* One thing that happens to one node. */
enum action_kind { PORT_DOWN, PORT_UP, PORT_RATE, PORT_LOSS, PORT_CORRUPT, FREEZE, THAW };
struct action {
	uint64_t at_ps;
	uint64_t value;
	uint32_t node, order;
	uint16_t port;
	uint8_t kind;
};

/* A port at which not all that comes is well; sorted by node and port, and each its own dice. */
struct gray {
	uint32_t node;
	uint16_t port;
	uint32_t loss_ppm, corrupt_ppm;
	struct weft_rng rng;
};
#define FRAME_PAUSE 0x40u   /* no packet: stop (mark 1), or go on (mark 0) */
#define FRAME_CORRUPT 0x80u /* of weft_frame.flags, next to enum weft_frame_flag: ours */

struct wheel {
	uint32_t *lists; /* [level][slot]: first host; NONE */
	uint64_t bits[WHEEL_LEVELS][(1 << WHEEL_BITS) / 64];
	uint64_t window; /* all before this one have been popped */
	uint32_t n;
};

struct switch_node {
	struct weft_switch *sw;
	struct cable *cables; /* one per port */
	uint64_t *busy;       /* ports where something waits */
	uint64_t *down;       /* ports whose cable is out */
	uint64_t *next_ps;    /* [port], of busy ones: when the next frame starts */
	uint32_t ports;
	uint16_t words; /* of busy and down */
	bool any_down, any_gray;
};

/* A frame on its way into a box whose memory has been asked for. */
struct outgoing {
	struct weft_frame frame;
	uint64_t handle;
	struct post *post; /* NULL: nothing is here */
	uint32_t node;
	uint32_t reserved[3];
};
_Static_assert(sizeof(struct outgoing) == 64, "one line");

struct batch { /* what comes to one node in one window, sorted */
	uint64_t *sorted; /* ps into the window << 32 | port << 20 | number of its frame */
	uint64_t *keys, *keys_spare;
	const struct weft_frame **frames;
	uint32_t n, node; /* NONE: of none */
	uint32_t chunk, last_chunk, chunks; /* a list; NONE: no mail */
};

struct parcel;

struct lane {
	struct weft_sim *sim;
	uint32_t index;
	uint32_t host_first, host_end, t0_first, t0_end, t1_first, t1_end;

	/* the window that is being run */
	uint64_t window, start_ps, end_ps; /* where T1s are run: all windows of the step */
	uint64_t step_end_ps;
	struct mailbox mail_of[CLOCKS];
	uint64_t *due; /* nodes that want to be run as soon as it is their time, whatever comes */
	struct weft_frame_pool pool;
	struct slab_cache cache, chunk_cache;
	uint32_t spare;  /* a slot taken for what the engine may say next */
	uint32_t action; /* of sim->actions, the first of this window or later */
	uint64_t *acted; /* nodes to which something happens in this window */
	struct wheel wheel;

	struct batch mail;  /* of the node that is being run */
	struct batch ahead; /* of the one after it, gathered while memory was slow */
	uint32_t frames_max;
	struct outgoing outgoing[OUTGOING] WEFT_CACHE_ALIGNED; /* ring */
	uint32_t next_outgoing;
	uint32_t *visits; /* nodes to be run in this window, one kind at a time */

	/* routes, as baselines see them */
	uint64_t *dead[2]; /* links: to those that they hang on, to everybody else */
	uint32_t n_dead, route_change, route_epoch;

	/* results */
	struct weft_hist messages;
	uint64_t packet_hops, lost, corrupt, pauses;
	uint32_t flows_done, flows_failed;

	/* what the others see, by parity of the window's turn */
	uint64_t next[2], hops[2];
	uint32_t done[2], failed[2];
	struct parcel **parcels; /* [rank]: where the next one is written */
	char apart[64];
};

/* ---- wiring.c ---- */

struct conn {
	uint32_t src, dst;
	uint32_t first, last; /* flows that are ready and wait until it has room; NONE: none */
	uint16_t job;
	uint8_t depth, posted;
	bool told; /* its receiver must have receives posted */
};

struct flow_end { /* by connection << 1 | is_destination */
	uint32_t qpn, set;
	uint32_t lead; /* the end at the same host whose paths it shares; maybe itself */
	bool sends;    /* of a lead: some end that shares them sends */
};

struct host_ends {
	uint32_t sends, receives; /* queue pairs */
	uint32_t sets, send_sets; /* sets of paths; those that data goes over */
	uint8_t depth;            /* a power of two, or 0 */
	bool told, listens;
};

struct wiring {
	uint32_t n_conns;
	struct conn *conns;
	uint32_t *conn_of; /* [flow]; NONE: it computes */
	uint64_t *told;    /* bits: flows that are written with immediate */
	struct flow_end *flow_ends;
	uint32_t *ends;    /* connection << 1 | is_destination, sorted by host */
	uint32_t *ends_of; /* [host]: first; one more at the end */
	struct host_ends *of_host;
	uint32_t *order;
	void *memory;
	uint64_t bytes;
};
/* Whether the flows can be: hosts, sizes, and edges that lead somewhere and not in a circle. */
bool judge_flows(const struct weft_sim_config *config, const struct weft_sim_flow flows[],
	uint32_t n, char *error, size_t error_bytes);
/* The flows' edges have been judged.  False: out of memory. */
bool wiring_make(struct wiring *wiring, const struct weft_sim_flow flows[], uint32_t n,
	const struct weft_sim_edge edges[], uint32_t hosts);
void wiring_drop(struct wiring *wiring);

/* ---- sim_flow.c ---- */

struct flow_state {
	uint64_t begin_ps; /* of the repetition that stands in the heap */
	uint64_t started_ps, done_ps, arrived_ps;
	uint32_t posted, done; /* repetitions */
	uint32_t arrived;      /* the receiver's */
	uint32_t waiting;      /* edges that hold the next repetition back */
	uint32_t next;         /* in the queue of its connection */
	bool failed;
};

static inline uint32_t flow_repeats(const struct weft_sim_flow *flow)
{
	return flow->repeats ? flow->repeats : 1;
}

/* ---- mrc.c, baseline.c: what is at the hosts ---- */

struct host_kind {
	/* Of its transport's table what is not hot; the rest is in line in its run. */
	uint64_t (*next_ps)(const void *state);
	void (*port_mark)(void *state, uint32_t port, bool is_up, uint64_t now_ps);
	void (*counters)(const void *state, struct weft_counters *counters);
	void (*check)(const void *state);
	bool has_routes; /* its paths are those that switches would choose: routes.c */
	/* Bytes of what a host keeps; 0: impossible. */
	size_t (*block_bytes)(const struct weft_sim_config *config, uint32_t host,
		const struct host_ends *ends);
	void (*open)(struct lane *lane, uint32_t host);
	void (*connect)(struct lane *lane, uint32_t host); /* all hosts are open */
	/* Over one of its ends; false: no path leads there, or it has failed before. */
	bool (*post)(struct lane *lane, uint32_t host, const struct flow_end *end,
		const struct weft_work *work, uint64_t now_ps);
	void (*on_received)(const struct host *host, const struct weft_done *done);
	/* What has come to one end: of a host's ends these are to each other as payloads are. */
	uint64_t (*came)(const struct host *host, const struct flow_end *end);
	void (*run)(struct lane *lane, uint32_t host);
	void (*fetch)(const struct lane *lane, uint32_t host, unsigned visits); /* until its run */
};
extern const struct host_kind hosts_mrc, hosts_baseline;
static inline const struct host_kind *hosts_of(const struct weft_sim_config *config)
{
	return config->baseline.kind ? &hosts_baseline : &hosts_mrc;
}

/* ---- routes.c: paths of baselines ---- */

struct route_asker { /* whose routes */
	const struct lane *lane;
	uint32_t host;
	uint32_t epoch; /* of the routes that it knows */
};

struct route_change {
	uint64_t at_ps;
	uint32_t link, order;
	bool is_far, is_down; /* far: to all but those that it hangs on */
};

struct weft_sim {
	struct weft_sim_config config;
	struct weft_topo_shape shape;
	struct weft_port_profile profiles[2]; /* between switches, to hosts */
	uint64_t hops_ideal;
	uint32_t n_flows, n_actions, n_lines, n_lanes;
	uint32_t n_switches;

	/* time */
	uint64_t window_ps, window; /* the window to be run next, first of a step */
	uint32_t windows;           /* of a step */
	uint32_t first_t1;          /* nodes from here on go by steps */
	uint64_t clock_ps[CLOCKS];  /* how long a window is, and a step */
	uint64_t turns;             /* steps that were run */
	uint64_t until_ps;
	uint32_t rings[CLOCKS]; /* that mail may be for: those being run and those ahead */
	bool is_lossless;
	bool stop[2];  /* by parity of the turn; set by lane 0 for the turn to come */

	/* nodes */
	uint32_t ports_max; /* of any */
	struct host *hosts;
	uint64_t *free_ps;            /* [host][plane] */
	uint16_t *host_lines;         /* [host][plane] */
	struct switch_node *switches; /* by node - hosts */
	struct line *lines;
	struct slab slab, mail; /* packets; chunks */

	/* uSIDs, so that a route is a few look-ups */
	uint16_t *t0_sids, *t1_sids, *host_sids; /* [plane][number] */

	/* flows */
	struct weft_sim_flow *flows;
	struct flow_state *flow_states;
	uint32_t *starts; /* flows by source: each host's heap of what begins, and room */
	struct weft_sim_edge *edges;
	struct waits { /* who waits for a flow, by an edge */
		uint32_t flow, edge;
	} * waits;
	uint32_t *waits_of; /* [flow]: first; one more at the end */
	uint32_t n_waits;
	uint32_t *rkeys; /* [host] */
	struct wiring wiring;
	struct links *links;  /* NULL: there is no other rank */
	const struct host_kind *kind;
	struct route_change *route_changes;
	uint32_t n_route_changes;
	struct action *actions;
	struct gray *grays;
	uint32_t n_grays;

	uint8_t *blocks, *switch_blocks;
	uint64_t *block_of; /* [host]: where its endpoint's begins */
	uint64_t switch_bytes[2];
	struct lane *lanes;
	pthread_barrier_t barrier;
	weft_sim_watch_fn *watch;
	void *watch_arg;
	struct area {
		void *at;
		uint64_t bytes;
	} areas[AREAS_MAX];
	uint32_t n_areas;
};

/* ---- plan.c ---- */

struct plan {
	struct weft_sim_memory memory;
	struct wiring wiring; /* made with it, dropped by whoever has it */
	uint64_t window_ps;
	uint32_t windows; /* of a step */
	uint32_t rings[CLOCKS];
	uint32_t packets;     /* no more can exist at a time */
	uint32_t mail_chunks; /* no more can be in use at a time */
	uint32_t mail_frames; /* of one node and window, no more */
	uint32_t n_lines, ports_max;
	uint64_t switch_bytes[2]; /* of a T0, of a T1 */
};
/* rates: lowest and highest that faults may set a link to; { UINT64_MAX, 0 }: none does. */
bool plan_make(const struct weft_sim_config *config, const struct weft_sim_flow flows[], uint32_t n,
	const uint64_t rates[2], struct plan *plan, char *error, size_t error_bytes);
/* Always false, so that callers can return it. */
bool plan_fail(char *error, size_t error_bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Of an endpoint with that many QPs of each kind; the host's number is part of the seed. */
void plan_endpoint(const struct weft_sim_config *config, uint32_t host, uint32_t sends,
	uint32_t receives, struct weft_config *out);
void plan_host(const struct weft_sim_config *config, uint32_t host, const struct host_ends *ends,
	struct weft_config *out);
void plan_switch(const struct weft_sim_config *config, uint32_t node, struct weft_frame_pool *pool,
	const struct weft_port_profile profiles[2], struct weft_switch_config *out);
uint32_t plan_payload(const struct weft_topo_shape *shape); /* of a full packet */
/* Of ports between switches and of ports to hosts.  False: no switch can have them. */
bool plan_profiles(const struct weft_sim_config *config, struct weft_port_profile profiles[2]);
uint64_t line_ps(uint64_t bps, uint32_t frame_bytes); /* how long a frame takes */
struct share { /* who owns what: hosts, and the same T0s and T1s of all planes */
	uint32_t host_first, host_end, t0_first, t0_end, t1_first, t1_end;
};
struct share plan_share(const struct weft_topo_shape *shape, uint32_t i, uint32_t n);
struct share plan_rank(const struct weft_sim_config *config); /* of this process */
uint32_t plan_lanes(const struct weft_sim_config *config);    /* threads that find work */

/* ---- sim_mail.c ---- */

/*
 * Room for a frame that arrives at that node at at_ps, which is in a later window than this one.
 * The handle comes from the packet's number; all other fields are the caller's to write.  It stays
 * there until OUTGOING others have come or mail_flush() is called.
 */
struct weft_frame *mail_room(struct lane *lane, uint32_t node, uint64_t at_ps, uint32_t number);
/* The same at once; where frames are few. */
void mail_post(struct lane *lane, uint32_t node, uint64_t at_ps, const struct weft_frame *frame);
/* All that was posted is in its box; before anybody looks for mail. */
void mail_flush(struct lane *lane);
/* Gathers and sorts what has come for a node in this window, unless that has been done. */
void mail_collect(struct lane *lane, uint32_t node);
/* For the node that is run next; its packets will be in the cache by then. */
void mail_ahead(struct lane *lane, uint32_t node);
/* The node has been run: its chunks are free. */
void mail_done(struct lane *lane);
/* Earlier still: the last chunk, and when that is there (is_near) those before it. */
void mail_fetch(const struct lane *lane, uint32_t node, bool is_near);
void mail_clear(struct lane *lane);          /* of the step that everybody has run */
uint64_t mail_next(const struct lane *lane); /* next window after the step that it has sent to */
/* Nodes with mail from anybody. */
uint64_t mail_bits(const struct lane *lane, enum clock clock, uint32_t word);
/* The lane is in a window; with is_step in all of the step that begins with it. */
void mail_time(struct lane *lane, uint64_t window, bool is_step);
static inline enum clock mail_clock(const struct weft_sim *sim, uint32_t node)
{
	return node < sim->first_t1 ? CLOCK_WINDOW : CLOCK_STEP;
}
static inline uint64_t mail_ps(const struct lane *lane, uint32_t i)
{
	return lane->start_ps + (lane->mail.sorted[i] >> 32);
}
static inline const struct weft_frame *mail_frame(const struct lane *lane, uint32_t i)
{
	return lane->mail.frames[lane->mail.sorted[i] & ((1u << MAIL_NUMBER_BITS) - 1)];
}

/* Puts it into a box; at what is left of handle says when in the window or step of that slot. */
void mail_put(struct lane *lane, enum clock clock, uint32_t slot, uint32_t node,
	const struct weft_frame *frame, uint64_t handle);

/* ---- wheel.c ---- */

void wheel_init(struct wheel *wheel, uint32_t *lists);
void wheel_set(struct wheel *wheel, struct host hosts[], uint32_t host, uint64_t window);
/* Takes one host out whose window is that or an earlier one; NONE: there is none. */
uint32_t wheel_pop(struct wheel *wheel, struct host hosts[], uint64_t window);
uint64_t wheel_next(const struct wheel *wheel); /* no later than the first; WEFT_NEVER: empty */

/* ---- host.c, hop.c, sim_fault.c, sim_run.c ---- */

void host_alarm(struct lane *lane, uint32_t host); /* into the wheel, or due */
uint64_t host_route(const struct weft_sim *sim, uint32_t src, uint32_t dst, uint32_t ev);
void flow_sort(struct weft_sim *sim); /* what begins, and who waits for whom */
void flow_start(struct lane *lane, uint32_t host, uint64_t now_ps); /* all that begins by now */
void flow_on_done(struct lane *lane, uint32_t host, const struct weft_done *done, uint64_t now_ps);
void baseline_config(const struct weft_sim_config *config, uint32_t host,
	const struct host_ends *ends, struct weft_baseline_config *out);
weft_baseline_path_fn routes_path; /* user: struct route_asker */
bool routes_make(struct weft_sim *sim, char *error, size_t error_bytes);
void routes_advance(struct lane *lane); /* to the window that begins */
void hop_run(struct lane *lane, uint32_t node);
void hop_fetch(const struct lane *lane, uint32_t node, unsigned visits);
void fault_host(struct lane *lane, uint32_t host, const struct action *action);
void fault_switch(struct lane *lane, uint32_t node, const struct action *action);
bool fault_expand(struct weft_sim *sim, const struct weft_sim_fault faults[], uint32_t n,
	char *error, size_t error_bytes);
uint32_t fault_count(
	const struct weft_topo *topo, const struct weft_sim_fault faults[], uint32_t n);
/* Throws the dice for a frame that comes in by a gray port; false: it is lost. */
bool fault_gray(const struct lane *lane, uint32_t node, uint32_t port, struct weft_frame *frame);
/* Next action of this node in this window from *at on; NULL: none. */
const struct action *fault_next(const struct lane *lane, uint32_t node, uint32_t *at);

/* When the next flow of this host begins; WEFT_NEVER: none, as far as is known. */
static inline uint64_t flow_next_ps(const struct weft_sim *sim, const struct host *host)
{
	if (host->next_flow == host->end_flow || host->is_paused)
		return WEFT_NEVER;
	return sim->flow_states[sim->starts[host->next_flow]].begin_ps;
}

/* ---- sim_open.c, sim_run.c ---- */

uint64_t ideal_hops(
	const struct weft_topo_shape *s, const struct weft_sim_flow flows[], uint32_t n);
void *take(struct weft_sim *sim, uint64_t n, uint64_t bytes); /* zero; NULL: no room */
uint16_t line_of(struct weft_sim *sim, uint64_t bps, uint32_t delay_ns); /* found, or added */
void fill_table(const struct weft_sim *sim, uint32_t node); /* a switch's, from the fabric file */
void lanes_run(struct weft_sim *sim, void (*work)(struct lane *lane)); /* each in its thread */

static inline void node_due(struct lane *lane, uint32_t node)
{
	lane->due[node / 64] |= UINT64_C(1) << node % 64;
}

#endif
