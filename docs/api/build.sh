#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build.sh ROOT OUT NAME...: API pages of ROOT/include/weft/NAME.h, as OUT/html.
#
# A warning fails: a function, type or enumeration without a comment, a reference that leads nowhere.
# Fields and macros may go without one where the name and its unit say all there is to say.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1 out=$2
shift 2
cd "$root"
mkdir -p "$out"
export WEFT_API_HERE=$here WEFT_API_OUT=$out
WEFT_API_VERSION=$(sed -n 's/^#define WEFT_VERSION "\(.*\)".*/\1/p' include/weft/version.h)
WEFT_API_INPUT="$here/mainpage.dox $(printf 'include/weft/%s.h ' "$@")"
export WEFT_API_VERSION WEFT_API_INPUT
doxygen "$here/Doxyfile" 2>"$out/doxygen.log" || { cat "$out/doxygen.log"; exit 2; }
! grep -v '\((variable)\|(macro definition)\) of .* is not documented\.$' "$out/doxygen.log" |
	sed "s|^$PWD/||" | grep .
