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
. "$root/tests/live/pair.sh"
"$weft" lab up "$fabric" --rate none >/dev/null || exit 77
on h0 fi_info -p verbs | grep -q FI_PROTO_RDMA_CM_IB_RC || fault "fi_info: no message endpoints"
port=47592 pair fi_pingpong -p verbs -e msg -c -I 20
port=47592 pair fi_pingpong -p 'verbs;ofi_rxm' -e rdm -c -I 20
export UCX_TLS=rc_v,ud_v,self UCX_NET_DEVICES=mrc0:1
for test in 'tag_bw -s 65536' 'ucp_get -s 4096' 'ucp_fadd -s 8'; do
	port=13337 pair ucx_perftest -t $test -n 50 -w 5
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
