/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATIENTS_H
#define PATIENTS_H
/* patients - facts of a healthy pair of machines, to be made ill, and what is found then. */
#include "check.h"
#include "doctor_local.h"

static struct weft_doctor_facts facts;
static struct weft_doctor_report report;

static inline void make_machine(struct weft_doctor_machine *m)
{
	*m = (struct weft_doctor_machine){ .kernel = "6.18.0",
		.clock_source = "tsc",
		.governor = "performance",
		.cpus = 8,
		.rcvbuf_bytes = 8 << 20,
		.sndbuf_bytes = 8 << 20,
		.memlock_bytes = UINT64_MAX,
		.nofile = 65536,
		.has_real_time = true,
		.has_ipv6 = true,
		.has_udp_segment = true,
		.has_udp_gro = true,
		.has_srv6 = true,
		.has_shm = true,
		.shm_bytes = UINT64_C(8) << 30,
		.shm_free_bytes = UINT64_C(8) << 30,
		.capabilities = UINT64_MAX,
		.conntrack = 10,
		.conntrack_max = 262144,
		.is_firewall_known = true };
}

static inline void make_iface(uint32_t i)
{
	static const uint8_t prefix[13] = { [10] = 0xff, [11] = 0xff, [12] = 10 };
	struct weft_doctor_iface *iface = &facts.iface[i];
	uint8_t *addr = facts.addr[i].addr;

	*iface = (struct weft_doctor_iface){ .ifindex = 10 + i,
		.mtu_bytes = 9000,
		.speed_mbps = 100000,
		.is_up = true,
		.has_carrier = true,
		.is_device = true,
		.tx_checksum = 1,
		.rx_checksum = 1,
		.gso = 1,
		.gro = 1,
		.rx_queues = 8,
		.irqs = 8,
		.irq_cpus = 8 };
	snprintf(iface->name, sizeof(iface->name), "eth%u", i);
	memcpy(addr, prefix, sizeof(prefix)); /* 10.0.I.1/24 */
	addr[14] = (uint8_t)i;
	addr[15] = 1;
	facts.addr[i].iface = i;
	facts.addr[i].prefix_bits = 120;
	facts.plane[i].iface = (int)i;
	memcpy(facts.plane[i].addr, addr, 16);
	snprintf(facts.plane[i].word, sizeof(facts.plane[i].word), "eth%u", i);
}

static inline void make_path(uint32_t i)
{
	struct weft_doctor_path *path = &facts.peer.path[i];

	*path = (struct weft_doctor_path){ .is_tried = true,
		.has_route = true,
		.has_neighbour = 1,
		.tcp = WEFT_DOCTOR_TCP_OPEN,
		.sent = 200,
		.arrived = 200,
		.echoed = 200,
		.mrc_sent = 20,
		.mrc_arrived = 20,
		.own_mtu_bytes = 9000,
		.peer_mtu_bytes = 9000,
		.mtu_out_bytes = 9000,
		.mtu_back_bytes = 9000,
		.answers_as = -1,
		.cabled_to = (int)i,
		.rtt_ns = 20000 };
	snprintf(path->route_iface, sizeof(path->route_iface), "eth%u", i);
	snprintf(path->peer_iface, sizeof(path->peer_iface), "eth%u", i);
	memcpy(path->from, facts.plane[i].addr, 16);
	memcpy(path->to, facts.plane[i].addr, 16);
	path->to[15] = 2;
	memcpy(facts.peer.plane_addr[i], path->to, 16);
}

/* Two planes at each end, and nothing wrong. */
static inline void make_healthy(void)
{
	memset(&facts, 0, sizeof(facts));
	make_machine(&facts.machine);
	facts.ifaces = facts.addrs = facts.planes = 2;
	facts.are_planes_named = true;
	facts.peer.state = WEFT_DOCTOR_PEER_ANSWERED;
	facts.peer.planes = facts.peer.paths = 2;
	facts.peer.tcp_port = 18515;
	snprintf(facts.peer.name, sizeof(facts.peer.name), "there");
	for (uint32_t i = 0; i < 2; i++) {
		make_iface(i);
		make_path(i);
	}
}

/* Judges, and wants this finding and no other. */
#define CHECK_FOUND(verdict, check, cause) check_found(__LINE__, verdict, check, cause)
static inline void check_found(
	int line, enum weft_doctor_verdict verdict, const char *check, const char *cause)
{
	const struct weft_doctor_finding *f = report.finding;

	weft_doctor_judge(&facts, false, &report);
	if (report.n == 1 && f->verdict == verdict && !strcmp(f->check, check) &&
		strstr(f->cause, cause))
		return;
	CHECK_FAIL("line %d: %zu findings, wants %s \"%s\"; first: %s %s \"%s\"", line, report.n,
		check, cause, report.n ? weft_doctor_verdict_name(f->verdict) : "",
		report.n ? f->check : "", report.n ? f->cause : "");
}

#endif
