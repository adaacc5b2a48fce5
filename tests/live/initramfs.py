# SPDX-License-Identifier: BSD-2-Clause
# initramfs.py FOLDER: what the kernel unpacks when it starts (cpio's "newc" form), on stdout.
import os
import stat
import sys

out = sys.stdout.buffer


def entry(name, mode, data, number, device=(0, 0)):
    name = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + name
    out.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))


root = sys.argv[1]
number = 1
for folder, folders, files in os.walk(root):
    for name in sorted(folders) + sorted(files):
        path = os.path.join(folder, name)
        is_folder = os.path.isdir(path)
        with open("/dev/null" if is_folder else path, "rb") as f:
            kind = stat.S_IFDIR if is_folder else stat.S_IFREG
            entry(os.path.relpath(path, root), kind | 0o755, f.read(), number)
        number += 1
# For process 1 to speak, before there is a /dev.
entry("dev/console", stat.S_IFCHR | 0o600, b"", number, (5, 1))
entry("TRAILER!!!", 0, b"", 0)
