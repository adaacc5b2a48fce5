/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge_machine - checks of limits, CPUs, firewall, kernel.
 *
 * A fault is what keeps Weft from running or loses packets; a limit that costs speed is a warning;
 * what only some ways to run it want (--via, programs under `weft run`) is a note.
 */
#include "doctor_local.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#define HERE "this machine"
#define MIB (UINT64_C(1) << 20)
#define BUFFER_GOOD_BYTES (8 * MIB) /* what the port asks for */
#define BUFFER_POOR_BYTES (1 * MIB)
#define SHM_GOOD_BYTES (256 * MIB)
#define SHM_POOR_BYTES (64 * MIB)
#define NOFILE_GOOD 1024u
#define NOFILE_POOR 256u

static bool may(const struct weft_doctor_machine *m, unsigned capability)
{
	return m->capabilities >> capability & 1;
}

static void look_at_buffers(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;
	uint64_t got = WEFT_MIN(m->rcvbuf_bytes, m->sndbuf_bytes);

	if (!m->rcvbuf_bytes || got >= BUFFER_GOOD_BYTES)
		return;
	say(j, got < BUFFER_POOR_BYTES ? WEFT_DOCTOR_WARNING : WEFT_DOCTOR_NOTE, HERE,
		"sysctl -w net.core.rmem_max=8388608 net.core.wmem_max=8388608",
		"socket buffers are limited to %llu KiB to receive and %llu KiB to send; bursts "
		"beyond 8 MiB's worth are dropped by this host",
		(unsigned long long)m->rcvbuf_bytes / 1024,
		(unsigned long long)m->sndbuf_bytes / 1024);
}

static void look_at_memlock(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;

	if (m->memlock_bytes >= 8 * MIB || (m->memlock_bytes && may(m, CAP_IPC_LOCK)))
		return;
	say(j, m->memlock_bytes ? WEFT_DOCTOR_NOTE : WEFT_DOCTOR_WARNING, HERE,
		"echo '* - memlock unlimited' > /etc/security/limits.d/weft.conf; log in again",
		"only %llu KiB may be locked in memory (ulimit -l): programs that lock buffers, "
		"and "
		"--via afxdp, fail",
		(unsigned long long)m->memlock_bytes / 1024);
}

static void look_at_nofile(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;

	if (m->nofile >= NOFILE_GOOD)
		return;
	say(j, m->nofile < NOFILE_POOR ? WEFT_DOCTOR_FAULT : WEFT_DOCTOR_WARNING, HERE,
		"ulimit -n 65536   # for good: /etc/security/limits.d, or LimitNOFILE= of the unit",
		"only %llu files may be open (ulimit -n): an endpoint has sockets for each plane "
		"and source port",
		(unsigned long long)m->nofile);
}

static void look_at_real_time(struct judge *j)
{
	if (!j->facts->machine.has_real_time)
		say(j, WEFT_DOCTOR_NOTE, HERE,
			"echo '* - rtprio 10' > /etc/security/limits.d/weft-rt.conf; log in again",
			"no right to real-time priority (ulimit -r): on busy machines a process "
			"that is not run is a network that stands still");
}

static void look_at_clock(struct judge *j)
{
	static const char *const good[] = { "tsc", "kvm-clock", "arch_sys_counter",
		"hyperv_clocksource_tsc_page", "riscv_clocksource" };
	const char *source = j->facts->machine.clock_source;

	for (size_t i = 0; i < WEFT_COUNT(good); i++)
		if (!*source || !strcmp(source, good[i]))
			return;
	say(j, WEFT_DOCTOR_WARNING, HERE,
		"cat /sys/devices/system/clocksource/clocksource0/available_clocksource   # then "
		"echo tsc > .../current_clocksource",
		"the clock source is %s: reading the time is a system call or slower, and every "
		"turn reads it",
		source);
}

static void look_at_features(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;

	if (!m->has_ipv6)
		say(j, WEFT_DOCTOR_WARNING, HERE,
			"boot without ipv6.disable=1; in a container: allow AF_INET6",
			"no IPv6: planes of IPv4 run, fabrics steered by uSIDs (SRv6) do not");
	else if (!m->has_srv6)
		say(j, WEFT_DOCTOR_NOTE, HERE, "a kernel with CONFIG_IPV6_SEG6_LWTUNNEL",
			"the kernel does not know SRv6: `weft lab --fabric kernel` will not do");
	if (!m->has_udp_segment || !m->has_udp_gro)
		say(j, WEFT_DOCTOR_NOTE, HERE, "a kernel of 5.0 or later",
			"no %s: the kernel is older than what Weft is tested on (%s)",
			m->has_udp_segment ? "UDP_GRO" : "UDP_SEGMENT", m->kernel);
}

static void look_at_shm(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;
	const char *remedy = "mount -o remount,size=50% /dev/shm   # docker run --shm-size=1g";

	if (!m->has_shm)
		say(j, WEFT_DOCTOR_WARNING, HERE, remedy,
			"/dev/shm is not there or cannot be written: MPI and path profiles want "
			"it");
	else if (m->shm_bytes < SHM_GOOD_BYTES)
		say(j, m->shm_bytes < SHM_POOR_BYTES ? WEFT_DOCTOR_WARNING : WEFT_DOCTOR_NOTE, HERE,
			remedy,
			"/dev/shm has %llu MiB: MPI and UCX put their queues there and end when it "
			"is full",
			(unsigned long long)(m->shm_bytes / MIB));
	else if (m->shm_free_bytes < SHM_POOR_BYTES)
		say(j, WEFT_DOCTOR_WARNING, HERE, "ls -lS /dev/shm   # and remove what nobody uses",
			"/dev/shm is full but for %llu MiB",
			(unsigned long long)(m->shm_free_bytes / MIB));
}

static void look_at_cpu(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;

	if (m->cpu_quota_us) {
		double cpus = (double)m->cpu_quota_us / (double)m->cpu_period_us;

		say(j, cpus < 1 ? WEFT_DOCTOR_WARNING : WEFT_DOCTOR_NOTE, HERE,
			"run without a CPU quota (docker: no --cpus; Kubernetes: no CPU limit), or "
			"pin CPUs instead",
			"a CPU quota of %.2f CPUs (cgroup): who has used it up stands still for "
			"the "
			"rest of %llu ms%s",
			cpus, (unsigned long long)m->cpu_period_us / 1000,
			m->throttled ? "; it has happened" : "");
	}
	if (m->cpus == 1)
		say(j, WEFT_DOCTOR_NOTE, HERE, "taskset -pc   # or the container's cpuset",
			"one CPU only: the network's interrupts and the program share it");
	if (!strcmp(m->governor, "powersave") || !strcmp(m->governor, "conservative"))
		say(j, WEFT_DOCTOR_NOTE, HERE,
			"echo performance | tee "
			"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
			"the CPU governor is \"%s\": clocks are low when a burst begins",
			m->governor);
}

static void look_at_rights(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;
	char missing[64] = "";
	size_t at = 0;
	static const struct {
		unsigned bit;
		const char *name;
	} wanted[] = { { CAP_NET_ADMIN, "NET_ADMIN" }, { CAP_NET_RAW, "NET_RAW" },
		{ CAP_IPC_LOCK, "IPC_LOCK" }, { CAP_BPF, "BPF" } };

	for (size_t i = 0; i < WEFT_COUNT(wanted); i++)
		if (!may(m, wanted[i].bit))
			at += (size_t)snprintf(missing + at, sizeof(missing) - at, "%s%s",
				at ? ", " : "", wanted[i].name);
	if (at)
		say(j, WEFT_DOCTOR_NOTE, HERE, "docker run --cap-add ...; or as root",
			"without the capabilities %s: --via udp runs, afpacket or afxdp do not",
			missing);
	if (m->seccomp == 2)
		say(j, WEFT_DOCTOR_NOTE, HERE, "docker run --security-opt seccomp=unconfined",
			"a seccomp filter is on: Docker's default lets Weft run; a tighter one may "
			"not");
	else if (m->seccomp == 1)
		say(j, WEFT_DOCTOR_FAULT, HERE, "run without strict seccomp",
			"strict seccomp allows no sockets");
}

static void look_at_pages(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;

	if (m->huge_pages && !m->huge_pages_free)
		say(j, WEFT_DOCTOR_NOTE, HERE, "sysctl -w vm.nr_hugepages=1024",
			"all %llu huge pages are taken: programs that want some get none",
			(unsigned long long)m->huge_pages);
}

static void look_at_conntrack(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;
	const char *remedy = "sysctl -w net.netfilter.nf_conntrack_max=1048576   # or a rule: "
			     "notrack for UDP";

	if (!m->conntrack_max)
		return;
	if (m->conntrack >= m->conntrack_max - m->conntrack_max / 50)
		say(j, WEFT_DOCTOR_FAULT, HERE, remedy,
			"connection tracking is full (%llu of %llu): packets of new flows are "
			"dropped",
			(unsigned long long)m->conntrack, (unsigned long long)m->conntrack_max);
	else if (m->conntrack >= m->conntrack_max / 4 * 3)
		say(j, WEFT_DOCTOR_WARNING, HERE, remedy,
			"connection tracking is nearly full (%llu of %llu)",
			(unsigned long long)m->conntrack, (unsigned long long)m->conntrack_max);
}

static void tell_drop(struct judge *j, const struct weft_doctor_drop *drop)
{
	char remedy[224], port[24] = "";
	bool is_output = !strcmp(drop->hook, "output") || !strcmp(drop->hook, "postrouting");

	if (drop->port)
		snprintf(port, sizeof(port), " to port %u", drop->port);
	if (!strncmp(drop->table, "netdev ", 7))
		snprintf(remedy, sizeof(remedy), "nft list table %.63s", drop->table);
	else
		snprintf(remedy, sizeof(remedy),
			"nft insert rule %.63s %.63s udp %s 1024-65535 accept", drop->table,
			drop->chain, is_output ? "sport" : "dport");
	if (drop->is_policy)
		say(j, WEFT_DOCTOR_WARNING, HERE, remedy,
			"firewall: chain %.40s of table %.40s drops what no rule takes, and no "
			"rule "
			"takes UDP",
			drop->chain, drop->table);
	else
		say(j, drop->is_certain ? WEFT_DOCTOR_FAULT : WEFT_DOCTOR_NOTE, HERE, remedy,
			"firewall: rule %u in chain %.40s of table %.40s %s UDP%s", drop->handle,
			drop->chain, drop->table, drop->is_certain ? "drops" : "may drop", port);
}

static void look_at_firewall(struct judge *j)
{
	const struct weft_doctor_machine *m = &j->facts->machine;

	for (uint32_t i = 0; i < m->drops; i++)
		tell_drop(j, &m->drop[i]);
	if (!m->is_firewall_known)
		say(j, WEFT_DOCTOR_NOTE, HERE, "sudo weft doctor",
			"the firewall's rules cannot be read without CAP_NET_ADMIN");
	if (m->has_legacy_iptables)
		say(j, WEFT_DOCTOR_NOTE, HERE, "iptables-legacy -S; ip6tables-legacy -S",
			"rules of iptables-legacy are loaded, which nft does not show: look for "
			"what drops UDP");
}

const struct check machine_checks[] = {
	{ "firewall", "no rule drops UDP", look_at_firewall },
	{ "conntrack", "connection tracking is off or has room", look_at_conntrack },
	{ "socket-buffers", "sockets get the buffers they ask for", look_at_buffers },
	{ "open-files", "enough files may be open", look_at_nofile },
	{ "memlock", "memory may be locked", look_at_memlock },
	{ "shm", "/dev/shm is large enough", look_at_shm },
	{ "cpu", "CPUs without quota, ready at full clock", look_at_cpu },
	{ "clock", "the clock is read without a system call", look_at_clock },
	{ "kernel", "the kernel has what Weft uses", look_at_features },
	{ "real-time", "real-time priority is allowed", look_at_real_time },
	{ "rights", "all ways to send are allowed", look_at_rights },
	{ "huge-pages", "huge pages are free or not used", look_at_pages },
	{ NULL, NULL, NULL },
};
