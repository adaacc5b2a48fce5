/* SPDX-License-Identifier: BSD-2-Clause */
#include "switches.h"

static struct place place;
static struct weft_switchd *sw;

static void begin(void)
{
	place_open(&place, SMALL2);
	sw = switch_open(&place, NULL);
}

static void end(void)
{
	weft_switchd_close(sw);
	place_close(&place);
}

static const char *ask(const char *line)
{
	static char text[1024];
	char *answer = request_answer(sw, line, strlen(line));

	REQUIRE(answer);
	snprintf(text, sizeof(text), "%s", answer);
	free(answer);
	return text;
}

#define CHECK_OK(line) CHECK_STR(ask(line), "{\"ok\":true}\n")

TEST(request_answer__says_what_is_wrong)
{
	static const struct {
		const char *line, *words;
	} rows[] = {
		{ "", "column" },
		{ "[]", "a request is an object" },
		{ "{\"op\":\"hello\",\"op\":\"stop\"}", "column" },
		{ "{\"op\":3}", "'op' is missing, or no string" },
		{ "{\"op\":\"reset\"}", "there are: counters freeze hello hole link links loss" },
		{ "{\"op\":\"hello\",\"x\":1}",
			"'x' is no member of 'hello', which may have: none" },
		{ "{\"op\":\"link\",\"link\":\"bob.p0\",\"upp\":true}", "may have: link up " },
		{ "{\"op\":\"link\",\"link\":\"bob.p9\",\"up\":true}",
			"no link named 'bob.p9' (alice.p0 is one)" },
		{ "{\"op\":\"link\",\"link\":\"bob.p0\",\"up\":1}", "'up' wants true or false" },
		{ "{\"op\":\"link\",\"link\":\"bob.p0\"}", "'up' wants true or false" },
		{ "{\"op\":\"rate\",\"link\":\"bob.p0\",\"bps\":-1}", "from 0 to 4398046511104" },
		{ "{\"op\":\"rate\",\"link\":\"bob.p0\",\"bps\":999999}", "wants 1000000 or more" },
		{ "{\"op\":\"rate\",\"link\":\"bob.p0\",\"bps\":1e6}", "whole number" },
		{ "{\"op\":\"hole\",\"link\":\"bob.p0\",\"way\":3,\"on\":true}", "--way down" },
		{ "{\"op\":\"loss\",\"link\":\"bob.p0\",\"way\":4,\"ppm\":1}", "from 1 to 3" },
		{ "{\"op\":\"loss\",\"link\":\"bob.p0\",\"way\":1,\"ppm\":1000001}",
			"from 0 to 1000000" },
		{ "{\"op\":\"freeze\",\"node\":\"alice\",\"on\":true}",
			"no switch named 'alice' (p0.t0-0 is one, or p0.t1-0)" },
		{ "{\"op\":\"path\",\"src\":\"p0.t0-0\",\"dst\":\"bob\",\"ev\":0,\"ppm\":1}",
			"no host named 'p0.t0-0'" },
		{ "{\"op\":\"path\",\"src\":\"alice\",\"dst\":\"bob\",\"ev\":99,\"ppm\":1}",
			"no path of these hosts has EV 0x00000063" },
		{ "{\"op\":\"path\",\"src\":\"bob\",\"dst\":\"bob\",\"ev\":0,\"ppm\":1}",
			"no path" },
		{ "{\"op\":\"reboot\",\"node\":\"p0.t0-0\",\"for_ns\":0}", "from 1 to 3600" },
		{ "{\"op\":\"counters\",\"node\":\"bob\"}", "no switch named 'bob'" },
		{ "{\"op\":\"table\"}", "'node' is missing" },
		{ "{\"op\":\"freeze\",\"node\":\"\\ud800\"}", "ok" },
	};

	begin();
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		if (strstr(ask(rows[i].line), rows[i].words) &&
			strstr(ask(rows[i].line), "\"ok\":false"))
			continue;
		CHECK_FAIL("%s: says %s", rows[i].line, ask(rows[i].line));
	}
	end();
}

TEST(do_link__unplugs_and_plugs_in)
{
	begin();
	uint32_t link = find_link(sw, "p1.t0-1:t1-0");
	CHECK_OK("{\"op\":\"link\",\"link\":\"p1.t0-1:t1-0\",\"up\":false}");
	CHECK(!weft_network_link_is_up(sw->network, link));
	CHECK_OK("{\"op\":\"link\",\"link\":\"p1.t0-1:t1-0\",\"up\":true}");
	CHECK(weft_network_link_is_up(sw->network, link));
	/* What the host's interface says stays said. */
	link = find_link(sw, "bob.p1");
	sw->told[link].down = LINK_FAR_DOWN;
	CHECK_OK("{\"op\":\"link\",\"link\":\"bob.p1\",\"up\":false}");
	CHECK_OK("{\"op\":\"link\",\"link\":\"bob.p1\",\"up\":true}");
	CHECK_EQ(sw->told[link].down, LINK_FAR_DOWN);
	CHECK(!weft_network_link_is_up(sw->network, link));
	end();
}

static unsigned doubted; /* of those that arrived last */

/* How many of n packets from alice arrive at bob by an EV. */
static unsigned arrive(uint32_t ev, unsigned n)
{
	struct weft_shm_desc d[64];
	struct program alice, bob;
	unsigned got = 0;

	doubted = 0;
	CHECK_EQ(program_open(&alice, sw, "alice", 0), 0);
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0);
	for (unsigned sent = 0, i = 0; i < 8 * n; i++) {
		if (sent < n && program_send(&alice, sw->topo, ALICE, BOB, ev, 5000, 200))
			sent++;
		else
			turns(sw, 1);
		size_t k = weft_shm_take(bob.link, WEFT_SHM_RX, d, 64);

		program_done(&bob, d, k);
		got += (unsigned)k;
		for (size_t at = 0; at < k; at++)
			doubted += d[at].flags == WEFT_SHM_DOUBTED;
	}
	program_close(&alice);
	program_close(&bob);
	turns(sw, 3);
	return got;
}

TEST(do_loss__loses_a_share_one_way)
{
	begin();
	CHECK_OK("{\"op\":\"loss\",\"link\":\"alice.p0\",\"way\":1,\"ppm\":500000}");
	unsigned got = arrive(weft_ev(0, 0), 200);
	CHECK(got > 50 && got < 150);
	CHECK_OK("{\"op\":\"loss\",\"link\":\"alice.p0\",\"way\":1,\"ppm\":0}");
	CHECK_OK("{\"op\":\"loss\",\"link\":\"alice.p0\",\"way\":2,\"ppm\":1000000}");
	CHECK_EQ(arrive(weft_ev(0, 0), 50), 50);
	end();
}

/* What is spoilt arrives; that it is not whole is the receiver's to see, who is told to look. */
TEST(do_spoil__lets_all_arrive_and_says_so)
{
	begin();
	CHECK_EQ(arrive(weft_ev(0, 0), 50), 50);
	CHECK_EQ(doubted, 0);
	CHECK_OK("{\"op\":\"spoil\",\"link\":\"alice.p0\",\"way\":1,\"ppm\":1000000}");
	CHECK_EQ(arrive(weft_ev(0, 0), 50), 50);
	CHECK_EQ(doubted, 50);
	CHECK_EQ(sw->told[find_link(sw, "alice.p0")].spoil_ppm[0], 1000000);
	CHECK_EQ(sw->told[find_link(sw, "alice.p0")].spoil_ppm[1], 0);
	end();
}

TEST(do_hole__swallows_one_sid)
{
	begin();
	CHECK_OK("{\"op\":\"hole\",\"link\":\"p0.t0-0:t1-1\",\"way\":1,\"on\":true}");
	CHECK_EQ(arrive(weft_ev(0, 1), 20), 0);
	CHECK_EQ(arrive(weft_ev(0, 0), 20), 20);
	CHECK_EQ(sw->told[find_link(sw, "p0.t0-0:t1-1")].hole, 1);
	CHECK_OK("{\"op\":\"hole\",\"link\":\"p0.t0-0:t1-1\",\"way\":3,\"on\":false}");
	CHECK_EQ(arrive(weft_ev(0, 1), 20), 20);
	end();
}

TEST(do_path__loses_what_takes_it)
{
	begin();
	CHECK_OK(
		"{\"op\":\"path\",\"src\":\"alice\",\"dst\":\"bob\",\"ev\":65537,\"ppm\":1000000}");
	CHECK_EQ(arrive(weft_ev(1, 1), 20), 0);
	CHECK_EQ(arrive(weft_ev(1, 0), 20), 20);
	CHECK_OK("{\"op\":\"path\",\"src\":\"alice\",\"dst\":\"bob\",\"ev\":65537,\"ppm\":0}");
	CHECK_EQ(arrive(weft_ev(1, 1), 20), 20);
	end();
}

TEST(do_freeze__stops_forwarding_only)
{
	begin();
	CHECK_OK("{\"op\":\"freeze\",\"node\":\"p0.t1-0\",\"on\":true}");
	CHECK(weft_network_link_is_up(sw->network, find_link(sw, "p0.t0-0:t1-0")));
	CHECK_EQ(arrive(weft_ev(0, 0), 20), 0);
	CHECK_EQ(arrive(weft_ev(0, 1), 20), 20);
	CHECK_OK("{\"op\":\"freeze\",\"node\":\"p0.t1-0\",\"on\":false}");
	CHECK_EQ(arrive(weft_ev(0, 0), 20), 20);
	end();
}

TEST(do_power__takes_table_and_links_and_gives_them_back)
{
	begin();
	CHECK_OK("{\"op\":\"hole\",\"link\":\"p0.t0-0:t1-0\",\"way\":1,\"on\":true}");
	CHECK_OK("{\"op\":\"power\",\"node\":\"p0.t0-0\",\"on\":false}");
	CHECK(!weft_network_link_is_up(sw->network, find_link(sw, "alice.p0")));
	CHECK_EQ(arrive(weft_ev(0, 0), 10), 0);
	CHECK_OK("{\"op\":\"power\",\"node\":\"p0.t0-0\",\"on\":true}");
	CHECK_EQ(arrive(weft_ev(0, 0), 20), 20); /* the hole is forgotten, too */
	CHECK_EQ(sw->told[find_link(sw, "p0.t0-0:t1-0")].hole, 0);
	end();
}

TEST(do_reboot__ends_by_itself)
{
	begin();
	CHECK_OK("{\"op\":\"reboot\",\"node\":\"p0.t0-0\",\"for_ns\":30000000}");
	CHECK_EQ(sw->is_off[weft_topo_node_find(sw->topo, "p0.t0-0")], 1);
	CHECK(!weft_network_link_is_up(sw->network, find_link(sw, "alice.p0")));
	usleep(40000);
	turns(sw, 1);
	CHECK(weft_network_link_is_up(sw->network, find_link(sw, "alice.p0")));
	CHECK_EQ(arrive(weft_ev(0, 0), 20), 20);
	end();
}

TEST(do_rate__slows_a_link)
{
	struct weft_shm_desc d[8];
	struct program alice, bob;

	begin();
	CHECK_OK("{\"op\":\"rate\",\"link\":\"p0.t0-1:t1-0\",\"bps\":100000000}");
	CHECK_EQ(program_open(&alice, sw, "alice", 0), 0);
	CHECK_EQ(program_open(&bob, sw, "bob", 5000), 0);
	alice.at_ns = real_now_ns();
	for (unsigned i = 0; i < 8; i++)
		CHECK(program_send(&alice, sw->topo, ALICE, BOB, weft_ev(0, 0), 5000, 962));
	REQUIRE(program_receive(&bob, sw, d, 8) == 8);
	for (unsigned i = 1; i < 8; i++) /* 1000 bytes at 100 Mb/s */
		CHECK_NEAR((int64_t)(d[i].at_ns - d[i - 1].at_ns), 80000, 1);
	program_done(&bob, d, 8);
	CHECK_OK("{\"op\":\"rate\",\"link\":\"p0.t0-1:t1-0\",\"bps\":0}");
	CHECK_EQ(sw->told[find_link(sw, "p0.t0-1:t1-0")].rate_bps, 0);
	program_close(&alice);
	program_close(&bob);
	end();
}

TEST(do_stop__stops)
{
	begin();
	CHECK_OK("{\"op\":\"stop\"}");
	CHECK(sw->is_stopped);
	end();
}
