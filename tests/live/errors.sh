#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# errors.sh CC [TURNS]: what goes wrong for verbs programs, and what they are told; errors.c has the
# cases.  By hand, with more turns: also cuts of random length, for as long as one wants to look.
#
#   h0: errors h2 h3 CASE --- 8 planes --- h2: errors serve   (is killed, is cut off)
#                                      \-- h3: errors serve   (must notice nothing)
set -u
cc=$1
turns=${2:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$WEFT_BUILD")
weft=$build/weft
# A sanitizer wants to be the first library of a program, and this one knows nothing of it.
if readelf -d "$build/lib/libibverbs.so.1" | grep -q libasan; then
	echo "skipped: libraries with a sanitizer in them"
	exit 77
fi
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
faults=0

"$cc" -std=gnu11 -Wall -Wextra -Werror -O1 "$root"/tests/live/errors*.c -o "$dir/errors" \
	-libverbs -lpthread || exit 1
"$weft" lab up "$root/examples/fabrics/lab8.yaml" --rate none >/dev/null || exit 77

fault() { echo "$1"; faults=1; }
on() { timeout 120 "$weft" lab run "$1" -- "$weft" run -- "$dir/errors" "${@:2}"; }

# wait_for FILE WORD: until it is in there
wait_for() {
	for _ in $(seq 300); do
		grep -qs "$2" "$1" && return
		sleep 0.1
	done
	fault "$1: no \"$2\": $(cat "$1")"
}

# serve HOST
serve() {
	rm -f "$dir/$1"
	on "$1" serve 18900 >"$dir/$1" 2>&1 &
	wait_for "$dir/$1" listens
}

# broken WHAT BYSTANDER CASE COMMAND...: the case, and what happens while it streams
broken() {
	rm -f "$dir/client"
	on h0 h2 "$2" 18900 "$3" >"$dir/client" 2>&1 &
	local client=$!
	wait_for "$dir/client" streams
	"${@:4}" >/dev/null
	wait $client || fault "$1: $(cat "$dir/client")"
	echo "$1: $(grep -v streams "$dir/client" | tr '\n' ' ')"
}

kill_server() { kill -KILL "$(sed -n 's/listens //p' "$dir/h2")"; }

serve h2
serve h3
for turn in $(seq "$turns"); do
	on h0 h2 h3 18900 access intrude local length rnr states destroy deregister overrun busy \
		>"$dir/cases" 2>&1 || fault "$(cat "$dir/cases")"
	[ "$(grep -c '^ok' "$dir/cases")" = 10 ] || fault "not all: $(cat "$dir/cases")"
	broken "cut off for long" h3 stream "$weft" lab fault nic-down h2
	"$weft" lab fault undo all
	broken "cut off for 0.3 s" h3 outlive "$weft" lab fault nic-down h2 --for 300ms
	broken "its own planes gone" - stream "$weft" lab fault nic-down h0
	"$weft" lab fault undo all
	broken "killed" h3 stream kill_server
	[ "$turn" = "$turns" ] && break
	serve h2
	away=$((RANDOM % 3000))ms
	broken "the bystander cut off for $away" h3 outlive \
		"$weft" lab fault nic-down h3 --for $away
done
kill $(jobs -p) 2>/dev/null
exit $faults
