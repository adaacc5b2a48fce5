/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPU per hop: kernel seg6local switches against ours, on the same veths, in the same minutes.
 *
 * A chain of namespaces, sender, n switches, receiver, without shapers.  One thread on one CPU
 * sends 32 datagrams of 4 KiB and receives them, so that every hop runs in its system calls (the
 * kernel forwards in softirq, which the thread pays for; what ksoftirqd takes over is added).
 * Chains take turns for a few milliseconds each, hundreds of times, and the least disturbed turns
 * count: neighbours and clock drift hit all of them alike.
 *
 *   hop       = (three hops - none) / 3: with what the way in and out costs (at the driver, a
 *               copy of the packet into pages; at tc, the last hop's crossing to the host)
 *   next hop  = (five hops - three) / 2: what each further switch costs
 *
 *   bench_xdp_hops [SECONDS]     as root
 */
#include "../bench.h"

#include <weft/xdp.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RATE_BPS UINT64_C(100000000000)

enum { SWITCHES_MAX = 5, BATCH = 32, BYTES = 4144, MTU = 4200, TURNS_MAX = 4000 };

enum kind { DIRECT, KERNEL, BPF };

struct chain {
	const char *name;
	enum kind kind;
	enum weft_xdp_hook hook;
	uint64_t rate_bps;
	unsigned switches;
	int tx, rx;
	struct sockaddr_in6 to;
	struct weft_xdp *programs[SWITCHES_MAX];
	double turn_ns[TURNS_MAX];
	unsigned turns, lost;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(errno == EPERM ? 77 : 1);
}

static void ip(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (system(line)) {
		fprintf(stderr, "failed: %s\n", line);
		exit(1);
	}
}

static int new_namespace(void)
{
	must(!unshare(CLONE_NEWNET), "unshare");
	ip("ip link set lo up && sysctl -qw net.ipv6.conf.default.addr_gen_mode=1 "
	   "net.ipv6.conf.default.accept_dad=0");
	return open("/proc/self/ns/net", O_RDONLY);
}

/* Link i joins node i and i + 1: interfaces right and left, MACs 2:0:0:0:i:0 and 1. */
static void make_links(const struct chain *c, const int ns[])
{
	for (unsigned i = 0; i <= c->switches; i++) {
		must(!setns(ns[i], CLONE_NEWNET), "setns");
		ip("ip link add right index 20 mtu %u address 2:0:0:0:%x:0 type veth peer name "
		   "left "
		   "index 11 mtu %u address 2:0:0:0:%x:1 netns /proc/%d/fd/%d && ip link set right "
		   "up "
		   "&& ethtool -K right tx off >/dev/null",
			MTU, i, MTU, i, getpid(), ns[i + 1]);
		must(!setns(ns[i + 1], CLONE_NEWNET), "setns");
		ip("ip link set left up && ethtool -K left tx off >/dev/null");
	}
}

/* Node number 1 .. n is switch 0xa01 .., n + 1 the receiver, 0xc02. */
static unsigned sid_of(const struct chain *c, unsigned node)
{
	return node > c->switches ? 0xc02 : 0xa00 + node;
}

static void fill_kernel(const struct chain *c, unsigned node)
{
	ip("sysctl -qw net.ipv6.conf.all.forwarding=1");
	ip("ip link add sid0 type veth peer name sid1 && ip link set sid0 up && ip link set sid1 "
	   "up");
	ip("ip -6 route add fc00:0:%x::/48 encap seg6local action End flavors next-csid lblen 32 "
	   "nflen 16 dev sid0",
		sid_of(c, node));
	ip("ip -6 neigh add fe80::1 lladdr 2:0:0:0:%x:1 dev right nud permanent", node);
	ip("ip -6 route add fc00:0:%x::/48 via fe80::1 dev right onlink", sid_of(c, node + 1));
}

static void fill_xdp(struct chain *c, unsigned node)
{
	struct weft_xdp_config config = { .hook = c->hook,
		.ports = 2,
		.sids = 16,
		.block = 0xfc000000,
		.mtu_bytes = MTU,
		.dscp = WEFT_DSCP_DEFAULT };
	struct weft_xdp **xdp = &c->programs[node - 1];
	struct weft_port_profile profile;
	char error[256];

	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, false, 1 << 20, 0);
	if (weft_xdp_open(xdp, &config, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		exit(77);
	}
	for (uint32_t p = 0; p < 2; p++) {
		unsigned link = node - 1 + p;
		struct weft_xdp_port port = { .ifindex = p ? 20 : 11,
			.mac = { 2, 0, 0, 0, link, !p },
			.peer_mac = { 2, 0, 0, 0, link, p },
			.is_peer = node + p > 1 && node + p <= c->switches,
			.rate_bps = c->rate_bps,
			.profile = &profile };

		if (weft_xdp_port_set(*xdp, p, &port, error, sizeof(error))) {
			fprintf(stderr, "%s\n", error);
			exit(1);
		}
	}
	struct weft_hop own = { .kind = WEFT_HOP_UN }, next = { .kind = WEFT_HOP_PORT, .port = 1 };

	must(weft_xdp_sid_add(*xdp, sid_of(c, node), &own), "sid");
	must(weft_xdp_sid_add(*xdp, sid_of(c, node + 1), &next), "sid");
}

static void set_int(int fd, int level, int option, int value)
{
	must(!setsockopt(fd, level, option, &value, sizeof(value)), "setsockopt");
}

static void open_ends(struct chain *c, const int ns[])
{
	char to[64] = "fc00:0";

	for (unsigned node = 1; node <= c->switches + 1; node++)
		snprintf(to + strlen(to), sizeof(to) - strlen(to), ":%x", sid_of(c, node));
	if (c->switches < 5)
		snprintf(to + strlen(to), sizeof(to) - strlen(to), "::");
	c->to = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(4793) };
	must(inet_pton(AF_INET6, to, &c->to.sin6_addr) == 1, to);
	must(!setns(ns[0], CLONE_NEWNET), "setns");
	ip("ip addr add fd00::1/128 dev lo nodad && ip -6 neigh add fe80::1 lladdr 2:0:0:0:0:1 dev "
	   "right "
	   "nud "
	   "permanent && ip -6 route add fc00::/32 via fe80::1 dev right onlink");
	c->tx = socket(AF_INET6, SOCK_DGRAM, 0);
	set_int(c->tx, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1);
	must(!setns(ns[c->switches + 1], CLONE_NEWNET), "setns");
	ip("ip -6 route add local fc00:0:c02::/48 dev lo");
	if (c->kind == BPF && c->hook == WEFT_XDP_AT_DRIVER)
		ip("ethtool -K left gro on >/dev/null"); /* NAPI, which XDP's neighbours need */
	c->rx = socket(AF_INET6, SOCK_DGRAM, 0);
	set_int(c->rx, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	set_int(c->rx, SOL_SOCKET, SO_RCVBUF, 1 << 20);
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(4793) };

	must(!bind(c->rx, (struct sockaddr *)&any, sizeof(any)), "bind");
}

static void build(struct chain *c)
{
	int ns[SWITCHES_MAX + 2];

	for (unsigned i = 0; i < c->switches + 2; i++)
		ns[i] = new_namespace();
	make_links(c, ns);
	for (unsigned node = 1; node <= c->switches; node++) {
		must(!setns(ns[node], CLONE_NEWNET), "setns");
		if (c->kind == KERNEL)
			fill_kernel(c, node);
		else
			fill_xdp(c, node);
	}
	open_ends(c, ns);
}

/* ---- measuring ---- */

/* What ksoftirqd of this CPU has used, so far. */
static FILE *open_ksoftirqd(void)
{
	char path[64], want[32], name[32];

	snprintf(want, sizeof(want), "ksoftirqd/%d", sched_getcpu());
	for (int pid = 2; pid < 4000; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		FILE *comm = fopen(path, "r");

		if (!comm)
			continue;
		bool is_found = fscanf(comm, "%31s", name) == 1 && !strcmp(name, want);

		fclose(comm);
		if (!is_found)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
		return fopen(path, "r");
	}
	return NULL;
}

/* CPU time of this process, softirqs in its system calls included, and of ksoftirqd. */
static double cpu_ns(void)
{
	static FILE *ksoftirqd;
	unsigned long long spent = 0;

	if (!ksoftirqd) {
		ksoftirqd = open_ksoftirqd();
		must(ksoftirqd != NULL, "ksoftirqd");
		setvbuf(ksoftirqd, NULL, _IONBF, 0);
	}
	rewind(ksoftirqd);
	must(fscanf(ksoftirqd, "%llu", &spent) == 1, "schedstat");
	struct rusage used;

	must(!getrusage(RUSAGE_SELF, &used), "getrusage");
	return ((double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec) * 1e9 +
	       ((double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec) * 1e3 +
	       (double)spent;
}

static unsigned exchange(struct chain *c)
{
	static char out[BYTES], in[BATCH][BYTES];
	struct mmsghdr tx[BATCH], rx[BATCH];
	struct iovec vec = { out, BYTES }, vecs[BATCH];

	for (unsigned i = 0; i < BATCH; i++) {
		vecs[i] = (struct iovec){ in[i], BYTES };
		tx[i].msg_hdr = (struct msghdr){ .msg_name = &c->to,
			.msg_namelen = sizeof(c->to),
			.msg_iov = &vec,
			.msg_iovlen = 1 };
		rx[i].msg_hdr = (struct msghdr){ .msg_iov = &vecs[i], .msg_iovlen = 1 };
	}
	must(sendmmsg(c->tx, tx, BATCH, 0) == BATCH, "sendmmsg");
	int n = recvmmsg(c->rx, rx, BATCH, MSG_DONTWAIT, NULL);

	return n > 0 ? (unsigned)n : 0;
}

static void measure(struct chain *c)
{
	enum { EXCHANGES = 16 };
	unsigned got = 0;
	double start = cpu_ns();

	for (unsigned i = 0; i < EXCHANGES; i++)
		got += exchange(c);
	double spent = cpu_ns() - start;

	c->lost += EXCHANGES * BATCH - got;
	if (got && c->turns < TURNS_MAX)
		c->turn_ns[c->turns++] = spent / got;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile_ns(struct chain *c, unsigned percent)
{
	return c->turns ? c->turn_ns[c->turns * percent / 100] : 0;
}

static struct chain chains[] = {
	{ .name = "no switch", .kind = DIRECT },
	{ .name = "3 kernel", .kind = KERNEL, .switches = 3 },
	{ .name = "5 kernel", .kind = KERNEL, .switches = 5 },
	{ .name = "3 tc", .kind = BPF, .switches = 3 },
	{ .name = "5 tc", .kind = BPF, .switches = 5 },
	{ .name = "3 tc, queues", .kind = BPF, .rate_bps = RATE_BPS, .switches = 3 },
	{ .name = "5 tc, queues", .kind = BPF, .rate_bps = RATE_BPS, .switches = 5 },
	{ .name = "3 driver", .kind = BPF, .hook = WEFT_XDP_AT_DRIVER, .switches = 3 },
	{ .name = "5 driver", .kind = BPF, .hook = WEFT_XDP_AT_DRIVER, .switches = 5 },
	{ .name = "3 driver, queues",
		.kind = BPF,
		.hook = WEFT_XDP_AT_DRIVER,
		.rate_bps = RATE_BPS,
		.switches = 3 },
	{ .name = "5 driver, queues",
		.kind = BPF,
		.hook = WEFT_XDP_AT_DRIVER,
		.rate_bps = RATE_BPS,
		.switches = 5 },
};
enum { CHAINS = sizeof(chains) / sizeof(chains[0]) };

static void pin(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	must(!sched_setaffinity(0, sizeof(cpu), &cpu), "pin");
}

static void print_hops(unsigned percent)
{
	double none = quantile_ns(&chains[0], percent), kernel = 0, kernel_next = 0;

	printf("at the %u %% quantile           hop, ns  of kernel's   next hop, ns  of kernel's\n",
		percent);
	for (unsigned i = 1; i < CHAINS; i += 2) {
		double three = quantile_ns(&chains[i], percent),
		       five = quantile_ns(&chains[i + 1], percent);
		double hop = (three - none) / 3, next = (five - three) / 2;

		if (i == 1) {
			kernel = hop;
			kernel_next = next;
		}
		printf("  %-28s %8.0f %12.2f %14.0f %12.2f\n", chains[i].name + 2, hop,
			hop / kernel, next, next / kernel_next);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;

	pin();
	for (unsigned i = 0; i < CHAINS; i++)
		build(&chains[i]);
	for (unsigned i = 0; i < CHAINS; i++)
		exchange(&chains[i]);
	double end = bench_now_ns() + seconds * 1e9;

	while (bench_now_ns() < end) {
		for (unsigned i = 0; i < CHAINS; i++)
			measure(&chains[i]);
	}
	printf("CPU per packet of %u B, ns   quiet   median\n", BYTES);
	for (unsigned i = 0; i < CHAINS; i++) {
		qsort(chains[i].turn_ns, chains[i].turns, sizeof(double), compare);
		printf("  %-22s %9.0f %8.0f   (%u turns, %u lost)\n", chains[i].name,
			quantile_ns(&chains[i], 10), quantile_ns(&chains[i], 50), chains[i].turns,
			chains[i].lost);
	}
	print_hops(10);
	print_hops(50);
	for (unsigned i = 0; i < CHAINS; i++) {
		for (unsigned k = 0; k < SWITCHES_MAX; k++)
			weft_xdp_close(chains[i].programs[k]);
	}
	return 0;
}
