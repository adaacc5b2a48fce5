/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_RSOCKET_H
#define WEFT_RSOCKET_H
/*
 * rsocket - rsockets: the socket calls of librdmacm.so.1, over rdma_cm and verbs alone.
 *
 *   rsend() --> send ring --- RDMA write with immediate DATA(bytes) ---> receive ring --> rrecv()
 *   more room <----- immediates alone: BYTES(freed), NOTES(taken), FIN(what ends) ----- peer
 *
 * Its interface is rdma-core's <rdma/rsocket.h>.  Only writes and writes with immediate are used:
 * streams run in the strict profile as well.  What goes on the wire is Weft's own: both ends are
 * Weft's in any case, as no other rsockets speak MRC.
 *
 * A socket's number is a descriptor that is readable whenever there is something to look at; for
 * calls that are not of this library it has no use but to be closed by nobody else.
 *
 * Threads  Any, also several at one socket.  After fork() the parent's sockets are the parent's.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The immediate: what it is in the upper three bits, a number in the rest. */
enum weft_rsocket_note {
	WEFT_RSOCK_DATA = 1, /* bytes that follow those before in the receiver's ring */
	WEFT_RSOCK_BYTES,    /* of the ring that have ever been read, modulo 2^29 */
	WEFT_RSOCK_NOTES,    /* of the sender's that have ever been taken, modulo 2^29 */
	WEFT_RSOCK_FIN,      /* 1: I write no more; 2: I read no more */
	WEFT_RSOCK_MAP,      /* a row of the table of mappings has changed */
};

enum {
	WEFT_RSOCK_NUMBER_BITS = 29,
	WEFT_RSOCK_NUMBER = (1 << WEFT_RSOCK_NUMBER_BITS) - 1,
	WEFT_RSOCK_RING_MIN = 4096,
	WEFT_RSOCK_RING_MAX = 1 << 26, /* bytes */
	WEFT_RSOCK_NOTES_AHEAD = 256,  /* DATA and MAP that may be under way */
	WEFT_RSOCK_NOTES_OWN = 32,     /* receives beyond these, for all else */
	WEFT_RSOCK_MAPS = 128,
};

#ifdef __cplusplus
}
#endif
#endif /* WEFT_RSOCKET_H */
