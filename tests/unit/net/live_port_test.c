/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "live.h"

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
