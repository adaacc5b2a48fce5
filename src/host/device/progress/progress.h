/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_PROGRESS_H
#define DEVICE_PROGRESS_H
/*
 * progress - who makes a device go, and what of it may wait: for the rest of the room, which says
 * what its program does (polls, posts, goes to sleep) and never looks inside.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <weft/net.h>

struct weft_dev;
struct weft_dev_qp;

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
	struct weft_wake wake; /* of what the next turn sends */
};

struct progress {
	int wake_fd; /* of the thread, wherever it sleeps */
	pthread_t thread;
	bool has_thread, stop, asleep;
	/* device_watch.c */
	pthread_cond_t news;             /* something completed, for pollers that pause */
	bool armed;                      /* the port rings */
	bool stands;                     /* the thread looks now and then only */
	int bell_fd, waits_at;           /* of the port; that which the thread listens to */
	uint32_t waiting, vain;          /* pollers that pause; polls in vain since */
	uint64_t vain_ns, vain_since_ns; /* the last and the first of them */
	struct acks acks;
	struct quiet quiet;
	uint64_t stand_ns;                                  /* how long the thread stands back */
	uint64_t patient_until_ns, patience_ns, owed_bytes; /* of sends not completed */
	struct weft_dev_qp *owing; /* to which was sent last; NULL: none, or it is gone */
	long preemptions;          /* of a polling thread, as last counted; -1: not yet */
	uint64_t wake_at_ns, polled_ns, planes_ns, reap_ns;
	uint64_t faults_ns; /* when the handlers of faults are looked at again */
};

int progress_open(struct weft_dev *dev); /* an errno value */
void progress_close(struct weft_dev *dev); /* what that opened */

/* ---- what a program does ---- */

/* It asks for completions: before, and after it has been told whether there are any.  True: it was
 * kept waiting meanwhile, and there may be some now. */
void progress_poll(struct weft_dev *dev);
bool progress_polled(struct weft_dev *dev, bool has_found);
void progress_post(struct weft_dev *dev);     /* it has posted, and nothing more comes at once */
void progress_sleep(struct weft_dev *dev);    /* it will, until it is told of something */
void progress_complete(struct weft_dev *dev); /* a completion is there */
/* So much more of this queue pair is to be sent; so much has been, or will not be; it is gone. */
void progress_owe(struct weft_dev_qp *qp, uint32_t bytes);
void progress_paid(struct weft_dev *dev, uint32_t bytes);
void progress_forget(struct weft_dev_qp *qp);

/* ---- turns ---- */

/* One turn: packets, completions, feeding.  Returns whether anything moved. */
bool run_once(struct weft_dev *dev);
bool run_done(struct weft_dev *dev); /* of that, completions only */
/* The next one looks at planes, too. */
void run_planes(struct weft_dev *dev);
/* A deadline of the engine came nearer: the thread must not sleep past it. */
void run_wake(struct weft_dev *dev);
void run_greet(struct weft_dev *dev); /* likewise one of greetings */
int run_start(struct weft_dev *dev);  /* the thread; ENOMEM.  Idempotent */
void run_stop(struct weft_dev *dev);  /* without the lock */

#endif /* DEVICE_PROGRESS_H */
