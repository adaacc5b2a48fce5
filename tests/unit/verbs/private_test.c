/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the library that was built, as the loader would for libmlx5 and its like. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const versions[] = { "34", "57", "59", "64", "65" };

static void *load(void)
{
	char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	REQUIRE(n > 0);
	path[n] = 0;
	char *end = strrchr(path, '/');
	snprintf(end, (size_t)(path + sizeof(path) - end), "/lib/libibverbs.so.1");
	if (access(path, R_OK))
		SKIP("not built here");
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		CHECK_FAIL("%s", dlerror());
	return library;
}

static void *find(void *library, const char *name, const char *version)
{
	char node[32];

	snprintf(node, sizeof(node), "IBVERBS_PRIVATE_%s", version);
	return dlvsym(library, name, node);
}

TEST(private__has_every_name_under_every_version)
{
	void *library = load();
	static const char *const names[] = {
#define X(name) #name,
#include "private.def"
#undef X
		"__verbs_log",
		"ibv_query_gid_type",
	};

	REQUIRE(library);
	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions); v++) {
		char registers[64];

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (!find(library, names[i], versions[v]))
				CHECK_FAIL("%s@%s", names[i], versions[v]);
		}
		snprintf(registers, sizeof(registers), "verbs_register_driver_%s", versions[v]);
		CHECK(find(library, registers, versions[v]));
	}
}

/* What libefa and libmlx5 of rdma-core 65 ask for beside what those of 64 did. */
TEST(private__has_names_of_the_newest_release)
{
	void *library = load();
	static const char *const names[] = {
		"ibv_cmd_create_comp_cntr",
		"ibv_cmd_export_dmabuf_fd",
		"ibv_cmd_qp_attach_comp_cntr",
		"ibv_cmd_query_comp_cntr_caps",
		"ibv_cmd_query_port_speed",
		"ibv_cmd_read_err_comp_cntr",
		"ibv_dmabuf_heap_alloc",
		"ibv_dmabuf_heap_cc_shared_init",
		"ibv_wr_opcode_str",
	};

	REQUIRE(library);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!find(library, names[i], "65"))
			CHECK_FAIL("%s", names[i]);
	}
}

TEST(private__refuses)
{
	void *library = load();
	int (*refuse)(void);

	REQUIRE(library);
	void *found = find(library, "ibv_cmd_create_qp", "34");
	REQUIRE(found);
	memcpy(&refuse, &found, sizeof(refuse));
	CHECK_EQ(refuse(), EOPNOTSUPP);
}
