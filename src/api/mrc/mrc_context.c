/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_context - contexts, and the station that all contexts of one device share in this process.
 *
 * Profiles of a device are kept in a file in shared memory, so that a controller and the programs
 * whose QPs use them need not be one process.  Its name has the user, the network namespace and the
 * device: hosts of a lab are namespaces of one machine and have devices of the same name.
 *
 * A child process may take its parent's objects down, which are its own copies.  It has no watcher
 * to wait for and must not count in the parent's name; and nobody may be inside a lock when the
 * process is copied, or the child would wait for a thread that it does not have.
 */
#include "mrc_local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAMILY "/dev/shm/weft-profiles-%u-" /* of all files of a user */

static struct weft_lock stations_lock = WEFT_LOCK_INIT;
static struct station *stations;
static _Atomic uint32_t owners = 1;

static pthread_once_t forks = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	weft_lock_take(&stations_lock);
	for (struct station *at = stations; at; at = at->next)
		weft_lock_take(&at->lock);
	alive_hold();
}

static void after_fork(void)
{
	alive_let_go();
	for (struct station *at = stations; at; at = at->next)
		weft_lock_give(&at->lock);
	weft_lock_give(&stations_lock);
}

static void after_fork_in_child(void)
{
	for (struct station *at = stations; at; at = at->next)
		plant_disown(&at->file);
	after_fork();
}

/* Programs end without destroying what they have: their files are to go all the same. */
__attribute__((destructor)) static void at_end(void)
{
	for (struct station *at = stations; at; at = at->next)
		plant_leave(&at->file);
}

static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

bool station_is_dead(const struct station *station)
{
	return station->pid != getpid();
}

/* A program would only say that there is no context: what is in the way is told here. */
static void complain(const char *path, int error)
{
	const char *why = error == EPERM    ? "this and all like it are another user's"
			  : error == EPROTO ? "the file is another version's, or something else"
			  : error == EBUSY  ? "a process that has been stopped holds it"
			  : error == ENOMEM ? "too many processes use it, or no memory"
					    : strerror(error);

	weft_dev_say("%s: %s: %zu KiB for profiles are kept there; $WEFT_MRC_PROFILES can name "
		     "a file elsewhere",
		path, why, sizeof(struct plant) >> 10);
}

static int open_plant(struct plant_file *file, const struct weft_dev_attr *attr)
{
	const char *path = getenv("WEFT_MRC_PROFILES");
	struct stat netns = { .st_ino = 0 };
	char own[sizeof(file->path)];
	int rc;

	if (path && *path) {
		rc = plant_open(file, path, true);
	} else {
		(void)stat("/proc/self/ns/net", &netns);
		int family = snprintf(own, sizeof(own), FAMILY, (unsigned)geteuid());

		(void)snprintf(own + family, sizeof(own) - (size_t)family, "%llx-%016llx-%zx",
			(unsigned long long)netns.st_ino, (unsigned long long)attr->guid,
			sizeof(struct plant));
		path = own;
		rc = plant_open_own(file, own, (size_t)family);
	}
	if (rc)
		complain(path, rc);
	return rc;
}

static struct station *make(struct weft_dev *dev)
{
	struct station *station = calloc(1, sizeof(*station));
	struct weft_dev_attr attr;

	if (!station)
		return NULL;
	weft_dev_query(dev, &attr);
	station->dev = dev;
	station->pid = getpid();
	station->planes = attr.planes ? attr.planes : 1;
	int rc = open_plant(&station->file, &attr);

	if (rc) {
		free(station);
		return fail_null(rc);
	}
	station->plant = station->file.plant;
	weft_lock_open(&station->lock);
	plant_lock(station->plant);
	station->events_seen = station->plant->events;
	plant_unlock(station->plant);
	watcher_set_ports(station);
	return station;
}

struct station *station_take(struct weft_dev *dev)
{
	pthread_once(&forks, watch_forks);
	weft_lock_take(&stations_lock);
	struct station *station = stations;

	while (station && station->dev != dev)
		station = station->next;
	if (!station && (station = make(dev))) {
		station->next = stations;
		stations = station;
	}
	if (station)
		station->contexts++;
	weft_lock_give(&stations_lock);
	return station;
}

void station_give(struct station *station)
{
	weft_lock_take(&stations_lock);
	bool is_last = !--station->contexts;

	for (struct station **at = &stations; is_last && *at; at = &(*at)->next) {
		if (*at == station) {
			*at = station->next;
			break;
		}
	}
	weft_lock_give(&stations_lock);
	if (!is_last || station_is_dead(station))
		return;
	watcher_stop(station);
	plant_close(&station->file);
	weft_lock_close(&station->lock);
	free(station);
}

struct mrc_context *mrc_create_context(
	struct ibv_context *vcontext, struct mrc_context_attr *context_attr)
{
	uint32_t version = context_attr ? context_attr->mrc_api_version_used : 0;
	uint32_t vendor = context_attr ? context_attr->mrc_vendor_api_version_used : 0;

	if (!vcontext)
		return fail_null(EINVAL);
	if ((version > MRC_API_CURRENT_VERSION && version != (uint32_t)MRC_API_VER_LATEST) ||
		(vendor > MRC_VENDOR_API_CURRENT_VERSION && vendor != (uint32_t)MRC_API_VER_LATEST))
		return fail_null(ENOTSUP);
	struct weft_dev *dev = weft_verbs_device(vcontext);

	if (!dev)
		return fail_null(ENODEV);
	struct mrc_context *context = calloc(1, sizeof(*context));

	if (!context)
		return fail_null(ENOMEM);
	context->verbs = vcontext;
	context->version =
		version && version <= MRC_API_CURRENT_VERSION ? version : MRC_API_CURRENT_VERSION;
	context->station = station_take(dev);
	if (!context->station) {
		int error = errno;

		free(context);
		return fail_null(error);
	}
	context->owner = atomic_fetch_add(&owners, 1);
	int rc = weft_dev_listener_open(dev, context->owner, &context->listener);

	if (!rc && !alive_add(context)) {
		weft_dev_listener_close(context->listener);
		rc = ENOMEM;
	}
	if (rc) {
		station_give(context->station);
		free(context);
		return fail_null(rc);
	}
	return context;
}

int mrc_destroy_context(struct mrc_context *mrc_ctx)
{
	if (!alive_is(mrc_ctx))
		return fail(EINVAL);
	if (atomic_load(&mrc_ctx->objects))
		return fail(EBUSY);
	alive_drop(mrc_ctx);
	weft_dev_listener_close(mrc_ctx->listener);
	station_give(mrc_ctx->station);
	free(mrc_ctx);
	return 0;
}
