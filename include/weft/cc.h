/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_CC_H
#define WEFT_CC_H
/*
 * cc - the contract of a congestion control: a const table of functions over plain state.
 *
 *   engine --on_ack / on_loss--> [state, <= WEFT_CC_STATE_MAX bytes in the QP] --> window_bytes
 *
 * The engine counts bytes in flight itself, from its records of sent packets, and sends while
 * inflight + packet <= window; an algorithm only moves the window.  Events arrive as structs.
 *
 * Time     now is ns, as in engine.h.
 * Memory   state is zeroed before init and lent by the QP; an algorithm owns nothing else.
 * Threads  as engine.h.
 * Adding one: src/core/engine/cc/NAME.c with a `const struct weft_cc_ops weft_cc_NAME`, and one
 * line in weft_cc_all[] (src/core/engine/cc/cc_table.c).
 */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CC_STATE_MAX 192

/*
 * Zero in any field but the first three means "the algorithm's default", named after each.
 * Fields and defaults: UET 1.0 Tables 3-76 and 3-82; the OCP API exposes the same set.
 */
struct weft_cc_config {
	uint64_t rate_bps;      /* least of both ends' total link rates */
	uint32_t mtu_bytes;     /* nominal bytes of a full packet: weft_nominal_bytes(mtu) */
	uint32_t base_rtt_ns;   /* longest path, full packet, idle fabric */
	bool trimming;          /* switches trim and the peer NACKs trimmed packets */
	bool disable_qa;        /* no quick adapt */
	uint32_t target_qdelay_ns; /* 0.75 * base_rtt with trimming, 1.0 without */
	uint32_t max_cwnd_bytes;   /* 1.5 * rate * base_rtt */
	uint32_t fi, fi_scale_milli; /* 5 * MTU * a; 250 * a */
	uint32_t eta_bytes;          /* 0.15 * MTU * a per adjust period */
	uint32_t gamma_milli, max_md_jump_milli; /* 800; 500 */
	uint32_t adjust_bytes;       /* 8 * MTU */
	uint32_t adjust_period_ns;   /* base_rtt */
	uint32_t qa_gate;            /* 3: act when achieved < MaxWnd / 8 */
	uint32_t qa_threshold_ns;    /* off with trimming; 4 * target without */
	uint32_t fixed_bytes;        /* "fixed": its window; default max_cwnd_bytes */
};

/* An acknowledgement that has come in. */
struct weft_cc_ack {
	uint64_t now;
	uint32_t newly_bytes;    /* the receiver's byte counter moved by this much */
	uint32_t inflight_bytes; /* after this acknowledgement */
	uint32_t rtt_ns;         /* 0: no valid sample */
	uint8_t penalty;         /* CC_STATE.rcv_cwnd_pen, 0..127 */
	bool restore, marked;    /* CC_STATE.restore_cwnd; the trigger carried ECN-CE */
};

/* By what the loss is known. */
enum weft_cc_loss_kind {
	WEFT_CC_LOSS_TRIM,     /* NACKed as trimmed */
	WEFT_CC_LOSS_NACK,     /* NACKed for another reason */
	WEFT_CC_LOSS_INFERRED, /* a gap, or a timer */
};

/* Data that has to be sent again. */
struct weft_cc_loss {
	uint64_t now;
	uint32_t lost_bytes, inflight_bytes; /* inflight after taking lost_bytes out */
	enum weft_cc_loss_kind kind;
};

struct weft_cc_report { /* for eyes and for timers */
	uint32_t cwnd_bytes, base_rtt_ns, target_qdelay_ns, avg_qdelay_ns;
};

struct weft_cc_ops { /* every member required: start from cc/fixed.c */
	const char *name;     /* "fixed", "uet-1.0-nscc": the OCP API's algorithm string */
	uint32_t state_bytes; /* <= WEFT_CC_STATE_MAX */
	void (*init)(void *state, const struct weft_cc_config *config);
	void (*on_ack)(void *state, const struct weft_cc_ack *ack);
	void (*on_loss)(void *state, const struct weft_cc_loss *loss);
	uint32_t (*window_bytes)(const void *state);
	void (*report)(const void *state, struct weft_cc_report *report);
};

extern const struct weft_cc_ops weft_cc_fixed;
extern const struct weft_cc_ops weft_cc_nscc;
extern const struct weft_cc_ops *const weft_cc_all[]; /* NULL-terminated */
const struct weft_cc_ops *weft_cc_find(const char *name); /* NULL: no such algorithm */

#ifdef __cplusplus
}
#endif
#endif /* WEFT_CC_H */
