# SPDX-License-Identifier: BSD-2-Clause
# migrate.py SOURCE DESTINATION URI: moves guest.s from one QEMU to another, and ends both.  SOURCE is its
# QMP socket, SOURCE.says what the guest has said.
import json
import os
import socket
import sys
import time


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self("qmp_capabilities")

    def __call__(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            line = json.loads(self.file.readline())
            if "error" in line:
                sys.exit(f"{name}: {line['error']['desc']}")
            if "return" in line:
                return line["return"]


def until(what, is_so):
    for _ in range(500):
        if is_so():
            return
        time.sleep(0.1)
    sys.exit(f"not within 50 s: {what}")


def speaks(name):
    with open(f"{name}.says", "rb") as says:
        said = says.read()
    if b"X" in said[said.find(b".") :]:
        sys.exit(f"{name}: the guest's memory is wrong")
    return said.count(b".") > 5


until("sockets", lambda: all(map(os.path.exists, sys.argv[1:3])))
source, destination = Monitor(sys.argv[1]), Monitor(sys.argv[2])
until("the guest runs", lambda: speaks(sys.argv[1]))
for end in source, destination:
    end("migrate-set-capabilities", capabilities=[{"capability": "rdma-pin-all", "state": True}])
# However slow we are: the guest stands still rather than never arrive.
source("migrate-set-parameters", **{"max-bandwidth": 1 << 40, "downtime-limit": 20000})
destination("migrate-incoming", uri=sys.argv[3])
source("migrate", uri=sys.argv[3])
until("moved", lambda: source("query-migrate").get("status") in ("completed", "failed"))
told = source("query-migrate")
if told["status"] != "completed":
    sys.exit(f"migration: {told}")
until("running there", lambda: destination("query-status")["status"] == "running")
until("the guest runs there", lambda: speaks(sys.argv[2]))
destination("quit")
source("quit")
print(f"moved {told['ram']['transferred']} bytes")
