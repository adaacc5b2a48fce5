/* SPDX-License-Identifier: BSD-2-Clause */
#include "below.h"
#include "doctor_local.h"

#include <sys/resource.h>

static struct weft_doctor_machine m;

TEST(read_number__takes_digits_and_nothing_else)
{
	root_begin();
	root_put("/proc/n", "42\n");
	root_put("/proc/word", "max\n");
	root_put("/proc/none", "");
	CHECK_EQ(read_number(7, root, "/proc/%s", "n"), 42);
	CHECK_EQ(read_number(7, root, "/proc/%s", "word"), 7);
	CHECK_EQ(read_number(7, root, "/proc/none"), 7);
	CHECK_EQ(read_number(7, root, "/proc/absent"), 7);
	root_end();
}

TEST(read_key__finds_a_whole_key)
{
	uint64_t value = 0;

	root_begin();
	root_put("/proc/k", "Seccomp_filters:\t9\nSeccomp:\t2\nCapEff:\t00000000a80425fb\n");
	CHECK(read_key(&value, 10, "Seccomp", root, "/proc/k"));
	CHECK_EQ(value, 2);
	CHECK(read_key(&value, 16, "CapEff", root, "/proc/k"));
	CHECK_EQ(value, 0xa80425fb);
	CHECK(!read_key(&value, 10, "Cap", root, "/proc/k"));
	root_end();
}

TEST(machine_read__reads_what_files_tell)
{
	root_begin();
	root_put("/proc/sys/kernel/osrelease", "6.18.0\n");
	root_put("/proc/sys/net/core/rmem_max", "212992\n");
	root_put("/proc/sys/net/netfilter/nf_conntrack_count", "5\n");
	root_put("/proc/sys/net/netfilter/nf_conntrack_max", "10\n");
	root_put("/proc/sys/net/ipv6/conf/all/seg6_enabled", "0\n");
	root_put("/proc/self/status", "CapEff:\t0000000000000400\nSeccomp:\t2\n");
	root_put("/proc/meminfo", "HugePages_Total:      64\nHugePages_Free:        3\n");
	root_put("/proc/net/ip_tables_names", "filter\n");
	root_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	root_put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
	memset(&m, 0, sizeof(m));
	machine_read(&m, root);
	CHECK_STR(m.kernel, "6.18.0");
	CHECK_STR(m.clock_source, "hpet");
	CHECK_STR(m.governor, "powersave");
	CHECK_EQ(m.rmem_max_bytes, 212992);
	CHECK_EQ(m.conntrack, 5);
	CHECK_EQ(m.conntrack_max, 10);
	CHECK(m.has_srv6);
	CHECK_EQ(m.capabilities, 1024);
	CHECK_EQ(m.seccomp, 2);
	CHECK_EQ(m.huge_pages, 64);
	CHECK_EQ(m.huge_pages_free, 3);
	CHECK(m.has_legacy_iptables);
	CHECK_EQ(m.cpu_quota_us, 0);
	root_end();
}

TEST(machine_read__knows_nothing_of_an_empty_root)
{
	root_begin();
	memset(&m, 0, sizeof(m));
	machine_read(&m, root);
	CHECK_STR(m.clock_source, "");
	CHECK(!m.has_srv6 && !m.has_legacy_iptables);
	CHECK_EQ(m.conntrack_max, 0);
	root_end();
}

TEST(machine_read__takes_the_tightest_quota_of_cgroups)
{
	root_begin();
	root_put("/proc/self/cgroup", "0::/a/b\n");
	root_put("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
	root_put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
	root_put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_throttled 4\n");
	root_put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	memset(&m, 0, sizeof(m));
	machine_read(&m, root);
	CHECK_EQ(m.cpu_quota_us, 50000);
	CHECK_EQ(m.cpu_period_us, 100000);
	CHECK_EQ(m.throttled, 4);
	root_end();
	root_begin();
	root_put("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/a\n");
	root_put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
	root_put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	root_put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	root_put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	memset(&m, 0, sizeof(m));
	machine_read(&m, root);
	CHECK_EQ(m.cpu_quota_us, 150000);
	root_end();
}

TEST(machine_try__finds_limits_in_effect)
{
	struct rlimit limit, before;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &before));
	limit = before;
	limit.rlim_cur = 77;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &limit));
	memset(&m, 0, sizeof(m));
	machine_try(&m);
	(void)setrlimit(RLIMIT_NOFILE, &before);
	CHECK_EQ(m.nofile, 77);
	CHECK(m.cpus > 0);
	CHECK(m.rcvbuf_bytes > 0 && m.sndbuf_bytes > 0);
}
