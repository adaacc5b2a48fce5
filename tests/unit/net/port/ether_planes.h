/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_ETHER_PLANES_H
#define TEST_ETHER_PLANES_H
/* ether_planes - of ether.h's two hosts, a cable that comes, goes and is made anew. */
#include "ether.h"

/* Looked at from where the port is at home: it looks for interfaces. */
static inline bool ether_becomes(unsigned where, struct weft_port *port, uint32_t mask)
{
	uint64_t end = weft_clock_now(NULL) + UINT64_C(10000000000);

	ether_enter(where);
	while (port->ops->carrier(port) != mask && weft_clock_now(NULL) < end)
		port->ops->wait(port, 10000000);
	return port->ops->carrier(port) == mask;
}

/* Whether a packet comes over by plane 1, within seconds; those before it may be lost. */
static inline bool ether_passes(struct weft_port *from, struct weft_port *to)
{
	uint64_t end = weft_clock_now(NULL) + UINT64_C(10000000000);
	struct weft_pkt out = ether_data(1, 1 << 16, 5), in[8];

	while (weft_clock_now(NULL) < end) {
		from->ops->tx(from, &out, 1, WEFT_WAKE_NOW);
		from->ops->wait(from, 1000000);
		to->ops->wait(to, 10000000);
		if (to->ops->rx(to, in, 8))
			return in[0].port == 1;
	}
	return false;
}

/* Cable 1 is cut out of both hosts, and comes back; routes and all that the kernel learned go with
 * it. */
static const char ether_cable[] =
	"set -e; ip link add p1 index 131 mtu 4300 type veth peer name q1 index 231 \\\n"
	"  mtu 4300 netns $1\n"
	"ethtool -K p1 tx off >/dev/null 2>&1; nsenter -t $1 -n ethtool -K q1 tx off >/dev/null "
	"2>&1\n"
	"ip addr add fd00:0:0:1::1/64 dev p1 nodad; ip link set p1 up\n"
	"nsenter -t $1 -n ip addr add fd00:0:0:1::2/64 dev q1 nodad\n"
	"nsenter -t $1 -n ip link set q1 up\n"
	"ip route add fc00:1:12::/48 via fd00:0:0:1::2 dev p1\n"
	"nsenter -t $1 -n ip route add fc00:1:11::/48 via fd00:0:0:1::1 dev q1\n";

static inline void ether_plug(bool in)
{
	static pid_t far; /* a process there, for its name */
	char command[sizeof(ether_cable) + 64];

	if (!far) {
		int ready[2];

		REQUIRE(!pipe(ready));
		far = fork();
		if (!far) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			ether_enter(1);
			(void)!write(ready[1], "", 1);
			pause();
		}
		REQUIRE(read(ready[0], command, 1) == 1);
		close(ready[0]);
		close(ready[1]);
	}
	ether_enter(0);
	snprintf(command, sizeof(command), "set -- %d; %s", (int)far,
		in ? ether_cable : "ip link del p1");
	REQUIRE(shell(command));
}

/* A plane is missing at first, comes, goes, is made anew, and becomes too narrow for a while. */
static inline void ether_case_planes(ether_open_fn *open, uint8_t kind)
{
	struct weft_pkt out = ether_data(1, 1 << 16, 5);
	size_t max;

	ether_build();
	ether_plug(false);
	ether_by_name = kind == WEFT_ENCAP_STEV; /* without a fabric file it may be */
	struct weft_port *a = ether_open(open, 0, kind), *b = ether_open(open, 1, kind);

	CHECK(ether_becomes(0, a, 1));
	(void)ether_know(a, 0, 1, b, kind);
	(void)ether_know(b, 1, 1, a, kind);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(a->ops->room(a, &max) & 1, 1);
		uint64_t refused = a->stats.tx_refused;

		a->ops->tx(a, &out, 1, WEFT_WAKE_NOW);
		CHECK_EQ(a->stats.tx_refused, refused + 1);
		ether_plug(true);
		CHECK(ether_becomes(0, a, 3));
		CHECK(ether_becomes(1, b, 3));
		CHECK(ether_passes(a, b));
		CHECK(ether_passes(b, a));
		ether_enter(0);
		CHECK(shell("ip link set p1 mtu 4000"));
		CHECK(ether_becomes(0, a, 1));
		CHECK(shell("ip link set p1 mtu 4300"));
		CHECK(ether_becomes(0, a, 3));
		CHECK(ether_passes(b, a));
		ether_plug(false);
		CHECK(ether_becomes(0, a, 1));
		CHECK(ether_becomes(1, b, 1));
	}
	ether_by_name = false;
	ether_plug(true);
	CHECK(ether_becomes(0, a, 3));
	CHECK(ether_becomes(1, b, 3));
	ether_plug(false); /* and back before anybody looks */
	ether_plug(true);
	for (unsigned i = 0; i < 100; i++) { /* as a pump does, each from where it is at home */
		ether_enter(0);
		(void)a->ops->carrier(a);
		ether_enter(1);
		(void)b->ops->carrier(b);
		usleep(10000);
	}
	CHECK(ether_passes(a, b));
	CHECK(ether_passes(b, a));
	a->ops->close(a);
	b->ops->close(b);
}

#endif /* TEST_ETHER_PLANES_H */
