/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_bench - what a reliable byte costs beside a bare one.
 *
 *   child process in namespace A  ==== one veth, MTU 4200, offloads off ====  child in namespace B
 *
 * Each contender moves the same bytes, 4096 per packet, from a 16 MiB buffer into another one, one
 * after the other, in rounds; CPU seconds of both processes and of the kernel's softirq threads
 * are added up.  "udp" is the floor: sendmmsg and recvmmsg by 32 with a credit every 32 packets and
 * nothing else, received straight into place.  Medians over the rounds; the machine drifts, so only
 * ratios within a run mean anything.  Usage: udp_bench [MIB [ROUNDS [CONTENDER...]]]
 */
#include <weft/session.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/base.h>

#define PKT 4096u
#define HEADERS 48u
#define BATCH 32u
#define WINDOW 256u
#define BUFFER (16u << 20)
#define MESSAGE (1u << 20)
#define PORT 29700
#define ROUNDS_MAX 21

static uint64_t total_bytes = UINT64_C(512) << 20;
static uint8_t *buffer;
static const char *const addr_text[2] = { "fd00::1", "fd00::2" };
static const char *const addr4_text = "10.99.0.2"; /* for who has no IPv6 */
static struct in6_addr addr[2];

static void die(const char *what)
{
	fprintf(stderr, "udp_bench: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static struct sockaddr_in6 name_of(int end, uint16_t port)
{
	return (struct sockaddr_in6){
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = addr[end]
	};
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* ---- bare UDP ---- */

static int bare_socket(int end, bool checksum)
{
	struct sockaddr_in6 name = name_of(end, PORT);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	(void)set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20);
	(void)set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 2 << 20);
	(void)set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, !checksum);
	(void)set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)))
		die("bind");
	return fd;
}

static void bare_send(bool checksum)
{
	static uint8_t headers[BATCH][HEADERS];
	struct sockaddr_in6 to = name_of(1, PORT);
	struct iovec iov[BATCH][2];
	struct mmsghdr msgs[BATCH];
	uint64_t sent = 0, credited = 0, n = total_bytes / PKT;
	int fd = bare_socket(0, checksum);

	while (sent < n) {
		while (sent - credited > WINDOW - BATCH)
			if (recv(fd, &credited, sizeof(credited), 0) < 0)
				die("recv");
		unsigned batch = (unsigned)WEFT_MIN(n - sent, (uint64_t)BATCH);

		for (unsigned i = 0; i < batch; i++) {
			memcpy(headers[i], &sent, sizeof(sent));
			iov[i][0] = (struct iovec){ headers[i], HEADERS };
			iov[i][1] = (struct iovec){ buffer + (sent + i) * PKT % BUFFER, PKT };
			msgs[i].msg_hdr = (struct msghdr){ .msg_name = &to,
				.msg_namelen = sizeof(to),
				.msg_iov = iov[i],
				.msg_iovlen = 2 };
		}
		int done = sendmmsg(fd, msgs, batch, 0);

		if (done <= 0)
			die("sendmmsg");
		sent += (unsigned)done;
	}
	while (credited < n)
		if (recv(fd, &credited, sizeof(credited), 0) < 0)
			die("recv");
}

static void bare_receive(bool checksum)
{
	static uint8_t headers[BATCH][HEADERS];
	struct sockaddr_in6 to = name_of(0, PORT);
	struct iovec iov[BATCH][2];
	struct mmsghdr msgs[BATCH];
	uint64_t got = 0, told = 0, n = total_bytes / PKT;
	int fd = bare_socket(1, checksum);

	while (got < n) {
		for (unsigned i = 0; i < BATCH; i++) {
			iov[i][0] = (struct iovec){ headers[i], HEADERS };
			iov[i][1] = (struct iovec){ buffer + (got + i) * PKT % BUFFER, PKT };
			msgs[i].msg_hdr = (struct msghdr){ .msg_iov = iov[i], .msg_iovlen = 2 };
		}
		int done = recvmmsg(fd, msgs, BATCH, MSG_WAITFORONE, NULL);

		if (done <= 0)
			die("recvmmsg");
		got += (unsigned)done;
		if (got - told < BATCH && got < n)
			continue;
		told = got;
		if (sendto(fd, &got, sizeof(got), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sendto");
	}
}

static void udp_send(void)
{
	bare_send(false);
}

static void udp_receive(void)
{
	bare_receive(false);
}

static void udp_sum_send(void)
{
	bare_send(true);
}

static void udp_sum_receive(void)
{
	bare_receive(true);
}

/* ---- streams ---- */

static int stream_socket(int protocol)
{
	int fd = socket(AF_INET6, SOCK_STREAM, protocol);

	if (fd < 0)
		die("socket");
	(void)set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return fd;
}

static void stream_send(int protocol)
{
	struct sockaddr_in6 to = name_of(1, PORT);
	uint64_t sent = 0;
	int fd = stream_socket(protocol);

	for (unsigned i = 0; connect(fd, (struct sockaddr *)&to, sizeof(to)); i++) {
		if (i > 200)
			die("connect");
		close(fd);
		usleep(5000);
		fd = stream_socket(protocol);
	}
	while (sent < total_bytes) {
		uint64_t bytes = WEFT_MIN(total_bytes - sent, (uint64_t)256 << 10);
		ssize_t n = send(fd, buffer + sent % BUFFER, bytes, 0);

		if (n <= 0)
			die("send");
		sent += (uint64_t)n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, buffer, 1, 0) > 0)
		;
}

static void stream_receive(int protocol)
{
	struct sockaddr_in6 name = name_of(1, PORT);
	uint64_t got = 0;
	int listener = stream_socket(protocol), fd;

	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) || listen(listener, 1))
		die("listen");
	fd = accept(listener, NULL, NULL);
	while (got < total_bytes) {
		uint64_t at = got % BUFFER;
		ssize_t n = recv(fd, buffer + at, WEFT_MIN(BUFFER - at, (uint64_t)256 << 10), 0);

		if (n <= 0)
			die("recv");
		got += (uint64_t)n;
	}
}

static void tcp_send(void)
{
	stream_send(IPPROTO_TCP);
}

static void tcp_receive(void)
{
	stream_receive(IPPROTO_TCP);
}

static void mptcp_send(void)
{
	stream_send(IPPROTO_MPTCP);
}

static void mptcp_receive(void)
{
	stream_receive(IPPROTO_MPTCP);
}

/* ---- Weft ---- */

static struct weft_live *open_live(int end, const char *via, bool checksum)
{
	static struct weft_live_config config;
	struct weft_live *live;
	char error[256];

	weft_live_defaults(&config);
	config.planes = addr_text[end];
	config.mtu_bytes = PKT;
	config.no_checksum = !checksum;
	config.via = via;
	if (weft_live_open(&live, &config, error, sizeof(error))) {
		fprintf(stderr, "udp_bench: %s\n", error);
		_exit(1);
	}
	return live;
}

static void report_port(struct weft_live *live, const char *who)
{
	const struct weft_port_stats *p = &weft_live_port(live)->stats;
	const struct weft_pump_stats *s = weft_pump_stats(weft_live_pump(live));
	const struct weft_counters *c = weft_stats(weft_live_endpoint(live));

	if (getenv("BENCH_VERBOSE"))
		fprintf(stderr,
			"%s: steps %llu waits %llu rx %llu/%llu tx %llu/%llu sacks %llu/%llu rtx "
			"%llu "
			"timeouts %llu\n",
			who, (unsigned long long)s->steps, (unsigned long long)s->waits,
			(unsigned long long)p->rx_pkts, (unsigned long long)p->rx_calls,
			(unsigned long long)p->tx_pkts, (unsigned long long)p->tx_calls,
			(unsigned long long)c->tx_sack, (unsigned long long)c->rx_sack,
			(unsigned long long)c->tx_rtx_pkts, (unsigned long long)c->timeouts);
}

static void weft_send(const char *via, bool checksum)
{
	struct weft_live *live = open_live(0, via, checksum);
	struct weft_session session;
	struct weft_done done[16];
	uint64_t posted = 0, completed = 0, n = total_bytes / MESSAGE;
	char error[256];
	json_t *app = json_object();
	unsigned tries = 0;

	while (weft_live_connect(live, addr_text[1], PORT, 1, app, UINT64_C(1000000000), &session,
		error, sizeof(error))) {
		if (++tries > 200) {
			fprintf(stderr, "udp_bench: %s\n", error);
			_exit(1);
		}
		usleep(5000);
	}
	uint32_t rkey = (uint32_t)json_integer_value(json_object_get(session.app, "rkey"));

	while (completed < n) {
		while (posted < n && posted - completed < 16) {
			struct weft_work work = { .data = buffer + posted * MESSAGE % BUFFER,
				.remote_va = posted * MESSAGE % BUFFER,
				.len_bytes = MESSAGE,
				.rkey = rkey };

			if (weft_post_write(session.qp[0], &work))
				break;
			posted++;
		}
		weft_pump_step(weft_live_pump(live), 1000000);
		size_t got = weft_poll(weft_live_endpoint(live), 0, done, 16);

		for (size_t i = 0; i < got; i++)
			if (done[i].status != WEFT_OK)
				die(weft_status_name(done[i].status));
		completed += got;
	}
	report_port(live, "send");
}

static void weft_receive(const char *via, bool checksum)
{
	struct weft_live *live = open_live(1, via, checksum);
	struct weft_session session;
	struct weft_meeting *meeting;
	char error[256];
	uint32_t rkey;

	if (weft_region_add(weft_live_endpoint(live), 0, buffer, BUFFER, 0,
		    WEFT_ACCESS_REMOTE_WRITE, 1, &rkey) ||
		weft_live_listen(live, PORT, error, sizeof(error)) ||
		weft_live_accept(live, UINT64_C(5000000000), &meeting, error, sizeof(error)) != 1)
		die(error);
	json_t *app = json_pack("{s:I}", "rkey", (json_int_t)rkey);

	if (weft_live_answer(meeting, app, &session, error, sizeof(error)))
		die(error);
	const struct weft_pump_stats *stats = weft_pump_stats(weft_live_pump(live));

	/* The last acknowledgements are out when the sender has gone. */
	while (stats->placed_bytes < total_bytes || !weft_session_gone(live, &session))
		weft_pump_step(weft_live_pump(live), 1000000);
	report_port(live, "recv");
}

#define WEFT_CONTENDER(name, via, checksum)                                                        \
	static void name##_send(void)                                                              \
	{                                                                                          \
		weft_send(via, checksum);                                                          \
	}                                                                                          \
	static void name##_receive(void)                                                           \
	{                                                                                          \
		weft_receive(via, checksum);                                                       \
	}
WEFT_CONTENDER(weft_udp, "udp", false)
WEFT_CONTENDER(weft_sum, "udp", true)
WEFT_CONTENDER(weft_afpacket, "afpacket", false)
WEFT_CONTENDER(weft_afxdp, "afxdp", false)

/* ---- UCX over TCP, by its own benchmark: messages of 16 MiB ---- */

static void ucx(const char *server)
{
	char count[32], port[16];

	snprintf(count, sizeof(count), "%llu", (unsigned long long)(total_bytes >> 24));
	snprintf(port, sizeof(port), "%d", PORT);
	setenv("UCX_TLS", "tcp", 1);
	setenv("UCX_NET_DEVICES", server ? "v0" : "v1", 1);
	/* It looks for devices in /sys, which shows those of the namespace that mounted it. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("sysfs", "/sys", "sysfs", 0, NULL))
		die("/sys");
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		die("/dev/null");
	if (server)
		execlp("ucx_perftest", "ucx_perftest", server, "-p", port, "-t", "tag_bw", "-s",
			"16777216", "-w", "0", "-n", count, "-f", (char *)NULL);
	else
		execlp("ucx_perftest", "ucx_perftest", "-p", port, (char *)NULL);
	_exit(1);
}

static void ucx_send(void)
{
	ucx(addr4_text);
}

static void ucx_receive(void)
{
	ucx(NULL);
}

/* ---- the ring ---- */

static const struct contender {
	const char *name;
	void (*send)(void), (*receive)(void);
	int floor;              /* index of what it is compared with */
	unsigned head_start_us; /* for the receiver */
} contenders[] = {
	{ "udp", udp_send, udp_receive, 0, 20000 },
	{ "weft", weft_udp_send, weft_udp_receive, 0, 20000 },
	{ "weft afpacket", weft_afpacket_send, weft_afpacket_receive, 1, 50000 },
	{ "weft afxdp", weft_afxdp_send, weft_afxdp_receive, 1, 50000 },
	{ "udp, checksums", udp_sum_send, udp_sum_receive, 4, 20000 },
	{ "weft, checksums", weft_sum_send, weft_sum_receive, 4, 20000 },
	{ "tcp", tcp_send, tcp_receive, 0, 20000 },
	{ "mptcp", mptcp_send, mptcp_receive, 0, 20000 },
	{ "ucx tcp", ucx_send, ucx_receive, 0,
		500000 }, /* last: left out where it is not installed */
};

struct sample {
	double cpu_s, wall_s;
};

/* CPU seconds of the kernel's softirq threads so far. */
static double softirq_s(void)
{
	FILE *ls = popen("cat /proc/[0-9]*/stat 2>/dev/null | grep '(ksoftirqd/'", "r");
	char line[1024];
	double ticks = 0;

	while (ls && fgets(line, sizeof(line), ls)) {
		unsigned long user, system;

		if (sscanf(strrchr(line, ')'),
			    ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			    &system) == 2)
			ticks += (double)(user + system);
	}
	if (ls)
		pclose(ls);
	return ticks / (double)sysconf(_SC_CLK_TCK);
}

static double cpu_of(pid_t child)
{
	struct rusage use;
	int status;

	if (wait4(child, &status, 0, &use) < 0 || status) {
		fprintf(stderr, "udp_bench: an end failed\n");
		exit(1);
	}
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static pid_t start(void (*run)(void), int netns)
{
	pid_t child = fork();

	if (child)
		return child;
	if (netns >= 0 && setns(netns, CLONE_NEWNET))
		die("setns");
	alarm(120);
	run();
	_exit(0);
}

static struct sample run_one(const struct contender *c, int netns)
{
	double before = softirq_s();
	pid_t receiver = start(c->receive, netns);

	usleep(c->head_start_us); /* until it listens */
	uint64_t from = weft_clock_now(NULL);
	pid_t sender = start(c->send, -1);
	struct sample sample = { .cpu_s = cpu_of(sender) };

	sample.wall_s = (double)(weft_clock_now(NULL) - from) / 1e9;
	sample.cpu_s += cpu_of(receiver) + softirq_s() - before;
	return sample;
}

/* $1: a process in the far namespace; $2, $3: near and far address. */
static const char script[] =
	"far() { nsenter -t $holder -n \"$@\"; }; holder=$1\n"
	"ip link add v0 index 101 mtu 4200 type veth peer name v1 index 202 mtu 4200 netns $1\n"
	"ip addr add $2/64 dev v0 nodad; far ip addr add $3/64 dev v1 nodad\n"
	"ip addr add 10.99.0.1/24 dev v0; far ip addr add 10.99.0.2/24 dev v1\n"
	"off='tso off gso off gro off tx off rx off sg off'\n"
	"ethtool -K v0 $off >/dev/null 2>&1; far ethtool -K v1 $off >/dev/null 2>&1\n"
	"ip link set v0 up; far ip link set v1 up; ip link set lo up; far ip link set lo up\n"
	"sleep 0.2";

/* Two namespaces and a veth; returns the far one. */
static int build(void)
{
	char command[1024], path[64];
	pid_t holder;
	int fd;

	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET)) {
		fprintf(stderr, "udp_bench: skipped: no network namespaces here\n");
		exit(77);
	}
	holder = fork();
	if (!holder) {
		if (unshare(CLONE_NEWNET))
			die("unshare");
		pause();
	}
	usleep(100000);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", holder);
	fd = open(path, O_RDONLY);
	snprintf(command, sizeof(command), "set -e -- %d %s %s; %s", holder, addr_text[0],
		addr_text[1], script);
	if (fd < 0 || system(command))
		die("the veth pair");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return fd;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return values[n / 2];
}

static double calibrate_ns(void)
{
	uint64_t from = weft_clock_now(NULL);

	for (unsigned i = 0; i < 20000; i++)
		memcpy(buffer + (i * 2 + 1) * PKT % BUFFER, buffer + i * 2 * PKT % BUFFER, PKT);
	return (double)(weft_clock_now(NULL) - from) / 20000;
}

/* All contenders, or those named from the third argument on. */
static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 3; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc <= 3;
}

int main(int argc, char **argv)
{
	static struct sample samples[WEFT_COUNT(contenders)][ROUNDS_MAX];
	static double floor_cpu[WEFT_COUNT(contenders)][ROUNDS_MAX];
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;

	if (argc > 1)
		total_bytes = strtoull(argv[1], NULL, 10) << 20;
	rounds = WEFT_MIN(WEFT_MAX(rounds, 1), ROUNDS_MAX);
	for (int i = 0; i < 2; i++)
		inet_pton(AF_INET6, addr_text[i], &addr[i]);
	buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		die("mmap");
	int netns = build();
	size_t n = WEFT_COUNT(contenders) - !!system("command -v ucx_perftest >/dev/null");

	for (int r = 0; r < rounds; r++)
		for (size_t i = 0; i < n; i++)
			if (is_wanted(contenders[i].name, argc, argv))
				samples[i][r] = run_one(&contenders[i], netns);
	double gib = (double)total_bytes / (1u << 30);

	printf("%.2f GiB, %d rounds, medians; memcpy %.0f ns per 4 KiB\n", gib, rounds,
		calibrate_ns());
	printf("%-16s %9s %12s %10s\n", "", "Gb/s", "CPU s/GiB", "x floor");
	for (size_t i = 0; i < n; i++) {
		double wall[ROUNDS_MAX], cpu[ROUNDS_MAX];

		if (!is_wanted(contenders[i].name, argc, argv))
			continue;
		for (int r = 0; r < rounds; r++) {
			wall[r] = samples[i][r].wall_s;
			cpu[r] = samples[i][r].cpu_s;
			floor_cpu[i][r] = cpu[r] / samples[contenders[i].floor][r].cpu_s;
		}
		printf("%-16s %9.2f %12.3f %10.3f\n", contenders[i].name,
			(double)total_bytes * 8 / 1e9 / median(wall, rounds),
			median(cpu, rounds) / gib, median(floor_cpu[i], rounds));
	}
	return 0;
}
