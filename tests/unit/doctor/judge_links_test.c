/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

TEST(link_checks__name_carrier_by_whose_it_is)
{
	make_healthy();
	facts.iface[1].has_carrier = false;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "carrier", "no carrier");
	CHECK_STR(report.finding[0].where, "plane 1 (eth1)");
	CHECK_STR(report.finding[0].remedy, "ethtool eth1");
	facts.iface[1].is_up = false;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "carrier", "is down");
	/* A port of nobody's. */
	make_healthy();
	facts.ifaces = 3;
	facts.iface[2] =
		(struct weft_doctor_iface){ .name = "eth2", .is_up = true, .is_device = true };
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "carrier", "no carrier");
	facts.iface[2].is_device = false; /* a bridge without members */
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
}

TEST(link_checks__name_planes_without_interface_or_address)
{
	make_healthy();
	facts.peer.state = WEFT_DOCTOR_PEER_UNASKED;
	facts.plane[1].iface = -1;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "planes", "no interface of this host has this address");
	memset(facts.plane[1].addr, 0, 16);
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "planes", "no interface of this name");
	facts.plane[1].iface = 1;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "planes", "no address but link-local");
	facts.planes = 0;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "planes", "no interface has an address");
	make_healthy();
	facts.are_planes_named = false;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "planes", "each of 2 interfaces");
}

TEST(link_checks__name_duplicate_addresses)
{
	make_healthy();
	facts.addr[1].is_duplicate = true;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "duplicate-address", "10.0.1.1 is somebody else's");
	CHECK_STR(report.finding[0].remedy, "ip addr del 10.0.1.1/24 dev eth1   # and another");
	facts.addr[1].is_duplicate = false;
	facts.addr[1].is_tentative = true;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "duplicate-address", "tentative");
	make_healthy();
	facts.peer.state = WEFT_DOCTOR_PEER_UNASKED;
	facts.planes = 1;
	memcpy(facts.addr[1].addr, facts.addr[0].addr, 16);
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "duplicate-address", "10.0.0.1 is on eth0 as well");
}

TEST(link_checks__name_mtus)
{
	make_healthy();
	facts.iface[1].mtu_bytes = 1500;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "mtu", "MTU 1500, and another plane has 9000");
	facts.iface[1].mtu_bytes = 576;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "mtu", "MTU 576");
	make_healthy();
	facts.planes = facts.ifaces = 1;
	facts.peer.planes = 1;
	facts.iface[0].mtu_bytes = 1500;
	facts.peer.state = WEFT_DOCTOR_PEER_UNASKED;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "mtu", "at 100 Gb/s");
	facts.iface[0].speed_mbps = 1000;
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
}

TEST(link_checks__name_one_subnet_for_two)
{
	make_healthy();
	facts.addr[1].addr[14] = 0;
	facts.addr[1].addr[15] = 7;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "same-subnet", "ARP flux");
	for (int i = 0; i < 2; i++) {
		facts.iface[i].arp_ignore = 1;
		facts.iface[i].arp_announce = 2;
	}
	facts.iface[0].rp_filter = 1;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "same-subnet", "rp_filter is strict");
	facts.iface[0].rp_filter = 2;
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
	/* Strict, but each has its own. */
	make_healthy();
	facts.iface[0].rp_filter = facts.iface[1].rp_filter = 1;
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
	/* A /16 and a /24 within it are one subnet. */
	facts.addr[0].prefix_bits = 112;
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 2);
}

TEST(link_checks__name_offloads_queues_and_errors)
{
	make_healthy();
	facts.iface[0].tx_checksum = 0;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "offloads", "is off (tx)");
	facts.iface[0].tx_checksum = -1; /* not told is not off */
	facts.iface[0].gro = 0;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "offloads", "GRO is off");
	make_healthy();
	facts.iface[1].rx_queues = 1;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "queues", "one receive queue");
	make_healthy();
	facts.iface[1].irq_cpus = 1;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "queues", "all 8 interrupts");
	make_healthy();
	facts.iface[1].crc_errors = 5;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "link-errors", "5 frames");
	make_healthy();
	facts.iface[1].is_half_duplex = true;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "link-errors", "half duplex");
	make_healthy();
	facts.iface[1].missed = 5;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "link-errors", "no buffer for 5");
	make_healthy();
	facts.iface[1].speed_mbps = 25000;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "speed", "25000 Mb/s");
	make_healthy();
	facts.iface[1].has_no_ipv6 = true;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "ipv6", "IPv6 is off");
}
