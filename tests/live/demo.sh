#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh soft|kernel: `weft demo --quick` copies right, tells the truth about it, and leaves
# nothing behind.
#
#   h0 ==8 planes, faults in plane 0== h2     by Weft; then MPTCP and TCP for the same time
set -eu
weft=$WEFT_BUILD/weft kind=$1
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
only=()
[ -e /proc/sys/net/mptcp/enabled ] || only=(--only weft --only tcp)

"$weft" demo --quick --fabric "$kind" --out "$folder" "${only[@]}"

python3 - "$folder" "$kind" <<'PY'
import json, sys
from html.parser import HTMLParser

folder = sys.argv[1]
report = json.load(open(folder + "/report.json"))
assert report["fabric"]["switches"] == sys.argv[2]
runs = {run["transport"]: run for run in report["runs"]}
weft = runs["Weft"]
assert weft["ok"] and weft["wrong_bytes"] == 0 and len(weft["sha256"]) == 64, weft["error"]
assert weft["bytes"] == report["file"]["bytes"]
assert len(weft["faults"]) == 8, "the copy ended before the last fault"
for run in runs.values():
    assert run["ok"] and run["wrong_bytes"] == 0, (run["transport"], run["error"])
    assert sum(run["goodput"]["bytes"]) <= run["bytes"] * 1.001
# A dead plane costs the one connection in it everything, and Weft one plane of eight.
down = [f["name"] for f in report["plan"]["faults"]].index("plane dies silently")
tcp, ours = runs["TCP"]["faults"][down], weft["faults"][down]
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
