#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# documents.sh ROOMS.TXT ROOT: what documents say of the tree is so.
#
# ARCHITECTURE.md has a row for each wing, a wing's README one for each of its rooms; a room without
# a wing has its row in ARCHITECTURE.md, and so has each of the engine's files.  A path in
# backticks exists (but for placeholders like src/ROOM/file.c, in CONTRIBUTING.md and decisions),
# a word WEFT_... is one that the tree knows, and so is a test: unit/ROOM/NAME, function__claim.
set -u
export LC_ALL=C.UTF-8
rooms=$(realpath "$1")
cd "$2" || exit 2
faults=0

fault() { printf '%s\n' "$1"; faults=1; }

# rows SECTION PATTERN: how many lines of that section of ARCHITECTURE.md ("": before the first)
rows() { awk -v s="$1" '/^## /{at=substr($0, 4)} at == s' ARCHITECTURE.md | grep -cE -- "$2"; }

declare -A wing_of
while IFS='|' read -r kind room deps _ sources; do
	case $kind in
	in) wing_of[$deps]=${room#wing/} ;;
	wing)
		[ "$(rows Wings "^\| \[\`${room#wing/}\`\].* ${deps:--} \|\$")" = 1 ] ||
			fault "ARCHITECTURE.md:1: wants one row for $room, with what it may use"
		;;
	esac
	[ "$kind" = room ] || continue
	wing=${wing_of[$room]:-}
	if [ -n "$wing" ]; then
		[ "$(grep -sc "^| \`$room\` |" "src/$wing/README.md")" = 1 ] ||
			fault "src/$wing/README.md:1: wants one row for \`$room\`"
	elif [ "$(rows "" "^\| \`$room\` \|")" != 1 ]; then
		fault "ARCHITECTURE.md:1: wants one row for \`$room\`"
	fi
	[ "$room" = engine ] || continue
	for source in $sources; do
		name=${source#*/engine/}
		[ "$(rows "The engine's files" "^\|.*\`$name\`.*\|")" = 1 ] ||
			fault "ARCHITECTURE.md:1: wants one row for \`$name\` of the engine"
	done
done <"$rooms"

documents=$(find . -name '*.md' -not -path './build*' -not -path './tests/shape/*' -printf '%P\n' |
	sort)
placeholders='ROOM|file_test|/file\.|/name|_verb'
while IFS=: read -r file line path; do
	[ -e "$path" ] || fault "$file:$line: $path is not there"
done < <(grep -noHE '`(src|tests|include|docs|cmake|tools|examples|bench|experiments)/[^` *<]+`' \
	$documents /dev/null | tr -d '`' | grep -vE ":.*($placeholders)")

# The READMEs of the wings and of tools name files as they are called, without their folders.
while IFS=: read -r file line name; do
	find src tools include -name "$name" 2>/dev/null | grep -q . ||
		fault "$file:$line: $name is not there"
done < <(grep -noHE '`[a-z0-9_]+\.(c|h)`' src/*/README.md tools/README.md 2>/dev/null | tr -d '`')

known=$(grep -rohE '\bWEFT_[A-Z0-9_]+\b' --exclude-dir=shape --exclude='*.md' \
	include src tools tests cmake examples bench experiments .ci CMakeLists.txt Makefile \
	2>/dev/null | sort -u)
while IFS=: read -r file line word; do
	grep -qx "$word" <<<"$known" || fault "$file:$line: nothing is called $word"
done < <(grep -noHE '\bWEFT_[A-Z0-9_]+\b' $documents /dev/null | sort -t: -k3 -u)

while IFS=: read -r file line unit; do
	grep -qx "unit|$unit" "$rooms" || fault "$file:$line: there is no test $unit"
done < <(grep -noHP '(?<!tests/)\bunit/[a-z_]+(/[a-z0-9_.]*[a-z0-9_])+' $documents /dev/null |
	sort -t: -k3 -u)
claims=$(grep -rhoE '\bTEST\([a-z0-9_]+' tests 2>/dev/null | cut -c6- | sort -u)
while IFS=: read -r file line claim; do
	grep -qx "$claim" <<<"$claims" || fault "$file:$line: no test is called $claim"
done < <(grep -noHE '`[a-z0-9]+[a-z0-9_]*[a-z0-9]__[a-z0-9_]+`' $documents /dev/null | tr -d '`' |
	sort -t: -k3 -u)
exit $faults
