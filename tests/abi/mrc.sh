#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mrc.sh CC: include/mrc.h and mrc_ctl.h against tables of the OCP MRC API's ABI.
#
# The tables beside this script hold facts: every size, member, type, offset, constant and signature
# of versions 1.0.0 and 1.0.1.  Each row becomes one static assertion, so any C compiler is judge
# enough.  Then the tables are bent, and the same check must fail: it can see.
set -eu
cc=$1
here=$(dirname "$(realpath "$0")")
include=$here/../../include
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# assertions TABLE FUNCTIONS: C that compiles if the headers agree.
assertions() {
	echo '#include <mrc.h>
#include <mrc_ctl.h>
#include <stddef.h>
#define SAME(a, b) \
	_Static_assert(__builtin_types_compatible_p(a, b), #a " is not " #b)
#define AT(s, m, o, b) \
	_Static_assert(offsetof(struct s, m) == (o), #s "." #m ": offset"); \
	_Static_assert(sizeof(((struct s *)0)->m) == (b), #s "." #m ": size")'
	awk -F'\t' '
	/^#/ { next }
	{ gsub(/ /, "", $6); gsub(/ \* \*/, " **", $4) }
	$1 == "size" {
		printf "_Static_assert(sizeof(struct %s) == %s, \"%s: size\");\n", $2, $6, $2
	}
	$1 == "field" {
		printf "AT(%s, %s, %s, %s);\n", $2, $3, $5, $6
		printf "SAME(__typeof__(((struct %s *)0)->%s), %s);\n", $2, $3, $4
	}
	$1 == "enum" {
		printf "_Static_assert((int)%s == (int)(%s), \"%s\");\n", $3, $5, $3
		printf "SAME(__typeof__((enum %s)%s), enum %s);\n", $2, $3, $2
	}' "$1"
	awk -F'\t' '!/^#/ { printf "SAME(__typeof__(&%s), %s (*)(%s));\n", $1, $3, $4 }' "$2"
}

compiles() { # compiles TABLE FUNCTIONS [FLAG...]
	assertions "$1" "$2" >"$out/abi.c"
	shift 2
	"$cc" -std=gnu11 -Wall -Werror -I"$include" "$@" -fsyntax-only "$out/abi.c"
}

compiles "$here/mrc.tsv" "$here/mrc-functions.tsv"
rows=$(grep -c '^_Static_assert\|^AT\|^SAME' "$out/abi.c")

# A program for 1.0.0 has the shorter event.
sed -e '/^field\tmrc_ctl_ev_event\tstate/d' -e 's/^\(size\tmrc_ctl_ev_event\t.*\t\)56$/\148/' \
	"$here/mrc.tsv" >"$out/old.tsv"
compiles "$out/old.tsv" "$here/mrc-functions.tsv" '-DMRC_CTL_API_VER_USED=((1<<24))'

bent=0
bend() { # bend SED_EXPRESSION TABLE
	local tables=("$here/mrc.tsv" "$here/mrc-functions.tsv")
	sed -e "$1" "${tables[$2]}" >"$out/bent.tsv"
	if cmp -s "$out/bent.tsv" "${tables[$2]}"; then
		echo "mrc.sh:1: '$1' bends nothing"
		exit 1
	fi
	tables[$2]=$out/bent.tsv
	if compiles "${tables[@]}" 2>/dev/null; then
		echo "mrc.sh:1: did not notice '$1'"
		exit 1
	fi
	bent=$((bent + 1))
}
bend 's/^\(size\tmrc_qp_attr\t.*\)176$/\1177/' 0
bend 's/\ttimeout\tuint8_t\t6\t/\ttimeout\tuint8_t\t7\t/' 0
bend 's/\teta\tfloat\t/\teta\tint32_t\t/' 0
bend 's/MRC_CTL_EV_DENIED\t\t4/MRC_CTL_EV_DENIED\t\t8/' 0
bend 's/^\(mrc_get_qpn\t.*\)uint32_t \*qpn/\1uint64_t *qpn/' 1
echo "$rows assertions hold, $bent bent tables were noticed"
