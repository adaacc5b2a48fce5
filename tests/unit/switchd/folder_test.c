/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/switchd.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], path[128], error[256];

static const char *in_base(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static bool refuses(const char *name, bool make, const char *why)
{
	error[0] = 0;
	bool refused = !weft_switchd_folder(in_base(name), make, error, sizeof(error));

	if (!strstr(error, why) || strncmp(error, path, strlen(path)))
		CHECK_FAIL("\"%s\" does not say \"%s\"", error, why);
	return refused;
}

TEST(weft_switchd_folder__believes_only_what_is_ours_alone)
{
	struct stat st;

	snprintf(base, sizeof(base), "/tmp/weft-folder-XXXXXX");
	REQUIRE(mkdtemp(base));
	CHECK(refuses("new", false, "No such file"));
	CHECK(weft_switchd_folder(in_base("new"), true, error, sizeof(error)));
	REQUIRE(!stat(path, &st));
	CHECK_EQ(st.st_mode & 0777, 0700);
	CHECK(weft_switchd_folder(path, true, error, sizeof(error)));
	CHECK(weft_switchd_folder(path, false, error, sizeof(error)));
	REQUIRE(!chmod(path, 0755));
	CHECK(weft_switchd_folder(path, false, error, sizeof(error)));
	REQUIRE(!chmod(path, 0770));
	CHECK(refuses("new", false, "others may write there"));
	CHECK(refuses("new", true, "others may write there"));
	REQUIRE(!chmod(path, 0702));
	CHECK(refuses("new", false, "others may write there"));
	REQUIRE(!chmod(path, 0700));
	REQUIRE(!symlink("new", in_base("link")));
	CHECK(refuses("link", true, "not a folder of ours"));
	CHECK(refuses("link", false, "not a folder of ours"));
	if (!getuid()) {
		REQUIRE(!chown(in_base("new"), 65534, 65534));
		CHECK(refuses("new", false, "not a folder of ours"));
		CHECK(refuses("new", true, "not a folder of ours"));
	}
	unlink(in_base("link"));
	rmdir(in_base("new"));
	rmdir(base);
}
