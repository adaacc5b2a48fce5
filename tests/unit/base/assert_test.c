/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

static int seen_line;
static const char *seen_expr;
static jmp_buf out;

static void remember(const char *file, int line, const char *expr)
{
	(void)file;
	seen_line = line;
	seen_expr = expr;
	longjmp(out, 1);
}

TEST(weft_panic_hook__returns_the_one_before)
{
	weft_panic_fn *before = weft_panic_hook(remember);

	CHECK(weft_panic_hook(before) == remember);
}

TEST(weft_assert__tells_the_hook_where_and_what)
{
	weft_panic_fn *before = weft_panic_hook(remember);
	volatile int line = 0;

	if (!setjmp(out)) {
		line = __LINE__ + 1;
		WEFT_ASSERT(1 + 1 == 3);
		CHECK(!"reached");
	}
	weft_panic_hook(before);
	CHECK_EQ(seen_line, line);
	CHECK_STR(seen_expr, "1 + 1 == 3");
}

TEST(weft_assert__leaves_the_truth_alone)
{
	int n = 0;

	WEFT_ASSERT(++n == 1); /* evaluated exactly once, in every build */
	CHECK_EQ(n, 1);
}

TEST(check_panics__meets_an_assertion)
{
	CHECK_PANICS(WEFT_ASSERT(false));
}
