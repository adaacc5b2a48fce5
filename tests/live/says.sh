#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# says.sh: what a program over Weft cannot tell, Weft does, in a line: no planes, what --strict
# refuses, counters that go nowhere, messages that are too long, and peers that do not answer.
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
if [ -z "${SAYS_INSIDE:-}" ]; then
	unshare -rn true 2>/dev/null || exit 77
	command -v nft >/dev/null && command -v ib_write_bw >/dev/null || exit 77
	SAYS_INSIDE=1 exec unshare -rn "$0" "$@"
fi
weft=$WEFT_BUILD/weft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG WEFT_PLANES WEFT_LOG
faults=0
ip link set lo up

# says N TEXT WHAT: the lines of ours in $dir/err
says() {
	local n
	n=$(grep -c "^weft: .*$2" "$dir/err")
	[ "$n" = "$1" ] && return
	echo "$3: $n lines with \"$2\", wanted $1: $(cat "$dir/err")"
	faults=1
}

run() { timeout 60 "$weft" run "$@" >"$dir/out" 2>"$dir/err"; }

run -- ibv_devices
says 1 "no planes: .*WEFT_PLANES" "without planes"
WEFT_LOG=quiet run -- ibv_devices
says 0 "" "without planes, quiet"
WEFT_PLANES=nosuchif0 run -- ibv_devices
says 1 'WEFT_PLANES: "nosuchif0" is neither an address nor an interface' "a wrong plane"
WEFT_PLANES=lo run -- ibv_devices
says 0 "" "lo as a plane"
grep -q mrc0 "$dir/out" || { echo "no device on lo"; faults=1; }
export WEFT_PLANES=127.0.0.1
run --strict -- ibv_srq_pingpong -g 0
says 1 "a shared receive queue refused: the strict profile" "strict SRQ"
run --strict -- ibv_ud_pingpong -g 0
says 1 "(UD) refused: the strict profile" "strict UD"
timeout 20 "$weft" perf --planes nosuchif0 127.0.0.1 2>"$dir/err"
grep -q '"nosuchif0" is neither an address nor an interface' "$dir/err" || {
	echo "perf: $(cat "$dir/err")"
	faults=1
}

# measure PORT: perftest between two processes here; its server is told to go.
measure() {
	WEFT_PLANES=127.0.0.1 timeout 60 "$weft" run -- ib_write_bw -F -p "$1" -D 1 \
		>"$dir/server" 2>&1 &
	local server=$!
	sleep 1.5
	run -- ib_write_bw -F -p "$1" -D 1 127.0.0.1
	kill $server 2>/dev/null
	wait $server
}

WEFT_STATS=/dev/full run -- ibv_devinfo
says 1 "WEFT_STATS: /dev/full: No space left on device" "counters that a disk does not take"
# Devices that do not fit.
(WEFT_PLANES=127.0.0.1,127.0.0.2 measure 21005)
says 1 "no connection to 127.0.0.1: peer has 1 planes, this host 2" "planes that do not fit"
says 0 "UDP is filtered" "planes that do not fit"
WEFT_STATS=/nowhere/stats measure 21001
says 1 "WEFT_STATS: /nowhere/stats: No such file" "counters that go nowhere"
# A peer that is killed in the middle.
timeout 60 "$weft" run -- ib_write_bw -F -p 21004 -n 5000000 >"$dir/server" 2>&1 &
server=$!
(sleep 4; pkill -9 -P $server) &
sleep 1.5
run -- ib_write_bw -F -p 21004 -n 5000000 127.0.0.1
wait
says 1 "nothing came back from 127.0.0.1 (plane 0 of 1, UDP port [0-9]*): " "a peer that was killed"
# Only UDP is lost from here on, so that the two meet by TCP and not on the plane.
nft -f - <<'END' || exit 77
table inet f {
	chain i {
		type filter hook input priority 0;
		meta l4proto udp drop;
	}
}
END
measure 21002
says 1 "127.0.0.1 (plane 0 of 1).* does not answer on UDP port 18[0-9]*: " "UDP filtered"
WEFT_LOG=quiet measure 21003
says 0 "" "UDP filtered, quiet"
exit $faults
