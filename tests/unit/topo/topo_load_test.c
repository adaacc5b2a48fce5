/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabrics.h"

#include <unistd.h>

TEST(weft_topo_open_text__fills_counts_and_defaults)
{
	struct weft_topo *topo = fabric(LAB8);
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	CHECK_STR(s->name, "lab8");
	CHECK_EQ(s->planes, 8);
	CHECK_EQ(s->uplinks, 2);
	CHECK_EQ(s->hosts_per_t0, 2);
	CHECK_EQ(s->nodes, 4 + 8 * 4);
	CHECK_EQ(s->links, 8 * (4 + 4));
	CHECK_EQ(s->mtu_bytes, 4252);
	CHECK_EQ(s->udp_port, 4791);
	CHECK_EQ(s->full, WEFT_FULL_TRIM);
	CHECK_EQ(s->marks, WEFT_MARKS_ALL);
	CHECK_EQ(s->host_bps, UINT64_C(100000000000));
	/* 8 x 500 ns of cable, and 4 x 4380 bytes at 100 Gb/s = 350.4 ns each. */
	CHECK_NEAR((double)s->base_rtt_ns, 4000 + 4 * 350.4, 4);
	weft_topo_close(topo);
}

TEST(weft_topo_open_text__reads_everything_the_file_can_say)
{
	struct weft_topo *topo = fabric("name: all\nplanes: 2\nt0s: 2\nt1s: 3\nparallel_links: 2\n"
					"hosts: [alpha, beta, h2]\nhosts_per_t0: 2\nmtu: 9000\n"
					"udp_port: 4971\nbase_rtt: 40us\n"
					"host_links: {speed: 1Gb/s, delay: 2us}\n"
					"core_links: {speed: 2.5Gb/s, delay: 3us}\n"
					"switch: {queue: 500KB, radix: 16, full: pause, "
					"marks: core}\n"
					"usid: {block: [fc01:0::/32, fc02:0::/32], "
					"behavior: uA}\n"
					"host_prefix: fd00:1::/32\n"
					"overrides:\n"
					"  - {link: p1.t0-1:t1-2/1, cabled: false}\n"
					"  - {link: beta.p0, speed: 100Mb/s, delay: 9us}\n");
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	CHECK_EQ(s->hosts, 3);
	CHECK_EQ(s->uplinks, 6);
	CHECK_EQ(s->mtu_bytes, 9000);
	CHECK_EQ(s->udp_port, 4971);
	CHECK_EQ(s->base_rtt_ns, 40000);
	CHECK_EQ(s->host_bps, 1000000000);
	CHECK_EQ(s->core_bps, UINT64_C(2500000000));
	CHECK_EQ(s->core_delay_ns, 3000);
	CHECK_EQ(s->switch_queue_bytes, 500000);
	CHECK_EQ(s->full, WEFT_FULL_PAUSE);
	CHECK_EQ(s->marks, WEFT_MARKS_CORE);
	CHECK_EQ(s->behavior, WEFT_USID_UA);
	CHECK_EQ(s->plane_bits, 0);
	CHECK_EQ(s->index_bits, 14);
	CHECK_EQ(topo->blocks[1], 0xfc020000u);
	CHECK_EQ(topo->host_prefix, 0xfd000001u);
	struct weft_link l = weft_topo_link(topo, weft_topo_link_find(topo, "beta.p0"));
	CHECK_EQ(l.bps, 100000000);
	CHECK_EQ(l.delay_ns, 9000);
	CHECK(l.cabled);
	CHECK(!weft_topo_link(topo, weft_topo_link_find(topo, "p1.t0-1:t1-2/1")).cabled);
	weft_topo_close(topo);
}

TEST(weft_topo_open_text__knows_what_a_switch_may_do)
{
	static const char *const words[] = { "trim", "drop", "pause" };

	for (unsigned full = WEFT_FULL_TRIM; full <= WEFT_FULL_PAUSE; full++) {
		char text[128];

		(void)snprintf(text, sizeof(text), LAB8 "switch: {full: %s, marks: %s}\n",
			words[full], full & 1 ? "core" : "all");
		struct weft_topo *topo = fabric(text);

		CHECK_EQ(weft_topo_shape(topo)->full, full);
		CHECK_EQ(weft_topo_shape(topo)->marks, full & 1 ? WEFT_MARKS_CORE : WEFT_MARKS_ALL);
		weft_topo_close(topo);
	}
}

#define BASE "name: x\nplanes: 2\nt0s: 2\nt1s: 2\n"

static const struct {
	const char *text, *want;
} wrongs[] = {
	{ "", "t:1: the file is empty" },
	{ BASE "hosts: 4\n---\nname: y\n", "t:7: a second document: one file has one, before this "
					   "line" },
	{ BASE "hosts: 4\n---\n[1\n", "t:8: not YAML: did not find expected ',' or ']'" },
	{ BASE "hosts: 4\nbase_rtt: 99ns\n",
		"t:6: base_rtt: '99ns' is out of range, allowed: 100 to 1000000000 ns" },
	{ BASE "hosts: 4\nbase_rtt: 1001ms\n",
		"t:6: base_rtt: '1001ms' is out of range, allowed: 100 to 1000000000 ns" },
	{ BASE "hosts: 4\nhost_links: {speed: 8Tb/s, delay: 1ns}\n"
	       "core_links: {speed: 8Tb/s, delay: 1ns}\n",
		"t:6: base_rtt: delays, speeds and MTU come to a round trip of 24 ns, allowed: 100 "
		"to "
		"1000000000; or say base_rtt" },
	{ "a: [1\n", "t:2: not YAML: did not find expected ',' or ']'" },
	{ "planes: 2\n", "t:1: name: missing" },
	{ BASE, "t:1: hosts: missing, a number or a list of names" },
	{ BASE "hosts: 1\n", "t:5: hosts: '1' is neither a list of names nor a number, "
			     "allowed: 2 to 1048576" },
	{ BASE "hosts: [a, a]\n", "t:5: hosts: 'a' given twice" },
	{ BASE "hosts: [a, b.c]\n", "t:5: hosts: 'b.c' is not a name, allowed: 1 to 15 "
				    "letters, digits, '-' and '_', no "
				    "'-' first" },
	{ BASE "hosts: [h1, b]\n",
		"t:5: hosts: 'h1' is host number 0: call it h0 or something else" },
	{ BASE "hosts: 4\nuplinks: 3\n", "t:6: uplinks: no such field, allowed: name, "
					 "planes, t0s, t1s, parallel_links, hosts, "
					 "hosts_per_t0, mtu, udp_port, base_rtt, "
					 "host_links, core_links, switch, usid, "
					 "host_prefix, overrides" },
	{ BASE "hosts: 9\nhosts_per_t0: 4\n",
		"t:6: hosts_per_t0: 2 T0s x 4 have no room for 9 hosts" },
	{ "name: x\nplanes: 2\nt0s: 2\nhosts: 4\n",
		"t:1: t1s: several T0s need T1s between them, allowed: 1 or more" },
	{ "name: x\nplanes: 17\n", "t:2: planes: '17' is out of range, allowed: 1 to 16" },
	{ BASE "hosts: 4\nhost_links: {speed: 100}\n",
		"t:6: host_links.speed: '100' is not a speed in bits, like 100Gb/s or "
		"500Mb/s" },
	{ BASE "hosts: 4\nusid: {block: fcbb::/16}\n",
		"t:6: usid.block: 'fcbb::/16' is not a /32 of unicast addresses, like "
		"fcbb:bb00::/32" },
	{ BASE "hosts: 4\nusid: {block: ff02:1::/32}\n",
		"t:6: usid.block: 'ff02:1::/32' is not a /32 of unicast addresses, like "
		"fcbb:bb00::/32" },
	{ BASE "hosts: 4\nusid:\n  block:\n    - fc00:1::/32\n    - fc00:1::/32\n",
		"t:9: usid.block: 'fc00:1::/32' given twice, planes 0 and 1 would share "
		"their uSIDs" },
	{ BASE "hosts: 4\nusid: {block: [fc00:1::/32]}\n",
		"t:6: usid.block: 1 blocks for 2 planes, allowed: one for all, or one "
		"each" },
	{ BASE "hosts: 4\nusid: {plane_bits: 0}\n",
		"t:6: usid.plane_bits: 0 bits cannot tell 2 planes apart in one block" },
	{ BASE "hosts: 4\nswitch: {full: cut}\n",
		"t:6: switch.full: 'cut' is none, allowed: trim (cut the payload off), drop and "
		"pause (PFC)" },
	{ BASE "hosts: 4\nswitch: {marks: none}\n",
		"t:6: switch.marks: 'none' is none, allowed: all and core (none at ports to "
		"hosts)" },
	{ BASE "hosts: 4\nusid: {behavior: uB}\n",
		"t:6: usid.behavior: 'uB' is none, allowed: uN (a uSID per switch) and uA "
		"(one per link)" },
	{ "name: x\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 2046\nusid: {behavior: uA}\n",
		"t:6: usid.behavior: uA gives each of a T0's 1025 ports a uSID, 10 index bits are "
		"enough for 1024" },
	{ "name: x\nplanes: 8\nt0s: 1026\nt1s: 1\nhosts: 1026\nusid: {behavior: uA}\n",
		"t:6: usid.behavior: uA gives each of a T1's 1026 ports a uSID, 10 index bits are "
		"enough for 1024" },
	{ BASE "hosts: 4\nhost_prefix: fcbb:bb00::/32\n",
		"t:6: host_prefix: is also a uSID block: 'fcbb:bb00::/32'" },
	{ "name: x\nplanes: 8\nt0s: 4096\nt1s: 2\nhosts: 8192\n",
		"t:3: t0s: 4096 x 1 parallel links need more uSIDs than 11 index bits "
		"give, allowed: "
		"2048" },
	{ "name: x\nplanes: 8\nt0s: 4\nt1s: 1024\nparallel_links: 4\nhosts: 8\n",
		"t:4: t1s: 1024 x 4 parallel links need more uSIDs than 11 index bits "
		"give, allowed: "
		"512" },
	{ "name: x\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 8192\n",
		"t:1: hosts_per_t0: 4096 need more uSIDs than 11 index bits give, allowed: "
		"2047" },
	{ BASE "hosts: 40\nswitch: {radix: 21}\n",
		"t:6: switch.radix: a T0 needs 22 ports (20 hosts, 2 uplinks), the radix "
		"is 21" },
	{ "name: x\nplanes: 1\nt0s: 8\nt1s: 2\nhosts: 8\nswitch: {radix: 7}\n",
		"t:6: switch.radix: a T1 needs 8 ports, the radix is 7" },
	{ BASE "hosts: 4\noverrides:\n  - {link: h9.p0}\n",
		"t:7: overrides.link: no link 'h9.p0' here, they are called like h0.p0 or "
		"p0.t0-0:t1-0" },
	{ BASE "hosts: 4\noverrides:\n  - {link: h1.p0}\n  - {link: h1.p0}\n",
		"t:8: overrides.link: 'h1.p0' given twice" },
	{ BASE "hosts: 4\noverrides:\n  - {speed: 1Gb/s}\n", "t:7: overrides.link: missing" },
	{ "name: -x\nplanes: 1\nt0s: 1\nhosts: 2\n",
		"t:1: name: '-x' is not a name, allowed: 1 to 24 letters, digits, '-' and "
		"'_', no '-' "
		"first" },
};

TEST(weft_topo_open_text__says_where_and_what_is_wrong)
{
	for (size_t i = 0; i < WEFT_COUNT(wrongs); i++) {
		struct weft_topo *topo = NULL;
		char error[512] = "";

		CHECK_EQ(weft_topo_open_text(&topo, wrongs[i].text, strlen(wrongs[i].text), "t",
				 error, sizeof(error)),
			-1);
		CHECK_STR(error, wrongs[i].want);
		CHECK(!topo);
	}
}

TEST(weft_topo_open_text__takes_the_largest_fabric_of_the_paper)
{
	struct weft_topo *topo = fabric(PAPER);

	CHECK_EQ(weft_topo_shape(topo)->links, 2 * 1048576);
	CHECK_EQ(weft_topo_shape(topo)->hosts_per_t0, 256);
	weft_topo_close(topo);
}

TEST(weft_topo_open__reads_a_file_or_says_why_not)
{
	struct weft_topo *topo = NULL;
	char path[] = "/tmp/weft-load-XXXXXX", error[128] = "";
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && write(fd, LAB8, strlen(LAB8)) == (ssize_t)strlen(LAB8));
	CHECK_EQ(weft_topo_open(&topo, path, error, sizeof(error)), 0);
	weft_topo_close(topo);
	close(fd);
	unlink(path);
	CHECK_EQ(weft_topo_open(&topo, "/nowhere/f.yaml", error, sizeof(error)), -1);
	CHECK_STR(error, "/nowhere/f.yaml: No such file or directory");
	weft_topo_close(NULL);
}

TEST(weft_topo_open__takes_every_example)
{
	static const struct {
		const char *path;
		uint32_t hosts, paths;
	} rows[] = {
		{ "examples/fabrics/lab8.yaml", 4, 16 },
		{ "examples/fabrics/small2.yaml", 2, 4 },
		{ "examples/fabrics/incast.yaml", 16, 8 },
		{ "examples/fabrics/paper-8x100g.yaml", 131072, 2048 },
		{ "examples/fabrics/paper-4x200g.yaml", 32768, 512 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_topo *topo = NULL;
		char path[512], error[256] = "";

		/* The build names sources by their whole path. */
		snprintf(path, sizeof(path), "%.*s%s", (int)(strstr(__FILE__, "tests/") - __FILE__),
			__FILE__, rows[i].path);
		if (weft_topo_open(&topo, path, error, sizeof(error))) {
			CHECK_FAIL("%s", error);
			continue;
		}
		CHECK_EQ(weft_topo_shape(topo)->hosts, rows[i].hosts);
		CHECK_EQ(weft_topo_paths(topo, 0, rows[i].hosts - 1), rows[i].paths);
		weft_topo_close(topo);
	}
}
