/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_machine - what this machine grants a process: limits, CPUs, clocks, features.
 *
 * Containers' limits (cgroups v1 and v2, seccomp, capabilities) are read where the kernel says what
 * is in effect for this process, not where a runtime was configured.  What depends on several of
 * them at once, a socket's buffer or a real-time priority, is tried: only the attempt tells.
 */
#include "doctor_local.h"

#include <ctype.h>
#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PATH_BYTES 512u
#define LINE_TEXT_BYTES 256u
#define BUFFER_BYTES (8 << 20) /* as the port asks for: src/host/net/port/udp.c */
#define PRIORITY 2             /* as tools/live_args.c */

static FILE *open_below(const char *root, const char *path)
{
	char whole[PATH_BYTES];
	int n = snprintf(whole, sizeof(whole), "%s%s", root, path);

	return n > 0 && (size_t)n < sizeof(whole) ? fopen(whole, "re") : NULL;
}

static bool first_line(char *text, size_t bytes, const char *root, const char *path)
{
	FILE *in = open_below(root, path);
	bool is_there = in && fgets(text, (int)bytes, in);

	if (in)
		fclose(in);
	if (is_there)
		text[strcspn(text, "\n")] = 0;
	return is_there && *text;
}

bool read_line(char *text, size_t bytes, const char *root, const char *format, ...)
{
	char path[PATH_BYTES];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(path, sizeof(path), format, args);

	va_end(args);
	return n > 0 && (size_t)n < sizeof(path) && first_line(text, bytes, root, path);
}

int64_t read_number(int64_t otherwise, const char *root, const char *format, ...)
{
	char path[PATH_BYTES], text[LINE_TEXT_BYTES], *end;
	va_list args;

	va_start(args, format);
	int n = vsnprintf(path, sizeof(path), format, args);

	va_end(args);
	if (n <= 0 || (size_t)n >= sizeof(path) || !first_line(text, sizeof(text), root, path))
		return otherwise;
	errno = 0;
	long long value = strtoll(text, &end, 10);

	return end == text || errno ? otherwise : value;
}

bool read_key(uint64_t *value, int base, const char *key, const char *root, const char *path)
{
	char line[LINE_TEXT_BYTES];
	FILE *in = open_below(root, path);
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		const char *at = line + strlen(key);

		if (strncmp(line, key, strlen(key)) || (*at != ':' && !isspace((unsigned char)*at)))
			continue;
		at += strspn(at, ": \t");
		found = isxdigit((unsigned char)*at);
		if (found)
			*value = strtoull(at, NULL, base);
	}
	if (in)
		fclose(in);
	return found;
}

/* ---- cgroups ---- */

/* CFS bandwidth of one group: the tightest on the way up holds. */
static void tighten(struct weft_doctor_machine *m, int64_t quota_us, int64_t period_us)
{
	if (quota_us <= 0 || period_us <= 0)
		return;
	if (m->cpu_quota_us && (double)m->cpu_quota_us / (double)m->cpu_period_us <=
				       (double)quota_us / (double)period_us)
		return;
	m->cpu_quota_us = (uint64_t)quota_us;
	m->cpu_period_us = (uint64_t)period_us;
}

static void read_group(
	struct weft_doctor_machine *m, const char *root, const char *group, bool is_v2)
{
	char text[LINE_TEXT_BYTES], stat[PATH_BYTES + 16];
	uint64_t throttled = 0;
	long long quota, period;

	if (is_v2 && read_line(text, sizeof(text), root, "%s/cpu.max", group) &&
		sscanf(text, "%lld %lld", &quota, &period) == 2)
		tighten(m, quota, period);
	if (!is_v2)
		tighten(m, read_number(0, root, "%s/cpu.cfs_quota_us", group),
			read_number(0, root, "%s/cpu.cfs_period_us", group));
	snprintf(stat, sizeof(stat), "%s/cpu.stat", group);
	if (read_key(&throttled, 10, "nr_throttled", root, stat))
		m->throttled = WEFT_MAX(m->throttled, throttled);
}

/* From this process's group to the top; a container sees its own as the top. */
static void climb(
	struct weft_doctor_machine *m, const char *root, const char *mount, char *group, bool is_v2)
{
	char path[PATH_BYTES];

	for (;;) {
		int n = snprintf(
			path, sizeof(path), "%s%s", mount, strcmp(group, "/") ? group : "");

		if (n > 0 && (size_t)n < sizeof(path))
			read_group(m, root, path, is_v2);
		char *last = strrchr(group, '/');

		if (!last || !*group)
			return;
		*last = 0;
	}
}

/* "4:cpu,cpuacct:/some/group", "0::/some/group". */
static void read_groups(struct weft_doctor_machine *m, const char *root)
{
	char line[PATH_BYTES];
	FILE *in = open_below(root, "/proc/self/cgroup");

	while (in && fgets(line, sizeof(line), in)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		bool is_v2 = !names[1];

		if (is_v2)
			climb(m, root, "/sys/fs/cgroup", group, true);
		else if (!strncmp(names + 1, "cpu,", 4) || !strcmp(names + 1, "cpu"))
			climb(m, root, "/sys/fs/cgroup/cpu", group, false);
	}
	if (in)
		fclose(in);
}

/* ---- files ---- */

static uint64_t at_least_0(int64_t value)
{
	return value < 0 ? 0 : (uint64_t)value;
}

void machine_read(struct weft_doctor_machine *m, const char *root)
{
	uint64_t value;

	(void)read_line(m->kernel, sizeof(m->kernel), root, "/proc/sys/kernel/osrelease");
	(void)read_line(m->clock_source, sizeof(m->clock_source), root,
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	(void)read_line(m->governor, sizeof(m->governor), root,
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	m->rmem_max_bytes = at_least_0(read_number(0, root, "/proc/sys/net/core/rmem_max"));
	m->wmem_max_bytes = at_least_0(read_number(0, root, "/proc/sys/net/core/wmem_max"));
	m->conntrack =
		at_least_0(read_number(0, root, "/proc/sys/net/netfilter/nf_conntrack_count"));
	m->conntrack_max =
		at_least_0(read_number(0, root, "/proc/sys/net/netfilter/nf_conntrack_max"));
	m->has_srv6 = read_number(-1, root, "/proc/sys/net/ipv6/conf/all/seg6_enabled") >= 0;
	if (read_key(&value, 10, "Seccomp", root, "/proc/self/status"))
		m->seccomp = (uint32_t)value;
	(void)read_key(&m->capabilities, 16, "CapEff", root, "/proc/self/status");
	(void)read_key(&m->huge_pages, 10, "HugePages_Total", root, "/proc/meminfo");
	(void)read_key(&m->huge_pages_free, 10, "HugePages_Free", root, "/proc/meminfo");
	char name[64];

	m->has_legacy_iptables = read_line(name, sizeof(name), root, "/proc/net/ip_tables_names") ||
				 read_line(name, sizeof(name), root, "/proc/net/ip6_tables_names");
	read_groups(m, root);
}

/* ---- attempts ---- */

static uint64_t try_buffer(int fd, int force, int plain)
{
	int want = BUFFER_BYTES, got = 0;
	socklen_t bytes = sizeof(got);

	if (setsockopt(fd, SOL_SOCKET, force, &want, sizeof(want)))
		(void)setsockopt(fd, SOL_SOCKET, plain, &want, sizeof(want));
	if (getsockopt(
		    fd, SOL_SOCKET, force == SO_RCVBUFFORCE ? SO_RCVBUF : SO_SNDBUF, &got, &bytes))
		return 0;
	return (uint64_t)got / 2; /* the kernel doubles for its own use */
}

static void try_sockets(struct weft_doctor_machine *m)
{
	int on = 1, size = 1200;
	int v6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int fd = v6 >= 0 ? v6 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	m->has_ipv6 = v6 >= 0;
	if (fd < 0)
		return;
	m->rcvbuf_bytes = try_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	m->sndbuf_bytes = try_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	m->has_udp_segment = !setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size));
	m->has_udp_gro = !setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	close(fd);
}

static uint64_t soft_limit(__rlimit_resource_t which)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

/* RLIMIT_RTPRIO, CAP_SYS_NICE and the group's real-time share all have a say. */
static bool try_real_time(void)
{
	struct sched_param before, want = { .sched_priority = PRIORITY };
	int policy = sched_getscheduler(0);

	if (policy < 0 || sched_getparam(0, &before))
		return false;
	if ((policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
		return true;
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &want))
		return false;
	(void)sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &before);
	return true;
}

void machine_try(struct weft_doctor_machine *m)
{
	struct statvfs shm;
	cpu_set_t cpus;

	try_sockets(m);
	m->memlock_bytes = soft_limit(RLIMIT_MEMLOCK);
	m->nofile = soft_limit(RLIMIT_NOFILE);
	m->has_real_time = try_real_time();
	m->has_shm = !statvfs("/dev/shm", &shm) && !access("/dev/shm", W_OK);
	if (m->has_shm) {
		m->shm_bytes = (uint64_t)shm.f_blocks * shm.f_frsize;
		m->shm_free_bytes = (uint64_t)shm.f_bavail * shm.f_frsize;
	}
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		m->cpus = (uint32_t)CPU_COUNT(&cpus);
}
