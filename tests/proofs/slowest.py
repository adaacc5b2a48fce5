#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""slowest.py SOCKET SECONDS: the slowest answer of a switch's control socket, in ms."""
import socket
import sys
import time

end, worst = time.monotonic() + float(sys.argv[2]), 0.0
while time.monotonic() < end:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        began = time.monotonic()
        s.connect(sys.argv[1])
        s.sendall(b'{"op":"hello"}\n')
        if not s.recv(1):
            sys.exit("no answer")
        worst = max(worst, time.monotonic() - began)
    time.sleep(0.02)
print("%.1f" % (worst * 1000))
