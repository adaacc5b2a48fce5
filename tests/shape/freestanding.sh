#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# freestanding.sh ROOMS.TXT ROOT CC: what the pure rooms ask of the outside.
#
# Each freestanding room is compiled without a C library in mind and linked into one object.  What
# that object still needs may only be weft_* of another room and the four functions that compilers
# emit by themselves.  One call of time() or malloc() turns this red.
set -eu
rooms=$(realpath "$1")
cc=$3
cd "$2"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
free=$(sed -n 's/^free|//p' "$rooms")
faults=0

for room in $free; do
	sources=$(awk -F'|' -v room="$room" '$1 == "room" && $2 == room { print $5 }' "$rooms")
	[ -n "$sources" ] || continue
	mkdir "$out/$room"
	# -O1 and no stack protector: as lean as it gets, so that only real needs are left.
	printf '%s\n' $sources | xargs -P "$(nproc)" -I{} bash -c '
		object=$(tr / _ <<<"$1").o
		march=$([ "$(uname -m)" = x86_64 ] && echo -march=x86-64-v2)
		exec $2 $march -std=c11 -O1 -w -ffreestanding -fno-builtin -fno-stack-protector \
			-U_FORTIFY_SOURCE -ffp-contract=off -Iinclude -I"${1%%/$3/*}/$3" \
			-c "$1" -o "$4/$3/$object"
	' _ {} "$cc" "$room" "$out"
	ld -r -o "$out/$room.o" "$out/$room"/*.o
	while read -r symbol; do
		[[ $symbol =~ ^(weft_.*|mem(cpy|set|move|cmp))$ ]] && continue
		echo "src/$room:1: needs $symbol from outside"
		faults=1
	done < <(nm -u "$out/$room.o" | awk '{ print $NF }')
done
exit $faults
