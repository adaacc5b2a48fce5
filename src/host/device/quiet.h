/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_QUIET_H
#define DEVICE_QUIET_H
/* quiet - what may wait: acknowledgements (acks.c), and waking the switch (quiet.c). */
#include <stdbool.h>
#include <stdint.h>

struct weft_dev;

struct acks {                    /* acks.c: those that were seen last */
	uint64_t since_ns;       /* which they are */
	bool is_held, is_kept;   /* for the program's next words; beyond them */
	uint64_t arrived_before; /* packets of data, when they began to be kept */
	struct trial {
		uint32_t vain, skips; /* in a row, about; those that are let go first */
	} hold, keep;
};

struct quiet {              /* quiet.c */
	uint64_t bulk_ns;   /* when it was looked whether this is a stream */
	int64_t credit_ns;  /* by which posts may be late */
	uint64_t posted_ns; /* the last post; 0: it has polled since */
};

/* ---- acks.c: acknowledgements that wait for company ---- */

/* Before and after a poller's turn, and those of a post. */
void acks_poll(struct weft_dev *dev);
void acks_polled(struct weft_dev *dev);
void acks_post(struct weft_dev *dev);
void acks_posted(struct weft_dev *dev);
void acks_let_go(struct weft_dev *dev); /* the thread's: before its turn, in which they leave */

/* ---- quiet.c: when not to wake the switch ---- */

/* Around a poller's turn, and around those of a post. */
void quiet_poll(struct weft_dev *dev);
void quiet_polled(struct weft_dev *dev);
void quiet_post(struct weft_dev *dev);
void quiet_posted(struct weft_dev *dev);
void quiet_wake(struct weft_dev *dev); /* the switch, for what it has not been woken for */

#endif
