/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_bench - what a byte costs that crosses three hops of the soft fabric, beside TCP on a veth.
 *
 *   sender ==rings==> [ switch process: T0 - T1 - T0 ] ==rings==> receiver      ring, weft
 *   sender ============ one veth, MTU 4200, offloads off ============> receiver  tcp
 *
 * Each contender moves the same bytes, 4096 per packet, from a 16 MiB buffer into another one; CPU
 * seconds of all processes and of the kernel's softirq threads are added up.  "ring" is the switch
 * with next to nothing at its edge: a copy into a slot, a copy out of it, a credit every 32
 * packets.  "weft" is the product: engine, NSCC, SACKs, ICRC, over port/shm.  The switch is built
 * for links faster than this machine, so it is the machine that is measured.
 *
 * CPU per hop is the switch process's, everything included, over the frames that its switches took
 * in.  Its peer is kernel seg6local: what bare UDP costs more over three namespaces of weft lab
 * --fabric kernel than over the veth, per packet and hop.  Medians over rounds.
 *
 * Usage: soft_bench [MIB [ROUNDS [CONTENDER]]]
 */
#include "peers.h"

static const char fabric_text[] = "name: bench\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: [a, b]\n"
				  "host_links: {speed: 100Gb/s, delay: 500ns}\n"
				  "core_links: {speed: 100Gb/s, delay: 500ns}\nmtu: 4200\n"
				  "base_rtt: 200us\n";

/* ---- ring ---- */

struct end {
	struct weft_shm_pool pool;
	struct weft_shm_link *link;
	uint32_t free[4096], n_free;
};

static void attach(struct end *end, const char *host)
{
	struct weft_shm_hello hello = { .udp_port = PORT };
	char path[96], error[256];

	snprintf(path, sizeof(path), "%s/ports", dir);
	snprintf(hello.host, sizeof(hello.host), "%s", host);
	if (weft_shm_dial(path, &hello, &end->pool, &end->link, error, sizeof(error)))
		die(error);
}

/* Sleeps until there is something in the ring. */
static void wait_for(struct end *end, uint32_t ring)
{
	struct pollfd fd = { .fd = weft_shm_wait_fd(end->link), .events = POLLIN };

	weft_shm_will_sleep(end->link, true);
	if (!weft_shm_waiting(end->link, ring))
		(void)poll(&fd, 1, 100);
	weft_shm_will_sleep(end->link, false);
	(void)weft_shm_bell_clear(end->link);
}

static void put_headers(uint8_t *ip, uint32_t src, uint32_t dst, uint64_t n, uint32_t bytes)
{
	uint32_t ev = weft_ev((uint32_t)n & 1, (uint32_t)n >> 1 & 1);
	uint16_t udp_bytes = htons((uint16_t)(bytes - 40)), port = htons(PORT);

	memset(ip, 0, 48);
	ip[0] = 0x60;
	memcpy(ip + 4, &udp_bytes, 2);
	ip[6] = 17;
	ip[7] = 64;
	weft_topo_host_addr(topo, src, weft_ev_plane(ev), ip + 8);
	(void)weft_topo_usid(topo, src, dst, ev, ip + 24);
	memcpy(ip + 42, &port, 2);
	memcpy(ip + 44, &udp_bytes, 2);
}

static bool ring_put(struct end *end, uint32_t src, uint64_t n, const void *payload, uint32_t bytes)
{
	struct weft_shm_desc d[64];

	if (!end->n_free) {
		size_t got = weft_shm_take(end->link, WEFT_SHM_FILL, d, 64);

		for (size_t i = 0; i < got; i++)
			end->free[end->n_free++] = d[i].slot;
	}
	if (!end->n_free)
		return false;
	d[0] = (struct weft_shm_desc){ .at_ns = weft_clock_now(NULL),
		.slot = end->free[--end->n_free],
		.bytes = (uint16_t)(HEADERS + bytes) };
	uint8_t *ip = weft_shm_packet(&end->pool, d[0].slot);

	put_headers(ip, src, !src, n, HEADERS + bytes);
	memcpy(ip + HEADERS, payload, bytes);
	if (weft_shm_put(end->link, WEFT_SHM_TX + ((uint32_t)n & 1), d, 1))
		return true;
	end->free[end->n_free++] = d[0].slot;
	return false;
}

static void ring_send(void)
{
	static struct end end;
	uint64_t sent = 0, credited = 0, n = total_bytes / PKT;
	struct weft_shm_desc d[BATCH];

	attach(&end, "a");
	while (credited < n) {
		unsigned moved = 0;

		for (; moved < BATCH && sent < n && sent - credited < WINDOW; moved++, sent++)
			if (!ring_put(&end, 0, sent, buffer + sent * PKT % BUFFER, PKT))
				break;
		weft_shm_bell(end.link);
		size_t got = weft_shm_take(end.link, WEFT_SHM_RX, d, BATCH);

		for (size_t i = 0; i < got; i++) {
			uint64_t told;

			memcpy(&told, weft_shm_packet(&end.pool, d[i].slot) + HEADERS, 8);
			credited = WEFT_MAX(credited, told);
		}
		(void)weft_shm_put(end.link, WEFT_SHM_DONE, d, got);
		if (!got && !moved)
			wait_for(&end,
				sent - credited < WINDOW && sent < n ? WEFT_SHM_FILL : WEFT_SHM_RX);
	}
}

static void ring_receive(void)
{
	static struct end end;
	uint64_t got = 0, told = 0, n = total_bytes / PKT;
	struct weft_shm_desc d[BATCH];

	attach(&end, "b");
	while (got < n) {
		size_t k = weft_shm_take(end.link, WEFT_SHM_RX, d, BATCH);

		if (!k)
			wait_for(&end, WEFT_SHM_RX);
		for (size_t i = 0; i < k; i++, got++)
			memcpy(buffer + got * PKT % BUFFER,
				weft_shm_packet(&end.pool, d[i].slot) + HEADERS, PKT);
		(void)weft_shm_put(end.link, WEFT_SHM_DONE, d, k);
		if (got - told < BATCH && got < n)
			continue;
		told = got;
		while (!ring_put(&end, 1, 0, &told, sizeof(told)))
			wait_for(&end, WEFT_SHM_FILL);
		weft_shm_bell(end.link);
	}
	usleep(20000); /* until the last credit has left */
}

/* ---- Weft ---- */

static struct weft_live *open_live(int end)
{
	static struct weft_live_config config;
	struct weft_live *live;
	char error[256];

	setenv("WEFT_SWITCH", dir, 1);
	weft_live_defaults(&config);
	config.fabric = fabric;
	config.host = end ? "b" : "a";
	config.via = "shm";
	if (weft_live_open(&live, &config, error, sizeof(error)))
		die(error);
	return live;
}

static void weft_send(void)
{
	struct weft_live *live = open_live(0);
	struct weft_session session;
	struct weft_done done[16];
	uint64_t posted = 0, completed = 0, n = total_bytes / MESSAGE;
	char error[256];
	json_t *app = json_object();

	for (unsigned tries = 0; weft_live_connect(
		     live, "b", PORT, 1, app, UINT64_C(1000000000), &session, error, sizeof(error));
		tries++) {
		if (tries > 200)
			die(error);
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
	const struct weft_counters *c = weft_stats(weft_live_endpoint(live));

	if (getenv("BENCH_VERBOSE"))
		fprintf(stderr, "weft: %llu data packets, %llu again, %llu timeouts, %llu SACKs\n",
			(unsigned long long)c->tx_data_pkts, (unsigned long long)c->tx_rtx_pkts,
			(unsigned long long)c->timeouts, (unsigned long long)c->rx_sack);
}

static void weft_receive(void)
{
	struct weft_live *live = open_live(1);
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
	uint64_t end = 0;

	while (stats->placed_bytes < total_bytes || weft_clock_now(NULL) < end) {
		weft_pump_step(weft_live_pump(live), 1000000);
		if (stats->placed_bytes >= total_bytes && !end)
			end = weft_clock_now(NULL) + 100000000; /* the last acknowledgements */
	}
}

/* ---- the ring of contenders ---- */

static const struct contender {
	const char *name;
	void (*send)(void), (*receive)(void);
	bool by_switch;
} contenders[] = {
	{ "tcp, veth", tcp_send, tcp_receive, false },
	{ "udp, veth", udp_veth_send, udp_veth_receive, false },
	{ "udp, seg6", udp_kernel_send, udp_kernel_receive, false },
	{ "ring", ring_send, ring_receive, true },
	{ "weft", weft_send, weft_receive, true },
};
enum { UDP_VETH = 1, UDP_SEG6 = 2, HOPS = 3 };

struct sample {
	double cpu_s, wall_s, switch_s, hop_us;
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
		fprintf(stderr, "soft_bench: an end failed\n");
		exit(1);
	}
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void serve(void)
{
	struct weft_switchd_config config = { .fabric = fabric, .dir = dir };
	struct weft_switchd *sw;
	volatile int never = 0;
	char error[256];

	if (weft_switchd_open(&sw, &config, error, sizeof(error)))
		die(error);
	weft_switchd_run(sw, &never);
	weft_switchd_close(sw);
}

static pid_t start(void (*run)(void), int netns)
{
	pid_t child = fork();

	if (child)
		return child;
	if (netns >= 0 && setns(netns, CLONE_NEWNET))
		die("setns");
	alarm(60);
	run();
	_exit(0);
}

static json_t *ask(const char *op)
{
	json_t *request = json_pack("{s:s}", "op", op), *answer;
	char error[256];

	for (unsigned i = 0; weft_switchd_ask(dir, request, &answer, error, sizeof(error)); i++) {
		if (i > 200)
			die(error);
		usleep(5000);
	}
	json_decref(request);
	return answer;
}

static struct sample run_one(const struct contender *c, int netns)
{
	pid_t fabric_pid = c->by_switch ? start(serve, -1) : 0;
	struct sample sample = { 0 };

	if (fabric_pid)
		json_decref(ask("hello"));
	double before = softirq_s();
	pid_t receiver = start(c->receive, c->by_switch ? -1 : netns);

	usleep(50000); /* until it listens */
	uint64_t from = weft_clock_now(NULL);
	pid_t sender = start(c->send, -1);

	sample.cpu_s = cpu_of(sender);
	sample.wall_s = (double)(weft_clock_now(NULL) - from) / 1e9;
	sample.cpu_s += cpu_of(receiver);
	if (fabric_pid) {
		json_t *counters = ask("counters");
		json_t *all = json_object_get(counters, "fabric");
		double hops = (double)json_integer_value(json_object_get(all, "hops"));
		char *drops = json_dumps(json_object_get(counters, "hosts"), 0);

		json_decref(ask("stop"));
		sample.switch_s = cpu_of(fabric_pid);
		sample.hop_us = sample.switch_s * 1e6 / hops;
		if (getenv("BENCH_VERBOSE"))
			fprintf(stderr, "%s: %.0f hops, dropped %s\n", c->name, hops, drops);
		free(drops);
		json_decref(counters);
	}
	sample.cpu_s += sample.switch_s + softirq_s() - before;
	return sample;
}

/* $1: a process in the far namespace; $2, $3: near and far address. */
static const char script[] =
	"far() { nsenter -t $holder -n \"$@\"; }; holder=$1\n"
	"ip link add v0 index 101 mtu 4200 type veth peer name v1 index 202 mtu 4200 netns $1\n"
	"ip addr add $2/64 dev v0 nodad; far ip addr add $3/64 dev v1 nodad\n"
	"off='tso off gso off gro off tx off rx off sg off'\n"
	"ethtool -K v0 $off >/dev/null 2>&1; far ethtool -K v1 $off >/dev/null 2>&1\n"
	"ip link set v0 up; far ip link set v1 up; ip link set lo up; far ip link set lo up\n"
	"sleep 0.2";

/* Two namespaces and a veth; returns the far one. */
static int build(void)
{
	char command[1024], path[64];

	if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET)) {
		fprintf(stderr, "soft_bench: skipped: no network namespaces here\n");
		exit(77);
	}
	pid_t holder = fork();
	if (!holder) {
		if (unshare(CLONE_NEWNET))
			die("unshare");
		pause();
	}
	usleep(100000);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", holder);
	int fd = open(path, O_RDONLY);
	snprintf(command, sizeof(command), "set -e -- %d %s %s; %s", holder, addr_text[0],
		addr_text[1], script);
	if (fd < 0 || system(command))
		die("the veth pair");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return fd;
}

static void build_fabric(void)
{
	char error[256];

	snprintf(dir, sizeof(dir), "/tmp/soft-bench-XXXXXX");
	if (!mkdtemp(dir))
		die(dir);
	snprintf(fabric, sizeof(fabric), "%s/fabric.yaml", dir);
	FILE *out = fopen(fabric, "w");
	if (!out || fputs(fabric_text, out) < 0 || fclose(out))
		die(fabric);
	if (weft_topo_open(&topo, fabric, error, sizeof(error))) {
		fprintf(stderr, "soft_bench: %s\n", error);
		exit(1);
	}
}

/* Kernel switches; NULL: not without root. */
static struct weft_lab *build_lab(void)
{
	struct weft_lab_options options = { .fabric = fabric,
		.name = "soft-bench",
		.rate_bps = WEFT_LAB_RATE_NONE,
		.switches = WEFT_LAB_SWITCHES_KERNEL };
	struct weft_lab *lab = NULL;
	char error[256];

	setenv("WEFT_LABS", dir, 1);
	if (getuid() || weft_lab_up(&options, error, sizeof(error)) ||
		weft_lab_open(&lab, options.name, error, sizeof(error))) {
		fprintf(stderr, "soft_bench: no kernel switches: %s\n",
			getuid() ? "no root" : error);
		return NULL;
	}
	return lab;
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

static void print(
	const struct contender *c, const struct sample samples[], const double ratios[], int rounds)
{
	double wall[ROUNDS_MAX], cpu[ROUNDS_MAX], own[ROUNDS_MAX], hop[ROUNDS_MAX],
		ratio[ROUNDS_MAX], gib = (double)total_bytes / (1u << 30);

	for (int r = 0; r < rounds; r++) {
		wall[r] = samples[r].wall_s;
		cpu[r] = samples[r].cpu_s;
		own[r] = samples[r].switch_s;
		hop[r] = samples[r].hop_us;
		ratio[r] = ratios[r];
	}
	printf("%-10s %8.2f %12.3f %10.3f %14.3f %12.3f\n", c->name,
		(double)total_bytes * 8 / 1e9 / median(wall, rounds), median(cpu, rounds) / gib,
		median(ratio, rounds), median(own, rounds) / gib, median(hop, rounds));
}

int main(int argc, char **argv)
{
	static struct sample samples[WEFT_COUNT(contenders)][ROUNDS_MAX];
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
	const char *only = argc > 3 ? argv[3] : NULL;
	char command[96], error[256];

	if (argc > 1)
		total_bytes = strtoull(argv[1], NULL, 10) << 20;
	rounds = WEFT_MIN(WEFT_MAX(rounds, 1), ROUNDS_MAX);
	buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		die("mmap");
	build_fabric();
	struct weft_lab *lab = only && strcmp(only, "udp, seg6") ? NULL : build_lab();
	int netns = build();
	for (int r = 0; r < rounds; r++)
		for (size_t i = 0; i < WEFT_COUNT(contenders); i++)
			if (only ? !strcmp(only, contenders[i].name) : i != UDP_SEG6 || lab)
				samples[i][r] = run_one(&contenders[i], netns);
	/* What the kernel's hops cost: the same datagrams without them are the rest. */
	for (int r = 0; r < rounds && lab && !only; r++)
		samples[UDP_SEG6][r].hop_us =
			(samples[UDP_SEG6][r].cpu_s - samples[UDP_VETH][r].cpu_s) * 1e6 /
			((double)total_bytes / PKT * HOPS);
	if (lab)
		(void)weft_lab_down(lab, error, sizeof(error));
	weft_lab_close(lab);
	printf("%-10s %8s %12s %10s %14s %12s\n", "", "Gb/s", "CPU s/GiB", "x tcp", "switch s/GiB",
		"us per hop");
	for (size_t i = 0; i < WEFT_COUNT(contenders); i++) {
		double ratios[ROUNDS_MAX];

		for (int r = 0; r < rounds; r++)
			ratios[r] = only ? 0 : samples[i][r].cpu_s / samples[0][r].cpu_s;
		if (samples[i][0].cpu_s > 0)
			print(&contenders[i], samples[i], ratios, rounds);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return !!system(command);
}
