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
#include <weft/decode.h>
int main(int n, char **args)
{
	static const struct weft_decode_config config = {
		.plain = WEFT_ENCAP_USID, .dscp = WEFT_DSCP_DEFAULT
	};
	char error[WEFT_CAPTURE_ERROR_BYTES] = "", name[64];
	struct weft_capture *capture = n == 2 ? weft_capture_open(args[1], error) : NULL;
	struct weft_capture_frame frame;
	struct weft_decoded decoded;

	while (capture && weft_capture_next(capture, &frame, error) > 0) {
		weft_decode_frame(&config, &frame, &decoded);
		printf("%s %s\n", weft_drop_name(decoded.fault.drop),
			weft_decode_field(&frame, &decoded, decoded.fault.bit, name));
	}
	weft_capture_close(capture);
	return puts(error) < 0;
}
C
export PKG_CONFIG_PATH=$tree/lib/pkgconfig
for package in weft-mrc:mrc weft:wire; do
	"$cc" -D_GNU_SOURCE "$dest/${package#*:}.c" -o "$dest/${package#*:}" \
		$(pkg-config --cflags --libs "${package%:*}") || die "${package%:*}: does not build"
done
export LD_LIBRARY_PATH=$tree/lib # where no loader looks in this test
said=$("$dest/wire" "$root/tests/vectors/v1/bad_tver.hex")
[ "$said" = "bad_tver BTH.tver" ] || die "libweft.so: $said"

# The engine in programs of other people's, shared and static: what they print is a run's digest.
embed=$tree/share/doc/weft/examples/embed
shared=$(pkg-config --cflags --libs weft)
static="$(pkg-config --cflags weft) -Wl,-Bstatic $(pkg-config --libs --static weft) -Wl,-Bdynamic"
for example in two_hosts bench burst; do
	case $example in
	two_hosts) want='2 x 8 MiB in 366.4 us, 50 packets lost, every byte in its place' ;;
	bench) want='1 MiB in 52.0 us: 397 frames, 4 dropped, 7 spoilt and refused' ;;
	burst) want='64 MiB in bursts over 2 planes, every byte in its place' ;;
	esac
	for how in "$shared" "$static"; do
		"$cc" -O1 "$embed/$example.c" $how -o "$dest/$example" >"$log" 2>&1 ||
			die "$example.c: does not build"
		got=$("$dest/$example" "$dest/$example.pcap")
		[ "$got" = "$want" ] || die "$example: $got"
	done
	readelf -d "$dest/$example" | grep -q libweft && die "$example: not static"
done
"$tree/bin/weft" decode "$dest/bench.pcap" >"$dest/decoded" 2>"$log" || die "bench.pcap: is none"
[ "$(grep -c '"icrc":"ok"' "$dest/decoded")" = 397 ] || die "bench.pcap: not all are ours"

# The dissector, from a home's folder of plugins; and where Debian looks, if the prefix were /usr.
if command -v tshark >/dev/null; then
	global=$(tshark -G folders 2>/dev/null | sed -n 's/^Global Lua Plugins:[[:space:]]*//p')
	plugin=$tree${global#/usr}/mrc
	mkdir -p "$dest/home/.local/lib/wireshark/plugins"
	ln -s "$plugin" "$dest/home/.local/lib/wireshark/plugins/mrc"
	got=$(HOME=$dest/home XDG_CONFIG_HOME=$dest/home tshark -n -r "$dest/bench.pcap" \
		-Y 'mrc.icrc == "ok"' 2>"$log" | wc -l)
	[ "$got" = 397 ] || die "the dissector in $plugin: $got packets of 397"
fi

# Programs of somebody who knew nothing else: every byte compared, cuts and losses made good.
for outsider in "$cc -std=gnu11" "g++ -std=c++17"; do
	source=$root/tests/embed/outsider.c
	[ "${outsider%% *}" != g++ ] || source=$root/tests/embed/outsider.cc
	$outsider -O1 -Wall -Wextra -Wpedantic -Werror "$source" $shared \
		-o "$dest/outsider" >"$log" 2>&1 || die "$source: does not build"
	"$dest/outsider" 1 >"$log" || die "$source: does not run"
	cp "$log" "$dest/first"
	"$dest/outsider" 1 | cmp -s - "$dest/first" || die "$source: one seed, two outputs"
	grep -q PASS "$dest/first" || die "$source: failed"
done

# One version, wherever it is said.
version=$(pkg-config --modversion weft)
grep -q "#define WEFT_VERSION \"$version\"" "$tree/include/weft/version.h" ||
	die "weft.pc says $version, weft/version.h does not"
[ "$("$tree/bin/weft" --version)" = "weft $version" ] || die "weft --version is not $version"
grep -q "^## $version$" "$tree/share/doc/weft/CHANGELOG.md" || die "CHANGELOG.md has no $version"
[ "$(readelf -d "$tree/lib/libweft.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = \
	"libweft.so.${version%.*}" ] || die "libweft.so: another soname than of $version"
unset LD_LIBRARY_PATH

out=$("$tree/bin/weft" run -- "$dest/mrc")
[ "$out" = "$tree/lib/weft/lib_mrc.so
$tree/lib/weft/libibverbs.so.1" ] || die "weft run took $out"
"$tree/bin/weft" fabric check "$tree/share/doc/weft/examples/fabrics/lab8.yaml" >"$log" 2>&1 ||
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
