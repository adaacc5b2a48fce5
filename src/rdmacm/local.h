/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RDMACM_LOCAL_H
#define RDMACM_LOCAL_H
/* What the files of rdmacm share.  cm_lock guards ids, channels and their events. */
#include <weft/base.h>
#include <weft/rdmacm.h>

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PRIVATE_BYTES 196
#define PORT 1

enum message_type { REQUEST = 1, REPLY, READY, REJECTION, PARTING, PARTED };

struct message { /* big endian on the wire */
	uint32_t magic, qpn, psn, qkey;
	uint8_t type, private_bytes, responder, initiator;
	uint8_t retry, rnr_retry, srq, is_datagram;
	uint8_t gid[16];
	uint8_t private_data[PRIVATE_BYTES];
};

enum state {
	IDLE,
	BOUND,
	LISTENING,
	CONNECTING, /* TCP is on its way */
	KNOCKING,   /* nobody listened: once more in a moment */
	AWAITS_REQUEST,
	AWAITS_REPLY,
	ASKED,    /* the program has been told of a request */
	ANSWERED, /* by a reply, and waits for READY; or has had the reply */
	TOGETHER,
	GONE,
};

struct joined;

struct channel {
	struct rdma_event_channel rdma; /* fd: read end; one byte per event */
	int write_fd;
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
	uint32_t knocks; /* how often nobody listened */
	uint64_t knock_at_ns;
	bool is_sync;
	bool is_resolved; /* its addresses: routes lead from one to the other */
	int ipv6_only;
	bool shares_port;             /* with others that say so, until one listens */
	uint8_t timeout;              /* of its queue pair: 4.096 us * 2^this; 0: for ever */
	uint32_t given, acknowledged; /* events */
	uint64_t parts_at_ns;         /* when to tell that the peer has left; 0: has not */
	struct message local, peer, in;
	size_t in_bytes;
	struct joined *joined;            /* groups, see multicast.c */
	struct ibv_qp_init_attr *qp_init; /* rdma_create_ep's, for requests */
	struct rdma_addrinfo *info;       /* resolved, and not asked for; or NULL */
};

struct event {
	struct rdma_cm_event rdma;
	struct event *next;
	struct id *counted; /* whose acknowledgements count */
	uint8_t private_data[PRIVATE_BYTES];
};

extern pthread_mutex_t cm_lock;
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

/* With cm_lock.  listener: of a request.  from: private data and parameters, or NULL. */
void event_raise(struct id *id, struct id *listener, enum rdma_cm_event_type type, int status,
	const struct message *from);
void event_forget(struct id *id); /* those not yet given out; with cm_lock */
/* Waits for the event of a synchronous id and keeps it; 0 at once for others. */
int event_finish(struct id *id);

/* ---- device.c ---- */

struct ibv_context *device_at(const struct sockaddr *address); /* of this very address; or NULL */
/* The device of an address, or the first; NULL with errno: none. */
struct ibv_context *device_for(const struct sockaddr *address);
struct ibv_pd *device_pd(struct ibv_context *verbs); /* one for who brings none */
int device_gid(struct ibv_context *verbs, uint8_t gid[16]);

/* ---- id.c ---- */

struct id *id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps);
void id_free(struct id *id); /* with cm_lock; its descriptor too */
struct id *id_find(uint64_t serial);
struct id *id_next(const struct id *id); /* NULL: the first; with cm_lock */
int id_open_socket(struct id *id, const struct sockaddr *address); /* bound */
/* Whether others that ask for it may have the port of its socket, too. */
void id_share_port(struct id *id, bool shares);
void id_learn_ports(struct id *id);
bool id_take_pd(struct id *id); /* a domain on the device that it has; false: errno */

/* ---- connect.c ---- */

/* TCP to where the peer listens; what comes of it is told by the thread. */
int connect_start(struct id *id);

/* ---- wire.c ---- */

bool wire_watch(struct id *id, uint32_t epoll_events); /* starts the thread */
void wire_send(struct id *id, enum message_type type);
void wire_handle(struct id *id, uint32_t epoll_events);
void wire_hang_up(struct id *id);
void wire_forget(struct id *id); /* a parting that has not been told */

/* ---- multicast.c ---- */

bool multicast_gid(const struct sockaddr *address, uint8_t gid[16]); /* false: no group's */
void multicast_detach(struct id *id); /* its queue pair is in no group any more */
void multicast_forget(struct id *id); /* leaves all */

/* ---- qp.c ---- */

int qp_to_ready(struct id *id); /* INIT to RTS, with what the peer has said */
int qp_to_error(struct id *id);

#endif
