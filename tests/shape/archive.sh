#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# archive.sh ROOMS.TXT ROOT LIBRARY CC: the library shows weft_* only, and a program links to it.
#
# The program has a local name of ours as its own; without the sealing it would hijack the library.
set -eu
library=$3
cc=$4
cd "$2"
shown=$(nm -g --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u)
stray=$(grep -v '^weft_' <<<"$shown" || true)
if [ -n "$stray" ]; then
	echo "$(basename "$library"):1: shows $stray"
	exit 1
fi
if ! grep -q '^weft_rng_u64$' <<<"$shown"; then
	echo "$(basename "$library"):1: lacks weft_rng_u64"
	exit 1
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cat >"$out/main.c" <<'C'
#include <weft/base.h>
int main(void)
{
	struct weft_rng rng = { { 1, 2, 3, 4 } };
	return weft_rng_u64(&rng) != 11520;
}
C
"$cc" -std=c11 -Iinclude "$out/main.c" "$library" -o "$out/main"
"$out/main"
