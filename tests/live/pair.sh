# SPDX-License-Identifier: BSD-2-Clause
# pair.sh, to be sourced: a server on h2 of a lab of eight planes, its client on h0, by `weft run`.
# Wants $weft; makes $dir, which goes with its labs when the test ends.  port: where servers listen;
# to: what tells a client where they are.
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
fabric=$(dirname "${BASH_SOURCE[0]}")/../../examples/fabrics/lab8.yaml
faults=0 port=18515 to=(h2)

fault() { echo "$1"; faults=1; }
on() { timeout "${LIMIT:-60}" "$weft" lab run "$1" -- "$weft" run -- "${@:2}"; }

# listens_on HOST PORT: whether somebody listens there; PORT 7471 is TCP's, tcp/7471 and udp/7471
# are rdma_cm's, whose name the kernel has (src/api/rdmacm/rdmacm_port.c)
listens_on() {
	case $2 in
	*/*) "$weft" lab run "$1" -- ss -Hxl | grep -q "@weft-rdmacm/$2/" ;;
	*) "$weft" lab run "$1" -- ss -Hltn "sport = :$2" | grep -q . ;;
	esac
}

# listening PORT: until somebody on h2 listens there
listening() {
	for _ in $(seq 300); do
		listens_on h2 "$1" && return
		sleep 0.1
	done
	fault "nobody listens on port $1"
}

# pair PROGRAM...: a server, then a client; both succeed
pair() {
	on h2 "$@" >"$dir/server" 2>&1 &
	local server=$!
	listening "$port"
	on h0 "$@" "${to[@]}" >"$dir/client" 2>&1 || {
		fault "$*: the client ends with $?: $(tail -5 "$dir/client")"
		kill $server 2>/dev/null
	}
	wait $server || fault "$*: the server ends with $?: $(tail -5 "$dir/server")"
}

# flap COMMAND...: while a plane comes and goes
flap() {
	(while :; do
		"$weft" lab fault plane-down 3 --for 50ms >/dev/null
		sleep 0.2
	done) &
	local flapping=$!
	"$@"
	kill $flapping
	wait $flapping 2>/dev/null
}
