#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Libraries that others build on, unmodified, over Weft: libfabric, UCX and Open MPI with UCX below.
#
#   h0: fi_pingpong, ucx_perftest --- 8 x [T0 = T1 = T0] --- h2: their servers
#   h0 ... h3: one rank each of examples/mpi/check.c, which looks at every byte
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
weft=$(realpath "$WEFT_BUILD")/weft
root=$(realpath "$(dirname "$0")/../..")
for need in fi_pingpong:libfabric-bin ucx_perftest:ucx-utils mpirun:openmpi-bin \
	mpicc:libopenmpi-dev; do
	command -v "${need%:*}" >/dev/null || {
		echo "skipped: no ${need%:*}, which is in ${need#*:}"
		exit 77
	}
done
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
trap 'cd /; "$weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
faults=0

fault() { echo "$1"; faults=1; }
on() { timeout 60 "$weft" lab run "$1" -- "$weft" run -- "${@:2}"; }

# pair PORT PROGRAM...: a server on h2 that listens on PORT, then a client on h0; both succeed
pair() {
	on h2 "${@:2}" >"$dir/server" 2>&1 &
	local server=$! i=0
	until "$weft" lab run h2 -- ss -Hltn "sport = :$1" | grep -q .; do
		((++i < 300)) || { fault "${*:2}: nobody listens on port $1"; break; }
		sleep 0.1
	done
	on h0 "${@:2}" h2 >"$dir/client" 2>&1 || {
		fault "${*:2}: the client ends with $?: $(cat "$dir/client")"
		kill $server 2>/dev/null
	}
	wait $server || fault "${*:2}: the server ends with $?: $(cat "$dir/server")"
}

"$weft" lab up "$root/examples/fabrics/lab8.yaml" --rate none >/dev/null || exit 77
on h0 fi_info -p verbs | grep -q FI_PROTO_RDMA_CM_IB_RC || fault "fi_info: no message endpoints"
pair 47592 fi_pingpong -p verbs -e msg -c -I 20
pair 47592 fi_pingpong -p 'verbs;ofi_rxm' -e rdm -c -I 20
export UCX_TLS=rc_v,ud_v,self UCX_NET_DEVICES=mrc0:1
for test in 'tag_bw -s 65536' 'ucp_get -s 4096' 'ucp_fadd -s 8'; do
	pair 13337 ucx_perftest -t $test -n 50 -w 5
done

# The shell by which mpirun reaches hosts.
cat >"$dir/agent" <<EOF
#!/bin/sh
host=\$1
shift
exec '$weft' lab run "\$host" -- sh -c "\$*"
EOF
chmod +x "$dir/agent"
mpicc -O2 -o "$dir/check" "$root/examples/mpi/check.c" || fault "mpicc"
# Its session folder's path must be short.
TMPDIR=/tmp PMIX_MCA_gds=hash timeout 60 "$weft" lab run h0 -- mpirun --allow-run-as-root -np 4 \
	--host h0,h1,h2,h3 --mca plm_rsh_agent "$dir/agent" --mca plm_rsh_no_tree_spawn 1 \
	--mca oob_tcp_if_include front0 --mca mpi_yield_when_idle 1 --mca pml ucx --mca osc ucx \
	--mca btl ^openib,ofi -x PMIX_MCA_gds=hash -x UCX_TLS -x UCX_NET_DEVICES \
	"$weft" run -- "$dir/check" >"$dir/mpi" 2>&1 || fault "mpirun: $(tail -5 "$dir/mpi")"
[ "$(grep -c ': ok$' "$dir/mpi")" = 5 ] || fault "mpi: $(cat "$dir/mpi")"
exit $faults
