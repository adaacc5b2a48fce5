/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_GREET_H
#define DEVICE_GREET_H
/*
 * greet - what devices say to each other, and what the files about it share: greet.c asks,
 * greet_in.c hears, identity.c says who may be believed, greet_limit.c how often.  For
 * device_local.h.
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

size_t greet_encode(const struct greet *greet, uint8_t bytes[GREET_BYTES_MAX]);
bool greet_decode(const uint8_t *bytes, size_t n, struct greet *greet);

/* ---- greet_limit.c: how many greetings are heard ---- */

/* Why a greeting was dropped: no sense in it; not from who it says; too many a second; an answer
 * to what was not asked. */
enum greet_reason { GREET_MALFORMED, GREET_FORGED, GREET_FLOOD, GREET_UNASKED, GREET_REASONS };

#define GREET_PER_S 8192u        /* of all sources: 10 us each, a twelfth of a CPU */
#define GREET_PER_NET_S 4096u    /* of addresses that one host may invent: those of an IPv6 /64 */
#define GREET_PER_HOST_S 2048u   /* a host's processes together, */
#define GREET_PER_PROCESS_S 512u /* and each of them: as many as there are contacts */
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
/* Takes a token for one greeting; false: there is none left. */
bool greet_may(struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint64_t now);
/* It was one that we waited for: it has cost nothing. */
void greet_give_back(struct weft_dev *dev, const uint8_t addr[16], uint32_t number);

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

/* Whether a greeting comes from the host and the process that it says it is of, by where it is from
 * and whose number that is.  Nothing that it says may be believed otherwise.  *plane: by whose
 * address it came. */
bool identity_is(const struct weft_dev *dev, const struct greet *greet, const uint8_t from[16],
	uint32_t number, uint32_t *plane);
/* What has been proven of a process; NULL: nothing.  Only where there is no fabric file. */
const struct proof *identity_proof(
	const struct weft_dev *dev, const uint8_t gid[16], uint32_t number);
/* The nonce that who asked must echo. */
uint64_t identity_challenge(struct weft_dev *dev, const struct greet *asked);
/* Whether it is the echo of one, which holds once. */
bool identity_has_echoed(struct weft_dev *dev, const struct greet *greet);
/*
 * Where no fabric file says it, whether all addresses that it names are its own.  False: they have
 * just been asked, come again in a moment.  *absent: planes that did not answer in time.
 */
bool identity_planes(struct weft_dev *dev, const struct greet *greet, uint32_t *absent);
bool identity_plane_answered(struct weft_dev *dev, const struct greet *greet, uint32_t plane);
void identity_timers(struct weft_dev *dev, uint64_t now);

/* ---- greet.c ---- */

void greet_start(struct weft_dev_qp *qp);
void greet_stop(struct weft_dev_qp *qp);
void greet_timers(struct weft_dev *dev, uint64_t now);         /* asks again; gives up */
void greet_again(struct weft_dev *dev, const uint8_t gid[16]); /* asks that host at once */
void greet_ask(struct weft_dev *dev, struct contact *contact);
void greet_ask_for(struct weft_dev_qp *qp, uint64_t now);
void greet_own_qp(const struct weft_dev_qp *qp, struct greet_qp *own);
void greet_send_to(struct weft_dev *dev, const uint8_t gid[16], uint32_t number, uint32_t try,
	struct greet *greet);
/* From our address on that plane to this one, which is of the same plane. */
void greet_send_by(struct weft_dev *dev, uint32_t plane, const uint8_t addr[16], uint32_t number,
	struct greet *greet);

/* ---- greet_socket.c ---- */

/* The sockets of this machine become its net. */
int greet_open(struct weft_dev *dev, char *error, size_t error_bytes);
/* Those of processes of this host; bit n. */
void greet_numbers(const struct weft_dev *dev, uint8_t numbers[NUMBERS / 8]);

/* ---- greet_in.c ---- */

void greet_read(struct weft_dev *dev); /* takes in what has come */

#endif /* DEVICE_GREET_H */
