#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# strangers.sh: weft cp --serve and weft perf serve the next client within a bound, and do not end,
# while a dozen callers of each kind stand at their door.
set -u
if [ -z "${STRANGERS_INSIDE:-}" ]; then
	unshare -rn true 2>/dev/null || exit 77
	STRANGERS_INSIDE=1 exec unshare -rn "$0" "$@"
fi
weft=$(realpath "$WEFT_BUILD")/weft
dir=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null; rm -rf "$dir"' EXIT
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG WEFT_PLANES WEFT_VIA
N=12
BOUND_MS=8000 # of one copy; where each of the silent costs 2000, they cost more
here=127.0.0.2 there=127.0.0.1
faults=0
mkdir "$dir/in" && head -c 100000 /dev/urandom >"$dir/file" || exit 1
ip link set lo up && ip address add $here/8 dev lo || exit 77

fault() { echo "$1"; faults=1; }

# gather PORT WORDS: so many callers, who say this and stay; their descriptors are in crowd
gather() {
	local fd i
	crowd=()
	for ((i = 0; i < N; i++)); do
		exec {fd}<>"/dev/tcp/$there/$1" || return
		printf '%b' "$2" >&"$fd" 2>/dev/null
		crowd+=("$fd")
	done
}

scatter() {
	local fd
	for fd in "${crowd[@]}"; do exec {fd}>&-; done
}

# honest WHAT COMMAND...
honest() {
	local start took
	start=$(date +%s%N)
	timeout 20 "${@:2}" >"$dir/client" 2>&1 || fault "$1: $(tail -n 1 "$dir/client")"
	took=$((($(date +%s%N) - start) / 1000000))
	[ $took -le $BOUND_MS ] || fault "$1: $took ms"
}

# try NAME PORT SERVER... -- CLIENT...
try() {
	local name=$1 port=$2 words args=()
	shift 2
	while [ "$1" != -- ]; do args+=("$1"); shift; done
	shift
	"${args[@]}" >"$dir/server" 2>&1 &
	server=$!
	for _ in $(seq 100); do ss -Hltn | grep -q ":$port" && break; sleep 0.05; done
	for words in "" "{" '{"app": {"length": 1' '\xa7\xa7\xa7' 'GET / HTTP/1.0\r\n\r\n'; do
		gather "$port" "$words"
		honest "$name beside \"$words\"" "$@"
		honest "$name beside \"$words\", again" "$@"
		scatter
	done
	kill -0 $server 2>/dev/null || fault "$name has ended: $(tail -n 1 "$dir/server")"
	kill $server 2>/dev/null
	wait $server
}

try cp 18515 "$weft" cp --serve "$dir/in" --planes $there -- \
	"$weft" cp -q --planes $here "$dir/file" "$there:copy"
cmp -s "$dir/file" "$dir/in/copy" || fault "cp: the file differs"
try perf 18515 "$weft" perf --planes $there -- "$weft" perf -n 20 -s 1k --planes $here $there

# Who is waited for is a client: others do not end it.
"$weft" perf --once --planes $there >"$dir/server" 2>&1 &
server=$!
for _ in $(seq 100); do ss -Hltn | grep -q :18515 && break; sleep 0.05; done
gather 18515 'GET / HTTP/1.0\r\n\r\n'
sleep 0.2
honest "perf --once" "$weft" perf -n 20 -s 1k --planes $here $there
wait $server || fault "perf --once: $(tail -n 1 "$dir/server")"
exit $faults
