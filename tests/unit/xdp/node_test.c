/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches of a fabric file, each with a table of its own, pass a packet on as topo says. */
#include "pair.h"

#include <net/if.h>

enum { SWITCHES_MAX = 8 };

static struct weft_topo *topo;
static struct weft_topo_shape shape;
static struct weft_xdp *switches[SWITCHES_MAX];

/* Every port of a switch is a veth's end of its own: the program goes in front of all of them. */
static void open_fabric(const char *text)
{
	char error[300] = "";

	netns_enter();
	REQUIRE(!weft_topo_open_text(&topo, text, strlen(text), "node", error, sizeof(error)));
	shape = *weft_topo_shape(topo);
	REQUIRE(shape.nodes - shape.hosts <= SWITCHES_MAX);
	for (uint32_t node = shape.hosts; node < shape.nodes; node++) {
		uint32_t ports = weft_topo_node(topo, node).ports;
		struct weft_xdp_cable cables[16] = { { 0 } };

		REQUIRE(ports <= WEFT_COUNT(cables));
		for (uint32_t p = 0; p < ports; p++) {
			char line[128];

			if (weft_topo_port_link(topo, node, p) == WEFT_TOPO_NONE)
				continue;
			cables[p] = (struct weft_xdp_cable){ .ifindex = 100 * node + 2 * p + 2,
				.mac = { 2 },
				.peer_mac = { 4, 0, 0, 0, 0, (uint8_t)p } };
			snprintf(line, sizeof(line),
				"ip link add index %u mtu %u type veth peer index %u mtu %u",
				cables[p].ifindex, shape.mtu_bytes, cables[p].ifindex + 1,
				shape.mtu_bytes);
			REQUIRE(shell(line));
		}
		if (weft_xdp_node_open(&switches[node - shape.hosts], WEFT_XDP_AT_TC, topo, node, 0,
			    cables, error, sizeof(error)))
			SKIP(error);
	}
}

static void close_fabric(void)
{
	for (uint32_t i = 0; i < shape.nodes - shape.hosts; i++)
		weft_xdp_close(switches[i]);
	for (uint32_t link = 0; link < 100 * shape.nodes + 32; link += 2) {
		char name[32], line[80];

		if (!if_indextoname(link, name))
			continue;
		snprintf(line, sizeof(line), "ip link del %s", name);
		(void)shell(line);
	}
	weft_topo_close(topo);
}

/* The port by which a switch sends the frame on, rewriting it; NONE: dropped. */
static uint32_t hop(uint32_t node, uint8_t *frame, size_t bytes)
{
	static uint8_t out[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)bytes,
		.data_out = out, .data_size_out = sizeof(out), .repeat = 1);

	CHECK_EQ(bpf_prog_test_run_opts(weft_xdp_program(switches[node - shape.hosts]), &opts), 0);
	if (opts.retval != 7)
		return WEFT_TOPO_NONE;
	memcpy(frame, out, bytes);
	return frame[5];
}

/* Follows a frame over cables; true: it came to dst, over these links. */
static bool travel(uint32_t src, uint32_t dst, uint32_t plane, uint8_t *frame, size_t bytes,
	uint32_t links[4], size_t *n)
{
	uint32_t link = weft_topo_port_link(topo, src, plane), node = src;

	for (*n = 0; *n < 4;) {
		struct weft_link l = weft_topo_link(topo, link);

		links[(*n)++] = link;
		node = l.node[l.node[0] == node];
		if (node < shape.hosts)
			return node == dst;
		uint32_t port = hop(node, frame, bytes);

		if (port == WEFT_TOPO_NONE)
			return false;
		link = weft_topo_port_link(topo, node, port);
	}
	return false;
}

static void check_paths(void)
{
	uint32_t src = 0, dst = shape.hosts - 1, evs[64];
	size_t n = weft_topo_evs(topo, src, dst, 1, evs, WEFT_COUNT(evs));

	CHECK(n >= shape.planes * shape.t1s);
	for (size_t i = 0; i < n; i++) {
		const uint16_t none[6] = { 0 };
		uint32_t want[4], got[4];
		uint8_t frame[200];
		size_t n_got;

		pair_frame(frame, sizeof(frame), none, TCLASS_DATA, 17);
		REQUIRE(weft_topo_usid(topo, src, dst, evs[i], frame + ETHER + 24));
		CHECK(travel(src, dst, weft_ev_plane(evs[i]), frame, sizeof(frame), got, &n_got));
		CHECK_EQ(weft_topo_path_links(topo, src, dst, evs[i], want), n_got);
		CHECK_MEM(got, want, n_got * sizeof(*got));
	}
}

TEST(weft_xdp_node_open__goes_the_way_of_the_fabric_file)
{
	open_fabric("name: node\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: 4\n");
	check_paths();
	for (uint32_t i = 0; i < shape.nodes - shape.hosts; i++) {
		weft_xdp_reboot(switches[i]);
		weft_xdp_node_fill(switches[i], topo, shape.hosts + i);
	}
	check_paths();
	close_fabric();
}

TEST(weft_xdp_node_open__knows_links_by_name)
{
	open_fabric("name: node\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\nusid: {behavior: uA}\n");
	check_paths();
	close_fabric();
}

TEST(weft_xdp_node_fill__routes_host_addresses)
{
	const uint16_t none[6] = { 0 };
	uint32_t links[4];
	uint8_t frame[200];
	size_t n;

	open_fabric("name: node\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\n");
	pair_frame(frame, sizeof(frame), none, TCLASS_DATA, 6);
	weft_topo_host_addr(topo, 3, 0, frame + ETHER + 24);
	CHECK(travel(0, 3, 0, frame, sizeof(frame), links, &n));
	CHECK_EQ(n, 4);
	close_fabric();
}

TEST(weft_xdp_node_hole__swallows_what_a_link_would_carry)
{
	const uint16_t none[6] = { 0 };
	uint32_t ev = weft_ev(0, 1), other = weft_ev(0, 0), t0, links[4];
	uint8_t frame[200];
	size_t n;

	open_fabric("name: node\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\n");
	t0 = weft_topo_host_t0(topo, 0, 0);
	weft_xdp_node_hole(switches[t0 - shape.hosts], topo, t0, shape.hosts_per_t0 + 1, true);
	pair_frame(frame, sizeof(frame), none, TCLASS_DATA, 17);
	REQUIRE(weft_topo_usid(topo, 0, 3, ev, frame + ETHER + 24));
	CHECK(!travel(0, 3, 0, frame, sizeof(frame), links, &n));
	CHECK_EQ(weft_xdp_drops(switches[t0 - shape.hosts], WEFT_SWITCH_DROP_FAULT), 1);
	REQUIRE(weft_topo_usid(topo, 0, 3, other, frame + ETHER + 24));
	CHECK(travel(0, 3, 0, frame, sizeof(frame), links, &n));
	weft_xdp_node_hole(switches[t0 - shape.hosts], topo, t0, shape.hosts_per_t0 + 1, false);
	pair_frame(frame, sizeof(frame), none, TCLASS_DATA, 17);
	REQUIRE(weft_topo_usid(topo, 0, 3, ev, frame + ETHER + 24));
	CHECK(travel(0, 3, 0, frame, sizeof(frame), links, &n));
	close_fabric();
}

TEST(weft_xdp_node_open__cannot_pause)
{
	static const char text[] = "name: node\nplanes: 1\nt0s: 2\nt1s: 2\nhosts: 4\n"
				   "switch: {full: pause}\n";
	struct weft_xdp_cable cables[8] = { { 0 } };
	struct weft_xdp *xdp = NULL;
	char error[300] = "";

	REQUIRE(!weft_topo_open_text(&topo, text, strlen(text), "node", error, sizeof(error)));
	CHECK_EQ(weft_xdp_node_open(&xdp, WEFT_XDP_AT_TC, topo, 4, 0, cables, error, sizeof(error)),
		-1);
	CHECK(strstr(error, "full: pause"));
	weft_topo_close(topo);
}
