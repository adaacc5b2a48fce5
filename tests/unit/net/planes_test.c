/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "local.h"

#include <arpa/inet.h>
#include <string.h>

static uint8_t addr[16];

static const char *found(const char *word)
{
	static char text[WEFT_PLANE_TEXT_BYTES];

	if (!weft_plane_address(word, addr))
		return "none";
	weft_plane_text(addr, text);
	return text;
}

TEST(weft_plane_address__takes_addresses_and_interfaces)
{
	CHECK_STR(found("10.77.0.2"), "10.77.0.2");
	CHECK_STR(found("FD00::0002"), "fd00::2");
	CHECK_STR(found("::ffff:10.77.0.2"), "10.77.0.2");
	CHECK_STR(found("nosuchif0"), "none");
	CHECK_STR(found(""), "none");
	CHECK_STR(found("10.77.0"), "none");
	/* Where IPv6 is off, lo has its IPv4 address. */
	const char *lo = found("lo");

	CHECK(!strcmp(lo, "::1") || !strcmp(lo, "127.0.0.1"));
}
