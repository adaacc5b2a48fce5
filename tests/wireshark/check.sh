#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh WEFT: the dissector for Wireshark says what `weft decode` says, see compare.py: over the
# tree's frames and 100,000 random ones; and names and statistics, see names.py and taps.py.
# check.sh WEFT can_fail: that the comparison does fail where one field of the dissector is moved,
# one reason mistaken, one word misspelt.
set -eu
weft=$1
here=$(cd "$(dirname "$0")" && pwd)
lua=$here/../../tools/wireshark
fabric=$here/../../examples/fabrics/small2.yaml
command -v python3 >/dev/null && command -v tshark >/dev/null || exit 77
compare() { python3 -B "$here/compare.py" "$weft" "$1/mrc.lua" "$2" "$3"; }

if [ "${2:-}" != can_fail ]; then
	compare "$lua" 26 100000
	for other in names taps; do
		python3 -B "$here/$other.py" "$weft" "$lua/mrc.lua" "$fabric"
	done
	exit
fi
broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
export TMPDIR=$broken # and what compare.py keeps
while IFS='|' read -r file from to; do
	rm -rf "$broken"/*
	cp "$lua"/*.lua "$broken"
	sed -i "s/$from/$to/" "$broken/$file"
	! cmp -s "$lua/$file" "$broken/$file" || { echo "$file: nothing is '$from'"; exit 1; }
	if compare "$broken" 1 100 >"$broken/said"; then
		echo "$file: '$to' for '$from' is not seen"
		exit 1
	fi
	grep -q ' differ$' "$broken/said" || { cat "$broken/said"; exit 1; }
done <<'END'
mrc_wire.lua|'cack_psn', 104, 24|'cack_psn', 96, 24
mrc_wire.lua|pkt, 'bad_tver', 12|pkt, 'bad_field', 12
mrc_wire.lua|'psn_oor_window'|'psn_out_of_window'
mrc_outside.lua|dscp == config.trimmed_lasthop|dscp == config.trimmed
mrc_wire.lua|'dpdcid', 80, 16|'dpdcid', 64, 16
mrc_icrc.lua|at + 5, at + 11|at + 4, at + 10
END
