/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SHM_H
#define WEFT_SHM_H
/*
 * shm - packets between processes of one machine: a pool of slots, and rings of their numbers.
 *
 *   near end: a host                                    far end: a switch, or another host
 *      [slot] -- tx ring of plane p: "slot 17 goes" ------------------------------>
 *      <------- fill ring: "these slots are yours to send with" -------------------
 *      <------- rx ring: "slot 99 has arrived, by plane p" ------------------------
 *      [slot] -- done ring: "99 is read" ----------------------------------------->
 *
 * Two hosts back to back use the same rings crosswise (one's tx is the other's rx, one's done the
 * other's fill), so the near end does not know whether a switch is at the other.
 *
 * A slot has one owner at any time: whoever took its number out of a ring last.  Each process keeps
 * a table of its own of who owns what, so a number that was never lent cannot be given back.
 * A packet in a slot is raw IP, from the first IP header on, at WEFT_SHM_HEADROOM.
 *
 * Time     at_ns is when a packet began to be sent (weft_clock_now), or when it arrived; this room
 *          only carries it.  Meeting blocks, within the limits given there.
 * Memory   memfds, mapped by both, sealed against shrinking.  Opening allocates, closing frees.
 * Threads  One per pool, with all its links.
 * Trust    All that map a pool are one user's (the socket's mode is 0600), but may be foul or dead.
 *          What is taken is in range and was ours to take, or is skipped and counted; bytes in
 *          slots can be changed by them at any time, so whoever parses those must survive that.
 * Errors   -1 and one line in error, or a count that is smaller than asked for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SHM_PLANES_MAX 16u
#define WEFT_SHM_SLOTS_MAX (1u << 20)
#define WEFT_SHM_ENTRIES_MAX (1u << 16)
#define WEFT_SHM_EARS_MAX 8u
/* Bytes in front of each packet: room for an outer header or Ethernet, and chosen so that the
 * payload of a write (84 bytes into a packet with native uSIDs) begins a cache line: copies between
 * places whose distance is no multiple of 16 take three times as long (docs/decisions/054). */
#define WEFT_SHM_HEADROOM 108u

/* In flags, of a packet that may not be as a program wrote it: it came in by an interface of the
 * switch, or a link there turns bits.  Whoever trusts memory must not trust what was before it. */
#define WEFT_SHM_DOUBTED 1u
/* Of a host's packet: much more is under way, and nobody waits for this one in particular. */
#define WEFT_SHM_BULK 2u
/* Of a slot in the DONE ring: it was lent to send with, and comes back as it was. */
#define WEFT_SHM_UNUSED 4u

struct weft_shm_desc {
	uint64_t at_ns;
	uint32_t slot;
	uint16_t bytes; /* of the IP packet */
	uint8_t plane;
	uint8_t flags; /* seven bits, the caller's; the uppermost is not carried */
};

struct weft_shm_pool { /* as this process has mapped it; stays where it is while links use it */
	uint8_t *memory;
	uint32_t slots, slot_bytes; /* slot_bytes: a multiple of 64, headroom included */
	int fd;
	uint32_t *owner; /* [slot] 0: this process, otherwise the link that it was lent to */
	uint32_t links;  /* numbers given out */
};

/* slot_bytes: 192 .. 65536, a multiple of 64.  All slots are this process's. */
int weft_shm_pool_open(struct weft_shm_pool *pool, uint32_t slots, uint32_t slot_bytes, char *error,
	size_t error_bytes);
void weft_shm_pool_close(struct weft_shm_pool *pool); /* after its links; all zero is fine */
static inline uint8_t *weft_shm_packet(const struct weft_shm_pool *pool, uint32_t slot)
{
	return pool->memory + (size_t)slot * pool->slot_bytes + WEFT_SHM_HEADROOM;
}
/* Bytes of the largest packet. */
static inline uint32_t weft_shm_packet_max(const struct weft_shm_pool *pool)
{
	return pool->slot_bytes - WEFT_SHM_HEADROOM;
}

/*
 * The near end puts into DONE and TX and takes from FILL and RX; the far end the other way round.
 */
enum weft_shm_ring { WEFT_SHM_FILL, WEFT_SHM_RX, WEFT_SHM_DONE, WEFT_SHM_TX /* + plane */ };

struct weft_shm_link; /* one end of a set of rings */

/* The far end makes the rings; entries: of each, a power of two. */
int weft_shm_link_open(struct weft_shm_link **link, struct weft_shm_pool *pool, uint32_t planes,
	uint32_t entries, char *error, size_t error_bytes);
/* Hangs up, too.  At the far end the slots that the other end had are this process's again; those
 * that it had put into its rings are lost to it.  NULL is fine. */
void weft_shm_link_close(struct weft_shm_link *link);
/* The far end, before closing: up to n slots that come back by it, and which they are.  Call until
 * 0.  (Whoever keeps a list of free slots puts these there.) */
size_t weft_shm_reclaim(struct weft_shm_link *link, uint32_t slots[], size_t n);

uint32_t weft_shm_planes(const struct weft_shm_link *link);
uint32_t weft_shm_entries(const struct weft_shm_link *link); /* of each ring */
/* As many of n as fit; each slot must be this process's, and is not afterwards.  A TX ring says the
 * plane by itself. */
size_t weft_shm_put(
	struct weft_shm_link *link, uint32_t ring, const struct weft_shm_desc descs[], size_t n);
/* As many of n as are there and right. */
size_t weft_shm_take(
	struct weft_shm_link *link, uint32_t ring, struct weft_shm_desc descs[], size_t n);
size_t weft_shm_room(struct weft_shm_link *link, uint32_t ring);        /* for put */
bool weft_shm_waiting(const struct weft_shm_link *link, uint32_t ring); /* something to take */
uint64_t weft_shm_bad(const struct weft_shm_link *link); /* descriptors that were refused */

/*
 * Sleep and wake.  An end that will sleep says so, looks at its rings once more, then waits for
 * wait_fd to be readable; awake again, it says that and clears the bell.  Ringing after a put costs
 * some nanoseconds while the other end is awake, and a system call once per sleep.
 */
void weft_shm_will_sleep(struct weft_shm_link *link, bool will);
/* The same, but who wakes us rings by wait_fd even where there are ears, so that the far end knows
 * who it is: for links that nothing comes by for long, among many. */
void weft_shm_sleep_deep(struct weft_shm_link *link);
int weft_shm_wait_fd(const struct weft_shm_link *link); /* -1 before the meeting */
void weft_shm_bell(struct weft_shm_link *link);         /* wakes the other end if it sleeps */
/* False: the other end is gone (it closed, or its process died). */
bool weft_shm_bell_clear(struct weft_shm_link *link);

/*
 * Ears.  To wake somebody on another CPU costs a virtual machine 10 us, on the same CPU 2.  So a
 * far end with a thread on every CPU may have an eventfd for each, the same for all links: the near
 * end writes to that of the CPU that it runs on, and rings wait_fd where there is none.  n: at most
 * WEFT_SHM_EARS_MAX, before the welcome.  -1: no descriptors are left, and none has been lent.
 */
int weft_shm_ears_lend(struct weft_shm_link *link, const int eventfds[], uint32_t n);

/* Planes whose cable is up, told by the far end (none at first); a change wakes the near end. */
void weft_shm_carrier_set(struct weft_shm_link *link, uint32_t mask);
uint32_t weft_shm_carrier(const struct weft_shm_link *link);

/*
 * The far end lends slots ahead of need and may want them back: the near end may keep so many that
 * it does not use, and gives back the others, marked WEFT_SHM_UNUSED.  A lower number wakes it.
 */
#define WEFT_SHM_KEEP_ALL UINT32_MAX
void weft_shm_keep_set(struct weft_shm_link *link, uint32_t slots);
uint32_t weft_shm_keep(const struct weft_shm_link *link);

/*
 * Meeting over a unix socket (SOCK_SEQPACKET).  The near end dials and says who it is; the far end
 * accepts, decides, and hands over pool and rings.  The connection then is the link's: it carries
 * the bells, and its hang-up is how each end learns of the other's death.
 */
struct weft_shm_hello {
	char host[32];     /* whose NIC this is part of; printable */
	uint16_t udp_port; /* packets to this port are for us; 0: choose one */
	uint32_t planes;   /* 0: as many as there are */
	uint32_t is_host;  /* in a welcome, not 0: no switch is here; send as it shall arrive */
};
/* A socket that does not block; takes the place of one that a dead process left behind. */
int weft_shm_listen(const char *path, char *error, size_t error_bytes);

/*
 * Where callers wait until they have said hello: some dozens, two seconds each, and the oldest goes
 * when more come.  None of this blocks.  Wait until door_fd is readable or next_ns has come, then
 * knock until it says 0.
 */
struct weft_shm_door;
int weft_shm_door_open(
	struct weft_shm_door **door, const char *path, char *error, size_t error_bytes);
void weft_shm_door_close(struct weft_shm_door *door); /* NULL is fine; the path stays */
int weft_shm_door_fd(const struct weft_shm_door *door);
/* When somebody's time is up, or there may be descriptors again; UINT64_MAX: never. */
uint64_t weft_shm_door_next_ns(const struct weft_shm_door *door);
/* Who said nothing in time, nonsense, or had to make room. */
uint64_t weft_shm_door_turned_away(const struct weft_shm_door *door); /* NULL: 0 */
/* 1: somebody has said hello, *fd is the connection.  0: nobody (yet).  -1: one talked nonsense, or
 * left.  now_ns: any clock that only grows. */
int weft_shm_knock(
	struct weft_shm_door *door, uint64_t now_ns, struct weft_shm_hello *hello, int *fd);
/* The far end's side: hello as decided, udp_port filled in.  0: fd now belongs to the link.  -1: he
 * is gone, and fd is closed. */
int weft_shm_welcome(int fd, const struct weft_shm_hello *hello, struct weft_shm_link *link);
void weft_shm_refuse(int fd, const char *why); /* closes fd */
/* The near end's side; blocks for 2 s at most.  Fills pool, link and hello as decided. */
int weft_shm_dial(const char *path, struct weft_shm_hello *hello, struct weft_shm_pool *pool,
	struct weft_shm_link **link, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SHM_H */
