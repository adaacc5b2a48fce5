/* SPDX-License-Identifier: BSD-2-Clause */
/* An echo over mail: what one end says comes back from the other. */
#include "plain.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#define SECOND UINT64_C(1000000000)
#define PORT 28517

struct server {
	struct weft_live *live;
	pthread_t thread;
	atomic_bool stop;
	char error[256];
};

/* One turn; *message as from weft_mail_take(). */
static bool turn(struct weft_live *live, struct weft_mail *mail, json_t **message)
{
	struct weft_done done;

	weft_pump_step(weft_live_pump(live), 1000000);
	*message = NULL;
	return weft_poll(weft_live_endpoint(live), 0, &done, 1) &&
	       weft_mail_take(mail, &done, message);
}

static void *echo(void *arg)
{
	struct server *s = arg;
	struct weft_session session;
	struct weft_meeting *meeting;
	struct weft_mail mail;
	json_t *app = json_object(), *message;

	if (weft_live_accept(s->live, 5 * SECOND, &meeting, s->error, sizeof(s->error)) != 1 ||
		weft_mail_open(&mail, s->live))
		return NULL;
	weft_mail_offer(&mail, app);
	if (weft_live_answer(meeting, app, &session, s->error, sizeof(s->error)) ||
		weft_mail_start(&mail, &session, s->error, sizeof(s->error)))
		return NULL;
	while (!atomic_load(&s->stop)) {
		if (!turn(s->live, &mail, &message) || !message)
			continue;
		(void)weft_mail_send(&mail, message);
		json_decref(message);
	}
	json_decref(app);
	weft_session_close(s->live, &session);
	weft_mail_close(&mail);
	return NULL;
}

TEST(weft_mail_send__comes_back_from_an_echo)
{
	struct server server = { .live = open_plain() };
	struct weft_live *live = open_plain();
	struct weft_session session;
	struct weft_mail mail;
	json_t *app = json_object(), *back, *bad = json_pack("{s:{s:i}}", "mail", "rkey", -1);

	REQUIRE(!weft_live_listen(server.live, PORT, error, sizeof(error)));
	REQUIRE(!pthread_create(&server.thread, NULL, echo, &server));
	REQUIRE(!weft_mail_open(&mail, live));
	weft_mail_offer(&mail, app);
	REQUIRE(!weft_live_connect(
		live, "127.0.0.1", PORT, 1, app, SECOND, &session, error, sizeof(error)));
	REQUIRE(!weft_mail_start(&mail, &session, error, sizeof(error)));
	for (int i = 0; i < 50; i++) {
		json_t *message = json_pack("{s:i, s:s}", "n", i, "text", "a few words");
		uint64_t end = weft_clock_now(NULL) + 5 * SECOND;

		CHECK_EQ(weft_mail_send(&mail, message), 0);
		do
			turn(live, &mail, &back);
		while (!back && weft_clock_now(NULL) < end);
		CHECK(back && json_equal(back, message));
		json_decref(back);
		json_decref(message);
	}
	while (!weft_mail_idle(&mail))
		turn(live, &mail, &back);
	/* What does not fit, and too much at once, are refused. */
	json_t *huge = json_object();

	for (unsigned i = 0; i < 2000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "key%u", i);
		json_object_set_new(huge, key, json_integer(i));
	}
	CHECK_EQ(weft_mail_send(&mail, huge), -1);
	for (unsigned i = 0; i < WEFT_MAIL_SLOTS / 2; i++)
		CHECK_EQ(weft_mail_send(&mail, app), 0);
	CHECK_EQ(weft_mail_send(&mail, app), -1);
	json_t *was = session.app;

	session.app = bad;
	CHECK_EQ(weft_mail_start(&mail, &session, error, sizeof(error)), -1);
	CHECK(strstr(error, "app.mail.rkey") != NULL);
	session.app = was;
	atomic_store(&server.stop, true);
	pthread_join(server.thread, NULL);
	weft_session_close(live, &session);
	weft_mail_close(&mail);
	weft_live_close(live);
	weft_live_close(server.live);
	json_decref(huge);
	json_decref(bad);
	json_decref(app);
}

TEST(weft_mail_take__leaves_other_completions_alone)
{
	struct weft_mail mail = { 0 };
	struct weft_done done = { .id = 7 };
	json_t *message;

	CHECK(!weft_mail_take(&mail, &done, &message));
	CHECK(!message);
}
