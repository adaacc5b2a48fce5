/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_text.h"

static int parse(struct weft_sim_config *config, const char *a, const char *b, const char *c)
{
	char text[3][64];
	char name[] = "sim";
	char *argv[] = { name, text[0], text[1], text[2], NULL };
	const char *given[] = { a, b, c };
	int argc = 1;

	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(text[i], sizeof(text[i]), "%s", given[i] ? given[i] : "");
		argc += given[i] != NULL;
	}
	argv[argc] = NULL;
	weft_sim_config_default(config);
	return argp_parse(&sim_baseline_argp, argc, argv, ARGP_SILENT, NULL, config);
}

TEST(sim_baseline_argp__sets_what_it_is_told)
{
	struct weft_sim_config c;

	CHECK(!parse(&c, "--transport=roce", "--qps=4", "--dcqcn"));
	CHECK_EQ(c.baseline.kind, WEFT_BASELINE_ROCE);
	CHECK_EQ(c.baseline.qps, 4);
	CHECK(c.baseline.dcqcn);
	CHECK_EQ(c.discipline, WEFT_DISCIPLINE_UNSAID);
	CHECK_EQ(c.bgp_detect_ps, UINT64_C(1000000000000));
	CHECK(!parse(&c, "--transport=stripe", "--pfc", "--bgp-detect=50ms"));
	CHECK_EQ(c.discipline, WEFT_DISCIPLINE_LOSSLESS);
	CHECK_EQ(c.bgp_detect_ps, UINT64_C(50000000000));
	CHECK(!parse(&c, "--transport=ndp", "--window=30", "--rto=1ms"));
	CHECK_EQ(c.discipline, WEFT_DISCIPLINE_UNSAID);
	CHECK_EQ(c.baseline.window_pkts, 30);
	CHECK_EQ(c.baseline.rto_ps, 1000000000);
	CHECK(!parse(&c, "--transport=mrc", NULL, NULL));
	CHECK_EQ(c.baseline.kind, WEFT_BASELINE_NONE);
	/* No option is without effect. */
	CHECK(parse(&c, "--dcqcn", NULL, NULL));
	CHECK(parse(&c, "--transport=mrc", "--pfc", NULL));
	CHECK(parse(&c, "--rto=1ms", NULL, NULL));
	CHECK(parse(&c, "--bgp-detect=50ms", NULL, NULL));
	CHECK(parse(&c, "--transport=ndp", "--dcqcn", NULL));
	CHECK(!parse(&c, "--transport=roce-sr", "--dcqcn", "--pfc"));
	/* Nor a time that is none, or longer than a scenario may say it. */
	CHECK(parse(&c, "--transport=roce", "--rto=0s", NULL));
	CHECK(parse(&c, "--transport=roce", "--rto=9000000s", NULL));
	CHECK(parse(&c, "--transport=roce", "--bgp-detect=9000000s", NULL));
	CHECK(!parse(&c, "--transport=roce", "--rto=4s", "--bgp-converge=100s"));
}

TEST(weft_sim_discipline__is_what_each_paper_assumes)
{
	static const struct {
		const char *transport, *pfc, *full;
		enum weft_discipline is;
	} rows[] = { { "mrc", NULL, "trim", WEFT_DISCIPLINE_TRIM },
		{ "ndp", NULL, "trim", WEFT_DISCIPLINE_TRIM },
		{ "spray", NULL, "trim", WEFT_DISCIPLINE_TRIM },
		{ "roce", NULL, "trim", WEFT_DISCIPLINE_DROP_TAIL },
		{ "roce-sr", NULL, "trim", WEFT_DISCIPLINE_DROP_TAIL },
		{ "stripe", NULL, "trim", WEFT_DISCIPLINE_DROP_TAIL },
		{ "stripe", "--pfc", "trim", WEFT_DISCIPLINE_LOSSLESS },
		/* What the file says besides trimming holds for all. */
		{ "mrc", NULL, "drop", WEFT_DISCIPLINE_DROP_TAIL },
		{ "ndp", NULL, "drop", WEFT_DISCIPLINE_DROP_TAIL },
		{ "roce", NULL, "pause", WEFT_DISCIPLINE_LOSSLESS },
		{ "roce", "--pfc", "drop", WEFT_DISCIPLINE_LOSSLESS } };

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++) {
		char text[200], transport[40], error[200];
		struct weft_sim_config c;
		struct weft_topo *topo;

		snprintf(text, sizeof(text),
			"name: t\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\nswitch: {full: %s}\n",
			rows[i].full);
		REQUIRE(!weft_topo_open_text(
			&topo, text, strlen(text), "t", error, sizeof(error)));
		snprintf(transport, sizeof(transport), "--transport=%s", rows[i].transport);
		CHECK(!parse(&c, transport, rows[i].pfc, NULL));
		c.topo = topo;
		CHECK_EQ(weft_sim_discipline(&c), rows[i].is);
		weft_topo_close(topo);
	}
}
