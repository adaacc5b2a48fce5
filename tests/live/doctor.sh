#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# doctor.sh [NAME]: two hosts of two planes on cables; a fault is planted, weft doctor names it.
#
#   here: a0 10.9.0.1 ==== 10.9.0.2 b0 :there        each case in namespaces of its own
#         a1 10.9.1.1 ==== 10.9.1.2 b1
#
# A case wants its own words and no other fault or warning: whoever cries at everything names all,
# too.  The healthy pair wants none.  A run takes seven seconds at most, whoever is dead.
set -u
case $WEFT_BUILD in */tsan) exit 77 ;; esac
# As root without a user namespace: there alone a socket's buffer may exceed the host's limit.
apart="unshare -nmpf --mount-proc --kill-child"
[ "$(id -u)" = 0 ] || apart="$apart -r"
if [ "${1:-}" != inside ]; then
	$apart true 2>/dev/null || exit 77
	command -v nft >/dev/null && command -v ethtool >/dev/null || exit 77
fi
weft=$(realpath "$WEFT_BUILD")/weft
unset WEFT_PLANES WEFT_SWITCH WEFT_FABRIC WEFT_HOST

# ---- one case, in its own namespaces ----

there() { nsenter -t $other -n "$@"; }
host() { # a network namespace, in $made
	unshare -n sleep 60 >/dev/null 2>&1 &
	made=$!
	while [ "$(readlink /proc/$made/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
		sleep 0.01
	done
	nsenter -t $made -n sysctl -qw net.ipv6.conf.default.accept_dad=0
	nsenter -t $made -n ip link set lo up
}
filter() { # filter here|there RULE...: in chain i (input)
	local at=$1
	shift
	[ $at = here ] && at=
	$at nft add table inet doc
	$at nft 'add chain inet doc i { type filter hook input priority 0; }'
	$at nft add rule inet doc i "$@"
}
over() { # over FILE TEXT: the file says that, to this case only
	echo "$2" >"$dir/$(basename "$1")"
	mount --bind "$dir/$(basename "$1")" "$1"
}
build() {
	mount -t sysfs sysfs /sys 2>/dev/null
	sysctl -qw net.ipv6.conf.default.accept_dad=0
	ip link set lo up
	host
	other=$made
	for p in 0 1; do
		ip link add a$p index 1${p}1 type veth peer name b$p index 1${p}2 netns $other
		ip addr add 10.9.$p.1/24 dev a$p
		ip link set a$p up
		there ip addr add 10.9.$p.2/24 dev b$p
		there ip link set b$p up
		ethtool -K a$p gro on
		there ethtool -K b$p gro on
	done >/dev/null 2>&1
}
# What a plant may change.
own=a0,a1 peers=b0,b1 to=10.9.0.2 before='' listens=1
inside() {
	local wanted=$1 also=$2 plant=$3 text n
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	build || exit 77
	eval "$plant" >/dev/null || { echo "cannot be planted"; return 1; }
	if [ $listens = 1 ]; then
		there "$weft" doctor --listen --planes $peers >"$dir/listens" 2>&1 &
		for ((n = 0; n < 200; n++)); do
			grep -qs waits "$dir/listens" && break
			sleep 0.02
		done
	fi
	sleep 0.1
	local began=${EPOCHREALTIME/./}
	text=$($before "$weft" doctor --planes $own $to 2>"$dir/stderr")
	local rc=$? ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	bad() { printf '%s\n%s\n' "$1" "$text"; faults=1; }
	faults=0
	[ $ms -le 7000 ] || bad "it took $ms ms"
	[ "$wanted" = nothing ] && echo "$text" >>"$healthy"
	[ "$wanted" = nothing ] || grep -qE "^($wanted)" <<<"$text" || bad "wants: $wanted"
	[ ! -s "$dir/stderr" ] || bad "on stderr: $(cat "$dir/stderr")"
	local more
	more=$(grep -E '^(fault|warning)' <<<"$text" | grep -vE "^($wanted|${also:-$wanted})")
	[ -z "$more" ] || bad "says more: $more"
	grep -q '^fault' <<<"$text"
	[ $((!$?)) = $rc ] || bad "ends with $rc"
	return $faults
}
if [ "${1:-}" = inside ]; then
	inside "$2" "$3" "$4"
	exit
fi

# ---- cases ----

ran=0 faults=0 only=${1:-}
export healthy=$(mktemp)
trap 'rm -f "$healthy"' EXIT
# plant NAME WANTED ALSO COMMANDS: WANTED is a line's beginning, ALSO what may be said besides.
plant() {
	[[ $1 == healthy* || $1 == *"$only"* ]] || return 0
	# What is said of the healthy pair, too, is not found because it was planted.
	grep -E "^($2)" "$healthy" && { echo "$1: said of the healthy pair"; faults=1; }
	ran=$((ran + 1))
	local said
	# Of mounts, for over(); of processes, so that all of them end with the case.
	said=$(timeout 60 $apart "$0" inside "$2" "$3" "$4" 2>&1) || {
		echo "$1: $said"
		faults=1
	}
}
here1='plane 1 \(a1\) +' there1='there: plane 1 \(b1\) +'
rule='(fault|note) +(there: )?this machine +firewall: '

plant healthy nothing '' :
plant healthy-ipv6 nothing '' '
	for p in 0 1; do
		ip addr flush dev a$p; there ip addr flush dev b$p
		ip addr add fd0$p::1/64 dev a$p; there ip addr add fd0$p::2/64 dev b$p
	done; to=[fd00::2]'
# Planes of one switch hear each other.
switched='
	host
	nsenter -t $made -n ip link add sw0 type bridge
	nsenter -t $made -n ip link set sw0 up
	for p in 0 1; do
		ip link del a$p
		ip link add a$p index 2${p}1 type veth peer name s$p index 2${p}2 netns $made
		there ip link add b$p index 2${p}3 type veth peer name t$p index 2${p}4 netns $made
		for s in s$p t$p; do nsenter -t $made -n ip link set $s master sw0 up; done
		ip addr add 10.9.$p.1/24 dev a$p; ip link set a$p up
		there ip addr add 10.9.$p.2/24 dev b$p; there ip link set b$p up
		ethtool -K a$p gro on
	done
	sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
	there sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2'
plant healthy-switched nothing '' "$switched"
plant switched-filtered "fault +${here1}UDP is filtered: TCP comes through" "$rule" \
	"$switched; filter there iif b1 meta l4proto udp drop"
plant ipv6-rejected "fault +${here1}UDP is rejected by a firewall" "$rule" '
	for p in 0 1; do
		ip addr flush dev a$p; there ip addr flush dev b$p
		ip addr add fd0$p::1/64 dev a$p; there ip addr add fd0$p::2/64 dev b$p
	done; to=[fd00::2]; filter there iif b1 meta l4proto udp reject'
plant carrier "fault +${here1}no carrier" "fault +$there1" 'there ip link set b1 down'
plant down "fault +${here1}the interface is down" "fault +$there1" 'ip link set a1 down'
plant no-address "fault +${here1}the interface has no address" '' 'ip addr flush dev a1'
plant no-interface 'fault +plane 1 \(a7\) +there is no interface' '' own=a0,a7
plant plane-count 'fault +10.9.0.2 +1 planes there, 2 here' '' peers=b0
plant mtu-differs "warning +${here1}MTU 1500 here, 1400 there" "warning +${there1}MTU 1400, and" \
	'there ip link set b1 mtu 1400'
plant mtu-tiny "fault +${here1}MTU 500: " "warning +${here1}MTU 500 here" \
	'ip link set a1 mtu 500'
plant mtu-hop "warning +${here1}small MTU on the way: 1300 bytes .* a router says 1300" '' '
	host; router=$made
	ip link set a1 down; ip link del a1
	ip link add a1 index 201 type veth peer name r0 index 202 netns $router
	there ip link add b1 index 203 type veth peer name r1 index 204 netns $router
	ip addr add 10.9.1.1/24 dev a1; ip link set a1 up
	there ip addr add 10.9.2.2/24 dev b1; there ip link set b1 up
	nsenter -t $router -n sysctl -qw net.ipv4.ip_forward=1
	nsenter -t $router -n ip addr add 10.9.1.254/24 dev r0
	nsenter -t $router -n ip addr add 10.9.2.254/24 dev r1
	nsenter -t $router -n ip link set r0 up; nsenter -t $router -n ip link set r1 up mtu 1300
	ip route add 10.9.2.0/24 via 10.9.1.254
	there ip route add 10.9.1.0/24 via 10.9.2.254'
plant black-hole "fault +${here1}black hole: packets over 1400 bytes" "$rule" \
	'filter there iif b1 meta length \> 1400 drop'
plant black-hole-back "fault +${here1}black hole on the way back: packets over 1283 bytes" "$rule" \
	'filter here iif a1 meta length \> 1283 drop'
plant udp-filtered "fault +${here1}UDP is filtered: TCP comes through" "$rule" \
	'filter there iif b1 meta l4proto udp drop'
plant udp-rejected "fault +${here1}UDP is rejected by a firewall" "$rule" \
	'filter there iif b1 meta l4proto udp reject'
plant one-way "fault +${here1}one way only: 200 of 200" "$rule" \
	'filter here iif a1 meta l4proto udp drop'
plant own-output "fault +${here1}this host's own firewall does not let UDP out" "$rule" '
	nft add table inet doc
	nft "add chain inet doc o { type filter hook output priority 0; }"
	nft add rule inet doc o oif a1 meta l4proto udp drop'
plant rule-seen \
	'fault +there: this machine +firewall: rule [0-9]+ in chain i of table inet doc drops UDP' \
	"fault +plane [01] .*UDP is filtered" 'filter there meta l4proto udp counter drop'
plant policy 'warning +there: this machine +firewall: chain i .* drops what no rule takes' \
	"fault +plane [01] .*UDP is filtered" '
	filter there tcp dport 18515 accept; filter there ct state established accept
	there nft "chain inet doc i { policy drop; }"'
plant port-4791 "fault +plane 0 .*UDP port 4791, MRC's own, is filtered" \
	"fault +(plane 1 .*UDP port 4791|there: this machine +firewall: .* to port 4791)" \
	'filter there udp dport 4791 drop'
plant swapped-order 'fault +plane 0 \(a0\) +swapped: .* peer.s plane 1' \
	'(fault|warning) +plane [01] \(a[01]\) +(swapped|the route to)' peers=b1,b0
plant crossed-cables \
	'fault +plane 0 \(a0\) +swapped: the cable of our plane 0 ends at the peer.s plane 1' \
	'fault +plane 1 \(a1\) +swapped' '
	there ip addr flush dev b0; there ip addr flush dev b1
	there ip addr add 10.9.0.2/24 dev b1; there ip addr add 10.9.1.2/24 dev b0; peers=b1,b0'
plant one-subnet 'warning +plane 1 .*is in the same subnet: each answers ARP' '
	warning +plane [01] .*(comes in by|come back by|the route to)' '
	ip addr flush dev a1; ip addr add 10.9.0.11/24 dev a1
	there ip addr flush dev b1; there ip addr add 10.9.0.12/24 dev b1
	there sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2'
plant rp-filter 'fault +plane 1 .*same subnet and rp_filter is strict' \
	'(fault|warning) +plane [01]' '
	ip addr flush dev a1; ip addr add 10.9.0.11/24 dev a1
	sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
	sysctl -qw net.ipv4.conf.all.rp_filter=1'
plant dad "fault +${here1}fd09::2 is somebody else's, too \(DAD failed" \
	'fault +(plane 1|10.9.0.2)' '
	there ip addr add fd09::2/64 dev b1 nodad
	sysctl -qw net.ipv6.conf.a1.accept_dad=1; ip addr add fd09::2/64 dev a1; sleep 2'
plant duplicate-ipv4 \
	"fault +${here1}10.9.1.1 is somebody else.s, too \(another host answers ARP" \
	"(fault|warning) +$here1" '
	there ip addr add 10.9.1.1/32 dev b1'
plant same-address "fault +${here1}10.9.1.2 is the address of both ends" \
	"fault +($here1|$there1)10.9.1.2 is somebody" '
	ip addr flush dev a1; ip addr add 10.9.1.2/24 dev a1'
plant no-route "fault +${here1}no route to 10.9.1.2" "(fault|warning) +$here1" '
	ip addr flush dev a1; ip addr add 10.9.1.1/32 dev a1'
plant no-neighbour "fault +${here1}nobody answers ARP or NDP" '' '
	there sysctl -qw net.ipv4.conf.all.arp_ignore=1; there ip addr flush dev b1
	there ip link add b2 type veth peer name c2
	there ip link set b2 up; there ip link set c2 up
	there ip addr add 10.9.1.2/24 dev b2; peers=b0,b2'
plant plane-dead "fault +${here1}dead: neither TCP nor UDP .* though the peer answers ARP" "$rule" \
	'filter there iif b1 drop'
plant lossy "fault +${here1}loss: (2|3|4)[0-9] % of 200 small packets on the way there" "$rule" \
	'filter there iif b1 meta l4proto udp numgen random mod 100 \< 30 drop'
plant lossy-back \
	"fault +${here1}loss: (2|3|4)[0-9] % of 200 small packets on the way back" "$rule" \
	'filter here iif a1 meta l4proto udp numgen random mod 100 \< 30 drop'
plant dead 'fault +10.9.0.77 +the peer is dead or not on this cable: nobody answers ARP' '' \
	to=10.9.0.77
plant absent \
	'fault +10.9.0.2 +its host lives, but nothing listens on TCP port 18515; UDP reach' '' \
	listens=0
plant absent-filtered \
	'fault +10.9.0.2 +its host lives, but nothing listens .*UDP to it vanishes' '' \
	'listens=0; filter there meta l4proto udp drop'
plant tcp-filtered 'fault +10.9.0.2 +its host lives .*TCP port 18515 is filtered' '' \
	'filter there tcp dport 18515 drop'
plant perf 'fault +10.9.0.2 +TCP port 18515 is open, but no weft doctor listens there' '' \
	'listens=0; there "$weft" perf --planes $peers >/dev/null 2>&1 & sleep 0.5'
plant no-name 'fault +nosuch.invalid +no such host' '' to=nosuch.invalid
[ "$(id -u)" != 0 ] || plant buffers \
	'(warning|note) +this machine +socket buffers are limited to' '' \
	'before="setpriv --inh-caps=-net_admin --bounding-set=-net_admin"'
plant rights 'note +this machine +without the capabilities NET_RAW' '' \
	'before="setpriv --inh-caps=-net_raw --bounding-set=-net_raw"'
plant memlock 'warning +this machine +only 0 KiB may be locked' \
	'warning +there: this machine +only 0 KiB' 'ulimit -l 0'
plant files 'fault +this machine +only 100 files may be open' \
	'fault +there: this machine +only 100' 'ulimit -n 100'
plant gro 'note +plane 0 \(a0\) +GRO is off' '' 'ethtool -K a0 gro off'
plant checksum 'warning +plane 0 \(a0\) +checksum offload is off \(tx\)' '' 'ethtool -K a0 tx off'
plant no-ipv6 'note +plane 1 \(a1\) +IPv6 is off' '' 'sysctl -qw net.ipv6.conf.a1.disable_ipv6=1'
plant conntrack-near 'warning +this machine +connection tracking is nearly full' \
	'warning +there: this machine +connection' '
	over /proc/sys/net/netfilter/nf_conntrack_max 1000
	over /proc/sys/net/netfilter/nf_conntrack_count 800'
plant conntrack 'fault +this machine +connection tracking is full \(999 of 1000\)' \
	'fault +there: this machine +connection' '
	over /proc/sys/net/netfilter/nf_conntrack_max 1000
	over /proc/sys/net/netfilter/nf_conntrack_count 999'
plant shm 'warning +this machine +/dev/shm has 1 MiB' 'warning +there: this machine +/dev/shm' \
	'mount -t tmpfs -o size=1m tmpfs /dev/shm'
plant clock 'warning +this machine +the clock source is hpet' \
	'warning +there: this machine +the clock' \
	'over /sys/devices/system/clocksource/clocksource0/current_clocksource hpet'
plant interrupts 'warning +plane 1 \(a1\) +all 4 interrupts of this card go to one CPU' '' '
	mount -t tmpfs tmpfs /proc/irq; mkdir -p /proc/irq/{40,41,42,43}
	for i in 40 41 42 43; do echo 0 >/proc/irq/$i/effective_affinity_list; done
	mount -t tmpfs tmpfs /sys/class/net; mkdir -p /sys/class/net/a1/device/msi_irqs
	echo 111 >/sys/class/net/a1/ifindex; touch /sys/class/net/a1/device/msi_irqs/{40,41,42,43}'
plant quota 'warning +this machine +a CPU quota of 0.50 CPUs' \
	'warning +there: this machine +a CPU quota' '
	mount -t tmpfs tmpfs /sys/fs/cgroup; mkdir /sys/fs/cgroup/cpu
	echo "50000 100000" >/sys/fs/cgroup/cpu.max
	echo 50000 >/sys/fs/cgroup/cpu/cpu.cfs_quota_us
	echo 100000 >/sys/fs/cgroup/cpu/cpu.cfs_period_us'
[ $ran -gt 3 ] || { echo "no case is called $only"; faults=1; }
exit $faults
