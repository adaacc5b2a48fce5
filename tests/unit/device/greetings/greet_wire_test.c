/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "greetings/greet_local.h"

static struct greet example(uint8_t kind)
{
	struct greet greet = { .kind = kind,
		.nonce = 0x0102030405060708,
		.echo = 9,
		.number = 1023,
		.end = { .host = "h0",
			.fabric = "f",
			.format = WEFT_UDP_PLAIN,
			.planes = 2,
			.mtu_bytes = 4096,
			.n_src_ports = 1,
			.udp_port = 7,
			.src_port = { 8 },
			.rate_bps = 1000,
			.trim_nack = true },
		.qp = { .qpn = 5,
			.peer_qpn = 6,
			.eq_number = 7,
			.psn = 8,
			.mpr_psns = 256,
			.wimm = 3,
			.rd_atomic = 16,
			.profile = WEFT_DEV_EXTENDED,
			.dynamic_mpr = true } };

	greet.end.addr[1][15] = 3;
	return greet;
}

TEST(greet_decode__reads_what_was_encoded)
{
	struct greet in = example(GREET_PAIR), out;
	uint8_t bytes[GREET_BYTES_MAX], again[GREET_BYTES_MAX];
	size_t n = greet_encode(&in, bytes);

	CHECK(greet_decode(bytes, n, &out));
	CHECK_EQ(out.nonce, in.nonce);
	CHECK_EQ(out.number, 1023);
	CHECK_EQ(out.qp.mpr_psns, 256);
	CHECK(out.qp.dynamic_mpr && !out.qp.trim_nack);
	CHECK_EQ(out.end.addr[1][15], 3);
	CHECK_EQ(greet_encode(&out, again), n);
	CHECK(!memcmp(bytes, again, n));
}

TEST(greet_decode__refuses_every_shorter_and_longer_one)
{
	struct greet in = example(GREET_PAIR), out;
	uint8_t bytes[GREET_BYTES_MAX + 1] = { 0 };
	size_t n = greet_encode(&in, bytes);

	for (size_t i = 0; i < n; i++)
		CHECK(!greet_decode(bytes, i, &out));
	CHECK(!greet_decode(bytes, n + 1, &out));
}

/* Or somebody would have us send more to a host than was sent to us in its name. */
TEST(greet_encode__makes_questions_as_long_as_their_answers)
{
	static const uint8_t kinds[][2] = { { GREET_HELLO, GREET_HELLO },
		{ GREET_HELLO, GREET_HELLO_ANSWER }, { GREET_PAIR, GREET_PAIR_ANSWER },
		{ GREET_PAIR, GREET_WAIT }, { GREET_GROUP, GREET_GROUP_ANSWER },
		{ GREET_PLANE, GREET_PLANE_ANSWER } };
	uint8_t bytes[GREET_BYTES_MAX];

	for (size_t i = 0; i < WEFT_COUNT(kinds); i++) {
		struct greet question = example(kinds[i][0]), answer = example(kinds[i][1]);

		memcpy(question.group.gid, (uint8_t[16]){ 0xff, 0x12 }, 16);
		answer.group = question.group;
		answer.group.n = GREET_MEMBERS_MAX;
		for (uint32_t k = 0; k < GREET_MEMBERS_MAX; k++)
			answer.group.qpn[k] = 1 + k;
		size_t n = greet_encode(&question, bytes);

		CHECK(n >= greet_encode(&answer, bytes));
		n = greet_encode(&question, bytes);
		CHECK(greet_decode(bytes, n, &answer));
	}
}

TEST(greet_decode__refuses_what_is_out_of_range)
{
	struct greet out, rows[8];

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		rows[i] = example(GREET_PAIR);
	rows[0].kind = 77;
	rows[1].number = NUMBERS;
	rows[2].end.planes = 0;
	rows[3].end.udp_port = 0;
	rows[4].qp.psn = 1u << 24;
	rows[5].qp.mpr_psns = 100;
	rows[6].qp.profile = WEFT_DEV_XRC_RECV + 1;
	memset(rows[7].end.host, 'x', sizeof(rows[7].end.host));
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint8_t bytes[GREET_BYTES_MAX];
		size_t n = greet_encode(&rows[i], bytes);

		if (greet_decode(bytes, n, &out))
			CHECK_FAIL("row %zu was taken", i);
	}
}

/* Whatever comes: no crash, and what is taken is within bounds. */
TEST(greet_decode__survives_noise)
{
	struct weft_rng rng;
	struct greet in = example(GREET_PAIR), out;
	uint8_t bytes[GREET_BYTES_MAX];
	size_t n = greet_encode(&in, bytes);

	weft_rng_seed(&rng, 4);
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t copy[GREET_BYTES_MAX];

		memcpy(copy, bytes, n);
		for (unsigned k = 0; k < 3; k++)
			copy[weft_rng_below(&rng, n)] = (uint8_t)weft_rng_u64(&rng);
		if (!greet_decode(copy, n, &out))
			continue;
		CHECK(out.end.planes <= WEFT_PORTS_MAX && out.qp.qpn <= WEFT_PSN_MASK);
		CHECK(out.end.n_src_ports <= WEFT_UDP_SRC_PORTS_MAX);
	}
}
