/* SPDX-License-Identifier: BSD-2-Clause */
#include "demos.h"

static char one[128], two[128], error[DEMO_TEXT_BYTES];

static void name_both(void)
{
	snprintf(one, sizeof(one), "%s", in_folder("one"));
	snprintf(two, sizeof(two), "%s", in_folder("two"));
}

TEST(file_assemble__is_as_long_as_asked_and_the_same_each_time)
{
	uint64_t bytes = 0, wrong = 1;

	name_both();
	CHECK_EQ(file_assemble(one, 3000001, error, sizeof(error)), 0);
	CHECK_EQ(file_assemble(two, 3000001, error, sizeof(error)), 0);
	CHECK_EQ(file_bytes(one, &bytes, error, sizeof(error)), 0);
	CHECK_EQ(bytes, 3000001);
	CHECK_EQ(file_compare(one, two, &wrong, error, sizeof(error)), 0);
	CHECK_EQ(wrong, 0);
	leave_folder();
}

TEST(file_assemble__says_why_it_cannot)
{
	CHECK_EQ(file_assemble("/proc/none/x", 10, error, sizeof(error)), -1);
	CHECK(strstr(error, "/proc/none/x"));
}

TEST(file_compare__counts_each_wrong_byte)
{
	static uint8_t data[200000];
	uint64_t wrong;

	name_both();
	write_file(one, data, sizeof(data));
	data[0] = data[70000] = data[199999] = 1;
	write_file(two, data, sizeof(data));
	CHECK_EQ(file_compare(one, two, &wrong, error, sizeof(error)), 0);
	CHECK_EQ(wrong, 3);
	write_file(two, data, 100000);
	CHECK_EQ(file_compare(one, two, &wrong, error, sizeof(error)), 0);
	CHECK_EQ(wrong, 2 + 100000);
	write_file(one, data, 0);
	write_file(two, data, 0);
	CHECK_EQ(file_compare(one, two, &wrong, error, sizeof(error)), 0);
	CHECK_EQ(wrong, 0);
	leave_folder();
}

TEST(file_compare__needs_both)
{
	uint64_t wrong;

	name_both();
	write_file(one, "x", 1);
	CHECK_EQ(file_compare(one, two, &wrong, error, sizeof(error)), -1);
	CHECK(strstr(error, "two"));
	leave_folder();
}

TEST(file_folder__makes_all_of_the_path)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/a/b/c", use_folder());
	CHECK_EQ(file_folder(path, error, sizeof(error)), 0);
	CHECK_EQ(access(path, W_OK), 0);
	CHECK_EQ(file_folder(path, error, sizeof(error)), 0);
	CHECK_EQ(file_folder("/proc/none/a", error, sizeof(error)), -1);
	leave_folder();
}
