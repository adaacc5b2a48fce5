#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# api_pages.sh ROOMS.TXT ROOT HEADER...: Doxygen has nothing to say about the headers of embedders.
set -u
root=$2
shift 2
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
"$(dirname "$0")"/../../docs/api/build.sh "$root" "$out" "$@" || exit 1
[ -s "$out/html/index.html" ] || { echo "no pages were made"; exit 1; }
