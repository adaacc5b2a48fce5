/* SPDX-License-Identifier: BSD-2-Clause */
#include "patients.h"

static struct weft_doctor_machine *m = &facts.machine;

TEST(machine_checks__say_nothing_of_a_healthy_machine)
{
	make_healthy();
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
}

TEST(machine_checks__name_limits)
{
	make_healthy();
	m->rcvbuf_bytes = 208 << 10;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "socket-buffers", "limited to 208 KiB");
	m->rcvbuf_bytes = 4 << 20;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "socket-buffers", "limited to 4096 KiB");
	make_healthy();
	m->memlock_bytes = 0;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "memlock", "only 0 KiB");
	make_healthy();
	m->nofile = 100;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "open-files", "only 100 files");
	m->nofile = 1000;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "open-files", "only 1000 files");
	make_healthy();
	m->has_real_time = false;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "real-time", "no right");
}

TEST(machine_checks__name_clock_and_kernel)
{
	make_healthy();
	snprintf(m->clock_source, sizeof(m->clock_source), "acpi_pm");
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "clock", "acpi_pm");
	make_healthy();
	m->has_ipv6 = false;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "kernel", "no IPv6");
	make_healthy();
	m->has_srv6 = false;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "kernel", "SRv6");
	make_healthy();
	m->has_udp_gro = false;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "kernel", "no UDP_GRO");
}

TEST(machine_checks__name_what_containers_take)
{
	make_healthy();
	m->shm_bytes = 1 << 20;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "shm", "has 1 MiB");
	make_healthy();
	m->has_shm = false;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "shm", "not there");
	make_healthy();
	m->shm_free_bytes = 0;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "shm", "full but for 0 MiB");
	make_healthy();
	m->cpu_quota_us = 50000;
	m->cpu_period_us = 100000;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "cpu", "0.50 CPUs");
	m->cpu_quota_us = 400000;
	m->throttled = 3;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "cpu", "it has happened");
	make_healthy();
	m->cpus = 1;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "cpu", "one CPU");
	make_healthy();
	snprintf(m->governor, sizeof(m->governor), "powersave");
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "cpu", "powersave");
	make_healthy();
	m->seccomp = 2;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "rights", "seccomp filter");
	m->seccomp = 1;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "rights", "strict seccomp");
	make_healthy();
	m->capabilities = ~(UINT64_C(1) << 13);
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "rights", "capabilities NET_RAW:");
	make_healthy();
	m->huge_pages = 64;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "huge-pages", "all 64");
}

TEST(machine_checks__name_conntrack_by_how_full_it_is)
{
	make_healthy();
	m->conntrack = m->conntrack_max * 4 / 5;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "conntrack", "nearly full");
	m->conntrack = m->conntrack_max;
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "conntrack", "is full");
	m->conntrack_max = 0;
	weft_doctor_judge(&facts, false, &report);
	CHECK_EQ(report.n, 0);
}

TEST(machine_checks__name_firewalls)
{
	make_healthy();
	m->drops = 1;
	m->drop[0] = (struct weft_doctor_drop){ .table = "inet filter",
		.chain = "in",
		.hook = "input",
		.is_certain = true,
		.port = 4791 };
	CHECK_FOUND(WEFT_DOCTOR_FAULT, "firewall", "drops UDP to port 4791");
	CHECK_STR(report.finding[0].remedy,
		"nft insert rule inet filter in udp dport 1024-65535 accept");
	m->drop[0].is_certain = false;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "firewall", "may drop UDP");
	m->drop[0].is_policy = true;
	CHECK_FOUND(WEFT_DOCTOR_WARNING, "firewall", "no rule takes UDP");
	make_healthy();
	m->is_firewall_known = false;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "firewall", "cannot be read");
	make_healthy();
	m->has_legacy_iptables = true;
	CHECK_FOUND(WEFT_DOCTOR_NOTE, "firewall", "iptables-legacy");
}
