#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# facts.sh ROOMS.TXT ROOT: what code cites of docs/protocol.md ([P 4.3]) and docs/measured.md.
#
# A citation without a fact is a fault.  Facts that neither code nor test names are listed for
# people: each is one that nobody has said where it is kept.
set -u
export LC_ALL=C.UTF-8
cd "$2" || exit 2
faults=0
declare -A is_fact is_cited
for page in P:docs/protocol.md M:docs/measured.md; do
	while read -r number; do
		is_fact["${page%%:*} $number"]=1
	done < <(sed -n 's/^| \([0-9]*\.[0-9]*\) |.*/\1/p' "${page#*:}" 2>/dev/null)
done
while IFS=: read -r file line fact; do
	fact=${fact:1:-1}
	if [ -z "${is_fact[$fact]:-}" ]; then
		printf '%s:%s: there is no fact %s\n' "$file" "$line" "$fact"
		faults=1
	fi
	case $file in src/* | include/* | tests/* | tools/* | bench/*) is_cited[$fact]=1 ;; esac
done < <(grep -rnoE '\[[PM] [0-9]+\.[0-9]+\]' --exclude-dir=shape src include tests tools bench \
	docs experiments 2>/dev/null | LC_ALL=C sort)
printf '%s\n' "${!is_fact[@]}" | sort -V | while read -r fact; do
	[ -n "${is_cited[$fact]:-}" ] || printf 'cited by no code and no test: %s\n' "$fact"
done
exit $faults
