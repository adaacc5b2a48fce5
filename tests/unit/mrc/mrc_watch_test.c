/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <signal.h>

struct scene {
	struct mrc_context *context;
	struct mrc_cq *cq, *events;
	struct mrc_qp *qp;
	struct mrc_ctl_ev list[3];
};

/* Connected, over three of the paths; the watcher is stopped, so that the test can look itself. */
static void scene_open(struct scene *s)
{
	s->context = fake_open(0);
	s->cq = mrc_create_cq(s->context, 8, NULL, NULL, 0);
	s->qp = fake_qp(s->context, s->cq);
	s->list[0] = stage_ev(0, 1);
	s->list[1] = stage_ev(0x10000, 2);
	s->list[2] = stage_ev(0x20001, 3);
	fake_profile(s->context, 7, MRC_CTL_EV_FMT_MODE_STEV, s->list, 3);
	s->events = mrc_ctl_create_ev_event_cq(s->context, 8, NULL, NULL, 0);
	CHECK_EQ(fake_init(s->qp, 7, 0), 0);
	CHECK_EQ(fake_rtr(s->qp), 0);
	watcher_stop(s->context->station);
	fake_dev.is_connected = true;
	watcher_look(s->context->station);
}

static void scene_close(struct scene *s)
{
	CHECK(!mrc_destroy_qp(s->qp));
	CHECK(!mrc_destroy_cq(s->events));
	CHECK(!mrc_destroy_cq(s->cq));
	fake_close(s->context);
}

static int state(struct scene *s, int i)
{
	struct mrc_ctl_ev_op_entry entry = { .ev = s->list[i] };
	struct stage stage = { .other = s->context };

	CHECK(!stage_op(&stage, 7, MRC_CTL_EV_OP_QUERY_EV_STATE, &entry, 1));
	return (int)entry.state;
}

TEST(watcher_look__tells_of_paths_that_go_and_come_back)
{
	struct mrc_ctl_ev_event event[4];
	struct scene s;

	scene_open(&s);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 0);
	fake_dev.state[1] = WEFT_PATH_ASSUMED_BAD; /* EV 0x10000 */
	fake_dev.state[3] = WEFT_PATH_ASSUMED_BAD; /* not in the profile */
	watcher_look(s.context->station);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 1);
	CHECK_EQ(event[0].profile_id, 7);
	CHECK_EQ(event[0].state, MRC_CTL_EV_ASSUMED_BAD);
	CHECK_MEM(&event[0].ev, &s.list[1], sizeof(event[0].ev));
	CHECK_EQ(state(&s, 1), MRC_CTL_EV_ASSUMED_BAD);
	CHECK_EQ(state(&s, 0), MRC_CTL_EV_GOOD);
	watcher_look(s.context->station);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 0); /* once */
	fake_dev.state[1] = WEFT_PATH_SKIP;
	watcher_look(s.context->station);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 1);
	CHECK_EQ(event[0].state, MRC_CTL_EV_GOOD);
	CHECK_EQ(state(&s, 1), MRC_CTL_EV_GOOD);
	scene_close(&s);
}

TEST(watcher_look__carries_a_controllers_word_to_qps)
{
	struct scene s;

	scene_open(&s);
	CHECK_EQ(fake_dev.n_marks, 0);
	CHECK(!fake_deny(s.context, 7, s.list[2], true));
	watcher_look(s.context->station);
	REQUIRE(fake_dev.n_marks == 1);
	CHECK_EQ(fake_dev.mark[0].ev, 0x20001);
	CHECK_EQ(fake_dev.mark[0].to, WEFT_PATH_DENIED);
	watcher_look(s.context->station);
	CHECK_EQ(fake_dev.n_marks, 1);
	CHECK(!fake_deny(s.context, 7, s.list[2], false));
	watcher_look(s.context->station);
	REQUIRE(fake_dev.n_marks == 2);
	CHECK_EQ(fake_dev.mark[1].to, WEFT_PATH_GOOD);
	scene_close(&s);
}

TEST(watcher_look__respects_the_event_mask)
{
	struct mrc_ctl_ev_profile_attr attr = { .ev_event_mask = MRC_CTL_EV_GOOD };
	struct mrc_ctl_ev_event event[4];
	struct scene s;

	scene_open(&s);
	CHECK(!mrc_ctl_modify_ev_profile(s.context, 7, &attr, MRC_CTL_EV_PROFILE_EVENT_MASK));
	fake_dev.state[0] = WEFT_PATH_ASSUMED_BAD;
	watcher_look(s.context->station);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 0);
	CHECK_EQ(state(&s, 0), MRC_CTL_EV_ASSUMED_BAD);
	fake_dev.state[0] = WEFT_PATH_GOOD;
	watcher_look(s.context->station);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 1);
	scene_close(&s);
}

/* An EV is as bad as the worst of its QPs finds it, and nobody's word outlives him. */
TEST(watcher_forget__takes_the_word_of_a_qp_back)
{
	struct mrc_ctl_ev_event event[4];
	struct scene s;

	scene_open(&s);
	struct mrc_qp *other = fake_qp(s.context, s.cq);

	CHECK_EQ(fake_init(other, 7, 0), 0);
	CHECK_EQ(fake_rtr(other), 0);
	watcher_stop(s.context->station);
	fake_dev.state[1] = WEFT_PATH_ASSUMED_BAD; /* EV 0x10000, for both */
	watcher_look(s.context->station);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 1);
	CHECK_EQ(state(&s, 1), MRC_CTL_EV_ASSUMED_BAD);
	CHECK(!mrc_destroy_qp(other));
	CHECK_EQ(state(&s, 1), MRC_CTL_EV_ASSUMED_BAD);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 0);
	CHECK(!mrc_destroy_qp(s.qp));
	CHECK_EQ(state(&s, 1), MRC_CTL_EV_GOOD);
	CHECK_EQ(mrc_ctl_poll_ev_event(s.events, 4, event), 1);
	CHECK_EQ(event[0].state, MRC_CTL_EV_GOOD);
	/* Nor the word of a process that was killed. */
	plant_evs_find(s.context->station->plant, 7)->ev[1].bad = true;
	fake_dev.state[1] = WEFT_PATH_GOOD;
	s.qp = fake_qp(s.context, s.cq);
	CHECK_EQ(fake_init(s.qp, 7, 0), 0);
	CHECK_EQ(fake_rtr(s.qp), 0);
	watcher_stop(s.context->station);
	CHECK_EQ(state(&s, 1), MRC_CTL_EV_GOOD);
	scene_close(&s);
}

TEST(watcher_start__leaves_signals_to_the_program)
{
	struct mrc_ctl_ev_event event[4];
	struct scene s;
	sigset_t usr2;
	int told = 0;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	scene_open(&s);
	fake_dev.state[1] = WEFT_PATH_ASSUMED_BAD;
	atomic_store(&s.context->station->must_end, false);
	REQUIRE(!watcher_start(s.context->station));
	for (int i = 0; i < 20000 && !told; i++) { /* until it runs: the C library starts it deaf */
		usleep(1000);
		told = mrc_ctl_poll_ev_event(s.events, 4, event);
	}
	CHECK_EQ(told, 1);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	REQUIRE(!kill(getpid(), SIGUSR2)); /* ends us where another thread takes it */
	CHECK_EQ(sigtimedwait(&usr2, NULL, &(struct timespec){ .tv_sec = 20 }), SIGUSR2);
	REQUIRE(!pthread_sigmask(SIG_UNBLOCK, &usr2, NULL));
	scene_close(&s);
}
