#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ports.sh: whole frames through kernel switches, by every port, and nothing left on the host.
#
#   h0: weft cp --via A --> 8 x [T0 = T1 = T0], kernel SRv6 --> h2: weft cp --via B --serve
#
# Offloads are off, as weft lab leaves them: a veth with checksum offload hides what NICs show.
set -u
weft=$(realpath "$WEFT_BUILD")/weft # the trap goes elsewhere
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs" "$dir/in" "$dir/out"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
fabric=$(dirname "$0")/../../examples/fabrics/lab8.yaml
faults=0 port=20000

fault() { echo "$1"; faults=1; }

# serve VIA [OPTION...]: receives one file in the background, its log is out.PORT
serve() {
	port=$((port + 1))
	"$weft" lab run h2 -- "$weft" cp --via "$1" --serve "$dir/out" --once -p "$port" "${@:2}" \
		2>"$dir/out.$port" &
	for _ in $(seq 200); do
		grep -qs "receives into" "$dir/out.$port" && return
		sleep 0.05
	done
	fault "$1: no server: $(cat "$dir/out.$port")"
}

# copy FROM_VIA TO_VIA
copy() {
	serve "$2"
	local server=$!
	"$weft" lab run h0 -- "$weft" cp --via "$1" -q -p "$port" "$dir/in/big" h2:big \
		2>"$dir/in.$port" || {
		fault "$1 to $2: the sender failed: $(cat "$dir/in.$port")"
		kill $server
	}
	wait $server || fault "$1 to $2: the receiver failed: $(cat "$dir/out.$port")"
	cmp -s "$dir/in/big" "$dir/out/big" || fault "$1 to $2: the file differs"
	rm -f "$dir/out/big"
}

# What a port changes on h2 while it runs.
changes() {
	"$weft" lab run h2 -- sh -c 'nft list tables; ip -details link | grep -ow xdp'
}

# killed VIA: kill -9 in the middle of a copy leaves the host as it was.
killed() {
	serve "$1"
	"$weft" lab run h0 -- "$weft" cp --via "$1" -q -p "$port" --give-up 500 "$dir/in/big" \
		h2:killed 2>"$dir/in.$port" &
	local sender=$! pid server
	server=$(jobs -p | head -1)
	[ -n "$(changes)" ] || fault "$1: nothing changes while it runs, so this test sees nothing"
	sleep 0.1
	for pid in $(pgrep -f -- "--serve $dir/out --once -p $port"); do kill -9 "$pid"; done
	wait "$server" $sender 2>/dev/null
	for _ in $(seq 100); do
		[ -z "$(changes)" ] && break
		sleep 0.05
	done
	[ -z "$(changes)" ] || fault "$1: left behind after kill -9: $(changes)"
	rm -f "$dir"/out/*
}

head -c 30000000 /dev/urandom >"$dir/in/big"
"$weft" lab up "$fabric" --fabric kernel --rate none >/dev/null || exit 77
ways="afpacket afpacket-srv6"
if "$weft" lab run h0 -- "$weft" cp --via afxdp "$dir/in/absent" h2:absent 2>&1 | grep -q CAP_BPF
then
	echo "no BPF here: AF_XDP is left out"
else
	ways="$ways afxdp afxdp-srv6"
	copy afxdp udp
	copy afpacket afxdp
	copy afpacket-srv6 afxdp-srv6
fi
for via in $ways; do copy "$via" "$via"; done
copy udp afpacket
for via in $ways; do killed "$via"; done

# Through the shapers of a slow lab; AF_XDP would go around them.
"$weft" lab down
"$weft" lab up "$fabric" --fabric kernel --rate 200Mb/s >/dev/null || fault "no slow lab"
copy afpacket afpacket
"$weft" lab fault plane-freeze 0 >/dev/null
copy afpacket-srv6 afpacket-srv6
"$weft" lab run h0 -- "$weft" cp --via afxdp "$dir/in/big" h2:big 2>&1 |
	grep -qE "is shaped|CAP_BPF" || fault "AF_XDP goes around a shaper"
exit $faults
