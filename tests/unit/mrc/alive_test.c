/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "mrc_local.h"

#define N 5000

static char objects[N][48]; /* as far apart as an allocator puts them */

TEST(alive_is__knows_what_was_added_and_not_dropped)
{
	CHECK(!alive_is(NULL));
	CHECK(!alive_is(objects[0]));
	alive_drop(objects[0]); /* nothing is there yet */
	for (int i = 0; i < N; i++)
		CHECK(alive_add(objects[i]));
	for (int i = 0; i < N; i += 3)
		alive_drop(objects[i]);
	for (int i = 0; i < N; i++)
		CHECK_EQ(alive_is(objects[i]), i % 3 != 0);
	for (int i = 0; i < N; i += 3)
		CHECK(alive_add(objects[i]));
	for (int i = 0; i < N; i++) {
		CHECK(alive_is(objects[i]));
		alive_drop(objects[i]);
		CHECK(!alive_is(objects[i]));
	}
}
