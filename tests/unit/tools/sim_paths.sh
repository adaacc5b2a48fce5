#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# sim_paths.sh FABRIC: fewer paths than the default of the way back are fewer both ways, unless
# somebody has asked for more.
set -u
weft=$WEFT_BUILD/weft
faults=0
for paths in 8 12 15 16 64; do
	"$weft" sim "$1" --paths "$paths" --dry-run >/dev/null || faults=1
done
said=$("$weft" sim "$1" --paths 8 --reply-paths 16 --dry-run 2>&1) && faults=1
grep -q "reply paths: 16, allowed is 8 (planes) to 8 (paths)" <<<"$said" || {
	echo "$said"
	faults=1
}
exit $faults
