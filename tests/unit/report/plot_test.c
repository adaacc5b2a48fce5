/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "report_local.h"

static char *drawn(const struct plot *plot, bool is_standalone)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	plot_draw(out, plot, is_standalone);
	(void)fclose(out);
	return text;
}

TEST(put_text__makes_marks_harmless)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	put_text(out, "a<b> & \"c\"");
	(void)fclose(out);
	CHECK_STR(text, "a&lt;b&gt; &amp; &quot;c&quot;");
	free(text);
}

TEST(tick_step__is_round)
{
	static const struct {
		double max, step;
	} rows[] = { { 10, 2 }, { 1, 0.2 }, { 47, 10 }, { 230, 50 }, { 7e6, 1e6 }, { 0, 1 } };

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_NEAR(tick_step(0, rows[i].max, 5), rows[i].step, rows[i].step * 1e-9);
}

TEST(put_number__takes_units_that_fit)
{
	static const struct {
		double value;
		const char *unit, *text;
	} rows[] = { { 2.35209e6, "bytes", "2.35 MB" }, { 0, "", "0" }, { 0.2, "", "0.2" },
		{ 999, "bytes", "999 bytes" }, { 730, "frames", "730 frames" },
		{ 41544, "frames", "41544 frames" }, { 100000, "", "100k" }, { 1e6, "", "1000k" },
		{ 354344.6e9, "b/s", "354 Tb/s" }, { 0.0004, "per ms", "0.0004 per ms" },
		{ 12.34, "", "12.3" } };
	char text[48];

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_STR(
			put_number(rows[i].value, rows[i].unit, text, sizeof(text)), rows[i].text);
}

TEST(plot_draw__has_lines_bands_and_rules)
{
	static const double x[] = { 1, 2, 3 }, y[] = { 0, 50, 100 };
	struct plot p = { .title = "a <title>",
		.x_name = "us",
		.y_name = "Gb/s",
		.x_max = 3,
		.series = { { "one", x, y, 3, 0, false, false } },
		.n_series = 1,
		.bands = { { 1, 2, "link-down" } },
		.n_bands = 1,
		.rules = { { 95, "ideal" } },
		.n_rules = 1 };
	char *text = drawn(&p, true);

	CHECK(strstr(text, "<?xml") == text);
	CHECK(strstr(text, "a &lt;title&gt;"));
	CHECK(strstr(text,
		"<path class=\"l\" stroke=\"#3b6fd4\" d=\"M324.0 284.0L582.0 171.0L840.0 "
		"58.0\">"));
	CHECK(strstr(text, "link-down"));
	CHECK(strstr(text, ">ideal</text>"));
	CHECK(strstr(text, "</svg>\n"));
	free(text);
	text = drawn(&p, false);
	CHECK(strstr(text, "<svg") == text);
	CHECK(!strstr(text, "<style>"));
	free(text);
}

/* Many bands upon each other would hide the lines. */
TEST(plot_draw__makes_many_bands_faint)
{
	static const double x[] = { 1, 2 }, y[] = { 0, 7 };
	struct plot p = { .title = "t",
		.x_name = "us",
		.y_name = "n",
		.x_max = 2,
		.series = { { "one", x, y, 2, 0, false, true } },
		.n_series = 1,
		.n_bands = 6 };

	for (unsigned i = 0; i < 7; i++)
		p.bands[i] = (struct band){ 1, 2, "port-down" };
	for (; p.n_bands <= 7; p.n_bands++) {
		char *text = drawn(&p, false);

		CHECK_EQ(!strstr(text, "opacity:.03"), p.n_bands == 6);
		CHECK_EQ(!strstr(text, ">port-down</text>"), p.n_bands == 7);
		free(text);
	}
}

TEST(plot_draw__takes_tens_on_a_log_axis)
{
	static const double x[] = { 1, 2 }, y[] = { 0, 730 };
	struct plot p = { .title = "t",
		.x_name = "us",
		.y_name = "n",
		.x_max = 2,
		.is_log = true,
		.series = { { "one", x, y, 2, 0, false, true } },
		.n_series = 1 };
	char *text = drawn(&p, false);

	CHECK(strstr(text, ">1000</text>"));
	CHECK(strstr(text, "y=\"288.0\" text-anchor=\"end\">0</text>"));
	CHECK(strstr(text, "y=\"231.5\" text-anchor=\"end\">1</text>"));
	CHECK(strstr(text, "d=\"M453.0 284.0")); /* 0 is drawn where 0 is */
	CHECK(!strstr(text, "nan") && !strstr(text, "inf"));
	free(text);
}

TEST(heat_draw__leaves_out_what_is_not_hot)
{
	static const double x[] = { 1, 2 }, values[] = { 0, 9 };
	struct heat h = { .title = "t",
		.x_name = "us",
		.unit = "frames",
		.names = { "p0" },
		.values = { values },
		.x = x,
		.columns = 2,
		.rows = 1 };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	heat_draw(out, &h, false);
	(void)fclose(out);
	CHECK(strstr(text, "darkest: 9 frames"));
	CHECK(strstr(text, "opacity=\"1.00\""));
	CHECK(!strstr(text, "opacity=\"0.08\""));
	free(text);
}

TEST(strips_draw__stacks_what_is_worst_at_the_bottom)
{
	static const double x[] = { 10, 20 }, good[] = { 4, 1 }, bad[] = { 0, 3 },
			    none[] = { 0, 0 };
	struct strips t = { .title = "states",
		.x_name = "us",
		.names = { "p0" },
		.values = { { good, none, bad } },
		.states = { "good", "skip", "bad" },
		.x = x,
		.columns = 2,
		.rows = 1,
		.n_states = 3,
		.bands = { { 15, 20, "freeze" } },
		.n_bands = 1 };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	strips_draw(out, &t, false);
	(void)fclose(out);
	/* Nothing was ever passed over: two areas; at the end a quarter is good, on top. */
	CHECK(strstr(text, "<title>p0: good</title>") && strstr(text, "<title>p0: bad</title>"));
	CHECK(!strstr(text, "<title>p0: skip</title>"));
	CHECK(strstr(text, "M66.0 111.0V60.0H453.0V60.0H840.0V72.8H453.0V111.0H66.0Z"));
	CHECK(strstr(text, "M66.0 111.0V111.0H453.0V72.8H840.0V111.0H453.0V111.0H66.0Z"));
	CHECK(strstr(text, "<title>freeze</title>"));
	free(text);
}
