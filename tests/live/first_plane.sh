#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# first_plane.sh: two hosts without a fabric file whose first plane is dead, or missing, meet by
# the second: connections, datagrams, rdma_cm.
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
if [ -z "${FIRST_PLANE_INSIDE:-}" ]; then
	unshare -rnm true 2>/dev/null || exit 77
	command -v ibv_ud_pingpong >/dev/null && command -v rping >/dev/null || exit 77
	FIRST_PLANE_INSIDE=1 exec unshare -rnm "$0" "$@"
fi
weft=$(realpath "$WEFT_BUILD")/weft
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG WEFT_VIA WEFT_LOG
faults=0
ip link set lo up
unshare -n sleep 600 &
other=$!
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
nsenter -t $other -n ip link set lo up
for p in 0 1; do
	ip link add a$p type veth peer name b$p netns $other || exit 77
	ip addr add 10.9.$p.1/24 dev a$p
	ip link set a$p up
	nsenter -t $other -n ip addr add 10.9.$p.2/24 dev b$p
	nsenter -t $other -n ip link set b$p up
done

# pair WHAT PLANES PEERS PROGRAM...: a server there, a client here
pair() {
	local what=$1 own=$2 peers=$3 server client to=10.9.1.2
	shift 3
	server=("$@") client=("$@" $to)
	[ "$1" = rping ] && server=("$@" -s -a 0.0.0.0) client=("$@" -c -a $to)
	WEFT_PLANES=$peers timeout 60 nsenter -t $other -n "$weft" run -- "${server[@]}" \
		>"$dir/server" 2>&1 &
	sleep 1.5
	WEFT_PLANES=$own timeout 30 "$weft" run -- "${client[@]}" >"$dir/client" 2>&1 || {
		echo "$what, $1: $(tail -n 3 "$dir/client" "$dir/server")"
		faults=1
		kill $!
	}
	wait $!
}

all() { # all WHAT PLANES PEERS
	pair "$@" ibv_rc_pingpong -g 0 -n 100 -p 7101
	pair "$@" ibv_ud_pingpong -g 0 -n 100 -p 7102
	pair "$@" rping -C 3 -p 7103
}

nsenter -t $other -n ip link set b0 down
all "a dead plane" 10.9.0.1,10.9.1.1 10.9.0.2,10.9.1.2
all "a missing plane" 10.7.0.1,10.9.1.1 10.7.0.2,10.9.1.2
all "an interface that is not there" a7,a1 b7,b1
grep -q '^weft: mrc0: plane 0: interface a7 is not there' "$dir/client" || {
	echo "nothing is said of a7: $(cat "$dir/client")"
	faults=1
}
exit $faults
