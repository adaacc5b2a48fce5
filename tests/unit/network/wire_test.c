/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real packets through a whole network, every path of a pair, in each outer format: they cross the
 * links that topo says, arrive with their ICRC intact and their EV known, and what a switch has cut
 * still tells a receiver all that a NACK needs.
 */
#include "rig.h"

#include <weft/wire.h>

#include <isa-l/crc.h>

#define FABRIC "name: wire\nplanes: 2\nt0s: 3\nt1s: 2\nparallel_links: 2\nhosts: 6\n"

enum { PSN = 0x123456, STAMP = 0xbeef };

static struct rig rig;
static const uint8_t kinds[] = { WEFT_ENCAP_SRV6, WEFT_ENCAP_USID, WEFT_ENCAP_STEV };

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

	weft_topo_host_addr(rig.topo, src, plane, encap.flow.src);
	weft_topo_host_addr(rig.topo, dst, plane, encap.flow.dst);
	weft_topo_host_addr(rig.topo, src, plane, encap.via_src);
	encap.flow.dst_port = rig.shape.udp_port;
	encap.flow.src_port = 0xc000;
	REQUIRE(weft_topo_usid(rig.topo, src, dst, ev, encap.via));
	uint32_t links[4];

	if (kind == WEFT_ENCAP_USID) /* each switch shifts by one */
		weft_usid_shift(encap.via,
			(unsigned)weft_topo_path_links(rig.topo, src, dst, ev, links) - 1,
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

/* Sends a full write by path ev and waits for it; its bytes lie in slot 0 then. */
static const struct weft_network_out *carry(uint32_t src, uint32_t dst, uint32_t ev, uint8_t kind)
{
	struct weft_frame frame = { .handle = 0 };
	size_t bytes = make_frame(src, dst, ev, kind, rig_ip(&rig, 0));

	rig.n_outs = 0;
	CHECK(weft_network_send(rig.network, src, weft_ev_plane(ev), &frame, (uint32_t)bytes, 0));
	while (!rig.n_outs)
		rig_run(&rig, weft_network_next_ps(rig.network));
	CHECK_EQ(rig.outs[0].drop, WEFT_SWITCH_DROP_NONE);
	CHECK_EQ(rig.outs[0].node, dst);
	return &rig.outs[0];
}

/* What a switch has sent over a link, either way. */
static uint64_t crossed(uint32_t index)
{
	struct weft_link link = weft_topo_link(rig.topo, index);
	uint64_t pkts = 0;

	for (unsigned end = 0; end < 2; end++)
		if (link.node[end] >= rig.shape.hosts)
			pkts += weft_switch_port_counters(
				weft_network_switch(rig.network, link.node[end]), link.port[end])
					->out_pkts;
	return pkts;
}

static void check_path(uint32_t src, uint32_t dst, uint32_t ev, uint8_t kind)
{
	uint64_t before[4] = { 0 }, hops = weft_network_stats(rig.network)->hops;
	uint32_t links[4];
	size_t n = weft_topo_path_links(rig.topo, src, dst, ev, links);

	for (size_t i = 1; i < n; i++)
		before[i] = crossed(links[i]);
	const struct weft_network_out *out = carry(src, dst, ev, kind);
	const uint8_t *ip = rig_ip(&rig, 0);

	if (kind != WEFT_ENCAP_STEV) /* which is hashed here, over paths of its own */
		for (size_t i = 1; i < n; i++)
			CHECK_EQ(crossed(links[i]), before[i] + 1);
	CHECK_EQ(weft_network_stats(rig.network)->hops, hops + n - 1);
	CHECK_EQ(ip[7], 64 - (n - 1)); /* one less for each switch */
	CHECK_EQ(ip[4] << 8 | ip[5], out->frame.bytes - WEFT_FRAME_ETHER_BYTES - 40);
	check_arrival(ip, out->frame.bytes - WEFT_FRAME_ETHER_BYTES, kind, ev, 0);
}

TEST(weft_network_run__leads_every_packet_along_its_path)
{
	uint32_t paths = 0;

	rig_open(&rig, FABRIC, true);
	for (uint32_t pair = 0; pair < rig.shape.hosts * rig.shape.hosts; pair++) {
		uint32_t src = pair / rig.shape.hosts, dst = pair % rig.shape.hosts, evs[32];
		size_t n = weft_topo_evs(rig.topo, src, dst, 1, evs, WEFT_COUNT(evs));

		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < WEFT_COUNT(kinds); k++)
				check_path(src, dst, evs[i], kinds[k]);
		paths += (uint32_t)n;
	}
	CHECK_EQ(paths, 6 * 4 * 8 + 6 * 2); /* 8 across T1s, one per plane below one T0 */
	rig_close(&rig);
}

TEST(weft_network_run__cuts_so_that_a_receiver_can_tell)
{
	/* Nothing full fits. */
	rig_open(&rig, FABRIC "switch: {trim: 1KB, trim_last_hop: 1KB}\n", true);
	for (size_t k = 0; k < WEFT_COUNT(kinds); k++) {
		uint32_t far = weft_ev(1, 3), near = weft_ev(1, 0);
		const struct weft_network_out *out = carry(0, 5, far, kinds[k]);

		CHECK_EQ(out->frame.bytes, 128); /* cut once, and left alone by those behind */
		check_arrival(rig_ip(&rig, 0), 128 - 14, kinds[k], far, WEFT_MARK_TRIMMED);
		out = carry(0, 1, near, kinds[k]);
		CHECK_EQ(out->frame.bytes, 128);
		check_arrival(rig_ip(&rig, 0), 128 - 14, kinds[k], near, WEFT_MARK_TRIMMED_LASTHOP);
	}
	rig_close(&rig);
}
