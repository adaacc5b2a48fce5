#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# soak_unmade.sh: `weft demo soak` and `weft demo stalls` do not pass with faults that did not
# happen: they say which, and end with 1.
set -u
weft=$WEFT_BUILD/weft
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

# finish WHAT PATTERN...: the demo ends with 1, and says each of these
finish() {
	local what=$1 rc=0
	wait "$demo" || rc=$?
	shift
	[ $rc = 1 ] || faults=1
	for pattern in "$@"; do
		grep -qE "$pattern" "$folder/out" "$folder/err" || faults=1
	done
	[ $faults = 0 ] && return
	echo "$what: ended with $rc"
	cat "$folder/out" "$folder/err"
	exit 1
}

# A keeper that does not answer: while the file crosses, nothing breaks.
"$weft" demo soak --runs 1 --mib 512 --out "$folder" >"$folder/out" 2>"$folder/err" &
demo=$!
python3 "$(dirname "$0")/stop_keeper.py" "demo-$demo" "$folder/keeper" 1.5
trap 'kill -KILL "$(cat "$folder/keeper")" 2>/dev/null; rm -rf "$folder"' EXIT
finish soak "^seed 1: .*NOT AS DRAWN; only [0-9]+ of 12 faults" ": NOT MADE: the lab's keeper" \
	"^0 of 1 runs identical, under all of their faults"
kill -KILL "$(cat "$folder/keeper")"
trap 'rm -rf "$folder"' EXIT

# Somebody mends at once what breaks.
"$weft" demo stalls --runs 1 --out "$folder" >"$folder/out" 2>"$folder/err" &
demo=$!
for _ in $(seq 300); do
	lab=$("$weft" lab list | grep "^demo-$demo$" || true)
	[ -z "$lab" ] || break
	sleep 0.1
done
while kill -0 "$demo" 2>/dev/null; do
	"$weft" lab fault -n "demo-$demo" undo all 2>/dev/null
done
finish stalls "run 1: .*: NOT MADE: only 0" "  NOT MADE  "
for _ in $(seq 50); do
	"$weft" lab list | grep -q "^demo-$demo$" || exit 0
	sleep 0.1
done
echo "a lab is left" && exit 1
