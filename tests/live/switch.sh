#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A file crosses the soft fabric while something breaks; whoever is killed leaves nothing behind.
#
#   alice --weft cp--> rings [ weft switch: 2 x (T0 = T1 = T0), 200 Mb/s ] rings --> bob: --serve
#
# No root, no namespace, no interface: where this is started by root, it is all run as nobody.
set -u
weft=$(realpath "$WEFT_BUILD")/weft
root=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d)
mkdir "$dir/in" "$dir/out"
cp "$root/examples/fabrics/small2.yaml" "$dir/fabric.yaml"
cp "$weft" "$dir/weft" # the tree may be closed to nobody
weft=$dir/weft
export WEFT_FABRIC=$dir/fabric.yaml WEFT_SWITCH=$dir/switch HOME=$dir
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
switch_pid='' faults=0
trap 'cd /; kill -9 $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

fault() { echo "$1"; faults=1; }

# until COMMAND...: tries for 10 s
until_() {
	for _ in $(seq 200); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}

start_switch() {
	"${as_user[@]}" "$weft" switch "$WEFT_FABRIC" --rate 200Mb/s >"$dir/log" 2>&1 &
	switch_pid=$!
	until_ switch status || {
		cat "$dir/log"
		fault "no switch"
		exit 1
	}
}

switch() { "${as_user[@]}" "$weft" switch "$@"; }

# serve: receives one file in the background
serve() {
	rm -f "$dir/out.log"
	WEFT_HOST=bob "${as_user[@]}" "$weft" cp --serve "$dir/out" --once 2>"$dir/out.log" &
	server=$!
	until_ grep -q "receives into" "$dir/out.log" || fault "no server: $(cat "$dir/out.log")"
}

send() {
	WEFT_HOST=alice exec "${as_user[@]}" "$weft" cp -q "$dir/in/big" bob:big 2>"$dir/in.log"
}

# copy WHAT: all of it arrives
copy() {
	serve
	(send) || {
		fault "$1: the sender failed: $(cat "$dir/in.log")"
		kill $server
	}
	wait $server || fault "$1: the receiver failed: $(cat "$dir/out.log")"
	cmp -s "$dir/in/big" "$dir/out/big" || fault "$1: the file differs"
	rm -f "$dir/out/big"
}

arrived() { switch counters --json | sed -nE 's/^  *"arrived": ([0-9]+),/\1/p'; }
slots_used() { switch status | sed -nE 's/.*, ([0-9]+) of .* slots in use/\1/p'; }

# shellcheck disable=SC2317
no_slot_used() { [ "$(slots_used)" = 0 ]; }

head -c 30000001 /dev/urandom >"$dir/in/big"
chown -R 65534:65534 "$dir" 2>/dev/null
start_switch

copy "nothing broken"
packets=$(arrived)
[ "$packets" -gt 7000 ] || fault "only $packets packets went through the switch"
table=$(switch table p0.t1-0 | awk '{print $1, $2, $3}')

# What is not told which way goes both, as in labs and scenarios; a host has no hole.
switch loss p0.t0-0:t1-0 20 && switch spoil p0.t0-0:t1-0 0.5 && switch hole p0.t0-0:t1-0 on ||
	fault "no way is refused"
switch links | grep -q "^p0.t0-0:t1-0 .* 20 % .* 20 % .*0.5 % .*0.5 % .*both ways" ||
	fault "not both ways: $(switch links)"
switch loss p0.t0-0:t1-0 0 && switch spoil p0.t0-0:t1-0 0 && switch hole p0.t0-0:t1-0 off ||
	fault "it is not mended"
switch hole bob.p0 on 2>"$dir/said" && fault "a host has a hole"
grep -q "the way up from a host has no switch" "$dir/said" || fault "a hole: $(cat "$dir/said")"

while read -r break_it mend_it; do
	# shellcheck disable=SC2086
	(sleep 0.2; switch ${break_it//,/ }) &
	breaker=$!
	copy "$break_it"
	wait $breaker || fault "$break_it: refused"
	# shellcheck disable=SC2086
	[ -z "$mend_it" ] || switch ${mend_it//,/ } || fault "$mend_it: refused"
done <<'FAULTS'
link,p0.t0-0:t1-1,down link,p0.t0-0:t1-1,up
link,bob.p1,down link,bob.p1,up
loss,p1.t0-0:t1-0,20,--way,both loss,p1.t0-0:t1-0,0,--way,both
hole,p1.t0-0:t1-1,on hole,p1.t0-0:t1-1,off
path,alice,bob,0x00010001,50 path,alice,bob,0x00010001,0
rate,p0.t0-1:t1-0,20Mb/s rate,p0.t0-1:t1-0,built
freeze,p1.t1-0,on freeze,p1.t1-0,off
power,p0.t1-1,off power,p0.t1-1,on
reboot,p0.t1-0,--for,100ms
reboot,p0.t0-0,--for,100ms
FAULTS

# What was rebooted under traffic has its table again, and forwards by it.
until_ [ "$(switch links | grep -c DOWN)" = 0 ] || fault "a link stays down: $(switch links)"
[ "$(switch table p0.t1-0 | awk '{print $1, $2, $3}')" = "$table" ] ||
	fault "the table of p0.t1-0 is not what it was: $(switch table p0.t1-0)"
before=$(switch sids p0.t1-0 | awk '$2 == "end" { print $4 }')
copy "after the reboots"
after=$(switch sids p0.t1-0 | awk '$2 == "end" { print $4 }')
[ "$after" -gt "$before" ] || fault "p0.t1-0 forwards nothing: $before, $after packets"
switch counters --json | grep -q '"port_down": [1-9]' || fault "nothing was lost on dead cables"

# Hosts that are killed give their slots back, and their ports.
serve
(send) &
sender=$!
sleep 0.3
[ "$(slots_used)" -gt 0 ] || fault "no slot was in use"
kill -9 $sender $server
{ wait $sender $server; } 2>/dev/null
until_ no_slot_used || fault "slots are lost: $(switch status)"
rm -rf "$dir"/out/* "$dir"/out/.[!.]*
copy "after hosts were killed"

# The switch is killed under traffic, and another takes its place.
serve
(send) &
sender=$!
sleep 0.3
kill -9 "$switch_pid"
{ wait "$switch_pid"; } 2>/dev/null
start_switch
wait $sender || fault "switch killed: the sender failed: $(cat "$dir/in.log")"
wait $server || fault "switch killed: the receiver failed: $(cat "$dir/out.log")"
cmp -s "$dir/in/big" "$dir/out/big" || fault "switch killed: the file differs"

switch stop || fault "it does not stop"
wait "$switch_pid" || fault "it ended with $?"
[ "$(ls "$WEFT_SWITCH")" = lock ] || fault "left behind: $(ls "$WEFT_SWITCH")"
exit $faults
