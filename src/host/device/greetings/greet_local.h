/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_GREET_LOCAL_H
#define DEVICE_GREET_LOCAL_H
/*
 * What the files of greetings share with each other, and with no other part of the device: greet.c
 * asks, greet_in.c hears, identity.c says who may be believed, greet_limit.c how often.
 */
#include "device_local.h"

/* ---- greet_wire.c ---- */

size_t greet_encode(const struct greet *greet, uint8_t bytes[GREET_BYTES_MAX]);
bool greet_decode(const uint8_t *bytes, size_t n, struct greet *greet);

/* ---- greet_limit.c: how many greetings are heard ---- */

#define GREET_PER_S 8192u        /* of all sources: 10 us each, a twelfth of a CPU */
#define GREET_PER_NET_S 4096u    /* of addresses that one host may invent: those of an IPv6 /64 */
#define GREET_PER_HOST_S 2048u   /* a host's processes together, */
#define GREET_PER_PROCESS_S 512u /* and each of them: as many as there are contacts */
/* Takes a token for one greeting; false: there is none left. */
bool greet_may(struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint64_t now);
/* It was one that we waited for: it has cost nothing. */
void greet_give_back(struct weft_dev *dev, const uint8_t addr[16], uint32_t number);

/* ---- identity.c: who it is ---- */

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

void greet_again(struct weft_dev *dev, const uint8_t gid[16]); /* asks that host at once */
void greet_ask_for(struct weft_dev_qp *qp, uint64_t now);
void greet_own_qp(const struct weft_dev_qp *qp, struct greet_qp *own);
/* From our address on that plane to this one, which is of the same plane. */
void greet_send_by(struct weft_dev *dev, uint32_t plane, const uint8_t addr[16], uint32_t number,
	struct greet *greet);

#endif /* DEVICE_GREET_LOCAL_H */
