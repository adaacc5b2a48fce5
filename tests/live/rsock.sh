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
. "$(dirname "$0")/pair.sh"
to=(-s 10.0.0.3)

copy() {
	timeout 20 "$weft" lab run h2 -- "$weft" run -- rcopy >"$dir/server" 2>&1 &
	local server=$!
	listening tcp/7427
	head -c 5000000 /dev/urandom >"$dir/from"
	on h0 rcopy "$dir/from" "10.0.0.3:$dir/to" >"$dir/client" 2>&1 ||
		fault "rcopy: $(tail -3 "$dir/client")"
	cmp "$dir/from" "$dir/to" || fault "rcopy: not the same"
	pkill -KILL -P $server # timeout's child: the program itself
	wait $server 2>/dev/null
}

# Datagrams; those of bandwidth tests may be lost, those of latency tests are sent again.
datagrams() { # OPTION...
	timeout 30 "$weft" lab run h2 -- "$weft" run -- \
		udpong -b 10.0.0.3 -S 1000 -C 50 "$@" >"$dir/server" 2>&1 &
	local server=$!
	"$weft" lab run h2 -- bash -c "until ss -Hlun 'sport = :7174' | grep -q .
		do sleep 0.05; done"
	on h0 udpong -s 10.0.0.3 -S 1000 -C 50 "$@" >"$dir/client" 2>&1 &&
		grep -q '^custom *1000 *50 ' "$dir/client" ||
		fault "udpong $*: $(tail -3 "$dir/client")"
	pkill -KILL -P $server # timeout's child: the program itself
	wait $server 2>/dev/null
}

# A program that knows nothing of RDMA.
preloaded() {
	[ -n "$preload" ] && command -v iperf3 >/dev/null || return
	on h2 env LD_PRELOAD="$preload" iperf3 -s -1 >"$dir/server" 2>&1 &
	local server=$!
	listening tcp/5201
	on h0 env LD_PRELOAD="$preload" iperf3 -c 10.0.0.3 -n 20M >"$dir/client" 2>&1 ||
		fault "iperf3: $(tail -3 "$dir/client")"
	wait $server || fault "iperf3: the server: $(tail -3 "$dir/server")"
}

# A peer that is killed: an error in time, not a hang.
lose() {
	timeout 20 "$weft" lab run h2 -- "$weft" run -- \
		rstream -I 1000000 -C 10 -S 10000 >"$dir/server" 2>&1 &
	local server=$!
	listening "$port"
	on h0 rstream -I 1000000 -C 10 -S 10000 -s 10.0.0.3 >"$dir/client" 2>&1 &
	local client=$!
	for _ in $(seq 100); do # a busy machine takes its time to open a device
		"$weft" lab run h0 -- ss -Htn state established dst 10.0.0.3 | grep -q . && break
		sleep 0.1
	done
	sleep 1
	pkill -KILL -P $server # timeout's child: the program itself
	wait $client
	[ $? -ne 124 ] && grep -qE 'Connection reset|Broken pipe' "$dir/client" ||
		fault "lose: the client did not notice: $(tail -3 "$dir/client")"
	wait
}

"$weft" lab up "$fabric" --rate none >/dev/null || exit 77
port=tcp/7471
for how in b n a r; do
	pair rstream -T v -T $how -I 5 -C 20 -S 10000
done
pair riostream -T v -I 5 -C 20 -S 10000
flap pair rstream -T v -I 20 -C 20 -S 100000
copy
datagrams
datagrams -T b
preloaded
lose
exit $faults
