/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_OCP_PLANT_H
#define WEFT_OCP_PLANT_H
/*
 * plant - what a controller has set up on one device, seen by all processes of one user.
 *
 * With a NIC of silicon a controller process programs profiles and other processes' QPs name them.
 * Here the NIC is a library in each process, so what they share lies in a file in shared memory.
 */
#include <mrc_ctl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define PLANT_PROFILES 64u
#define PLANT_EVS 1024u /* of one EV profile */
#define PLANT_FIELDS 64
#define PLANT_EVENTS 4096u   /* 2^; remembered for EV event queues */
#define PLANT_USERS 256u     /* processes at a time */
#define PLANT_STEV_WIDTH 32u /* bits */
#define PLANT_SRV6_WIDTH 256u
#define PLANT_UDP_WIDTH 16u

struct plant_fmt {
	uint64_t id;
	uint8_t state; /* enum mrc_ctl_profile_state; INIT: the slot is free */
	uint8_t mode;  /* enum mrc_ctl_ev_fmt_mode */
	uint8_t n_fields;
	struct mrc_ctl_ev_fmt_field field[PLANT_FIELDS];
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

struct plant_ev {
	struct mrc_ctl_ev ev; /* before expansion */
	bool denied;          /* by a controller */
	bool bad;             /* the last word of a QP that uses it */
};

struct plant_evs {
	uint64_t id;
	uint8_t state;
	uint8_t mode; /* enum mrc_ctl_ev_mode */
	uint64_t fmt_id;
	uint32_t count, min_active;
	int event_mask;
	bool has_min_active, has_event_mask;
	int n_fields;
	uint32_t changes; /* counts, so that whoever copied it sees that it is old */
	struct mrc_ctl_ev_field field[PLANT_FIELDS];
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
	struct plant_ev ev[PLANT_EVS];
};

struct plant_cc {
	uint64_t id;
	uint8_t state;
	bool has_config;
	char algorithm[16]; /* empty: none */
	struct mrc_ctl_cc_nscc_cfg config;
	uint8_t vendor_cfg[MRC_CTL_MAX_VENDOR_CFG_SIZE];
};

struct plant_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	enum mrc_ctl_ev_state state;
};

struct plant_user {
	int pid; /* 0: free */
	uint32_t opens;
	uint16_t evs[PLANT_PROFILES], cc[PLANT_PROFILES]; /* QPs that use this slot */
};

struct plant {
	uint32_t magic, bytes;
	pthread_mutex_t lock; /* robust, between processes */
	int cancel;           /* the holder's cancelability state, as in weft_lock */
	uint32_t ports_shut;  /* by a controller; bit n: plane n */
	uint64_t events;      /* ever; event i lies in event[i % PLANT_EVENTS] */
	struct plant_fmt fmt[PLANT_PROFILES];
	struct plant_evs evs[PLANT_PROFILES];
	struct plant_cc cc[PLANT_PROFILES];
	struct plant_user user[PLANT_USERS];
	struct plant_event event[PLANT_EVENTS];
};

/* One process's hold on the file of a device, by which others see that somebody lives. */
struct plant_file {
	struct plant *plant; /* mapped; NULL: not open */
	int fd;              /* locked, shared, until it is closed */
	char path[192];
};

/*
 * errno value.  EPERM: something at that path is not a file of this user's alone.  EPROTO: another
 * version's, or none at all.  ENOMEM: PLANT_USERS processes have it open.  EBUSY: somebody who has
 * been stopped holds it.  ENOENT: there is none, and it is not to be made.  Whoever is alone with
 * the file finds all profiles in INIT, as after a reset of the NIC.
 */
int plant_open(struct plant_file *file, const char *path, bool may_make);
/* The same under the name `base`, or, where strangers sit there, the next one that is not theirs;
 * file->path is then the one that an error is about.  Takes away what dead processes have left
 * beside it: files of this user whose names begin with the first `family` bytes of it. */
int plant_open_own(struct plant_file *file, const char *base, size_t family);
/* The last one takes the file away. */
void plant_close(struct plant_file *file);
/* At the end of the process: the same, but for the memory, which its threads may still look at. */
void plant_leave(struct plant_file *file);
/* In a child: the lock is the parent's, whose end it must not outlive. */
void plant_disown(struct plant_file *file);

/* A row for this process.  False: there is none free. */
bool plant_attach(struct plant *plant);
void plant_detach(struct plant *plant);
void plant_lock(struct plant *plant);
void plant_unlock(struct plant *plant);

/* Under the lock.  NULL: none is configured under this number. */
struct plant_fmt *plant_fmt_find(struct plant *plant, uint64_t id);
struct plant_evs *plant_evs_find(struct plant *plant, uint64_t id);
struct plant_cc *plant_cc_find(struct plant *plant, uint64_t id);
/* As find; else a free slot, zeroed but for its number; else NULL. */
struct plant_fmt *plant_fmt_take(struct plant *plant, uint64_t id);
struct plant_evs *plant_evs_take(struct plant *plant, uint64_t id);
struct plant_cc *plant_cc_take(struct plant *plant, uint64_t id);

/* QPs of living processes that use it. */
uint32_t plant_evs_users(struct plant *plant, const struct plant_evs *evs);
uint32_t plant_cc_users(struct plant *plant, const struct plant_cc *cc);
/* One QP of this process more (1) or less (-1).  False: no room for another process. */
bool plant_use(struct plant *plant, const struct plant_evs *evs, const struct plant_cc *cc, int by);

void plant_tell(struct plant *plant, uint64_t profile_id, const struct mrc_ctl_ev *ev,
	enum mrc_ctl_ev_state state);

#endif
