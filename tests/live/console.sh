#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# console.sh DOCUMENT: the commands in a document's ```console blocks do what it says they do.
#
# Each line "$ COMMAND" is run in order, in one shell, from the root of the tree; the lines below it
# are its output, where "..." stands for anything.
set -u
root=$(realpath "$(dirname "$0")/../..")
document=$(realpath "$1")
unshare -n true 2>/dev/null || unshare -Urn true 2>/dev/null || exit 77
export LC_ALL=C.UTF-8 XDG_RUNTIME_DIR
XDG_RUNTIME_DIR=$(mktemp -d)
PATH=$WEFT_BUILD:$PATH
trap 'weft lab down >/dev/null 2>&1; rm -rf "$XDG_RUNTIME_DIR"' EXIT
cd "$root" || exit 1
faults=0 commands=0 inside=0 at=0 number=0 command='' wanted=''

# Patterns of the shell, so that what is printed is text and only our dots are dots.
matches() {
	local pattern
	pattern=$(printf '%s' "$2" | sed 's/[][*?\\]/\\&/g; s/\.\.\./*/g')
	# shellcheck disable=SC2053
	[[ $1 == $pattern ]]
}

check() {
	[ -n "$command" ] || return
	commands=$((commands + 1))
	got=$(eval "$command" 2>&1 </dev/null)
	matches "$got" "$wanted" && return
	printf '%s:%d: %s: prints something else:\n' "$document" "$at" "$command"
	diff <(echo "$wanted") <(echo "$got")
	faults=1
}

while IFS= read -r line <&9; do
	number=$((number + 1))
	if [ $inside = 0 ]; then
		[ "$line" = '```console' ] && inside=1
	elif [[ $line == '$ '* || $line == '```' ]]; then
		check
		command=${line#'$ '} wanted='' at=$number
		[ "$line" != '```' ] || command='' inside=0
	else
		wanted+=${wanted:+$'\n'}$line
	fi
done 9<"$document"
[ $commands -gt 0 ] || { echo "$document: no commands"; faults=1; }
exit $faults
