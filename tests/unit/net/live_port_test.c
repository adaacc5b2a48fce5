/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "live.h"

static char error[256];

TEST(live_port_find__asks_the_caller_first_and_the_environment_then)
{
	unsetenv("WEFT_VIA");
	CHECK_STR(live_port_find(NULL, error, sizeof(error))->name, "udp");
	CHECK_STR(live_port_find("udp", error, sizeof(error))->name, "udp");
	setenv("WEFT_VIA", "pigeon", 1);
	CHECK(!live_port_find(NULL, error, sizeof(error)));
	CHECK_STR(live_port_find("udp", error, sizeof(error))->name, "udp");
	setenv("WEFT_VIA", "", 1);
	CHECK_STR(live_port_find(NULL, error, sizeof(error))->name, "udp");
	unsetenv("WEFT_VIA");
}

TEST(live_port_find__names_what_there_is)
{
	CHECK(!live_port_find("pigeon", error, sizeof(error)));
	CHECK(strstr(error, "\"pigeon\"") && strstr(error, "udp"));
}
