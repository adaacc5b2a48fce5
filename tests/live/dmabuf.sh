#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dmabuf.sh CC: DMA-BUFs of a real exporter, registered, written to and read, in a virtual machine.
#
# Containers have no driver that lends any, so Debian's own kernel runs here, emulated, with nothing
# in it but dmabuf.c and our libibverbs.  The kernel is fetched once (70 MB), into the build folder;
# $WEFT_GUEST_KERNEL names an unpacked one that is there already.
set -u
cc=$1
here=$(realpath "$(dirname "$0")")
build=$(realpath "$WEFT_BUILD")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

skip() {
	echo "skipped: $1"
	exit 77
}

case $build in */asan | */tsan) skip "libraries with a sanitizer in them" ;; esac
[ "$(uname -m)" = x86_64 ] || skip "the guest is for x86-64"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64"

# The newest kernel: what a package without a version depends on.  Of 400 MB four files are kept.
fetch() {
	local name
	name=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-6.*\)/\1/p')
	[ -n "$name" ] && (cd "$dir" && apt-get download "$name" >/dev/null 2>&1) &&
		dpkg-deb -x "$dir/$name"_*.deb "$dir/all" && mkdir "$dir/kernel" &&
		find "$dir/all" \( -name 'vmlinuz-*' -o -name drm.ko -o -name drm_shmem_helper.ko \
			-o -name vgem.ko \) -exec mv -t "$dir/kernel" {} + &&
		rm -r "$dir/all" && mv "$dir/kernel" "$kernel"
}
kernel=${WEFT_GUEST_KERNEL:-$build/guest-kernel}
[ -d "$kernel" ] || fetch || skip "Debian's kernel cannot be had here"
image=$(find "$kernel" -name 'vmlinuz-*' | head -n 1)

mkdir -p "$dir/root/proc" "$dir/root/dev" "$dir/root/lib" "$dir/root/lib64"
"$cc" -std=gnu11 -Wall -Wextra -Werror -O1 "$here/dmabuf.c" -o "$dir/root/init" -libverbs || exit 1
for module in drm drm_shmem_helper vgem; do
	cp "$(find "$kernel" -name $module.ko)" "$dir/root" || skip "no vgem in this kernel"
done
# Each library where the loader looks, which itself has one place only; libibverbs is ours.
libraries=$(LD_LIBRARY_PATH=$build/lib ldd "$dir/root/init" |
	awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }')
for library in $libraries; do
	case $library in
	/lib64/*) cp -L "$library" "$dir/root/lib64" ;;
	*) cp -L "$library" "$dir/root/lib" ;;
	esac
done
python3 "$here/initramfs.py" "$dir/root" >"$dir/initramfs" || exit 1

timeout 110 qemu-system-x86_64 -accel tcg -cpu max -m 512 -nodefaults -display none -no-reboot \
	-kernel "$image" -initrd "$dir/initramfs" -serial file:"$dir/says" \
	-append "console=ttyS0 quiet panic=-1" || echo "qemu: $?"
tail -n 20 "$dir/says"
grep -q 'guest: every byte right' "$dir/says"
