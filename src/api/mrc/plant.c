/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plant - profiles in shared memory, guarded by a robust mutex; plant_file.c has the file.
 *
 * A process that dies inside the lock leaves at worst one profile half changed, and its controller
 * is gone with it; the next one may go on.  A process that dies with QPs leaves counts; they are
 * taken back when somebody asks, because the kernel knows who lives.
 */
#include "plant.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <weft/lock.h>

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

bool plant_attach(struct plant *plant)
{
	plant_lock(plant);
	bury_dead(plant);
	struct plant_user *own = find_own(plant);

	if (own) {
		own->pid = getpid();
		own->opens++;
	}
	plant_unlock(plant);
	return own != NULL;
}

void plant_detach(struct plant *plant)
{
	plant_lock(plant);
	struct plant_user *own = find_own(plant);

	if (own && own->pid && !--own->opens)
		memset(own, 0, sizeof(*own));
	plant_unlock(plant);
}

void plant_lock(struct plant *plant)
{
	int before = weft_cancel_off();

	if (pthread_mutex_lock(&plant->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&plant->lock);
	plant->cancel = before;
}

void plant_unlock(struct plant *plant)
{
	int before = plant->cancel;

	pthread_mutex_unlock(&plant->lock);
	weft_cancel_on(before);
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
