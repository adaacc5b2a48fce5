/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switchd_loop - turns, and when to sleep between them.
 *
 * A turn takes what hosts have ready for as long as their lines would have been free until now,
 * runs the network up to now, and hands out what arrived.  Since everything carries the time at
 * which it happened, a late turn changes no queue: it only lets hosts see late what arrived
 * meanwhile.
 *
 * Asleep, we are woken by whatever comes (doorbells, interfaces, requests) or when the network's
 * next event is due.  A wake-up costs as much as ten packets, so where many come we sleep by time
 * instead: long enough for a burst, short against a round trip, and nobody has to ring.  Where
 * turns take longer than that, we do not sleep at all.  A ping-pong makes as many packets as a slow
 * stream and has one under way at a time: who waits for it is woken, or it would wait for our clock
 * twice per round.
 *
 * Waiting for an event that is nearer than a wake-up takes is done awake: this is what keeps a
 * single packet that crosses an idle fabric from being late at each hop.
 */
#include "switchd_local.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#define WINDOW_NS 1000000u /* over which traffic is judged */
#define BULK_PACKETS 24u   /* in a window, from which on we gather */
/* Below both, nobody gathers: moved in a turn (in, and out), and between switches after it. */
#define FEW_MOVED 12u
#define FEW_UNDER_WAY 6u
#define GATHER_NS_MIN 50000u
#define BURST_NS_MIN 12000u
#define SLEEP_NS_MAX 500000000u
#define LOOK_NS 1000000u /* between looks for requests while busy */
#define EVENTS_MAX 64
#define AHEAD_PS UINT64_C(1000000)    /* where lines are fast */
#define STREAM_PS UINT64_C(500000000) /* from one of its packets to the next */
#define REAL_TIME_PRIORITY 2          /* as the pumps of our programs have: they take turns */

/* ---- a turn ---- */

static void deliver(struct weft_switchd *sw, size_t *moved)
{
	struct weft_network_out out[BURST];
	size_t n;

	while ((n = weft_network_take(sw->network, out, BURST)) > 0) {
		for (size_t i = 0; i < n; i++) {
			bool arrived = out[i].drop == WEFT_SWITCH_DROP_NONE;

			if (arrived && (nic_deliver(sw, &out[i]) || ifaces_deliver(sw, &out[i])))
				continue;
			sw->drops[EDGE_NOBODY] += arrived;
			slots_give(&sw->slots, (uint32_t)out[i].frame.handle);
		}
		*moved += n;
	}
	nic_flush(sw);
	ifaces_flush(sw);
}

void loop_tell_carrier(struct weft_switchd *sw)
{
	ifaces_carrier(sw);
	nic_carrier(sw);
}

void loop_power(struct weft_switchd *sw, uint32_t node, bool on, uint64_t on_again_ns)
{
	sw->on_again_ns[node] = on ? 0 : on_again_ns;
	if (on_again_ns)
		sw->next_on_ns = WEFT_MIN(sw->next_on_ns, on_again_ns);
	sw->is_off[node] = !on;
	sw->is_frozen[node] = false;
	weft_network_freeze(sw->network, node, false, sw->ran_ps);
	weft_network_power(sw->network, node, on, sw->ran_ps);
	for (uint32_t i = 0; i < sw->shape->links && !on; i++) {
		struct weft_link l = weft_topo_link(sw->topo, i);

		for (unsigned end = 0; end < 2; end++) { /* it has forgotten its holes */
			if (l.node[end] == node)
				sw->told[i].hole &= (uint8_t) ~(1u << end);
		}
	}
	loop_tell_carrier(sw);
}

static void end_reboots(struct weft_switchd *sw, uint64_t now_ns)
{
	sw->next_on_ns = WEFT_NEVER;
	for (uint32_t i = sw->shape->hosts; i < sw->shape->nodes; i++) {
		if (sw->on_again_ns[i] && sw->on_again_ns[i] <= now_ns)
			loop_power(sw, i, true, 0);
		else if (sw->on_again_ns[i])
			sw->next_on_ns = WEFT_MIN(sw->next_on_ns, sw->on_again_ns[i]);
	}
}

/* Callers who say nothing, and listeners that could not be accepted from. */
static void end_late(struct weft_switchd *sw, uint64_t now_ns)
{
	nic_accept(sw, now_ns);
	control_tidy(sw, now_ns);
	sw->next_late_ns = WEFT_MIN(weft_shm_door_next_ns(sw->nic.door), control_next_ns(sw));
}

/*
 * Up to now; where there are ears, lines are fast, and from one switch to the next a packet takes
 * less than a turn does: so on to its end, but not far ahead.  Returns the time that it is there.
 */
static uint64_t run_network(struct weft_switchd *sw, uint64_t now_ps)
{
	uint64_t end_ps = sw->ears.n ? now_ps + AHEAD_PS : now_ps;

	weft_network_run(sw->network, now_ps);
	for (uint64_t next_ps; (next_ps = weft_network_next_ps(sw->network)) < end_ps;
		now_ps = next_ps)
		weft_network_run(sw->network, next_ps);
	return now_ps;
}

size_t loop_turn(struct weft_switchd *sw, uint64_t now_ns)
{
	uint64_t now_ps = WEFT_MAX(to_ps(sw, now_ns), sw->ran_ps);
	size_t moved = nic_take(sw, now_ps), by_iface = ifaces_take(sw, now_ps);

	if (by_iface >= FEW_MOVED)
		sw->bulk_ps = now_ps;
	moved += by_iface;
	sw->ran_ps = run_network(sw, now_ps);
	deliver(sw, &moved);
	if (WEFT_UNLIKELY(now_ns >= sw->next_on_ns))
		end_reboots(sw, now_ns);
	if (WEFT_UNLIKELY(now_ns >= sw->next_late_ns))
		end_late(sw, now_ns);
	return moved;
}

void weft_switchd_turn(struct weft_switchd *sw)
{
	loop_look(sw);
	(void)loop_turn(sw, real_now_ns());
}

/* ---- between turns ---- */

static void handle(struct weft_switchd *sw, uint64_t tag)
{
	uint32_t index = (uint32_t)tag;

	switch ((enum watch)(tag >> 32)) {
	case WATCH_PORTS:
		nic_accept(sw, real_now_ns());
		sw->next_late_ns = 0; /* to be reckoned anew */
		break;
	case WATCH_PROCESS:
		nic_wake(sw, index);
		break;
	case WATCH_IFACE:
		sw->ifaces.all[index].is_ready = true;
		break;
	case WATCH_NETLINK:
		ifaces_notice(sw);
		break;
	case WATCH_CONTROL:
		control_accept(sw, real_now_ns());
		sw->next_late_ns = 0;
		break;
	case WATCH_CLIENT:
		control_serve(sw, index);
		break;
	case WATCH_EARS:
		ears_heard(sw);
		break;
	}
}

static void handle_all(struct weft_switchd *sw, const struct epoll_event events[], int n)
{
	for (int i = 0; i < n; i++)
		handle(sw, events[i].data.u64);
}

void loop_look(struct weft_switchd *sw)
{
	struct epoll_event events[EVENTS_MAX];

	handle_all(sw, events, epoll_wait(sw->epoll_fd, events, EVENTS_MAX, 0));
}

/* While busy: now and then, or each time where packets come by interfaces. */
static void look_rarely(struct weft_switchd *sw, uint64_t now_ns)
{
	if (!sw->ifaces.found && now_ns - sw->looked_ns <= LOOK_NS)
		return;
	sw->looked_ns = now_ns;
	loop_look(sw);
}

/* Without the baton until something comes, within wait_ns. */
static void sleep_until_rung(struct weft_switchd *sw, uint64_t wait_ns)
{
	struct timespec wait = { (time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000) };
	struct epoll_event events[EVENTS_MAX];

	baton_give(sw);
	if (ears_are_called(sw))
		wait.tv_sec = wait.tv_nsec = 0;
	int n = epoll_pwait2(sw->epoll_fd, events, EVENTS_MAX, &wait, NULL);
	baton_take(sw);
	atomic_store_explicit(&sw->ears.called, false, memory_order_seq_cst);
	handle_all(sw, events, n);
}

/*
 * A stream's packets come until we look again: gather for longer.  Those of a message that somebody
 * waits for, and of its answer, come at once, and then none: to sleep on makes both wait.
 */
static void judge_burst(struct weft_switchd *sw)
{
	uint64_t turn_ps = sw->ran_ps - sw->judged_ps, quiet_ps = sw->ran_ps - sw->newest_ps;

	if (quiet_ps < turn_ps / 4)
		sw->burst_ns = WEFT_MIN(2 * sw->burst_ns, (uint64_t)GATHER_NS_MAX);
	else if (quiet_ps > turn_ps / 2)
		sw->burst_ns = WEFT_MAX(sw->burst_ns / 2, (uint64_t)BURST_NS_MIN);
}

/* Every window: how long to gather. */
void loop_judge(struct weft_switchd *sw, uint64_t now_ns, size_t moved)
{
	if (moved)
		judge_burst(sw);
	sw->judged_ps = sw->ran_ps;
	sw->window_moved += moved;
	if (now_ns - sw->window_ns < WINDOW_NS)
		return;
	uint64_t windows = (now_ns - sw->window_ns) / WINDOW_NS;
	uint64_t half_rtt_ns = sw->shape->base_rtt_ns / 2;

	sw->gather_ns = sw->window_moved < windows * BULK_PACKETS ? 0
			: half_rtt_ns < GATHER_NS_MIN             ? GATHER_NS_MIN
			: half_rtt_ns > GATHER_NS_MAX             ? GATHER_NS_MAX
								  : half_rtt_ns;
	sw->window_ns = now_ns;
	sw->window_moved = 0;
}

uint64_t loop_wait_ns(const struct weft_switchd *sw)
{
	uint64_t next_ps = weft_network_next_ps(sw->network), now_ns = real_now_ns();

	if (next_ps == WEFT_NEVER)
		return WEFT_NEVER;
	return to_ns(sw, next_ps) - WEFT_MIN(to_ns(sw, next_ps), now_ns);
}

bool loop_gathers(const struct weft_switchd *sw, size_t moved)
{
	const struct weft_network_stats *s = weft_network_stats(sw->network);
	uint64_t under_way = s->sent - s->arrived - s->dropped;

	/* Ears are quick, and cheap enough for all but streams. */
	if (sw->ears.n && sw->ran_ps - sw->bulk_ps >= STREAM_PS)
		return false;
	return sw->gather_ns && (moved >= FEW_MOVED || under_way >= FEW_UNDER_WAY);
}

/* Sleeps until something may be due. */
static void rest(struct weft_switchd *sw, uint64_t turn_ns, size_t moved)
{
	uint64_t now_ns = real_now_ns(), wait_ns;

	if (loop_gathers(sw, moved)) {
		uint64_t until_ns = turn_ns + WEFT_MIN(sw->gather_ns, sw->burst_ns);

		if (now_ns < until_ns)
			real_sleep_ns(until_ns - now_ns);
		look_rarely(sw, now_ns);
		return;
	}
	wait_ns = WEFT_MIN(loop_wait_ns(sw), (uint64_t)SLEEP_NS_MAX);
	if (sw->next_on_ns != WEFT_NEVER)
		wait_ns = WEFT_MIN(wait_ns, sw->next_on_ns - WEFT_MIN(sw->next_on_ns, now_ns));
	if (sw->next_late_ns != WEFT_NEVER)
		wait_ns = WEFT_MIN(wait_ns, sw->next_late_ns - WEFT_MIN(sw->next_late_ns, now_ns));
	if (moved || wait_ns < LOOP_AWAKE_NS) {
		look_rarely(sw, now_ns);
		return;
	}
	if (nic_will_sleep(sw, true))
		sleep_until_rung(sw, wait_ns);
	(void)nic_will_sleep(sw, false);
	sw->looked_ns = now_ns;
}

bool loop_real_time(void)
{
	struct sched_param param = { .sched_priority = REAL_TIME_PRIORITY };

	return !sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param);
}

void weft_switchd_run(struct weft_switchd *sw, const volatile int *stop)
{
	/* Where it is allowed; sleeps then also end when they should. */
	bool is_real_time = loop_real_time();

	(void)prctl(PR_SET_TIMERSLACK, 1);
	ears_open(sw, is_real_time);
	while (!*stop && !sw->is_stopped) {
		uint64_t now_ns = real_now_ns();
		size_t moved = loop_turn(sw, now_ns);

		loop_judge(sw, now_ns, moved);
		rest(sw, now_ns, moved);
	}
	ears_close(sw);
}
