/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_device.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(ibv_get_device_list__names_every_device)
{
	int n = -1;
	struct ibv_device **list = ibv_get_device_list(&n);

	REQUIRE(list);
	CHECK_EQ(n, 2);
	CHECK_STR(ibv_get_device_name(list[0]), "weft0");
	CHECK_STR(list[1]->dev_name, "uverbs1");
	CHECK_EQ(be64toh(ibv_get_device_guid(list[0])), 0x1122334455667788);
	CHECK_EQ(ibv_get_device_index(list[1]), -1);
	CHECK_EQ(list[0]->transport_type, IBV_TRANSPORT_IB);
	CHECK(!list[2]);
	/* What libmlx5 looks at to see whose device it is. */
	CHECK(!*(void **)(void *)(list[0] + 1));
	ibv_free_device_list(list);
}

TEST(ibv_get_device_list__is_empty_where_the_configuration_is_wrong)
{
	int n = -1;

	fake.error = 1;
	struct ibv_device **list = ibv_get_device_list(&n);
	REQUIRE(list);
	CHECK_EQ(n, 0);
	CHECK(!list[0]);
	ibv_free_device_list(list);
}

TEST(ibv_open_device__outlives_the_list)
{
	struct ibv_context *context = open_context(); /* which frees it */

	CHECK_STR(context->device->name, "weft0");
	CHECK_EQ(context->async_fd, 77);
	CHECK_EQ(context->num_comp_vectors, 1);
	CHECK(verbs_get_ctx(context) == &context_of(context)->verbs);
	CHECK(weft_verbs_device(context) == context_of(context)->dev);
	CHECK(!weft_verbs_device(NULL));
	close_context(context);
}

TEST(ibv_open_device__gives_the_device_s_errno)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	fake.error = EMFILE;
	CHECK(!ibv_open_device(list[0]));
	CHECK_EQ(errno, EMFILE);
	ibv_free_device_list(list);
}

/* Programs copy it, to hand it to others; it is theirs alone, and closed with the context. */
TEST(ibv_open_device__has_a_descriptor_for_commands)
{
	struct ibv_context *contexts[2] = { open_context(), open_context() };
	struct stat files[2];
	int fds[2];

	for (unsigned i = 0; i < 2; i++) {
		fds[i] = contexts[i]->cmd_fd;
		REQUIRE(!fstat(fds[i], &files[i]));
		CHECK(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	}
	CHECK(files[0].st_ino != files[1].st_ino);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(ibv_close_device(contexts[i]), 0);
		CHECK(fcntl(fds[i], F_GETFD) < 0 && errno == EBADF);
	}
}

TEST(ibv_close_device__lets_a_program_leave_things_open)
{
	struct ibv_context *context = open_context();

	fake.error = EBUSY;
	CHECK_EQ(ibv_close_device(context), 0);
	fake.error = EIO;
	CHECK_EQ(ibv_close_device(context), -1);
	CHECK_EQ(errno, EIO);
	close_context(context);
}

TEST(ibv_get_async_event__skips_single_planes)
{
	struct ibv_context *context = open_context();
	struct ibv_async_event event;

	CHECK_EQ(ibv_get_async_event(context, &event), -1);
	CHECK_EQ(errno, EAGAIN);
	fake.event = (struct weft_dev_event){ .kind = WEFT_DEV_PORT_DOWN, .user = NULL };
	fake.events = 3;
	CHECK(!ibv_get_async_event(context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_PORT_ERR);
	CHECK_EQ(event.element.port_num, 1);
	CHECK_EQ(fake.events, 0);
	ibv_ack_async_event(&event);
	close_context(context);
}

TEST(ibv_get_async_event__names_the_queue_pair)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_async_event event;

	fake.event = (struct weft_dev_event){ .kind = WEFT_DEV_QP_ACCESS, .user = b.qp };
	fake.events = 1;
	CHECK(!ibv_get_async_event(b.context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	CHECK(event.element.qp == b.qp);
	CHECK_EQ(b.qp->events_completed, 0);
	ibv_ack_async_event(&event);
	CHECK_EQ(b.qp->events_completed, 1);
	fake.event = (struct weft_dev_event){ .kind = WEFT_DEV_CQ_ERROR, .user = b.cq };
	fake.events = 1;
	CHECK(!ibv_get_async_event(b.context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_CQ_ERR);
	CHECK(event.element.cq == b.cq);
	ibv_ack_async_event(&event);
	close_bench(&b); /* waits for both */
}

static pthread_t destroyer;
static bool is_destroyed;

static void *destroy_it(void *qp)
{
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	__atomic_store_n(&is_destroyed, true, __ATOMIC_RELEASE);
	return NULL;
}

/* It must not have gone before the program has even seen the event. */
static void destroy_meanwhile(void *qp)
{
	REQUIRE(!pthread_create(&destroyer, NULL, destroy_it, qp));
	usleep(50000);
	CHECK(!__atomic_load_n(&is_destroyed, __ATOMIC_ACQUIRE));
}

TEST(ibv_destroy_qp__waits_for_an_event_that_is_just_being_got)
{
	struct bench b = open_bench(IBV_QPT_RC, 0);
	struct ibv_async_event event;

	fake.event = (struct weft_dev_event){ .kind = WEFT_DEV_QP_FATAL, .user = b.qp };
	fake.events = 1;
	fake.meanwhile = destroy_meanwhile;
	CHECK(!ibv_get_async_event(b.context, &event));
	CHECK(event.element.qp == b.qp);
	CHECK(!__atomic_load_n(&is_destroyed, __ATOMIC_ACQUIRE));
	ibv_ack_async_event(&event);
	CHECK_EQ(pthread_join(destroyer, NULL), 0);
	CHECK(is_destroyed);
	fake.meanwhile = NULL;
	CHECK(!ibv_destroy_cq(b.cq));
	CHECK(!ibv_dealloc_pd(b.pd));
	close_context(b.context);
}
