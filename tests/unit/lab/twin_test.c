/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two fabrics, one behaviour: the same bytes through a lab and through a network in virtual time.
 *
 *    bytes --+--> AF_PACKET on h0's port --> lab's switches --> AF_PACKET on h3's port --> bytes
 *            |                                                                           equal?
 *            +--> weft_network_send() ----> network's switches --> weft_network_take() --> bytes
 *
 * Over every EV of a pair, a number of packets that tells it from its neighbours.  What arrives is
 * the same to the last bit (shifted address and hop limit included), by the same port; every uSID
 * of every switch has been used as often, and every port has sent as much, on both sides.
 */
#include "labs.h"

#include <weft/network.h>

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum {
	SLOTS = 2048,
	SLOT_BYTES = 2048,
	PORT = 9, /* discard: hosts say nothing about it, since there is no checksum */
	HEADERS = 48,
	SIDS = 64,
	STEP = 16, /* packets per path are multiples of it; a kernel adds fewer of its own */
};

#define GAP_PS UINT64_C(1000000000000) /* between packets: nothing ever waits */

static const char *const uneven =
	"name: twin\nplanes: 3\nt0s: 3\nt1s: 2\nparallel_links: 2\nhosts: 7\nhosts_per_t0: 3\n";

struct packet {
	uint8_t ip[SLOT_BYTES];
	uint32_t bytes, plane; /* plane: by which it was sent, by which it arrived */
	bool is_dying, is_there;
};

static struct weft_lab *lab;
static struct weft_network *network;
static const struct weft_topo *topo;
static struct packet sent[SLOTS], by_network[SLOTS];
static struct packet *by_lab; /* shared with whoever is inside */
static uint8_t slots[SLOTS * SLOT_BYTES];
static uint32_t n_sent, n_dying;
static char folder[64], error[256];

/* ---- the two fabrics ---- */

static void open_lab(const char *text, enum weft_lab_switches switches)
{
	char file[96];
	struct weft_lab_options options = { .fabric = file, .switches = switches };

	need_namespaces();
	if (!by_lab)
		by_lab = mmap(NULL, SLOTS * sizeof(*by_lab), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(by_lab != MAP_FAILED);
	snprintf(folder, sizeof(folder), "/tmp/weft-twin-XXXXXX");
	REQUIRE(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	snprintf(file, sizeof(file), "%s/fabric.yaml", folder);
	FILE *out = fopen(file, "w");
	REQUIRE(out && fputs(text, out) >= 0 && !fclose(out));
	int failed = weft_lab_up(&options, error, sizeof(error)) ||
		     weft_lab_open(&lab, NULL, error, sizeof(error));
	unlink(file);
	if (!failed) {
		topo = weft_lab_topo(lab);
		return;
	}
	rmdir(folder);
	CHECK_FAIL("%s", error);
	longjmp(check_leave, 1);
}

static void close_lab(void)
{
	if (weft_lab_down(lab, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	weft_lab_close(lab);
	CHECK(!rmdir(folder));
}

static void open_network(void)
{
	const struct weft_network_config config = {
		.topo = topo, .memory = slots, .slot_bytes = SLOT_BYTES, .frames = SLOTS, .seed = 1
	};

	if (!weft_network_open(&network, &config, error, sizeof(error)))
		return;
	CHECK_FAIL("%s", error);
	longjmp(check_leave, 1);
}

/* ---- packets ---- */

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* IPv6, UDP without a checksum, the packet's own number, then anything. */
static void add_packet(uint32_t src, uint32_t dst, uint32_t ev, uint8_t hop_limit)
{
	REQUIRE(n_sent < SLOTS);
	struct packet *p = &sent[n_sent];
	uint32_t payload = 4 + n_sent * 37 % 1200;

	*p = (struct packet){ .bytes = HEADERS + payload, .plane = weft_ev_plane(ev) };
	put16(p->ip, 0x6000 | 8 << 6); /* DSCP 8, not ECN-capable */
	put16(p->ip + 2, n_sent);
	put16(p->ip + 4, 8 + payload);
	p->ip[6] = IPPROTO_UDP;
	p->ip[7] = hop_limit;
	weft_topo_host_addr(topo, src, p->plane, p->ip + 8);
	REQUIRE(weft_topo_usid(topo, src, dst, ev, p->ip + 24));
	put16(p->ip + 40, 4096 + n_sent);
	put16(p->ip + 42, PORT);
	put16(p->ip + 44, 8 + payload);
	put16(p->ip + HEADERS, 0x5754);
	put16(p->ip + HEADERS + 2, n_sent);
	for (uint32_t i = 4; i < payload; i++)
		p->ip[HEADERS + i] = (uint8_t)(n_sent + i);
	n_sent++;
}

/* A number of packets for each path; is_dying: and one that the last switch may not pass on. */
static void make_packets(uint32_t src, uint32_t dst, bool is_dying)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint32_t uplinks = s->uplinks ? s->uplinks : 1, links[4], paths = 0;

	n_sent = n_dying = 0;
	for (uint32_t i = 0; i < s->planes * uplinks; i++) {
		uint32_t ev = weft_ev(i / uplinks, i % uplinks);
		size_t n = weft_topo_path_links(topo, src, dst, ev, links);

		if (!n)
			continue;
		for (uint32_t k = 0; k < STEP * (1 + paths % 7); k++)
			add_packet(src, dst, ev, (uint8_t)(k ? 64 + k : n)); /* n: just enough */
		if (is_dying) {
			add_packet(src, dst, ev, (uint8_t)(n - 1));
			sent[n_sent - 1].is_dying = true;
			n_dying++;
		}
		paths++;
	}
	CHECK_EQ(paths, weft_topo_paths(topo, src, dst));
}

static void keep(struct packet into[], const uint8_t *ip, uint32_t bytes, uint32_t plane)
{
	uint32_t i =
		bytes >= HEADERS + 4 ? (uint32_t)ip[HEADERS + 2] << 8 | ip[HEADERS + 3] : SLOTS;

	if (bytes < HEADERS + 4 || bytes > SLOT_BYTES || ip[HEADERS] != 0x57 ||
		ip[HEADERS + 1] != 0x54 || i >= n_sent)
		return; /* a host's own: errors quote ours, but further inside */
	CHECK(!into[i].is_there);
	memcpy(into[i].ip, ip, bytes);
	into[i].bytes = bytes;
	into[i].plane = plane;
	into[i].is_there = true;
}

/* ---- through the lab ---- */

/* In the host's namespace: one socket per port. */
static void open_ports(uint32_t host, int fds[], struct sockaddr_ll to[])
{
	REQUIRE(!weft_lab_enter(lab, host, error, sizeof(error)));
	for (uint32_t p = 0; p < weft_topo_shape(topo)->planes; p++) {
		struct ifreq request = { 0 };

		fds[p] = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		REQUIRE(fds[p] >= 0);
		snprintf(request.ifr_name, sizeof(request.ifr_name), "p%u", p);
		REQUIRE(!ioctl(fds[p], SIOCGIFHWADDR, &request));
		to[p] = (struct sockaddr_ll){ .sll_family = AF_PACKET,
			.sll_protocol = htons(ETH_P_IPV6),
			.sll_ifindex = (int)if_nametoindex(request.ifr_name),
			.sll_halen = 6 };
		memcpy(to[p].sll_addr, request.ifr_hwaddr.sa_data, 6);
		to[p].sll_addr[5] ^= 1; /* the other end of the cable */
		REQUIRE(!bind(fds[p], (struct sockaddr *)&to[p], sizeof(to[p])));
	}
}

static uint32_t take_packets(const int fds[])
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < weft_topo_shape(topo)->planes; p++) {
		struct sockaddr_ll from;
		socklen_t from_bytes = sizeof(from);
		uint8_t ip[SLOT_BYTES];
		ssize_t got;

		while ((got = recvfrom(fds[p], ip, sizeof(ip), 0, (struct sockaddr *)&from,
				&from_bytes)) >= 0) {
			if (from.sll_pkttype == PACKET_OUTGOING)
				continue;
			keep(by_lab, ip, (uint32_t)got, p);
		}
	}
	for (uint32_t i = 0; i < n_sent; i++)
		n += by_lab[i].is_there;
	return n;
}

/* Until all of the first n that should come have come. */
static void wait_for(const int rx[], uint32_t n)
{
	uint32_t due = 0;

	for (uint32_t i = 0; i < n; i++)
		due += !sent[i].is_dying;
	for (int i = 0; i < 2000 && take_packets(rx) < due; i++)
		poll(NULL, 0, 1);
}

static void cross_inside(uint32_t src, uint32_t dst)
{
	struct sockaddr_ll to[WEFT_TOPO_PLANES_MAX];
	int tx[WEFT_TOPO_PLANES_MAX], rx[WEFT_TOPO_PLANES_MAX];

	open_ports(dst, rx, to);
	open_ports(src, tx, to);
	for (uint32_t i = 0; i < n_sent; i++) {
		const struct packet *p = &sent[i];

		CHECK_EQ(sendto(tx[p->plane], p->ip, p->bytes, 0, (struct sockaddr *)&to[p->plane],
				 sizeof(to[0])),
			p->bytes);
		if (i % STEP == STEP - 1) /* buffers are small without root */
			wait_for(rx, i + 1);
	}
	wait_for(rx, n_sent);
	poll(NULL, 0, 20); /* for what should not come */
	CHECK_EQ(take_packets(rx), n_sent - n_dying);
	for (uint32_t p = 0; p < weft_topo_shape(topo)->planes; p++) {
		close(tx[p]);
		close(rx[p]);
	}
}

/* A lab that goes down ends what is inside, so that must be somebody else. */
static void cross_lab(uint32_t src, uint32_t dst)
{
	pid_t child;
	int status;

	memset(by_lab, 0, SLOTS * sizeof(*by_lab));
	fflush(NULL);
	child = fork();
	if (!child) {
		unsigned before = check_failures;

		if (!setjmp(check_leave))
			cross_inside(src, dst);
		fflush(NULL);
		_exit(check_failures != before);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* ---- through the network ---- */

static void cross_network(uint32_t src, uint32_t dst, uint64_t *now_ps)
{
	uint32_t arrived = 0, dropped = 0;

	memset(by_network, 0, sizeof(by_network));
	for (uint32_t i = 0; i < n_sent; i++) {
		const struct weft_frame frame = { .handle = i };
		struct weft_network_out out;

		memcpy(slots + (size_t)i * SLOT_BYTES, sent[i].ip, sent[i].bytes);
		REQUIRE(weft_network_send(
			network, src, sent[i].plane, &frame, sent[i].bytes, *now_ps));
		*now_ps += GAP_PS;
		weft_network_run(network, *now_ps);
		REQUIRE(weft_network_take(network, &out, 1) == 1);
		CHECK_EQ(out.frame.handle, i);
		if (out.drop) {
			CHECK_EQ(out.drop, WEFT_SWITCH_DROP_HOP_LIMIT);
			dropped++;
			continue;
		}
		CHECK_EQ(out.node, dst);
		keep(by_network, slots + (size_t)i * SLOT_BYTES,
			out.frame.bytes - WEFT_FRAME_ETHER_BYTES, out.plane);
		arrived++;
	}
	CHECK_EQ(arrived, n_sent - n_dying);
	CHECK_EQ(dropped, n_dying);
}

/* ---- the comparison ---- */

static void compare_packets(void)
{
	for (uint32_t i = 0; i < n_sent; i++) {
		const struct packet *a = &by_lab[i], *b = &by_network[i];

		CHECK_EQ(a->is_there, b->is_there);
		CHECK_EQ(a->bytes, b->bytes);
		CHECK_EQ(a->plane, b->plane);
		CHECK_MEM(a->ip, b->ip, b->bytes);
	}
}

static void compare_sids(uint32_t node, struct weft_lab_sid *seen)
{
	struct weft_switch *sw = weft_network_switch(network, node);
	struct weft_lab_sid sids[SIDS];
	struct weft_route route;
	uint32_t own = 0;

	int n = weft_lab_sids(lab, node, sids, SIDS, error, sizeof(error));
	for (int i = 0; i < n; i++) {
		CHECK_EQ(sids[i].packets, weft_switch_sid_pkts(sw, sids[i].usid));
		seen->packets += sids[i].packets;
		seen->errors += sids[i].errors;
	}
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++)
		own += route.kind == WEFT_ROUTE_END || route.kind == WEFT_ROUTE_UA;
	CHECK_EQ(n, own);
}

/* A kernel that comes up says a few words over each link (multicast listener reports). */
static void compare_link(uint32_t link)
{
	struct weft_link l = weft_topo_link(topo, link);
	struct weft_lab_end_stats ends[2];

	if (!l.cabled)
		return;
	CHECK(!weft_lab_link_stats(lab, link, ends));
	for (unsigned e = 0; e < 2; e++) {
		if (l.node[e] < weft_topo_shape(topo)->hosts)
			continue;
		const struct weft_port_counters *c = weft_switch_port_counters(
			weft_network_switch(network, l.node[e]), l.port[e]);

		CHECK_EQ(c->out_pkts % STEP, 0);
		CHECK_EQ(ends[e].tx_packets / STEP, c->out_pkts / STEP);
	}
}

static void check_pair(uint32_t src, uint32_t dst, bool is_dying, uint64_t *now_ps)
{
	make_packets(src, dst, is_dying);
	cross_lab(src, dst);
	cross_network(src, dst, now_ps);
	compare_packets();
}

/* Whether the kernel takes programs of ours. */
static bool has_programs(void)
{
	struct world world;

	if (!build_programs(&world, TWO_PLANES, WEFT_LAB_RATE_NONE))
		return false;
	world_close(&world);
	return true;
}

static void check_twin(const char *text, const char *usid, enum weft_lab_switches switches)
{
	struct weft_lab_sid seen = { 0 };
	uint64_t now_ps = GAP_PS;
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", text, usid);
	open_lab(whole, switches);
	open_network();
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	check_pair(0, s->hosts - 1, false, &now_ps);
	check_pair(s->hosts - 1, 0, false, &now_ps);
	check_pair(0, 1, false, &now_ps);
	for (uint32_t link = 0; link < s->links; link++)
		compare_link(link);
	/* Kernels answer these, by host address: links would see more. */
	check_pair(0, s->hosts - 1, true, &now_ps);
	for (uint32_t node = s->hosts; node < s->nodes; node++)
		compare_sids(node, &seen);
	CHECK(seen.packets > 3 * n_sent);
	if (switches == WEFT_LAB_SWITCHES_KERNEL)
		CHECK_EQ(seen.errors, n_dying);
	weft_network_close(network);
	close_lab();
}

TEST(twin__kernel_steers_by_uN)
{
	check_twin(uneven, "", WEFT_LAB_SWITCHES_KERNEL);
}

TEST(twin__kernel_steers_by_uA)
{
	check_twin(uneven, "usid: {behavior: uA}\n", WEFT_LAB_SWITCHES_KERNEL);
}

TEST(twin__soft_switches_steer_by_uN)
{
	check_twin(uneven, "", WEFT_LAB_SWITCHES_SOFT);
}

TEST(twin__soft_switches_steer_by_uA)
{
	check_twin(uneven, "usid: {behavior: uA}\n", WEFT_LAB_SWITCHES_SOFT);
}

TEST(twin__programs_steer_by_uN)
{
	if (has_programs())
		check_twin(uneven, "", WEFT_LAB_SWITCHES_XDP);
}

TEST(twin__programs_steer_by_uA)
{
	if (has_programs())
		check_twin(uneven, "usid: {behavior: uA}\n", WEFT_LAB_SWITCHES_XDP);
}
