/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RSOCKET_LOCAL_H
#define RSOCKET_LOCAL_H
/* What the files of rsock share.  A socket's lock guards all of it; nobody sleeps with it, and a
 * thread is cancelled where it sleeps and nowhere else. */
#include <weft/base.h>
#include <weft/lock.h>
#include <weft/rdmacm.h>
#include <weft/rsocket.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <string.h>

#define CHUNK_MAX 65536 /* one write: the next is copied while it is under way */
#define SENDS_MAX (WEFT_RSOCK_NOTES_AHEAD + WEFT_RSOCK_NOTES_OWN)

enum state {
	OPEN,
	BOUND,
	LISTENING,
	CONNECTING,
	JOINING, /* accepted; may be read, and written when the peer is ready */
	JOINED,
	BROKEN, /* what came before may still be read */
};

enum fin { FIN_WRITE = 1, FIN_READ = 2 };

/* ---- rsocket_flow.c: what may be sent, without any input or output ---- */

struct flow {
	uint32_t out_bytes, in_bytes, peer_bytes; /* of rings: own, own, the peer's */
	/* Ever, all in bytes of the own send ring, riowrite()'s included. */
	uint64_t staged, completed;
	/* Ever, in bytes of the stream, and in notes that need a receive of the peer's. */
	uint64_t sent, sent_freed, notes, notes_freed;
	uint64_t received, consumed, told_bytes;
	uint64_t taken, told_notes;
	uint32_t posted; /* sends that have not completed */
};

void flow_init(struct flow *flow, uint32_t out_bytes, uint32_t in_bytes, uint32_t peer_bytes);
/* Bytes of the stream that can be copied to *out of the send ring and written to *at of the peer's;
 * at most `want`. */
uint32_t flow_can_send(const struct flow *flow, uint32_t want, uint32_t *out, uint32_t *at);
uint32_t flow_can_stage(const struct flow *flow, uint32_t want, uint32_t *out);
bool flow_can_note(const struct flow *flow);
bool flow_is_roomy(const struct flow *flow); /* enough that a poll says so */
void flow_send(struct flow *flow, uint32_t bytes);
/* Bytes that can be read at *at of the receive ring, at most `want`. */
uint32_t flow_can_read(const struct flow *flow, uint32_t want, uint32_t skip, uint32_t *at);
uint64_t flow_readable(const struct flow *flow);
/* A note has come.  False: no peer of ours would say so. */
bool flow_take(struct flow *flow, enum weft_rsocket_note type, uint32_t number);
bool flow_owes_bytes(const struct flow *flow);
bool flow_owes_notes(const struct flow *flow);

/* ---- sockets ---- */

/* All big endian: who we are, in the private data of the connection. */
struct hello {
	uint32_t magic, rkey;
	uint64_t ring, maps;
	uint32_t ring_bytes;
};

/* A row of the table of mappings, big endian.  bytes 0: none. */
struct map_row {
	uint64_t offset, address, bytes;
	uint32_t rkey, serial;
};

struct mapping {
	void *at;
	uint64_t bytes;
	struct ibv_mr *mr;
};

struct request { /* who waits to be accepted */
	struct request *next;
	struct rdma_cm_id *id;
	struct hello hello;
};

struct rsock {
	int fd;         /* an epoll set of all that can wake it */
	int kick_fd;    /* an eventfd: another thread has taken what there was to wake up for */
	uint32_t users; /* calls that are at it, and its number; with the table's lock */
	uint32_t fork_age;
	struct weft_lock lock;
	int family, type;
	enum state state;
	int error;     /* SO_ERROR; given out once */
	int broken_by; /* of BROKEN */
	bool nonblocking, closed, cm_is_due, armed;
	uint8_t own_fin, peer_fin; /* enum fin */
	uint8_t owed_fin;
	uint32_t waiters, kick_left, kick_age, idle;
	/* options */
	uint32_t out_bytes, in_bytes;
	struct linger linger;
	int keepalive, reuse, oobinline, nodelay, v6only;
	/* connection */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t memory_bytes;
	struct hello peer; /* in host order */
	struct flow flow;
	struct request *requests;
	struct mapping maps[WEFT_RSOCK_MAPS];
	struct dgram *dgram; /* NULL: a stream.  Else completions and cq are its queue pair's */
};

static inline int fail(int error)
{
	errno = error;
	return -1;
}

static inline bool is_connected(const struct rsock *rs)
{
	return rs->state == JOINED || rs->state == JOINING;
}

/* No byte will go out any more; what else may have happened. */
static inline bool is_write_over(const struct rsock *rs)
{
	return rs->state == BROKEN || rs->own_fin & FIN_WRITE || rs->peer_fin & FIN_READ;
}

/* ---- names ---- */

static inline in_port_t *name_port(struct sockaddr_storage *name)
{
	return name->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)name)->sin6_port
					   : &((struct sockaddr_in *)(void *)name)->sin_port;
}

static inline void *name_address(struct sockaddr_storage *name, size_t *bytes)
{
	*bytes = name->ss_family == AF_INET6 ? 16 : 4;
	return name->ss_family == AF_INET6
		       ? (void *)&((struct sockaddr_in6 *)(void *)name)->sin6_addr
		       : (void *)&((struct sockaddr_in *)(void *)name)->sin_addr;
}

static inline bool name_is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct sockaddr_storage x = *a, y = *b;
	size_t bytes;
	const void *address = name_address(&x, &bytes);

	return x.ss_family == y.ss_family && *name_port(&x) == *name_port(&y) &&
	       !memcmp(address, name_address(&y, &bytes), bytes);
}

/* ---- rsocket_table.c ---- */

struct rsock *table_new(int family, int type); /* not in the table yet; one user */
bool table_add(struct rsock *rs);              /* false, ENOMEM: it is its maker's still */
struct rsock *table_get(int fd); /* to be put back; NULL: none, or another process's */
void table_put(struct rsock *rs);
/* A call, from its beginning to its end: the same with the socket's lock. */
struct rsock *table_enter(int fd);
long table_leave(struct rsock *rs, long rc); /* rc; errno stays as it is */
bool table_take_out(int fd); /* its number is nobody's any more; false: was not there */
int table_next(int fd);      /* the next greater number in use, or -1 */

/* ---- rsocket_link.c: all with the lock ---- */

int link_open(struct rsock *rs); /* memory and queue pair for rs->id */
void link_close(struct rsock *rs);
void link_hello(const struct rsock *rs, struct hello *hello); /* as it goes on the wire */
bool link_meet(struct rsock *rs, const struct hello *hello);
/* Takes what the CQ has. */
void link_drain(struct rsock *rs);
int link_send(struct rsock *rs, const void *data, uint32_t bytes); /* 0: no room; else how many */
void link_note(struct rsock *rs, enum weft_rsocket_note type, uint32_t number);
void link_settle(struct rsock *rs); /* tells the peer what it should know */
void link_joined(struct rsock *rs); /* from now on it may send */
void link_break(struct rsock *rs, int error);
int link_write(struct rsock *rs, const void *data, uint32_t bytes, uint64_t address, uint32_t rkey);
void link_take(struct rsock *rs, void *to, uint32_t bytes, uint32_t skip);
struct map_row *link_rows(struct rsock *rs, bool own);
bool link_tell_row(struct rsock *rs, uint32_t row); /* false: no room now */

/* ---- rsocket_meet.c ---- */

void meet_progress(struct rsock *rs); /* connection events; with the lock */
void meet_forget(struct rsock *rs);   /* frees all that it has */

/* ---- dgram.c: sockets of datagrams; all with the lock ---- */

int dgram_open(struct rsock *rs);
void dgram_close(struct rsock *rs);
int dgram_bind(struct rsock *rs, const struct sockaddr *address);
int dgram_connect(struct rsock *rs, const struct sockaddr *address); /* NULL: no peer any more */
int dgram_name(struct rsock *rs, struct sockaddr_storage *name, bool of_peer);
ssize_t dgram_send(struct rsock *rs, const struct iovec *iov, int n, int flags,
	const struct sockaddr *to, socklen_t to_bytes);
/* How long it is, even if there is less room. */
ssize_t dgram_receive(
	struct rsock *rs, const struct iovec *iov, int n, int flags, struct sockaddr_storage *from);
void dgram_progress(struct rsock *rs);
short dgram_ready(const struct rsock *rs);
bool dgram_is_flushed(struct rsock *rs);

/* ---- wait.c ---- */

void wait_progress(struct rsock *rs);             /* with the lock */
short wait_ready(struct rsock *rs, short events); /* with the lock; as poll() says it */
/* With the lock, which it lets go of meanwhile.  timeout_ms -1: for ever.  0: it is ready; else
 * EAGAIN, EINTR or EBADF. */
int wait_for(struct rsock *rs, short events, int timeout_ms);
/* The same until f() says so. */
int wait_until(struct rsock *rs, bool (*f)(struct rsock *rs), int timeout_ms);
int64_t wait_now_ms(void);

/* ---- rsocket_epoll.c: of librdmacm from rdma-core 65 on, in whose headers alone these are ---- */

struct epoll_event;
int repoll_create(int flags);
int repoll_ctl(int set_fd, int op, int fd, struct epoll_event *event);
int repoll_wait(int set_fd, struct epoll_event *events, int max, int timeout);
bool epoll_close(int fd); /* false: that is no set's */

#endif
