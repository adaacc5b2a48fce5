# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# attack.sh: rows of FOLDER/attack.  See run.sh.

# --- identity

# The reports' greetings are of version 2; version 3, which challenges, has the same layout.
greeting3() { # greeting3 FILE: where it is, of today's version
	mkdir -p "$dir/v3"
	sed 's/0x57465464, 2, /0x57465464, 3, /' "$attack/$1" >"$dir/v3/$1"
	grep -q '0x57465464, 3, ' "$dir/v3/$1" && echo "$dir/v3/$1"
}

# A stranger says in one greeting that he is B: none of A's datagrams may come to him.
proof_hijack() {
	local out
	greeting3 hijack.py >/dev/null && cp "$attack/hijack.sh" "$dir/v3" || return 1
	out=$(unshare -n timeout 60 bash "$dir/v3/hijack.sh" "$build" 2>&1)
	judged 'came here: 0 ' "$(echo "$out" | grep 'came here')"
}

ud_packets() { # ud_packets SECONDS: datagrams that ib_send_bw -c UD carries from h0 to h2
	with h2 ib_send_bw -c UD -x 3 -s 512 -D "$1" >"$dir/ud2" 2>&1 &
	sleep 1
	stdbuf -oL true
	on h0 env "$weft" run -- stdbuf -oL ib_send_bw -c UD -x 3 -s 512 -D "$1" h2 >"$dir/ud0" 2>&1
	awk '/^ 512/ {print $2}' "$dir/ud0"
}

# h1 greets h0 as h2 does, from its own true address: the stream to h2 keeps half of its pace.
proof_reset() {
	lab_up lab8 || return 77
	local quiet loud own
	quiet=$(ud_packets 5)
	own=$(for p in 0 1 2 3 4 5 6 7; do lab_address h1 $p; done | paste -sd,)
	(
		sleep 3
		aq=$(sed -n 's/.*local address.*QPN \(0x[0-9a-f]*\).*/\1/p' "$dir/ud0")
		bq=$(sed -n 's/.*remote address.*QPN \(0x[0-9a-f]*\).*/\1/p' "$dir/ud0")
		on h1 python3 "$(greeting3 reset.py)" "$(lab_address h0 0)" $((aq >> 14)) "$aq" \
			"$(lab_address h2 0)" $((bq >> 14)) "$bq" "$own" h1 200 4
	) >"$dir/reset" 2>&1 &
	loud=$(ud_packets 6)
	wait %% 2>/dev/null
	echo "$quiet datagrams in 5 s; $loud in 6 s beside $(tail -1 "$dir/reset")"
	grep -q hellos "$dir/reset" && [ $((${loud:-0} * 2)) -ge "${quiet:-1}" ]
}

lab_address() { # lab_address HOST PLANE
	on "$1" ip -o -6 addr show | grep -o 'fd[0-9a-f:]*' | sort -u | sed -n "$(($2 + 1))p"
}
in_hex() { # addresses by lines: their 16 bytes
	python3 -c '
import socket, sys
for line in sys.stdin:
    print(socket.inet_pton(socket.AF_INET6, line.strip()).hex())'
}

# 10,000 greetings a second from an ordinary process: three new pairs of datagrams still meet.
proof_hello_flood() {
	lab_up lab8 || return 77
	with h0 ibv_ud_pingpong -p 19001 -g 3 >/dev/null 2>&1 &
	sleep 1
	local n met=0 own target
	own=$(for p in 0 1 2 3 4 5 6 7; do lab_address h1 $p; done | in_hex | paste -sd,)
	target=$(lab_address h0 0 | in_hex)
	on h1 env OWN_ADDRS="$own" TARGET_ADDR="$target" python3 "$(greeting3 hello_flood.py)" \
		lab8 h1 h0 0 10000 40 >"$dir/flood" 2>&1 &
	sleep 2
	for n in 1 2 3; do
		with h0 ibv_ud_pingpong -p 1902$n -g 3 >/dev/null 2>&1 &
		sleep 1
		on_s=12 with h2 ibv_ud_pingpong -p 1902$n -g 3 h0 2>/dev/null |
			grep -q 'iters in' && met=$((met + 1))
	done
	wait %% 2>/dev/null
	pkill -f hello_flood.py
	echo "$met of 3 pairs met beside the flood"
	[ $met = 3 ]
}

# --- the switch

proof_runt() {
	lab_up lab8 || return 77
	"$weft" lab fault corrupt h0.p0 --percent 100 >/dev/null
	on h0 python3 "$attack/runt.py" p0 >/dev/null 2>&1 # where the host has an interface there
	shmhost runt h0 0 >/dev/null
	sleep 0.5
	"$weft" lab fault undo all >/dev/null
	"$weft" lab status | grep -m1 switches
	pingpong 19100
}

shmhost() { # shmhost WHAT ARGUMENT...
	compiled shmhost "$attack/shmhost.c" -I"$root/src/os/shm" "$build"/lib{shm,base}.a ||
		return 1
	timeout "${shm_s:-20}" "$dir/shmhost" "$(socket_of ports)" "$@" 2>&1
}

proof_idle_programs() {
	lab_up lab8 || return 77
	shm_s=40 shmhost idle h3 84 >"$dir/idle" &
	sleep 4
	tail -1 "$dir/idle"
	pingpong 19101
	local rc=$?
	pkill -f "$dir/shmhost"
	return $rc
}

# Connections that say nothing: the control socket's slowest answer in 4 s.
proof_mute_ports() {
	lab_up lab8 || return 77
	shmhost mute 8 5 >/dev/null &
	sleep 0.5
	local worst
	worst=$(python3 "$here/slowest.py" "$(socket_of control)" 4)
	echo "slowest answer of the control socket: $worst ms"
	wait %% 2>/dev/null
	[ "${worst%.*}" -lt 200 ]
}

proof_switch_descriptors() {
	lab_up lab8 || return 77
	local pid ticks after
	pid=$("$weft" lab status | sed -n 's/.*switches: process \([0-9]*\).*/\1/p' | head -1)
	prlimit --pid "$pid" --nofile="$(find /proc/"$pid"/fd -type l | wc -l)":1024
	shmhost idle h3 6 >/dev/null &
	sleep 1
	ticks=$(awk '{print $14 + $15}' /proc/"$pid"/stat)
	sleep 2
	after=$(awk '{print $14 + $15}' /proc/"$pid"/stat)
	pkill -f "$dir/shmhost"
	echo "$((after - ticks)) of 200 ticks in 2 s without descriptors"
	[ $((after - ticks)) -lt 40 ]
}

proof_garbage() {
	lab_up lab8 || return 77
	timeout 30 python3 "$attack/garbage.py" 10 771 unix:"$(socket_of ports)":seq \
		unix:"$(socket_of control)" >"$dir/garbage" 2>&1
	awk '{n += $1} END {print n " connections of garbage, then a ping-pong"}' "$dir/garbage"
	pingpong 19102
}

# --- rdma_cm, NCCL

proof_mute_callers() {
	ip netns add proofm && ip -n proofm link set lo up
	local rc
	(
		run() {
			ip netns exec proofm env WEFT_PLANES=127.0.0.1 timeout -k 2 "$1" \
				prlimit --nofile="$2" "$weft" run -- "${@:3}"
		}
		run 40 256 rping -s -P -a 127.0.0.1 -p 7200 >/dev/null 2>&1 &
		sleep 1
		port=$(ip netns exec proofm ss -Htln | awk '{print $4}' | sed 's/.*://' | head -1)
		ip netns exec proofm timeout 25 python3 "$attack/mute_tcp.py" 127.0.0.1 "$port" \
			300 15 >/dev/null 2>&1 &
		sleep 5
		run 9 1024 rping -c -a 127.0.0.1 -p 7200 -C 5 >/dev/null 2>&1
		rc=$?
		echo "rping beside 240 silent callers at TCP port $port ends with $rc"
		kill $(jobs -p) 2>/dev/null
		exit $rc
	)
	rc=$?
	ip netns pids proofm | xargs -r kill -9
	ip netns del proofm
	return $rc
}

proof_fork_cm() {
	compiled fork_cm "$attack/fork_cm.c" || return 1
	judged ' 0 children hung, 0 failed' "$(here_run 120 "$dir/fork_cm" 1500)"
}

proof_orphans() {
	compiled orphan_cm "$attack/orphan_cm.c" || return 1
	judged 'left in silence 0' "$(here_run 60 "$dir/orphan_cm" 15)"
}

proof_nccl_mute() {
	compiled nccl_mute "$attack/nccl_mute.c" || return 1
	judged 'sender has, receiver has$' "$(WEFT_PLANES=127.0.0.1 timeout 30 "$dir/nccl_mute" \
		"$lib/libnccl-net-weft.so" mute 2>&1)"
}

# --- limits

proof_full_dev_shm() {
	compiled plant_full "$attack/plant_full.c" || return 1
	local out rc
	out=$(unshare -m sh -c "mount -t tmpfs -o size=1m x /dev/shm &&
		WEFT_PLANES=127.0.0.1 LD_LIBRARY_PATH=$lib timeout 20 $dir/plant_full" 2>&1)
	rc=$?
	echo "ends with $rc: $(echo "$out" | tail -1)"
	[ $rc -lt 124 ]
}

# Each allocation of our libraries fails, one at a time: an answer within 12 s, no signal (rping
# itself ends with 255 for any error).
failing() { # failing NAME SERVER_COMMAND CLIENT_COMMAND
	compiled failalloc.so "$attack/failalloc.c" -shared || return 1
	local k rc n=1 signals='' hangs='' port=19300
	for ((k = 0; k <= n; k++)); do
		port=$((port + 1))
		timeout 14 env WEFT_PLANES=127.0.0.1 LD_LIBRARY_PATH="$lib" ${2/PORT/$port} \
			>/dev/null 2>&1 &
		sleep 0.3
		timeout 12 env WEFT_PLANES=127.0.0.1 LD_LIBRARY_PATH="$lib" FAIL_AT=$k \
			FAIL_COUNT="$dir/count" LD_PRELOAD="$dir/failalloc.so" ${3/PORT/$port} \
			>/dev/null 2>&1
		rc=$?
		kill %% 2>/dev/null
		wait %% 2>/dev/null
		[ $k = 0 ] && n=$(cat "$dir/count" 2>/dev/null || echo 0)
		[ $rc = 124 ] && hangs+=" $k"
		[ $rc -gt 124 ] && [ $rc != 255 ] && signals+=" $k($rc)"
	done
	echo "$1: $n allocations; signals:${signals:- none}; hangs:${hangs:- none}"
	[ "$n" -gt 10 ] && [ -z "$signals$hangs" ]
}
proof_alloc_verbs() {
	failing ibv_rc_pingpong 'ibv_rc_pingpong -g 3 -p PORT' \
		'ibv_rc_pingpong -g 3 -p PORT 127.0.0.1'
}
proof_alloc_cm() {
	failing rping 'rping -s -a 127.0.0.1 -p PORT' 'rping -c -a 127.0.0.1 -C 5 -p PORT'
}

# An EP_REQUEST costs the same, however many path sets: at most twice as much for 32 times as many.
proof_ep_request() {
	compiled ep_cost "$attack/ep_cost.c" "$build"/lib{engine,proto,base}.a || return 1
	local out few many
	out=$("$dir/ep_cost")
	echo "$out" | tr '\n' ';'
	few=$(echo "$out" | sed -n '1s/.*: \([0-9]*\) ns.*/\1/p')
	many=$(echo "$out" | sed -n '2s/.*: \([0-9]*\) ns.*/\1/p')
	[ "${many:-9999}" -le $((2 * ${few:-0} + 20)) ]
}

# --- long ones

proof_sim_storm() {
	judged ' 0 bad, 0 too slow' "$(timeout 90 python3 "$attack/simstorm.py" "$weft" \
		"$root/examples/fabrics/lab8.yaml" 30 4711 2>&1)"
}

proof_storm() {
	lab_up lab8 || return 77
	local lab out
	lab=$("$weft" lab list | awk 'NR == 1 {print $1}')
	out=$(timeout 200 python3 "$attack/storm.py" "$weft" "$lab" 60 815 2>&1)
	echo "$out" | tail -1
	echo "$out" | tail -1 | grep -Eq ' 0 wrong, .* 0 left something'
}

# A sender that writes once more after all has been hashed: the digest told is that of the file, or
# there is an error.
proof_cp_liar() {
	local tree=$dir/liar
	mkdir "$tree" && git -C "$root" archive HEAD | tar -x -C "$tree"
	# The line behind the place that it looks for is another one by now.
	sed 's/\(char hex.*;\\n\)[^"]*uint64_t deadline"$/\1"/' "$attack/cp_liar.py" >"$dir/liar.py"
	python3 "$dir/liar.py" "$tree/tools/cp_send.c" 2>/dev/null ||
		{ echo "does not apply to this cp_send.c any more: see live/cp"; return 77; }
	(
		cd "$tree" && cmake --preset dev && cmake --build build/dev --target weft_program
	) >/dev/null || { echo "the liar does not build"; return 77; }
	lab_up lab8 || return 77
	mkdir -p "$dir/in"
	head -c 3000000 /dev/urandom >"$dir/truth"
	on h2 "$weft" cp --serve "$dir/in" --once >"$dir/server" 2>&1 &
	sleep 1
	on h0 env LIAR=1 "$tree/build/dev/weft" cp "$dir/truth" h2:truth >"$dir/client" 2>&1
	local rc=$? told real
	wait %% 2>/dev/null
	told=$(grep -ho 'sha256 [0-9a-f]*' "$dir/server" "$dir/client" | head -1 | cut -d' ' -f2)
	real=$(sha256sum "$dir/in/truth" 2>/dev/null | cut -d' ' -f1)
	echo "sender ends with $rc, told ${told:0:8}, the file's is ${real:0:8}; $(
		grep -h weft "$dir/client" "$dir/server" | tail -1)"
	[ $rc != 0 ] || [ "${real:0:6}" = "${told:0:6}" ]
}
