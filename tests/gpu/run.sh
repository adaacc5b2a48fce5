#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [pack FOLDER]: the NCCL plugin with the memory of a real GPU.  Not a part of `make test`.
#
#   tests/gpu/run.sh               on a machine with a GPU and what Weft is built of
#   tests/gpu/run.sh pack FOLDER   anywhere: all that it needs, to be carried to such a machine,
#   FOLDER/run.sh                  where the driver is and nothing else need be
#
# Two processes over the loopback interface, neither root nor namespaces: a GPU's memory at both
# ends, at one, at none, and by DMA-BUF where the driver has them.  Every byte is checked, and
# bandwidth printed (of loopback UDP, which is slower than any copy).  Each part is given 35 seconds
# at most, so that the whole takes less than three minutes; mostly it is a few seconds per part.
# WEFT_BENCH_GPU=N takes another GPU than the first, WEFT_BUILD=FOLDER what is built already.
set -u
here=$(realpath "$(dirname "$0")")
build=${WEFT_BUILD:-$here/../../build/release}

make_it() {
	(cd "$here/../.." && cmake --preset release >/dev/null &&
		cmake --build build/release --target bench_nccl_net shared_libnccl-net-weft.so) \
		>&2 || exit 1
}

pack() {
	[ -n "${WEFT_BUILD-}" ] || make_it
	mkdir -p "$1/lib" && cp "$0" "$1/run.sh" && cp "$build/bench/bench_nccl_net" "$1" &&
		cp "$build/lib/libnccl-net-weft.so" "$1" || exit 1
	# What they are linked with, but for the C library's own parts, which go with the loader.
	ldd "$1/bench_nccl_net" "$1/libnccl-net-weft.so" | awk '$2 == "=>" { print $3 }' |
		grep -Ev '/(libc|libm|libdl|libpthread|librt)\.so' | sort -u |
		xargs -r cp -Lt "$1/lib"
}

if [ "${1-}" = pack ]; then
	pack "$2"
	exit
fi
if [ -e "$here/bench_nccl_net" ]; then
	peer=$here/bench_nccl_net
	plugin=$here/libnccl-net-weft.so
	export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib
else
	[ -n "${WEFT_BUILD-}" ] || make_it
	peer=$build/bench/bench_nccl_net
	plugin=$build/lib/libnccl-net-weft.so
fi
command -v nvidia-smi >/dev/null && nvidia-smi -L
export WEFT_PLANES=127.0.0.1
unset WEFT_CONFIG WEFT_FABRIC WEFT_IPV4
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
port=$((20000 + $$ % 10000))
faults=0

# part SENDER'S-OPTION RECEIVER'S-OPTION
part() {
	local receiver sent received
	port=$((port + 1))
	echo "== ${1:---host} to ${2:---host}"
	timeout 35 "$peer" ${2:+"$2"} "$plugin" listen $port >"$dir/receiver" 2>&1 &
	receiver=$!
	for _ in $(seq 300); do # a driver takes a second or two to start
		grep -q listening "$dir/receiver" && break
		kill -0 $receiver 2>/dev/null || break
		sleep 0.05
	done
	timeout 35 "$peer" ${1:+"$1"} "$plugin" send 127.0.0.1 $port >"$dir/sender" 2>&1
	sent=$?
	wait $receiver
	received=$?
	sed 's/^/sender: /' "$dir/sender"
	sed 's/^/receiver: /' "$dir/receiver"
	[ $sent = 0 ] && [ $received = 0 ] && grep -q 'every byte right' "$dir/receiver" && return
	echo "FAILED: sender $sent, receiver $received"
	faults=1
}

part --gpu --gpu
part --gpu ""
part "" --gpu
part --dmabuf --dmabuf
part "" ""
[ $faults = 0 ] && echo "gpu: every byte right"
exit $faults
