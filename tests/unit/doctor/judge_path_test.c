/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

static struct weft_doctor_path *path = &facts.peer.path[1];

/* Plane 1 brings nothing. */
static void make_mute(void)
{
	make_healthy();
	path->arrived = path->echoed = path->mrc_arrived = 0;
	path->cabled_to = -1;
}

TEST(path_checks__say_who_is_not_there)
{
	static const struct {
		enum weft_doctor_peer_state state;
		enum weft_doctor_udp udp;
		int neighbour;
		const char *cause;
	} rows[] = {
		{ WEFT_DOCTOR_PEER_UNKNOWN, WEFT_DOCTOR_UDP_SILENT, -1, "no such host" },
		{ WEFT_DOCTOR_PEER_DEAD, WEFT_DOCTOR_UDP_SILENT, 0, "nobody answers ARP" },
		{ WEFT_DOCTOR_PEER_DEAD, WEFT_DOCTOR_UDP_SILENT, -1, "or everything is filtered" },
		{ WEFT_DOCTOR_PEER_DEAD, WEFT_DOCTOR_UDP_UNREACHABLE, -1, "says a router" },
		{ WEFT_DOCTOR_PEER_ABSENT, WEFT_DOCTOR_UDP_REFUSED, 1, "UDP reaches it" },
		{ WEFT_DOCTOR_PEER_ABSENT, WEFT_DOCTOR_UDP_SILENT, 1, "UDP to it vanishes" },
		{ WEFT_DOCTOR_PEER_ABSENT, WEFT_DOCTOR_UDP_NOT_SENT, 1, "does not let UDP out" },
		{ WEFT_DOCTOR_PEER_FILTERED, WEFT_DOCTOR_UDP_REFUSED, 1, "port answers), but TCP" },
		{ WEFT_DOCTOR_PEER_FILTERED, WEFT_DOCTOR_UDP_SILENT, 1, "answers ARP or NDP)" },
		{ WEFT_DOCTOR_PEER_OTHER, WEFT_DOCTOR_UDP_SILENT, 1, "no weft doctor listens" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		make_healthy();
		facts.peer.state = rows[i].state;
		facts.peer.udp = rows[i].udp;
		facts.peer.has_neighbour = rows[i].neighbour;
		facts.peer.planes = facts.peer.paths = 0;
		CHECK_FOUND(WEFT_DOCTOR_FAULT, "peer", rows[i].cause);
	}
	make_healthy();
	facts.peer.state = WEFT_DOCTOR_PEER_LOST;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "peer", "ended in the middle");
}

TEST(path_checks__name_planes_that_do_not_pair)
{
	make_healthy();
	facts.peer.planes = 3;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "plane-pairs", "3 planes there, 2 here");
	make_healthy();
	memcpy(facts.peer.plane_addr[1], facts.plane[1].addr, 16);
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "plane-pairs", "10.0.1.1 is the address of both ends");
	make_healthy();
	facts.peer.plane_addr[1][10] = 0xfd;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "plane-pairs", "IPv4 at one end");
}

TEST(path_checks__tell_a_filter_from_a_dead_plane)
{
	make_mute();
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "UDP is filtered");
	path->udp = WEFT_DOCTOR_UDP_REFUSED;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "rejected by a firewall");
	path->udp = WEFT_DOCTOR_UDP_NOT_SENT;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "own firewall");
	make_mute();
	path->tcp = WEFT_DOCTOR_TCP_SILENT;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "dead: neither");
	path->has_neighbour = 0;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "nobody answers ARP");
	path->has_route = false;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "no route to 10.0.1.2");
	/* What explains it is said once. */
	facts.iface[1].has_carrier = false;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "carrier", "no carrier");
	make_healthy();
	snprintf(path->route_iface, sizeof(path->route_iface), "eth0");
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "reach", "leaves by eth0");
}

TEST(path_checks__name_swapped_planes)
{
	make_mute();
	path->answers_as = 0;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "our plane 1 reaches the peer's plane 0");
	make_mute();
	path->cabled_to = 0;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "UDP is filtered"); /* one switch */
	facts.peer.path[0].cabled_to = 1;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "reach", "ends at the peer's plane 0");
	make_healthy();
	path->cabled_to = 0;
	facts.peer.path[0].cabled_to = 1;
	path->peer_iface_wrong = 200;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "cables", "ends at the peer's plane 0");
	/* Planes of one switch hear each other: no cable is wrong while packets come in right. */
	path->peer_iface_wrong = 0;
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
	make_healthy();
	path->peer_iface_wrong = 200;
	snprintf(path->arrived_iface, sizeof(path->arrived_iface), "eth9");
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "cables", "comes in by its eth9");
	make_healthy();
	path->own_iface_wrong = 200;
	snprintf(path->echoed_iface, sizeof(path->echoed_iface), "eth0");
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "cables", "answers come back by eth0");
}

TEST(path_checks__name_loss_and_its_way)
{
	make_healthy();
	path->arrived = path->echoed = 140;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "loss", "30 % of 200 small packets on the way there");
	path->arrived = path->echoed = 196;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "loss", "2 % of 200");
	path->arrived = path->echoed = 198; /* two may be anything */
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
	make_healthy();
	path->echoed = 100;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "loss", "50 % of 200 small packets on the way back");
	path->echoed = 0;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "loss", "one way only");
	make_healthy();
	path->mrc_arrived = 0;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "port-4791", "is filtered");
}

TEST(path_checks__tell_a_black_hole_from_a_small_mtu)
{
	make_healthy();
	path->mtu_out_bytes = path->mtu_back_bytes = 1500;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "path-mtu", "black hole: packets over 1500");
	path->mtu_told_bytes = 1500;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "path-mtu", "a router says 1500");
	make_healthy();
	path->mtu_back_bytes = 1500;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "path-mtu", "way back: packets over 1500");
	make_healthy();
	path->peer_mtu_bytes = path->mtu_out_bytes = path->mtu_back_bytes = 1500;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "path-mtu", "MTU 9000 here, 1500 there");
}
