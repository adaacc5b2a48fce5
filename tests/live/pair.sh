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

# listening PORT: until somebody on h2 listens there
listening() {
	for _ in $(seq 300); do
		"$weft" lab run h2 -- ss -Hltn "sport = :$1" | grep -q . && return
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
