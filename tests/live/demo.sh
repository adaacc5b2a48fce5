#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh soft|kernel: `weft demo --quick` copies right, tells the truth about it, and leaves
# nothing behind.  What it says of faults is compared with what arrived by the plane meanwhile.
#
#   h0 ==8 planes, faults in plane 0== h2     by Weft; then MPTCP and TCP for the same time
set -eu
weft=$WEFT_BUILD/weft kind=$1
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
only=()
[ -e /proc/sys/net/mptcp/enabled ] || only=(--only weft --only tcp)

rc=0
"$weft" demo --quick --fabric "$kind" --out "$folder" "${only[@]}" || rc=$?

python3 - "$folder" "$kind" $rc <<'PY'
import json, sys
from html.parser import HTMLParser

folder, rc = sys.argv[1], int(sys.argv[3])
report = json.load(open(folder + "/report.json"))
hold = report["plan"]["hold_s"]
assert report["fabric"]["switches"] == sys.argv[2]
runs = {run["transport"]: run for run in report["runs"]}
weft = runs["Weft"]
assert weft["ok"] and weft["wrong_bytes"] == 0 and len(weft["sha256"]) == 64, weft["error"]
assert weft["bytes"] == report["file"]["bytes"]
for run in runs.values():
    assert run["ok"] and run["wrong_bytes"] == 0, (run["transport"], run["error"])
    assert 0.98 * run["bytes"] <= sum(run["goodput"]["bytes"]) <= 1.01 * run["bytes"], run["bytes"]
    assert abs(run["bytes"] * 8 / run["seconds"] / run["goodput_bps"] - 1) < 0.01
    # Rates are the receiver's: none is more than all lines carry.
    assert run["goodput_bps"] < 8 * report["fabric"]["link_bps"], run["goodput_bps"]
    assert len(run["faults"]) == 8
    for fault in run["faults"]:
        made = fault["verdict"] == "made"
        assert made == (fault["why"] == ""), fault
        if made:
            assert 0.75 * hold / 2 <= fault["lasted_s"] <= 1.25 * hold, fault
            assert 0 < fault["from_s"] < fault["to_s"] <= run["seconds"], fault
all_made = all(f["verdict"] == "made" for run in runs.values() for f in run["faults"])
assert report["as_planned"] == all_made
assert rc == (0 if all_made else 1), rc
if not all_made:
    # Only where the machine itself stood still for too long may something be left out.
    worst = max([gap["ms"] for run in runs.values() for gap in run["machine_gaps"]] or [0])
    assert worst > 1e3 * hold / 8, "nothing kept the faults from being made"
    print("the machine stood still for %.0f ms: not all faults are asked for" % worst)


def carried(run, fault):
    """Share of its line that plane 0 brought while this was in force, by the ports' counters."""
    at, bytes = run["planes"]["at_s"], run["planes"]["bytes"][0]
    inside = [i for i, s in enumerate(at) if fault["from_s"] + 0.02 <= s <= fault["to_s"]]
    if len(inside) < 2:
        return None
    first, last = inside[0], inside[-1]
    return (bytes[last] - bytes[first]) * 8 / (at[last] - at[first]) / report["fabric"]["link_bps"]


names = [f["name"] for f in report["plan"]["faults"]]
for name in "plane down", "plane dies silently":
    for run in runs.values():
        fault = run["faults"][names.index(name)]
        share = carried(run, fault) if fault["verdict"] == "made" else None
        assert share is None or share < 0.05, (run["transport"], name, share)
# A dead plane costs the one connection in it everything, and Weft one plane of eight.
down = names.index("plane dies silently")
tcp, ours = runs["TCP"]["faults"][down], weft["faults"][down]
if all_made:
    assert tcp["stall"]["ms"] > 200, tcp
    assert ours["during_bps"] > 0.5 * ours["before_bps"], ours


class Page(HTMLParser):
    """The report inside the page is the report beside it."""

    inside = found = False

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "script" and ("type", "application/json") in attrs

    def handle_data(self, data):
        if self.inside:
            self.found = json.loads(data)["runs"][0]["sha256"] == weft["sha256"]
            self.inside = False


page = Page()
page.feed(open(folder + "/report.html").read())
assert page.found, "report.html lacks its data"
PY
[ ! -e "$folder/received/copy" ]
[ -z "$("$weft" lab list | grep '^demo-')" ] || { echo "a lab is left"; exit 1; }

[ "$kind" = soft ] || exit 0
# An interrupted demo says so, fails, and leaves nothing either.
"$weft" demo --quick --out "$folder" --only tcp >/dev/null 2>"$folder/err" &
demo=$!
sleep 2
kill -INT $demo
if wait $demo; then echo "interrupted, yet all well?"; exit 1; fi
grep -q interrupted "$folder/err"
[ -z "$("$weft" lab list | grep '^demo-')" ] || { echo "a lab is left"; exit 1; }
