#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nccl.sh [gpu]: libnccl-net-weft.so between two hosts of a lab, while a plane flaps.
#
#   h0: bench_nccl_net send --> 8 x [T0 = T1 = T0] --> h2: bench_nccl_net listen
#
# gpu: with memory of GPUs at one end or at both, over a stand-in for CUDA's driver, whose memory
# no CPU can touch and whose copies are late; with DMA-BUFs that can be mapped, and that cannot;
# and with a driver that fails under way, which both ends are to be told of.
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
port=7000

"$weft" lab up "$fabric" >/dev/null 2>"$dir/why" || {
	cat "$dir/why"
	exit 77
}
address=$("$weft" lab run h2 -- printenv WEFT_IPV4)

# pair FLAPS "SENDER'S" "RECEIVER'S": both ends with these, VAR=VALUE or options; $sender and
# $received.  Without flaps where one end gives up: its last word is said once, and it is gone.
pair() {
	local flaps=$1 receiver vars=() options=()
	shift
	port=$((port + 1))
	split() { # into vars and options
		vars=() options=()
		for word in $1; do
			case $word in *=*) vars+=("$word") ;; *) options+=("$word") ;; esac
		done
	}
	split "$2"
	timeout 60 "$weft" lab run h2 -- env "${vars[@]}" "$peer" "${options[@]}" "$plugin" \
		listen $port >"$dir/receiver" 2>&1 &
	receiver=$!
	for _ in $(seq 200); do
		grep -q listening "$dir/receiver" && break
		sleep 0.05
	done
	(
		for _ in $(seq "$flaps"); do
			sleep 0.4
			"$weft" lab fault plane-down 1 --for 200ms >/dev/null 2>&1
		done
	) &
	split "$1"
	timeout 60 "$weft" lab run h0 -- env "${vars[@]}" "$peer" "${options[@]}" "$plugin" \
		send "$address" $port >"$dir/sender" 2>&1
	sender=$?
	wait $receiver
	received=$?
	echo "== $1 -> $2: $sender $received"
	cat "$dir/sender" "$dir/receiver"
}

works() { # works "SENDER'S" "RECEIVER'S"
	pair 3 "$1" "$2"
	[ $sender = 0 ] && [ $received = 0 ] && grep -q 'every byte right' "$dir/receiver" || exit 1
}

# All contexts as they were, nothing left behind; "0 copies" or not.
clean() { # clean FILE COPIES?
	awk -v copied="$2" '/^standin:/ {
		seen = 1
		if ($2 != $4 || $6 + $8 + $10 + $12 != 0 || ($16 > 0) != copied) bad = 1
	} END { exit bad || !seen }' "$dir/$1" || {
		echo "$1: not as it should be in the end"
		exit 1
	}
}

if [ "${1-}" != gpu ]; then
	works "" ""
	exit 0
fi
standin="LD_LIBRARY_PATH=$build/standin STANDIN_REPORT=1"
works "$standin --gpu" "$standin --gpu"
clean sender 1
clean receiver 1
works "$standin --gpu" ""
clean sender 1
works "" "$standin STANDIN_POOLED=1 --gpu"
clean receiver 1
works "$standin STANDIN_DMABUF=map --dmabuf" "$standin STANDIN_DMABUF=none --dmabuf"
clean sender 0
clean receiver 1
for fault in cuMemcpyDtoHAsync_v2:100:700 cuEventQuery:300:719; do
	pair 0 "$standin STANDIN_FAIL=$fault --gpu" "$standin --gpu"
	[ $sender = 1 ] && [ $received = 1 ] && grep -q 'stand-in error' "$dir/sender" &&
		grep -q 'other end has failed' "$dir/receiver" || exit 1
done
pair 0 "$standin --gpu" "$standin STANDIN_FAIL=cuMemcpyHtoDAsync_v2:100:700 --gpu"
[ $sender = 1 ] && [ $received = 1 ] || exit 1
grep -q 'stand-in error' "$dir/receiver" && grep -q 'other end has failed' "$dir/sender"
