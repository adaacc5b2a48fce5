#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# headers.sh ROOMS.TXT ROOT: every public header compiles alone.
#
# As C11 and as C++17, with GCC and Clang, under warnings that a strict user may have on.  Shadowing
# is judged in C only: C++ calls a function beside a struct of its name a shadow (like stat).
set -u
cd "$2" || exit 2
warnings="-Wall -Wextra -Wpedantic -Wconversion -Werror"
faults=0

compile() { # compile COMPILER STANDARD LANGUAGE HEADER [FLAG]
	command -v "$1" >/dev/null || return 0
	echo "#include <weft/$4>" |
		"$1" -std="$2" -x "$3" $warnings ${5:-} -Iinclude -fsyntax-only - && return 0
	echo "include/weft/$4:1: does not compile alone as $2 with $1"
	return 1
}

for file in include/weft/*.h; do
	header=$(basename "$file")
	compile gcc c11 c "$header" -Wshadow || faults=1
	compile clang c11 c "$header" -Wshadow || faults=1
	compile g++ c++17 c++ "$header" || faults=1
	compile clang++ c++17 c++ "$header" || faults=1
done
exit $faults
