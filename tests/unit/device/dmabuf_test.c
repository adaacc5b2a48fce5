/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No exporter is at hand without a driver, so memfds play DMA-BUFs: the same mmap(), and the ioctl
 * answered here.  tests/live/dmabuf.sh has real ones, in a virtual machine.
 */
#include "virtual.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define BYTES (3u * 4096)

static struct {
	ino_t inode;                          /* any descriptor of it */
	_Atomic unsigned starts, ends, again; /* again: EINTR, so many times */
	_Atomic uint64_t flags;
} fake;

static bool is_fake(int fd)
{
	struct stat is;

	return fake.inode && !fstat(fd, &is) && is.st_ino == fake.inode;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;

	va_start(list, request);
	void *arg = va_arg(list, void *);

	va_end(list);
	if (request != DMA_BUF_IOCTL_SYNC || !is_fake(fd))
		return (int)syscall(SYS_ioctl, fd, request, arg);
	if (fake.again) {
		fake.again--;
		errno = EINTR;
		return -1;
	}
	fake.flags = ((struct dma_buf_sync *)arg)->flags;
	if (fake.flags & DMA_BUF_SYNC_END)
		fake.ends++;
	else
		fake.starts++;
	return 0;
}

static int file(bool is_dmabuf, int seals)
{
	int fd = memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat is;

	REQUIRE(fd >= 0 && !ftruncate(fd, BYTES) && !fcntl(fd, F_ADD_SEALS, seals));
	REQUIRE(!fstat(fd, &is));
	memset(&fake, 0, sizeof(fake));
	fake.inode = is_dmabuf ? is.st_ino : 0;
	return fd;
}

TEST(dmabuf_open__takes_what_cannot_shrink)
{
	struct dmabuf *buf = NULL;
	int fd = file(false, 0);

	CHECK_EQ(dmabuf_open(fd, 0, 4096, true, &buf), EINVAL); /* it could be cut off */
	close(fd);
	fd = file(false, F_SEAL_SHRINK);
	CHECK_EQ(lseek(fd, 5, SEEK_SET), 5);
	CHECK_EQ(dmabuf_open(fd, 0, BYTES + 1, true, &buf), EINVAL);
	CHECK_EQ(dmabuf_open(fd, 0, BYTES, true, &buf), 0);
	CHECK(buf->is_coherent);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
	dmabuf_close(buf);
	close(fd);
	CHECK_EQ(dmabuf_open(fd, 0, 4096, true, &buf), EBADF);
	CHECK_EQ(dmabuf_open(-1, 0, 4096, true, &buf), EBADF);
	fd = open("/dev/null", O_RDWR);
	CHECK_EQ(dmabuf_open(fd, 0, 4096, true, &buf), EINVAL);
	close(fd);
}

TEST(dmabuf_open__keeps_to_the_length_of_the_file)
{
	static const struct {
		uint64_t offset, bytes;
		int rc;
	} cases[] = { { 0, BYTES, 0 }, { 1, BYTES - 1, 0 }, { 4097, 10, 0 }, { BYTES - 1, 1, 0 },
		{ 0, BYTES + 1, EINVAL }, { 1, BYTES, EINVAL }, { BYTES + 4096, 1, EINVAL },
		{ UINT64_MAX, 2, EINVAL }, { 4096, UINT64_MAX, EINVAL } };
	int fd = file(true, 0);

	for (size_t i = 0; i < WEFT_COUNT(cases); i++) {
		struct dmabuf *buf = NULL;
		uint8_t byte = (uint8_t)(i + 1), last = 0;

		CHECK_EQ(dmabuf_open(fd, cases[i].offset, cases[i].bytes, true, &buf), cases[i].rc);
		CHECK_EQ(!buf, cases[i].rc != 0);
		if (!buf)
			continue;
		uint64_t at = cases[i].offset + cases[i].bytes - 1;

		buf->at[cases[i].bytes - 1] = byte;
		CHECK_EQ(pread(fd, &last, 1, (off_t)at), 1);
		CHECK_EQ(last, byte);
		dmabuf_close(buf);
	}
	close(fd);
}

/* As NVIDIA's driver answers, and one who lent it for reading. */
TEST(dmabuf_open__says_that_a_cpu_may_not)
{
	char path[64];
	struct dmabuf *buf = NULL;
	int fd = file(true, 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int reader = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(reader >= 0);
	CHECK_EQ(dmabuf_open(reader, 0, 4096, true, &buf), EOPNOTSUPP);
	CHECK_EQ(dmabuf_open(reader, 0, 4096, false, &buf), 0);
	CHECK_EQ(buf->access, DMA_BUF_SYNC_READ);
	dmabuf_close(buf);
	close(reader);
	close(fd);
}

TEST(dmabuf_begin__is_said_once_and_again_where_it_was_interrupted)
{
	struct dmabuf *buf = NULL;
	int fd = file(true, 0);

	fake.again = 3;
	CHECK_EQ(dmabuf_open(fd, 0, BYTES, true, &buf), 0);
	CHECK(!buf->is_coherent);
	fake.starts = fake.ends = 0;
	fake.again = 5;
	dmabuf_begin(buf);
	dmabuf_begin(buf);
	CHECK_EQ(fake.starts, 1);
	CHECK_EQ(fake.flags, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	dmabuf_end(buf);
	dmabuf_end(buf);
	CHECK_EQ(fake.ends, 1);
	CHECK_EQ(fake.flags, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	dmabuf_close(buf);
	close(fd);
}

/* Writes and reads by its key, both ends of the device: through a descriptor that is closed. */
TEST(weft_dev_mr_open_dmabuf__is_memory_like_any)
{
	struct side *s[2];
	struct weft_dev_mr *mr = NULL;
	uint8_t back[1000];
	int fd = file(true, 0), own = dup(fd);

	pair_open(s, WEFT_DEV_EXTENDED);
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(weft_dev_mr_open_dmabuf(s[1]->pd, fd, 100, BYTES - 100, 0x7000, 15, &mr), 0);
	close(fd);
	for (unsigned i = 0; i < 1000; i++)
		s[0]->memory[i] = (uint8_t)(i * 7);
	fake.starts = fake.ends = 0;
	struct weft_dev_send send = { .op = WEFT_DEV_WRITE,
		.flags = WEFT_DEV_SIGNALED,
		.remote_va = 0x7000 + 50,
		.rkey = weft_dev_mr_key(mr) };

	CHECK_EQ(side_post(s[0], send, 0, 1000), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK_EQ(pread(own, back, 1000, 150), 1000);
	CHECK(!memcmp(back, s[0]->memory, 1000));
	CHECK(fake.starts > 0);
	/* And from there, in two parts, which are gathered when they are posted. */
	struct weft_dev_sge sges[2] = { { 0x7000 + 50, 600, weft_dev_mr_key(mr) },
		{ 0x7000 + 650, 400, weft_dev_mr_key(mr) } };

	send = (struct weft_dev_send){ .op = WEFT_DEV_WRITE,
		.flags = WEFT_DEV_SIGNALED,
		.sges = sges,
		.n_sges = 2,
		.remote_va = (uintptr_t)s[0]->memory + 5000,
		.rkey = weft_dev_mr_key(s[0]->mr) };
	CHECK_EQ(weft_dev_post_send(s[1]->qp, &send, false), 0);
	CHECK_EQ(side_wait(s[1]).status, WEFT_DEV_OK);
	CHECK(!memcmp(s[0]->memory + 5000, s[0]->memory, 1000));
	/* A post reads them before the next turn of the device. */
	weft_lock_take(&s[1]->dev->lock);
	unsigned before = fake.starts;

	CHECK(mr_memory(s[1]->pd, &sges[0], 0) == mr->dmabuf->at + 50);
	CHECK_EQ(fake.starts, before + 1);
	weft_lock_give(&s[1]->dev->lock);
	/* Its end is the end. */
	send = (struct weft_dev_send){ .op = WEFT_DEV_WRITE,
		.flags = WEFT_DEV_SIGNALED,
		.remote_va = 0x7000 + BYTES - 200,
		.rkey = weft_dev_mr_key(mr) };
	CHECK_EQ(side_post(s[0], send, 0, 101), 0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_REM_ACCESS_ERR);
	weft_lock_take(&s[1]->dev->lock);
	CHECK_EQ(fake.starts, fake.ends); /* between turns nobody is at it */
	weft_lock_give(&s[1]->dev->lock);
	CHECK_EQ(weft_dev_mr_move(mr, s[1]->pd, s[1]->memory, 8, 0, 15), EINVAL);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	CHECK(!s[1]->dev->dmabufs);
	pair_close(s);
	close(own);
}

static bool is_mapped_somewhere(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool is = false;

	while (fgets(line, sizeof(line), maps))
		is |= strstr(line, "weft-test") != NULL;
	fclose(maps);
	return is;
}

TEST(weft_dev_mr_close__unmaps_after_the_last_byte_is_read)
{
	struct side *s[2];
	struct weft_dev_mr *mr = NULL;
	int fd = file(true, 0);

	pair_open(s, WEFT_DEV_EXTENDED);
	pair_renew(s, WEFT_DEV_EXTENDED, 15);
	CHECK_EQ(weft_dev_mr_open_dmabuf(s[0]->pd, fd, 0, BYTES, 0, 1, &mr), 0);
	CHECK(is_mapped_somewhere());
	CHECK_EQ(pwrite(fd, "weft", 4, 8000), 4);
	struct weft_dev_sge sge = { 8000, 4, weft_dev_mr_key(mr) };
	struct weft_dev_send send = { .op = WEFT_DEV_WRITE,
		.flags = WEFT_DEV_SIGNALED,
		.sges = &sge,
		.n_sges = 1,
		.remote_va = (uintptr_t)s[1]->memory,
		.rkey = weft_dev_mr_key(s[1]->mr) };

	CHECK_EQ(weft_dev_post_send(s[0]->qp, &send, true), 0);
	CHECK_EQ(weft_dev_mr_close(mr), 0);
	CHECK(!is_mapped_somewhere());
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	CHECK(!memcmp(s[1]->memory, "weft", 4));
	CHECK_EQ(weft_dev_mr_open_dmabuf(s[0]->pd, fd, 0, 0, 0, 1, &mr), EINVAL);
	CHECK_EQ(
		weft_dev_mr_open_dmabuf(s[0]->pd, fd, 0, 8, 0, WEFT_DEV_REMOTE_WRITE, &mr), EINVAL);
	CHECK(!is_mapped_somewhere());
	pair_close(s);
	close(fd);
}
