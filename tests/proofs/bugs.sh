# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# bugs.sh: rows of FOLDER/bugs, which stand for public reports.  See run.sh.

cm() { # cm NAME SECONDS ARGUMENT...
	compiled "$1" "$bugs/$1.c" || return 1
	ip netns exec "$cm_ns" env WEFT_PLANES=127.0.0.1 timeout -k 2 "$2" \
		"$weft" run -- "$dir/$1" 127.0.0.1 "${@:3}" >"$dir/out" 2>&1
	cat "$dir/out"
}

# Each program has a host of its own, so that ports of one are not another's.
in_own_host() {
	cm_ns=proof$$
	ip netns add "$cm_ns" && ip -n "$cm_ns" link set lo up
	"$@"
	local rc=$?
	ip netns del "$cm_ns"
	return $rc
}

script() { WEFT=$weft timeout -k 2 "$2" bash "$bugs/$1" 2>&1; }

# --- planes

proof_start() {
	local out
	out=$(script start.sh 60)
	echo "$out" | tr '\n' ' '
	[ "$(echo "$out" | grep -c 'PORT_ACTIVE')" = 2 ]
}

proof_cables() {
	local out anew a1
	out=$(script cables.sh 120)
	echo "$out" | tr '\n' ';'
	anew=$(echo "$out" | sed -n 's/^made anew: \([0-9]*\) .*/\1/p')
	a1=$(echo "$out" | sed -n 's/.*, a1 \([0-9]*\).*/\1/p')
	[ "${anew:-0}" -gt 100 ] && [ "${a1:-0}" -gt 1000 ] && echo "$out" | grep -q 'ends with 0'
}

proof_no_ipv6() {
	compiled deny "$bugs/deny.c" || return 1
	local out
	out=$(WEFT_PLANES=127.0.0.1 timeout 20 "$dir/deny" inet6 -- "$weft" run -- ibv_devinfo 2>&1)
	echo "$out" | grep -E 'state|weft:|Failed' | tr '\n' ' '
	echo "$out" | grep -q PORT_ACTIVE
}

# --- verbs

proof_cancel() {
	compiled cancel "$bugs/cancel.c" || return 1
	judged 'all well' "$(here_run 60 "$dir/cancel" 200)"
}

# The owner lives, and its peer hears of it: an error, or success where pages are there again.
memory_gone() {
	compiled unmap "$bugs/unmap.c" || return 1
	local out
	out=$(here_run 20 "$dir/unmap" "$1")
	echo "$out" | tr '\n' ' '
	echo "$out" | grep -q 'the process lives' && echo "$out" | grep -Eq "writer is told: $2"
}
proof_munmap() { memory_gone munmap 'remote access error|success'; }
proof_mprotect_read() { memory_gone readonly 'remote access error|success'; }
proof_mprotect_none() { memory_gone none 'remote access error|success'; }
proof_dontneed() { memory_gone dontneed success; }
proof_remap() { memory_gone remap success; }

proof_partial() {
	compiled partial "$bugs/partial.c" || return 1
	local out
	out=$(here_run 20 "$dir/partial")
	echo "$out" | grep -E 'slots|completion' | tr '\n' ';'
	echo "$out" | grep -q 'slots: 7 7 0 0 0 0 0 0' &&
		! echo "$out" | grep -Eq 'completion of work ([4-7]|10):'
}

proof_attrs() {
	compiled attrs "$bugs/attrs.c" || return 1
	local out bad
	out=$(here_run 30 "$dir/attrs")
	bad=$(echo "$out" | grep -E 'INIT 0 RTR 0 RTS 0' |
		grep -E 'mtu (0|6)|index 200|retry_cnt 8|rnr_retry 8|timeout 32|access flags')
	bad+=$(echo "$out" | grep -E 'ah with sgid_index 77: made')
	echo "taken that no card takes: ${bad:-nothing}" | tr '\n' ';'
	echo "$out" | grep -q 'nothing wrong.*INIT 0 RTR 0 RTS 0' && [ -z "$bad" ]
}

# --- rdma_cm

proof_cm_port_of_tcp() { in_own_host cm_port_of_tcp; }
cm_port_of_tcp() {
	local out
	out=$(cm cmeph 60)
	echo "$out" | grep RDMA | tr '\n' ';'
	[ "$(echo "$out" | grep -c listens)" = 2 ]
}

proof_cm_ports() { in_own_host cm_ports; }
cm_ports() {
	local out
	out=$(cm cmport 60 0 1024 1500 28231 32768 32769 33000 33791 40000 65535)
	echo "$out" | grep -v 'caller: RDMA_CM_EVENT_CONNECT_REQUEST' | tr '\n' ';'
	[ "$(echo "$out" | grep -c 'caller: RDMA_CM_EVENT_CONNECT_REQUEST')" = 10 ]
}

proof_cm_busy_server() { in_own_host cm_busy; }
cm_busy() { judged 'UNREACHABLE|REJECTED' "$(cm cmstuck 170 160 | grep busy)"; }

proof_cm_timewait() { in_own_host cm_timewait; }
cm_timewait() {
	local out
	out=$(cm cmtimewait 60 30)
	echo "$out" | grep TIMEWAIT | tr '\n' ';'
	[ "$(echo "$out" | grep -c TIMEWAIT_EXIT)" = 2 ]
}

proof_cm_descriptors() { in_own_host cm_descriptors; }
cm_descriptors() {
	local out cpu
	out=$(cm cmfiles 40)
	echo "$out" | tr '\n' ';'
	cpu=$(echo "$out" | sed -n 's/^without descriptors: \([0-9]*\) %.*/\1/p')
	[ "${cpu:-99}" -le 2 ] && echo "$out" | grep -q 'again: RDMA_CM_EVENT_CONNECT_REQUEST'
}

proof_cm_private() { in_own_host cm_private; }
cm_private() {
	local out
	out=$(cm cmpriv 60)
	echo "$out" | grep -c same | tr '\n' ' '
	echo "$out" | grep -E 'request of +(56|57|148|197)' | tr '\n' ';'
	echo "$out" | grep -Eq 'request of +57: refused' &&
		echo "$out" | grep -Eq 'request of +56: .*same'
}

# --- files of others

proof_over_4g() {
	local out
	out=$(script over4g.sh 120)
	echo "$out" | tr '\n' ';'
	[ "$(echo "$out" | grep -o '"simulated_us": [0-9.]*' | sort -u | wc -l)" = 4 ]
}

proof_base_rtt() {
	local out
	out=$(script base_rtt.sh 120)
	echo "$out" | tr '\n' ';'
	! echo "$out" | grep -Eq 'sim (13[0-9]|1[4-9][0-9])'
}

proof_goal() {
	local file refused=''
	printf 'name: g\nplanes: 1\nt0s: 1\nhosts: 4\n' >"$dir/goal.yaml"
	for file in "$folder"/bugs/goal/*.goal; do
		timeout 30 "$weft" sim "$dir/goal.yaml" --paths 1 --reply-paths 1 --load "$file" \
			>/dev/null 2>"$dir/err" ||
			refused+="$(basename "$file"): $(head -1 "$dir/err"); "
	done
	echo "refused: ${refused:-none}"
	[ -z "$refused" ]
}

# Good frames in forms that captures have, and ordinary traffic that is nobody's business.
proof_captures() {
	local file refused=''
	python3 "$bugs/mkcap.py" "$root/tests/vectors/v1" "$dir/caps" || return 1
	for file in "$dir"/caps/*; do
		case $(basename "$file") in # what is cut or not known is said so
		cut-* | ppi* | *bad* | *loop* | *null* | *trunc* | vxlan* | gre*) continue ;;
		esac
		"$weft" decode "$file" >"$dir/decode.out" 2>&1 ||
			refused+="$(basename "$file"): $(grep -Em1 'drop|weft' "$dir/decode.out"); "
	done
	echo "not decoded: ${refused:-none}"
	[ -z "$refused" ]
}

proof_other_traffic() {
	local file judged=''
	python3 "$bugs/mkcap2.py" "$dir/others" || return 1
	for file in "$dir"/others/o-*; do
		"$weft" decode "$file" >"$dir/decode.out" 2>&1
		grep -q drop "$dir/decode.out" &&
			judged+="$(basename "$file"): $(grep -m1 drop "$dir/decode.out"); "
	done
	echo "called malformed: ${judged:-none}"
	[ -z "$judged" ]
}

# --- hosts

proof_small_dev_shm() {
	local out
	compiled mrc_write "$root/examples/mrc/write.c" || return 1
	out=$(WEFT=$weft MRC_WRITE=$dir/mrc_write timeout 150 sh "$bugs/devshm.sh" 2>&1)
	echo "$out" | tail -1
	# One stays: by it the processes of a network namespace know each other.
	echo "$out" | grep -q 'namespace 5: left [01] files' && ! echo "$out" | grep -qi 'bus error'
}
