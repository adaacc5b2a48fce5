/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_arp - is an IPv4 address somebody else's, too: ARP probes (RFC 5227), since the kernel
 * does duplicate address detection for IPv6 only.
 *
 * One probe per plane, its sender's address 0.0.0.0 so that no cache learns from it; who answers
 * for our address from a link address that is none of ours has it as well.  Another interface of
 * this host may answer (ARP flux): that is no duplicate.  Needs CAP_NET_RAW; without it nothing is
 * said.
 */
#include "doctor_local.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_NS UINT64_C(100000000)
#define ARP_REQUEST 1
#define BURST 64

void arp_encode(uint8_t frame[ARP_BYTES], const uint8_t mac[6], const uint8_t target[4])
{
	static const uint8_t head[8] = { 0, 1, 8, 0, 6, 4, 0, ARP_REQUEST };

	memset(frame, 0, ARP_BYTES);
	memcpy(frame, head, sizeof(head));
	memcpy(frame + 8, mac, 6);
	memcpy(frame + 24, target, 4);
}

/* Whoever says that the address is his, asked or not. */
const uint8_t *arp_claims(const uint8_t *frame, size_t n, const uint8_t addr[4])
{
	static const uint8_t head[6] = { 0, 1, 8, 0, 6, 4 };

	if (n < ARP_BYTES || memcmp(frame, head, sizeof(head)) || memcmp(frame + 14, addr, 4))
		return NULL;
	return frame + 8;
}

static int probe(const struct weft_doctor_iface *iface, const uint8_t addr[16])
{
	uint8_t frame[ARP_BYTES];
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ARP),
		.sll_ifindex = (int)iface->ifindex,
		.sll_halen = 6 };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	memset(to.sll_addr, 0xff, 6);
	arp_encode(frame, iface->mac, addr + 12);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) ||
		sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_own(const struct weft_doctor_facts *facts, const uint8_t mac[6])
{
	for (uint32_t i = 0; i < facts->ifaces; i++)
		if (!memcmp(facts->iface[i].mac, mac, 6))
			return true;
	return false;
}

static void take_answers(struct weft_doctor_facts *facts, int fd, const uint8_t addr[16])
{
	uint8_t frame[128];

	for (int n = 0; n < BURST; n++) {
		ssize_t bytes = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
		const uint8_t *mac = bytes < 0 ? NULL : arp_claims(frame, (size_t)bytes, addr + 12);

		if (bytes < 0)
			return;
		for (uint32_t i = 0; mac && !is_own(facts, mac) && i < facts->addrs; i++)
			if (!memcmp(facts->addr[i].addr, addr, 16))
				facts->addr[i].is_duplicate = true;
	}
}

void duplicates_ask(struct weft_doctor_facts *facts)
{
	struct pollfd fds[WEFT_DOCTOR_PLANES_MAX];
	uint64_t until = weft_clock_now(NULL) + ANSWER_NS;
	bool any = false;

	for (uint32_t i = 0; i < facts->planes; i++) {
		const struct weft_doctor_plane *plane = &facts->plane[i];
		const struct weft_doctor_iface *iface =
			plane->iface < 0 ? NULL : &facts->iface[plane->iface];

		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
		if (iface && iface->has_mac && iface->is_up && iface->has_carrier &&
			weft_inet_is_mapped(plane->addr))
			fds[i].fd = probe(iface, plane->addr);
		any |= fds[i].fd >= 0;
	}
	while (any && weft_clock_left_ms(until))
		if (poll(fds, facts->planes, weft_clock_left_ms(until)) > 0)
			for (uint32_t i = 0; i < facts->planes; i++)
				if (fds[i].revents)
					take_answers(facts, fds[i].fd, facts->plane[i].addr);
	for (uint32_t i = 0; i < facts->planes; i++)
		if (fds[i].fd >= 0)
			close(fds[i].fd);
}
