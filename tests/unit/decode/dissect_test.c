/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include <weft/decode.h>

#include <isa-l/crc.h>

static uint8_t bytes[256];
static struct weft_capture_frame frame;
static struct weft_decoded d;
static uint8_t scratch[WEFT_DECODE_FRAME_MAX];
static const struct weft_decode_config config = { .crc = crc32_gzip_refl,
	.plain = WEFT_ENCAP_USID,
	.dscp = WEFT_DSCP_DEFAULT,
	.scratch = scratch };

static struct weft_encap native(void)
{
	struct weft_encap encap = { .kind = WEFT_ENCAP_USID,
		.hop_limit = 64,
		.flow = { .src = { 0xfd }, .src_port = 1, .dst_port = WEFT_UDP_PORT },
		.via = { 0xfc, 0, 0, 0, 0x0a, 0x01, 0x0b, 0x02, 0x0a, 0x02, 0x0c, 0x02 } };

	weft_usid_put_ev(encap.via, 4, 0x00030001);
	weft_usid_shift(encap.via, 3, encap.flow.dst);
	return encap;
}

/* A SACK in a frame with `front` bytes of link layer. */
static void make_frame(const struct weft_encap *encap, size_t front)
{
	struct weft_pkt pkt = { .op = WEFT_OP_SACK, .dqpn = 5, .sack = { .cack_psn = 9 } };
	struct weft_flow flow;
	uint8_t headers[WEFT_WIRE_HEADERS_MAX];
	size_t n = weft_wire_encode(&pkt, headers);

	weft_encap_flow(encap, 7, &flow);
	size_t at = front + weft_encap_put(encap, &config.dscp, WEFT_CLASS_CONTROL, 7, n + 4,
				    bytes + front);

	memcpy(bytes + at, headers, n);
	n += weft_icrc_seal(crc32_gzip_refl, &flow, headers, n, NULL, 0, bytes + at + n);
	frame = (struct weft_capture_frame){
		.bytes = bytes, .n = at + n, .wire_bytes = at + n, .ip_at = front, .is_ip = true
	};
}

TEST(decode_frame__finds_how_far_a_native_packet_has_come)
{
	struct weft_encap encap = native();

	for (unsigned hops = 0; hops <= 3; hops++) {
		make_frame(&encap, 14);
		weft_usid_shift(bytes + 14 + 24, 3 - hops, bytes + 14 + 24);
		weft_decode_frame(&config, &frame, &d);
		CHECK_EQ(d.what, WEFT_DECODED_PACKET);
		CHECK_EQ(d.icrc, WEFT_ICRC_IS_OK);
		CHECK_EQ(d.hops_to_go, hops);
		CHECK_EQ(d.outside.ev, 0x00030001);
	}
	bytes[frame.n - 1] ^= 1;
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_DROP);
	CHECK_EQ(d.fault.drop, WEFT_DROP_BAD_ICRC);
	CHECK_EQ(d.fault.bit, 8 * (frame.n - 4));
}

TEST(decode_frame__keeps_away_from_other_ports)
{
	struct weft_decode_config other = config;
	struct weft_encap encap = native();

	encap.flow.dst_port = WEFT_UDP_PORT_AS_PRINTED;
	make_frame(&encap, 0);
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_PACKET);
	other.port = WEFT_UDP_PORT;
	weft_decode_frame(&other, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_OTHER);
	encap.flow.dst_port = other.port = 53;
	make_frame(&encap, 0);
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_OTHER);
	CHECK_STR(weft_decode_field(&frame, &d, d.fault.bit, (char[64]){ 0 }),
		"UDP.destination_port");
	weft_decode_frame(&other, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_PACKET);
	frame.is_ip = false; /* ARP */
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_OTHER);
}

TEST(decode_frame__does_not_blame_the_packet_for_a_short_capture)
{
	struct weft_encap encap = native();

	make_frame(&encap, 0);
	frame.n -= 20; /* inside CC_STATE */
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_PACKET);
	CHECK_EQ(d.icrc, WEFT_ICRC_IS_NOT_CAPTURED);
	CHECK_EQ(d.pkt.sack.cack_psn, 9);
	frame.wire_bytes = frame.n;
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_DROP);
	CHECK_EQ(d.fault.drop, WEFT_DROP_TRUNCATED);
}

/* A loopback frame of two bytes, say, whose link layer alone would have four. */
TEST(decode_frame__takes_what_ends_before_its_ip_header)
{
	struct weft_encap encap = native();

	make_frame(&encap, 14);
	for (unsigned how = 0; how < 3; how++) {
		struct weft_capture_frame small = { .bytes = bytes,
			.n = 2,
			.wire_bytes = how == 1 ? 60 : 2,
			.ip_at = 4,
			.is_ip = true,
			.is_asked = how == 2 };

		weft_decode_frame(&config, &small, &d);
		CHECK_EQ(d.what, how == 1 ? WEFT_DECODED_CUT : WEFT_DECODED_OTHER);
		CHECK(!d.has_outside);
	}
}

TEST(decode_frame__needs_neither_a_crc_nor_a_scratch)
{
	struct weft_decode_config few = { .plain = WEFT_ENCAP_USID, .dscp = WEFT_DSCP_DEFAULT };
	struct weft_encap encap = native();

	make_frame(&encap, 14);
	weft_decode_frame(&few, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_PACKET);
	CHECK_EQ(d.icrc, WEFT_ICRC_IS_UNKNOWN);
	frame.n -= 2;
	weft_decode_frame(&few, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_CUT);
}

/* Whatever is wrong with them: nobody said that they are MRC's. */
TEST(decode_frame__judges_nothing_that_is_not_mrcs)
{
	static const struct {
		const char *what, *hex;
	} rows[] = {
		{ "IGMP with router alert", "46c00020000100000102f0d90a000001e000001694040000"
					    "2200f9fd00000001" },
		{ "first fragment of NFS", "4500003000012000401100000a0000010a000002"
					   "14e9080100d00000616161616161616161616161" },
		{ "a later fragment", "4500001c000100b9401100000a0000010a00000212b712b700080000" },
		{ "TCP, length 0 (offload)", "450000000001000040060000"
					     "0a0000010a00000204d20050000000010000000150100000" },
		{ "UDP, length 0", "4500002000010000401100000a0000010a00000214e90035000000006161" },
		{ "jumbogram", "600000000000064000000000000000000000000000000001"
			       "0000000000000000000000000000000204d20050" },
		{ "MLD", "6000000000240040fe800000000000000000000000000001"
			 "ff0200000000000000000000000000163a000502000001008f00000000000001" },
		{ "no version", "05dc000000000000" },
		{ "RoCEv2's send", "4500003000010000401100000a0000010a000002c00012b7001c0000"
				   "0400ffff00000012800000aa6464646469637263" },
		{ "RoCEv2's CNP", "4500002c00010000401100000a0000010a000002c00012b700180000"
				  "8100ffff400000120000000000000000" },
	};
	struct weft_decode_config any = config;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		size_t n = strlen(rows[i].hex) / 2;

		for (size_t k = 0; k < n; k++) {
			unsigned byte = 0;

			REQUIRE(sscanf(rows[i].hex + 2 * k, "%2x", &byte) == 1);
			bytes[k] = (uint8_t)byte;
		}
		frame = (struct weft_capture_frame){
			.bytes = bytes, .n = n, .wire_bytes = n, .is_ip = true
		};
		weft_decode_frame(&config, &frame, &d);
		if (d.what != WEFT_DECODED_OTHER || d.fault.drop != WEFT_DROP_NOT_MRC)
			CHECK_FAIL(
				"%s: %u, %s", rows[i].what, d.what, weft_drop_name(d.fault.drop));
		frame.is_asked = true; /* by somebody who wants to know what is wrong */
		weft_decode_frame(&config, &frame, &d);
		CHECK(d.what != WEFT_DECODED_PACKET);
	}
	/* The same faults where the port says whose it is. */
	struct weft_encap encap = native();

	make_frame(&encap, 0);
	bytes[44] = bytes[45] = 0; /* UDP's length */
	weft_decode_frame(&any, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_DROP);
	CHECK_EQ(d.fault.drop, WEFT_DROP_BAD_LENGTH);
	any.port = 53;
	weft_decode_frame(&any, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_OTHER);
	make_frame(&encap, 0);
	bytes[48] = 0xff; /* of the makers' groups, and no opcode that is known */
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_DROP);
	CHECK_EQ(d.fault.drop, WEFT_DROP_NOT_MRC);
}

/* At every length: what was not seen is neither judged nor told. */
TEST(decode_frame__says_nothing_about_what_was_not_captured)
{
	static const char *const broken[] = { "", "BTH.tver", "SETH.m" };
	struct weft_encap encap = native();

	for (size_t i = 0; i < WEFT_COUNT(broken); i++) {
		make_frame(&encap, 14);
		size_t all = frame.n, seen = 0, bth = 14 + 48;

		if (i)
			bytes[bth + (i == 1 ? 1 : 13)] |= i == 1 ? 0x02 : 0x06;
		weft_decode_frame(&config, &frame, &d);
		CHECK_EQ(d.what, i ? WEFT_DECODED_DROP : WEFT_DECODED_PACKET);
		if (i)
			seen = d.fault.bit / 8 + 1;
		for (frame.n = 14; frame.n < all; frame.n++) {
			uint8_t *copy =
				malloc(frame.n); /* so that a sanitizer sees a look beyond */

			REQUIRE(copy);
			memcpy(copy, bytes, frame.n);
			frame.bytes = copy;
			weft_decode_frame(&config, &frame, &d);
			if (d.what == WEFT_DECODED_DROP && (!i || frame.n < seen))
				CHECK_FAIL("%s, %zu bytes: drop %s", broken[i], frame.n,
					weft_drop_name(d.fault.drop));
			if (i == 1 && frame.n >= bth + 12)
				CHECK_EQ(d.what, WEFT_DECODED_DROP);
			if (frame.n <= bth)
				CHECK_EQ(d.what, WEFT_DECODED_CUT);
			if (d.what == WEFT_DECODED_PACKET) {
				CHECK_EQ(d.has_packet, frame.n >= bth + 12);
				CHECK_EQ(d.icrc, WEFT_ICRC_IS_NOT_CAPTURED);
				CHECK_EQ(d.headers_cut, frame.n < all - 4);
			}
			free(copy);
		}
	}
}

TEST(decode_frame__takes_a_bare_datagram)
{
	struct weft_encap encap = native();

	make_frame(&encap, 0);
	frame.bytes += 48;
	frame.n -= 48;
	frame.wire_bytes = frame.n;
	frame.is_ip = false;
	frame.is_datagram = true;
	weft_decode_frame(&config, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_PACKET);
	CHECK_EQ(d.icrc, WEFT_ICRC_IS_UNKNOWN);
	CHECK_STR(weft_decoded_icrc_name(d.icrc), "unknown");
}

TEST(decode_frame__names_the_sender_by_the_fabric_file)
{
	static const char text[] = "name: lab8\nplanes: 8\nt0s: 2\nt1s: 2\nhosts: 4\n";
	struct weft_decode_config named = config;
	struct weft_encap encap = native();
	struct weft_topo *topo;
	char error[256];

	REQUIRE(!weft_topo_open_text(&topo, text, strlen(text), "test", error, sizeof(error)));
	weft_topo_host_addr(topo, 1, 3, encap.flow.src);
	named.topo = topo;
	make_frame(&encap, 0);
	weft_decode_frame(&named, &frame, &d);
	CHECK_EQ(d.what, WEFT_DECODED_PACKET);
	REQUIRE(d.has_place);
	CHECK_STR(d.from, "h1");
	CHECK_EQ(d.plane, 3);
	CHECK_EQ(d.uplink, 1);
	encap.flow.src[0] ^= 1;
	make_frame(&encap, 0);
	weft_decode_frame(&named, &frame, &d);
	CHECK(!d.has_place);
	weft_topo_close(topo);
}

TEST(decode_field__names_bits_everywhere)
{
	static const struct {
		size_t byte;
		const char *name;
	} rows[] = {
		{ 0, "" },
		{ 14, "IPv6.version" },
		{ 15, "IPv6.traffic_class" },
		{ 20, "IPv6.next_header" },
		{ 53, "IPv6.destination" },
		{ 54, "SRH.next_header" },
		{ 57, "SRH.segments_left" },
		{ 77, "SRH.segment" },
		{ 78, "IPv6.version" },
		{ 84, "IPv6.next_header" },
		{ 118, "UDP.source_port" },
		{ 122, "UDP.length" },
		{ 126, "BTH.opcode" },
		{ 131, "BTH.dqpn" },
		{ 138, "" },
		{ 151, "SETH.cack_psn" },
		{ 173, "CC_STATE.rcvd_bytes" },
	};
	struct weft_encap encap = native();
	char name[64];

	encap.kind = WEFT_ENCAP_SRV6;
	encap.has_segment = true;
	make_frame(&encap, 14);
	weft_decode_frame(&config, &frame, &d);
	REQUIRE(d.what == WEFT_DECODED_PACKET);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_STR(weft_decode_field(&frame, &d, 8 * rows[i].byte, name), rows[i].name);
}
