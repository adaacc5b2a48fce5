/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

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

TEST(weft_plane_may_come__tells_names_from_addresses_gone_wrong)
{
	static const struct {
		const char *word;
		bool may;
	} rows[] = { { "eth1", true }, { "nosuchif0", true }, { "10g.5", true }, { "", false },
		{ "10.0.0.300", false }, { "10", false }, { "fd00::zz", false },
		{ "eth0:1", false }, { "eth 1", false }, { "a/b", false },
		{ "fifteenletters1", true }, { "sixteenletters01", false } };

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		if (weft_plane_may_come(rows[i].word) != rows[i].may)
			CHECK_FAIL("\"%s\"", rows[i].word);
}
