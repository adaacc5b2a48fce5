/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NCCL_LOCAL_H
#define NCCL_LOCAL_H
/*
 * What the files of nccl share.
 *
 *   plugin.c  the tables that NCCL looks for, and what differs between versions
 *   nccl_nic.c     devices, opened once per process
 *   nccl_meet.c    listen, connect, accept: who is at the other end (TCP, a few hundred bytes)
 *   nccl_memory.c  what is registered: the host's memory, a GPU's
 *   comm.c    a connection, and what has come
 *   nccl_send.c    isend; recv.c: irecv
 *   bounce.c  memory of ours between the network and a GPU, and the copies there
 *
 * A connection is one QP, strict MRC: Write with immediate both ways. The receiver announces a
 * group of buffers by writing a "call" into the sender's memory; the sender writes the data right
 * there. Immediates say which call, and the completion says how many bytes, so nobody polls
 * memory and no byte is copied:
 *
 *      sender                                                     receiver
 *        |  <---- Write-with-immediate: call 17 {n, where, tags} ---- irecv(n buffers)
 *     isend ----- Write-with-immediate: data, "17, entry 2" ---->     test: so many bytes
 *
 * A GPU's memory cannot be written to by anybody but the GPU.  Then data goes in pieces, through a
 * ring of them at that end, or at both, and the next copies go on while others are written:
 *
 *     GPU - copy -> ring --- Write: piece ---------------------->  where the call says
 *                        --- Write-with-immediate: the last ---->
 *     (either)           --- Write-with-immediate: each -------->  ring - copy -> GPU
 *                        <--- immediate alone: "so many copied" --
 */
#include <pthread.h>
#include <stdbool.h>
#include <weft/base.h>
#include <weft/device.h>
#include <weft/gpu.h>
#include <weft/lock.h>
#include <weft/nccl.h>

#define CALLS 64u /* slots for calls: more than can be in flight */
_Static_assert(CALLS > WEFT_NCCL_REQUESTS_MAX, "a slot is free before its number comes again");

/* ---- nccl_nic.c ---- */

struct nic {
	struct weft_dev_name name;
	struct weft_dev *dev; /* NULL: nobody uses it */
	struct weft_dev_pd *pd;
	struct weft_dev_attr attr;
	uint32_t users;
};

extern weft_nccl_log_fn *nccl_log; /* NULL: silent */
#define WARN(...)                                                                                  \
	do {                                                                                       \
		if (nccl_log)                                                                      \
			nccl_log(WEFT_NCCL_LOG_WARN, WEFT_NCCL_LOG_NET, __FILE__, __LINE__,        \
				__VA_ARGS__);                                                      \
	} while (0)

int nic_init(weft_nccl_log_fn *log);
int nic_count(void);
struct nic *nic_get(int dev); /* open; NULL: cannot be.  Give it back. */
struct nic *nic_again(struct nic *nic);
void nic_put(struct nic *nic);
int nic_properties(int dev, struct weft_nccl_properties_v12 *properties);

/* ---- nccl_memory.c ---- */

struct memory {
	struct weft_dev_mr *mr; /* NULL: a GPU's, which only copies reach */
	struct weft_gpu_place place;
	uint64_t at, bytes;
};

struct comm;
int memory_open(struct comm *comm, void *data, size_t bytes, int type, struct memory **memory);
/* By mapping it, else by copies.  fd may be closed afterwards. */
int memory_open_dmabuf(struct comm *comm, void *data, size_t bytes, uint64_t offset, int fd,
	struct memory **memory);
/* Its owner may free it then: what was being copied is waited for.  NULL is fine, for both. */
int memory_close(struct comm *comm, struct memory *memory);
/* Whether [data, data + bytes) lies in it.  The device looks at its own regions itself. */
bool memory_holds(const struct memory *memory, const void *data, size_t bytes);

/* ---- bounce.c ---- */

#define PIECE_BYTES (512u << 10) /* both ends count by it */
#define PIECES 8u
#define LANES_MAX 4u /* GPUs' contexts of a connection: mostly one */

struct piece {
	struct request *request;
	struct weft_gpu_lane *lane;
};

/* begun >= posted >= freed, all run freely; a piece is in place [number % PIECES]. */
struct bounce {
	struct weft_lock lock;        /* of opening: NCCL registers memory by a thread of its own */
	uint8_t *at;                 /* NULL: not needed so far */
	struct weft_gpu_place place; /* by which it is pinned */
	struct weft_dev_mr *mr;
	struct {
		void *context;
		struct weft_gpu_lane *lane;
	} lanes[LANES_MAX];
	struct piece piece[PIECES];
	uint32_t begun, posted, freed;
};

/* For memory of this GPU; opens what is missing.  WEFT_NCCL_CUDA_ERROR, WEFT_NCCL_SYSTEM_ERROR. */
int bounce_lane(struct comm *comm, const struct memory *memory, struct weft_gpu_lane **lane);
/* Starts the copy of the next piece; there must be one.  WEFT_NCCL_CUDA_ERROR. */
int bounce_begin(struct comm *comm, struct request *request, struct weft_gpu_lane *lane,
	enum weft_gpu_way way, uint64_t at, size_t bytes);
/* Whether the copy of piece `number` is through. */
int bounce_copied(struct comm *comm, uint32_t number, bool *done);
void bounce_settle(struct comm *comm); /* until no copy is under way, or one hangs */
void bounce_close(struct comm *comm);  /* nothing is written there any more */

static inline uint32_t bounce_at(uint32_t number)
{
	return number % PIECES * PIECE_BYTES;
}

/* ---- comm.c ---- */

struct call { /* what lies in the sender's memory */
	uint32_t n, number;
	uint32_t by_pieces; /* bits of the entries that go to the receiver's ring: */
	uint32_t pieces, ring_rkey, reserved;
	uint64_t ring;
	struct {
		uint64_t at, bytes;
		uint32_t rkey;
		int32_t tag;
	} entry[WEFT_NCCL_RECVS_MAX];
};

struct calls { /* one end's memory for them */
	struct call slot[CALLS];
};

/* Immediates to the receiver: which entry of which call, whether more comes, how many whole pieces
 * went before.  To the sender: a call's number, or with IMM_FREED how many pieces were copied.  To
 * both, and never one of these (there are no messages of so many pieces): that it gave up. */
#define IMM_MORE UINT32_C(8)
#define IMM_CALL_SHIFT 4
#define IMM_PIECES_SHIFT 10
#define IMM_FREED UINT32_C(0x80000000)
#define IMM_FAILED UINT32_C(0xc0000000)
#define FREED_MASK UINT32_C(0x3fffffff)
_Static_assert(CALLS << IMM_CALL_SHIFT == 1u << IMM_PIECES_SHIFT, "the number of a slot");

struct entry {                      /* of a receive, by pieces */
	struct weft_gpu_lane *lane; /* NULL: it comes in one */
	uint64_t at, room, got;
};

struct outgoing { /* of a send, until all is posted */
	struct request *next;
	uint64_t from, at, bytes, begun, posted; /* begun: copies from a GPU */
	struct weft_gpu_lane *lane;              /* NULL: the host's memory */
	uint32_t lkey, rkey, imm;
	bool by_pieces;
};

struct request {
	struct comm *comm;
	bool used;
	uint32_t number, n; /* of the call; entries */
	uint32_t left;      /* what is still to come: entries, copies; to be posted, completions */
	int bytes[WEFT_NCCL_RECVS_MAX];
	union {
		struct entry entry[WEFT_NCCL_RECVS_MAX];
		struct outgoing out;
	};
};

struct comm {
	struct nic *nic;
	struct weft_dev_cq *cq;
	struct weft_dev_qp *qp;
	struct weft_dev_mr *calls_mr;
	struct calls *calls; /* sender: where they come; receiver: where they are composed */
	bool is_sender;
	int error; /* enum weft_nccl_result; for good */

	uint64_t peer_calls; /* receiver: where they go */
	uint32_t peer_rkey;
	uint32_t next;            /* number of the next call to be sent, or to be answered */
	uint32_t came;            /* sender: calls before this number are there */
	struct call known[CALLS]; /* sender: as they came; the peer can write to the others */
	uint32_t taken; /* sender: bits of the entries of call `next` that have their data */

	struct bounce bounce;
	struct request *outbox, *outbox_last; /* sender: what is not all posted, in order */
	uint64_t peer_ring;                   /* sender: the receiver's, from its first call on */
	uint32_t peer_ring_rkey, peer_pieces, peer_put, peer_freed;
	uint32_t told; /* receiver: pieces freed, as the sender knows */
	struct request requests[WEFT_NCCL_REQUESTS_MAX * WEFT_NCCL_RECVS_MAX];
};

struct comm_end { /* what the ends tell each other */
	uint8_t gid[16];
	uint32_t qpn, psn, rkey;
	uint64_t calls;
};

int comm_open(struct nic *nic, bool is_sender, struct comm **comm, struct comm_end *own);
int comm_join(struct comm *comm, const struct comm_end *own, const struct comm_end *peer);
int comm_close(void *comm); /* NULL is fine */
int comm_test(void *request, int *done, int *bytes);
int comm_fail(struct comm *comm, int error);                /* the first one stays */
int comm_progress(struct comm *comm);                       /* comm->error */
struct request *comm_request(struct comm *comm, size_t of); /* one of the first; NULL: none free */
#define NO_REQUEST UINT64_MAX

/* ---- nccl_send.c ---- */

int send_begin(void *comm, void *data, size_t bytes, int tag, void *memory, void **request);
void send_take(struct comm *comm, uint32_t imm); /* from the receiver */
void send_took(struct request *request);         /* a write is done */
void send_progress(struct comm *comm);

/* ---- recv.c ---- */

int recv_begin(void *comm, int n, void **data, const size_t *bytes, const int *tags,
	void **memories, void **request);
void recv_take(struct comm *comm, uint32_t imm, uint32_t bytes); /* from the sender */
void recv_progress(struct comm *comm);

/* ---- nccl_meet.c ---- */

/* Deadlines of whoever has connected to say hello, and of the listener to answer. */
extern uint64_t meet_hello_wait_ns, meet_answer_wait_ns;
int meet_listen(int dev, void *handle, void **listener);
int meet_connect(int dev, void *handle, void **sender);
int meet_accept(void *listener, void **receiver);
int meet_close(void *listener);

#endif
