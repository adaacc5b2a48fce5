#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh ROOMS.TXT ROOT PROGRAM: what a test program says, without the folders of its files.
set -o pipefail
"$3" 2>&1 | sed -E 's|^[^ ]*/([a-z_]+\.c:)|\1|'
