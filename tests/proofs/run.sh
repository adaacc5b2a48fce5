#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh FOLDER BUILD [PATTERN]: programs of strangers that once broke this tree, run again; a row
# each.
#
# FOLDER holds attack/, bugs/ and programs/: sources and scripts that come with reports and are not
# part of the repository.  BUILD is a folder that cmake has filled (build/dev, build/release).
# PATTERN, a regular expression, picks rows by name.  As root: most need network namespaces.  Each
# row is a function here whose name begins with proof_; it prints one sentence, and returns 0
# (right), 1 (wrong) or 77 (not run).
# The exit status is 1 if any row is wrong.
set -u
folder=$(realpath "$1") build=$(realpath "$2") pattern=${3:-.}
attack=$folder/attack bugs=$folder/bugs programs=$folder/programs lib=$build/lib
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/proofs
weft=$build/weft
CC=${CC:-cc}
[ "$(id -u)" = 0 ] || { echo "run.sh: these rows need root" >&2; exit 77; }
[ -x "$weft" ] || { echo "run.sh: $weft: no such program; build it first" >&2; exit 1; }
dir=$(mktemp -d)
export XDG_RUNTIME_DIR=$dir/run WEFT_LABS=$dir/labs
mkdir -m 700 "$dir/run" "$dir/labs"
cleanup() {
	cd /
	"$weft" lab down >/dev/null 2>&1
	kill $(jobs -p) 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

# compiled NAME SOURCE [FLAG...]: the program $dir/NAME, or a sentence and 1
compiled() {
	[ -x "$dir/$1" ] && return
	"$CC" -O1 -w -fPIC -I"$root/include" -I"$(dirname "$2")" "$2" -o "$dir/$1" "${@:3}" \
		-L"$lib" -Wl,--as-needed -libverbs -lrdmacm -l_mrc -lpthread -ldl -lm \
		2>"$dir/cc.log" && return
	echo "does not compile: $(grep -m1 error "$dir/cc.log")"
	return 1
}

# here_run SECONDS COMMAND...: as a user starts it, with one plane on the loopback
# (by a file: what a program leaves behind would hold a pipe open)
here_run() {
	WEFT_PLANES=127.0.0.1 timeout -k 2 "$1" "$weft" run -- "${@:2}" >"$dir/out" 2>&1
	local rc=$?
	cat "$dir/out"
	return $rc
}

# judged WORD OUTPUT: a row that is right if the output has WORD (an extended regular expression)
judged() {
	echo "$2" | tail -1
	echo "$2" | grep -Eq "$1"
}

# lab_up FABRIC: a fresh one, without rate limits
lab_up() {
	"$weft" lab down >/dev/null 2>&1
	"$weft" lab up "$root/examples/fabrics/$1.yaml" --rate none >/dev/null
}

on() { timeout -k 2 "${on_s:-60}" "$weft" lab run "$1" -- "${@:2}"; }
with() { on "$1" "$weft" run -- "${@:2}"; }

# pingpong PORT: 1,000 messages between h0 and h2
pingpong() {
	with h2 ibv_rc_pingpong -g 0 -p "$1" >/dev/null 2>&1 &
	sleep 0.5
	on_s=15 with h0 ibv_rc_pingpong -g 0 -p "$1" h2 2>&1 | grep -q 'iters in'
}

# The sockets of the lab's switch, wherever they are kept.
socket_of() { find "$dir" -type s -name "$1" | head -1; }

. "$here/attack.sh"
. "$here/bugs.sh"
. "$here/programs.sh"

wrong=0 right=0 skipped=0
while read -r name; do
	[[ $name =~ $pattern ]] || continue
	began=$SECONDS
	("proof_$name") </dev/null >"$dir/said" 2>"$dir/stderr"
	case $? in
	0) verdict=right right=$((right + 1)) ;;
	77) verdict='not run' skipped=$((skipped + 1)) ;;
	*) verdict=WRONG wrong=$((wrong + 1)) ;;
	esac
	pkill -9 -f "$dir/[a-z]" 2>/dev/null
	printf '%-8s %-18s %4d s  %s\n' "$verdict" "$name" $((SECONDS - began)) \
		"$(tail -1 "$dir/said" | cut -c1-150)"
done < <(declare -F | sed -n 's/^declare -f proof_//p')
echo "$right right, $wrong wrong, $skipped not run"
[ $wrong = 0 ]
