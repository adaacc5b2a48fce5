/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts and no network in between: what one puts, the other gets, or says why not. */
#include "check.h"
#include "port/raw.h"

#include <sys/mman.h>
#include <weft/nofault.h>

#define MTU 4096u
#define IP_MAX 8192u
#define CARRIER                                                                                    \
	{                                                                                          \
		0xfd, 0, 0, 1, 0x80, 1, 0x40, 1, 0x80, 2, 0, 2, 0, 0, 0, 0                         \
	}

static const uint8_t hosts[2][2][16] = { /* [host][plane] */
	{ { 0xfc, [14] = 0, 1 }, { 0xfc, [14] = 1, 1 } },
	{ { 0xfc, [14] = 0, 2 }, { 0xfc, [14] = 1, 2 } }
};
static const enum weft_encap_kind kinds[] = { WEFT_ENCAP_USID, WEFT_ENCAP_SRV6, WEFT_ENCAP_STEV };
static uint8_t payload[MTU];
static uint8_t ip[IP_MAX];

struct pair {
	struct raw *raw[2];
	struct raw_config config[2];
};

/* As find_usid() of live_peer.c does it, with a carrier made up: T0, T1, T0, host. */
static void fill_path(
	enum weft_encap_kind kind, uint32_t host, uint32_t ev, struct weft_udp_path *path)
{
	*path = (struct weft_udp_path){ .ev = ev, .dst = CARRIER };
	if (kind == WEFT_ENCAP_STEV)
		memcpy(path->dst, hosts[host][ev >> 16], 16);
	if (kind == WEFT_ENCAP_USID) {
		REQUIRE(weft_usid_put_ev(path->dst, 4, ev));
		weft_usid_shift(path->dst, 3, path->arrive);
	} else {
		memcpy(path->arrive, hosts[host][ev >> 16], 16);
	}
}

static void open_pair(struct pair *p, enum weft_encap_kind kind, bool no_icrc)
{
	for (uint32_t i = 0; i < 2; i++) {
		p->config[i] = (struct raw_config){ .kind = kind,
			.no_icrc = no_icrc,
			.trusts = no_icrc,
			.planes = 2,
			.mtu_bytes = MTU,
			.udp_port = (uint16_t)(5000 + i),
			.src_port = (uint16_t)(6000 + i) };
		memcpy(p->config[i].addr, hosts[i], sizeof(hosts[i]));
		p->raw[i] = raw_open(&p->config[i]);
		REQUIRE(p->raw[i]);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct weft_udp_path paths[8];
		struct weft_udp_peer attr = { .udp_port = p->config[1 - i].udp_port,
			.src_port = { p->config[1 - i].src_port },
			.n_src_ports = 1,
			.addrs = 2,
			.paths = paths,
			.n_paths = 8 };

		memcpy(attr.addr, hosts[1 - i], sizeof(hosts[0]));
		for (uint32_t k = 0; k < 8; k++)
			fill_path(kind, 1 - i, (k & 1) << 16 | (k >> 1), &paths[k]);
		REQUIRE(!raw_peer_add(p->raw[i], 7 + i, &attr));
	}
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
}

static void close_pair(struct pair *p)
{
	raw_close(p->raw[0]);
	raw_close(p->raw[1]);
}

static struct weft_pkt data(uint32_t ev, uint32_t bytes)
{
	return (struct weft_pkt){ .peer = 7,
		.ev = ev,
		.port = (uint8_t)(ev >> 16),
		.op = WEFT_OP_WRITE_ONLY,
		.flags = WEFT_BTH_TS,
		.dqpn = 9,
		.psn = 77,
		.w = { .data = payload,
			.len_bytes = (uint16_t)bytes,
			.msg_bytes = bytes,
			.rkey = 3,
			.va = 0x123456789 } };
}

/* What switches do to a carrier on its way over two tiers. */
static void travel(enum weft_encap_kind kind)
{
	uint8_t dst[16];

	if (kind == WEFT_ENCAP_STEV)
		return;
	weft_usid_shift(ip + 24, 3, dst);
	memcpy(ip + 24, dst, 16);
	ip[7] = (uint8_t)(ip[7] - 3);
}

TEST(raw_put__and_raw_get_agree_in_every_format)
{
	for (size_t k = 0; k < WEFT_COUNT(kinds) * 2; k++) {
		enum weft_encap_kind kind = kinds[k / 2];
		struct pair p;

		open_pair(&p, kind, k & 1);
		for (uint32_t bytes = 0; bytes <= MTU; bytes += bytes < 9 ? 1 : 1361) {
			struct weft_pkt out = data(weft_ev(1, bytes & 3), bytes), in;
			size_t n = raw_put(p.raw[0], &out, ip);

			CHECK(n > bytes && n <= raw_bytes_max(p.raw[0]));
			travel(kind);
			CHECK_EQ(raw_get(p.raw[1], 1, ip, n, &in), WEFT_DROP_COUNT);
			CHECK_EQ(in.peer, 8);
			CHECK_EQ(in.ev, out.ev);
			CHECK_EQ(in.port, 1);
			CHECK_EQ(in.mark, 0);
			CHECK_EQ(in.psn, 77);
			CHECK_EQ(in.w.va, 0x123456789);
			REQUIRE(in.w.len_bytes == bytes);
			CHECK_MEM(in.w.data, payload, bytes);
			CHECK((const uint8_t *)in.w.data >= ip &&
				(const uint8_t *)in.w.data + bytes < ip + n);
		}
		close_pair(&p);
	}
}

TEST(raw_put__fills_the_largest_packet_to_the_last_byte_and_no_further)
{
	struct pair p;
	struct weft_pkt out = data(0, MTU), sack = { .peer = 7, .op = WEFT_OP_SACK };

	open_pair(&p, WEFT_ENCAP_SRV6, false);
	size_t max = raw_bytes_max(p.raw[0]);

	memset(ip, 0xaa, sizeof(ip));
	out.op = WEFT_OP_WRITE_ONLY_IMM;
	size_t n = raw_put(p.raw[0], &out, ip);

	CHECK(n <= max);
	for (size_t i = n; i < sizeof(ip); i++)
		CHECK_EQ(ip[i], 0xaa);
	memset(ip, 0xaa, sizeof(ip));
	n = raw_put(p.raw[0], &sack, ip);
	CHECK_EQ(n, 88 + 48 + 4);
	CHECK_EQ(ip[n], 0xaa);
	close_pair(&p);
}

TEST(raw_put__knows_no_path_to_strangers)
{
	struct pair p;
	struct weft_pkt out = data(0, 8);

	open_pair(&p, WEFT_ENCAP_USID, false);
	out.ev = 99;
	CHECK_EQ(raw_put(p.raw[0], &out, ip), 0);
	out.ev = 0;
	out.peer = 8;
	CHECK_EQ(raw_put(p.raw[0], &out, ip), 0);
	out.peer = 7;
	CHECK(raw_put(p.raw[0], &out, ip) > 0);
	raw_peer_drop(p.raw[0], 7);
	CHECK_EQ(raw_put(p.raw[0], &out, ip), 0);
	close_pair(&p);
}

TEST(raw_put__sends_nothing_of_memory_that_is_gone)
{
	struct pair p;
	struct weft_pkt out = data(0, 8);
	uint8_t *at = mmap(NULL, MTU, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	weft_nofault_watch();
	open_pair(&p, WEFT_ENCAP_USID, false);
	out.w.data = at + 16;
	CHECK_EQ(raw_put(p.raw[0], &out, ip), 0);
	CHECK(weft_nofault_take() == at + 16);
	CHECK(!mprotect(at, MTU, PROT_READ));
	CHECK(raw_put(p.raw[0], &out, ip) > 0);
	close_pair(&p);
	munmap(at, MTU);
}

TEST(raw_split__makes_the_same_bytes)
{
	struct raw_parts parts;
	struct pair p;

	for (size_t k = 0; k < WEFT_COUNT(kinds); k++) {
		open_pair(&p, kinds[k], false);
		for (uint32_t bytes = 0; bytes < 10; bytes++) {
			struct weft_pkt out = data(weft_ev(1, 2), bytes);
			size_t n = raw_put(p.raw[0], &out, ip);

			REQUIRE(raw_split(p.raw[0], &out, &parts));
			CHECK_EQ(parts.head_bytes + parts.payload_bytes + parts.tail_bytes, n);
			CHECK_EQ(parts.payload_bytes, bytes);
			CHECK(!bytes || parts.payload == payload);
			CHECK_MEM(parts.head, ip, parts.head_bytes);
			CHECK_MEM(parts.tail, ip + n - parts.tail_bytes, parts.tail_bytes);
		}
		struct weft_pkt lost = data(weft_ev(1, 99), 0);

		CHECK(!raw_split(p.raw[0], &lost, &parts));
		close_pair(&p);
	}
}

TEST(raw_get__sees_what_switches_wrote_on_the_outside)
{
	struct weft_dscp dscp = WEFT_DSCP_DEFAULT;
	const struct {
		uint8_t tclass, mark;
	} rows[] = {
		{ (uint8_t)(dscp.data << 2 | 2), 0 },
		{ (uint8_t)(dscp.data << 2 | 3), WEFT_MARK_CE },
		{ (uint8_t)(dscp.trimmed << 2), WEFT_MARK_TRIMMED },
		{ (uint8_t)(dscp.trimmed_lasthop << 2), WEFT_MARK_TRIMMED_LASTHOP },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows) * WEFT_COUNT(kinds); i++) {
		enum weft_encap_kind kind = kinds[i / WEFT_COUNT(rows)];
		uint8_t tclass = rows[i % WEFT_COUNT(rows)].tclass;
		uint8_t mark = rows[i % WEFT_COUNT(rows)].mark;
		struct weft_pkt out = data(weft_ev(0, 1), MTU), in;
		struct pair p;

		open_pair(&p, kind, false);
		size_t n = raw_put(p.raw[0], &out, ip);

		if (mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP)) {
			n = 114; /* 128 from Ethernet on; the outermost length is corrected */
			ip[4] = 0;
			ip[5] = 114 - 40;
		}
		ip[0] = (uint8_t)(0x60 | tclass >> 4);
		ip[1] = (uint8_t)(tclass << 4 | (ip[1] & 15));
		travel(kind);
		CHECK_EQ(raw_get(p.raw[1], RAW_PLANE_ANY, ip, n, &in), WEFT_DROP_COUNT);
		CHECK_EQ(in.mark, mark);
		CHECK_EQ(in.psn, 77);
		CHECK_EQ(in.port, 0);
		CHECK_EQ(in.w.len_bytes, mark > WEFT_MARK_CE ? 0 : MTU);
		close_pair(&p);
	}
}

TEST(raw_get__drops_every_cut_and_every_flipped_bit)
{
	for (size_t k = 0; k < WEFT_COUNT(kinds); k++) {
		struct weft_pkt out = data(0, 64), in;
		struct pair p;
		unsigned accepted = 0;

		open_pair(&p, kinds[k], false);
		size_t n = raw_put(p.raw[0], &out, ip);

		travel(kinds[k]);
		CHECK_EQ(raw_get(p.raw[1], 0, ip, n, &in), WEFT_DROP_COUNT);
		for (size_t cut = 0; cut < n; cut++)
			CHECK(raw_get(p.raw[1], 0, ip, cut, &in) != WEFT_DROP_COUNT);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
			accepted += raw_get(p.raw[1], 0, ip, n, &in) == WEFT_DROP_COUNT;
			ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		/* What may change on the way: traffic class, flow label, hop limit, the UDP
		 * checksum, BTH byte 4; and all of an outer header but its form. */
		CHECK(accepted <= (kinds[k] == WEFT_ENCAP_SRV6 ? 372u : 60u));
		CHECK(accepted >= 28u + 8 + 16);
		close_pair(&p);
	}
}

TEST(raw_get__names_the_reason)
{
	struct weft_pkt out = data(0, 64), in;
	struct pair p;

	open_pair(&p, WEFT_ENCAP_USID, false);
	size_t n = raw_put(p.raw[0], &out, ip);

	travel(WEFT_ENCAP_USID);
	CHECK_EQ(raw_get(p.raw[1], 1, ip, n, &in), WEFT_DROP_UNKNOWN_PEER); /* another's plane */
	CHECK_EQ(raw_get(p.raw[0], 0, ip, n, &in), WEFT_DROP_NOT_MRC);      /* another's port */
	ip[8 + 3] ^= 1;
	CHECK_EQ(raw_get(p.raw[1], 0, ip, n, &in), WEFT_DROP_UNKNOWN_PEER);
	ip[8 + 3] ^= 1;
	ip[n - 20] ^= 1;
	CHECK_EQ(raw_get(p.raw[1], 0, ip, n, &in), WEFT_DROP_BAD_ICRC);
	ip[n - 20] ^= 1;
	ip[48] = 0x0a; /* RoCE's write */
	CHECK_EQ(raw_get(p.raw[1], 0, ip, n, &in), WEFT_DROP_NOT_MRC);
	CHECK_EQ(raw_get(p.raw[1], 0, ip, 0, &in), WEFT_DROP_TRUNCATED);
	raw_peer_drop(p.raw[1], 8);
	CHECK_EQ(raw_get(p.raw[1], 0, ip, n, &in), WEFT_DROP_UNKNOWN_PEER);
	close_pair(&p);
}

TEST(raw_get__takes_no_format_but_its_own)
{
	for (size_t k = 0; k < 9; k++) {
		struct weft_pkt out = data(0, 64), in;
		struct pair from, at;

		/* Without an outer header bytes cannot tell a carrier from a plain address; there
		 * the source port does, which is the EV's or the endpoint's. */
		if (k / 3 == k % 3)
			continue;
		open_pair(&from, kinds[k / 3], true);
		open_pair(&at, kinds[k % 3], true);
		size_t n = raw_put(from.raw[0], &out, ip);

		travel(kinds[k / 3]);
		enum weft_drop drop = raw_get(at.raw[1], 0, ip, n, &in);

		if (kinds[k / 3] == WEFT_ENCAP_SRV6 || kinds[k % 3] == WEFT_ENCAP_SRV6)
			CHECK_EQ(drop, WEFT_DROP_NOT_MRC);
		close_pair(&from);
		close_pair(&at);
	}
}

TEST(raw_get__refuses_payload_beyond_the_mtu)
{
	struct weft_pkt out = data(0, MTU), in;
	struct pair p;

	open_pair(&p, WEFT_ENCAP_STEV, false);
	size_t n = raw_put(p.raw[0], &out, ip);
	struct raw_config small = p.config[1];
	struct weft_udp_path path = { 0 };
	struct weft_udp_peer attr = { .udp_port = 5000, .addrs = 2, .paths = &path, .n_paths = 1 };

	small.mtu_bytes = MTU - 4;
	memcpy(attr.addr, hosts[0], sizeof(hosts[0]));
	struct raw *raw = raw_open(&small);

	REQUIRE(raw && !raw_peer_add(raw, 1, &attr));
	CHECK_EQ(raw_get(raw, 0, ip, n, &in), WEFT_DROP_OVERSIZED);
	CHECK_EQ(raw_get(p.raw[1], 0, ip, n, &in), WEFT_DROP_COUNT);
	raw_close(raw);
	close_pair(&p);
}

TEST(raw_get__steps_over_no_routing_header_that_it_would_not_send)
{
	struct weft_pkt out = data(0, 64), in;
	struct pair p;

	open_pair(&p, WEFT_ENCAP_SRV6, false);
	size_t n = raw_put(p.raw[0], &out, ip);

	for (unsigned units = 0; units < 256; units++) {
		size_t srh = 8 * (units + 1), body = n - 40 + srh;
		uint8_t *with = calloc(1, n + srh); /* its own memory: asan sees reads past it */

		memcpy(with, ip, 40);
		memcpy(with + 40 + srh, ip + 40, n - 40);
		with[4] = (uint8_t)(body >> 8);
		with[5] = (uint8_t)body;
		with[6] = 43;
		with[40] = 41;
		with[41] = (uint8_t)units;
		with[42] = 4;
		CHECK_EQ(raw_get(p.raw[1], 0, with, n + srh, &in) == WEFT_DROP_COUNT, units < 7);
		with[43] = 1; /* segments left: it is still on its way */
		CHECK(raw_get(p.raw[1], 0, with, n + srh, &in) != WEFT_DROP_COUNT);
		CHECK(raw_get(p.raw[1], 0, with, 40 + srh, &in) != WEFT_DROP_COUNT);
		free(with);
	}
	close_pair(&p);
}

TEST(raw_get__survives_any_bytes)
{
	struct weft_rng rng;
	unsigned taken = 0;

	weft_rng_seed(&rng, 5);
	for (size_t k = 0; k < WEFT_COUNT(kinds); k++) {
		struct pair p;

		open_pair(&p, kinds[k], true); /* nothing saves us from the headers */
		for (unsigned i = 0; i < 100000; i++) {
			uint32_t bytes = (uint32_t)weft_rng_below(&rng, 100);
			struct weft_pkt out = data(0, bytes), in;
			size_t n = raw_put(p.raw[0], &out, ip);

			for (unsigned flips = (unsigned)weft_rng_below(&rng, 4); flips--;)
				ip[weft_rng_below(&rng, n)] = (uint8_t)weft_rng_u64(&rng);
			n = weft_rng_below(&rng, 8) ? n : weft_rng_below(&rng, n);
			uint8_t *exact = malloc(n);

			memcpy(exact, ip, n);
			memset(&in, 0xff, sizeof(in));
			if (raw_get(p.raw[1], 0, exact, n, &in) == WEFT_DROP_COUNT) {
				taken++;
				if (weft_op_is_write(in.op) && in.w.len_bytes) {
					const uint8_t *at = in.w.data;

					CHECK(at > exact && at + in.w.len_bytes < exact + n);
				}
			}
			free(exact);
		}
		close_pair(&p);
	}
	CHECK(taken > 50000);
}

TEST(raw_peer_add__takes_one_peer_per_address_where_ports_cannot_tell)
{
	struct weft_udp_path path = { 0 };
	struct weft_udp_peer attr = { .udp_port = 5001,
		.src_port = { 6111 },
		.n_src_ports = 1,
		.addrs = 2,
		.paths = &path,
		.n_paths = 1 };
	struct pair p;

	memcpy(attr.addr, hosts[1], sizeof(hosts[1]));
	open_pair(&p, WEFT_ENCAP_USID, false);
	CHECK_EQ(raw_peer_add(p.raw[0], 3, &attr), 0);
	close_pair(&p);
	open_pair(&p, WEFT_ENCAP_SRV6, false);
	CHECK_EQ(raw_peer_add(p.raw[0], 3, &attr), -1);
	raw_peer_drop(p.raw[0], 7);
	path.arrive[10] = path.arrive[11] = 0xff;
	CHECK_EQ(raw_peer_add(p.raw[0], 3, &attr), -1); /* IPv4 */
	path.arrive[0] = 0xfc;
	CHECK_EQ(raw_peer_add(p.raw[0], 3, &attr), 0);
	close_pair(&p);
}
