/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RDMACM_LOCAL_H
#define RDMACM_LOCAL_H
/* What the files of rdmacm share.  cm_lock guards ids, channels and their events. */
#include <weft/base.h>
#include <weft/lock.h>
#include <weft/rdmacm.h>

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PRIVATE_BYTES 196
#define PORT 1
#define DEPTH 16 /* reads and atomics in flight, either way: the device's max_qp_rd_atom */

/* How long a peer is waited for: 1 + CMA_MAX_CM_RETRIES (15) times CMA_CM_RESPONSE_TIMEOUT (2^20 of
 * 4.096 us), drivers/infiniband/core/cma.c. */
#define ANSWER_NS (UINT64_C(16) * 4096 << 20)

enum message_type { REQUEST = 1, REPLY, READY, REJECTION, PARTING, PARTED, GREETING };

struct message { /* big endian on the wire */
	uint32_t magic, qpn, psn, qkey;
	uint8_t type, private_bytes, responder, initiator;
	uint8_t retry, rnr_retry, srq, is_datagram;
	uint16_t port; /* GREETING: which is served here; REQUEST: whose it is.  Of RDMA */
	uint8_t space, reserved;
	uint8_t gid[16];
	uint8_t private_data[PRIVATE_BYTES];
};

/* What is awaited has a deadline (due_ns), and what happens then goes by the state. */
enum state {
	IDLE,
	BOUND,
	LISTENING,
	CONNECTING, /* TCP is on its way to one of the port's places */
	KNOCKING,   /* nobody listened: once more in a moment */
	AWAITS_GREETING,
	AWAITS_REQUEST,
	AWAITS_REPLY,
	ASKED,    /* the program has been told of a request, or will be */
	ANSWERED, /* by a reply, and waits for READY; or has had the reply */
	TOGETHER,
	LEAVING,   /* the peer has left, which is told a little later */
	TIME_WAIT, /* the program has been told */
	GONE,      /* from LEAVING on there is no connection any more */
};

struct joined;

struct channel {
	struct rdma_event_channel rdma; /* fd: counts events */
	struct event *first;
	uint32_t readers; /* in rdma_get_cm_event() now */
	bool was_read;
	pthread_t reader; /* the last */
};

struct id {
	struct rdma_cm_id rdma;
	uint64_t serial;
	struct id *next;
	struct id *listener; /* of AWAITS_REQUEST and ASKED */
	enum state state;
	int fd;
	int claim_fd;     /* holds the name of its port, see rdmacm_port.c */
	uint16_t port;    /* of RDMA, that it is bound to; 0: none */
	char address[64]; /* and the address, as the name has it */
	uint64_t due_ns;  /* of what is awaited; 0: nothing is */
	/* of who calls */
	uint64_t called_ns;
	uint32_t place;    /* which of the port's */
	uint32_t patience; /* rounds in which somebody took the call and said nothing */
	bool was_silent;   /* somebody in this round */
	/* of who listens */
	uint32_t backlog;
	bool is_paused, is_told; /* is_told: of an id that asks */
	bool is_sync;
	bool is_resolved; /* its addresses: routes lead from one to the other */
	int ipv6_only;
	bool shares_port;             /* with others that say so, until one listens */
	uint8_t timeout;              /* of its queue pair: 4.096 us * 2^this; 0: for ever */
	uint32_t given, acknowledged; /* events */
	struct event *reserve;        /* to be raised, see channel.c */
	struct message local, peer, in;
	size_t in_bytes;
	struct joined *joined;            /* groups, see rdmacm_multicast.c */
	struct ibv_qp_init_attr *qp_init; /* rdma_create_ep's, for requests */
	struct rdma_addrinfo *info;       /* resolved, and not asked for; or NULL */
};

struct event {
	struct rdma_cm_event rdma;
	struct event *next;
	struct id *counted; /* whose acknowledgements count */
	uint8_t private_data[PRIVATE_BYTES];
};

extern struct weft_lock cm_lock;
extern pthread_cond_t cm_acked;

static inline struct id *id_of(struct rdma_cm_id *rdma)
{
	return (struct id *)(void *)rdma;
}

static inline int fail(int error)
{
	errno = error;
	return -1;
}

/* ---- channel.c ---- */

/* With cm_lock.  For who has event_reserve()d: of an id that was made, connected or accepted, four
 * from then on.  listener: of a request.  from: private data and parameters, or NULL. */
void event_raise(struct id *id, struct id *listener, enum rdma_cm_event_type type, int status,
	const struct message *from);
/* As many as a connection needs and `more`; false, ENOMEM.  With cm_lock. */
bool event_reserve(struct id *id, uint32_t more);
void event_free(struct event *event); /* and all behind it */
void event_forget(struct id *id);     /* those not yet given out; with cm_lock */
/* Waits for the event of a synchronous id and keeps it; 0 at once for others. */
int event_finish(struct id *id);

/* ---- rdmacm_device.c ---- */

struct ibv_context *device_at(const struct sockaddr *address); /* of this very address; or NULL */
/* The device of an address, or the first; NULL with errno: none. */
struct ibv_context *device_for(const struct sockaddr *address);
struct ibv_pd *device_pd(struct ibv_context *verbs); /* one for who brings none */
int device_gid(struct ibv_context *verbs, uint8_t gid[16]);
void device_hold(void); /* around fork(), in which nobody may be in the middle of it */
void device_let_go(bool in_child);

/* ---- id.c ---- */

struct id *id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps);
void id_free(struct id *id); /* with cm_lock; its descriptor too */
struct id *id_find(uint64_t serial);
struct id *id_next(const struct id *id); /* NULL: the first; with cm_lock */
/* Where the connection of its socket leads, by TCP's ports. */
void id_learn_addresses(struct id *id);
in_port_t *port_at(struct sockaddr *address);
bool id_take_pd(struct id *id); /* a domain on the device that it has; false: errno */

/* ---- rdmacm_port.c ---- */

enum { PORT_PLACES = 16 };
/* Which TCP port carries a port of RDMA, if those before are taken. */
uint16_t port_place(uint8_t space, uint16_t port, uint32_t place);
/* All with cm_lock.  EADDRINUSE: another id has it.  Port 0: one that nobody has. */
int port_claim(struct id *id, const struct sockaddr *address);
int port_share(struct id *id); /* from now on */
int port_listen(struct id *id);

/* ---- call.c: all with cm_lock ---- */

/* TCP to where the peer listens, which is looked for; what comes of it is told by the thread. */
int call_begin(struct id *id);
void call_connected(struct id *id);
bool call_greeted(struct id *id); /* whether the port is served there, as `in` says */
void call_next(struct id *id);    /* it is not, or nobody is there */
void call_due(struct id *id);

/* ---- listen.c: all with cm_lock ---- */

int listen_begin(struct id *id, int backlog);
void listen_accept(struct id *listener);
void listen_due(struct id *listener);
void listen_told(struct id *id);      /* the program knows of this request */
void listen_end(struct id *listener); /* those who wait are told */

/* ---- thread.c: all with cm_lock ---- */

bool thread_watch(struct id *id, uint32_t epoll_events); /* starts the thread */
void thread_alarm(struct id *id, uint64_t ns);           /* from now on; 0: none */

/* ---- wire.c: all with cm_lock ---- */

void wire_send(struct id *id, enum message_type type);
void wire_handle(struct id *id);
void wire_due(struct id *id);
void wire_hang_up(struct id *id);
void wire_fail(struct id *id, enum rdma_cm_event_type type, int status); /* and hangs up */

/* ---- rdmacm_multicast.c ---- */

bool multicast_gid(const struct sockaddr *address, uint8_t gid[16]); /* false: no group's */
void multicast_detach(struct id *id); /* its queue pair is in no group any more */
void multicast_forget(struct id *id); /* leaves all */

/* ---- rdmacm_qp.c ---- */

int qp_to_ready(struct id *id); /* INIT to RTS, with what the peer has said */
int qp_to_error(struct id *id);

#endif
