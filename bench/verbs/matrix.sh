#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every program of perftest, libibverbs and librdmacm in every way that it can be called, between
# two hosts of a lab with eight planes: a line each, whether both ends ended well, and the seconds.
#
#   bench/verbs/matrix.sh BUILD [--flap] [--only REGEX] [--seconds LIMIT] [--rate RATE] [--errors]
#
#   h0: client --- 8 x [T0 = T1 = T0] --- h2: server        --flap: one plane after the other is
#                                                           down for 50 ms, 5 times a second
#
# A case that is meant to be refused (DC, multicast) is well when it ends by itself.
set -u
build=$(realpath "$1")
shift
flap= only=. limit=60 rate=none errors=
while [ $# -gt 0 ]; do
	case $1 in
	--flap) flap=1 ;;
	--errors) errors=1 ;;
	--only) only=$2 && shift ;;
	--seconds) limit=$2 && shift ;;
	--rate) rate=$2 && shift ;;
	*) echo "what is $1?" >&2 && exit 2 ;;
	esac
	shift
done
weft=$build/weft
here=$(dirname "$(realpath "$0")")
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
flapping=
finish() {
	cd /
	[ -n "$flapping" ] && kill $flapping 2>/dev/null
	"$weft" lab down >/dev/null 2>&1
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
bad=0 good=0

# on HOST PROGRAM...: in a subshell, which becomes it
on() { exec timeout -k 5 "$limit" "$weft" lab run "$1" -- "$weft" run -- "${@:2}"; }

# report WORD SECONDS CASE...
report() {
	printf '%-7s %6.1f  %s\n' "$1" "$2" "${*:3}"
	if [ "$1" = ok ]; then
		good=$((good + 1))
		return
	fi
	bad=$((bad + 1))
	[ -z "$errors" ] && return
	sed 's/^/        server: /' "$dir/server" | tail -5
	sed 's/^/        client: /' "$dir/client" | tail -5
}

# wait_port PORT: until somebody on h2 listens there
wait_port() {
	"$weft" lab run h2 -- bash -c '
		for _ in $(seq 200); do
			case $1 in # tcp/7471 is of rdma_cm: src/api/rdmacm/rdmacm_port.c
			*/*) ss -Hxl | grep -q "@weft-rdmacm/$1/" && exit 0 ;;
			*) ss -Hltn "sport = :$1" | grep -q . && exit 0 ;;
			esac
			sleep 0.05
		done' _ "$1"
}

died() { [ "$1" = 134 ] || [ "$1" = 135 ] || [ "$1" = 139 ]; }

# run_case WELL PORT "SERVER" "CLIENT": WELL: 0 both ends succeed,
# 1 the client refuses in time, 2 the client succeeds (its server is there for ever)
run_case() {
	local well=$1 port=$2 server_line=$3 client_line=$4 word=ok began server client
	[[ $client_line =~ $only ]] || return
	began=$(date +%s%N)
	on h2 $server_line >"$dir/server" 2>&1 &
	local pid=$!
	[ "$port" = 0 ] || wait_port "$port"
	(on h0 $client_line) >"$dir/client" 2>&1
	client=$?
	if [ "$well" = 1 ]; then
		kill $pid 2>/dev/null
		wait $pid
		[ $client = 124 ] && word=HANG
		[ $client = 0 ] && word=TAKEN
		died $client && word=CRASH
	elif [ "$well" = 2 ]; then
		kill $pid 2>/dev/null
		wait $pid
		[ $client = 0 ] || word=FAIL
		[ $client = 124 ] && word=HANG
		died $client && word=CRASH
	else
		# A server that hears nothing more is waiting for a client that has failed.
		[ $client != 0 ] && [ $client != 124 ] && kill $pid 2>/dev/null
		wait $pid
		server=$?
		[ $client = 0 ] && [ $server = 0 ] || word=FAIL
		[ $client = 124 ] || [ $server = 124 ] && word=HANG
		died $client || died $server && word=CRASH
	fi
	report $word "$((($(date +%s%N) - began) / 100000000))e-1" "$client_line"
}

pair() { run_case 0 18515 "$*" "$* h2"; }         # TCP tells the ends about each other
cm() { run_case 0 tcp/18515 "$*" "$* h2"; }       # rdma_cm does
refused() { run_case 1 0 "$*" "$* h2"; }

# alone PATTERN PROGRAM...: one host, and what it prints
alone() {
	local began
	[[ ${*:2} =~ $only ]] || return
	began=$(date +%s%N)
	: >"$dir/server"
	if (on h0 "${@:2}") >"$dir/client" 2>&1 && grep -q "$1" "$dir/client"; then
		report ok "$((($(date +%s%N) - began) / 100000000))e-1" "${*:2}"
	else
		report FAIL "$((($(date +%s%N) - began) / 100000000))e-1" "${*:2}"
	fi
}

. "$here/cases.sh"

"$weft" lab up "$here/../../examples/fabrics/lab8.yaml" --rate "$rate" >/dev/null || exit 2
if [ -n "$flap" ]; then
	(for ((i = 0; ; i++)); do
		"$weft" lab fault plane-down $((i % 8)) --for 50ms >/dev/null 2>&1
		sleep 0.2
	done) &
	flapping=$!
fi
cases
echo "$good as meant, $bad not"
[ $bad = 0 ]
