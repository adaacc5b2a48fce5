/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nofault - accesses to memory that its owner may have taken away.
 *
 * As a kernel's exception table does for copies from user memory (Linux: copy_from_user_nofault):
 * an access runs as fast as any, and a fault in it continues behind it.  A guard in the thread's
 * own memory says where; the handler takes a fault for its own only where the address lies in the
 * range that the guard names, so that a fault of the program's own handlers, or of ours elsewhere,
 * stays what it is.  Other ways and why not: docs/decisions/128.
 *
 * Handlers that were there before come next, those that the program installs later are put behind
 * ours when weft_nofault_watch() sees them.  One of these may call in turn what it replaced, which
 * is ours: that call goes one further back.  How often one delivery has come by is noted in the
 * last word of its siginfo_t, which the kernel clears and nobody uses; so nobody goes round in
 * circles, and who leaves by longjmp() leaves nothing behind.
 *
 * Hot: weft_nofault_copy(), once per packet.
 */
#include <weft/nofault.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define PAGE_BYTES 4096u
#define KEPT 16u /* handlers that were replaced: one may be running while another is */

struct guard {
	void *resume[5];
	uintptr_t at, from; /* both of `bytes` */
	size_t bytes;
};

static _Thread_local struct guard *guard __attribute__((tls_model("initial-exec")));
static _Thread_local bool is_ready __attribute__((tls_model("initial-exec")));
static _Thread_local const void *lost __attribute__((tls_model("initial-exec")));

static const int signals[] = { SIGSEGV, SIGBUS };
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };
static struct behind {
	struct sigaction kept[KEPT];
	unsigned installed; /* atomic: so many */
} behind[SIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of installing; never waited for */

static bool covers(uintptr_t from, size_t bytes, uintptr_t at)
{
	/* Where a file ends, the kernel may name the page only. */
	return at - (from & ~(uintptr_t)(PAGE_BYTES - 1)) < bytes + PAGE_BYTES && at < from + bytes;
}

static void end_by_default(int number, bool is_sent)
{
	struct sigaction none = { .sa_handler = SIG_DFL };

	(void)sigaction(number, &none, NULL);
	if (is_sent)
		(void)raise(number); /* else the fault repeats itself */
}

/* As the kernel would have called it. */
static __attribute__((noinline)) void pass_on(
	const struct sigaction *to, int number, siginfo_t *info, void *context)
{
	bool is_sent = info->si_code <= 0;
	sigset_t mask = to->sa_mask, before;

	if (!(to->sa_flags & SA_SIGINFO) && to->sa_handler == SIG_IGN && is_sent)
		return;
	if (!(to->sa_flags & SA_SIGINFO) &&
		(to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN)) {
		end_by_default(number, is_sent);
		return;
	}
	if (!(to->sa_flags & SA_NODEFER))
		sigaddset(&mask, number);
	(void)pthread_sigmask(SIG_BLOCK, &mask, &before);
	if (to->sa_flags & SA_SIGINFO)
		to->sa_sigaction(number, info, context);
	else
		to->sa_handler(number);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* How often this delivery has been here before. */
static unsigned count_visit(siginfo_t *info)
{
	unsigned char *word = (unsigned char *)info + sizeof(*info) - sizeof(unsigned);
	unsigned visits, next;

	memcpy(&visits, word, sizeof(visits));
	next = visits + 1;
	memcpy(word, &next, sizeof(next));
	return visits;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct guard *g = guard;
	uintptr_t at = (uintptr_t)info->si_addr;
	struct behind *b = &behind[number == SIGBUS];

	if (g && info->si_code > 0 &&
		(covers(g->at, g->bytes, at) || covers(g->from, g->bytes, at))) {
		lost = info->si_addr;
		guard = NULL;
		/* Another handler may have called, for which signals are blocked. */
		(void)pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
		__builtin_longjmp(g->resume, 1);
	}
	unsigned installed = __atomic_load_n(&b->installed, __ATOMIC_ACQUIRE);
	unsigned visits = count_visit(info);

	if (visits < installed && visits < KEPT)
		pass_on(&b->kept[(installed - 1 - visits) % KEPT], number, info, context);
	else
		end_by_default(number, info->si_code <= 0);
}

static void install(struct behind *b, int number)
{
	struct sigaction own = { .sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	struct sigaction now;

	if (sigaction(number, NULL, &now) || now.sa_sigaction == on_fault)
		return;
	b->kept[b->installed % KEPT] = now;
	__atomic_store_n(&b->installed, b->installed + 1, __ATOMIC_RELEASE);
	(void)sigaction(number, &own, NULL);
}

void weft_nofault_watch(void)
{
	if (pthread_mutex_trylock(&lock))
		return; /* somebody else does it just now */
	for (unsigned i = 0; i < SIGNALS; i++)
		install(&behind[i], signals[i]);
	(void)pthread_mutex_unlock(&lock);
}

/* A fault that is blocked ends the program, and threads that are to get no signals block all. */
static __attribute__((noinline, cold)) void make_ready(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	for (unsigned i = 0; i < SIGNALS; i++)
		sigaddset(&faults, signals[i]);
	(void)pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
	is_ready = true;
}

__attribute__((noinline)) bool weft_nofault_copy(void *to, const void *from, size_t bytes)
{
	struct guard own, *outer = guard;

	if (__builtin_expect(!is_ready, 0))
		make_ready();
	own.at = (uintptr_t)to;
	own.from = (uintptr_t)from;
	own.bytes = bytes;
	if (__builtin_setjmp(own.resume)) {
		guard = outer;
		return false;
	}
	guard = &own;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(to, from, bytes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	guard = outer;
	return true;
}

/* The same around a call.  GCC does not inline what has __builtin_setjmp(): one function for both
 * would cost each copy a call through a pointer: 2 ns of 6 for 64 bytes (EPYC). */
__attribute__((noinline)) bool weft_nofault_call(
	void (*access)(void *), void *arg, const void *at, size_t bytes)
{
	struct guard own, *outer = guard;

	if (__builtin_expect(!is_ready, 0))
		make_ready();
	own.at = own.from = (uintptr_t)at;
	own.bytes = bytes;
	if (__builtin_setjmp(own.resume)) {
		guard = outer;
		return false;
	}
	guard = &own;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	access(arg);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	guard = outer;
	return true;
}

struct reach {
	uint8_t *at;
	size_t bytes;
	bool write;
};

static void touch(uint8_t *at, bool write)
{
	uint8_t is = __atomic_load_n(at, __ATOMIC_RELAXED);

	/* Not by adding nothing: Clang makes a load of that. */
	if (write)
		(void)__atomic_compare_exchange_n(
			at, &is, is, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void touch_all(void *arg)
{
	const struct reach *r = arg;

	for (size_t i = 0; i < r->bytes; i += PAGE_BYTES)
		touch(r->at + i, r->write);
	if (r->bytes)
		touch(r->at + r->bytes - 1, r->write);
}

bool weft_nofault_reach(void *at, size_t bytes, bool write)
{
	struct reach r = { at, bytes, write };

	return weft_nofault_call(touch_all, &r, at, bytes);
}

const void *weft_nofault_take(void)
{
	const void *at = lost;

	if (__builtin_expect(at != NULL, 0))
		lost = NULL;
	return at;
}
