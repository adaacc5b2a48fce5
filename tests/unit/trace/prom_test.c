/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <weft/trace.h>

static char text[4096];

static const char *print(
	const struct weft_metrics *metrics, const struct weft_metrics_row rows[], size_t n)
{
	text[0] = 0;
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct weft_sink sink;

	weft_sink_file(&sink, file);
	CHECK_EQ(weft_prom_metrics(&sink, metrics, rows, n), 0);
	fclose(file);
	return text;
}

static const char *const names[] = { "tx_pkts", "drops" };

TEST(weft_prom_metrics__counters_without_labels)
{
	const struct weft_metrics m = { .prefix = "weft_", .names = names, .n_names = 2 };

	CHECK_STR(
		print(&m, &(struct weft_metrics_row){ .values = (uint64_t[]){ 1, UINT64_MAX } }, 1),
		"# TYPE weft_tx_pkts_total counter\n"
		"weft_tx_pkts_total 1\n"
		"# TYPE weft_drops_total counter\n"
		"weft_drops_total 18446744073709551615\n");
}

TEST(weft_prom_metrics__keeps_the_lines_of_a_metric_together)
{
	const struct weft_label labels[] = { { "host", "h0" }, { "plane", "3" } };
	const struct weft_metrics m = { .prefix = "weft_qp_",
		.names = names,
		.n_names = 2,
		.gauges = true,
		.labels = labels,
		.n_labels = 2,
		.row_label = "qpn" };
	const struct weft_metrics_row rows[] = {
		{ "17", (uint64_t[]){ 1, 2 } },
		{ "18", (uint64_t[]){ 3, 4 } },
	};

	CHECK_STR(print(&m, rows, 2), "# TYPE weft_qp_tx_pkts gauge\n"
				      "weft_qp_tx_pkts{host=\"h0\",plane=\"3\",qpn=\"17\"} 1\n"
				      "weft_qp_tx_pkts{host=\"h0\",plane=\"3\",qpn=\"18\"} 3\n"
				      "# TYPE weft_qp_drops gauge\n"
				      "weft_qp_drops{host=\"h0\",plane=\"3\",qpn=\"17\"} 2\n"
				      "weft_qp_drops{host=\"h0\",plane=\"3\",qpn=\"18\"} 4\n");
}

TEST(weft_prom_metrics__makes_names_legal_and_escapes_values)
{
	static const char *const odd[] = { "9 drops.bad-rkey" };
	struct weft_metrics m = { .names = odd, .n_names = 1, .gauges = true, .row_label = "x" };
	struct weft_metrics_row row = { "a\"b\\c\nd", (uint64_t[]){ 5 } };

	CHECK_STR(print(&m, &row, 1), "# TYPE __drops_bad_rkey gauge\n"
				      "__drops_bad_rkey{x=\"a\\\"b\\\\c\\nd\"} 5\n");
	m.prefix = "w";
	CHECK_STR(print(&m, &row, 1), "# TYPE w9_drops_bad_rkey gauge\n"
				      "w9_drops_bad_rkey{x=\"a\\\"b\\\\c\\nd\"} 5\n");
}

TEST(weft_prom_metrics__of_nothing_is_nothing)
{
	const struct weft_metrics m = { .prefix = "weft_", .names = names, .n_names = 2 };

	CHECK_STR(print(&m, NULL, 0), "");
}

static int refuse(void *user, const void *bytes, size_t len_bytes)
{
	(void)bytes;
	(void)len_bytes;
	++*(unsigned *)user;
	return -EPIPE;
}

TEST(weft_prom_metrics__stops_where_the_sink_does)
{
	const struct weft_metrics m = { .prefix = "weft_", .names = names, .n_names = 2 };
	unsigned calls = 0;
	struct weft_sink sink = { .write = refuse, .user = &calls };

	CHECK_EQ(weft_prom_metrics(&sink, &m,
			 &(struct weft_metrics_row){ .values = (uint64_t[]){ 1, 2 } }, 1),
		-EPIPE);
	CHECK_EQ(calls, 1);
}
