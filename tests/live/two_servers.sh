#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# two_servers.sh: `weft perf` and `weft perf HOST`, `weft cp` likewise, without any option, between
# two hosts of three networks: planes are found, and packets are as long as the way between carries.
set -u
if [ -z "${TWO_SERVERS_INSIDE:-}" ]; then
	unshare -rnm true 2>/dev/null || exit 77
	TWO_SERVERS_INSIDE=1 exec unshare -rnm "$0" "$@"
fi
weft=$(realpath "$WEFT_BUILD")/weft
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG WEFT_VIA WEFT_LOG
faults=0
ip link set lo up
for host in other middle; do # this namespace is the client's
	unshare -n sleep 600 &
	declare $host=$!
	while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
		sleep 0.05
	done
done
there() { nsenter -t $other -n "$@"; }
between() { nsenter -t $middle -n "$@"; }
there ip link set lo up
for p in 0 1 2; do
	ip link add e$p mtu 9000 type veth peer name a$p mtu 9000 netns $middle || exit 77
	there ip link add e$p mtu 9000 type veth peer name b$p mtu 9000 netns $middle
	between ip link add br$p type bridge || exit 77
	between ip link set a$p master br$p up
	between ip link set b$p master br$p up
	between ip link set br$p up
	ip addr add 10.9.$p.1/24 dev e$p
	there ip addr add 10.9.$p.2/24 dev e$p
	ip link set e$p up
	there ip link set e$p up
done

fail() {
	echo "$*"
	faults=1
}

# serve COMMAND...: at the other host, which is ready when this returns
serve() {
	: >"$dir/server" # else the one before would seem to be ready
	there timeout 90 "$weft" "$@" >"$dir/server" 2>&1 &
	for _ in $(seq 100); do
		grep -q '^plain ' "$dir/server" && return
		sleep 0.05
	done
	fail "the server does not begin: $(cat "$dir/server")"
}

# measure WHAT PACKETS: as many as 64 KiB take
measure() {
	serve perf --once
	timeout 60 "$weft" perf --json -n 300 10.9.1.2 >"$dir/json" 2>"$dir/said" ||
		fail "$1: $(cat "$dir/said" "$dir/server")"
	wait $!
	grep -q '^weft perf: planes 10.9.0.1,10.9.1.1,10.9.2.1 ' "$dir/said" ||
		fail "$1: planes: $(cat "$dir/said")"
	python3 - "$dir/json" "$2" <<-'END' || fail "$1: $(cat "$dir/json")"
		import json, sys
		size = json.load(open(sys.argv[1]))['sizes'][0]
		packets = size['mpps'] * 1e6 * size['bytes'] * 8 / (size['gbps'] * 1e9)
		sys.exit(abs(packets - int(sys.argv[2])) > 0.1)
	END
}

measure "jumbo frames" 8
between ip link set b1 mtu 1500
measure "a plane that is narrow in the middle" 8
grep -q '^weft perf: plane 1 is left out' "$dir/said" || fail "nothing is said of a narrow plane"
for p in 0 2; do between ip link set b$p mtu 1500; done
measure "1500 bytes in the middle of all" 47
between ip link set b0 down # a plane by which nobody is reached
measure "a plane that is cut" 47

mkdir "$dir/in"
head -c 5000000 /dev/urandom >"$dir/file"
serve cp --once --serve "$dir/in"
timeout 60 "$weft" cp "$dir/file" 10.9.1.2: >"$dir/said" 2>&1 || fail "cp: $(cat "$dir/said")"
wait $!
cmp "$dir/file" "$dir/in/file" || fail "cp: another file"
exit $faults
