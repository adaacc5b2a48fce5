/* SPDX-License-Identifier: BSD-2-Clause */
#include "cp.h"

#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* SHA-256 of nothing and of a million times "a" (FIPS 180-4 examples). */
static const char of_nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char of_million[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static struct cp_file make(uint64_t bytes)
{
	struct cp_file file = { .bytes = bytes, .fd = -1, .dir = -1 };

	if (bytes) {
		file.data = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		REQUIRE(file.data != MAP_FAILED);
	}
	return file;
}

static void expect(const struct cp_work *work, const char *want)
{
	char hex[2 * CP_HASH_BYTES + 1];

	cp_hex(work->digest, hex);
	CHECK_STR(hex, want);
}

TEST(cp_work_start__hashes_all_of_what_is_sent)
{
	static struct cp_work work;
	struct cp_file file = make(1000000), empty = make(0);

	memset(file.data, 'a', file.bytes);
	REQUIRE(!cp_work_start(&work, &file, false));
	cp_work_end(&work, false);
	CHECK_EQ(atomic_load(&work.hashed), file.bytes);
	expect(&work, of_million);
	REQUIRE(!cp_work_start(&work, &empty, false));
	cp_work_end(&work, false);
	expect(&work, of_nothing);
	munmap(file.data, file.bytes);
}

TEST(cp_work_start__follows_what_arrives_and_never_passes_it)
{
	static struct cp_work work;
	struct cp_file file = make(1000000);

	REQUIRE(!cp_work_start(&work, &file, true));
	for (uint64_t at = 0; at < file.bytes; at += 50000) {
		uint64_t end = weft_clock_now(NULL) + 2000000000;

		memset(file.data + at, 'a', 50000);
		atomic_store(&work.ready, at + 50000);
		while (atomic_load(&work.hashed) < at + 50000 && weft_clock_now(NULL) < end)
			usleep(200);
		CHECK_EQ(atomic_load(&work.hashed), at + 50000);
	}
	cp_work_end(&work, false);
	expect(&work, of_million);
	munmap(file.data, file.bytes);
}

TEST(cp_work_start__reserves_before_anything_is_written)
{
	static struct cp_work work;
	FILE *temporary = tmpfile();
	struct stat st;

	REQUIRE(temporary);
	struct cp_file file = { .bytes = 1000000, .fd = fileno(temporary), .dir = -1 };

	REQUIRE(!ftruncate(file.fd, 1000000));
	file.data = mmap(NULL, file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	REQUIRE(file.data != MAP_FAILED);
	REQUIRE(!cp_work_start(&work, &file, true));
	while (atomic_load(&work.phase) == CP_RESERVING)
		usleep(200);
	REQUIRE(!fstat(file.fd, &st));
	CHECK(st.st_blocks * 512 >= 1000000);
	CHECK_EQ(atomic_load(&work.phase), CP_HASHING);
	memset(file.data, 'a', file.bytes);
	atomic_store(&work.ready, file.bytes);
	while (atomic_load(&work.phase) == CP_HASHING)
		usleep(200);
	CHECK_EQ(atomic_load(&work.phase), CP_HASHED);
	cp_work_end(&work, true); /* who did not ask to keep it does not */
	CHECK_EQ(atomic_load(&work.phase), CP_FINISHED);
	CHECK_STR(work.error, "");
	expect(&work, of_million);
	munmap(file.data, file.bytes);
	/* What cannot be reserved: nothing is hashed, and why is told. */
	file.fd = open("/dev/null", O_RDWR);
	REQUIRE(!cp_work_start(&work, &file, true));
	cp_work_end(&work, false);
	CHECK_STR(work.error, "No such device");
	CHECK_EQ(atomic_load(&work.hashed), 0);
	close(file.fd);
	fclose(temporary);
}

TEST(cp_work_end__can_give_up)
{
	static struct cp_work work;
	struct cp_file file = make(1000000);

	REQUIRE(!cp_work_start(&work, &file, true));
	cp_work_end(&work, true);
	cp_work_end(&work, true); /* a second time is nothing */
	CHECK_EQ(atomic_load(&work.hashed), 0);
	munmap(file.data, file.bytes);
}
