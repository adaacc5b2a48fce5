/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge_links - checks of interfaces, addresses and planes.
 *
 * Interfaces that are nobody's plane are passed over: a server has bridges, tunnels and ports
 * without cable, and none of them is wrong.  Where planes were not named, hardware ports that are
 * down get a note, since they may be the planes that are missing.
 */
#include "doctor_local.h"

#include <stdio.h>
#include <string.h>

#define MTU_MIN_BYTES 604u    /* 512 bytes of payload */
#define MTU_JUMBO_BYTES 4188u /* 4096 bytes of payload */
#define FAST_MBPS 10000u

static bool is_plane(const struct judge *j, uint32_t iface)
{
	return plane_of_iface(j->facts, iface) >= 0;
}

/* Of a plane; NULL: it has none here. */
static const struct weft_doctor_iface *iface_of(const struct weft_doctor_facts *f, uint32_t plane)
{
	return f->plane[plane].iface < 0 ? NULL : &f->iface[f->plane[plane].iface];
}

static void look_at_carrier(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->ifaces; i++) {
		const struct weft_doctor_iface *iface = &f->iface[i];
		char where[WHERE_BYTES], remedy[128];
		bool is_wanted = is_plane(j, i) && f->are_planes_named;

		if (iface->is_loopback || (iface->is_up && iface->has_carrier) ||
			!(is_plane(j, i) || iface->is_device))
			continue;
		snprintf(remedy, sizeof(remedy), iface->is_up ? "ethtool %s" : "ip link set %s up",
			iface->name);
		say(j,
			is_wanted        ? WEFT_DOCTOR_FAULT
			: is_plane(j, i) ? WEFT_DOCTOR_WARNING
					 : WEFT_DOCTOR_NOTE,
			where_iface(f, i, where), remedy, "%s",
			iface->is_up ? "no carrier: no cable, or the other end is off"
				     : "the interface is down");
	}
}

static void look_at_planes(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;
	char where[WHERE_BYTES], remedy[160];

	if (!f->planes)
		say(j, WEFT_DOCTOR_FAULT, "interfaces", "ip addr add 10.0.0.1/24 dev eth1",
			"no interface has an address that another host could reach");
	for (uint32_t i = 0; i < f->planes; i++) {
		const struct weft_doctor_plane *plane = &f->plane[i];
		const char *word = plane->word;

		if (plane->iface < 0) {
			snprintf(remedy, sizeof(remedy),
				"ip -br addr   # then --planes with what "
				"is there");
			say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where), remedy,
				weft_inet_is_none(plane->addr)
					? "there is no interface of this name"
					: "no interface of this host has this address");
		} else if (weft_inet_is_none(plane->addr)) {
			snprintf(remedy, sizeof(remedy), "ip addr add 10.0.%u.1/24 dev %.16s", i,
				word);
			say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where), remedy,
				"the interface has no address but link-local ones, which no peer "
				"can name");
		}
		for (uint32_t k = 0; k < i; k++)
			if (!weft_inet_is_none(plane->addr) &&
				!memcmp(f->plane[k].addr, plane->addr, 16))
				say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where),
					"an address for each plane", "the same address as plane %u",
					k);
	}
	if (f->planes && !f->are_planes_named)
		say(j, WEFT_DOCTOR_NOTE, "interfaces", "weft doctor --planes eth1,eth2",
			"no planes were named: each of %u interfaces with an address is taken for "
			"one",
			f->planes);
}

static void look_at_duplicates(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->addrs; i++) {
		const struct weft_doctor_addr *addr = &f->addr[i];
		char where[WHERE_BYTES], text[WEFT_PLANE_TEXT_BYTES], remedy[160];
		const char *name = f->iface[addr->iface].name;

		weft_plane_text(addr->addr, text);
		if (addr->is_duplicate) {
			snprintf(remedy, sizeof(remedy), "ip addr del %s/%u dev %s   # and another",
				text,
				addr->prefix_bits - (weft_inet_is_mapped(addr->addr) ? 96u : 0),
				name);
			say(j, WEFT_DOCTOR_FAULT, where_iface(f, addr->iface, where), remedy,
				"%s is somebody else's, too (%s)", text,
				weft_inet_is_mapped(addr->addr)
					? "another host answers ARP for it"
					: "DAD failed: this host does not use it");
		} else if (addr->is_tentative && !addr->is_link_local) {
			snprintf(remedy, sizeof(remedy), "ip addr show dev %s   # again in 2 s",
				name);
			say(j, WEFT_DOCTOR_NOTE, where_iface(f, addr->iface, where), remedy,
				"%s is still tentative (DAD): it cannot be used yet", text);
		}
		for (uint32_t k = 0; k < i; k++)
			if (!addr->is_link_local && f->addr[k].iface != addr->iface &&
				!memcmp(f->addr[k].addr, addr->addr, 16))
				say(j, WEFT_DOCTOR_FAULT, where_iface(f, addr->iface, where),
					"ip -br addr", "%s is on %s as well", text,
					f->iface[f->addr[k].iface].name);
	}
}

static void look_at_mtu(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;
	uint32_t first = 0;

	for (uint32_t i = 0; i < f->planes; i++) {
		const struct weft_doctor_iface *iface = iface_of(f, i);
		char where[WHERE_BYTES], remedy[96];

		if (!iface || iface->is_loopback)
			continue;
		snprintf(remedy, sizeof(remedy), "ip link set %s mtu 9000", iface->name);
		if (iface->mtu_bytes < MTU_MIN_BYTES)
			say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where), remedy,
				"MTU %u: packets of 512 bytes want 604", iface->mtu_bytes);
		else if (first && iface->mtu_bytes != first)
			say(j, WEFT_DOCTOR_WARNING, where_plane(f, i, where), remedy,
				"MTU %u, and another plane has %u: planes with less than a full "
				"packet wants stay down",
				iface->mtu_bytes, first);
		else if (iface->mtu_bytes < MTU_JUMBO_BYTES && iface->speed_mbps >= FAST_MBPS)
			say(j, WEFT_DOCTOR_NOTE, where_plane(f, i, where), remedy,
				"MTU %u at %u Gb/s: packets of 4096 bytes (MTU 4188 and more) cost "
				"a quarter of the CPU",
				iface->mtu_bytes, iface->speed_mbps / 1000);
		first = first ? first : iface->mtu_bytes;
	}
}

/* ---- several interfaces in one subnet ---- */

static bool share_subnet(const struct weft_doctor_addr *a, const struct weft_doctor_addr *b)
{
	uint32_t bits = WEFT_MIN(a->prefix_bits, b->prefix_bits), whole = bits / 8;
	uint8_t rest = (uint8_t)(0xff00u >> bits % 8);

	return a->iface != b->iface && !memcmp(a->addr, b->addr, whole) &&
	       (whole == 16 || !((a->addr[whole] ^ b->addr[whole]) & rest));
}

static void tell_shared(struct judge *j, uint32_t one, uint32_t other)
{
	const struct weft_doctor_facts *f = j->facts;
	const struct weft_doctor_iface *a = &f->iface[one], *b = &f->iface[other];
	char where[WHERE_BYTES], remedy[160];

	where_iface(f, one, where);
	if (a->rp_filter == 1 || b->rp_filter == 1) {
		snprintf(remedy, sizeof(remedy),
			"sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.%s.rp_filter=2 "
			"net.ipv4.conf.%s.rp_filter=2",
			a->name, b->name);
		say(j, WEFT_DOCTOR_FAULT, where, remedy,
			"%s is in the same subnet and rp_filter is strict: what comes in by the "
			"one "
			"without the route is dropped",
			b->name);
	}
	if (a->arp_ignore < 1 || b->arp_ignore < 1 || a->arp_announce < 2 || b->arp_announce < 2)
		say(j, WEFT_DOCTOR_WARNING, where,
			"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
			"%s is in the same subnet: each answers ARP for the other (ARP flux), so "
			"planes share a cable",
			b->name);
}

static void look_at_subnets(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->addrs; i++)
		for (uint32_t k = 0; k < i; k++)
			if (weft_inet_is_mapped(f->addr[i].addr) && is_plane(j, f->addr[i].iface) &&
				is_plane(j, f->addr[k].iface) &&
				share_subnet(&f->addr[i], &f->addr[k]))
				tell_shared(j, f->addr[i].iface, f->addr[k].iface);
}

/* ---- the cards ---- */

static void look_at_offloads(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->planes; i++) {
		const struct weft_doctor_iface *iface = iface_of(f, i);
		char where[WHERE_BYTES], remedy[96];

		if (!iface)
			continue;
		where_plane(f, i, where);
		snprintf(remedy, sizeof(remedy), "ethtool -K %s rx on tx on", iface->name);
		if (!iface->tx_checksum || !iface->rx_checksum)
			say(j, WEFT_DOCTOR_WARNING, where, remedy,
				"checksum offload is off (%s): the CPU sums every byte",
				iface->tx_checksum   ? "rx"
				: iface->rx_checksum ? "tx"
						     : "rx and tx");
		snprintf(remedy, sizeof(remedy), "ethtool -K %s gro on gso on", iface->name);
		if (!iface->gro || !iface->gso)
			say(j, WEFT_DOCTOR_NOTE, where, remedy,
				"%s off: Weft does not need it, TCP beside it does",
				iface->gro   ? "GSO is"
				: iface->gso ? "GRO is"
					     : "GRO and GSO are");
	}
}

static void look_at_queues(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->planes; i++) {
		const struct weft_doctor_iface *iface = iface_of(f, i);
		char where[WHERE_BYTES], remedy[128];

		if (!iface)
			continue;
		where_plane(f, i, where);
		if (iface->is_device && iface->rx_queues == 1 && iface->speed_mbps >= FAST_MBPS &&
			!iface->has_rps && f->machine.cpus > 1) {
			snprintf(remedy, sizeof(remedy), "ethtool -l %s; ethtool -L %s combined %u",
				iface->name, iface->name, WEFT_MIN(f->machine.cpus, 8u));
			say(j, WEFT_DOCTOR_NOTE, where, remedy,
				"one receive queue at %u Gb/s: one CPU takes all packets (RSS)",
				iface->speed_mbps / 1000);
		} else if (iface->irqs > 2 && iface->irq_cpus == 1 && f->machine.cpus > 1) {
			say(j, WEFT_DOCTOR_WARNING, where,
				"systemctl start irqbalance   # or the vendor's set_irq_affinity",
				"all %u interrupts of this card go to one CPU", iface->irqs);
		}
	}
}

static void look_at_errors(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->planes; i++) {
		const struct weft_doctor_iface *iface = iface_of(f, i);
		char where[WHERE_BYTES], remedy[96];

		if (!iface)
			continue;
		where_plane(f, i, where);
		snprintf(remedy, sizeof(remedy), "ethtool -S %s; clean or change cable and optics",
			iface->name);
		if (iface->crc_errors)
			say(j, WEFT_DOCTOR_WARNING, where, remedy,
				"%llu frames came in broken (rx_crc_errors)",
				(unsigned long long)iface->crc_errors);
		snprintf(remedy, sizeof(remedy), "ethtool -g %s; ethtool -G %s rx 4096",
			iface->name, iface->name);
		if (iface->missed)
			say(j, WEFT_DOCTOR_NOTE, where, remedy,
				"the card had no buffer for %llu frames (rx_missed_errors)",
				(unsigned long long)iface->missed);
		snprintf(remedy, sizeof(remedy), "ethtool -s %s autoneg on", iface->name);
		if (iface->is_half_duplex)
			say(j, WEFT_DOCTOR_FAULT, where, remedy, "half duplex");
	}
}

static void look_at_speeds(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;
	uint32_t first = 0;

	for (uint32_t i = 0; i < f->planes; i++) {
		const struct weft_doctor_iface *iface = iface_of(f, i);
		uint32_t speed = iface ? iface->speed_mbps : 0;
		char where[WHERE_BYTES];

		if (first && speed && speed != first)
			say(j, WEFT_DOCTOR_NOTE, where_plane(f, i, where),
				"ethtool   # both ends, and the cable's class",
				"%u Mb/s, and another plane has %u", speed, first);
		first = first ? first : speed;
	}
}

static void look_at_ipv6(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->planes && f->machine.has_ipv6; i++) {
		const struct weft_doctor_iface *iface = iface_of(f, i);
		char where[WHERE_BYTES], remedy[96];

		if (!iface || iface->is_loopback || !iface->has_no_ipv6)
			continue;
		snprintf(remedy, sizeof(remedy), "sysctl -w net.ipv6.conf.%s.disable_ipv6=0",
			iface->name);
		say(j, weft_inet_is_mapped(f->plane[i].addr) ? WEFT_DOCTOR_NOTE : WEFT_DOCTOR_FAULT,
			where_plane(f, i, where), remedy,
			"IPv6 is off on this interface: planes of IPv4 run, uSIDs do not, and "
			"crossed cables cannot be seen");
	}
}

const struct check link_checks[] = {
	{ "planes", "each plane has an interface and an address", look_at_planes },
	{ "carrier", "interfaces are up and have carrier", look_at_carrier },
	{ "duplicate-address", "addresses are this host's alone", look_at_duplicates },
	{ "same-subnet", "each plane has its own subnet, or ARP and rp_filter are set for one",
		look_at_subnets },
	{ "mtu", "MTUs agree", look_at_mtu },
	{ "link-errors", "no broken frames", look_at_errors },
	{ "offloads", "checksums are the cards' work", look_at_offloads },
	{ "queues", "interrupts are spread", look_at_queues },
	{ "speed", "planes have one speed", look_at_speeds },
	{ "ipv6", "IPv6 is on", look_at_ipv6 },
	{ NULL, NULL, NULL },
};
