#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cp.sh soft|kernel: a file crosses eight planes while something breaks.
#
#   h0 --weft cp--> 8 x [T0 = T1 = T0] at 100 Mb/s --> h2: weft cp --serve
#
# Everything over soft switches, as users do.  Over the kernel's, what depends on who forwards: one
# death of each sort, and what a veth does to checksums when it is left alone (a lab turns offloads
# off: they hide what NICs show).
set -u
kind=$1
weft=$(realpath "$WEFT_BUILD")/weft # the trap goes elsewhere
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs" "$dir/in" "$dir/out"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
fabric=$(dirname "$0")/../../examples/fabrics/lab8.yaml
faults=0

fault() { echo "$1"; faults=1; }

# serve PORT: receives one file in the background; its log is out.PORT
serve() {
	rm -f "$dir/out.$1" # the last server's words would pass for this one's
	"$weft" lab run h2 -- "$weft" cp --serve "$dir/out" --once -p "$1" 2>"$dir/out.$1" &
	for _ in $(seq 100); do
		grep -qs "receives into" "$dir/out.$1" && return
		sleep 0.05
	done
	fault "no server on port $1"
}

# send PORT NAME [OPTION...]: its log is in.PORT
send() {
	"$weft" lab run h0 -- "$weft" cp -q -p "$1" "${@:3}" "$dir/in/${file:-big}" "h2:$2" \
		2>"$dir/in.$1"
}

# copy WHAT: all of it arrives
copy() {
	serve 20000
	local server=$!
	send 20000 big || {
		fault "$1: the sender failed: $(cat "$dir/in.20000")"
		kill $server
	}
	wait $server || fault "$1: the receiver failed: $(cat "$dir/out.20000")"
	cmp -s "$dir/in/big" "$dir/out/big" || fault "$1: the file differs"
	rm -f "$dir/out/big"
}

# break_while_copying WHAT...: each for itself
break_while_copying() {
	local what breaker
	for what in "$@"; do
		# shellcheck disable=SC2086
		(sleep 0.2; "$weft" lab fault $what >/dev/null) &
		breaker=$!
		copy "$what"
		wait $breaker
		"$weft" lab fault undo all >/dev/null 2>&1
	done
	# From the start without a plane, and set up over what is left.
	"$weft" lab fault plane-freeze 0 >/dev/null
	copy "plane 0 frozen before the start"
	"$weft" lab fault undo all
}

# All ports of the receiver: an error at both ends, nothing left behind.
lose_the_receiver() {
	serve 20001
	local server=$! file=large
	(sleep 0.2; "$weft" lab fault nic-down h2 >/dev/null) &
	send 20001 big --give-up 500 && fault "nic-down: the sender did not notice"
	grep -q "connection to h2 ended" "$dir/in.20001" ||
		fault "nic-down: the sender says: $(cat "$dir/in.20001")"
	kill $server 2>/dev/null
	wait
	[ -z "$(ls -A "$dir/out")" ] || fault "nic-down: left behind: $(ls -A "$dir/out")"
	"$weft" lab fault undo all
}

# Two endpoints on one host's addresses, at the same time.
two_at_once() {
	serve 20002
	local first=$! second other
	serve 20003
	second=$!
	send 20002 one &
	other=$!
	send 20003 two || fault "two at once: $(cat "$dir/in.20003")"
	wait $other || fault "two at once: $(cat "$dir/in.20002")"
	wait $first $second
	cmp -s "$dir/in/big" "$dir/out/one" && cmp -s "$dir/in/big" "$dir/out/two" ||
		fault "two at once: the files differ"
}

# What leaves the folder is refused, and the server goes on waiting.
escape() {
	serve 20004
	send 20004 ../escaped && fault "an escape was let through"
	send 20004 fine || fault "after an escape: $(cat "$dir/in.20004")"
	wait
	[ "$(ls -A "$dir/out")" = "$(printf 'fine\none\ntwo')" ] ||
		fault "left behind: $(ls -A "$dir/out")"
	[ ! -e "$dir/escaped" ] || fault "escaped"
}

# A name as long as there are, over one that is there already; a colon in a path; an IPv6 address.
names() {
	local long
	long=$(printf '%0255d' 0)
	for _ in 1 2; do
		serve 20006
		send 20006 "$long" || fault "a long name: $(cat "$dir/in.20006")"
		wait
	done
	cmp -s "$dir/in/$file" "$dir/out/$long" || fault "a long name: the file differs"
	serve 20006
	send 20006 a:b || fault "a colon: $(cat "$dir/in.20006")"
	wait
	cmp -s "$dir/in/$file" "$dir/out/a:b" || fault "a colon: the file differs"
	"$weft" lab run h0 -- env -u WEFT_FABRIC -u WEFT_HOST -u WEFT_SWITCH -u WEFT_VIA sh -c '
		"$0" cp --planes ::1 -q --serve "$2" --once &
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			sleep 0.3
			"$0" cp --planes ::1 -q /proc/version "[::1]:by:address" 2>"$1" && break
		done
		wait' "$weft" "$dir/in.address" "$dir/out"
	[ "$(cat "$dir/out/by:address")" = "$(cat /proc/version)" ] ||
		fault "an address in brackets: $(cat "$dir/in.address")"
	rm -f "$dir/out/$long" "$dir/out/a:b" "$dir/out/by:address"
}

# A file that shrinks while it is copied: a message, and nothing kept.
shrink() {
	cp --sparse=always "$dir/in/large" "$dir/in/shrinks"
	serve 20005
	local server=$! sender
	"$weft" lab run h0 -- "$weft" cp -q -p 20005 "$dir/in/shrinks" h2:shrunk 2>"$dir/in.20005" &
	sender=$!
	for _ in $(seq 500); do
		grep -qs "$dir/in/shrinks" /proc/[0-9]*/maps && break
		sleep 0.01
	done
	truncate -s 1000 "$dir/in/shrinks"
	wait $sender && fault "shrinking: the sender did not notice"
	grep -q "became shorter" "$dir/in.20005" || fault "shrinking: $(cat "$dir/in.20005")"
	wait $server && fault "shrinking: the receiver did not notice"
	[ ! -e "$dir/out/shrunk" ] || fault "shrinking: half a file was kept"
}

measure() {
	"$weft" lab run h2 -- "$weft" perf --once 2>/dev/null &
	sleep 0.5
	"$weft" lab run h0 -- "$weft" perf h2 -s 1M -n 20 --json >"$dir/perf" || fault "perf failed"
	wait
	grep -q '"iterations": 20' "$dir/perf" || fault "perf: $(cat "$dir/perf")"
}

"$weft" lab up "$fabric" --fabric "$kind" --rate 100Mb/s >/dev/null || exit 77
echo small >"$dir/in/small"
head -c 50000003 /dev/urandom >"$dir/in/big"
truncate -s 400M "$dir/in/large" # seconds: what breaks meanwhile may be late on a busy machine
copy "nothing broken"
if [ "$kind" = kernel ]; then
	break_while_copying "loss p1.t0-0:t1-0 --percent 20" "reboot p4.t1-1 --for 100ms" \
		"plane-down 5" "port-down h2.p0"
	measure
	"$weft" lab down
	"$weft" lab up "$fabric" --rate 100Mb/s --offloads >/dev/null || fault "up with offloads"
	copy "offloads on"
	exit $faults
fi
break_while_copying "link-down p0.t0-0:t1-1" "loss p1.t0-0:t1-0 --percent 20" \
	"blackhole p2.t0-0:t1-1" "freeze p3.t1-0" "reboot p4.t1-1 --for 100ms" "plane-down 5" \
	"plane-freeze 6" "port-down h0.p7" "port-down h2.p0"
lose_the_receiver
two_at_once
escape
file=small names
shrink
measure
exit $faults
