#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# experiments.sh: the claims of the small experiments hold, each under the seeds said here.
#
# In virtual time, so that nothing depends on how quick the machine is; the large ones
# (experiments/README.md) take minutes and are played by hand.
set -u
cd "$(dirname "$0")/../.." || exit 1
faults=0
while read -r name seeds; do # a folder's scenario, or one of its other files
	file=experiments/$name
	[ -d "$file" ] && file=$file/scenario.yaml || file=$file.yaml
	"$WEFT_BUILD/weft" play -q -s "$seeds" "$file" || faults=1
done <<'LIST'
fig05-core-flaps 1
fig09c-twenty-core-links 1-3
fig09d-eight-core-links-flap 1-3
fig10-t0-down 1
fig11-t1-down 1-3
fig12-lossy-path 1-3
fig14-two-flows-one-path 1-3
fig16-ring-allreduce 1
fig16-ring-allreduce/roce16-1 1
fig18-incast-victim 1-3
fig18-incast-victim/roce 1
fig19-core-capacity 1
fig20-permutation 1-3
fig20-permutation/roce 1-3
LIST
exit $faults
