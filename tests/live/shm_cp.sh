#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A copy over weft switch in shared memory, without root or namespaces, that outlives the switch:
# killed in the middle, another one takes its place, and the file arrives whole.
set -eu
weft=$WEFT_BUILD/weft
fabric=$(cd "$(dirname "$0")/../.." && pwd)/examples/fabrics/lab8.yaml
dir=$(mktemp -d /tmp/weft-shm-cp-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -r "$dir"' EXIT
mkdir "$dir/sw" "$dir/in"
export WEFT_SWITCH=$dir/sw WEFT_FABRIC=$fabric

await() {
	for _ in $(seq 100); do
		[ ! -S "$1" ] || return 0
		sleep 0.1
	done
	echo "no $1"
	exit 1
}

head -c 512M /dev/urandom >"$dir/file"
$weft switch run "$fabric" >"$dir/log" 2>&1 &
switch=$!
await "$dir/sw/ports"
WEFT_HOST=h2 timeout 60 "$weft" cp --serve "$dir/in" --once >"$dir/server" 2>&1 &
server=$!
await "$dir/sw/h2.18515"
WEFT_HOST=h0 timeout 60 "$weft" cp "$dir/file" h2: >"$dir/client" 2>&1 &
client=$!
sleep 0.3
kill -0 "$client" || { echo "the copy was over before the switch was killed"; exit 1; }
kill -9 "$switch"
sleep 0.3
$weft switch run "$fabric" >"$dir/log" 2>&1 &
wait "$client" || { cat "$dir/client"; exit 1; }
wait "$server" || { cat "$dir/server"; exit 1; }
cmp "$dir/file" "$dir/in/file"
! grep -q " 0 revived" "$dir/client" # or the switch was killed too late to matter
tail -1 "$dir/client"
