/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "device_local.h"

#define MS UINT64_C(1000000)

TEST(retry_budget_ns__is_the_time_per_try_times_the_tries)
{
	static const struct {
		uint8_t timeout, retry;
		uint64_t ns;
	} rows[] = {
		{ 0, 7, 0 },                         /* verbs' word for no limit */
		{ 16, 7, UINT64_C(1024 * 8) << 16 }, /* verbs' 14: 0.54 s, as perftest */
		{ 22, 7, UINT64_C(1024 * 8) << 22 }, /* verbs' 20: 34 s, as NCCL */
		{ 16, 0, 200 * MS },                 /* 67 ms, but a peer in software ... */
		{ 1, 7, 200 * MS },
		{ 31, 7, UINT64_C(1024 * 8) << 31 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_dev_qp_attr own = { .timeout = rows[i].timeout,
			.retry = rows[i].retry };
		struct weft_qp_attr attr = { .timeout_exp = 13 };

		CHECK_EQ(retry_budget_ns(&own), rows[i].ns);
		retry_put(&own, &attr);
		CHECK_EQ(attr.give_up_ns, rows[i].ns);
		CHECK_EQ(attr.rnr_give_up_ns, 200 * MS); /* fio wants no try */
		CHECK_EQ(attr.timeout_exp, 13); /* asks as soon as the fabric can have answered */
		if (!rows[i].ns)
			CHECK_EQ(attr.retry_count, 25);
		else
			CHECK_EQ(attr.timeout_exp_max, WEFT_MAX(WEFT_MIN(rows[i].timeout, 24), 13));
	}
}

TEST(retry_put__counts_as_mrc_does_where_asked)
{
	struct weft_dev_qp_attr own = { .timeout = 18, .linear = 2, .retry = 3, .doubles = true };
	struct weft_qp_attr attr = { .timeout_exp = 13, .give_up_ns = 1 };
	uint64_t base_ns = UINT64_C(1024) << 18;

	retry_put(&own, &attr);
	CHECK_EQ(attr.timeout_exp, 18);
	CHECK_EQ(attr.linear_count, 2);
	CHECK_EQ(attr.retry_count, 3);
	CHECK_EQ(attr.give_up_ns, 0);
	CHECK_EQ(retry_budget_ns(&own), base_ns * (3 + 2 + 4 + 8));
	own.retry = 25;
	retry_put(&own, &attr);
	CHECK_EQ(attr.retry_count, 25);
	CHECK_EQ(retry_budget_ns(&own), 0);
	/* 262 us, twice: the fabric's base, and until the least that there is. */
	own = (struct weft_dev_qp_attr){ .timeout = 8, .linear = 1, .doubles = true };
	attr = (struct weft_qp_attr){ .timeout_exp = 13 };
	retry_put(&own, &attr);
	CHECK_EQ(attr.timeout_exp, 13);
	CHECK_EQ(attr.linear_count, 1);
	CHECK_EQ(attr.retry_count, 4); /* 8.4 ms * (2 + 2 + 4 + 8 + 16) */
	CHECK_EQ(retry_budget_ns(&own), 200 * MS);
}
