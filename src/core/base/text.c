/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text - what others wrote, made fit for a terminal.
 *
 * A terminal obeys what it is shown: escape sequences (ECMA-48) set titles, move the cursor and, in
 * some, type.  So text of a peer, a switch, a keeper or a file passes here before it is shown.
 * What stays is UTF-8 (RFC 3629) without control characters: not those of ASCII, not C1 (0x9b
 * alone is an escape sequence's beginning), not the ones that turn the direction of writing
 * (Unicode's bidirectional controls), by which a name can be made to read as another.  A byte that
 * is no part of such text becomes a question mark: lengths stay, and nothing vanishes unseen.
 */
#include <weft/base.h>

static bool is_shown(uint32_t point)
{
	return point >= 0xa0 && !(point >= 0xd800 && point <= 0xdfff) && point <= 0x10ffff &&
	       point != 0x61c && point != 0x200e && point != 0x200f &&
	       !(point >= 0x2028 && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069);
}

/* Bytes of the character that text begins with; 0: it is none, or not one to show. */
static unsigned character(const char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *at = (const unsigned char *)text;

	if (*at < 0x80)
		return *at >= ' ' && *at != 0x7f;
	unsigned n = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
	uint32_t point = *at & (0x7fu >> n);

	if (*at < 0xc2 || *at > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3fu);
	}
	return point >= least[n] && is_shown(point) ? n : 0;
}

bool weft_text_is_clean(const char *text)
{
	while (*text) {
		unsigned n = character(text);

		if (!n)
			return false;
		text += n;
	}
	return true;
}

bool weft_text_is_clean_lines(const char *text)
{
	while (*text) {
		unsigned n = *text == '\n' ? 1 : character(text);

		if (!n)
			return false;
		text += n;
	}
	return true;
}

char *weft_text_clean(char *text)
{
	for (char *at = text; *at;) {
		unsigned n = character(at);

		if (!n)
			*at = '?';
		at += n ? n : 1;
	}
	return text;
}
