/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "live.h"

#include <weft/loop.h>

static char error[256];

static const char *found(const struct weft_live_config *config)
{
	const struct live_port_kind *kind = live_port_find(config, error, sizeof(error));

	return kind ? kind->name : NULL;
}

TEST(live_port_find__asks_the_caller_first_and_the_environment_then)
{
	static const struct {
		const char *via, *dir, *planes, *env_via, *env_dir, *want;
	} rows[] = {
		{ NULL, NULL, NULL, NULL, NULL, "udp" },
		{ NULL, "/d", NULL, NULL, NULL, "shm" },
		{ NULL, NULL, NULL, NULL, "/d", "shm" },
		{ "afpacket-srv6", NULL, NULL, NULL, NULL, "afpacket-srv6" },
		{ NULL, NULL, NULL, "afpacket", NULL, "afpacket" },
		{ "afxdp", NULL, NULL, NULL, NULL, "afxdp" },
		{ NULL, NULL, NULL, NULL, "", "udp" },
		{ NULL, NULL, "::1", NULL, "/d", "udp" }, /* plain addresses: no fabric file */
		{ NULL, NULL, NULL, "udp", "/d", "udp" },
		{ NULL, NULL, NULL, "", "/d", "shm" },
		{ "udp", "/d", NULL, "shm", "/d", "udp" },
		{ "shm-far", NULL, NULL, "udp", NULL, "shm-far" },
		{ NULL, NULL, NULL, "pigeon", NULL, NULL },
		{ "pigeon", NULL, NULL, "udp", NULL, NULL },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct weft_live_config config = {
			.via = rows[i].via, .switch_dir = rows[i].dir, .planes = rows[i].planes
		};

		unsetenv("WEFT_VIA");
		unsetenv("WEFT_SWITCH");
		if (rows[i].env_via)
			setenv("WEFT_VIA", rows[i].env_via, 1);
		if (rows[i].env_dir)
			setenv("WEFT_SWITCH", rows[i].env_dir, 1);
		CHECK_STR(found(&config), rows[i].want);
	}
}

TEST(live_port_find__names_what_there_is)
{
	struct weft_live_config config = { .via = "pigeon" };

	CHECK(!found(&config));
	CHECK(strstr(error, "\"pigeon\"") && strstr(error, "udp, afpacket"));
}

/* One that the caller has opened is taken as it is, if its planes are those that have addresses. */
TEST(live_port_given__takes_the_place_of_one_by_name)
{
	struct weft_loop *loop = weft_loop_open(
		&(struct weft_loop_config){ .nodes = 1, .planes = 2, .uplinks = 3 });
	struct weft_live_port port = { .port = weft_loop_port(loop, 0),
		.udp_port = 7,
		.n_src_ports = 3,
		.peer_add = weft_loop_peer_add,
		.peer_drop = weft_loop_peer_drop };
	struct weft_live_config config;
	struct weft_live *live = NULL;
	struct weft_live_end end;

	weft_live_defaults(&config);
	config.engine.qps = 4;
	config.port = &port;
	config.planes = "fd00::1";
	CHECK_EQ(weft_live_open(&live, &config, error, sizeof(error)), -1);
	CHECK_STR(error, "the port has 2 planes, and there are 1 addresses");
	config.planes = "fd00::1,fd00:0:1::1";
	REQUIRE(!weft_live_open(&live, &config, error, sizeof(error)));
	CHECK(weft_live_port(live) == port.port);
	weft_live_end(live, &end);
	CHECK_EQ(end.udp_port, 7);
	CHECK_EQ(end.n_src_ports, 3);
	CHECK_EQ(end.src_port[2], 7);
	weft_live_close(live);
	weft_loop_close(loop);
}
