#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# file_limit.sh FABRIC: a file that may not be as long as it has to be (RLIMIT_FSIZE) is an error in
# words and no signal; programs that weft starts have the signal as it was.
set -u
weft=$WEFT_BUILD/weft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
faults=0
said=$(ulimit -f 1 && "$weft" sim "$1" --report "$dir/report" 2>&1 >/dev/null)
rc=$?
[ $rc = 1 ] && grep -q "report.*File too large" <<<"$said" || {
	echo "sim --report: rc $rc: $said"
	faults=1
}
(ulimit -f 1 && WEFT_LOG=quiet "$weft" run -- dd if=/dev/zero of="$dir/long" bs=4096 count=4) \
	>/dev/null 2>&1
rc=$?
[ $rc = 153 ] || {
	echo "a program that weft runs: rc $rc, and not 153 (SIGXFSZ)"
	faults=1
}
exit $faults
