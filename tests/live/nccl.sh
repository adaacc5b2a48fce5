#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nccl.sh: libnccl-net-weft.so between two hosts of a lab, while a plane flaps.
#
#   h0: bench_nccl_net send --> 8 x [T0 = T1 = T0] --> h2: bench_nccl_net listen
set -u
build=$(realpath "$WEFT_BUILD")
weft=$build/weft
plugin=$build/lib/libnccl-net-weft.so
peer=$build/bench/bench_nccl_net
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
fabric=$(dirname "$0")/../../examples/fabrics/lab8.yaml

"$weft" lab up "$fabric" >/dev/null 2>"$dir/why" || {
	cat "$dir/why"
	exit 77
}

timeout 100 "$weft" lab run h2 -- "$peer" "$plugin" listen 7000 >"$dir/receiver" 2>&1 &
receiver=$!
for _ in $(seq 200); do
	grep -q listening "$dir/receiver" && break
	sleep 0.05
done
(
	for _ in 1 2 3; do
		sleep 0.4
		"$weft" lab fault plane-down 1 --for 200ms >/dev/null 2>&1
	done
) &
address=$("$weft" lab run h2 -- printenv WEFT_IPV4)
timeout 100 "$weft" lab run h0 -- "$peer" "$plugin" send "$address" 7000 >"$dir/sender" 2>&1
sender=$?
wait $receiver
received=$?
cat "$dir/sender" "$dir/receiver"
[ $sender = 0 ] && [ $received = 0 ] || exit 1
grep -q 'every byte right' "$dir/receiver"
