/* SPDX-License-Identifier: BSD-2-Clause */
#include "few.h"

TEST(weft_workload_parse__takes_kinds_keys_and_files)
{
	struct few f = few_make(
		"training,tp=8,hosts=0,3,5-9/2,bytes=64MiB,start=1.5us,load=60%,victim=true");

	CHECK_STR(f.error, "");
	CHECK_EQ(f.spec.kind, WEFT_WORKLOAD_TRAINING);
	CHECK_EQ(f.spec.tp, 8);
	CHECK_STR(f.spec.hosts, "0,3,5-9/2");
	CHECK_EQ(f.spec.bytes, 64u << 20);
	CHECK_EQ(f.spec.start_ps, 1500000);
	CHECK_EQ(f.spec.load_permille, 600);
	CHECK(f.spec.victim);
	CHECK(weft_workload_parse(&f.spec, "incast:7", f.error, sizeof(f.error)));
	CHECK_EQ(f.spec.kind, WEFT_WORKLOAD_INCAST);
	CHECK_EQ(f.spec.fan_in, 7);
	CHECK(weft_workload_parse(&f.spec, "a/b.goal,name=x", f.error, sizeof(f.error)));
	CHECK_EQ(f.spec.kind, WEFT_WORKLOAD_FILE);
	CHECK_STR(f.spec.file, "a/b.goal");
	CHECK_STR(f.spec.name, "x");
	few_close(&f);
}

TEST(weft_workload_parse__says_what_is_wrong)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "ring,bytes=0",
			"bytes: \"0\", wanted is bytes, 2MB, 64KiB from 1 to 1125899906842624" },
		{ "ring,bytes=5parsecs",
			"bytes: \"5parsecs\", wanted is bytes, 2MB, 64KiB from 1 to"
			" 1125899906842624" },
		{ "ring,tp=1.5", "tp: \"1.5\", wanted is a whole number from 1 to 1048576" },
		{ "ring,placement=odd",
			"placement: \"odd\", wanted is one of packed, spread, random" },
		{ "ring,fast", "load: \"fast\", wanted is KEY=VALUE" },
		{ "incast:none",
			"fan_in: \"none\", wanted is a whole number from 1 to 4294967295" },
	};

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		struct few f = few_make(NULL);

		CHECK(!weft_workload_parse(&f.spec, rows[i].text, f.error, sizeof(f.error)));
		CHECK_STR(f.error, rows[i].error);
		few_close(&f);
	}
	struct few f = few_make(NULL);

	CHECK(!weft_workload_set(&f.spec, "spede", "1", f.error, sizeof(f.error)));
	CHECK(strstr(f.error, "spede: no such property of a load, allowed: kind, name, hosts"));
	CHECK(!weft_workload_set(&f.spec, "name",
		"a name that is longer than thirty-one characters", f.error, sizeof(f.error)));
	CHECK_STR(f.error, "name: longer than 31 characters");
	few_close(&f);
}
