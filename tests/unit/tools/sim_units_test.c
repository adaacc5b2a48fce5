/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_text.h"

#include <stdlib.h>
#include <string.h>

TEST(sim_read_time__wants_a_unit)
{
	uint64_t value = 7;

	CHECK(sim_read_time("20us", &value) && value == 20000000);
	CHECK(sim_read_time("1.5ms", &value) && value == UINT64_C(1500000000));
	CHECK(sim_read_time("3ps", &value) && value == 3);
	CHECK(!sim_read_time("20", &value) && !sim_read_time("us", &value));
	CHECK(!sim_read_time("-1us", &value) && !sim_read_time("0.5ps", &value));
	CHECK(!sim_read_time("nans", &value) && !sim_read_time("", &value));
	CHECK(!sim_read_time("99999999s", &value) && !sim_read_time("10000000s", &value));
}

TEST(sim_read_bytes__knows_both_kinds_of_mega)
{
	uint64_t value;

	CHECK(sim_read_bytes("4096", &value) && value == 4096);
	CHECK(sim_read_bytes("2MB", &value) && value == 2000000);
	CHECK(sim_read_bytes("2MiB", &value) && value == 2097152);
	CHECK(!sim_read_bytes("2M", &value) && !sim_read_bytes("2mb", &value) &&
		!sim_read_bytes("1.5", &value));
}

TEST(sim_us_json__is_null_of_what_never_ends)
{
	json_t *never = sim_us_json(WEFT_NEVER), *some = sim_us_json(2500000);

	CHECK(json_is_null(never));
	CHECK_NEAR(json_real_value(some), 2.5, 0);
	json_decref(never);
	json_decref(some);
}

TEST(sim_us_add__says_the_word_of_what_never_ends)
{
	char *text = NULL;
	size_t bytes;
	struct term term = { .out = open_memstream(&text, &bytes), .columns = 80 };
	struct table table;

	REQUIRE(term.out);
	table_begin(&table, "ll");
	sim_us_add(&table, 2500000, "not over");
	sim_us_add(&table, WEFT_NEVER, "not over");
	table_print(&table, &term);
	(void)fclose(term.out);
	CHECK(!strncmp(text, "2.50  not over", 14));
	free(text);
}
