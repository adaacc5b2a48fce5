#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# self_test.sh FIXTURE CHECKER [MORE]: a checker must report exactly what is wrong with a bad tree.
#
# FIXTURE holds a small tree, its rooms.txt and the expected report.  A checker that cannot fail is
# worse than none.
set -u
fixture=$1
checker=$2
shift 2
# What compilers say on stderr is theirs to change.
got=$("$checker" "$fixture/rooms.txt" "$fixture" "$@")
status=$?
if [ $status != 1 ]; then
	echo "$checker ended with $status on a bad tree, want 1"
	echo "$got"
	exit 1
fi
diff -u "$fixture/expected" <(LC_ALL=C sort <<<"$got")
