#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# speed.sh [ROUNDS]: programs over Weft's verbs beside the same and others over TCP, on one lab.
#
#   h0 --- 8 planes, soft switch of Weft (shared memory): perftest, UCX rc_v, Open MPI pml ucx - h2
#   h0 --- front0, veth and the kernel's bridge:        UCX tcp, Open MPI btl tcp       - h2
#
# In turn, ROUNDS (3) times, since a busy machine is not twice the same; then the median of each.
# GB per CPU second: the bytes of the stream, by user and system time of both programs and of the
# lab's processes (the switch).  What the kernel does for TCP in the name of nobody is not counted.
# Streams last a second or two: starting counts less (perftest takes 0.5 s to find out its clock).
# Two ranks would be bound to the same core, since each believes to have a machine of its own.
# WEFT: the program (build/weft); RATE: of each link (none).
set -u
cd "$(dirname "$0")/../.."
weft=$(realpath "${WEFT:-build/weft}")
rounds=${1:-3}
for program in ib_write_bw ib_write_lat ucx_perftest mpicc mpirun /usr/bin/time; do
	command -v $program >/dev/null && continue
	echo "no $program: apt-get install perftest ucx-utils openmpi-bin libopenmpi-dev time"
	exit 1
done
export TMPDIR=/tmp PMIX_MCA_gds=hash
. tests/live/pair.sh # of which `on` and `pair` are replaced: here they are timed
"$weft" lab up examples/fabrics/lab8.yaml --name speed --rate "${RATE:-none}" >/dev/null || exit 1
mpicc -O2 -o "$dir/pingpong" examples/mpi/pingpong.c || exit 1
printf '#!/bin/sh\nhost=$1\nshift\nexec "%s" lab run "$host" -- sh -c "$*"\n' "$weft" >"$dir/agent"
chmod +x "$dir/agent"

# on HOST PROGRAM...: its times go to times.HOST
on() {
	timeout 120 /usr/bin/time -q -f "%U %S" -o "$dir/times.$1" "$weft" lab run "$1" -- "${@:2}"
}

# ticks of the lab's own processes, which are those that this shell's `lab up` left
lab_ticks() {
	local pid sum=0 t
	for pid in $(pgrep -f "lab up examples/fabrics/lab8.yaml --name speed"); do
		t=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | awk '{print $12 + $13}')
		sum=$((sum + ${t:-0}))
	done
	echo $sum
}

# pair PORT PROGRAM...: a server on h2, a client on h0; the client's words go to client
pair() {
	local before port=$1
	before=$(lab_ticks)
	shift
	on h2 "$@" >"$dir/server" 2>&1 &
	local server=$!
	listening "$port"
	on h0 "$@" h2 >"$dir/client" 2>&1 || {
		tail -2 "$dir/client" >&2
		kill $server
	}
	wait $server
	cpu=$(cat "$dir/times.h0" "$dir/times.h2" | awk -v t=$(($(lab_ticks) - before)) \
		'{s += $1 + $2} END {print s + t / 100}')
}

# tell NAME MB/s BYTES: a stream
stream() { awk -v r="$2" -v b="$3" -v c="$cpu" -v n="$1" \
	'BEGIN {printf "%s|%.0f|%.3f|||\n", n, r, c ? b / 1e9 / c : 0}' >>"$dir/all"; }
# NAME MEDIAN 99%: a ping-pong
lat() { printf '%s|||%s|%s|\n' "$1" "${2:-}" "${3:-}" >>"$dir/all"; }

perftest() { # NAME BYTES COUNT
	pair 18515 "$weft" run -- ib_write_bw -F -s "$2" -n "$3"
	stream "$1" "$(awk -v b="$2" '$1 == b {print $4 * 1.048576}' "$dir/client")" $(($2 * $3))
}

ucx() { # NAME TEST BYTES COUNT, TLS DEVICE RUN...
	local name=$1 test=$2 bytes=$3 count=$4 tls=$5 device=$6
	shift 6
	pair 13337 env UCX_TLS="$tls" UCX_NET_DEVICES="$device" "$@" \
		ucx_perftest -t "$test" -s "$bytes" -n "$count" -w 100
	set -- $(awk '/Final:/ {print; exit}' "$dir/client")
	case $test in # Final: iterations, 50 %, average, overall us; average, overall MB/s
	*bw)
		stream "$name" "$(awk -v r="${7:-0}" 'BEGIN {print r * 1.048576}')" \
			$((bytes * count))
		;;
	*) lat "$name" "${3:-}" "" ;;
	esac
}

# UCX looks for interfaces in sysfs, which must be that of the namespace.
sysfs=(unshare -m sh -c 'mount -t sysfs sysfs /sys && exec "$@"' sh)

mpi() { # NAME BYTES COUNT RUN... + MCA...
	local name=$1 bytes=$2 count=$3 before run=()
	shift 3
	while [ "$1" != + ]; do
		run+=("$1")
		shift
	done
	shift
	before=$(lab_ticks)
	on h0 mpirun --allow-run-as-root -np 2 --host h0,h2 --mca plm_rsh_agent "$dir/agent" \
		--mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include front0 --bind-to none \
		--mca btl_base_warn_component_unused 0 -x PMIX_MCA_gds=hash "$@" \
		"${run[@]}" "$dir/pingpong" "$bytes" "$count" >"$dir/client" 2>&1
	cpu=$(awk -v t=$(($(lab_ticks) - before)) '{print $1 + $2 + t / 100}' "$dir/times.h0")
	set -- $(grep ' bytes: ' "$dir/client" | tr -d ,)
	[ $# -gt 0 ] || tail -2 "$dir/client" >&2
	stream "$name $bytes" "${3:-0}" $((3 * bytes * count)) # the stream, there, and back
	lat "$name $bytes" "${5:-}" "${9:-}"
}

for _ in $(seq "$rounds"); do
	perftest "ib_write_bw 65536" 65536 50000
	perftest "ib_write_bw 8388608" 8388608 400
	pair 18515 "$weft" run -- ib_write_lat -F -s 8 -n 3000
	lat "ib_write_lat 8" $(awk '$1 == 8 {print $5, $8}' "$dir/client")
	for bytes in 65536 8388608; do
		count=$((3355443200 / bytes))
		ucx "UCX rc_v tag_bw $bytes" tag_bw $bytes $count rc_v,ud_v,self mrc0:1 \
			"$weft" run --
		ucx "UCX tcp  tag_bw $bytes" tag_bw $bytes $count tcp,self front0 "${sysfs[@]}"
	done
	ucx "UCX rc_v tag_lat 8" tag_lat 8 3000 rc_v,ud_v,self mrc0:1 "$weft" run --
	ucx "UCX tcp  tag_lat 8" tag_lat 8 3000 tcp,self front0 "${sysfs[@]}"
	for bytes in 8 65536; do
		mpi "Open MPI ucx rc_v" $bytes 1000 "$weft" run -- + --mca pml ucx \
			--mca btl ^openib,ofi -x UCX_TLS=rc_v,ud_v,self -x UCX_NET_DEVICES=mrc0:1
		mpi "Open MPI btl tcp" $bytes 1000 + --mca pml ob1 --mca btl tcp,self \
			--mca btl_tcp_if_include front0
	done
done
python3 - "$dir/all" <<'END'
import collections, statistics, sys

rows = collections.defaultdict(lambda: [[], [], [], []])
for line in open(sys.argv[1]):
    name, *values = line.rstrip('\n').split('|')
    for i, value in enumerate(values[:4]):
        if value:
            rows[name][i].append(float(value))
print(f'{"":32}{"MB/s":>8}{"GB/CPU s":>10}{"us":>9}{"99 % us":>9}')
for name, columns in rows.items():
    cells = [f'{statistics.median(c):.{d}f}' if c else '' for c, d in zip(columns, (0, 2, 1, 1))]
    print(f'{name:32}{cells[0]:>8}{cells[1]:>10}{cells[2]:>9}{cells[3]:>9}')
END
