/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/nofault.h>

enum { PAGE = 4096 };

static uint8_t own[2 * PAGE];

/* Two pages of a file that is cut to one. */
static uint8_t *of_short_file(void)
{
	int fd = memfd_create("short", 0);

	WEFT_ASSERT(fd >= 0 && !ftruncate(fd, 2 * PAGE));
	uint8_t *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	WEFT_ASSERT(at != MAP_FAILED && !ftruncate(fd, PAGE));
	close(fd);
	return at;
}

static uint8_t *two_pages(void)
{
	uint8_t *at =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	WEFT_ASSERT(at != MAP_FAILED);
	memset(at, 5, 2 * PAGE);
	return at;
}

/* The second page of each is gone, or must not be written. */
static uint8_t *unmapped, *forbidden, *readonly, *cut;

static void make_all(void)
{
	if (unmapped)
		return;
	unmapped = two_pages();
	forbidden = two_pages();
	readonly = two_pages();
	cut = of_short_file();
	WEFT_ASSERT(!munmap(unmapped + PAGE, PAGE));
	WEFT_ASSERT(!mprotect(forbidden + PAGE, PAGE, PROT_NONE));
	WEFT_ASSERT(!mprotect(readonly + PAGE, PAGE, PROT_READ));
}

static void try_all(void)
{
	uint8_t *const gone[] = { unmapped, forbidden, cut };

	for (unsigned i = 0; i < WEFT_COUNT(gone); i++) {
		CHECK(weft_nofault_copy(own, gone[i], PAGE));
		CHECK(!weft_nofault_take());
		CHECK(!weft_nofault_copy(own, gone[i], PAGE + 1));
		const uint8_t *at = weft_nofault_take();

		CHECK(at >= gone[i] + PAGE - 64 && at < gone[i] + 2 * PAGE);
		CHECK(!weft_nofault_take());
		CHECK(!weft_nofault_copy(gone[i], own, 2 * PAGE));
		CHECK(!weft_nofault_reach(gone[i], 2 * PAGE, false));
		CHECK(weft_nofault_reach(gone[i], PAGE, true));
		CHECK(weft_nofault_take() && !weft_nofault_take());
	}
	CHECK(weft_nofault_copy(own, readonly, 2 * PAGE));
	CHECK(weft_nofault_reach(readonly, 2 * PAGE, false));
	CHECK(!weft_nofault_reach(readonly, 2 * PAGE, true));
	CHECK(!weft_nofault_copy(readonly, own, 2 * PAGE));
	(void)weft_nofault_take();
}

TEST(weft_nofault_copy__is_false_where_memory_is_gone)
{
	make_all();
	weft_nofault_watch();
	for (unsigned i = 0; i < 3; i++)
		try_all();
}

static void *in_thread(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	try_all();
	return NULL;
}

TEST(weft_nofault_copy__works_in_threads_that_have_blocked_all_signals)
{
	pthread_t thread;

	make_all();
	weft_nofault_watch();
	WEFT_ASSERT(!pthread_create(&thread, NULL, in_thread, NULL));
	pthread_join(thread, NULL);
}

/* ---- the program's own handlers ---- */

static sigjmp_buf back;
static struct sigaction replaced;
static volatile unsigned faults;

static void leap(int number)
{
	(void)number;
	faults++;
	siglongjmp(back, 1);
}

static void hand_on(int number, siginfo_t *info, void *context)
{
	faults++;
	if (replaced.sa_flags & SA_SIGINFO) {
		replaced.sa_sigaction(number, info, context);
		return;
	}
	signal(number, SIG_DFL);
}

/* Reads where nothing is; how often the program's own handler was called. */
static unsigned fault_once(void)
{
	unsigned before = faults;

	if (!sigsetjmp(back, 1))
		(void)*(volatile uint8_t *)(unmapped + PAGE);
	return faults - before;
}

/* In a process of its own, which ends with the result: its status. */
static int in_child(int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		_exit(run());
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static int handler_before(void)
{
	signal(SIGSEGV, leap);
	signal(SIGBUS, leap);
	weft_nofault_watch();
	try_all();
	return faults || fault_once() != 1 || fault_once() != 1 || check_failures;
}

static volatile bool was_blocked;

static void look_at_mask(int number)
{
	sigset_t mask;

	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	was_blocked = sigismember(&mask, number);
	leap(number);
}

/* A handler is called with its own signal blocked, unless it wants otherwise. */
static int handler_with_its_mask(void)
{
	struct sigaction action = { .sa_handler = look_at_mask };

	WEFT_ASSERT(!sigaction(SIGSEGV, &action, NULL));
	weft_nofault_watch();
	if (fault_once() != 1 || !was_blocked)
		return 1;
	action.sa_flags = SA_NODEFER;
	WEFT_ASSERT(!sigaction(SIGSEGV, &action, NULL));
	weft_nofault_watch();
	return fault_once() != 1 || was_blocked;
}

static int handler_after(void)
{
	weft_nofault_watch();
	signal(SIGSEGV, leap);
	signal(SIGBUS, leap);
	weft_nofault_watch();
	try_all();
	return faults || fault_once() != 1 || fault_once() != 1 || check_failures;
}

static int handler_that_hands_on(void)
{
	struct sigaction action = { .sa_sigaction = hand_on, .sa_flags = SA_SIGINFO };

	signal(SIGSEGV, leap);
	weft_nofault_watch();
	WEFT_ASSERT(!sigaction(SIGSEGV, &action, &replaced));
	/* Nobody has looked: it comes first, and what it replaced is ours. */
	bool is_read = weft_nofault_copy(own, unmapped, PAGE + 1);
	bool own_faults = fault_once() == 2;

	weft_nofault_watch();
	return is_read || faults != 3 || !own_faults || fault_once() != 2 || fault_once() != 2;
}

static int no_handler(void)
{
	weft_nofault_watch();
	(void)*(volatile uint8_t *)(unmapped + PAGE);
	return 0;
}

static int no_handler_and_round_in_circles(void)
{
	struct sigaction action = { .sa_sigaction = hand_on, .sa_flags = SA_SIGINFO };

	weft_nofault_watch();
	WEFT_ASSERT(!sigaction(SIGSEGV, &action, &replaced));
	weft_nofault_watch();
	(void)*(volatile uint8_t *)(unmapped + PAGE);
	return 0;
}

static int sent_by_hand(void)
{
	weft_nofault_watch();
	raise(SIGSEGV);
	return 0;
}

TEST(on_fault__leaves_the_programs_faults_to_the_program)
{
	make_all();
	CHECK_EQ(in_child(handler_before), 0);
	CHECK_EQ(in_child(handler_after), 0);
	CHECK_EQ(in_child(handler_that_hands_on), 0);
	CHECK_EQ(in_child(handler_with_its_mask), 0);
}

TEST(on_fault__lets_programs_die_as_they_would_have)
{
	make_all();
	CHECK(in_child(no_handler) != 0);
	CHECK(in_child(no_handler_and_round_in_circles) != 0);
	CHECK(in_child(sent_by_hand) != 0);
}
