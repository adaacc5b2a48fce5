#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# verbs_data.sh CC: every byte that verbs move is checked, by a plain program of libibverbs between
# two lab hosts, while one plane after the other goes down and comes back, and while a link turns
# bits; then one of each kind of the programs that people have (bench/verbs/matrix.sh has them all).
set -u
cc=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
command -v ib_write_bw >/dev/null || exit 77
weft=$(realpath "$WEFT_BUILD")/weft
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
trap 'cd /; kill $(jobs -p) 2>/dev/null; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT

"$cc" -Wall -Wextra -Werror -O1 "$root/tests/live/pattern.c" -o "$dir/pattern" -libverbs || exit 1
"$weft" lab up "$root/examples/fabrics/lab8.yaml" --rate none >/dev/null || exit 77
(for ((i = 0; ; i++)); do
	"$weft" lab fault plane-down $((i % 8)) --for 50ms >/dev/null 2>&1
	sleep 0.15
done) &
flapping=$!
# Then with a link that turns bits: memory is trusted, and what crosses that link is not.
for seed in 1 2 3; do
	[ $seed != 3 ] || "$weft" lab fault corrupt h2.p3 --percent 10 >/dev/null || exit 1
	timeout 60 "$weft" lab run h2 -- "$weft" run -- "$dir/pattern" 25 >"$dir/server" 2>&1 &
	server=$!
	"$weft" lab run h2 -- bash -c '
		until ss -Hltn "sport = :18600" | grep -q .; do sleep 0.05; done'
	timeout 60 "$weft" lab run h0 -- "$weft" run -- "$dir/pattern" 25 h2 $seed \
		>"$dir/client" 2>&1 && wait $server || {
		echo "seed $seed: $(cat "$dir/client" "$dir/server")"
		exit 1
	}
	cat "$dir/server"
done
"$weft" lab fault undo all >/dev/null
"$cc" -Wall -Wextra -Werror -O1 "$root/tests/live/windows.c" -o "$dir/windows" -libverbs || exit 1
timeout 60 "$weft" lab run h1 -- "$weft" run -- "$dir/windows" || exit 1
kill $flapping
wait $flapping 2>/dev/null
"$weft" lab down >/dev/null

"$root/bench/verbs/matrix.sh" "$WEFT_BUILD" --errors --seconds 60 --only \
	'write_bw -F -z h2|read_bw -F -R h2|send_bw -F -c (UD -s 1024|UC -s 1 )|'`
	`'send_bw -F (-e -q 4|--use-srq -q 4)|atomic_bw -F -A CMP_AND_SWAP h2|'`
	`'rping -c .* -V -q|ucmatose -s h2 -m|rdma_x?client -s h2$|-c XRC'
