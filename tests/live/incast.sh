#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# incast.sh: `weft demo incast`, live: switches that trim, rings of shared memory, no privilege.
#
#   h4 .. h10 ==> h0     h15 ==> h1
#
# What is asked are counts.  Those that a machine can spoil by standing still (a timeout, a share)
# are asked only where it did not: the run says how long the endpoints were not run at most.
set -eu
weft=$WEFT_BUILD/weft
folder=$(mktemp -d)
export TMPDIR=$folder/tmp
mkdir "$TMPDIR"
trap 'rm -rf "$folder"' EXIT

"$weft" demo incast --quick --only trim --only drop --out "$folder"

python3 - "$folder" <<'PY'
import json, sys

BASE_RTT_MS = 2.7
report = json.load(open(sys.argv[1] + "/report.json"))
assert report["world"] == "live"
runs = {run["full"]: run for run in report["runs"]}
for run in runs.values():
    assert run["ok"], run["error"]
    assert run["result"]["unfinished"] == 0, run["result"]
trim, drop = runs["trim"], runs["drop"]
counts = trim["counts"]
assert counts["trimmed"] > 500 and counts["dropped"] == 0, counts
assert 0.95 * counts["trimmed"] <= counts["nacks"] <= counts["trimmed"], counts
assert counts["sent_again"] >= counts["nacks"], counts
assert drop["counts"]["trimmed"] == drop["counts"]["nacks"] == 0 < drop["counts"]["dropped"]
if trim["late_ms"] < BASE_RTT_MS:
    assert counts["timeouts"] == 0, counts
    assert counts["sent_again"] == counts["nacks"], counts
    assert 0.9 <= trim["result"]["shares"][-1] <= 1.1, trim["result"]
    # Half of the demo's time is too short for equal shares; nobody starves, though.
    assert trim["result"]["least"] > 0.7 and trim["result"]["most"] < 1.3, trim["result"]
else:
    print("the machine stood still for %.1f ms: counts that this spoils are not asked" %
          trim["late_ms"])
PY
if [ -n "$(ls -A "$TMPDIR")" ]; then
	echo "left behind:" "$TMPDIR"/*
	exit 1
fi
