#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# paste.sh: the indented commands of documents work as they are pasted, line after line, at once:
# they end well, and print what they are there for.
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
root=$(realpath "$(dirname "$0")/../..")
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
PATH=$(realpath "$WEFT_BUILD"):$PATH
dir=$(mktemp -d) pid='' faults=0
export XDG_RUNTIME_DIR=$dir/run
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG WEFT_PLANES
mkdir "$dir/run"

leave() {
	[ -z "$pid" ] || kill -- "-$pid" 2>/dev/null # what it has left behind, too
	pid=''
	weft lab down >/dev/null 2>&1
}
trap 'leave; cd /; rm -rf "$dir"' EXIT

# paste DOCUMENT START WANTED PROGRAM...: the block with a line that begins with START prints
# WANTED; not where a PROGRAM is not installed
paste() {
	local document=$root/docs/$1 start=$2 wanted=$3 rc
	shift 3
	for program in "$@"; do
		command -v "$program" >/dev/null || { echo "left out: no $program"; return; }
	done
	awk -v start="    $start" '
	/^    / { block = block substr($0, 5) "\n"; found += index($0, start) == 1; next }
	found { exit }
	{ block = "" }
	END { printf "%s", found ? block : "" }' "$document" >"$dir/block"
	[ -s "$dir/block" ] || { echo "$document: no such block: $start"; faults=1; }
	rm -rf "$dir/here"
	mkdir "$dir/here"
	cd "$dir/here" || exit 1
	ln -s "$root/examples" "$root/tools" .
	head -c 3000001 /dev/urandom >big.iso
	grep -qE 'weft (lab up|switch) ' "$dir/block" ||
		weft lab up examples/fabrics/lab8.yaml >/dev/null
	# A shell that takes line after line, as at a prompt; in a group of its own.
	setsid timeout 60 bash <"$dir/block" >"$dir/said" 2>&1 &
	pid=$!
	wait $pid
	rc=$?
	[ $rc = 0 ] && grep -qF -- "$wanted" "$dir/said" || {
		echo "$document: $start: ended with $rc, wanted: $wanted"
		cat "$dir/said"
		faults=1
	}
	leave
}

paste verbs.md 'weft lab up' 'BW average' ib_write_bw
paste mpi.md 'cat >agent' 'accumulate: ok' mpirun mpicc
paste mpi.md 'weft lab run h2 -- weft run -- fi_pingpong' 'MB/sec' fi_pingpong
paste rsockets.md 'weft lab run h2 -- weft run -- rstream' 'Gb/sec' rstream
paste rsockets.md 'preload=' 'iperf Done' iperf3
paste decode.md 'weft fabric names' 'p0.t0-0,p0.t1-1,p0.t0-1,h2' tshark dumpcap
paste switch.md 'export WEFT_SWITCH' 'big.iso: 2.86 MiB'
exit $faults
