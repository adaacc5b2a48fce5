/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_H
#define CHECK_H
/*
 * check - a test program in one header: TEST(function__what_happens) { CHECK(...); }
 *
 * A failed CHECK prints file, line, test and values, and the test goes on (table rows all get their
 * say); a failed REQUIRE leaves the test.  A broken WEFT_ASSERT fails the test that met it;
 * CHECK_PANICS wants one.  SKIP leaves the program with 77, which ctest reports as skipped.
 * `./test part-of-a-name` runs only those.
 */
#include <weft/base.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_test {
	const char *name;
	void (*run)(void);
	int line;
	struct check_test *next;
};

static struct check_test *check_first;
static const char *check_name = "";
static unsigned check_failures, check_run;
static jmp_buf check_leave, check_panic;
static volatile bool check_panic_wanted;

/* In the order of the file: link-time optimisation runs constructors in another. */
static inline void check_register(struct check_test *test)
{
	struct check_test **at = &check_first;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

/*
 * A thread that is cancelled leaves by unwinding, and AddressSanitizer's marks of its frames stay:
 * its own last call, for the alternate signal stack, would be taken for a fault among them.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "use_sigaltstack=0";
}

#define TEST(function)                                                                             \
	static void function(void);                                                                \
	static struct check_test test_##function = { #function, function, __LINE__, NULL };        \
	__attribute__((constructor)) static void register_##function(void)                         \
	{                                                                                          \
		check_register(&test_##function);                                                  \
	}                                                                                          \
	static void function(void)

#define CHECK_FAIL(...)                                                                            \
	(check_failures++, fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, check_name),         \
		fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), (void)0)
#define CHECK(expr) ((expr) ? (void)0 : CHECK_FAIL("%s", #expr))
#define REQUIRE(expr) ((expr) ? (void)0 : (CHECK_FAIL("%s", #expr), longjmp(check_leave, 1)))
/* Integers, enums and bools only: the 0 | refuses floats and pointers. */
#define CHECK_EQ(got, want)                                                                        \
	check_eq(__FILE__, __LINE__, #got, (uint64_t)(0 | (got)), (uint64_t)(0 | (want)))
#define CHECK_STR(got, want) check_str(__FILE__, __LINE__, #got, got, want)
#define CHECK_MEM(got, want, len) check_mem(__FILE__, __LINE__, #got, got, want, len)
#define CHECK_NEAR(got, want, by)                                                                  \
	((got) - (want) <= (by) && (want) - (got) <= (by)                                          \
			? (void)0                                                                  \
			: CHECK_FAIL("%s is %g, want %g +- %g", #got, (double)(got),               \
				  (double)(want), (double)(by)))
#define CHECK_PANICS(statement)                                                                    \
	do {                                                                                       \
		check_panic_wanted = true;                                                         \
		weft_panic_hook(check_on_panic);                                                   \
		if (!setjmp(check_panic)) {                                                        \
			statement;                                                                 \
			CHECK_FAIL("no panic: %s", #statement);                                    \
		}                                                                                  \
		check_panic_wanted = false;                                                        \
		weft_panic_hook(check_on_panic);                                                   \
	} while (0)
#define SKIP(why) (fprintf(stderr, "%s: skipped: %s\n", check_name, why), exit(77))

static inline void check_eq(
	const char *file, int line, const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	check_failures++;
	fprintf(stderr,
		"%s:%d: %s: %s is %" PRId64 " (0x%" PRIx64 "), want %" PRId64 " (0x%" PRIx64 ")\n",
		file, line, check_name, what, (int64_t)got, got, (int64_t)want, want);
}

static inline void check_str(
	const char *file, int line, const char *what, const char *got, const char *want)
{
	if (got && want ? !strcmp(got, want) : got == want)
		return;
	check_failures++;
	fprintf(stderr, "%s:%d: %s: %s is\n  \"%s\", want\n  \"%s\"\n", file, line, check_name,
		what, got ? got : "(null)", want ? want : "(null)");
}

static inline void check_mem(
	const char *file, int line, const char *what, const void *got, const void *want, size_t len)
{
	const uint8_t *g = (const uint8_t *)got, *w = (const uint8_t *)want;

	for (size_t i = 0; i < len; i++) {
		if (g[i] == w[i])
			continue;
		check_failures++;
		fprintf(stderr, "%s:%d: %s: %s differs at byte %zu of %zu: %02x, want %02x\n", file,
			line, check_name, what, i, len, g[i], w[i]);
		return;
	}
}

static void check_on_panic(const char *file, int line, const char *expr)
{
	if (check_panic_wanted)
		longjmp(check_panic, 1);
	weft_panic_hook(check_on_panic);
	check_failures++;
	fprintf(stderr, "%s:%d: %s: broken invariant: %s\n", file, line, check_name, expr);
	longjmp(check_leave, 1);
}

int main(int argc, char **argv)
{
	weft_panic_hook(check_on_panic);
	for (struct check_test *test = check_first; test; test = test->next) {
		if (argc > 1 && !strstr(test->name, argv[1]))
			continue;
		check_name = test->name;
		check_run++;
		if (!setjmp(check_leave))
			test->run();
	}
	fprintf(stderr, "%u tests, %u failed checks\n", check_run, check_failures);
	return check_failures || !check_run;
}

#endif
