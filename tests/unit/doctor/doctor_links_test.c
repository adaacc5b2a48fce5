/* SPDX-License-Identifier: BSD-2-Clause */
#include "below.h"
#include "doctor_local.h"

static struct weft_doctor_facts facts;

TEST(links_read__finds_loopback)
{
	static const uint8_t lo[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
	bool found = false;

	links_read(&facts);
	REQUIRE(facts.ifaces > 0);
	for (uint32_t i = 0; i < facts.addrs; i++) {
		const struct weft_doctor_addr *addr = &facts.addr[i];

		if (memcmp(addr->addr, lo, 16))
			continue;
		found = true;
		CHECK_EQ(addr->prefix_bits, 104);
		CHECK(facts.iface[addr->iface].is_loopback);
		CHECK_STR(facts.iface[addr->iface].name, "lo");
		CHECK_EQ(facts.iface[addr->iface].mtu_bytes, 65536);
	}
	CHECK(found);
}

TEST(link_settings__reads_sys_and_proc)
{
	struct weft_doctor_iface iface = { .name = "eth0", .ifindex = 4 };

	root_begin();
	root_put("/sys/class/net/eth0/ifindex", "4\n");
	root_put("/sys/class/net/eth0/speed", "25000\n");
	root_put("/sys/class/net/eth0/duplex", "half\n");
	root_put("/sys/class/net/eth0/statistics/rx_crc_errors", "3\n");
	root_put("/sys/class/net/eth0/queues/rx-0/rps_cpus", "00,00000000\n");
	root_put("/sys/class/net/eth0/queues/rx-1/rps_cpus", "00000003\n");
	root_put("/sys/class/net/eth0/queues/tx-0/xps_cpus", "0\n");
	root_put("/sys/class/net/eth0/device/msi_irqs/40", "msix\n");
	root_put("/sys/class/net/eth0/device/msi_irqs/41", "msix\n");
	root_put("/proc/irq/40/effective_affinity_list", "2-3\n");
	root_put("/proc/irq/41/effective_affinity_list", "3,5\n");
	root_put("/proc/sys/net/ipv4/conf/all/rp_filter", "0\n");
	root_put("/proc/sys/net/ipv4/conf/eth0/rp_filter", "1\n");
	root_put("/proc/sys/net/ipv4/conf/all/arp_ignore", "2\n");
	root_put("/proc/sys/net/ipv4/conf/eth0/arp_ignore", "0\n");
	root_put("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "0\n");
	link_settings(&iface, root);
	CHECK_EQ(iface.speed_mbps, 25000);
	CHECK(iface.is_half_duplex && iface.is_device && iface.has_rps && !iface.has_no_ipv6);
	CHECK_EQ(iface.crc_errors, 3);
	CHECK_EQ(iface.rx_queues, 2);
	CHECK_EQ(iface.irqs, 2);
	CHECK_EQ(iface.irq_cpus, 3);
	CHECK_EQ(iface.rp_filter, 1);
	CHECK_EQ(iface.arp_ignore, 2);
	CHECK_EQ(iface.arp_announce, -1);
	root_end();
}

TEST(link_settings__takes_nothing_of_another_namespace)
{
	struct weft_doctor_iface iface = { .name = "eth0", .ifindex = 4 };

	root_begin();
	root_put("/sys/class/net/eth0/ifindex", "9\n");
	root_put("/sys/class/net/eth0/speed", "25000\n");
	link_settings(&iface, root);
	CHECK_EQ(iface.speed_mbps, 0);
	CHECK(iface.has_no_ipv6);
	root_end();
}

TEST(link_offloads__are_unknown_without_the_interface)
{
	struct weft_doctor_iface lo = { .name = "lo" }, none = { .name = "nosuchif0" };

	link_offloads(&none);
	CHECK_EQ(none.gro, -1);
	CHECK_EQ(none.tx_checksum, -1);
	link_offloads(&lo);
	CHECK(lo.gro == 0 || lo.gro == 1);
}
