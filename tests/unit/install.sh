#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# install.sh CC: what `make install` puts into a DESTDIR, used as its users use it: programs are
# built by pkg-config alone, and run on the installed libraries, not on those of the build.
set -eu
cc=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$WEFT_BUILD")
if readelf -d "$build/lib/lib_mrc.so" | grep -q libasan; then
	echo "skipped: libraries with a sanitizer in them"
	exit 77
fi
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
log=$dest/log
die() { echo "$*"; cat "$log"; exit 1; }

DESTDIR=$dest cmake --install "$build" --prefix /opt/weft >"$log" 2>&1 || die "does not install"
tree=$dest/opt/weft
strays=$(find "$dest" -path "$tree" -prune -o -type f ! -name log -print)
[ -z "$strays" ] || die "files outside of the prefix: $strays"

# No loader looks there: the system's libraries of the same names stay what they are.
[ ! -e "$tree/lib/libibverbs.so.1" ] || die "libibverbs.so.1 where the loader finds it"
for library in "$tree"/lib/weft/*.so*; do
	if readelf -d "$library" | grep RUNPATH | grep -q "$build"; then
		die "$library leads to the build"
	fi
done

cat >"$dest/mrc.c" <<'C'
#include <dlfcn.h>
#include <mrc.h>
#include <stdio.h>
int main(void)
{
	Dl_info mrc = { 0 }, verbs = { 0 };
	dladdr((void *)mrc_query_device, &mrc);
	dladdr((void *)ibv_get_device_list, &verbs);
	printf("%s\n%s\n", mrc.dli_fname, verbs.dli_fname);
	return 0;
}
C
cat >"$dest/wire.c" <<'C'
#include <stdio.h>
#include <weft/wire.h>
int main(void)
{
	return puts(weft_drop_name(WEFT_DROP_BAD_TVER)) < 0;
}
C
export PKG_CONFIG_PATH=$tree/lib/pkgconfig
for package in weft-mrc:mrc weft:wire; do
	"$cc" -D_GNU_SOURCE "$dest/${package#*:}.c" -o "$dest/${package#*:}" \
		$(pkg-config --cflags --libs "${package%:*}") || die "${package%:*}: does not build"
done
[ "$("$dest/wire")" = bad_tver ] || die "libweft.a: $("$dest/wire")"

out=$("$tree/bin/weft" run -- "$dest/mrc")
[ "$out" = "$tree/lib/weft/lib_mrc.so
$tree/lib/weft/libibverbs.so.1" ] || die "weft run took $out"
"$tree/bin/weft" fabric check "$tree/share/weft/examples/fabrics/lab8.yaml" >"$log" 2>&1 ||
	die "the example is not a good one"

# The names that others look for: the OCP benchmark's, and that of Microsoft's NCCL plugin.
for name in libmrc.so lib_mrc.so libnv_mrc.so; do
	"$tree/bin/weft" run -- python3 -c 'import ctypes, sys
ctypes.CDLL(sys.argv[1]).mrc_query_device' $name >"$log" 2>&1 || die "weft run: no $name"
done

# That it can fail: without the folder, the program does not find its library.
if LD_LIBRARY_PATH='' "$dest/mrc" >"$log" 2>&1; then
	die "lib_mrc.so is found without weft run"
fi
mv "$tree/lib/weft" "$tree/lib/elsewhere"
if "$tree/bin/weft" run -- "$dest/mrc" >"$log" 2>&1; then
	die "weft run needs no libraries"
fi
grep -q "lib/weft" "$log" || die "weft run does not say where it looked"
