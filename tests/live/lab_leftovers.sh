#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# lab_leftovers.sh soft|kernel: a lab leaves nothing behind: not after `down`, not after its keeper
# is killed, not after it failed to come up.
#
#   keeper --+-- h0 ... h3, p0.t0-0 ... p7.t1-1    36 network namespaces (4 and one process, where
#            |        |                             switches are soft) that only the keeper and what
#            |        |                             runs inside hold
#   this test's namespace: c0, c1, ...              the far end of a canary cable from each of
#                                                   them; it goes when its namespace goes
#
# "Nothing" is: namespaces, links, processes, the state folder.
set -u
weft=$WEFT_BUILD/weft kind=$1
nodes=(h0 h1 h2 h3)
[ "$kind" = soft ] || nodes+=(p{0..7}.t{0,1}-{0,1})
here=$(dirname "$0")
fabric=$here/../../examples/fabrics/lab8.yaml
if [ -z "${INSIDE:-}" ]; then
	unshare -rn true 2>/dev/null || exit 77
	INSIDE=1 exec unshare -rn "$0" "$kind"
fi
export XDG_RUNTIME_DIR
XDG_RUNTIME_DIR=$(mktemp -d)
trap '"$weft" lab down >/dev/null 2>&1; rm -rf "$XDG_RUNTIME_DIR"' EXIT
faults=0

fault() { echo "$1"; faults=1; }

# Everything of a lab that somebody outside could see.
snapshot() {
	ip -o link | cut -d: -f2
	ip netns list 2>/dev/null
	pgrep -x 'weft-lab|weft-switch' | while read -r pid; do
		# Only ours, and only alive: who reaps a killed keeper is not our business.
		grep -qs "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" "/proc/$pid/environ" &&
			echo "process $pid"
	done
	find "$XDG_RUNTIME_DIR" -mindepth 1
}

# A cable from every namespace of the lab to this one.
canaries() {
	local i=0
	for node in "${nodes[@]}"; do
		"$weft" lab run $node -- ip link add canary type veth peer name c$i netns $$ ||
			fault "no canary from $node"
		i=$((i + 1))
	done
	[ "$(ip -o link | grep -c ' c[0-9]*@')" = $i ] || fault "canaries are missing"
}

# Namespaces are taken back by a kernel worker, some time after the last holder went.
settled() { # settled WHAT
	for _ in $(seq 100); do
		[ "$(snapshot)" = "$before" ] && return
		sleep 0.1
	done
	fault "$1: left behind:"
	diff <(echo "$before") <(snapshot)
}

before=$(snapshot)

"$weft" lab up "$fabric" --fabric "$kind" >/dev/null || fault "up: failed"
[ "$(snapshot)" != "$before" ] || fault "up: nothing to see, so this test sees nothing"
canaries
"$weft" lab down || fault "down: failed"
settled "after down"

"$weft" lab up "$fabric" --fabric "$kind" >/dev/null || fault "up again: failed"
canaries
[ "$kind" != soft ] || [ "$(pgrep -x weft-switch | wc -l)" -gt 0 ] || fault "no process to be seen"
"$weft" lab fault plane-down 3 >/dev/null
kill -9 "$("$weft" lab status --json | sed -n 's/.*"keeper_pid": \([0-9]*\).*/\1/p')"
sleep 0.2
[ -z "$("$weft" lab list)" ] || fault "after kill -9: still listed"
settled "after kill -9"

# A program inside holds its host, no more; `down` ends it.
"$weft" lab up "$fabric" --fabric "$kind" >/dev/null || fault "up a third time: failed"
canaries
"$weft" lab run h1 -- sleep 1000 &
sleep 0.3
"$weft" lab down || fault "down with a program inside: failed"
wait $! 2>/dev/null
[ $? -gt 128 ] || fault "the program inside was not ended"
settled "after down with a program inside"

# Coming up fails half way: a second lab cannot have that name.
"$weft" lab up "$fabric" --fabric "$kind" >/dev/null
"$weft" lab up "$fabric" --fabric "$kind" 2>/dev/null && fault "up twice: taken"
"$weft" lab list | grep -qx lab8 || fault "the first lab is gone"
"$weft" lab down
"$weft" lab up /nonexistent.yaml 2>/dev/null && fault "up of nothing: taken"
settled "after failures"
exit $faults
