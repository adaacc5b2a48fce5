/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plant_file - the shared-memory file of a device's profiles: one per user, network namespace and
 * device, there as long as somebody uses it.
 *
 * Liveness is an flock: everybody holds the file shared, and the kernel lets go for whoever dies.
 * Who gets it exclusively is alone: at the beginning to clear it, at the end to take it away.
 * Between open and lock a file may have been taken away by its last user; its link count says so,
 * and the opener begins again.  Pages are allocated before they are touched, because a file system
 * that is full says so then, and kills by SIGBUS later.
 *
 * The folder is everybody's and the name can be foretold.  A file that somebody else has put there
 * is neither used nor waited for: the next name is.  A process looks for files of its own under all
 * names before it makes one, so that those who share profiles meet although a squatter has left.
 */
#include "plant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x5f4d5244u /* and the layout's version in `bytes` */
#define NAMES 32u         /* to try, where strangers sit */
#define SWEEP_MAX 4096u   /* files to look at: strangers can make names without end */
#define NAP_NS 1000000
#define OPEN_TRIES 5000 /* naps: making a file takes milliseconds, unless its maker is stopped */
#define AGAIN EAGAIN

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

/* A regular file of this user with this one name, or without any. */
static bool is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink <= 1;
}

/* errno value; the descriptor is of a file of ours. */
static int open_own(const char *path, int flags, int *fd)
{
	struct stat st;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
	if (*fd < 0) {
		int error = errno;

		return !lstat(path, &st) && st.st_uid != geteuid() ? EPERM : error;
	}
	int error = fstat(*fd, &st) ? errno : is_own(&st) ? 0 : EPERM;

	if (error)
		(void)close(*fd);
	return error;
}

/* All of its pages.  A limit of this process would otherwise be a signal, SIGXFSZ. */
static int reserve(int fd, bool is_fresh)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < sizeof(struct plant))
		return EFBIG;
	if (!fallocate(fd, 0, 0, sizeof(struct plant)))
		return 0;
	if (errno != EOPNOTSUPP)
		return errno;
	return is_fresh ? posix_fallocate(fd, 0, sizeof(struct plant)) : 0;
}

static int map(int fd, struct plant **plant)
{
	void *at = mmap(NULL, sizeof(**plant), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return errno;
	*plant = at;
	return 0;
}

static bool is_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) || st.st_nlink == 0;
}

/* By whoever is alone with it.  What a maker has left half done is begun anew. */
static int make(int fd)
{
	struct plant *plant;
	struct stat st;
	int rc = fstat(fd, &st) ? errno : 0;

	if (!rc && st.st_size != 0 && st.st_size != (off_t)sizeof(*plant))
		rc = EPROTO;
	if (!rc)
		rc = reserve(fd, st.st_size == 0);
	if (!rc)
		rc = map(fd, &plant);
	if (rc)
		return rc;
	if (plant->magic != 0 && plant->magic != MAGIC) {
		rc = EPROTO;
	} else {
		memset(plant, 0, sizeof(*plant));
		plant->bytes = sizeof(*plant);
		rc = init_lock(&plant->lock);
		plant->magic = rc ? 0 : MAGIC;
	}
	munmap(plant, sizeof(*plant));
	return rc;
}

/* Locked shared, and whole.  AGAIN: others are at work on it, or have taken it away. */
static int hold(int fd, const char *path)
{
	struct stat st;

	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		if (is_gone(fd))
			return AGAIN;
		int rc = make(fd);

		if (rc && !fstat(fd, &st) && st.st_size == 0)
			(void)unlink(path); /* nobody's, and of no use */
		if (rc)
			return rc;
	} else if (errno != EWOULDBLOCK) {
		return errno;
	}
	/* From exclusive to shared is not one step: whoever was between may have taken it away. */
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK ? AGAIN : errno;
	if (is_gone(fd) || fstat(fd, &st) || st.st_size == 0)
		return AGAIN;
	return st.st_size == (off_t)sizeof(struct plant) ? 0 : EPROTO;
}

static int take(struct plant_file *file, bool may_make)
{
	int rc = open_own(file->path, may_make ? O_CREAT : 0, &file->fd);

	if (rc)
		return rc;
	rc = hold(file->fd, file->path);
	if (!rc)
		rc = map(file->fd, &file->plant);
	if (!rc && (file->plant->magic != MAGIC || file->plant->bytes != sizeof(*file->plant)))
		rc = file->plant->magic ? EPROTO : AGAIN; /* its maker died before the end */
	if (!rc && !plant_attach(file->plant))
		rc = ENOMEM;
	if (!rc)
		return 0;
	if (file->plant)
		munmap(file->plant, sizeof(*file->plant));
	file->plant = NULL;
	(void)close(file->fd);
	return rc;
}

int plant_open(struct plant_file *file, const char *path, bool may_make)
{
	size_t n = strlen(path);
	int rc = AGAIN;

	*file = (struct plant_file){ .fd = -1 };
	if (n >= sizeof(file->path))
		return ENAMETOOLONG;
	memcpy(file->path, path, n + 1);
	for (int i = 0; i < OPEN_TRIES && rc == AGAIN; i++) {
		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
		rc = take(file, may_make);
	}
	if (rc)
		file->fd = -1;
	return rc == AGAIN ? EBUSY : rc;
}

/* Takes the file away if nobody holds it. */
static void bury(const char *path, int fd)
{
	struct stat open_one, named;

	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &open_one) && !stat(path, &named) &&
		open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev)
		(void)unlink(path);
}

static void sweep(const char *base, size_t family)
{
	const char *slash = strrchr(base, '/');
	char folder[sizeof(((struct plant_file *)NULL)->path)], path[sizeof(folder) + 256];
	size_t n = (size_t)(slash - base), looked = 0;
	struct dirent *entry;
	int fd;

	memcpy(folder, base, n);
	folder[n] = 0;
	DIR *dir = opendir(folder);

	while (dir && looked < SWEEP_MAX && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, slash + 1, family - n - 1))
			continue;
		looked++;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (open_own(path, 0, &fd))
			continue;
		bury(path, fd);
		(void)close(fd);
	}
	if (dir)
		(void)closedir(dir);
}

int plant_open_own(struct plant_file *file, const char *base, size_t family)
{
	char path[sizeof(file->path)];
	int rc = 0;

	for (uint32_t i = 0; i < 2 * NAMES; i++) { /* first what there is, then a new one */
		(void)snprintf(path, sizeof(path), i % NAMES ? "%s.%u" : "%s", base, i % NAMES);
		rc = plant_open(file, path, i >= NAMES);
		if (rc != EPERM && (rc != ENOENT || i >= NAMES))
			break;
	}
	if (!rc)
		sweep(base, family);
	return rc;
}

void plant_close(struct plant_file *file)
{
	if (!file->plant)
		return;
	plant_detach(file->plant);
	munmap(file->plant, sizeof(*file->plant));
	plant_leave(file);
	file->plant = NULL;
}

void plant_leave(struct plant_file *file)
{
	if (file->fd >= 0)
		bury(file->path, file->fd);
	plant_disown(file);
}

void plant_disown(struct plant_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}
