/* SPDX-License-Identifier: BSD-2-Clause */
#include "live.h"
#include "netns.h"

static char error[256];

static const char fabric[] = "name: t\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: 4\nmtu: 4252\n"
			     "host_links: {speed: 1Gb/s, delay: 0ns}\n"
			     "core_links: {speed: 1Gb/s, delay: 0ns}\nbase_rtt: 250us\n";

static char path[] = "/tmp/weft-live-test-XXXXXX";

static void leave(void)
{
	unlink(path);
}

static const char *write_fabric(void)
{
	static bool written;

	if (written)
		return path;
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	atexit(leave);
	REQUIRE(write(fd, fabric, sizeof(fabric) - 1) == sizeof(fabric) - 1);
	close(fd);
	written = true;
	return path;
}

TEST(weft_live_open__on_plain_addresses)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;

	netns_enter();
	shell("ip link set lo up");
	weft_live_defaults(&config);
	config.planes = "::1,127.0.0.1";
	if (weft_live_open(&live, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(live);
	CHECK_EQ(weft_live_engine(live)->ports, 2);
	CHECK_EQ(weft_live_engine(live)->mtu_bytes, 8192); /* as lo carries */
	CHECK_EQ(weft_live_port(live)->planes, 2);
	CHECK(weft_live_random(live) != weft_live_random(live));
	/* Patience: about four seconds by default. */
	uint64_t budget_ns = (UINT64_C(1024) << live->timeout_exp) * 7;

	for (unsigned i = 1; i <= live->retry_count; i++)
		budget_ns += UINT64_C(1024) << (live->timeout_exp + i);
	CHECK(budget_ns >= 4000000000 && budget_ns < 9000000000);
	weft_live_close(live);
}

/* What somebody has written into the environment, and what a link then carries; 0: an error. */
static void check_rate_words(const struct weft_live_config *config)
{
	static const struct {
		const char *text;
		uint64_t bps;
	} rows[] = {
		{ "10Gb/s", UINT64_C(10000000000) },
		{ "1.5 Tb/s", UINT64_C(1500000000000) },
		{ "10000000000000", UINT64_C(10000000000000) },
		{ "1000000", 1000000 },
		{ "", 1000000000 }, /* as if it were not there */
		{ "10", 0 },
		{ "999999", 0 },
		{ "10000000000001", 0 },
		{ "11Tb/s", 0 },
		{ "100kb/s", 0 },
		{ "10G", 0 },
		{ "-1", 0 },
		{ " 10000000", 0 },
		{ "1e9", 0 },
		{ "fast", 0 },
		{ "18446744073709551616", 0 },
		{ "99999999999999999999999", 0 },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_live *live = NULL;

		setenv("WEFT_RATE", rows[i].text, 1);
		int rc = weft_live_open(&live, config, error, sizeof(error));

		CHECK_EQ(rc, rows[i].bps ? 0 : -1);
		if (!rc && live->rate_bps != 2 * rows[i].bps)
			CHECK_FAIL("WEFT_RATE=%s is read as %llu", rows[i].text,
				(unsigned long long)live->rate_bps / 2);
		if (rc && (!strstr(error, "WEFT_RATE=") || !strstr(error, rows[i].text) ||
				  !strstr(error, "10Gb/s")))
			CHECK_FAIL("WEFT_RATE=%s: %s", rows[i].text, error);
		if (!rc)
			weft_live_close(live);
	}
}

static void check_rates(const struct weft_live_config *config)
{
	struct weft_live *live = NULL;

	/* A lab with slower links than its file: 4252 bytes take 340.16 us, not 34.016. */
	setenv("WEFT_RATE", "100000000", 1);
	REQUIRE(!weft_live_open(&live, config, error, sizeof(error)));
	CHECK_EQ(live->rate_bps, 200000000);
	CHECK_EQ(weft_live_line_bps(live), 200000000);
	CHECK_EQ(weft_live_engine(live)->base_rtt_ns, 1250000 + UINT32_C(4) * (340160 - 34016));
	weft_live_close(live);
	/* Without a limit: as fast as they are emulated, which is more than machines can. */
	setenv("WEFT_RATE", "18446744073709551615", 1);
	REQUIRE(!weft_live_open(&live, config, error, sizeof(error)));
	CHECK_EQ(weft_live_line_bps(live), 2 * WEFT_TOPO_FREE_BPS);
	CHECK(live->rate_bps < WEFT_TOPO_FREE_BPS);
	weft_live_close(live);
	check_rate_words(config);
	unsetenv("WEFT_RATE");
}

/* An interface is as good as its address; packets are what it carries. */
TEST(weft_live_open__fits_packets_to_the_links)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;

	netns_enter();
	if (!shell("ip link add u0 mtu 700 type veth peer name x0"))
		SKIP("no veth here");
	shell("ip link set u0 up; ip link set x0 up; ip addr add 10.66.0.1/24 dev u0");
	weft_live_defaults(&config);
	config.planes = "u0";
	if (weft_live_open(&live, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(live);
	CHECK_EQ(live_most_mtu(live), 512);
	shell("ip link set u0 mtu 9000"); /* it follows */
	CHECK_EQ(live_most_mtu(live), 8192);
	shell("ip link set u0 mtu 700");
	weft_live_close(live);
	config.no_path_mtu = true;
	if (weft_live_open(&live, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	CHECK_EQ(weft_live_engine(live)->mtu_bytes, 512);
	weft_live_close(live);
	config.no_path_mtu = false;
	config.mtu_bytes = 2048;
	CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "700") && strstr(error, "--mtu 512"));
	config.planes = "u7";
	CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "\"u7\"") != NULL);
	shell("ip link del u0");
}

/* A plane named by an interface that is made later, and gets its address later still. */
TEST(weft_live_open__takes_an_interface_when_it_has_an_address)
{
	static const uint8_t later[16] = { [10] = 0xff, 0xff, 10, 66, 0, 1 }, nowhere[16];
	uint64_t limit_ns = weft_clock_now(NULL) + UINT64_C(10000000000);
	struct weft_live_config config;
	struct weft_live *live = NULL;
	struct weft_live_end end;

	netns_enter();
	shell("ip link set lo up");
	weft_live_defaults(&config);
	config.planes = "u7,127.0.0.1";
	if (weft_live_open(&live, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(live);
	struct weft_port *port = weft_live_port(live);

	weft_live_end(live, &end);
	CHECK_EQ(weft_live_engine(live)->ports, 2);
	CHECK_EQ(port->ops->carrier(port), 2);
	CHECK_MEM(end.addr[0], nowhere, 16);
	if (!shell("ip link add u7 type veth peer name x7"))
		SKIP("no veth here");
	shell("ip link set u7 up; ip link set x7 up; ip addr add 10.66.0.1/24 dev u7");
	while (port->ops->carrier(port) != 3 && weft_clock_now(NULL) < limit_ns)
		port->ops->wait(port, 10000000);
	CHECK_EQ(port->ops->carrier(port), 3);
	weft_live_end(live, &end);
	CHECK_MEM(end.addr[0], later, 16);
	weft_live_close(live);
	shell("ip link del u7");
	config.planes = "u7,u8";
	CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
	CHECK(strstr(error, "\"u7\"") != NULL);
}

TEST(weft_live_open__takes_everything_from_the_fabric_file)
{
	struct weft_live_config config;
	struct weft_live *live = NULL;

	netns_enter();
	/* Without the host's addresses the port refuses, after the file has been read. */
	weft_live_defaults(&config);
	config.fabric = write_fabric();
	config.host = "h1";
	CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
	CHECK(strlen(error) > 0);
	struct weft_topo *topo;

	REQUIRE(!weft_topo_open(&topo, config.fabric, error, sizeof(error)));
	for (uint32_t plane = 0; plane < 2; plane++) {
		uint8_t addr[16];
		char command[200], text[64];

		weft_topo_host_addr(topo, 1, plane, addr);
		snprintf(text, sizeof(text),
			"%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:"
			"%02x%02x:%02x%02x",
			addr[0], addr[1], addr[2], addr[3], addr[4], addr[5], addr[6], addr[7],
			addr[8], addr[9], addr[10], addr[11], addr[12], addr[13], addr[14],
			addr[15]);
		snprintf(command, sizeof(command),
			"ip link set lo up; ip addr add %s/128 dev lo nodad", text);
		shell(command);
	}
	if (weft_live_open(&live, &config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(live);
	CHECK_EQ(weft_live_engine(live)->mtu_bytes, 4096);
	CHECK_EQ(weft_live_engine(live)->base_rtt_ns, 1250000); /* 1 ms for the hosts */
	CHECK_EQ(live->rate_bps, 2000000000);
	CHECK(!live->trims); /* the kernel's switches, as far as one knows */
	CHECK_STR(weft_live_host(live), "h1");
	/* The file says where a host is, too; whoever claims another place is somebody else. */
	struct offer offer = {
		.host = "h2", .planes = 2, .udp_port = 5, .n_src_ports = 1, .src_port = { 6 }
	};
	uint32_t peer;

	for (uint32_t plane = 0; plane < 2; plane++)
		weft_topo_host_addr(topo, 2, plane, offer.addr[plane]);
	offer.addr[1][15] ^= 1;
	CHECK_EQ(live_peer_take(live, &offer, &peer, error, sizeof(error)), -1);
	CHECK(strstr(error, "addrs: number 1 ") != NULL);
	offer.addr[1][15] ^= 1;
	if (live_peer_take(live, &offer, &peer, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	weft_live_close(live);
	check_rates(&config);
	setenv("WEFT_SWITCH", "/nowhere", 1);
	setenv("WEFT_VIA", "udp", 1);
	REQUIRE(!weft_live_open(&live, &config, error, sizeof(error)));
	CHECK(live->trims); /* ours, and the file does not say otherwise */
	weft_live_close(live);
	unsetenv("WEFT_SWITCH");
	unsetenv("WEFT_VIA");
	weft_topo_close(topo);
}

TEST(weft_live_open__says_what_is_missing)
{
	static const struct {
		const char *fabric, *host, *planes, *cc, *text;
	} rows[] = {
		{ NULL, NULL, NULL, NULL, "WEFT_FABRIC" },
		{ "/nowhere.yaml", "h1", NULL, NULL, "/nowhere.yaml" },
		{ "", NULL, NULL, NULL, "WEFT_HOST" },
		{ "", "h9", NULL, NULL, "h9" },
		{ "", "p0.t0-0", NULL, NULL, "not a host" },
		{ NULL, NULL, "10.0.0.300", NULL, "10.0.0.300" },
		{ NULL, NULL, "::1", "cubic", "cubic" },
	};

	unsetenv("WEFT_FABRIC");
	unsetenv("WEFT_HOST");
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_live_config config;
		struct weft_live *live;

		weft_live_defaults(&config);
		config.fabric =
			rows[i].fabric && !rows[i].fabric[0] ? write_fabric() : rows[i].fabric;
		config.host = rows[i].host;
		config.planes = rows[i].planes;
		config.cc = rows[i].cc;
		CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
		if (!strstr(error, rows[i].text))
			CHECK_FAIL("row %zu: \"%s\" does not say \"%s\"", i, error, rows[i].text);
	}
}
