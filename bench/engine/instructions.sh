#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# instructions.sh [BENCH]: instructions per 4 KiB packet, both ends and acknowledgements together.
#
# callgrind counts the same on any machine, however busy [M 4.5].  The difference of two runs
# leaves only what packets cost; the harness between the two engines (some 15 of them) is in it.
set -eu
bench=${1:-build/release/bench/bench_engine_engine}
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$1" 2>&1 |
		awk '/Collected/ { print $4 }'
}
few=$(count 100000)
many=$(count 300000)
echo "$(((many - few) / 200000)) instructions per packet"
