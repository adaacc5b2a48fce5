/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RSOCK_DGRAM_H
#define RSOCK_DGRAM_H
/* What dgram.c, a socket of datagrams, and way.c, its ways to others, share. */
#include "rsocket_local.h"

#define DGRAM_MAGIC 0x57525544u /* WRUD */

enum { SLOTS = 160, RECVS = 128, SENDS = 64, WAYS = 64 };
enum kind { DATA = 1, ASK, ANSWER };

struct head { /* big endian; in front of everything */
	uint32_t magic;
	uint8_t kind, family;
	uint16_t port; /* as programs know it */
	uint8_t address[16];
};

struct way {                        /* to one socket */
	struct sockaddr_storage to; /* as programs know it; family 0: a free row */
	struct head head;           /* who we are, there */
	struct ibv_ah *ah;          /* NULL: not known */
	uint64_t token;
	uint32_t qpn, qkey, vain;
	uint8_t gid[16];
	int64_t asked_ms, used_ms;
};

struct dgram {
	int udp_fd;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t memory_bytes;
	uint8_t gid[16];
	uint32_t qkey, packet_bytes; /* of a packet, with its head */
	uint32_t n_free, posted, sending;
	uint64_t sent, first, end; /* works; and what waits to be read: run freely */
	uint16_t free[SLOTS];
	struct {
		uint16_t slot;
		uint32_t bytes; /* with the head */
	} got[SLOTS];
	struct sockaddr_storage peer; /* family 0: not connected */
	struct way ways[WAYS];
};

/* NULL, errno: none is free, or there is no way.  ENOBUFS: when all that is being sent has left. */
struct way *way_find(struct rsock *rs, const struct sockaddr_storage *to);
/* Takes what has come by the kernel and is no data: questions, answers, or rubbish. */
void way_hear(
	struct rsock *rs, const struct sockaddr_storage *from, const void *packet, size_t bytes);
void way_forget(struct way *way);

#endif
