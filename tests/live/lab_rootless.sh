#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The lab without root: as "nobody", in a user namespace of the keeper's own.
#
#   nobody -- weft --> keeper (root of its user namespace) --> lab8
#
# The tests of lab's sources are run as nobody too: packets over every path, every fault, for each
# kind of switch.
set -u
[ "$(id -u)" = 0 ] || exit 77
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
# shellcheck disable=SC2086
$nobody unshare -Urn true 2>/dev/null || exit 77
dir=$(mktemp -d)
trap 'cd /; $nobody "$dir/weft" lab down >/dev/null 2>&1; rm -rf "$dir"' EXIT
cp "$WEFT_BUILD"/weft "$WEFT_BUILD"/unit_lab_* "$dir"
cp "$(dirname "$0")/../../examples/fabrics/lab8.yaml" "$dir"
mkdir "$dir/run"
chown -R 65534:65534 "$dir"
cd "$dir" || exit 1
export XDG_RUNTIME_DIR=$dir/run
faults=0

fault() { echo "$1"; faults=1; }
as() { $nobody "$@"; }

as ./weft lab up lab8.yaml >/dev/null || fault "up"
[ "$(as ./weft lab list)" = lab8 ] || fault "list"
[ "$(as ./weft lab run h2 -- sh -c 'echo $WEFT_HOST')" = h2 ] || fault "run"
[ "$(as ./weft lab run h2 -- sh -c 'ip -o link | grep -c p[0-7]@')" = 8 ] || fault "ports of h2"
[ "$(as ./weft lab run h2 -- hostname)" = h2 ] || fault "the name of h2"
as ./weft lab run h2 -- getent hosts h3 | grep -q '^10.0.0.4 *h3$' || fault "the address of h3"
[ "$(as ./weft lab run h2 -- ./weft lab list)" = lab8 ] || fault "list from inside"
# Whoever is inside finds the program that let him in, wherever that was called from.
[ "$(as env PATH=/usr/bin:/bin ./weft lab run h2 -- weft version)" = "$(as ./weft --version)" ] ||
	fault "weft inside"
for what in "loss h0.p0 --percent 20" "freeze p0.t1-0" "reboot p1.t1-0 --for 50ms" "nic-down h3"; do
	as ./weft lab fault $what >/dev/null || fault "fault $what"
done
[ "$(as ./weft lab status | grep -c LOST)" -ge 8 ] || fault "carriers of h3 are not lost"
as ./weft lab fault undo all || fault "undo all"
[ "$(as ./weft lab status | grep -c LOST)" = 0 ] || fault "carriers are not back"
as ./weft lab down || fault "down"
[ -z "$(ls -A run)" ] || fault "state is left"
for test in lab_request world lab_fault lab_loss soft soft_ask keeper lab_client twin; do
	as "./unit_lab_$test" >out 2>&1 || { fault "unit_lab_$test:"; cat out; }
done
exit $faults
