#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo_unmade.sh: `weft demo` does not report faults that did not happen: somebody mends them
# at once, the lab's keeper has stopped, twenty programs want the CPUs.
set -eu
weft=$WEFT_BUILD/weft
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Starts a demo, and waits until its lab is up: $demo, $lab.
begin() {
	timeout 120 "$weft" demo --quick --out "$folder" "$@" >"$folder/out" 2>"$folder/err" &
	demo=$!
	for _ in $(seq 300); do
		lab=$("$weft" lab list | grep "^demo-" || true)
		[ -z "$lab" ] || return 0
		sleep 0.1
	done
	echo "no lab came up" && exit 1
}

# How it has ended; and whether report, words and exit status say the same.
finish() {
	local rc=0
	wait "$demo" || rc=$?
	python3 - "$folder" $rc "$1" <<'PY'
import json, sys

folder, rc, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
report = json.load(open(folder + "/report.json"))
text = open(folder + "/out").read()
page = open(folder + "/report.html").read()
run, = report["runs"]
verdicts = [f["verdict"] for f in run["faults"]]
print(what, rc, verdicts)
assert len(verdicts) == 8
made = verdicts.count("made") == 8
assert report["as_planned"] == run["as_planned"] == made
assert rc == (0 if made and run["ok"] else 1)
assert text.count("NOT MADE:") == verdicts.count("not made"), text
assert text.count("* not as planned:") == verdicts.count("otherwise"), text
for fault in run["faults"]:
    assert (fault["verdict"] == "made") == (fault["why"] == ""), fault
    if fault["verdict"] == "not made":
        assert fault["lasted_s"] < report["plan"]["hold_s"] / 2, fault
if what == "mended":
    # Whoever mends is quicker than a quarter of a second, mostly.
    short = [f for f in run["faults"] if f["verdict"] == "not made"]
    assert len(short) >= 2 and all(f["why"].startswith("only 0.") for f in short), run["faults"]
if what == "stopped":
    assert verdicts == ["not made"] * 8, run["faults"]
    assert any("keeper does not answer" in f["why"] for f in run["faults"]), run["faults"]
PY
}

begin --only tcp
while kill -0 "$demo" 2>/dev/null; do
	"$weft" lab fault -n "$lab" undo all 2>/dev/null || true
done
finish mended

"$weft" demo --quick --out "$folder" --only tcp >"$folder/out" 2>"$folder/err" &
demo=$!
python3 "$(dirname "$0")/stop_keeper.py" "demo-$demo" "$folder/keeper" 2 &
stopper=$!
wait $stopper
keeper=$(cat "$folder/keeper")
trap 'kill -KILL "$keeper" 2>/dev/null || true; rm -rf "$folder"' EXIT
finish stopped
kill -KILL "$keeper"

for _ in $(seq 20); do
	timeout 15 bash -c 'while :; do :; done' &
	busy="${busy:-} $!"
done
begin --only weft
finish busy
kill $busy 2>/dev/null || true
for _ in $(seq 50); do
	[ -n "$("$weft" lab list | grep '^demo-')" ] || exit 0
	sleep 0.1
done
echo "a lab is left" && exit 1
