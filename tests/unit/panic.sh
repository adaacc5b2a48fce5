#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# panic.sh CC: an assertion that breaks in any program or library of ours says so on stderr.
#
# No call from outside is known to break one, so each object's own weft_panic() is called where it
# lies, by a library that is loaded beside it.
set -eu
cc=$1
build=$(realpath "$WEFT_BUILD")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if readelf -d "$build/lib/libibverbs.so.1" | grep -q libasan; then
	echo "skipped: a sanitizer wants to be loaded first"
	exit 77
fi

cat >"$dir/trip.c" <<'C'
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int find(struct dl_phdr_info *info, size_t bytes, void *base)
{
	const char *want = getenv("TRIP_OBJECT");

	(void)bytes;
	if (strcmp(strrchr(info->dlpi_name, '/') ? strrchr(info->dlpi_name, '/') + 1 : "", want))
		return 0;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

__attribute__((destructor)) static void trip(void)
{
	void (*panic)(const char *, int, const char *);
	uintptr_t base = 0;

	if (!getenv("TRIP_OBJECT") || !dl_iterate_phdr(find, &base))
		return;
	base += strtoul(getenv("TRIP_AT"), NULL, 16);
	memcpy(&panic, &base, sizeof(panic));
	panic("/built/there/src/room/file.c", 42, "this > that");
}
C
"$cc" -shared -fPIC -o "$dir/trip.so" "$dir/trip.c"
want="weft: src/room/file.c:42: broken assertion: this > that"
tried=0
program=$(type -P true) # not the builtin: something has to be loaded

try() { # try FILE OBJECT PRELOAD COMMAND...: OBJECT is FILE's name for the loader, "" the program
	local at said file=$1 object=$2 preload=$3
	shift 3
	at=$(nm "$file" | awk '$3 == "weft_panic" { print $1 }')
	[ -n "$at" ] || { echo "$file: no weft_panic in its symbols"; exit 1; }
	said=$(TRIP_OBJECT=$object TRIP_AT=$at LD_PRELOAD=$preload:$dir/trip.so "$@" 2>&1 \
		>/dev/null) && { echo "$file: did not end"; exit 1; }
	grep -qxF "$want" <<<"$said" || { echo "$file said: $said"; exit 1; }
	tried=$((tried + 1))
}

for file in "$build"/lib/*.so*; do
	[ ! -L "$file" ] || continue
	name=$(basename "$file")
	case $(nm -D --undefined-only "$file") in
	*weft_*@WEFT_1*) # what it calls is libibverbs's
		try "$build/lib/libibverbs.so.1" libibverbs.so.1 "$file" "$program"
		;;
	*)
		# A library without a single assertion has no weft_panic either.
		nm "$file" | grep -qw weft_panic || continue
		try "$file" "$name" "$file" "$program"
		;;
	esac
done
try "$build/weft" "" "" "$build/weft" --version
# libibverbs, librdmacm, lib_mrc, nccl, weft; MPI's where there is one.
[ "$tried" -ge 5 ] || { echo "only $tried objects"; exit 1; }
