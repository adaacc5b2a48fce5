#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mrc_control.sh CC: a controller for the OCP MRC API (examples/mrc/control.c, built as its users
# build it) on h0 of a lab, a peer on h2, and the switches' counters as witness of what it does.
set -eu
. "$(dirname "$0")/mrc_setup.sh"
over() {
	cd /
	exec 3>&- 4<&- || true
	kill $(jobs -p) 2>/dev/null || true
	"$weft" lab down >/dev/null 2>&1
	rm -rf "$dir"
}
trap over EXIT

fault() {
	echo "fault: $*"
	exit 1
}

"$cc" -Wall -Wextra -Werror -O1 -I"$root/include" "$root/examples/mrc/control.c" \
	-o "$dir/control" -L"$build/lib" -l_mrc -libverbs
"$weft" lab up "$root/examples/fabrics/lab8.yaml" --fabric soft >/dev/null || exit 77

timeout 100 "$weft" lab run h2 -- "$weft" run -- "$dir/control" >"$dir/server" 2>&1 &
for _ in $(seq 300); do
	grep -q waits "$dir/server" && break
	sleep 0.1
done
mkfifo "$dir/to" "$dir/from"
timeout 100 "$weft" lab run h0 -- "$weft" run -- "$dir/control" h2 <"$dir/to" >"$dir/from" \
	2>"$dir/client.err" &
exec 3>"$dir/to" 4<"$dir/from"

# tell COMMAND: what was answered, in $answer; it must be "ok"
ask() {
	echo "$*" >&3
	read -r -t 60 answer <&4 || fault "$*: no answer: $(cat "$dir/client.err" "$dir/server")"
}
tell() {
	ask "$@"
	case $answer in ok*) ;; *) fault "$*: $answer" ;; esac
}

# count: packets up and down each link so far: LINK UP DOWN
count() { "$weft" lab status | tr -d , | awk '$2 == "yes" || $2 == "LOST" { print $1, $3, $4 }'; }
before() { count >"$dir/before"; }
# moved LINK COLUMN: packets since then; column 2 is up, 3 is down
moved() {
	local was
	was=$(awk -v l="$1" -v c="$2" '$1 == l { print $c }' "$dir/before")
	count | awk -v l="$1" -v c="$2" -v was="$was" '$1 == l { print $c - was }'
}
# carried LEAST EV...: these paths from h0 have carried at least so many packets, all others none;
# $strays: answers of a QP that is gone may still be on their way
strays=0
carried() {
	local least=$1 plane uplink n delta='$1 == l { n = $2 - n } END { print n }'
	count >"$dir/after"
	shift
	for plane in 0 1 2 3 4 5 6 7; do
		for uplink in 0 1; do
			n=$(awk -v l="p$plane.t0-0:t1-$uplink" "$delta" "$dir/before" "$dir/after")
			case " $* " in
			*" $plane:$uplink "*)
				[ "$n" -ge "$least" ] || fault "path $plane:$uplink: $n packets"
				;;
			*) [ "$n" -le "$strays" ] || fault "$plane:$uplink: $n packets" ;;
			esac
		done
	done
}
# until PATTERN COMMAND: asked again until it is answered so; a busy machine loses what waits long
until_told() {
	local pattern=$1 i
	shift
	for i in $(seq 20); do
		tell "$@"
		case $answer in $pattern) return ;; esac
	done
	fault "$*: $answer"
}
us() { echo "$answer" | awk '{ print $2 }'; }

explicit() {
	local evs="0:0 1:0 2:1 3:1 4:0 5:0 6:1 7:0"
	tell explicit 1 $evs
	tell connect 1 0
	before
	tell write 200 # 3,200 packets
	carried 100 $evs
	echo "explicit: eight paths carry, eight others none"
	tell deny 1 1:0
	sleep 0.1 # heard within 10 ms
	before
	tell write 100
	carried 50 0:0 2:1 3:1 4:0 5:0 6:1 7:0
	tell allow 1 1:0
	tell replace 1 0:0 0:1
	tell replace 1 7:0 3:0 # another plane's
	sleep 0.1
	before
	tell write 200
	carried 100 0:1 1:0 2:1 3:0 3:1 4:0 5:0 6:1
	echo "denied: none; replaced while it sends: the new one carries, the old one none"
}

# The same by the addresses that switches see, by UDP ports, and generated.
other_modes() {
	strays=20
	tell explicit 4 fcbb:bb00:8000:4001:8001::@1 fcbb:bb00:9800:5800:9801::@4
	tell connect 4 0
	before
	tell write 64
	carried 100 0:1 3:0
	tell explicit 5 1234@1 1235@1 1236@1 1237@1 77@8
	tell connect 5 0
	before
	tell write 64
	[ "$(moved h0.p0 2)" -gt 100 ] && [ "$(moved h0.p7 2)" -gt 100 ] &&
		[ "$(moved h0.p5 2)" -le $strays ] || fault "UDP: planes other than 0 and 7"
	tell generate 6 64 8
	tell connect 6 0
	before
	tell write 64
	for plane in 0 1 2 3 4 5 6 7; do
		[ "$(moved h0.p$plane 2)" -ge 16 ] || fault "generated: plane $plane idles"
	done
	ask connect 99 0
	case $answer in failed:*) ;; *) fault "a profile that is not there: $answer" ;; esac
	echo "SRv6, UDP, generated: as they say"
}

congestion() {
	local none small base i
	tell cc 5 none
	tell cc 6 nscc 8192 0 # a window of two packets
	tell cc 7 nscc 0 0    # everything the algorithm's own
	none=99999999
	small=99999999
	for i in 1 2 3; do
		tell connect 0 5
		tell write 64
		[ "$(us)" -lt $none ] && none=$(us)
		tell connect 0 6
		tell write 64
		[ "$(us)" -lt $small ] && small=$(us)
	done
	tell connect 0 7
	tell write 64
	base=$(us)
	[ "$small" -gt $((2 * none)) ] || fault "window of 8 KiB: $small us, without any: $none us"
	echo "congestion control: two packets' window is slower than none"
}

probes() {
	local words
	tell connect 0 0
	until_told "ok 3 of 3:*" probe 1000 0:0 3:1 7:1
	words=${answer#ok 3 of 3: }
	for word in $words; do
		[ "${word#*=}" -gt 1000 ] && [ "${word#*=}" -lt 1000000000 ] || fault "RTT: $answer"
	done
	"$weft" lab fault blackhole p3.t0-0:t1-1 >/dev/null
	until_told "ok 1 of 2: 3:0=*" probe 300 3:1 3:0
	"$weft" lab fault undo all >/dev/null
	echo "probes: RTTs, and none of a hole"
}

ports() {
	tell connect 0 0
	tell port 5 down
	tell async 20000 down 5
	for i in $(seq 50); do # until the peer has heard as well
		before
		tell write 50
		tell pull 50
		[ "$(moved h0.p4 2)" = 0 ] && [ "$(moved h0.p4 3)" = 0 ] && break
		[ "$i" != 50 ] || fault "port 5 is down, and used"
	done
	tell port 5 up
	tell async 20000 up 5
	for i in $(seq 100); do
		tell write 20
		tell pull 20
		[ "$(moved h0.p4 2)" -ge 20 ] && [ "$(moved h0.p4 3)" -ge 20 ] && break
		[ "$i" != 100 ] || fault "port 5 is up, and not used"
	done
	echo "port: nothing by it when down, from neither end; used again when up"
	# A controller's word, not the port: the peer leaves planes 4 to 7, we do not.
	until_told "ok 1 of 1:*" ports 2000 0x1e 0:0
	tell pull 10
	before
	tell write 50
	tell pull 100
	[ "$(moved h0.p2 3)" -gt 100 ] || fault "port status: plane 2 idles"
	[ "$(moved h0.p6 2)" -gt 20 ] || fault "port status: we left plane 6"
	[ "$(moved h0.p6 3)" -lt 100 ] || fault "port status: the peer uses plane 6"
	echo "port status: the peer leaves the planes that it was told to leave"
}

events() {
	tell explicit 2 0:0 1:1 2:0 3:0
	tell connect 2 0
	tell write 10
	"$weft" lab fault link-down p1.t0-0:t1-1 >/dev/null
	tell event 20000 bad 1:1
	tell state 2 1:1
	[ "$answer" = "ok bad" ] || fault "state of a cut path: $answer"
	"$weft" lab fault undo all >/dev/null
	tell event 20000 good 1:1
	tell state 2 1:1
	[ "$answer" = "ok good" ] || fault "state of a mended path: $answer"
	echo "events: a cable is cut, and in again"
}

explicit
other_modes
congestion
probes
ports
events
exec 3>&-
wait %2 || fault "the client ends badly: $(cat "$dir/client.err")"
