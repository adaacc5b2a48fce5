#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mrc.sh CC: a program for the OCP MRC API, built as its users build it, between two lab hosts: with
# all planes, and with one that goes down and comes back every second.
set -eu
. "$(dirname "$0")/mrc_setup.sh"
over() {
	cd /
	kill $(jobs -p) 2>/dev/null || true
	"$weft" lab down >/dev/null 2>&1
	rm -rf "$dir"
}
trap over EXIT

"$cc" -Wall -Wextra -Werror -O1 -I"$root/include" "$root/examples/mrc/write.c" -o "$dir/mrc_write" \
	-L"$build/lib" -lmrc -libverbs
"$weft" lab up "$root/examples/fabrics/lab8.yaml" --fabric soft >/dev/null || exit 77

# run HOST ARGUMENT...: the program; its words are in HOST.err.  A switch that is busy with whoever
# left may hang up on whoever comes: then again, as a person would.
run() {
	local try
	for try in 1 2 3; do
		timeout 60 "$weft" lab run "$1" -- "$weft" run -- "$dir/mrc_write" "${@:2}" \
			2>"$dir/$1.err" && return
		grep -q "No such device" "$dir/$1.err" || return 1
	done
	return 1
}

# write NAME MEBIBYTES: from h0 to h2
write() {
	rm -f "$dir/h2.err"
	run h2 >"$dir/server" &
	local server=$!
	for _ in $(seq 200); do
		grep -qs waits "$dir/h2.err" && break
		sleep 0.1
	done
	run h0 h2 "$2" >"$dir/client" || {
		echo "$1: the client failed: $(cat "$dir/h0.err" "$dir/h2.err")"
		exit 1
	}
	wait $server || {
		echo "$1: the server failed: $(cat "$dir/server" "$dir/h2.err")"
		exit 1
	}
	grep -q "received $2 MiB, 0 bytes wrong" "$dir/server" || {
		echo "$1: $(cat "$dir/server")"
		exit 1
	}
	echo "$1: $(cat "$dir/server")"
}

write "all planes" 40
(while :; do
	"$weft" lab fault plane-down 3 --for 500ms >/dev/null 2>&1 || true
	sleep 1
done) &
flapper=$!
write "a plane that flaps" 100
kill $flapper
wait $flapper 2>/dev/null || true
