#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# play.sh: a scenario runs on the lab as it does in virtual time, and leaves nothing behind.
#
# Counts are compared, not times: those depend on whether this machine runs the hosts.
set -eu
weft=$WEFT_BUILD/weft
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/../.."

"$weft" play examples/scenarios/ring.yaml -q -s 1 --json "$folder/sim"
"$weft" play examples/scenarios/ring.yaml -q -s 1 --on lab --json "$folder/lab" \
	--report "$folder/page.html"

python3 - "$folder" <<'PY'
import json, sys

worlds = {}
for world in "sim", "lab":
    lines = [json.loads(line) for line in open(sys.argv[1] + "/" + world)]
    worlds[world] = {"run": lines[0], "result": lines[-1], "claims": {
        line["claim"]: line for line in lines if line["kind"] == "claim"}}
sim, lab = worlds["sim"], worlds["lab"]
assert "slower" not in sim["run"] and lab["run"]["slower"] == 2000, lab["run"]
for key in "flows", "completed", "failed":
    assert sim["result"][key] == lab["result"][key], (key, sim["result"], lab["result"])
# The same bytes: what was not repeated is the same, packet by packet.
once = [w["result"]["data_packets"] - w["result"]["repeated"] for w in (sim, lab)]
assert once[0] == once[1], once
assert lab["result"]["lost"] >= 1, lab["result"]
assert lab["claims"]["queue_down <= 200KB"]["measured"] == "not measured in a lab"
assert sim["claims"]["end <= 100 ideal"]["measured"] == "only in lab"
PY
grep -q '</html>' "$folder/page.html"
# A host that stands still for 0.3 ms of the scenario: its flows take as long, and are done.
cat >"$folder/pause.yaml" <<'YAML'
fabric: {planes: 2, hosts: 4, radix: 4, port: 100Gb/s, hop: 600ns}
load:
  - flows: {from: h0, to: h3, bytes: 100KB, name: other}
  - flows: {from: h1, to: h2, bytes: 100KB, name: out}
  - flows: {from: h2, to: h1, bytes: 100KB, name: in}
faults:
  - pause h1 at 1us for 300us
stop: 20ms
expect:
  - completed == 3
  - failed == 0
  - out.fct_min >= 290us
  - in.fct_min >= 290us
YAML
for world in sim lab; do
	"$weft" play "$folder/pause.yaml" -q --on $world
done
"$weft" sim --compare "$folder/sim" "$folder/lab" | grep -q '^completed '
if "$weft" sim --compare "$folder/sim" 2>"$folder/why" || ! grep -q 'two files' "$folder/why"; then
	echo "half a comparison"
	exit 1
fi
if "$weft" lab list | grep -q '^play-'; then
	echo "a lab is left"
	exit 1
fi
