#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that none of us wrote, unmodified, over Weft: two hosts of a lab, eight planes.
#
#   h0: PROGRAM h2 --- 8 x [T0 = T1 = T0] --- h2: PROGRAM
#       libibverbs.so.1, librdmacm.so.1 of this build, by `weft run`
set -u
case $WEFT_BUILD in */asan | */tsan) exit 77 ;; esac # not to be loaded into plain programs
weft=$(realpath "$WEFT_BUILD")/weft
for program in ibv_devinfo ib_write_bw rping; do
	command -v $program >/dev/null || exit 77
done
# Not before there is a device behind the names.
nm -D --undefined-only "$WEFT_BUILD/lib/libibverbs.so.1" | grep -q weft_dev_open && exit 77
. "$(dirname "$0")/pair.sh"

look() {
	on h0 ibv_devices | grep -q mrc0 || fault "ibv_devices: no mrc0"
	on h0 ibv_devinfo -v >"$dir/info" || fault "ibv_devinfo fails"
	grep -q PORT_ACTIVE "$dir/info" || fault "ibv_devinfo: $(cat "$dir/info")"
	grep -q Ethernet "$dir/info" || fault "ibv_devinfo: no Ethernet"
}

# Strict has no sends, and says so.
strict() {
	timeout 60 "$weft" lab run h2 -- "$weft" run --strict -- ib_send_bw -F -n 5 \
		>"$dir/server" 2>&1 &
	local server=$!
	listening "$port"
	timeout 60 "$weft" lab run h0 -- "$weft" run --strict -- ib_send_bw -F -n 5 h2 \
		>"$dir/client" 2>&1 && fault "strict: a send went through"
	grep -q "strict profile has only RDMA write" "$dir/client" ||
		fault "strict: $(tail -3 "$dir/client")"
	kill $server 2>/dev/null
	wait $server
}

# A peer that is killed: an error in time, not a hang.
lose() {
	timeout 60 "$weft" lab run h2 -- "$weft" run -- ib_write_bw -F -D 30 >"$dir/server" 2>&1 &
	local server=$!
	listening "$port"
	on h0 ib_write_bw -F -D 30 h2 >"$dir/client" 2>&1 &
	local client=$!
	sleep 3
	pkill -KILL -P $server 2>/dev/null # timeout's child: the program itself
	wait $server 2>/dev/null
	wait $client && fault "lose: the client did not notice"
}

# joined FILE: until mckey says there that it receives
joined() {
	for _ in $(seq 300); do
		grep -q receiving "$1" && return
		sleep 0.1
	done
	fault "mckey does not join: $(cat "$1")"
}

# Two hosts in a group, a third sends.  Datagrams may be lost: it does so until both have all.
group() {
	local members=() host tries
	for host in h2 h3; do
		on $host stdbuf -oL mckey -m ff12::77 -C 5 -S 100 >"$dir/$host" 2>&1 &
		members+=($!)
	done
	joined "$dir/h2" && joined "$dir/h3"
	for tries in 1 2 3 4 5; do
		on h0 mckey -m ff12::77 -s -C 5 -S 100 >"$dir/client" 2>&1 ||
			fault "mckey -s ends with $?: $(tail -3 "$dir/client")"
		grep -q "return status 0" "$dir/h2" && grep -q "return status 0" "$dir/h3" && break
	done
	wait "${members[0]}" || fault "mckey: h2 ends with $?: $(tail -3 "$dir/h2")"
	wait "${members[1]}" || fault "mckey: h3 ends with $?: $(tail -3 "$dir/h3")"
}

"$weft" lab up "$fabric" --rate none >/dev/null || exit 77
look
pair ibv_rc_pingpong -g 0 -n 50
pair ibv_rc_pingpong -g 3 -e -n 50
pair ibv_srq_pingpong -g 0 -n 50
pair ibv_xsrq_pingpong -g 0 -n 50
pair ib_write_bw -F -n 50
pair ib_write_bw -F -b -q 2 -n 20
on h2 rping -s -a 10.0.0.3 -C 5 >"$dir/server" 2>&1 &
listening tcp/7174
on h0 rping -c -a 10.0.0.3 -C 5 -v 2>&1 | grep -q rdma-ping-4 || fault "rping: no fifth ping"
wait
pair ib_write_lat -F -n 20
pair ib_send_bw -F -n 20
pair ib_send_lat -F -e -n 100 # tells of nothing twice, or it posts twice
pair ib_send_bw -F -c UD -g -n 20
group
pair ib_read_bw -F -n 20
pair ib_atomic_bw -F -n 20
pair ib_send_bw -F -c XRC -n 20
# Right data while a plane comes and goes.
flap pair ibv_rc_pingpong -g 0 -c -s 100000 -n 50
flap pair ib_write_bw -F -n 500
flap pair ibv_ud_pingpong -g 0 -n 500
flap pair ib_send_bw -F -c UD -n 20000
strict
lose
exit $faults
