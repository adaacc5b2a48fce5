/* SPDX-License-Identifier: BSD-2-Clause */
#include "mix.h"

#include <fcntl.h>
#include <sys/mman.h>

TEST(memory_open__wants_memory_of_the_kind_that_it_is)
{
	static uint8_t host[100];
	struct memory *m = (void *)host;
	struct ends e;

	ends_open(&e);
	uint64_t at = gpus_memory(0, 100);

	CHECK_EQ(memory_open(e.sender, host, 100, WEFT_NCCL_PTR_CUDA, &m), WEFT_NCCL_CUDA_ERROR);
	CHECK(!m);
	CHECK_EQ(memory_open(e.sender, (void *)(uintptr_t)at, 100, WEFT_NCCL_PTR_HOST, &m),
		WEFT_NCCL_SYSTEM_ERROR); /* no CPU can read it */
	CHECK_EQ(memory_open(e.sender, host, 100, 8, &m), WEFT_NCCL_INTERNAL_ERROR);
	CHECK_EQ(memory_open(e.sender, host, 100, WEFT_NCCL_PTR_HOST, &m), 0);
	CHECK(m->mr && !e.sender->bounce.at);
	CHECK_EQ(memory_close(e.sender, m), 0);
	CHECK_EQ(memory_close(NULL, NULL), 0);
	gpus_free(0, at);
	ends_close(&e);
	gpus_are_clean();
}

/* Registered for one connection, and used by another, as reg_is_global allows. */
TEST(memory_open__is_for_all_connections)
{
	struct mixed x;
	struct ends e;
	uint8_t seen[1000], bytes[1000];

	memset(bytes, 'w', sizeof(bytes));
	ends_open(&e);
	mixed_open(&x, 3, 1000);
	mix_put(&x.from, bytes, 1000);
	void *data = mix_at(&x.to, 0), *received = NULL;
	size_t room = 1000;
	int tag = 1;

	CHECK_EQ(recv_begin(e.receiver, 1, &data, &room, &tag, &x.to.mr, &received), 0);
	REQUIRE(received);
	void *sent = ends_send(&e, mix_at(&x.from, 0), 1000, 1, x.from.mr);

	CHECK_EQ(mixed_wait(sent, received, NULL), 0);
	mix_get(&x.to, 0, seen, 1000);
	CHECK(!memcmp(seen, bytes, 1000));
	ends_close(&e);
	mixed_close(&x);
}

/* What an exporter lets a CPU at is as good as the host's: no ring, no copy. */
TEST(memory_open_dmabuf__maps_what_can_be_mapped)
{
	struct mixed x;
	uint8_t bytes[1000], seen[1000];
	int fd = memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *mr = NULL, *data;
	size_t room = 1000;
	int tag = 1;

	REQUIRE(fd >= 0 && !ftruncate(fd, 8192) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	mixed_open(&x, 0, 1000);
	uint64_t at = gpus_memory(0, 4096); /* its address, and nobody's bytes */

	data = (void *)(uintptr_t)(at + 100);
	CHECK_EQ(ncclNetPlugin_v12.reg_mr_dmabuf(x.e.receiver, (void *)(uintptr_t)at, 4096,
			 WEFT_NCCL_PTR_CUDA, 4096, fd, &mr),
		0);
	CHECK(((struct memory *)mr)->mr && !x.e.receiver->bounce.at);
	memset(bytes, 'd', sizeof(bytes));
	mix_put(&x.from, bytes, 1000);
	void *received = NULL;

	CHECK_EQ(recv_begin(x.e.receiver, 1, &data, &room, &tag, &mr, &received), 0);
	void *sent = ends_send(&x.e, mix_at(&x.from, 0), 1000, 1, x.from.mr);

	CHECK_EQ(mixed_wait(sent, received, NULL), 0);
	CHECK_EQ(pread(fd, seen, 1000, 4096 + 100), 1000);
	CHECK(!memcmp(seen, bytes, 1000));
	CHECK_EQ(ncclNetPlugin_v12.dereg_mr(x.e.receiver, mr), 0);
	gpus_free(0, at);
	close(fd);
	mixed_close(&x);
}

/* As NVIDIA's driver does: the file is one, and cannot be mapped.  Then its copies carry it. */
TEST(memory_open_dmabuf__copies_what_cannot)
{
	struct mixed x;
	void *mr = NULL;
	int fd[2];

	REQUIRE(!pipe(fd));
	mixed_open(&x, 0, 1000);
	uint64_t at = gpus_memory(0, 4096);

	CHECK_EQ(ncclNetPlugin_v12.reg_mr_dmabuf(x.e.receiver, (void *)(uintptr_t)at, 4096,
			 WEFT_NCCL_PTR_CUDA, 0, fd[0], &mr),
		0);
	CHECK(!((struct memory *)mr)->mr && x.e.receiver->bounce.at);
	CHECK_EQ(ncclNetPlugin_v12.dereg_mr(x.e.receiver, mr), 0);
	CHECK(ncclNetPlugin_v12.reg_mr_dmabuf(
		x.e.receiver, &x, 4096, WEFT_NCCL_PTR_CUDA, 0, fd[0], &mr));
	CHECK(!mr);
	close(fd[0]);
	close(fd[1]);
	gpus_free(0, at);
	mixed_close(&x);
}

/* Who deregisters gives the memory away next, and copies that are under way would follow it. */
TEST(memory_close__waits_for_copies)
{
	struct mixed x;

	mixed_open(&x, 1, 1000);
	(void)mixed_receive(&x, 0, 1000, 1);
	standin.delay_us = 100000;
	(void)ends_send(&x.e, mix_at(&x.from, 0), 1000, 1, x.from.mr);
	CHECK_EQ(standin.under_way, 1);
	CHECK_EQ(ncclNetPlugin_v12.dereg_mr(x.e.sender, x.from.mr), 0);
	CHECK_EQ(standin.under_way, 0);
	standin.delay_us = 300;
	x.from.mr = NULL;
	mixed_close(&x);
}

static struct mixed registering;
static bool stop;

static void *register_on(void *arg)
{
	struct mixed *x = &registering;
	uint64_t at = gpus_memory(0, 1000), other = gpus_memory(1, 1000);

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		void *mr = NULL, *other_mr = NULL;

		CHECK_EQ(ncclNetPlugin_v12.reg_mr(x->e.sender, (void *)(uintptr_t)at, 1000, 2, &mr),
			0);
		CHECK_EQ(ncclNetPlugin_v12.reg_mr(
				 x->e.sender, (void *)(uintptr_t)other, 1000, 2, &other_mr),
			0);
		CHECK_EQ(ncclNetPlugin_v12.dereg_mr(x->e.sender, mr), 0);
		CHECK_EQ(ncclNetPlugin_v12.dereg_mr(x->e.sender, other_mr), 0);
	}
	gpus_free(0, at);
	gpus_free(1, other);
	return arg;
}

/* NCCL's proxy has a thread for this, beside the one that sends. */
TEST(memory_open__may_be_called_beside_a_send)
{
	enum { BYTES = 3 << 20 };
	struct mixed *x = &registering;
	pthread_t thread;

	mixed_open(x, 3, BYTES);
	REQUIRE(!pthread_create(&thread, NULL, register_on, NULL));
	for (unsigned i = 0; i < 40; i++) {
		void *received = mixed_receive(x, 0, BYTES, 1);
		void *sent = ends_send(&x->e, mix_at(&x->from, 0), BYTES, 1, x->from.mr);

		CHECK_EQ(mixed_wait(sent, received, NULL), 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	mixed_close(x);
}

TEST(memory_holds__keeps_bounds)
{
	const struct memory m = { .at = 1000, .bytes = 100 };

	CHECK(memory_holds(&m, (void *)1000, 100));
	CHECK(memory_holds(&m, (void *)1100, 0));
	CHECK(!memory_holds(&m, (void *)999, 1));
	CHECK(!memory_holds(&m, (void *)1001, 100));
	CHECK(!memory_holds(&m, (void *)1000, SIZE_MAX));
	CHECK(!memory_holds(&m, (void *)1101, 0));
}
