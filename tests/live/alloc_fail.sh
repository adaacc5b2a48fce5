#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# alloc_fail.sh CC PROGRAM [K]: each allocation of Weft's libraries fails once, in a run of its
# own, first of the client, then of the server (PROGRAM: verbs, fabric, cm, mrc, weft, cp; pcapng
# and hex have no server).  The process in which it fails succeeds, or says why it does not; a
# server that goes on serves the next client.  No signal, no wait without end.  K: that one only.
set -u
cc=$1 program=$2 only=${3-}
lanes=2  # at once, each in a network of its own
LIMIT=20 # seconds: what a hang is taken for; a run takes one
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$WEFT_BUILD")
in="libibverbs.so librdmacm.so lib_mrc.so"
case $program in
verbs)
	command -v ibv_rc_pingpong >/dev/null || exit 77
	server=(ibv_rc_pingpong -g 0 -n 50) client=("${server[@]}" 127.0.0.1)
	;;
fabric) # the same in a lab, where libraries read a fabric file
	command -v ibv_rc_pingpong >/dev/null || exit 77
	server=("$build/weft" lab run alice -- ibv_rc_pingpong -g 0 -n 50)
	client=("$build/weft" lab run bob -- ibv_rc_pingpong -g 0 -n 50 alice)
	;;
cm)
	command -v rping >/dev/null || exit 77
	server=(rping -s -a 127.0.0.1 -C 3) client=(rping -c -a 127.0.0.1 -C 3)
	;;
mrc) server=("${ALLOC_FAIL_DIR-}/write") client=("${ALLOC_FAIL_DIR-}/write" 127.0.0.1 1) ;;
weft)
	planes=127.0.0.1,127.0.0.2 in=$build/weft
	server=("$build/weft" perf --once --planes $planes)
	client=("$build/weft" perf -n 200 --planes $planes 127.0.0.1)
	;;
cp)
	planes=127.0.0.1,127.0.0.2 in=$build/weft
	server=("$build/weft" cp --once --planes $planes --serve) # the lane's folder
	client=("$build/weft" cp -q -T 5 --planes $planes "$root/README.md" 127.0.0.1:copy)
	;;
pcapng) server=() in=$build/weft client=("$build/weft" decode "${ALLOC_FAIL_DIR-}/pcapng") ;;
hex) server=() in=$build/weft client=("$build/weft" decode "${ALLOC_FAIL_DIR-}/hex") ;;
esac

# run ROLE K COMMAND...: in place of this shell, with the k-th allocation failing if it is its turn
run() {
	local role=$1 k=$2 vars=()
	shift 2
	if [ "$role" = "$turn" ]; then
		vars=("LD_PRELOAD=$dir/../alloc_fail.so" "ALLOC_FAIL=$k" "ALLOC_FAIL_IN=$in"
			"ALLOC_FAIL_LOG=$dir/log")
	fi
	[ "$program" = fabric ] || vars+=(WEFT_PLANES=127.0.0.1,127.0.0.2)
	exec timeout $LIMIT env LD_LIBRARY_PATH="$build/lib" "${vars[@]}" "$@" >"$dir/$role" 2>&1
}

fault() {
	echo "$program, $turn, $1: $2"
	tail -qn 3 "$dir/log" "$dir/client" "$dir/server" 2>/dev/null
	faults=1
}

# rping joins the thread that waits for completions when its rdma_connect() has failed, and nothing
# wakes that one, with cards as well
is_rpings_own() { [ "$program" = cm ] && grep -q '^rdma_connect: ' "$dir/$1"; }

# clean WHO RC K: what it ended with is all right
clean() {
	case $2 in
	0) ;;
	124) is_rpings_own "$1" || fault "$3" "the $1 hangs" ;;
	12[5-9] | 1[3-9]?) fault "$3" "the $1 ends with $2" ;; # by a signal; rping has 255
	*) [ -s "$dir/$1" ] || fault "$3" "the $1 ends with $2 without a word" ;;
	esac
}

listening() {
	local at=()
	[ "$program" = fabric ] && at=("$build/weft" lab run alice --)
	"${at[@]}" ss -Hltn | grep -q .
}

# once K: one server, one client
once() {
	local k=$1 pid rc told
	rm -f "$dir"/{log,client,server}
	if [ ${#server[@]} = 0 ]; then
		(run client "$k" "${client[@]}")
		clean client $? "$k"
		return
	fi
	run server "$k" "${server[@]}" &
	pid=$!
	while kill -0 $pid 2>/dev/null && ! listening; do sleep 0.02; done
	if ! kill -0 $pid 2>/dev/null; then
		wait $pid
		clean server $? "$k"
		return
	fi
	(run client "$k" "${client[@]}")
	rc=$?
	[ "$turn" = client ] && clean client $rc "$k"
	if [ "$turn" = client ] && [ $rc != 0 ]; then
		kill $pid 2>/dev/null # whom nobody has told
		wait $pid 2>/dev/null
		return
	fi
	for _ in $(seq 20); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	if kill -0 $pid 2>/dev/null && [ $rc != 0 ]; then
		[ $rc = 124 ] && fault "$k" "the client hangs"
		told=$(cat "$dir/client")
		(run client 0 "${client[@]}") || fault "$k" "the next client ($told)"
	fi
	wait $pid
	clean server $? "$k"
}

lane() { # lane NUMBER: every one of so many
	ip link set lo up && ip address add 127.0.0.2/8 dev lo || exit 77
	faults=0
	dir=$ALLOC_FAIL_DIR/$1
	mkdir "$dir" "$dir/copies"
	[ "$program" = cp ] && server+=("$dir/copies")
	if [ "$program" = fabric ]; then
		export WEFT_LABS=$dir/labs
		mkdir "$WEFT_LABS"
		trap '"$build/weft" lab down' EXIT
		"$build/weft" lab up "$root/examples/fabrics/small2.yaml" >"$dir/lab" 2>&1 || {
			cat "$dir/lab"
			exit 77
		}
	fi
	for turn in client ${server[0]:+server}; do
		once 0
		n=$(sed -n 's/^count //p' "$dir/log")
		[ "${n:-0}" -gt 1 ] || fault 0 "only ${n:-no} allocations are seen"
		[ "$1" = 0 ] && echo "$program, $turn: $n allocations"
		for k in $(seq $((1 + $1)) $lanes "$n"); do
			[ -z "$only" ] || [ "$only" = "$k" ] || continue
			once "$k"
			[ -s "$dir/log" ] || [ "$turn" = server ] || echo "$turn, $k: not reached"
		done
	done
	exit $faults
}

if [ -n "${ALLOC_FAIL_LANE-}" ]; then
	lane "$ALLOC_FAIL_LANE"
fi
# A sanitizer wants to be the first library of a program, and has allocations of its own.
if readelf -d "$build/lib/libibverbs.so.1" | grep -qE 'lib[at]san'; then
	echo "skipped: libraries with a sanitizer in them"
	exit 77
fi
unshare -n true 2>/dev/null || exit 77
export ALLOC_FAIL_DIR=$(mktemp -d)
trap 'rm -rf "$ALLOC_FAIL_DIR"' EXIT
"$cc" -shared -fPIC -O1 -D_GNU_SOURCE "$root/tests/live/alloc_fail.c" \
	-o "$ALLOC_FAIL_DIR/alloc_fail.so" || exit 1
if [ "$program" = mrc ]; then
	"$cc" -O1 -I"$root/include" "$root/examples/mrc/write.c" -o "$ALLOC_FAIL_DIR/write" \
		-L"$build/lib" -lmrc -libverbs || exit 1
fi
# A frame of 16 bytes without a meaning, and as text.
printf '\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0' \
	>"$ALLOC_FAIL_DIR/pcapng"
for _ in 1 2 3; do
	printf '\1\0\0\0\x14\0\0\0\1\0\0\0\0\0\4\0\x14\0\0\0' >>"$ALLOC_FAIL_DIR/pcapng"
done
printf '0000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f\n' >"$ALLOC_FAIL_DIR/hex"
pids=() worst=0
for i in $(seq 0 $((lanes - 1))); do
	ALLOC_FAIL_LANE=$i unshare -n "$0" "$@" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || worst=1
done
exit $worst
