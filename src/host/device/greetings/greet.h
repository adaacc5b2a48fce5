/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_GREET_H
#define DEVICE_GREET_H
/*
 * greet - what devices say to each other: for the rest of the room, whose queue pairs and contacts
 * are greeted with, and are told of answers.
 */
#include <weft/base.h>
#include <weft/session.h>

struct weft_dev;
struct weft_dev_qp;
struct contact;

/* ---- greet_wire.c ---- */

#define GREET_BYTES_MAX 1200u
#define GREET_MEMBERS_MAX WEFT_DEV_GROUP_QPS_MAX
enum greet_kind {
	GREET_HELLO = 1, /* with an echo it is the challenge that answers another HELLO */
	GREET_HELLO_ANSWER,
	GREET_PAIR,
	GREET_PAIR_ANSWER,
	GREET_WAIT,
	GREET_GROUP,
	GREET_GROUP_ANSWER, /* with a nonce the asker is asked back */
	GREET_PLANE,        /* is this address yours as well? */
	GREET_PLANE_ANSWER,
	GREET_KINDS,
};

struct greet_qp {
	uint32_t qpn, peer_qpn, eq_number, psn, mpr_psns, wimm, rd_atomic;
	uint8_t profile;
	bool trim_nack, dynamic_mpr;
};
struct greet_group { /* of the one who says it */
	uint8_t gid[16], numbers[NUMBERS / 8];
	uint32_t n, qpn[GREET_MEMBERS_MAX];
};
struct greet {
	uint8_t kind;
	uint64_t nonce, echo;
	uint32_t number;
	struct weft_live_end end;
	struct greet_qp qp; /* HELLO*: of the courier; numbers of 0 where a process is meant */
	struct greet_group group; /* GROUP* only */
};
/* The address that names its host: its device's GID. */
static inline const uint8_t *greet_gid(const struct greet *greet)
{
	return greet->end.addr[greet->end.home];
}

/* ---- greet_limit.c: how many greetings are heard ---- */

/* Why a greeting was dropped: no sense in it; not from who it says; too many a second; an answer
 * to what was not asked. */
enum greet_reason { GREET_MALFORMED, GREET_FORGED, GREET_FLOOD, GREET_UNASKED, GREET_REASONS };

#define GREET_SOURCES 64u
#define GREET_NETS 16u

struct greet_source { /* a token bucket */
	uint8_t addr[16];
	uint32_t number, tokens; /* number: of the process; NUMBERS: all of the host's */
	uint64_t full_at_ns;
};
struct greet_sources {
	struct greet_source list[GREET_SOURCES];
	struct greet_source nets[GREET_NETS]; /* of their own: inventions must not push them out */
};

/* ---- identity.c: who it is ---- */

#define CHALLENGES 1024u /* an eighth of a second of GREET_PER_S: longer than a round trip */

struct challenge { /* a HELLO that has been answered with a nonce, which was not echoed yet */
	uint64_t nonce;
	uint8_t gid[16];
	uint32_t number, own_qpn, qpn;
};
struct challenges { /* [nonce % CHALLENGES] */
	struct challenge list[CHALLENGES];
	uint32_t at;
};

#define PROOFS_MAX 256u
#define PROOFS_PER_HOST 64u

struct proof { /* a process that has said which addresses it has */
	struct weft_live_end end;
	uint32_t number, proven, tries; /* proven: planes from whose address it has answered */
	uint64_t nonce, since_ns, ask_at_ns, used_ns;
	bool in_use, was_used; /* was_used: something was opened with what had been proven */
};
struct proofs {
	struct proof *list; /* PROOFS_MAX, or NULL */
	uint64_t second_ns;
	uint32_t tokens;
};

struct greetings {
	int fd; /* of this machine's socket; -1: there is none */
	uint64_t at_ns, second_ns; /* when the next is due; until when tokens are so many */
	uint32_t tokens;           /* for greetings of all sources */
	struct greet_sources sources;
	struct challenges challenges;
	struct proofs proofs;
	uint64_t refused[GREET_REASONS];
};

/* The sockets of this machine become the device's net. */
int greet_open(struct weft_dev *dev, char *error, size_t error_bytes);
void greet_start(struct weft_dev_qp *qp);
void greet_stop(struct weft_dev_qp *qp);
void greet_read(struct weft_dev *dev);                 /* takes in what has come */
void greet_timers(struct weft_dev *dev, uint64_t now); /* asks again; gives up */
void greet_ask(struct weft_dev *dev, struct contact *contact);
void greet_send_to(struct weft_dev *dev, const uint8_t gid[16], uint32_t number, uint32_t try,
	struct greet *greet);
void greet_due(struct weft_dev *dev, uint64_t at_ns); /* greet_timers() then, at the latest */
/* Those of processes of this host; bit n. */
void greet_numbers(const struct weft_dev *dev, uint8_t numbers[NUMBERS / 8]);

#endif /* DEVICE_GREET_H */
