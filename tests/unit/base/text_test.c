/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <string.h>

static const struct {
	const char *text, *shown;
} rows[] = {
	{ "", "" },
	{ "plain text, ~", "plain text, ~" },
	{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "\x1b[31mred\x1b]0;title\a", "?[31mred?]0;title?" },
	{ "a\nb\tc\rd\x7f", "a?b?c?d?" },
	{ "\x9b"
	  "31m",
		"?31m" }, /* CSI in eight bits */
	{ "\xc2\x9b"
	  "31m",
		"??31m" }, /* the same in UTF-8 */
	{ "\xc2\xa0", "\xc2\xa0" },
	{ "\xc0\x9b", "??" },           /* overlong */
	{ "\xe0\x82\x9b", "???" },      /* overlong */
	{ "\xed\xa0\x80", "???" },      /* half of a surrogate pair */
	{ "\xf4\x90\x80\x80", "????" }, /* beyond Unicode */
	{ "\xe2\x80\xae"
	  "fdp.exe",
		"???fdp.exe" }, /* right to left */
	{ "\xe2\x81\xa6", "???" },
	{ "cut \xe2\x82", "cut ??" },
	{ "\xff\xfe", "??" },
};

TEST(weft_text_clean__leaves_nothing_that_a_terminal_obeys)
{
	char text[64];

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		snprintf(text, sizeof(text), "%s", rows[i].text);
		CHECK(weft_text_clean(text) == text);
		CHECK_STR(text, rows[i].shown);
	}
}

TEST(weft_text_is_clean__says_what_would_be_changed)
{
	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_EQ(weft_text_is_clean(rows[i].text), !strcmp(rows[i].text, rows[i].shown));
}
