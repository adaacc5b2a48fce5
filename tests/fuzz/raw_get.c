/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_get - whole IP packets from anybody, as port/afpacket, afxdp and shm are given them.
 *
 * The first byte chooses the format, whether the ICRC is looked at (without it the fuzzer gets
 * further), and the plane; the rest is the packet, in a block of its own size, so that a byte read
 * behind it is found.  What must hold: what is accepted lies inside the packet, is from the one
 * peer there is, and is no longer than a full packet.
 */
#include "port/raw.h"

#include <stdlib.h>
#include <string.h>

#define MTU 4096u
#define PEER 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static struct raw *open_one(enum weft_encap_kind kind, bool no_icrc)
{
	static const uint8_t theirs[16] = { 0xfd, [15] = 1 }, ours[16] = { 0xfd, [15] = 2 };
	struct raw_config config = { .kind = kind,
		.no_icrc = no_icrc,
		.planes = 2,
		.mtu_bytes = MTU,
		.udp_port = 4791,
		.src_port = 4791 };
	struct weft_udp_path path = { .ev = 0 };
	struct weft_udp_peer peer = { .udp_port = 4791,
		.src_port = { 4791 },
		.n_src_ports = 1,
		.addrs = 2,
		.paths = &path,
		.n_paths = 1 };

	memcpy(config.addr[0], ours, 16);
	memcpy(peer.addr[0], theirs, 16);
	memcpy(peer.addr[1], theirs, 16);
	peer.addr[1][7] = 1;
	memcpy(path.dst, ours, 16);
	memcpy(path.arrive, ours, 16);
	struct raw *raw = raw_open(&config);

	WEFT_ASSERT(raw && !raw_peer_add(raw, PEER, &peer));
	return raw;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const enum weft_encap_kind kinds[3] = { WEFT_ENCAP_USID, WEFT_ENCAP_SRV6,
		WEFT_ENCAP_STEV };
	static struct raw *raws[3][2];

	if (!len_bytes)
		return 0;
	uint32_t kind = data[0] % 3, no_icrc = data[0] >> 7, plane = data[0] >> 2 & 3;
	size_t bytes = len_bytes - 1;
	uint8_t *ip = malloc(bytes ? bytes : 1);
	struct weft_pkt pkt;

	WEFT_ASSERT(ip);
	memcpy(ip, data + 1, bytes);
	if (!raws[kind][no_icrc])
		raws[kind][no_icrc] = open_one(kinds[kind], no_icrc);
	enum weft_drop drop =
		raw_get(raws[kind][no_icrc], plane == 3 ? RAW_PLANE_ANY : plane, ip, bytes, &pkt);

	WEFT_ASSERT(drop <= WEFT_DROP_COUNT);
	if (drop == WEFT_DROP_COUNT) {
		uint32_t payload_bytes = weft_wire_payload_bytes(&pkt);

		WEFT_ASSERT(pkt.peer == PEER && pkt.port < 2 && payload_bytes <= MTU);
		WEFT_ASSERT(plane == 3 || pkt.port == plane);
		if (payload_bytes && pkt.w.data)
			WEFT_ASSERT((const uint8_t *)pkt.w.data >= ip &&
				    (const uint8_t *)pkt.w.data + payload_bytes <= ip + bytes);
	}
	free(ip);
	return 0;
}
