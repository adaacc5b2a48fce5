/* SPDX-License-Identifier: BSD-2-Clause */
#include "switch_show.h"

#include "check.h"

#include <jansson.h>

#define PORT(link, up, in, out, octets, drops)                                                     \
	"{\"port\":0,\"link\":\"" link "\",\"up\":" up ",\"SAI_PORT_STAT_IF_IN_UCAST_PKTS\":" in   \
	",\"SAI_PORT_STAT_IF_OUT_UCAST_PKTS\":" out ",\"SAI_PORT_STAT_IF_OUT_OCTETS\":" octets     \
	",\"SAI_PORT_STAT_IF_IN_DISCARDS\":" drops                                                 \
	",\"queues\":[{\"queue\":\"data\",\"depth_bytes\":1024},"                                  \
	"{\"queue\":\"control\",\"depth_bytes\":0}]}"
#define COUNTERS(at, out, octets)                                                                  \
	"{\"at_ns\":" at ",\"fabric\":{\"drops\":{\"no_sid\":7,\"fault\":5}},"                     \
	"\"hosts\":{\"nobody\":2,\"rx_full\":0},\"switches\":["                                    \
	"{\"node\":\"p0.t0-0\",\"drops\":{\"no_sid\":7,\"fault\":1},\"ports\":[" PORT("h0.p0",     \
		"true", "12345", out, octets, "7") "," PORT("h1.p0", "true", "0", "0", "0",        \
		"0") "]},{\"node\":\"p0.t0-1\",\"drops\":{\"no_sid\":0},\"ports\":[" PORT("h2.p0", \
		"false", "0", "0", "0", "0") "]}]}"

static char *text;
static size_t bytes;
static struct term term;

static json_t *begin(const char *json)
{
	json_error_t where;
	json_t *root = json_loads(json, 0, &where);

	if (!root)
		CHECK_FAIL("%s at %d", where.text, where.column);
	REQUIRE(root);
	text = NULL;
	term = (struct term){ .out = open_memstream(&text, &bytes), .columns = 100 };
	return root;
}

static void end(json_t *root, const char *want)
{
	fclose(term.out);
	CHECK_STR(text, want);
	free(text);
	json_decref(root);
}

TEST(switch_show_counters__leaves_quiet_ports_out)
{
	json_t *root = begin(COUNTERS("1", "99", "100"));

	switch_show_counters(root, &term, false);
	end(root,
		"switch   link   is        in  out  marked  trimmed  in drops  out drops  waiting\n"
		"-------  -----  ----  ------  ---  ------  -------  --------  ---------  -------\n"
		"p0.t0-0  h0.p0  up    12,345   99       0        0         7          0    1 KiB\n"
		"p0.t0-1  h2.p0  DOWN       0    0       0        0         0          0    1 KiB\n"
		"dropped by   because  packets\n"
		"-----------  -------  -------\n"
		"p0.t0-0      no_sid         7\n"
		"p0.t0-0      fault          1\n"
		"cables       fault          4\n"
		"hosts' side  nobody         2\n");
}

TEST(switch_show_rates__is_per_second)
{
	json_t *before = json_loads(COUNTERS("1000000000", "100", "1000"), 0, NULL);
	json_t *root = begin(COUNTERS("3000000000", "300", "251000"));

	switch_show_rates(before, root, &term);
	json_decref(before);
	end(root,
		"switch   link      out  packets/s  marked  trimmed  in drops  out drops  waiting\n"
		"-------  -----  ------  ---------  ------  -------  --------  ---------  -------\n"
		"p0.t0-0  h0.p0  1 Mb/s        100       0        0         0          0    1 "
		"KiB\n");
}

TEST(switch_show_rates__says_that_nothing_moves)
{
	json_t *before = json_loads(COUNTERS("1000000000", "100", "1000"), 0, NULL);
	json_t *root = begin(COUNTERS("2000000000", "100", "1000"));

	switch_show_rates(before, root, &term);
	json_decref(before);
	end(root,
		"switch  link  out  packets/s  marked  trimmed  in drops  out drops  waiting\n"
		"------  ----  ---  ---------  ------  -------  --------  ---------  -------\n"
		"no port has carried anything for 1 s\n");
}

TEST(switch_show_hello__lists_both_edges)
{
	json_t *root = begin(
		"{\"name\":\"lab8\",\"fabric\":\"/f\",\"hosts\":4,\"switches\":32,\"planes\":8,"
		"\"rate_bps\":200000000,\"up_ns\":1500000000,\"slots\":100,\"slots_free\":90,"
		"\"processes\":[{\"host\":\"h0\",\"udp_port\":4000,\"sent\":5,\"received\":6,"
		"\"slots\":10}],\"interfaces\":[{\"interface\":\"h1.p0\",\"link\":\"h1.p0\","
		"\"sent\":1,\"received\":2}]}");

	switch_show_hello(root, &term);
	end(root, "switch lab8, up for 1.5 s: 32 switches, 4 hosts, 8 planes, 200 Mb/s\n"
		  "fabric /f, 10 of 100 slots in use\n"
		  "host   by             sent  received  slots\n"
		  "-----  -------------  ----  --------  -----\n"
		  "h0     UDP port 4000     5         6     10\n"
		  "h1.p0  h1.p0             2         1      -\n");
}

static const char table[] =
	"{\"node\":\"p0.t0-0\",\"power\":false,\"entries\":[{\"prefix\":\"a::/"
	"48\",\"kind\":\"usid\","
	"\"link\":\"x\",\"links\":1,\"sid\":\"0x4000\",\"packets\":3},{\"prefix\":\"b::/48\","
	"\"kind\":\"host\",\"link\":\"y\",\"links\":3}]}";

TEST(switch_show_table__says_what_is_shared_and_what_is_off)
{
	json_t *root = begin(table);

	switch_show_table(root, &term);
	end(root, "prefix  kind  link          packets\n"
		  "------  ----  ------------  -------\n"
		  "a::/48  usid  x                   3\n"
		  "b::/48  host  y and 2 more        -\n"
		  "p0.t0-0 is switched off\n");
}

TEST(switch_show_sids__has_no_prefixes)
{
	json_t *root = begin(table);

	switch_show_sids(root, &term);
	end(root, "SID     kind  link  packets\n"
		  "------  ----  ----  -------\n"
		  "0x4000  usid  x           3\n");
}

TEST(switch_show_links__shows_faults)
{
	json_t *root = begin("{\"links\":[{\"link\":\"h0.p0\",\"up\":true,\"bps\":100000000,"
			     "\"loss_up_ppm\":200000,\"loss_down_ppm\":0,"
			     "\"spoil_up_ppm\":0,\"spoil_down_ppm\":5000,\"hole\":2}]}");

	switch_show_links(root, &term);
	end(root, "link   is      rate  loss up  loss down  spoilt up  spoilt down  hole\n"
		  "-----  --  --------  -------  ---------  ---------  -----------  ----\n"
		  "h0.p0  up  100 Mb/s     20 %          -          -        0.5 %  down\n");
}
