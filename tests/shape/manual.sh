#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# manual.sh ROOMS.TXT ROOT BIN: docs/manual.md is about the program that was built, and is true.
#
# Every verb and sub-verb that --help lists has its place in the manual, and every chapter is a
# verb.  In a ```console block each line "$ COMMAND" is run from ROOT with BIN/weft on the path; the
# lines below it are its output, in full or up to a line "...".
set -u
export LC_ALL=C.UTF-8
PATH=$(realpath "$3"):$PATH
cd "$2" || exit 2
manual=docs/manual.md
faults=0

fault() { printf '%s\n' "$1"; faults=1; }

names() { # names WORD...: the verbs that `WORD... --help` lists
	"$@" --help 2>/dev/null </dev/null | sed -nE "s/^  $* +([a-z]+)( .*|$)/\1/p"
}

verbs=$(names weft)
[ -n "$verbs" ] || fault "weft --help lists no verb"
for verb in $verbs; do
	grep -q "^## weft $verb\$" $manual || fault "$manual:1: no chapter \"## weft $verb\""
	for sub in $(names weft "$verb"); do
		grep -q "weft $verb $sub" $manual && continue
		fault "$manual:1: \"weft $verb $sub\" is missing"
	done
done
while read -r chapter; do
	grep -qx "$chapter" <<<"$verbs" || fault "$manual:1: chapter \"weft $chapter\" is no verb"
done < <(sed -n 's/^## weft //p' $manual)

# run LINE COMMAND WANTED: wants exactly that output, or its beginning when WANTED ends in "...".
run() {
	local got wanted=$3
	got=$(bash -c "$2" 2>&1 </dev/null)
	if [[ $wanted == *$'\n...' || $wanted == ... ]]; then
		wanted=${wanted%...}
		got=${got:0:${#wanted}}
	fi
	[ "$got" = "$wanted" ] || fault "$manual:$1: $2: prints something else:
$(diff <(echo "$wanted") <(echo "$got"))"
}

inside=0 number=0 at=0 command='' wanted=''
while IFS= read -r line; do
	number=$((number + 1))
	if [ $inside = 0 ]; then
		[ "$line" = '```console' ] && inside=1
		continue
	fi
	if [[ $line == '$ '* || $line == '```' ]]; then
		[ -z "$command" ] || run $at "$command" "$wanted"
		command=${line#'$ '} wanted='' at=$number
		[ "$line" != '```' ] || command='' inside=0
	else
		wanted+=${wanted:+$'\n'}$line
	fi
done <$manual
exit $faults
