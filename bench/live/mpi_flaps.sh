#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mpi_flaps.sh [SECONDS [ROUNDS]]: MPI's collectives while a plane flaps, beside quiet times.
#
#   h0 ... h3: one rank each --- Open MPI, UCX, verbs --- 8 planes, of which one loses its carrier
#   for $DOWN (300ms) once a second in every second window
#
# In one job, quiet and broken windows in turn, since a busy machine is not twice the same; see
# examples/mpi/collectives.c.  Wants libopenmpi-dev and openmpi-bin.
# WEFT: the program (build/weft); RATE: of each link (none); PLANE: which one (3); HOSTS: with a
# rank each (h0,h1,h2,h3; a machine with two CPUs has room for h0,h2).
set -eu
cd "$(dirname "$0")/../.."
weft=$(realpath "${WEFT:-build/weft}")
for program in mpicc mpirun; do
	command -v $program >/dev/null && continue
	echo "no $program: apt-get install libopenmpi-dev openmpi-bin"
	exit 1
done
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs TMPDIR=/tmp PMIX_MCA_gds=hash
mkdir "$dir/labs"
flapping=
end() {
	[ -z "$flapping" ] || kill "$flapping" 2>/dev/null || true
	"$weft" lab down >/dev/null 2>&1 || true
	rm -rf "$dir"
}
trap end EXIT
mpicc -O2 -o "$dir/collectives" examples/mpi/collectives.c
"$weft" lab up examples/fabrics/lab8.yaml --name mpiflaps --rate "${RATE:-none}" >/dev/null
cat >"$dir/agent" <<EOF
#!/bin/sh
host=\$1
shift
exec '$weft' lab run "\$host" -- sh -c "\$*"
EOF
chmod +x "$dir/agent"
(
	while sleep 0.05; do
		[ -e "$dir/flag" ] || continue
		"$weft" lab fault plane-down "${PLANE:-3}" --for "${DOWN:-300ms}" >/dev/null
		echo >>"$dir/flaps"
		sleep 0.95
	done
) &
flapping=$!
hosts=${HOSTS:-h0,h1,h2,h3}
commas=${hosts//[^,]/}
"$weft" lab run h0 -- mpirun --allow-run-as-root -np $((${#commas} + 1)) \
	--bind-to none --host "$hosts" \
	--mca plm_rsh_agent "$dir/agent" --mca plm_rsh_no_tree_spawn 1 \
	--mca oob_tcp_if_include front0 --mca btl_base_warn_component_unused 0 \
	--mca pml ucx --mca btl ^openib,ofi --mca mpi_yield_when_idle 1 \
	-x PMIX_MCA_gds=hash -x UCX_TLS=rc_v,ud_v,self -x UCX_NET_DEVICES=mrc0:1 \
	-x WEFT_STATS="$dir/stats" \
	"$weft" run -- "$dir/collectives" "$dir/flag" "$@"
echo "flaps: $(wc -l <"$dir/flaps")"
