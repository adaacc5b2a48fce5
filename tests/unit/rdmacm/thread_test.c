/* SPDX-License-Identifier: BSD-2-Clause */
#include "stranger.h"

#include <signal.h>
#include <sys/wait.h>

/* Programs block a signal and read it from a descriptor: tgtd does. */
TEST(thread_watch__leaves_signals_to_the_program)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true); /* the thread runs */
	sigset_t usr2;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	REQUIRE(!kill(getpid(), SIGUSR2)); /* ends us where another thread takes it */
	CHECK_EQ(sigtimedwait(&usr2, NULL, &(struct timespec){ .tv_sec = 20 }), SIGUSR2);
	REQUIRE(!pthread_sigmask(SIG_UNBLOCK, &usr2, NULL));
	CHECK(!rdma_reject(p.passive, NULL, 0));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_REJECTED));
	end(&p);
}

/* ---- fork ---- */

static volatile bool stop;

/* The library's thread takes its lock all the time. */
static void *knock(void *listener)
{
	char word = 'x';

	while (!stop) {
		int fd = call(listener);

		(void)send(fd, &word, 1, MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

/* A server that forks per connection, say: all of it anew. */
static int connect_in_child(const struct rdma_cm_id *parents)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);

	alarm(20);
	if (rdma_accept(p.passive, NULL))
		return 2;
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	end(&p);
	return id_of((struct rdma_cm_id *)(uintptr_t)parents)->fd < 0 && !check_failures ? 0 : 3;
}

/* Beside the fork; AddressSanitizer's allocator keeps in a child what such threads had locked. */
#ifdef __SANITIZE_ADDRESS__
enum { N_KNOCKING = 0 };
#else
enum { N_KNOCKING = 2 };
#endif

TEST(in_child__begins_anew_whatever_the_thread_was_at)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	uint32_t opened = one_device_opened;
	pthread_t threads[2];
	int bad = 0, status;

	for (int i = 0; i < N_KNOCKING; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, knock, p.listener));
	for (int i = 0; i < 300; i++) {
		pid_t child = fork();

		if (!child) {
			int rc = i % 20 ? 0 : connect_in_child(p.listener);
			struct rdma_event_channel *own = rdma_create_event_channel();
			struct rdma_cm_id *id;

			alarm(20);
			if (rdma_create_id(own, &id, NULL, RDMA_PS_TCP) || rdma_destroy_id(id))
				rc = 4;
			if (!(i % 20) && one_device_opened != opened + 1)
				rc = 5; /* the parent's are dead here */
			_exit(rc);
		}
		REQUIRE(waitpid(child, &status, 0) == child);
		bad += status != 0;
	}
	stop = true;
	for (int i = 0; i < N_KNOCKING; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(bad, 0);
	CHECK(!rdma_accept(p.passive, NULL)); /* the parent's goes on */
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	end(&p);
}

/* A child that lives on does not hide that a connection ends, or that a port is free. */
TEST(in_child__keeps_nothing_of_the_parent_s_open)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	struct sockaddr_in at = loopback(ntohs(rdma_get_src_port(p.listener)));
	struct rdma_cm_id *again;
	int status;

	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_ESTABLISHED));
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	weft_lock_take(&cm_lock);
	wire_hang_up(id_of(p.active)); /* as when the process ends */
	weft_lock_give(&cm_lock);
	rdma_ack_cm_event(want(p.server, RDMA_CM_EVENT_DISCONNECTED));
	CHECK(!rdma_destroy_id(p.listener));
	p.listener = NULL;
	REQUIRE(!rdma_create_id(p.server, &again, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(again, (struct sockaddr *)&at));
	CHECK(!rdma_listen(again, 1));
	CHECK(!rdma_destroy_id(again));
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, &status, 0), child);
	end(&p);
}

/* What its parent made, a child may destroy: the memory is its own. */
TEST(in_child__may_destroy_what_its_parent_made)
{
	struct pair p = ask(RDMA_PS_TCP, "x", true);
	int status;
	pid_t child = fork();

	if (!child) {
		alarm(20);
		end(&p);
		_exit(check_failures ? 1 : 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(!rdma_accept(p.passive, NULL));
	rdma_ack_cm_event(want(p.client, RDMA_CM_EVENT_ESTABLISHED));
	end(&p);
}
