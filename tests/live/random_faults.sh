#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# random_faults.sh soft|kernel [RUNS [SEED]]: a file arrives identical under random faults.  `weft
# demo soak` does twenty.  A failed run prints its seed and its faults.
set -eu
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$WEFT_BUILD/weft" demo soak --fabric "$1" --runs "${2:-5}" --seed "${3:-1}" --mib 128 \
	--out "$folder"
