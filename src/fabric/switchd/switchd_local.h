/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWITCHD_LOCAL_H
#define SWITCHD_LOCAL_H
/* switchd_local - what the files of switchd share. */
#include <weft/accept.h>
#include <weft/base.h>
#include <weft/network.h>
#include <weft/shm.h>
#include <weft/switchd.h>
#include <weft/topo.h>

#include <pthread.h>
#include <stdatomic.h>

#define PATH_BYTES 108 /* sockaddr_un's */
#define ERROR_BYTES 256
#define PROCESSES_MAX 2048u
#define CLIENTS_MAX 16u
#define BURST 64u /* packets that are moved together */

/* Why an edge of the fabric drops, beside the switches' own reasons (switch_drops.def). */
#define EDGE_DROPS(DROP)                                                                           \
	DROP(NOBODY, "nobody", "no process holds its UDP port, and the host has no interface")     \
	DROP(RX_FULL, "rx_full", "the process that it is for does not read")                       \
	DROP(BAD_DESCRIPTOR, "bad_descriptor", "a process named a slot not its own, or no length") \
	DROP(NO_SLOT, "no_slot", "no free slot, or no place in the fabric")                        \
	DROP(GIANT, "giant", "longer than the MTU: is segmentation offload on?")                   \
	DROP(REFUSED, "refused", "the host's interface did not take it")                           \
	DROP(PROGRAM, "program_refused", "a program that wanted to attach: it heard why")          \
	DROP(CALLER, "caller_silent", "a connection that said nothing in time, or nonsense")

enum edge_drop {
#define DROP(NAME, key, text) EDGE_##NAME,
	EDGE_DROPS(DROP)
#undef DROP
		EDGE_DROP_COUNT
};

/* ---- switchd_clock.c ---- */
uint64_t real_now_ns(void);      /* monotonic, as shm's time stamps */
uint64_t real_unix_ns(void);     /* as the kernel's time stamps on received packets */
void real_sleep_ns(uint64_t ns); /* about; a signal ends it early */

/* ---- slots.c: which slots of the pool are free ---- */

#define SLOT_NONE UINT32_MAX

struct slots {
	uint32_t *free;
	bool *is_from_wire; /* by slot: what lies there came in by an interface */
	uint32_t n, n_free;
};
bool slots_open(struct slots *slots, uint32_t n);
void slots_close(struct slots *slots);
uint32_t slots_take(struct slots *slots); /* SLOT_NONE: all are in use */
void slots_give(struct slots *slots, uint32_t slot);

/* ---- parse.c: which UDP port a packet is for, whatever it is wrapped in ---- */

/* 0: none (another protocol, a later fragment, or broken). */
uint16_t packet_udp_port(const uint8_t *ip, size_t bytes);

/* ---- switchd_nic.c: the programs of hosts, by shared memory ---- */

#define RING_ENTRIES 2048u /* 5 ms at 13 Gb/s: a process may have to wait for its turn */

struct process {              /* of a host; has attached, and holds one UDP port of its NIC */
	struct process *next; /* of the same host */
	struct weft_shm_link *link;
	uint32_t index, place; /* its number; its place in the list of all */
	uint32_t host, planes;
	uint16_t udp_port;
	uint32_t lent, held; /* slots that are his: to send with; delivered to him */
	uint64_t sent, received;
	uint64_t sent_before; /* before this turn */
	uint64_t sent_ps;     /* when last */
	uint64_t seen_ps;     /* sent, or was delivered something, when last */
	bool is_active;       /* has sent, and has not been asked to give back since */
	uint32_t n_out;
	struct weft_shm_desc out[BURST];
};

struct nic {
	struct process **of_host;               /* first of each host */
	struct process *process[PROCESSES_MAX]; /* by number; NULL: free */
	struct process *list[PROCESSES_MAX];    /* the n that are there: n_polled, then who rings */
	uint32_t n, n_polled, turn, max, n_active; /* max: programs, at a time */
	uint64_t recalled_ps;                      /* when unused slots were last asked for */
	uint64_t frame_ps;                         /* a full frame on a host's line */
	uint64_t bad; /* descriptors without a length, and all of those who are gone */
	struct weft_shm_door *door;
};

bool nic_open(struct weft_switchd *sw, const char *path);
void nic_close(struct weft_switchd *sw);
void nic_accept(struct weft_switchd *sw, uint64_t now_ns); /* who has said hello, or never did */
void nic_wake(struct weft_switchd *sw, uint32_t index);    /* he rings, or is gone */
/* Takes what may have begun to be sent by now, and gives slots back and forth; how many. */
size_t nic_take(struct weft_switchd *sw, uint64_t now_ps);
/* True: the packet is for a process and will be put into its ring by nic_flush(). */
bool nic_deliver(struct weft_switchd *sw, const struct weft_network_out *out);
void nic_flush(struct weft_switchd *sw);
void nic_carrier(struct weft_switchd *sw); /* tells all which planes are up */
/* Before a sleep, and after.  False: something came meanwhile, do not sleep. */
bool nic_will_sleep(struct weft_switchd *sw, bool will);
uint64_t nic_bad(const struct weft_switchd *sw);

/* ---- lend.c: who may hold how many slots ---- */

#define LENT_FIRST 4u /* to begin with; each program has a right to so many */

void lend_open(struct weft_switchd *sw, uint64_t files_max); /* 0: it is not known */
void lend(struct weft_switchd *sw, struct process *p);       /* tops up */
void lend_sends(struct weft_switchd *sw, struct process *p, uint64_t now_ps);
void lend_stops(struct weft_switchd *sw, struct process *p);
/* Where the pool runs low: asks those who have sent nothing for a while to give back. */
void lend_recall(struct weft_switchd *sw, uint64_t now_ps);
bool lend_may_hold(const struct weft_switchd *sw, const struct process *p); /* one more, received */

/* ---- ears.c: threads that are woken by programs on their own CPU ---- */

struct ear {
	struct weft_switchd *sw;
	pthread_t thread;
	int fd; /* eventfd, which all programs have */
};

struct ears {
	pthread_mutex_t baton; /* who has it is the switch */
	_Atomic uint32_t waiting;
	_Atomic bool called; /* an ear was woken, and nobody has looked since */
	uint32_t n;          /* threads; 0: there are no ears */
	_Atomic bool ends;   /* all ears are to end */
	int kick_fd;         /* wakes the main thread */
	struct ear ear[WEFT_SHM_EARS_MAX];
};

/* None where threads may not run in real time.  The caller has the baton then. */
void ears_open(struct weft_switchd *sw, bool is_real_time);
void ears_close(struct weft_switchd *sw); /* the caller gives it back */
void ears_lend(const struct weft_switchd *sw, struct weft_shm_link *link);
void ears_heard(struct weft_switchd *sw); /* the main thread has been woken by one */
/* Whether an ear has left its work to who gave the baton a moment ago. */
bool ears_are_called(struct weft_switchd *sw);
void baton_take(struct weft_switchd *sw);
void baton_give(struct weft_switchd *sw);
bool baton_is_wanted(struct weft_switchd *sw);

/* ---- iface.c: hosts behind interfaces ---- */

struct iface {
	int fd, ifindex;
	uint32_t host, plane, link;
	char name[16];
	uint8_t ether[14]; /* of what we send */
	bool is_up;        /* our end: as we have set it */
	bool is_ready;     /* to be read */
	uint64_t sent, received;
};

struct ifaces {
	struct iface *all; /* host by host, plane by plane; fd -1: none */
	uint32_t n, found;
	int tx_fd, netlink_fd, ioctl_fd;
	uint64_t looked_ps; /* what comes now came later than this */
	uint32_t n_out;
	struct weft_network_out out[BURST];
	struct iface_batch *batch;
};

bool ifaces_open(struct weft_switchd *sw, const char *format);
void ifaces_close(struct weft_switchd *sw);
size_t ifaces_take(struct weft_switchd *sw, uint64_t now_ps);
bool ifaces_deliver(struct weft_switchd *sw, const struct weft_network_out *out);
void ifaces_flush(struct weft_switchd *sw);
void ifaces_carrier(struct weft_switchd *sw); /* sets our ends as the network's links are */
void ifaces_notice(struct weft_switchd *sw);  /* the kernel has news about interfaces */

/* ---- control.c: the socket, and lines ---- */

struct client {
	int fd; /* -1: free */
	char *answer;
	size_t sent, answer_bytes, got;
	uint64_t moved; /* bytes of answers that it has read */
	char line[4096];
};
bool control_open(struct weft_switchd *sw, const char *path);
void control_close(struct weft_switchd *sw);
void control_accept(struct weft_switchd *sw, uint64_t now_ns);
void control_serve(struct weft_switchd *sw, uint32_t client); /* may be read or written */
void control_tidy(struct weft_switchd *sw, uint64_t now_ns);  /* ends whose time is up */
uint64_t control_next_ns(const struct weft_switchd *sw);      /* when that is, for the first */

/* ---- switchd_request.c, report.c: what the lines mean ---- */

struct json_t;
/* The answer to a line, with its newline, for free(); never NULL but for want of memory. */
char *request_answer(struct weft_switchd *sw, const char *line, size_t bytes);
struct json_t *report_hello(struct weft_switchd *sw);
struct json_t *report_counters(struct weft_switchd *sw, uint32_t node); /* NONE: of all */
struct json_t *report_table(struct weft_switchd *sw, uint32_t node);
struct json_t *report_links(struct weft_switchd *sw);

/* ---- switchd.c, switchd_loop.c ---- */

/* What an epoll event is about. */
enum watch {
	WATCH_PORTS,
	WATCH_PROCESS,
	WATCH_IFACE,
	WATCH_NETLINK,
	WATCH_CONTROL,
	WATCH_CLIENT,
	WATCH_EARS,
};

enum { LINK_TOLD_DOWN = 1, LINK_FAR_DOWN = 2 }; /* by a request; its host's interface is down */

struct told { /* about a link, as requests have said; the network acts on it */
	uint8_t down, hole;
	uint32_t loss_ppm[2], spoil_ppm[2];
	uint64_t rate_bps;
};

struct weft_switchd {
	struct weft_topo *topo;
	const struct weft_topo_shape *shape;
	struct weft_network *network;
	struct weft_shm_pool pool;
	struct slots slots;
	struct nic nic;
	struct ears ears;
	struct ifaces ifaces;
	struct client clients[CLIENTS_MAX];
	uint64_t client_until_ns[CLIENTS_MAX]; /* 0: free */
	struct weft_listener control;
	bool control_is_muted; /* no descriptor is left to accept with */
	int epoll_fd, lock_fd;
	char ports_path[PATH_BYTES], control_path[PATH_BYTES];
	char fabric[4096]; /* its path, whole */
	char error[ERROR_BYTES];
	uint64_t rate_bps;
	uint64_t epoch_ns; /* picosecond 0 */
	uint64_t ran_ps;   /* the network has been run up to here */
	uint64_t drops[EDGE_DROP_COUNT];
	struct told *told;                /* per link */
	uint8_t *is_off, *is_frozen;      /* per node */
	uint64_t *on_again_ns;            /* per node; 0: no reboot under way */
	uint64_t next_on_ns;              /* the first of them; WEFT_NEVER */
	uint64_t next_late_ns;            /* when somebody's time is up who says nothing */
	uint64_t window_ns, window_moved; /* when it began; moved since */
	uint64_t gather_ns;               /* to sleep by time; 0: until something comes */
	uint64_t burst_ns;                /* no longer than so, even then */
	uint64_t newest_ps, judged_ps;    /* last packet that came; turn that was judged last */
	uint64_t bulk_ps;                 /* last one of a stream */
	uint64_t looked_ns;               /* for requests and the like, when last */
	bool spoils;                      /* a link turns bits, or has turned some */
	bool is_stopped;
};

bool fail(struct weft_switchd *sw, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool watch_add(struct weft_switchd *sw, int fd, enum watch what, uint32_t index);
static inline uint64_t to_ps(const struct weft_switchd *sw, uint64_t ns)
{
	return ns > sw->epoch_ns ? (ns - sw->epoch_ns) * 1000 : 0;
}
static inline uint64_t to_ns(const struct weft_switchd *sw, uint64_t ps)
{
	return sw->epoch_ns + ps / 1000;
}
/* Everything that is due by now; how many packets were moved. */
size_t loop_turn(struct weft_switchd *sw, uint64_t now_ns);
/* After a turn that moved so much: sleep by time, for more to come meanwhile. */
bool loop_gathers(const struct weft_switchd *sw, size_t moved);
/* Takes in what epoll has to tell. */
void loop_look(struct weft_switchd *sw);
/* After each turn: is this a stream, and how long do its bursts last? */
void loop_judge(struct weft_switchd *sw, uint64_t now_ns, size_t moved);
#define GATHER_NS_MAX 100000u
#define LOOP_AWAKE_NS 15000u /* what is nearer is not slept for */
/* Until the network's next event; WEFT_NEVER: there is none. */
uint64_t loop_wait_ns(const struct weft_switchd *sw);
bool loop_real_time(void); /* for this thread; false: it may not */
/* on_again_ns: of a reboot; 0: stays so. */
void loop_power(struct weft_switchd *sw, uint32_t node, bool on, uint64_t on_again_ns);
/* A link or switch has changed: hosts are to see it. */
void loop_tell_carrier(struct weft_switchd *sw);

#endif /* SWITCHD_LOCAL_H */
