/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "doctor_local.h"

#include <unistd.h>

static const uint8_t lo[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
static struct heard heard;

TEST(probe_encode__comes_back_as_it_was)
{
	struct probe in = { .nonce = 0xfedcba98,
		.kind = PROBE_SIZED,
		.is_answer = 2,
		.from = 31,
		.to = 7,
		.seq = 65535,
		.bytes = 9000 },
		     out;
	uint8_t bytes[PROBE_BYTES];

	probe_encode(&in, bytes);
	REQUIRE(probe_decode(&out, bytes, sizeof(bytes)));
	CHECK_EQ(out.nonce, in.nonce);
	CHECK_EQ(out.kind, in.kind);
	CHECK_EQ(out.is_answer, 2);
	CHECK_EQ(out.from, 31);
	CHECK_EQ(out.to, 7);
	CHECK_EQ(out.seq, 65535);
	CHECK_EQ(out.bytes, 9000);
}

TEST(probe_decode__refuses_strangers)
{
	struct probe in = { .from = 3 }, out;
	uint8_t bytes[PROBE_BYTES];

	probe_encode(&in, bytes);
	CHECK(!probe_decode(&out, bytes, PROBE_BYTES - 1));
	bytes[10] = WEFT_DOCTOR_PLANES_MAX;
	CHECK(!probe_decode(&out, bytes, PROBE_BYTES));
	bytes[10] = 0, bytes[8] = PROBE_KINDS;
	CHECK(!probe_decode(&out, bytes, PROBE_BYTES));
	bytes[8] = 0, bytes[0] = 'w';
	CHECK(!probe_decode(&out, bytes, PROBE_BYTES));
}

static bool wait_for(int fd)
{
	for (int i = 0; i < 1000; i++, usleep(1000))
		if (plane_hear(fd, &heard))
			return true;
	return false;
}

TEST(plane_hear__tells_whence_and_by_which_interface)
{
	int a = plane_socket(lo, 0, 0), b = plane_socket(lo, 0, 0);

	REQUIRE(a >= 0 && b >= 0);
	REQUIRE(weft_inet_send(a, lo, lo, plane_socket_number(b), "hello", 5) == 5);
	REQUIRE(wait_for(b));
	CHECK_EQ(heard.n, 5);
	CHECK_MEM(heard.from, lo, 16);
	CHECK_EQ(heard.number, plane_socket_number(a));
	CHECK_EQ(heard.ifindex, 1); /* lo is the first in every namespace */
	CHECK(!plane_hear(b, &heard));
	close(a);
	close(b);
}

TEST(plane_trouble__tells_a_closed_port)
{
	int a = plane_socket(lo, 0, 0), b = plane_socket(lo, 0, 0);
	uint16_t number = plane_socket_number(b);
	enum weft_doctor_udp what;
	uint32_t mtu;
	bool told = false;

	close(b);
	CHECK(!plane_trouble(a, &what, &mtu));
	REQUIRE(weft_inet_send(a, lo, lo, number, "hello", 5) == 5);
	for (int i = 0; i < 1000 && !told; i++, usleep(1000))
		told = plane_trouble(a, &what, &mtu);
	REQUIRE(told);
	CHECK_EQ(what, WEFT_DOCTOR_UDP_REFUSED);
	CHECK_EQ(mtu, 0);
	close(a);
}

TEST(ip_overhead__knows_both_versions)
{
	static const uint8_t v6[16] = { 0xfd };

	CHECK_EQ(ip_overhead(lo), 28);
	CHECK_EQ(ip_overhead(v6), 48);
}
