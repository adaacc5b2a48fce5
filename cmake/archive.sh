#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# archive.sh OUT.a CC "FLAGS" ROOM OBJECT... [-- ROOM OBJECT...]...: rooms as a library for others.
#
# A plain archive is no namespace: a program with a window_slide of its own would silently replace
# ours.  So each room becomes one object in which everything but weft_* is local.
set -eu
out=$1 cc=$2 flags=$3
shift 3
# Objects made for link-time optimisation hold no code yet; this makes the compiler finish them.
case $flags in *-flto*) flags="$flags -flinker-output=nolto-rel" ;; esac
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
while [ $# -gt 0 ]; do
	room=$1
	shift
	objects=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do objects+=("$1") && shift; done
	[ $# -eq 0 ] || shift
	$cc $flags -r -nostdlib "${objects[@]}" -o "$parts/$room.o"
	objcopy --wildcard --keep-global-symbol='weft_*' "$parts/$room.o"
done
rm -f "$out"
ar rcsD "$out" "$parts"/*.o
