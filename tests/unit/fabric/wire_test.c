/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real packets through the switches of a fabric file, every path of a pair, in each outer format:
 * they cross the links that topo says, arrive with their ICRC intact and their EV known, and what a
 * switch has cut still tells a receiver all that a NACK needs.
 */
#include "one.h"

#include <weft/topo.h>
#include <weft/wire.h>

#include <isa-l/crc.h>

static const char fabric[] = "name: wire\nplanes: 2\nt0s: 3\nt1s: 2\nparallel_links: 2\nhosts: 6\n";

enum { SWITCHES = 16, BLOCK = 1 << 17, PSN = 0x123456, STAMP = 0xbeef };

static struct weft_topo *topo;
static struct weft_topo_shape shape;
static struct weft_port_profile profile;
static struct weft_frame frames[64];
static struct weft_frame_pool pool;
static struct weft_switch *switches[SWITCHES];
static _Alignas(64) uint8_t blocks[SWITCHES][BLOCK];

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void add_route(struct weft_switch *sw, const struct weft_route *route)
{
	struct weft_hop hop = { .port = (uint16_t)route->port, .ports = (uint16_t)route->ports };
	uint16_t sid = (uint16_t)(route->prefix[4] << 8 | route->prefix[5]);

	switch (route->kind) {
	case WEFT_ROUTE_END:
		hop.kind = WEFT_HOP_UN;
		REQUIRE(weft_switch_sid_add(sw, sid, &hop));
		break;
	case WEFT_ROUTE_USID:
		hop.kind = WEFT_HOP_PORT;
		REQUIRE(weft_switch_sid_add(sw, sid, &hop));
		break;
	case WEFT_ROUTE_HOST:
		hop.kind = route->ports > 1 ? WEFT_HOP_HASH : WEFT_HOP_PORT;
		REQUIRE(weft_switch_prefix_add(sw, route->prefix, route->prefix_bits, &hop));
		break;
	default:
		break;
	}
}

static void open_fabric(void)
{
	char error[200];

	REQUIRE(!weft_topo_open_text(&topo, fabric, strlen(fabric), "wire", error, sizeof(error)));
	shape = *weft_topo_shape(topo);
	REQUIRE(shape.nodes - shape.hosts <= SWITCHES);
	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, true, 100000, 0);
	weft_frame_pool_init(&pool, frames, WEFT_COUNT(frames));
	for (uint32_t i = 0; i < shape.nodes - shape.hosts; i++) {
		struct weft_node node = weft_topo_node(topo, shape.hosts + i);
		struct weft_switch_config config = { .ports = node.ports,
			.sids = 64,
			.prefixes = 16,
			.block = 0xfcbbbb00,
			.mtu_bytes = (uint32_t)shape.mtu_bytes,
			.seed = i,
			.dscp = WEFT_DSCP_DEFAULT,
			.profiles = &profile,
			.n_profiles = 1,
			.pool = &pool };
		struct weft_route route;

		REQUIRE(weft_switch_size(&config) <= BLOCK);
		REQUIRE(weft_switch_init(&switches[i], blocks[i], &config));
		for (uint32_t port = 0; port < node.ports; port++)
			weft_switch_port_set(switches[i], port, UINT64_C(100000000000), 0);
		for (uint32_t k = 0; weft_topo_route(topo, shape.hosts + i, k, &route); k++)
			add_route(switches[i], &route);
	}
}

/* Makes the frame of a full write by path ev; returns its bytes. */
static size_t make_frame(uint32_t src, uint32_t dst, uint32_t ev, uint8_t kind, uint8_t *frame)
{
	static uint8_t payload[4096];
	struct weft_encap encap = { .kind = kind, .hop_limit = 64 };
	struct weft_pkt pkt = { .op = WEFT_OP_WRITE_MIDDLE,
		.flags = WEFT_BTH_TS,
		.dqpn = 77,
		.psn = PSN,
		.ev = ev,
		.w = { .data = payload,
			.va = 4096,
			.msg_bytes = 1 << 20,
			.len_bytes = 4096,
			.ts = STAMP } };
	uint32_t plane = weft_ev_plane(ev);
	uint8_t headers[WEFT_WIRE_HEADERS_MAX], tail[WEFT_WIRE_TAIL_MAX];
	struct weft_flow flow;

	weft_topo_host_addr(topo, src, plane, encap.flow.src);
	weft_topo_host_addr(topo, dst, plane, encap.flow.dst);
	weft_topo_host_addr(topo, src, plane, encap.via_src);
	encap.flow.dst_port = shape.udp_port;
	encap.flow.src_port = 0xc000;
	REQUIRE(weft_topo_usid(topo, src, dst, ev, encap.via));
	uint32_t links[4];

	if (kind == WEFT_ENCAP_USID) /* each switch shifts by one */
		weft_usid_shift(encap.via,
			(unsigned)weft_topo_path_links(topo, src, dst, ev, links) - 1,
			encap.flow.dst);
	weft_encap_flow(&encap, ev, &flow);
	size_t header_bytes = weft_wire_encode(&pkt, headers);
	size_t tail_bytes = weft_icrc_seal(
		crc32_gzip_refl, &flow, headers, header_bytes, payload, sizeof(payload), tail);
	size_t datagram = header_bytes + sizeof(payload) + tail_bytes;
	size_t at =
		weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, WEFT_CLASS_DATA, ev, datagram, frame);

	memcpy(frame + at, headers, header_bytes);
	memcpy(frame + at + header_bytes, payload, sizeof(payload));
	memcpy(frame + at + header_bytes + sizeof(payload), tail, tail_bytes);
	return at + datagram;
}

/* Carries a frame from host src until a host has it; returns that, the links crossed in links. */
static uint32_t walk(
	uint32_t src, uint32_t plane, uint8_t *frame, size_t *bytes, uint32_t links[8], size_t *n)
{
	uint32_t node = src, port = plane;

	for (*n = 0; *n < 8;) {
		uint32_t index = weft_topo_port_link(topo, node, port);
		struct weft_link link = weft_topo_link(topo, index);
		unsigned end = link.node[0] == node ? 1 : 0;
		struct weft_departure departure;

		links[(*n)++] = index;
		node = link.node[end];
		if (node < shape.hosts)
			return node;
		struct weft_switch *sw = switches[node - shape.hosts];
		struct weft_frame f = { .in_port = (uint16_t)link.port[end] };

		if (weft_switch_input_bytes(sw, &f, frame, *bytes, 0, &port))
			return WEFT_TOPO_NONE;
		REQUIRE(weft_switch_take(sw, port, UINT64_MAX / 2, &departure));
		*bytes = (size_t)departure.frame.bytes - WEFT_FRAME_ETHER_BYTES;
	}
	return WEFT_TOPO_NONE;
}

static void check_arrival(
	const uint8_t *frame, size_t bytes, uint8_t kind, uint32_t ev, uint8_t mark)
{
	struct weft_arrival arrival;
	struct weft_wire_fault fault;
	struct weft_pkt pkt;

	REQUIRE(weft_encap_parse(frame, bytes, kind == WEFT_ENCAP_SRV6 ? WEFT_ENCAP_USID : kind,
		&WEFT_DSCP_DEFAULT, &arrival, &fault));
	CHECK_EQ(arrival.ev, ev);
	CHECK_EQ(arrival.mark, mark);
	REQUIRE(weft_wire_decode(
		arrival.datagram, arrival.datagram_bytes, arrival.mark, &pkt, &fault));
	CHECK_EQ(pkt.psn, PSN);
	CHECK_EQ(pkt.dqpn, 77);
	CHECK_EQ(pkt.w.ts, STAMP);
	if (!mark)
		CHECK(weft_icrc_check(
			crc32_gzip_refl, &arrival.flow, arrival.datagram, arrival.datagram_bytes));
}

static void check_path(uint32_t src, uint32_t dst, uint32_t ev, uint8_t kind)
{
	static uint8_t frame[8192];
	uint32_t want[4], links[8];
	size_t bytes = make_frame(src, dst, ev, kind, frame), n, hops;

	hops = weft_topo_path_links(topo, src, dst, ev, want);
	CHECK_EQ(walk(src, weft_ev_plane(ev), frame, &bytes, links, &n), dst);
	if (kind != WEFT_ENCAP_STEV) { /* which is hashed here, over paths of its own */
		CHECK_EQ(n, hops);
		CHECK_MEM(links, want, hops * sizeof(want[0]));
	}
	CHECK_EQ(frame[7], 64 - (hops - 1)); /* one less for each switch */
	CHECK_EQ(get32(frame + 4) >> 16, bytes - 40);
	check_arrival(frame, bytes, kind, ev, 0);
}

TEST(weft_switch_input_bytes__leads_every_packet_along_its_path)
{
	static const uint8_t kinds[] = { WEFT_ENCAP_SRV6, WEFT_ENCAP_USID, WEFT_ENCAP_STEV };
	uint32_t paths = 0;

	open_fabric();
	for (uint32_t pair = 0; pair < shape.hosts * shape.hosts; pair++) {
		uint32_t src = pair / shape.hosts, dst = pair % shape.hosts, evs[32];
		size_t n = weft_topo_evs(topo, src, dst, 1, evs, WEFT_COUNT(evs));

		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < WEFT_COUNT(kinds); k++)
				check_path(src, dst, evs[i], kinds[k]);
		paths += (uint32_t)n;
	}
	CHECK_EQ(paths, 6 * 4 * 8 + 6 * 2); /* 8 across T1s, one per plane below one T0 */
	weft_topo_close(topo);
}

TEST(weft_switch_input_bytes__cuts_so_that_a_receiver_can_tell)
{
	static const uint8_t kinds[] = { WEFT_ENCAP_SRV6, WEFT_ENCAP_USID, WEFT_ENCAP_STEV };
	static uint8_t frame[8192];
	uint32_t links[8];
	size_t n;

	open_fabric();
	profile.trim_bytes = 1000; /* nothing full fits */
	for (size_t k = 0; k < WEFT_COUNT(kinds); k++) {
		uint32_t ev = weft_ev(1, 3);
		size_t bytes = make_frame(0, 5, ev, kinds[k], frame);

		profile.trim_mark = WEFT_MARK_TRIMMED;
		CHECK_EQ(walk(0, 1, frame, &bytes, links, &n), 5);
		CHECK_EQ(bytes, 128 - 14); /* cut once, and left alone by those behind */
		check_arrival(frame, bytes, kinds[k], ev, WEFT_MARK_TRIMMED);
		profile.trim_mark = WEFT_MARK_TRIMMED_LASTHOP;
		bytes = make_frame(0, 5, ev, kinds[k], frame);
		CHECK_EQ(walk(0, 1, frame, &bytes, links, &n), 5);
		check_arrival(frame, bytes, kinds[k], ev, WEFT_MARK_TRIMMED_LASTHOP);
	}
	weft_topo_close(topo);
}
