#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# layers.sh ROOMS.TXT ROOT: who includes whom, against the table of rooms.
#
# A room's files may include <weft/X.h> of rooms in their row (and their own), "local" headers from
# their own folder only, and, where the room is freestanding, no system header that promises a
# library.  Prints "file:line: what"; ends with 1 if anything.
set -eu
rooms=$(realpath "$1")
cd "$2"
faults=0

fault() { printf '%s\n' "$1"; faults=1; }

declare -A room_of may free
while IFS='|' read -r kind name deps headers _; do
	case $kind in
	room)
		may[$name]="$name $deps"
		for header in $headers; do room_of[$header]=$name; done
		;;
	free) for room in $name; do free[$room]=1; done ;;
	esac
done <"$rooms"
freestanding=" assert.h limits.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h string.h "

# check FILE ROOM: each include of the file, by its kind.
check() {
	local line text target
	while IFS=: read -r line text; do
		target=${text#*[<\"]}
		target=${target%%[>\"]*}
		case $text in
		*'<weft/'*)
			local header=${target#weft/}
			local owner=${room_of[$header]:-}
			if [ -z "$owner" ]; then
				fault "$1:$line: <$target> belongs to no room"
			elif [[ " ${may[$2]} " != *" $owner "* ]]; then
				fault "$1:$line: $2 may not use $owner (<$target>)"
			fi
			;;
		*'<'*)
			if [ -n "${free[$2]:-}" ] && [[ $freestanding != *" $target "* ]]; then
				fault "$1:$line: <$target> in a freestanding room"
			fi
			;;
		*)
			if [[ $target == *..* ]] || [ ! -e "src/$2/$target" ]; then
				fault "$1:$line: \"$target\" is not a file of $2"
			fi
			;;
		esac
	done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$1" || true)
}

for room in "${!may[@]}"; do
	[ -d "src/$room" ] || continue
	while read -r file; do check "$file" "$room"; done \
		< <(find "src/$room" -name '*.[ch]' -o -name '*.def' | sort)
done
# A public header is a file of its room, and nobody's local header may leak through it.
for header in "${!room_of[@]}"; do
	[ -e "include/weft/$header" ] && check "include/weft/$header" "${room_of[$header]}"
done
for file in include/weft/*; do
	[ -e "$file" ] || continue
	[ -n "${room_of[$(basename "$file")]:-}" ] || fault "$file:1: belongs to no room"
done
for dir in src/*/; do
	[ -d "$dir" ] || continue
	[ -n "${may[$(basename "$dir")]:-}" ] || fault "$dir:1: is no room"
done
exit $faults
