#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# symbols.sh ROOMS.TXT ROOT ARCHIVE...: two rooms never define the same name.
#
# Inside a room short names are welcome; between rooms only weft_* may travel.  A second room that
# defines the first one's window_slide would silently replace it when both come from archives.
set -eu
shift 2
faults=0
names=$(mktemp)
trap 'rm -f "$names"' EXIT
for archive in "$@"; do
	room=$(basename "$archive" .a)
	# Sanitizers and coverage add names of their own, all with a leading underscore.
	nm -g --defined-only "$archive" 2>/dev/null |
		awk -v room="${room#lib}" 'NF == 3 && $3 !~ /^_/ { print $3, room }'
done | sort -u >"$names"
while read -r name; do
	echo "$name: defined by$(awk -v name="$name" '$1 == name { printf " %s", $2 }' "$names")"
	faults=1
done < <(cut -d' ' -f1 "$names" | uniq -d)
exit $faults
