#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# experiments.sh faults|transports: the claims of the small experiments hold, each under the seeds
# said here.
#
# Claims of a share of all seeds need more than a few; those seeds are not the files' own.
# In virtual time, so that nothing depends on how quick the machine is; the large ones
# (experiments/README.md) take minutes and are played by hand.
set -u
cd "$(dirname "$0")/../.." || exit 1
faults=0
while read -r kind name seeds; do # a folder's scenario, or one of its other files
	[ "$kind" = "$1" ] || continue
	file=experiments/$name
	[ -d "$file" ] && file=$file/scenario.yaml || file=$file.yaml
	"$WEFT_BUILD/weft" play -q -s "$seeds" "$file" || faults=1
done <<'LIST'
faults fig05-core-flaps 1-6
faults fig06-transceiver-glitch 1-3
faults fig06-transceiver-glitch/again 1-3
faults fig08-spine-reboot 1-3
faults fig09c-twenty-core-links 1-3
faults fig09d-eight-core-links-flap 101-112
faults fig10-t0-down 1-3
faults fig11-t1-down 1-3
faults fig12-lossy-path 1-3
transports fig14-two-flows-one-path 1-3
transports fig16-ring-allreduce 1-3
transports fig16-ring-allreduce/mrc-0 1-3
transports fig16-ring-allreduce/roce-0 1-3
transports fig16-ring-allreduce/roce16-0 1-3
transports fig16-ring-allreduce/roce16-1 1-3
transports fig17-all-to-all 1-3
transports fig17-all-to-all/mrc-0 1-3
transports fig17-all-to-all/roce-0 1-3
transports fig17-all-to-all/roce16-0 1-3
transports fig17-all-to-all/roce16-1 1-3
transports fig18-incast-victim 1-3
transports fig18-incast-victim/roce 101-112
transports fig19-core-capacity 1-3
transports fig19-core-capacity/to-spare 1-3
transports fig19-core-capacity/two-at-once 1-3
transports fig20-permutation 1-3
transports fig20-permutation/roce 1-3
transports fig22-dcqcn-incast 101-104
transports fig22-dcqcn-incast/aggressive 1-3
transports fig22-dcqcn-incast/most 1-3
transports fig22-dcqcn-incast/mrc 1-3
transports scale-failures/mrc-64 1-3
transports scale-failures/roce16-64 1-3
faults fig09a-ports-one-by-one 1
faults fig09b-half-flap 1
LIST
exit $faults
