/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving end: what it keeps, what it refuses, when it gives up. */
#define PORT 28522
#define SILENCE_NS UINT64_C(2000000000)
#include "cp_pair.h"

#include <fcntl.h>
#include <sys/resource.h>

TEST(cp_serve__reports_bytes_over_time)
{
	pid_t server = serve();

	CHECK_EQ(send_file(at("in/big"), "big"), EXIT_OK);
	CHECK_EQ(status_of(server), EXIT_OK);
	CHECK(same("in/big", "out/big"));
	json_t *root = report("recv.json"), *placed = json_object_get(root, "placed");
	json_t *bins = json_object_get(placed, "cumulative_bytes");

	CHECK(json_is_null(json_object_get(root, "error")));
	CHECK_EQ(json_integer_value(json_object_get(root, "bytes")), 3000001);
	CHECK(json_array_size(bins) > 0);
	CHECK_EQ(json_integer_value(json_array_get(bins, json_array_size(bins) - 1)), 3000001);
	CHECK(json_is_object(json_object_get(placed, "longest_stall")));
	json_decref(root);
}

/* What had arrived is gone with it. */
static void lose_sender(int how)
{
	pid_t server = serve();
	unsigned before = files_out();
	char command[300];

	snprintf(command, sizeof(command), "truncate -s 40M %s", at("in/huge"));
	REQUIRE(!system(command));
	rate_bps = 200000000; /* 1.6 s: the alarm is faster */
	pid_t sender = start_sending(at("in/huge"), "huge");

	await_transfer(server);
	kill(sender, how);
	int rc = status_of(server);

	kill(sender, SIGKILL);
	status_of(sender);

	CHECK_EQ(rc, EXIT_FAILED);
	CHECK_EQ(files_out(), before);
	remove(at("in/huge"));
	remove(at("out/huge"));
}

/* A number that goes up between being hashed and being sent: only the digest can tell. */
TEST(cp_serve__keeps_nothing_whose_digest_is_another)
{
	pid_t server = serve();
	unsigned before = files_out();
	char command[300];

	snprintf(command, sizeof(command), "truncate -s 20M %s", at("in/moving"));
	REQUIRE(!system(command));
	rate_bps = 200000000;
	pid_t sender = start_sending(at("in/moving"), "moving");
	int fd = open(at("in/moving"), O_WRONLY), rc = 0;

	REQUIRE(fd >= 0);
	for (uint64_t turn = 1; !waitpid(sender, &rc, WNOHANG); turn++) {
		CHECK_EQ(pwrite(fd, &turn, sizeof(turn), 15 << 20), sizeof(turn));
		usleep(200);
	}
	close(fd);
	CHECK(WIFEXITED(rc) && WEXITSTATUS(rc) == EXIT_FAILED);
	CHECK_EQ(status_of(server), EXIT_FAILED);
	CHECK_EQ(files_out(), before);
	remove(at("in/moving"));
}

/* ---- a sender that breaks its word ---- */

#define LIE_BYTES 65536u

struct liar {
	struct weft_live *live;
	struct weft_session session;
	struct weft_mail mail;
	uint32_t rkey;
	bool may_write, ended; /* a queue pair has */
};

static void liar_turn(struct liar *l)
{
	struct weft_done done[16];

	weft_pump_step(weft_live_pump(l->live), 1000000);
	size_t n = weft_poll(weft_live_endpoint(l->live), 0, done, WEFT_COUNT(done));

	for (size_t i = 0; i < n; i++) {
		json_t *message, *rkey;

		l->ended |= done[i].status != WEFT_OK;
		if (!weft_mail_take(&l->mail, &done[i], &message) || !message)
			continue;
		rkey = json_object_get(message, "rkey");
		l->may_write |= json_is_integer(rkey);
		if (json_is_integer(rkey))
			l->rkey = (uint32_t)json_integer_value(rkey);
		json_decref(message);
	}
}

static void liar_write(struct liar *l, const uint8_t *data, bool has_imm)
{
	struct weft_work work = {
		.data = data, .len_bytes = LIE_BYTES, .rkey = l->rkey, .has_imm = has_imm
	};

	REQUIRE(!weft_post_write(l->session.qp[1], &work));
	for (unsigned i = 0; i < 100; i++) /* hashed by then, if it ever is */
		liar_turn(l);
}

/* Writes the file, and then its beginning once more, before it tells the first one's digest. */
static void lie(void)
{
	static uint8_t first[LIE_BYTES], second[LIE_BYTES];
	struct liar l = { .live = open_live() };
	/* SHA-256 of 65,536 zeros: `head -c 65536 /dev/zero | sha256sum`. */
	json_t *last = json_pack("{s:s}", "sha256",
		"de2f256064a0af797747c2b97505dc0b9f3df0de4f489eac731c23ae9ca9cc31");
	json_t *app = json_pack("{s:s, s:s, s:i, s:i, s:i}", "tool", "cp", "name", "lie", "bytes",
		(int)LIE_BYTES, "mode", 0600, "chunk", (int)LIE_BYTES);

	memset(second, 'L', sizeof(second));
	REQUIRE(!weft_mail_open(&l.mail, l.live));
	weft_mail_offer(&l.mail, app);
	for (unsigned i = 0; weft_live_connect(
		     l.live, "[::1]", PORT, 2, app, 5000000000, &l.session, error, sizeof(error));
		i++) {
		REQUIRE(i < 100);
		usleep(20000);
	}
	REQUIRE(!weft_mail_start(&l.mail, &l.session, error, sizeof(error)));
	for (unsigned i = 0; i < 3000 && !l.may_write; i++)
		liar_turn(&l);
	REQUIRE(l.may_write);
	liar_write(&l, first, true);
	REQUIRE(!l.ended);
	liar_write(&l, second, false);
	(void)weft_mail_send(&l.mail, last); /* in vain: the queue pairs have ended with the lie */
	for (unsigned i = 0; i < 500; i++)
		liar_turn(&l);
	_exit((int)check_failures);
}

TEST(cp_serve__lets_nobody_change_what_it_has_hashed)
{
	pid_t server = serve(), liar = fork();
	unsigned before = files_out();

	if (!liar) {
		alarm(30);
		if (setjmp(check_leave))
			_exit(98);
		lie();
	}
	CHECK_EQ(status_of(liar), 0);
	CHECK_EQ(status_of(server), EXIT_FAILED);
	CHECK_EQ(files_out(), before);
	CHECK(access(at("out/lie"), F_OK));
}

TEST(cp_serve__survives_the_limit_of_file_sizes)
{
	struct rlimit old, low = { .rlim_cur = 1000000, .rlim_max = RLIM_INFINITY };

	enter();
	REQUIRE(!getrlimit(RLIMIT_FSIZE, &old));
	low.rlim_max = old.rlim_max;
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &low));
	pid_t server = serve();

	REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	CHECK_EQ(send_file(at("in/big"), "limit"), EXIT_FAILED);
	CHECK_EQ(send_file(at("in/small"), "limit"), EXIT_OK);
	CHECK_EQ(status_of(server), EXIT_OK);
	CHECK(same("in/small", "out/limit"));
	remove(at("out/limit"));
}

TEST(cp_serve__refuses_more_than_it_may_take)
{
	enter();
	options.limits.max_bytes = 10000;
	pid_t server = serve();

	options.limits.max_bytes = 0;
	CHECK_EQ(send_file(at("in/big"), "big"), EXIT_FAILED);
	CHECK_EQ(send_file(at("in/small"), "small"), EXIT_OK);
	CHECK_EQ(status_of(server), EXIT_OK);
	remove(at("out/small"));
}

TEST(cp_serve__gives_a_silent_sender_up)
{
	lose_sender(SIGSTOP);
}

TEST(cp_serve__notices_that_the_sender_has_ended)
{
	uint64_t before = weft_clock_now(NULL);

	options.silence_ns = UINT64_C(3600000000000);
	lose_sender(SIGKILL);
	options.silence_ns = SILENCE_NS;
	CHECK(weft_clock_now(NULL) - before < UINT64_C(5000000000));
}

TEST(cp_serve__has_time_for_the_next_when_one_was_killed)
{
	pid_t server = serve_some(false);
	unsigned before = files_out();
	char command[300];

	snprintf(command, sizeof(command), "truncate -s 40M %s", at("in/huge"));
	REQUIRE(!system(command));
	rate_bps = 200000000;
	for (unsigned i = 0; i < 2; i++) {
		pid_t sender = start_sending(at("in/huge"), "huge");

		await_transfer(server);
		kill(sender, SIGKILL);
		status_of(sender);
	}
	/* It may find the server still waiting for the one before. */
	int rc = EXIT_FAILED;

	for (unsigned i = 0; i < 5 && rc; i++)
		rc = send_file(at("in/big"), "next");
	CHECK_EQ(rc, EXIT_OK);
	CHECK(same("in/big", "out/next"));
	CHECK_EQ(files_out(), before + 1);
	kill(server, SIGKILL);
	status_of(server);
	remove(at("in/huge"));
	remove(at("out/next"));
}

TEST(cp_serve__refuses_a_folder_that_is_not_there)
{
	enter();
	struct weft_live *live = open_live();

	CHECK_EQ(cp_serve(live, &options, 28523, "/nowhere/at/all"), EXIT_FAILED);
	weft_live_close(live);
}
