# SPDX-License-Identifier: BSD-2-Clause
# mrc_setup.sh CC, to be sourced: where things are, and a folder for labs that the test takes down.
cc=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$WEFT_BUILD")
weft=$build/weft
# A sanitizer wants to be the first library of a program, and this one knows nothing of it.
if readelf -d "$build/lib/lib_mrc.so" | grep -q libasan; then
	echo "skipped: libraries with a sanitizer in them"
	exit 77
fi
dir=$(mktemp -d)
export WEFT_LABS=$dir/labs
mkdir "$dir/labs"
