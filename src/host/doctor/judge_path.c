/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge_path - checks of the peer and of each plane's way to it.
 *
 * A plane gets one main finding, the nearest to the cable that explains all that is missing: no
 * route before no neighbour, no neighbour before a filter.  A filter is told from a dead peer by
 * who else answers: TCP, ICMP, the neighbour table.
 */
#include "doctor_local.h"

#include <stdio.h>
#include <string.h>

#define LOSS_FEW 3u /* of the train: a scheduler's hiccup, not a cable */
#define LOSS_BAD_PERCENT 5u
#define TRAIN_USABLE 20u

static uint32_t percent(uint32_t lost, uint32_t sent)
{
	return sent ? (100 * lost + sent / 2) / sent : 0;
}

static void look_at_peer(struct judge *j)
{
	const struct weft_doctor_peer *p = &j->facts->peer;
	char remedy[224];

	snprintf(remedy, sizeof(remedy), "there: weft doctor --listen");
	switch (p->state) {
	case WEFT_DOCTOR_PEER_UNKNOWN:
		say(j, WEFT_DOCTOR_FAULT, p->name, "getent hosts NAME; or give an address",
			"no such host: %s", p->why);
		break;
	case WEFT_DOCTOR_PEER_DEAD:
		say(j, WEFT_DOCTOR_FAULT, p->name, "is it on? cabled? in this subnet, this VLAN?",
			"%s%s",
			p->has_neighbour == 0
				? "the peer is dead or not on this cable: nobody answers ARP or "
				  "NDP "
				  "for it"
				: "the peer is dead or everything is filtered: neither TCP nor UDP "
				  "nor ICMP comes back",
			p->udp == WEFT_DOCTOR_UDP_UNREACHABLE && p->has_neighbour
				? " (unreachable, says a router)"
				: "");
		break;
	case WEFT_DOCTOR_PEER_ABSENT:
		say(j, WEFT_DOCTOR_FAULT, p->name, remedy,
			"its host lives, but nothing listens on TCP port %u%s", p->tcp_port,
			p->udp == WEFT_DOCTOR_UDP_REFUSED ? "; UDP reaches it"
			: p->udp == WEFT_DOCTOR_UDP_NOT_SENT
				? "; this host's firewall does not let UDP out"
				: "; UDP to it vanishes, or ICMP is filtered");
		break;
	case WEFT_DOCTOR_PEER_FILTERED:
		snprintf(remedy, sizeof(remedy),
			"there: nft insert rule inet filter input tcp dport %u accept",
			p->tcp_port);
		say(j, WEFT_DOCTOR_FAULT, p->name, remedy,
			"its host lives (%s), but TCP port %u is filtered",
			p->udp == WEFT_DOCTOR_UDP_REFUSED ? "a closed UDP port answers"
							  : "it answers ARP or NDP",
			p->tcp_port);
		break;
	case WEFT_DOCTOR_PEER_OTHER:
		say(j, WEFT_DOCTOR_FAULT, p->name, remedy,
			"TCP port %u is open, but no weft doctor listens there (weft perf, maybe): "
			"planes are not measured",
			p->tcp_port);
		break;
	case WEFT_DOCTOR_PEER_LOST:
		say(j, WEFT_DOCTOR_WARNING, p->name, remedy,
			"the peer's doctor ended in the middle: what it saw is not known");
		break;
	default:
		break;
	}
}

static void look_at_counts(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	if (f->peer.planes && f->planes != f->peer.planes)
		say(j, WEFT_DOCTOR_FAULT, f->peer.name,
			"give both ends the same planes, in the same order: --planes",
			"%u planes there, %u here", f->peer.planes, f->planes);
	for (uint32_t i = 0; i < f->planes; i++)
		for (uint32_t k = 0; k < f->peer.planes; k++) {
			char where[WHERE_BYTES], text[WEFT_PLANE_TEXT_BYTES];

			if (weft_inet_is_none(f->plane[i].addr) ||
				memcmp(f->plane[i].addr, f->peer.plane_addr[k], 16) ||
				f->iface[f->plane[i].iface < 0 ? 0 : f->plane[i].iface].is_loopback)
				continue;
			weft_plane_text(f->plane[i].addr, text);
			say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where),
				"another address for one of the two",
				"%s is the address of both ends (there: plane %u)", text, k);
		}
	for (uint32_t i = 0; i < f->peer.paths; i++) {
		char where[WHERE_BYTES];

		if (!weft_inet_is_none(f->plane[i].addr) &&
			!weft_inet_is_none(f->peer.plane_addr[i]) &&
			weft_inet_is_mapped(f->plane[i].addr) !=
				weft_inet_is_mapped(f->peer.plane_addr[i]))
			say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where),
				"--planes with addresses of one version at both ends",
				"IPv4 at one end, IPv6 at the other");
	}
}

/* ---- planes on which nothing comes through ---- */

static bool is_mute(const struct weft_doctor_path *p)
{
	return p->is_tried && p->sent && !p->echoed && !p->arrived;
}

/* Our plane's cable ends at another plane of the peer's: heard there, not at its own, and that
 * other one does not hear its own plane of ours.  If it does, both hang on one switch. */
static bool is_crossed(const struct weft_doctor_facts *f, uint32_t i)
{
	int k = f->peer.path[i].cabled_to;

	return k >= 0 && k != (int)i &&
	       ((uint32_t)k >= f->peer.paths || f->peer.path[k].cabled_to != k);
}

static bool tell_order(struct judge *j, uint32_t i, const char *where)
{
	const struct weft_doctor_path *p = &j->facts->peer.path[i];

	if (p->answers_as < 0 && !is_crossed(j->facts, i))
		return false;
	if (p->answers_as >= 0)
		say(j, WEFT_DOCTOR_FAULT, where,
			"swap the cables, or give --planes in the same order at both ends",
			"swapped: our plane %u reaches the peer's plane %d, not its plane %u", i,
			p->answers_as, i);
	else
		say(j, WEFT_DOCTOR_FAULT, where,
			"swap the cables, or the addresses of the two interfaces",
			"swapped: the cable of our plane %u ends at the peer's plane %d", i,
			p->cabled_to);
	return true;
}

static void tell_filter(
	struct judge *j, const char *where, const struct weft_doctor_path *p, const char *own)
{
	char watch[96];

	const char *remedy = "there: nft insert rule inet filter input udp dport 1024-65535 accept";

	snprintf(watch, sizeof(watch), "ip neigh show dev %s; tcpdump -eni %s   # there, too", own,
		own);
	if (p->udp == WEFT_DOCTOR_UDP_NOT_SENT)
		say(j, WEFT_DOCTOR_FAULT, where,
			"nft insert rule inet filter output udp sport 1024-65535 accept",
			"this host's own firewall does not let UDP out");
	else if (p->udp == WEFT_DOCTOR_UDP_REFUSED || p->udp == WEFT_DOCTOR_UDP_PROHIBITED)
		say(j, WEFT_DOCTOR_FAULT, where, remedy,
			"UDP is rejected by a firewall (ICMP says so), while %s",
			p->tcp == WEFT_DOCTOR_TCP_OPEN ? "TCP comes through" : "the host lives");
	else if (p->tcp == WEFT_DOCTOR_TCP_OPEN || p->tcp == WEFT_DOCTOR_TCP_REFUSED)
		say(j, WEFT_DOCTOR_FAULT, where, remedy,
			"UDP is filtered: TCP comes through on this plane, not one of %u datagrams "
			"arrived",
			p->sent);
	else if (p->has_neighbour == 0)
		say(j, WEFT_DOCTOR_FAULT, where, watch,
			"nobody answers ARP or NDP: the peer is not on this cable (cable, VLAN, "
			"address, the far port)");
	else
		say(j, WEFT_DOCTOR_FAULT, where, watch, "dead: neither TCP nor UDP comes through%s",
			p->has_neighbour == 1 ? ", though the peer answers ARP or NDP" : "");
}

/* Without carrier nothing can come through, and that has been said. */
static bool is_on(const struct weft_doctor_facts *f, uint32_t plane)
{
	int iface = f->plane[plane].iface;

	return iface < 0 || (f->iface[iface].is_up && f->iface[iface].has_carrier);
}

static void look_at_reach(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->peer.paths; i++) {
		const struct weft_doctor_path *p = &f->peer.path[i];
		char where[WHERE_BYTES], to[WEFT_PLANE_TEXT_BYTES], remedy[192];
		const char *own =
			f->plane[i].iface < 0 ? "IFACE" : f->iface[f->plane[i].iface].name;

		if (!p->is_tried || !is_on(f, i))
			continue;
		where_plane(f, i, where);
		weft_plane_text(p->to, to);
		snprintf(remedy, sizeof(remedy), "ip route add %s dev %s   # or via a router", to,
			own);
		if (!p->has_route)
			say(j, WEFT_DOCTOR_FAULT, where, remedy, "no route to %s", to);
		else if (is_mute(p) && memcmp(p->from, p->to, 16) && !tell_order(j, i, where))
			tell_filter(j, where, p, own);
		else if (!is_mute(p) && f->plane[i].iface >= 0 && *p->route_iface &&
			 strcmp(p->route_iface, own) && strcmp(p->route_iface, "lo"))
			say(j, WEFT_DOCTOR_WARNING, where, remedy,
				"the route to %s leaves by %s, not by the plane's interface", to,
				p->route_iface);
	}
}

/* ---- planes on which something does ---- */

static void look_at_loss(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;
	bool is_told = f->peer.state == WEFT_DOCTOR_PEER_ANSWERED;

	for (uint32_t i = 0; i < f->peer.paths; i++) {
		const struct weft_doctor_path *p = &f->peer.path[i];
		uint32_t out = p->sent - p->arrived, back = p->arrived - p->echoed;
		char where[WHERE_BYTES];

		where_plane(f, i, where);
		if (!is_told || !p->is_tried || !p->arrived || p->echoed > p->arrived)
			continue;
		if (!p->echoed) {
			say(j, WEFT_DOCTOR_FAULT, where,
				"nft insert rule inet filter input udp dport 1024-65535 accept; "
				"sysctl net.ipv4.conf.all.rp_filter",
				"one way only: %u of %u datagrams arrive there, no answer comes "
				"back",
				p->arrived, p->sent);
			continue;
		}
		if (out >= LOSS_FEW)
			say(j,
				percent(out, p->sent) >= LOSS_BAD_PERCENT ? WEFT_DOCTOR_FAULT
									  : WEFT_DOCTOR_WARNING,
				where,
				"ethtool -S at both ends; tc -s qdisc; clean or change the "
				"cable",
				"loss: %u %% of %u small packets on the way there",
				percent(out, p->sent), p->sent);
		if (back >= LOSS_FEW)
			say(j,
				percent(back, p->arrived) >= LOSS_BAD_PERCENT ? WEFT_DOCTOR_FAULT
									      : WEFT_DOCTOR_WARNING,
				where,
				"ethtool -S at both ends; tc -s qdisc; clean or change the "
				"cable",
				"loss: %u %% of %u small packets on the way back",
				percent(back, p->arrived), p->arrived);
	}
}

static void look_at_mrc_port(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->peer.paths; i++) {
		const struct weft_doctor_path *p = &f->peer.path[i];
		char where[WHERE_BYTES];

		if (f->peer.state == WEFT_DOCTOR_PEER_ANSWERED && p->mrc_sent >= TRAIN_USABLE / 2 &&
			p->arrived && !p->mrc_arrived)
			say(j, WEFT_DOCTOR_FAULT, where_plane(f, i, where),
				"there: nft insert rule inet filter input udp dport 4791 accept",
				"UDP port 4791, MRC's own, is filtered on the way; other ports are "
				"not");
	}
}

static void tell_mtu(
	struct judge *j, const char *where, const struct weft_doctor_path *p, const char *own)
{
	uint32_t both = WEFT_MIN(p->own_mtu_bytes, p->peer_mtu_bytes);
	char remedy[192], same[96];

	snprintf(same, sizeof(same), "ip link set %s mtu %u   # at both ends", own, both);
	snprintf(remedy, sizeof(remedy),
		"raise the MTU of each switch and router on the way to %u, or at both ends: "
		"ip link set %s mtu %u",
		both, own, WEFT_MIN(p->mtu_out_bytes, p->mtu_back_bytes));
	if (p->own_mtu_bytes != p->peer_mtu_bytes)
		say(j, WEFT_DOCTOR_WARNING, where, same,
			"MTU %u here, %u there: larger packets vanish at the smaller end",
			p->own_mtu_bytes, p->peer_mtu_bytes);
	if (p->mtu_out_bytes < both && p->mtu_told_bytes)
		say(j, WEFT_DOCTOR_WARNING, where, remedy,
			"small MTU on the way: %u bytes come through, interfaces have %u; a router "
			"says %u",
			p->mtu_out_bytes, both, p->mtu_told_bytes);
	else if (p->mtu_out_bytes < both)
		say(j, WEFT_DOCTOR_FAULT, where, remedy,
			"black hole: packets over %u bytes vanish without a word, interfaces have "
			"%u",
			p->mtu_out_bytes, both);
	else if (p->mtu_back_bytes < both)
		say(j, WEFT_DOCTOR_FAULT, where, remedy,
			"black hole on the way back: packets over %u bytes vanish, interfaces have "
			"%u",
			p->mtu_back_bytes, both);
}

static void look_at_path_mtu(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;

	for (uint32_t i = 0; i < f->peer.paths; i++) {
		const struct weft_doctor_path *p = &f->peer.path[i];
		char where[WHERE_BYTES];

		if (p->echoed && p->own_mtu_bytes && p->peer_mtu_bytes && f->plane[i].iface >= 0 &&
			!f->iface[f->plane[i].iface].is_loopback)
			tell_mtu(j, where_plane(f, i, where), p, f->iface[f->plane[i].iface].name);
	}
}

static void look_at_cables(struct judge *j)
{
	const struct weft_doctor_facts *f = j->facts;
	const char *arp = "sysctl -w net.ipv4.conf.all.arp_ignore=1 "
			  "net.ipv4.conf.all.arp_announce=2   # both ends";

	for (uint32_t i = 0; i < f->peer.paths; i++) {
		const struct weft_doctor_path *p = &f->peer.path[i];
		char where[WHERE_BYTES];

		where_plane(f, i, where);
		if (!p->is_tried || !p->has_route || is_mute(p))
			continue;
		if (is_crossed(f, i) && p->peer_iface_wrong)
			(void)tell_order(j, i, where);
		else if (p->peer_iface_wrong > LOSS_FEW && strcmp(p->arrived_iface, "lo"))
			say(j, WEFT_DOCTOR_WARNING, where, arp,
				"what is sent to the peer's %s comes in by its %s (ARP flux, or "
				"crossed cables)",
				p->peer_iface, p->arrived_iface);
		else if (p->own_iface_wrong > LOSS_FEW && strcmp(p->echoed_iface, "lo"))
			say(j, WEFT_DOCTOR_WARNING, where, arp,
				"asymmetric: answers come back by %s", p->echoed_iface);
	}
}

const struct check path_checks[] = {
	{ "peer", "the peer's doctor answers", look_at_peer },
	{ "plane-pairs", "both ends have the same planes, each its own address", look_at_counts },
	{ "reach", "UDP comes through on each plane", look_at_reach },
	{ "cables", "plane i of one end is plane i of the other", look_at_cables },
	{ "loss", "nothing is lost, either way", look_at_loss },
	{ "port-4791", "MRC's port is open", look_at_mrc_port },
	{ "path-mtu", "full packets come through, either way", look_at_path_mtu },
	{ NULL, NULL, NULL },
};
