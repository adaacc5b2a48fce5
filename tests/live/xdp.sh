#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files cross switches that are programs in the kernel, while something breaks.
#
#   h0 --weft cp--> 8 x [T0 = T1 = T0], programs at tc --> h2: weft cp --serve
#
# Also what only such switches have: queues that cut and count without a queue.
set -u
weft=$(realpath "$WEFT_BUILD")/weft # the trap goes elsewhere
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs" "$dir/in" "$dir/out"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
fabric=$(dirname "$0")/../../examples/fabrics/lab8.yaml
faults=0

fault() { echo "$1"; faults=1; }

# copy WHAT: all of it arrives
copy() {
	rm -f "$dir/log"
	"$weft" lab run h2 -- "$weft" cp --serve "$dir/out" --once 2>"$dir/log" &
	local server=$!
	for _ in $(seq 100); do
		grep -qs "receives into" "$dir/log" && break
		sleep 0.05
	done
	"$weft" lab run h0 -- "$weft" cp -q "$dir/in/big" h2:big 2>"$dir/sent" || {
		fault "$1: the sender failed: $(cat "$dir/sent")"
		kill $server
	}
	wait $server || fault "$1: the receiver failed: $(cat "$dir/log")"
	cmp -s "$dir/in/big" "$dir/out/big" || fault "$1: the file differs"
	rm -f "$dir/out/big"
}

if ! "$weft" lab up "$fabric" --fabric xdp --rate 100Mb/s >/dev/null 2>"$dir/up"; then
	cat "$dir/up"
	grep -q "needs CAP_BPF" "$dir/up" && exit 77
	exit 1
fi
head -c 30000003 /dev/urandom >"$dir/in/big"

copy "nothing broken"
for what in "link-down p0.t0-0:t1-1" "loss p1.t0-0:t1-0 --percent 20" "blackhole p2.t0-0:t1-1" \
	"freeze p3.t1-0" "reboot p4.t1-1 --for 100ms" "plane-down 5" "plane-freeze 6" \
	"port-down h0.p7"; do
	# shellcheck disable=SC2086
	(sleep 0.15; "$weft" lab fault $what >/dev/null) &
	breaker=$!
	copy "$what"
	wait $breaker
	"$weft" lab fault undo all >/dev/null 2>&1
done

# A host address, by the kernel's own sockets: TCP over the shared uplinks.
"$weft" lab run h2 -- python3 - <<'PYTHON' &
import socket
s = socket.create_server(("::", 7777), family=socket.AF_INET6)
c, _ = s.accept()
n = 0
while data := c.recv(65536):
    n += len(data)
c.sendall(b"%d" % n)
PYTHON
server=$!
sleep 0.3
address=$("$weft" lab run h2 -- ip -6 -o addr show dev lo scope global | awk 'NR == 1 { print $4 }')
"$weft" lab run h0 -- python3 - "${address%/*}" <<'PYTHON' || fault "TCP did not get through"
import socket, sys
c = socket.create_connection((sys.argv[1], 7777), timeout=20)
c.sendall(bytes(1000000))
c.shutdown(socket.SHUT_WR)
sys.exit(c.recv(64) != b"1000000")
PYTHON
wait $server

# Taken down, nothing is left of it: programs go with their owner.
"$weft" lab down >/dev/null || fault "the lab did not go down"
exit $faults
