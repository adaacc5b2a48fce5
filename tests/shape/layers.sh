#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# layers.sh ROOMS.TXT ROOT: who includes whom, against the table of rooms and wings.
#
# A room may use rooms of the wings that its own wing may use, and of its own wing those whose rows
# come before it.
#
# A room's files may include <weft/X.h> of rooms in their row (and their own), "local" headers from
# their own folder only, and, where the room is freestanding, no system header that promises a
# library.  A *_local.h in a folder of a room is for the files of that folder.
# Prints "file:line: what"; ends with 1 if anything.
set -eu
rooms=$(realpath "$1")
cd "$2"
faults=0

fault() { printf '%s\n' "$1"; faults=1; }

may_reach() { [ "$1" = "$2" ] || [[ " ${wing_may[$1]:-} " == *" $2 "* ]]; }

declare -A room_of may free wing_of wing_may
while IFS='|' read -r kind name deps headers _; do
	case $kind in
	wing) wing_may[$name]=$(printf 'wing/%s ' $deps) ;;
	in) wing_of[$deps]=$name ;;
	room)
		may[$name]="$name $deps"
		for header in $headers; do room_of[$header]=$name; done
		for dep in $deps; do
			if [ -z "${may[$dep]:-}" ]; then
				fault "CMakeLists.txt:1: $name uses $dep, which comes after it"
			elif ! may_reach "${wing_of[$name]:-}" "${wing_of[$dep]:-}"; then
				fault "CMakeLists.txt:1: $name may not use ${wing_of[$dep]}: $dep"
			fi
		done
		;;
	free) for room in $name; do free[$room]=1; done ;;
	esac
done <"$rooms"
freestanding=" assert.h limits.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h string.h "

# check FILE LINE TEXT ROOM: an include, by its kind.
check() {
	local target=${3#*[<\"]}
	target=${target%%[>\"]*}
	case $3 in
	*'<weft/'*)
		local owner=${room_of[${target#weft/}]:-}
		if [ -z "$owner" ]; then
			fault "$1:$2: <$target> belongs to no room"
		elif [[ " ${may[$4]} " != *" $owner "* ]]; then
			fault "$1:$2: $4 may not use $owner (<$target>)"
		fi
		;;
	*'<'*)
		if [ -n "${free[$4]:-}" ] && [[ $freestanding != *" $target "* ]]; then
			fault "$1:$2: <$target> in a freestanding room"
		fi
		;;
	*)
		if [[ $target == *..* ]] || [ ! -e "$home/$target" ]; then
			fault "$1:$2: \"$target\" is not a file of $4"
		elif [[ $target == */*_local.h && ${1%/*} != "$home/${target%/*}" ]]; then
			fault "$1:$2: \"$target\" is local to $home/${target%/*}"
		fi
		;;
	esac
}

# A public header is a file of its room, and nobody's local header may leak through it.  One search
# for all files: a process for each took most of this test's time.
while IFS=: read -r file line text; do
	case $file in
	src/*)
		room=${file#src/} home=src
		if [ -n "${wing_may[wing/${room%%/*}]+x}" ]; then
			home=src/${room%%/*}
			room=${room#*/}
		fi
		room=${room%%/*} home=$home/${room%%/*}
		;;
	*) room=${room_of[${file#include/weft/}]:-} ;;
	esac
	if [ -n "$room" ] && [ -n "${may[$room]:-}" ]; then
		check "$file" "$line" "$text" "$room"
	fi
done < <(find src include/weft -name '*.[ch]' -o -name '*.def' 2>/dev/null | sort |
	xargs grep -nHE '^[[:space:]]*#[[:space:]]*include')
for file in include/weft/*; do
	[ -e "$file" ] || continue
	[ -n "${room_of[$(basename "$file")]:-}" ] || fault "$file:1: belongs to no room"
done
for dir in src/*/; do
	[ -d "$dir" ] || continue
	if [ -z "${wing_may[wing/$(basename "$dir")]+x}" ]; then
		[ -n "${may[$(basename "$dir")]:-}" ] || fault "$dir:1: is no room"
		continue
	fi
	for room in "$dir"*/; do
		[ -n "${may[$(basename "$room")]:-}" ] || fault "$room:1: is no room"
	done
done
exit $faults
