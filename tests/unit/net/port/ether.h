/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_ETHER_H
#define TEST_ETHER_H
/*
 * ether - two hosts on two cables, for ports that write whole frames: namespace 0 with p0 and p1,
 * namespace 1 with q0 and q1, offloads off as on a real NIC, each end with an address, a uSID and
 * a gateway.  The cases here are run by each port's own test program.
 */
#include "../netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <weft/net.h>
#include <weft/wire.h>

typedef int ether_open_fn(
	struct weft_port **port, const struct weft_eth_config *config, char *error, size_t bytes);

static int ether_ns[2] = { -1, -1 };
static char ether_error[256];
static uint8_t ether_payload[4096];

static const uint8_t ether_addr[2][2][16] = {
	{ { 0xfd, [15] = 1 }, { 0xfd, [7] = 1, [15] = 1 } },
	{ { 0xfd, [15] = 2 }, { 0xfd, [7] = 1, [15] = 2 } },
};
static const uint8_t ether_usid[2][2][16] = {
	{ { 0xfc, [5] = 0x11 }, { 0xfc, [3] = 1, [5] = 0x11 } },
	{ { 0xfc, [5] = 0x12 }, { 0xfc, [3] = 1, [5] = 0x12 } },
};

/* The gateway of plane 0 has a fixed neighbour, as in weft lab; peers' own addresses and the
 * gateway of plane 1 must be discovered. */
static const char ether_script[] =
	"set -e; pid=$1; far() { nsenter -t $pid -n \"$@\"; }\n"
	"mac() { echo 02:00:00:00:0$1:0$2; }\n"
	"for where in '' far; do for i in all default; do\n"
	"  $where sysctl -qw net.ipv6.conf.$i.accept_dad=0; done; done\n"
	"for i in 0 1; do\n"
	"  ip link add p$i index 11$i mtu 4300 address $(mac $i 1) type veth \\\n"
	"    peer name q$i index 22$i mtu 4300 address $(mac $i 2) netns $pid\n"
	"  ethtool -K p$i tx off >/dev/null 2>&1; far ethtool -K q$i tx off >/dev/null 2>&1\n"
	"  ip addr add fd00:0:0:$i::1/64 dev p$i nodad; far ip addr add fd00:0:0:$i::2/64 dev q$i "
	"nodad\n"
	"  ip link set p$i up; far ip link set q$i up\n"
	"done; ip link set lo up; far ip link set lo up\n"
	"ip neigh add fe80::1 lladdr $(mac 0 2) dev p0 nud permanent\n"
	"far ip neigh add fe80::1 lladdr $(mac 0 1) dev q0 nud permanent\n"
	"ip route add fc00:0:12::/48 via fe80::1 dev p0\n"
	"far ip route add fc00:0:11::/48 via fe80::1 dev q0\n"
	"ip route add fc00:1:12::/48 via fd00:0:0:1::2 dev p1\n"
	"far ip route add fc00:1:11::/48 via fd00:0:0:1::1 dev q1\n";

static inline void ether_enter(unsigned end)
{
	REQUIRE(!setns(ether_ns[end], CLONE_NEWNET));
}

static inline void ether_build(void)
{
	char command[sizeof(ether_script) + 64];

	if (ether_ns[0] >= 0)
		return;
	netns_enter();
	ether_ns[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int ready[2];

	REQUIRE(!pipe(ready));
	pid_t holder = fork();

	if (!holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(ready[1], "", unshare(CLONE_NEWNET) ? 0 : 1);
		pause();
	}
	close(ready[1]);
	if (read(ready[0], command, 1) != 1)
		SKIP("no second namespace here");
	close(ready[0]);
	snprintf(command, sizeof(command), "/proc/%d/ns/net", (int)holder);
	ether_ns[1] = open(command, O_RDONLY | O_CLOEXEC);
	snprintf(command, sizeof(command), "set -- %d; %s", (int)holder, ether_script);
	if (!shell(command))
		SKIP("no veth here");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	for (size_t i = 0; i < sizeof(ether_payload); i++)
		ether_payload[i] = (uint8_t)(i * 7 >> 2);
}

static inline struct weft_eth_config ether_config(unsigned end, uint8_t kind)
{
	struct weft_eth_config config = { .kind = kind, .planes = 2, .mtu_bytes = 4096 };

	memcpy(config.addr, ether_addr[end], sizeof(ether_addr[end]));
	memcpy(config.usid, ether_usid[end], sizeof(ether_usid[end]));
	return config;
}

static bool ether_by_name; /* plane 1 is known by its interface only */
static inline struct weft_port *ether_open(ether_open_fn *open, unsigned end, uint8_t kind)
{
	struct weft_eth_config config = ether_config(end, kind);
	struct weft_port *port = NULL;

	memcpy(config.interface[1], end ? "q1" : "p1", 3);
	memset(config.addr[1], 0, ether_by_name ? 16 : 0);
	ether_build();
	ether_enter(end);
	if (open(&port, &config, ether_error, sizeof(ether_error))) {
		if (strstr(ether_error, "CAP_BPF"))
			SKIP(ether_error);
		CHECK_FAIL("%s", ether_error);
	}
	REQUIRE(port);
	return port;
}

/* `at`, a port of the end `end`, learns of `peer` at the other end, over two EVs per plane. */
static inline int ether_know(struct weft_port *at, unsigned end, uint32_t number,
	const struct weft_port *peer, uint8_t kind)
{
	struct weft_udp_path paths[4];
	struct weft_udp_peer attr = { .addrs = 2, .paths = paths, .n_paths = 4, .n_src_ports = 1 };

	attr.udp_port = attr.src_port[0] = weft_eth_number(peer);
	memcpy(attr.addr, ether_addr[!end], sizeof(ether_addr[!end]));
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t plane = i & 1, ev = plane << 16 | i >> 1;

		paths[i].ev = ev;
		memcpy(paths[i].dst, ether_usid[!end][plane], 16);
		if (kind == WEFT_ENCAP_USID)
			CHECK(weft_usid_put_ev(paths[i].dst, 1, ev));
		memcpy(paths[i].arrive, paths[i].dst, 16);
		if (kind != WEFT_ENCAP_USID)
			memcpy(paths[i].arrive, ether_addr[!end][plane], 16);
		if (kind == WEFT_ENCAP_STEV)
			memcpy(paths[i].dst, ether_addr[!end][plane], 16);
	}
	ether_enter(end);
	return weft_eth_peer_add(at, number, &attr);
}

static inline struct weft_pkt ether_data(uint32_t peer, uint32_t ev, uint32_t psn)
{
	return (struct weft_pkt){ .peer = peer,
		.ev = ev,
		.port = (uint8_t)(ev >> 16),
		.op = WEFT_OP_WRITE_ONLY,
		.dqpn = 100,
		.psn = psn,
		.w = { .data = ether_payload,
			.len_bytes = 4096,
			.msg_bytes = 4096,
			.rkey = 1,
			.va = 0x1000 } };
}

/* Until want packets have come or a second has passed; payloads of one burst are looked at. */
static inline size_t ether_receive(struct weft_port *port, struct weft_pkt pkts[], size_t want)
{
	uint64_t end = weft_clock_now(NULL) + 1000000000;
	size_t n = 0;

	while (n < want && weft_clock_now(NULL) < end) {
		size_t got = port->ops->rx(port, pkts + n, want - n);

		for (size_t i = n; i < n + got; i++)
			if (pkts[i].w.len_bytes && pkts[i].w.data)
				CHECK_MEM(pkts[i].w.data, ether_payload, pkts[i].w.len_bytes);
		n += got;
		if (n < want)
			port->ops->wait(port, 10000000);
	}
	return n;
}

/* A number out of /proc/net/snmp6 of that end. */
static inline uint64_t ether_count(unsigned end, const char *name)
{
	char line[128], what[64];
	uint64_t value = 0, found = 0;

	ether_enter(end);
	FILE *in = fopen("/proc/thread-self/net/snmp6", "r");

	REQUIRE(in);
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, "%63s %" SCNu64, what, &value) == 2 && !strcmp(what, name))
			found = value;
	fclose(in);
	return found;
}

/* A packet socket on an interface, for looking at frames and for forging some. */
static inline int ether_tap(unsigned end, const char *ifname)
{
	struct sockaddr_ll name = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };

	ether_enter(end);
	name.sll_ifindex = (int)if_nametoindex(ifname);
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);

	REQUIRE(fd >= 0 && !bind(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

/* ---- cases ---- */

static inline void ether_case_carries(ether_open_fn *open, uint8_t kind)
{
	struct weft_port *a = ether_open(open, 0, kind), *b = ether_open(open, 1, kind);
	struct weft_pkt out[32], in[33];
	unsigned evs = 0;

	CHECK_EQ(ether_know(a, 0, 5, b, kind), 0);
	CHECK_EQ(ether_know(b, 1, 9, a, kind), 0);
	for (uint32_t i = 0; i < 32; i++) {
		out[i] = ether_data(5, (i & 1) << 16 | (i >> 1 & 1), i);
		out[i].w.len_bytes -= i; /* with padding */
		out[i].w.msg_bytes -= i;
	}
	a->ops->tx(a, out, 32, WEFT_WAKE_NOW);
	CHECK_EQ(ether_receive(b, in, 32), 32);
	for (uint32_t i = 0; i < 32; i++) {
		CHECK_EQ(in[i].peer, 9);
		CHECK_EQ(in[i].port, in[i].ev >> 16);
		CHECK_EQ(in[i].ev, (in[i].psn & 1) << 16 | (in[i].psn >> 1 & 1));
		CHECK_EQ(in[i].mark, 0);
		CHECK_EQ(in[i].w.len_bytes, 4096 - in[i].psn);
		evs |= 1u << ((in[i].ev >> 16) * 2 + (in[i].ev & 1));
	}
	CHECK_EQ(evs, 0xf);
	CHECK_EQ(a->stats.tx_pkts, 32);
	CHECK_EQ(b->stats.rx_pkts, 32);
	CHECK_EQ(a->stats.tx_bytes, b->stats.rx_bytes);
	out[0] = ether_data(9, 1, 77); /* and back */
	b->ops->tx(b, out, 1, WEFT_WAKE_NOW);
	CHECK_EQ(ether_receive(a, in, 1), 1);
	CHECK_EQ(in[0].psn, 77);
	weft_eth_peer_drop(a, 5);
	out[0].peer = 5;
	a->ops->tx(a, out, 1, WEFT_WAKE_NOW);
	CHECK_EQ(a->stats.tx_no_path, 1);
	a->ops->close(a);
	b->ops->close(b);
}

/* The kernel neither sees our packets nor loses its own. */
static inline void ether_case_beside_the_kernel(ether_open_fn *open)
{
	struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons(7777) };
	struct weft_port *a = ether_open(open, 0, WEFT_ENCAP_SRV6);
	struct weft_port *b = ether_open(open, 1, WEFT_ENCAP_SRV6);
	uint64_t end = weft_clock_now(NULL) + 5000000000, before, seen = 32;
	struct weft_pkt out[32], in[32];
	char word[8] = "";

	CHECK_EQ(ether_know(a, 0, 1, b, WEFT_ENCAP_SRV6), 0);
	CHECK_EQ(ether_know(b, 1, 1, a, WEFT_ENCAP_SRV6), 0);
	for (uint32_t i = 0; i < 32; i++)
		out[i] = ether_data(1, (i & 1) << 16, i);
	/* The hook in front of the stack comes into force a moment after it was asked for. */
	while (seen >= 32 && weft_clock_now(NULL) < end) {
		before = ether_count(1, "Ip6InReceives");
		a->ops->tx(a, out, 32, WEFT_WAKE_NOW);
		CHECK_EQ(ether_receive(b, in, 32), 32);
		seen = ether_count(1, "Ip6InReceives") - before;
	}
	CHECK(seen < 32); /* some neighbour discovery may have come in */
	memcpy(&name.sin6_addr, ether_addr[1][0], 16);
	int to = socket(AF_INET6, SOCK_DGRAM, 0);
	struct timeval limit = { .tv_sec = 5 };

	setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	CHECK_EQ(bind(to, (struct sockaddr *)&name, sizeof(name)), 0);
	ether_enter(0);
	int from = socket(AF_INET6, SOCK_DGRAM, 0);

	CHECK_EQ(sendto(from, "others", 7, 0, (struct sockaddr *)&name, sizeof(name)), 7);
	CHECK_EQ(recv(to, word, sizeof(word), 0), 7);
	CHECK_STR(word, "others");
	close(from);
	close(to);
	a->ops->close(a);
	b->ops->close(b);
}

/* One frame of port a, an afpacket one (AF_XDP goes past taps), as it crosses cable 0. */
static inline size_t ether_catch(struct weft_port *a, uint32_t peer, uint8_t *frame, size_t room)
{
	struct weft_pkt out = ether_data(peer, 0, 42);
	uint64_t end = weft_clock_now(NULL) + 1000000000;
	int tap = ether_tap(0, "p0");
	ssize_t n = 0;

	a->ops->tx(a, &out, 1, WEFT_WAKE_NOW);
	while (n < 4096 && weft_clock_now(NULL) < end)
		n = recv(tap, frame, room, 0);
	close(tap);
	REQUIRE(n > 4096);
	return (size_t)n;
}

static inline void ether_case_marks(ether_open_fn *open)
{
	struct weft_port *a = ether_open(weft_afpacket_open, 0, WEFT_ENCAP_SRV6);
	struct weft_port *b = ether_open(open, 1, WEFT_ENCAP_SRV6);
	static uint8_t frame[8192];
	struct weft_dscp dscp = WEFT_DSCP_DEFAULT;
	struct weft_pkt in[2];

	CHECK_EQ(ether_know(a, 0, 1, b, WEFT_ENCAP_SRV6), 0);
	CHECK_EQ(ether_know(b, 1, 1, a, WEFT_ENCAP_SRV6), 0);
	size_t n = ether_catch(a, 1, frame, sizeof(frame));
	int tap = ether_tap(0, "p0");

	CHECK_EQ(ether_receive(b, in, 1), 1);
	CHECK_EQ(in[0].mark, 0);
	frame[15] |= 0x30; /* the outer header's ECN: congestion experienced */
	CHECK_EQ(send(tap, frame, n, 0), n);
	CHECK_EQ(ether_receive(b, in, 1), 1);
	CHECK_EQ(in[0].mark, WEFT_MARK_CE);
	frame[14] = (uint8_t)(0x60 | dscp.trimmed >> 2); /* and a switch that trims */
	frame[15] = (uint8_t)((dscp.trimmed & 3) << 6);
	CHECK_EQ(send(tap, frame, 170, 0), 170);
	CHECK_EQ(ether_receive(b, in, 1), 1);
	CHECK_EQ(in[0].mark, WEFT_MARK_TRIMMED);
	CHECK_EQ(in[0].psn, 42);
	close(tap);
	a->ops->close(a);
	b->ops->close(b);
}

/* Whatever comes by the cable: what is accepted is what was sent, all else is counted. */
static inline void ether_case_hostile(ether_open_fn *open, uint8_t kind)
{
	struct weft_port *a = ether_open(weft_afpacket_open, 0, kind);
	struct weft_port *b = ether_open(open, 1, kind);
	static uint8_t frame[8192], forged[8192];
	struct weft_pkt in[64];
	struct weft_rng rng;
	uint64_t drops = 0, accepted = 0;

	weft_rng_seed(&rng, 4711 + kind);
	CHECK_EQ(ether_know(a, 0, 1, b, kind), 0);
	CHECK_EQ(ether_know(b, 1, 1, a, kind), 0);
	size_t n = ether_catch(a, 1, frame, sizeof(frame));
	int tap = ether_tap(0, "p0");

	for (unsigned i = 0; i < 4000; i++) {
		size_t bytes = weft_rng_chance(&rng, 1, 2) ? n : 15 + weft_rng_below(&rng, n - 15);
		unsigned flips = (unsigned)weft_rng_below(&rng, 4);

		memcpy(forged, frame, n);
		for (unsigned j = 0; j < flips; j++) /* most in the headers */
			forged[14 + weft_rng_below(&rng, j ? 140 : bytes - 14)] ^=
				(uint8_t)(1u << weft_rng_below(&rng, 8));
		(void)!send(tap, forged, bytes, 0);
		size_t got = b->ops->rx(b, in, 64);

		for (size_t j = 0; j < got; j++)
			if (in[j].op == WEFT_OP_WRITE_ONLY && !in[j].mark)
				CHECK_MEM(in[j].w.data, ether_payload, in[j].w.len_bytes);
		accepted += got;
	}
	for (unsigned i = 0; i < WEFT_DROP_COUNT; i++)
		drops += b->stats.drops[i];
	CHECK(accepted > 200); /* untouched ones among them */
	CHECK(drops > 500);
	close(tap);
	a->ops->close(a);
	b->ops->close(b);
}

static inline void ether_case_link(ether_open_fn *open)
{
	struct weft_port *a = ether_open(open, 0, WEFT_ENCAP_STEV);
	uint64_t from = weft_clock_now(NULL);

	a->ops->wait(a, 3000000);
	CHECK(weft_clock_now(NULL) - from >= 3000000 || a->ops->carrier(a) != 3);
	while (a->ops->carrier(a) != 3 && weft_clock_now(NULL) - from < 10000000000)
		a->ops->wait(a, 1000000000);
	CHECK_EQ(a->ops->carrier(a), 3);
	ether_enter(1);
	shell("ip link set q0 down");
	from = weft_clock_now(NULL);
	/* The kernel tells other things about the link, too; each ends a wait. */
	while (a->ops->carrier(a) == 3 && weft_clock_now(NULL) - from < 10000000000)
		a->ops->wait(a, 20000000000);
	CHECK_EQ(a->ops->carrier(a), 2);
	CHECK(weft_clock_now(NULL) - from < 10000000000);
	shell("ip link set q0 up; ip route add fc00:0:11::/48 via fe80::1 dev q0;"
	      "ip addr add fd00::2/64 dev q0 nodad 2>/dev/null;"
	      "ip neigh replace fe80::1 lladdr 02:00:00:00:00:01 dev q0 nud permanent");
	while (a->ops->carrier(a) != 3 && weft_clock_now(NULL) - from < 10000000000)
		a->ops->wait(a, 1000000000);
	CHECK_EQ(a->ops->carrier(a), 3);
	a->ops->close(a);
}

/* What a killed process had changed on the host is gone; `look` prints what would be left. */
static inline void ether_case_killed(ether_open_fn *open, const char *look)
{
	struct weft_port *a = ether_open(open, 0, WEFT_ENCAP_USID);
	char command[256];
	int ready[2];

	a->ops->close(a);
	REQUIRE(!pipe(ready));
	pid_t child = fork();

	if (!child) {
		struct weft_eth_config config = ether_config(0, WEFT_ENCAP_USID);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(
			ready[1], "", open(&a, &config, ether_error, sizeof(ether_error)) ? 0 : 1);
		pause();
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], command, 1), 1);
	close(ready[0]);
	snprintf(command, sizeof(command), "%s | grep -q .", look);
	CHECK(shell(command)); /* there is something to be left */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	uint64_t end = weft_clock_now(NULL) + 5000000000;

	while (shell(command) && weft_clock_now(NULL) < end)
		usleep(10000);
	CHECK(!shell(command));
	a = ether_open(open, 0, WEFT_ENCAP_USID);
	a->ops->close(a);
}

static inline void ether_refused(
	ether_open_fn *open, const struct weft_eth_config *config, const char *word)
{
	struct weft_port *port;

	CHECK_EQ(open(&port, config, ether_error, sizeof(ether_error)), -1);
	if (!strstr(ether_error, word) || strchr(ether_error, '\n'))
		CHECK_FAIL("\"%s\" does not say \"%s\" in one line", ether_error, word);
}

static inline void ether_case_refusals(ether_open_fn *open, const char *capability)
{
	struct weft_eth_config config = ether_config(0, WEFT_ENCAP_STEV);

	ether_build();
	ether_enter(0);
	config.planes = 0;
	ether_refused(open, &config, "planes");
	config = ether_config(0, WEFT_ENCAP_UDP_PORT);
	ether_refused(open, &config, "kind");
	config = ether_config(0, WEFT_ENCAP_STEV);
	config.addr[0][0] = config.addr[1][0] = 0xfe; /* nobody's */
	ether_refused(open, &config, "plane 0, address ");
	config = ether_config(0, WEFT_ENCAP_STEV);
	config.mtu_bytes = 8192;
	ether_refused(open, &config, "MTU");
	config = ether_config(0, WEFT_ENCAP_STEV);
	memset(config.addr[1], 0, 16);
	config.addr[1][15] = 1; /* lo */
	ether_refused(open, &config, "Ethernet");
	config = ether_config(0, WEFT_ENCAP_STEV);
	pid_t child = fork();
	int failed = 0;

	if (!child) {
		unsigned before = check_failures;

		if (setresuid(65534, 65534, 65534))
			_exit(0); /* an inner user namespace has nobody else to be */
		ether_refused(open, &config, capability);
		_exit(check_failures != before);
	}
	waitpid(child, &failed, 0);
	CHECK_EQ(failed, 0);
}

#endif /* TEST_ETHER_H */
