#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh [WEFT]: the second decoder over every vector, and `weft decode` against it where built.
set -eu
here=$(dirname "$0")
command -v python3 >/dev/null || exit 77
if [ $# -gt 0 ]; then
	exec python3 "$here/decode.py" --against "$1" "$here"/v1/*.hex
fi
exec python3 "$here/decode.py" "$here"/v1/*.hex
