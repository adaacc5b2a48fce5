/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acks - plain acknowledgements wait for company.
 *
 *   polls:  a message has come; its SACK and transport ACK are HELD for the program's answer, which
 *           leaves with the same wake-up of the switch
 *   posts:  the answer leaves, and they are KEPT for later ones: of the messages to and fro within
 *           KEEP_NS one is acknowledged, and one packet crosses the fabric instead of three
 *
 * A SACK says how long it was kept and shows all that came meanwhile, so nothing is lost by it, but
 * some peers wait for it: those that want to hear that their send is over before they go on.  A
 * peer that sends nothing more until he has been answered was kept in vain, and so was one whom
 * nothing of ours would have taken along.  Each time that it was in vain, twice as many are let go
 * at once.  (Eight bytes of UCX, whose sends are silent: 6.0 us one way, 5.1 with KEEP.)  Those of
 * a stream are not kept: its window waits for them.
 *
 * Both end well before a peer asks what has become of its packets: after two round trips on an idle
 * fabric, where nothing is known yet (engine_loss.c, probe_wait_ns()).
 */
#include "progress/progress_local.h"

#define HOLD_NS 25000u
#define KEEP_NS 30000u /* a post after this takes them along */
#define KEPT_NS 40000u /* where none comes */
#define RTT_SHARE 4u   /* of an idle round trip, at most */
#define HELD_VAIN_MAX 6u
#define KEPT_VAIN_MAX 10u /* each costs a whole KEPT_NS */

static bool may_try(struct trial *trial)
{
	if (!trial->skips)
		return true;
	trial->skips--;
	return false;
}

static void learn(struct trial *trial, bool has_paid, uint32_t vain_max)
{
	trial->vain =
		has_paid ? trial->vain - (trial->vain > 0) : WEFT_MIN(trial->vain + 1, vain_max);
	trial->skips = has_paid ? 0 : (1u << trial->vain) - 1;
}

static uint64_t at_most(const struct weft_dev *dev, uint64_t ns)
{
	return WEFT_MIN(ns, (uint64_t)weft_live_engine(dev->live)->base_rtt_ns / RTT_SHARE);
}

static uint64_t wait_ns(const struct weft_dev *dev)
{
	return at_most(dev, dev->progress.acks.is_kept ? KEPT_NS : HOLD_NS);
}

static uint64_t arrived(const struct weft_dev *dev)
{
	return weft_stats(dev->ep)->rx_data_pkts;
}

/* False: there are none. */
static bool find(struct weft_dev *dev)
{
	struct acks *a = &dev->progress.acks;
	uint64_t since_ns = weft_acks_since(dev->ep);

	if (since_ns && since_ns != a->since_ns) {
		a->since_ns = since_ns;
		a->is_held = may_try(&a->hold);
		a->is_kept = false;
	}
	return since_ns != 0;
}

/* They have left, or are about to; is_late: nothing took them along. */
static void end(struct weft_dev *dev, bool is_late)
{
	struct acks *a = &dev->progress.acks;

	if (a->is_kept)
		learn(&a->keep, arrived(dev) != a->arrived_before, KEPT_VAIN_MAX);
	else
		learn(&a->hold, !is_late, HELD_VAIN_MAX);
	a->is_held = a->is_kept = false;
}

void acks_poll(struct weft_dev *dev)
{
	if (WEFT_UNLIKELY(find(dev)))
		weft_pump_hold(dev->pump, dev->progress.acks.is_held ? wait_ns(dev) : 0);
}

void acks_polled(struct weft_dev *dev)
{
	const struct acks *a = &dev->progress.acks;

	weft_pump_hold(dev->pump, 0);
	if (WEFT_LIKELY(!a->is_held))
		return;
	bool is_late = weft_pump_now(dev->pump) - a->since_ns >= wait_ns(dev);

	if (is_late || weft_acks_since(dev->ep) != a->since_ns)
		end(dev, is_late);
}

void acks_post(struct weft_dev *dev)
{
	struct acks *a = &dev->progress.acks;

	if (!find(dev) || !a->is_held)
		return;
	if (!a->is_kept && !dev->progress.quiet.wake.is_bulk && may_try(&a->keep)) {
		a->is_kept = true;
		a->arrived_before = arrived(dev);
	}
	weft_keep_acks(dev->ep, a->is_kept ? at_most(dev, KEEP_NS) : 0);
}

void acks_posted(struct weft_dev *dev)
{
	const struct acks *a = &dev->progress.acks;

	weft_keep_acks(dev->ep, 0);
	if (a->is_held && weft_acks_since(dev->ep) != a->since_ns)
		end(dev, false);
}

void acks_let_go(struct weft_dev *dev)
{
	if (dev->progress.acks.is_held)
		end(dev, true);
}
