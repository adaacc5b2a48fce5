#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs and libraries for RDMA of which nobody told us, unmodified, while a plane comes and goes:
# QEMU moves a running guest, Gloo's ibverbs transport, librpma.
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
here=$(realpath "$(dirname "$0")")
weft=$(realpath "$WEFT_BUILD")/weft
cc=${1:-cc}
. "$here/pair.sh"
some=0

# has PROGRAM | FILE
has() {
	command -v "$1" >/dev/null || [ -e "$1" ] && some=1 && return
	echo "left out: no $1"
	return 1
}

# machine HOST NAME [OPTION...]
machine() {
	on "$1" qemu-system-x86_64 -accel tcg -M pc -m 64 -nodefaults -display none \
		-drive file="$dir/guest",format=raw,if=floppy,file.locking=off \
		-serial file:"$dir/$2.says" -qmp unix:"$dir/$2",server=on,wait=off "${@:3}" \
		>"$dir/$2.out" 2>&1
}

guest() {
	local there
	as --32 -o "$dir/guest.o" "$here/guest.s" && ld -m elf_i386 -Ttext 0x7c00 \
		--oformat binary -o "$dir/guest" "$dir/guest.o" || exit 1
	machine h2 there -incoming defer &
	there=$!
	machine h0 here &
	timeout 60 python3 "$here/migrate.py" "$dir/here" "$dir/there" rdma:10.0.0.3:4444 ||
		fault "migration: $(cat "$dir/here.out" "$dir/there.out")"
	wait $there || fault "the machine there: $(cat "$dir/there.out")"
	wait $! || fault "the machine here: $(cat "$dir/here.out")"
}

gloo() {
	local ranks=() rank
	mkdir "$dir/meet"
	"${CXX:-c++}" -std=c++17 -O1 "$here/gloo.cc" -o "$dir/gloo" -lgloo -lpthread || exit 1
	for rank in 0 1 2 3; do
		on h$rank "$dir/gloo" $rank 4 "$dir/meet" >"$dir/rank$rank" 2>&1 &
		ranks+=($!)
	done
	for rank in 0 1 2 3; do
		wait "${ranks[rank]}" || fault "gloo: rank $rank: $(tail -3 "$dir/rank$rank")"
	done
}

rpma() {
	"$cc" -Wall -Wextra -Werror -O1 "$here/rpma.c" -o "$dir/rpma" -lrpma -libverbs || exit 1
	on h2 "$dir/rpma" 10.0.0.3 7777 serve >"$dir/server" 2>&1 &
	listening tcp/7777
	on h0 "$dir/rpma" 10.0.0.3 7777 || fault "rpma: the client fails"
	wait $! || fault "rpma: $(tail -3 "$dir/server")"
}

"$weft" lab up "$fabric" --rate none >/dev/null || exit 77
has qemu-system-x86_64 && flap guest
has /usr/include/gloo/transport/ibverbs/device.h && flap gloo
has /usr/include/librpma.h && flap rpma
[ $some = 1 ] || exit 77
exit $faults
