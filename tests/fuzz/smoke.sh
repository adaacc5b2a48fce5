#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# smoke.sh TARGET CORPUS [must-fail]: ten seconds of libFuzzer, starting from the corpus.
#
# The corpus is read and never written; finds lie in fuzz-found/ beside TARGET.  A longer search:
# WEFT_FUZZ_SECONDS=600.
set -u
target=$1
corpus=$2
found=$(dirname "$target")/fuzz-found/$(basename "$target")
mkdir -p "$found/corpus"
log=$found/log
args=(-max_total_time="${WEFT_FUZZ_SECONDS:-10}" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1
	-artifact_prefix="$found/" "$found/corpus")
[ -d "$corpus" ] && args+=("$corpus")
"$target" "${args[@]}" </dev/null >"$log" 2>&1
status=$?
tail -12 "$log"
if [ "${3:-}" = must-fail ]; then
	grep -q 'heap-buffer-overflow' "$log" && exit 0
	echo "the canary was not found: fuzzing is blind"
	exit 1
fi
if [ $status != 0 ]; then
	grep -B2 -A25 -m1 -E 'ERROR|runtime error|broken invariant' "$log"
	echo "replay: $target $(ls -t "$found"/crash-* "$found"/timeout-* 2>/dev/null | head -1)"
fi
exit $status
