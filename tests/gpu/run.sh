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
# bandwidth printed (of loopback UDP, which is slower than any copy).  Where a lab can be set up,
# which wants root or namespaces of users, GPU to GPU and host to host once more over that: eight
# planes of shared memory.  Each part is given 22 seconds at most, so that the whole takes less than
# three minutes; mostly it is a few seconds per part.
# WEFT_BENCH_GPU=N takes another GPU than the first, WEFT_BUILD=FOLDER what is built already.
set -u
here=$(realpath "$(dirname "$0")")
build=${WEFT_BUILD:-$here/../../build/release}
fabric=$here/../../examples/fabrics/lab8.yaml

make_it() {
	(cd "$here/../.." && cmake --preset release >/dev/null &&
		cmake --build build/release --target bench_nccl_net weft_program \
			shared_libnccl-net-weft.so) >&2 || exit 1
}

pack() {
	[ -n "${WEFT_BUILD-}" ] || make_it
	mkdir -p "$1/lib" && cp "$0" "$1/run.sh" && cp -t "$1" "$build/bench/bench_nccl_net" \
		"$build/lib/libnccl-net-weft.so" "$build/weft" "$fabric" || exit 1
	# What they are linked with, but for the C library's own parts, which go with the loader.
	ldd "$1/bench_nccl_net" "$1/libnccl-net-weft.so" "$1/weft" | awk '$2 == "=>" { print $3 }' |
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
	weft=$here/weft
	fabric=$here/lab8.yaml
	export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib
else
	[ -n "${WEFT_BUILD-}" ] || make_it
	peer=$build/bench/bench_nccl_net
	plugin=$build/lib/libnccl-net-weft.so
	weft=$build/weft
fi
command -v nvidia-smi >/dev/null && nvidia-smi -L
unset WEFT_CONFIG WEFT_FABRIC WEFT_IPV4
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$WEFT_LABS"
trap '"$weft" lab down >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
port=$((20000 + $$ % 10000))
address=127.0.0.1
lab=
faults=0

# at HOST COMMAND...: there, for as long as it is given
at() {
	local there=()
	[ -z "$lab" ] || there=("$weft" lab run "$1" --)
	timeout 22 ${there[@]+"${there[@]}"} "${@:2}"
}

# part SENDER'S-OPTION RECEIVER'S-OPTION
part() {
	local receiver sent received
	port=$((port + 1))
	echo "== ${lab:+lab, }${1:---host} to ${2:---host}"
	at h2 "$peer" ${2:+"$2"} "$plugin" listen $port >"$dir/receiver" 2>&1 &
	receiver=$!
	for _ in $(seq 300); do # a driver takes a second or two to start
		grep -q listening "$dir/receiver" && break
		kill -0 $receiver 2>/dev/null || break
		sleep 0.05
	done
	at h0 "$peer" ${1:+"$1"} "$plugin" send "$address" $port >"$dir/sender" 2>&1
	sent=$?
	wait $receiver
	received=$?
	sed 's/^/sender: /' "$dir/sender"
	sed 's/^/receiver: /' "$dir/receiver"
	[ $sent = 0 ] && [ $received = 0 ] && grep -q 'every byte right' "$dir/receiver" && return
	echo "FAILED: sender $sent, receiver $received"
	faults=1
}

export WEFT_PLANES=$address
part --gpu --gpu
part --gpu ""
part "" --gpu
part --dmabuf --dmabuf
part "" ""
unset WEFT_PLANES
if timeout 20 "$weft" lab up "$fabric" --rate none >/dev/null 2>"$dir/why"; then
	lab=1
	address=$("$weft" lab run h2 -- printenv WEFT_IPV4)
	part --gpu --gpu
	part "" ""
else
	echo "no lab here: $(head -n 1 "$dir/why")"
fi
[ $faults = 0 ] && echo "gpu: every byte right"
exit $faults
