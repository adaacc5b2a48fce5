#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rdma-core's own tests of verbs and rdma_cm, as Debian's python3-pyverbs has them, over Weft: both
# ends of each are on one host, a part of them on each of two.
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
here=$(realpath "$(dirname "$0")")
weft=$(realpath "$WEFT_BUILD")/weft
shipped=/usr/share/doc/rdma-core/tests
/usr/bin/python3 -c 'import pyverbs' 2>/dev/null && [ -e $shipped/base.py.gz ] || {
	echo "skipped: no python3-pyverbs, or no $shipped"
	exit 77
}
. "$here/pair.sh"
mkdir "$dir/tests"
cp $shipped/* "$dir/tests" && gunzip "$dir"/tests/*.gz || exit 1
"$weft" lab up "$fabric" --rate none >/dev/null || exit 77
share() { LIMIT=150 on "$1" /usr/bin/python3 "$here/rdma_core.py" "$dir" "${@:2}"; }
share h0 qpex rdmacm cq_events >"$dir/h0" 2>&1 &
share h2 addr atomic cq cqex device fork mr parent_domain pd qp shared_pd || fault "on h2"
wait $! || fault "on h0"
cat "$dir/h0"
[ $faults = 0 ]
