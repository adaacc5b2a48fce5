/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "sim_progress.h"

#include <stdlib.h>
#include <string.h>

struct watched {
	struct sim_progress p;
	char *text;
	size_t bytes;
};

static uint64_t two_seconds(void *arg)
{
	(void)arg;
	return 2000000000;
}

static void watch(struct watched *w, const struct weft_sim_totals *totals)
{
	sim_progress_begin(&w->p, "seed 7", 100000000000, NULL);
	w->p.term = (struct term){ .out = open_memstream(&w->text, &w->bytes), .tty = true };
	REQUIRE(w->p.term.out);
	w->p.start_ns = 0;
	w->p.now_ns = two_seconds;
	CHECK(sim_progress_watch(&w->p, totals));
}

static void end(struct watched *w)
{
	(void)fclose(w->p.term.out);
	free(w->text);
}

TEST(sim_progress_watch__tells_work_and_time_left)
{
	struct watched w = { 0 };

	watch(&w, &(struct weft_sim_totals){
			  .now_ps = 12300000, .packet_hops = 4000000, .hops_ideal = 20000000 });
	CHECK(strstr(w.text, "seed 7 "));
	CHECK(strstr(w.text, " 20 %  12.3 us simulated, 2.0 M hops/s, "));
	CHECK(strstr(w.text, "iB, 8 s left"));
	/* Not again at once. */
	size_t before = w.bytes;

	CHECK(sim_progress_watch(&w.p, &(struct weft_sim_totals){ 0 }));
	CHECK_EQ(w.bytes, before);
	end(&w);
}

TEST(sim_progress_watch__is_over_when_time_is)
{
	struct watched w = { 0 };

	/* Packets that are sent again are more work than arithmetic says. */
	watch(&w, &(struct weft_sim_totals){
			  .now_ps = 1000000, .packet_hops = 90000000, .hops_ideal = 20000000 });
	CHECK(strstr(w.text, " 99 % "));
	end(&w);
	watch(&w, &(struct weft_sim_totals){ .now_ps = 100000000000, .packet_hops = 5 });
	CHECK(strstr(w.text, "100 % "));
	end(&w);
}

TEST(sim_progress_end__erases_what_was_drawn)
{
	struct watched w = { 0 };

	watch(&w, &(struct weft_sim_totals){ .now_ps = 1 });
	sim_progress_end(&w.p);
	CHECK_STR(w.text + w.bytes - 4, "\r\033[K");
	CHECK(!w.p.shown);
	end(&w);
}
