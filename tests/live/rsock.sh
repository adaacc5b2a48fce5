#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rsockets under programs that none of us wrote: two hosts of a lab, eight planes.
#
#   h0: rstream, riostream, rcopy, iperf3 --- 8 x [T0 = T1 = T0] --- h2: the same
#       librdmacm.so.1 of this build, by `weft run`; Debian's librspreload.so before iperf3
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
weft=$(realpath "$WEFT_BUILD")/weft
for program in rstream riostream rcopy; do
	command -v $program >/dev/null || exit 77
done
preload=$(find /usr/lib -path '*/rsocket/librspreload.so' | head -1)
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
trap 'cd /; "$weft" lab down --name rsock >/dev/null 2>&1; rm -rf "$dir"' EXIT
fabric=$(dirname "$0")/../../examples/fabrics/lab8.yaml
faults=0

fault() { echo "$1"; faults=1; }
in_lab() { timeout 20 "$weft" lab run --name rsock "$@"; }
on() { in_lab "$1" -- "$weft" run -- "${@:2}"; }

# listening PORT: until somebody on h2 listens there; rsockets' ports are rdma_cm's
listening() {
	for _ in $(seq 150); do
		in_lab h2 -- ss -ltn | grep -q ":$(($1 ^ 0x8000)) " && return
		sleep 0.1
	done
	fault "nobody listens on port $1"
}

# pair PROGRAM...: a server on h2, then a client on h0; both succeed
pair() {
	on h2 "$@" >"$dir/server" 2>&1 &
	local server=$!
	listening "$port"
	on h0 "$@" -s 10.0.0.3 >"$dir/client" 2>&1 || {
		fault "$*: the client: $(tail -3 "$dir/client")"
		kill $server 2>/dev/null
	}
	wait $server || fault "$*: the server: $(tail -3 "$dir/server")"
}

copy() {
	timeout 20 "$weft" lab run --name rsock h2 -- "$weft" run -- rcopy >"$dir/server" 2>&1 &
	local server=$!
	listening 7427
	head -c 5000000 /dev/urandom >"$dir/from"
	on h0 rcopy "$dir/from" "10.0.0.3:$dir/to" >"$dir/client" 2>&1 ||
		fault "rcopy: $(tail -3 "$dir/client")"
	cmp "$dir/from" "$dir/to" || fault "rcopy: not the same"
	pkill -KILL -P $server # timeout's child: the program itself
	wait $server 2>/dev/null
}

# A program that knows nothing of RDMA.
preloaded() {
	[ -n "$preload" ] && command -v iperf3 >/dev/null || return
	on h2 env LD_PRELOAD="$preload" iperf3 -s -1 >"$dir/server" 2>&1 &
	local server=$!
	listening 5201
	on h0 env LD_PRELOAD="$preload" iperf3 -c 10.0.0.3 -n 20M >"$dir/client" 2>&1 ||
		fault "iperf3: $(tail -3 "$dir/client")"
	wait $server || fault "iperf3: the server: $(tail -3 "$dir/server")"
}

flap() {
	(while :; do
		"$weft" lab fault --name rsock plane-down 3 --for 50ms >/dev/null
		sleep 0.2
	done) &
	local flapping=$!
	pair rstream -T v -I 20 -C 20 -S 100000
	kill $flapping
	wait $flapping 2>/dev/null
}

# A peer that is killed: an error in time, not a hang.
lose() {
	timeout 20 "$weft" lab run --name rsock h2 -- "$weft" run -- \
		rstream -I 1000000 -C 10 -S 10000 >"$dir/server" 2>&1 &
	local server=$!
	listening 7471
	on h0 rstream -I 1000000 -C 10 -S 10000 -s 10.0.0.3 >"$dir/client" 2>&1 &
	local client=$!
	sleep 1
	pkill -KILL -P $server # timeout's child: the program itself
	wait $client
	[ $? -ne 124 ] || fault "lose: the client did not notice"
	wait
}

"$weft" lab up "$fabric" --name rsock --rate none >/dev/null || exit 77
port=7471
for how in b n a r; do
	pair rstream -T v -T $how -I 5 -C 20 -S 10000
done
port=7471
pair riostream -T v -I 5 -C 20 -S 10000
flap
copy
preloaded
lose
exit $faults
