#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run_asan.sh CC: a program with the AddressSanitizer runs under `weft run`, directly and by a
# script, with Weft's libibverbs, and the sanitizer still finds what it is there for.
set -u
weft=$WEFT_BUILD/weft
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/a.c" <<'END'
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);
	char *volatile freed = malloc(4);

	printf("%s\n", n ? ibv_get_device_name(list[0]) : "none");
	ibv_free_device_list(list);
	free(freed);
	return argc > 1 ? freed[1] + !argv : 0;
}
END
"$1" -fsanitize=address -g "$dir/a.c" -libverbs -o "$dir/a" 2>"$dir/cc" || {
	cat "$dir/cc"
	exit 77
}
# Sanitizers of this build's own, were there any, would come in by the libraries.
if ldd "$WEFT_BUILD/lib/libibverbs.so.1" | grep -q 'lib[atu].*san'; then exit 77; fi
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG ASAN_OPTIONS LD_PRELOAD LD_LIBRARY_PATH
export WEFT_PLANES=127.0.0.1
faults=0
for how in "$dir/a" "sh -c $dir/a"; do
	# shellcheck disable=SC2086
	said=$("$weft" run -- $how 2>&1)
	[ $? = 0 ] && [ -n "$said" ] && [ "$said" != none ] || {
		echo "$how: $said"
		faults=1
	}
done
said=$(ASAN_OPTIONS=exitcode=43 "$weft" run -- "$dir/a" x 2>&1)
[ $? = 43 ] && grep -q heap-use-after-free <<<"$said" || {
	echo "the sanitizer found nothing: $said"
	faults=1
}
exit $faults
