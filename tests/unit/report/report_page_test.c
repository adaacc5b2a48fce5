/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "report_local.h"

static const char scenario[] =
	"title: a <ring>\nstop: 1ms\nfabric: {planes: 2, hosts: 8, radix: 4}\nload: [ring]\n"
	"faults: [link-down h1.p0 at 20us for 10us]\nexpect: [completed == 8, lost == 9999]\n";

TEST(weft_report_page__needs_nothing_from_elsewhere)
{
	struct weft_scenario_options options = { .seed = 1 };
	struct weft_scenario_result *runs[2];
	struct weft_scenario *play = NULL;
	char error[256], *text = NULL;
	size_t bytes;

	REQUIRE(!weft_scenario_open_text(
		&play, scenario, strlen(scenario), __FILE__, "", error, sizeof(error)));
	for (options.seed = 1; options.seed <= 2; options.seed++) {
		runs[options.seed - 1] = weft_scenario_run(play, &options, error, sizeof(error));
		REQUIRE(runs[options.seed - 1]);
	}
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(out);
	CHECK(weft_report_page(out, play, runs, 2, "sim"));
	(void)fclose(out);
	CHECK(strstr(text, "<h1>a &lt;ring&gt;</h1>"));
	CHECK(strstr(text, "data-name=\"seed 2\""));
	CHECK(strstr(text, "<dd>weft play " __FILE__ " --seeds 1-2\n"));
	CHECK(strstr(text, "<dt>transport<dd>mrc") && strstr(text, "<dt>version<dd>weft "));
	CHECK(strstr(text, "title: a &lt;ring&gt;\nstop: 1ms"));
	CHECK(strstr(text, "class=\"failed\">failed"));
	CHECK(strstr(text, "class=\"passed\">passed"));
	CHECK(!strstr(text, "src=") && !strstr(text, "href=") && !strstr(text, "url("));
	CHECK(strstr(text, "</body></html>\n"));
	/* In a mail, say, and on paper: every run, and which seed it is of. */
	CHECK(strstr(text, "<noscript><style>section.run,h2.seed{display:block}"));
	CHECK(strstr(text, "<h2 class=\"seed\">seed 1</h2>"));
	CHECK(strstr(text, "<h2 class=\"seed\">seed 2</h2>"));
	CHECK(strstr(strstr(text, "@media print"), "h2.seed{display:block"));
	free(text);
	/* A run of which nothing can be drawn has a page all the same. */
	runs[0]->rows = 0;
	out = open_memstream(&text, &bytes);
	REQUIRE(out);
	CHECK(weft_report_page(out, play, runs, 1, "sim"));
	(void)fclose(out);
	CHECK(strstr(text, "</body></html>\n"));
	free(text);
	for (unsigned i = 0; i < 2; i++)
		weft_scenario_result_free(runs[i]);
	weft_scenario_close(play);
}

/* A time that is not there is no time of 0. */
TEST(weft_report_page__shows_no_figure_where_there_is_none)
{
	static const char endless[] =
		"title: cut off\nstop: 100us\nfabric: {planes: 2, hosts: 8, radix: 4}\n"
		"load: [permutation: {bytes: 1GB}]\nfaults: [link-down h1.p0 at 60us for 10us]\n";
	struct weft_scenario_options options = { .seed = 1 };
	struct weft_scenario *play = NULL;
	char error[256], *text = NULL;
	size_t bytes;

	REQUIRE(!weft_scenario_open_text(
		&play, endless, strlen(endless), "s.yaml", "", error, sizeof(error)));
	struct weft_scenario_result *run = weft_scenario_run(play, &options, error, sizeof(error));
	FILE *out = open_memstream(&text, &bytes);

	REQUIRE(run && out);
	CHECK(weft_report_page(out, play, &run, 1, "sim"));
	(void)fclose(out);
	CHECK(strstr(text, "0 of 8"));
	CHECK(strstr(text, "<td class=\"n\">8<td class=\"n\">0<td class=\"n\">not done<td"));
	CHECK(!strstr(text, ">0.00<") && !strstr(text, ">0.000<"));
	free(text);
	weft_scenario_result_free(run);
	weft_scenario_close(play);
}
