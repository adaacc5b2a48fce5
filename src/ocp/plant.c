/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plant - profiles in shared memory: one file per device and user, guarded by a robust mutex.
 *
 * A process that dies inside the lock leaves at worst one profile half changed, and its controller
 * is gone with it; the next one may go on.  A process that dies with QPs leaves counts; they are
 * taken back when somebody asks, because the kernel knows who lives.  The first process after a
 * time without any finds everything in INIT, as after a reset of the NIC: the file's name may have
 * been another lab's.
 */
#include "plant.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x5f4d5243u /* and the layout's version in `bytes` */

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int rc = pthread_mutexattr_init(&attr);

	if (rc)
		return rc;
	rc = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!rc)
		rc = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!rc)
		rc = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return rc;
}

/* Called with the file locked, so that one process makes it and the others find it made. */
static struct plant *map(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (st.st_uid != geteuid()) {
		errno = EPERM;
		return NULL;
	}
	bool fresh = st.st_size == 0;
	if (fresh && ftruncate(fd, sizeof(struct plant)))
		return NULL;
	if (!fresh && st.st_size != (off_t)sizeof(struct plant)) {
		errno = EPROTO;
		return NULL;
	}
	struct plant *plant =
		mmap(NULL, sizeof(*plant), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (plant == MAP_FAILED)
		return NULL;
	if (plant->magic == 0) { /* fresh, or its maker died before this was written */
		errno = init_lock(&plant->lock);
		plant->bytes = sizeof(*plant);
		if (!errno)
			plant->magic = MAGIC;
	}
	if (plant->magic != MAGIC || plant->bytes != sizeof(*plant)) {
		munmap(plant, sizeof(*plant));
		errno = EPROTO;
		return NULL;
	}
	return plant;
}

static void bury_dead(struct plant *plant)
{
	for (uint32_t i = 0; i < PLANT_USERS; i++) {
		int pid = plant->user[i].pid;

		if (pid && kill(pid, 0) && errno == ESRCH)
			memset(&plant->user[i], 0, sizeof(plant->user[i]));
	}
}

/* This process's row, or a free one, or NULL. */
static struct plant_user *find_own(struct plant *plant)
{
	struct plant_user *own = NULL;

	for (uint32_t i = 0; i < PLANT_USERS; i++) {
		if (plant->user[i].pid == getpid())
			return &plant->user[i];
		if (!own && !plant->user[i].pid)
			own = &plant->user[i];
	}
	return own;
}

static bool attach(struct plant *plant)
{
	bool is_first = true;

	plant_lock(plant);
	bury_dead(plant);
	for (uint32_t i = 0; i < PLANT_USERS; i++)
		is_first &= !plant->user[i].pid;
	if (is_first) {
		memset(plant->fmt, 0, sizeof(plant->fmt));
		memset(plant->evs, 0, sizeof(plant->evs));
		memset(plant->cc, 0, sizeof(plant->cc));
		plant->ports_shut = 0;
	}
	struct plant_user *own = find_own(plant);

	if (own) {
		own->pid = getpid();
		own->opens++;
	}
	plant_unlock(plant);
	return own != NULL;
}

struct plant *plant_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return NULL;
	struct plant *plant = flock(fd, LOCK_EX) ? NULL : map(fd);
	int error = errno;

	if (plant && !attach(plant)) {
		munmap(plant, sizeof(*plant));
		plant = NULL;
		error = ENOMEM;
	}

	flock(fd, LOCK_UN); /* the mapping keeps the file open, and so its lock */
	close(fd);
	errno = error;
	return plant;
}

void plant_close(struct plant *plant)
{
	if (!plant)
		return;
	plant_lock(plant);
	struct plant_user *own = find_own(plant);

	if (own && own->pid && !--own->opens)
		memset(own, 0, sizeof(*own));
	plant_unlock(plant);
	munmap(plant, sizeof(*plant));
}

void plant_lock(struct plant *plant)
{
	if (pthread_mutex_lock(&plant->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&plant->lock);
}

void plant_unlock(struct plant *plant)
{
	pthread_mutex_unlock(&plant->lock);
}

struct plant_fmt *plant_fmt_find(struct plant *plant, uint64_t id)
{
	for (uint32_t i = 0; i < PLANT_PROFILES; i++) {
		if (plant->fmt[i].state != MRC_CTL_PROFILE_INIT && plant->fmt[i].id == id)
			return &plant->fmt[i];
	}
	return NULL;
}

struct plant_evs *plant_evs_find(struct plant *plant, uint64_t id)
{
	for (uint32_t i = 0; i < PLANT_PROFILES; i++) {
		if (plant->evs[i].state != MRC_CTL_PROFILE_INIT && plant->evs[i].id == id)
			return &plant->evs[i];
	}
	return NULL;
}

struct plant_cc *plant_cc_find(struct plant *plant, uint64_t id)
{
	for (uint32_t i = 0; i < PLANT_PROFILES; i++) {
		if (plant->cc[i].state != MRC_CTL_PROFILE_INIT && plant->cc[i].id == id)
			return &plant->cc[i];
	}
	return NULL;
}

struct plant_fmt *plant_fmt_take(struct plant *plant, uint64_t id)
{
	struct plant_fmt *fmt = plant_fmt_find(plant, id);

	for (uint32_t i = 0; i < PLANT_PROFILES && !fmt; i++) {
		if (plant->fmt[i].state != MRC_CTL_PROFILE_INIT)
			continue;
		fmt = &plant->fmt[i];
		memset(fmt, 0, sizeof(*fmt));
		fmt->id = id;
	}
	return fmt;
}

struct plant_evs *plant_evs_take(struct plant *plant, uint64_t id)
{
	struct plant_evs *evs = plant_evs_find(plant, id);

	for (uint32_t i = 0; i < PLANT_PROFILES && !evs; i++) {
		if (plant->evs[i].state != MRC_CTL_PROFILE_INIT)
			continue;
		evs = &plant->evs[i];
		uint32_t changes = evs->changes;

		memset(evs, 0, sizeof(*evs));
		evs->id = id;
		evs->changes = changes + 1;
	}
	return evs;
}

struct plant_cc *plant_cc_take(struct plant *plant, uint64_t id)
{
	struct plant_cc *cc = plant_cc_find(plant, id);

	for (uint32_t i = 0; i < PLANT_PROFILES && !cc; i++) {
		if (plant->cc[i].state != MRC_CTL_PROFILE_INIT)
			continue;
		cc = &plant->cc[i];
		memset(cc, 0, sizeof(*cc));
		cc->id = id;
	}
	return cc;
}

uint32_t plant_evs_users(struct plant *plant, const struct plant_evs *evs)
{
	uint32_t n = 0;

	bury_dead(plant);
	for (uint32_t i = 0; i < PLANT_USERS; i++)
		n += plant->user[i].evs[evs - plant->evs];
	return n;
}

uint32_t plant_cc_users(struct plant *plant, const struct plant_cc *cc)
{
	uint32_t n = 0;

	bury_dead(plant);
	for (uint32_t i = 0; i < PLANT_USERS; i++)
		n += plant->user[i].cc[cc - plant->cc];
	return n;
}

bool plant_use(struct plant *plant, const struct plant_evs *evs, const struct plant_cc *cc, int by)
{
	bury_dead(plant);
	struct plant_user *own = find_own(plant);

	if (!own)
		return false;
	own->pid = getpid();
	if (evs)
		own->evs[evs - plant->evs] = (uint16_t)(own->evs[evs - plant->evs] + by);
	if (cc)
		own->cc[cc - plant->cc] = (uint16_t)(own->cc[cc - plant->cc] + by);
	return true;
}

void plant_tell(struct plant *plant, uint64_t profile_id, const struct mrc_ctl_ev *ev,
	enum mrc_ctl_ev_state state)
{
	plant->event[plant->events % PLANT_EVENTS] =
		(struct plant_event){ .profile_id = profile_id, .ev = *ev, .state = state };
	plant->events++;
}
