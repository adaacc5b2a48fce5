/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ev_op - replaces, denies, allows and shows the EVs of a profile, entry by entry: what a
 * controller does about what a NIC cannot tell [P 6.5].
 *
 * An EV is found by value and port.  Several entries of a profile may be equal; a state then holds
 * for all of them, because a QP cannot tell them apart.  A replaced EV starts as GOOD: what was
 * found out about the old one is not true of the new one; or as DENIED, where the entry says so.
 */
#include "mrc_local.h"

#include <errno.h>
#include <string.h>

static bool is_same(const struct mrc_ctl_ev *a, const struct mrc_ctl_ev *b)
{
	return a->port == b->port && !memcmp(a->val, b->val, sizeof(a->val));
}

/* The value may not reach beyond the format's bits; a port must be one that could exist. */
static int check_new(struct plant *plant, const struct plant_evs *evs, const struct mrc_ctl_ev *ev)
{
	const struct plant_fmt *fmt = plant_fmt_find(plant, evs->fmt_id);
	uint32_t width = fmt ? fields_mode_width(fmt->mode) : 0;

	if (ev->port > WEFT_PORTS_MAX)
		return EINVAL;
	for (uint32_t i = width / 8; i < MRC_CTL_EV_MAX_BYTES; i++) {
		if (ev->val[i])
			return EINVAL;
	}
	return 0;
}

static int replace(struct plant *plant, struct plant_evs *evs,
	const struct mrc_ctl_ev_op_entry *entry)
{
	bool all = entry->flags & MRC_CTL_EV_OP_F_ALL_COPIES;
	bool denied = entry->state == MRC_CTL_EV_DENIED, found = false;
	int rc = check_new(plant, evs, &entry->ev_new);

	if (rc || entry->flags & ~(uint32_t)MRC_CTL_EV_OP_F_ALL_COPIES)
		return rc ? rc : EINVAL;
	/* The API wants a state; who leaves it out gets what an EV is without a word. */
	if (!denied && entry->state && entry->state != MRC_CTL_EV_GOOD)
		return EINVAL;
	if (evs->state == MRC_CTL_PROFILE_ONLINE && !entry->ev_new.port)
		return EINVAL; /* QPs cannot use an entry that nobody has filled */
	for (uint32_t i = 0; i < evs->count && (all || !found); i++) {
		if (!is_same(&evs->ev[i].ev, &entry->ev))
			continue;
		evs->ev[i] = (struct plant_ev){ .ev = entry->ev_new, .denied = denied };
		found = true;
	}
	return found ? 0 : ENOENT;
}

static int set_state(struct plant_evs *evs, const struct mrc_ctl_ev_op_entry *entry)
{
	bool found = false;

	if (entry->state != MRC_CTL_EV_GOOD && entry->state != MRC_CTL_EV_DENIED)
		return EINVAL;
	for (uint32_t i = 0; i < evs->count; i++) {
		if (!is_same(&evs->ev[i].ev, &entry->ev))
			continue;
		evs->ev[i].denied = entry->state == MRC_CTL_EV_DENIED;
		if (entry->state == MRC_CTL_EV_GOOD)
			evs->ev[i].bad = false;
		found = true;
	}
	return found ? 0 : ENOENT;
}

static enum mrc_ctl_ev_state state_of(const struct plant_ev *ev)
{
	if (!ev->ev.port)
		return MRC_CTL_EV_UNKNOWN;
	if (ev->denied)
		return MRC_CTL_EV_DENIED;
	return ev->bad ? MRC_CTL_EV_ASSUMED_BAD : MRC_CTL_EV_GOOD;
}

static int get_state(const struct plant_evs *evs, struct mrc_ctl_ev_op_entry *entry)
{
	for (uint32_t i = 0; i < evs->count; i++) {
		if (!is_same(&evs->ev[i].ev, &entry->ev))
			continue;
		entry->state = state_of(&evs->ev[i]);
		return 0;
	}
	entry->state = MRC_CTL_EV_UNKNOWN;
	return ENOENT;
}

static int get_array(const struct plant_evs *evs, struct mrc_ctl_ev_profile_attr *attr)
{
	int room = attr->ev_op.entry_count;

	attr->ev_op.entry_count = (int)evs->count;
	if (room < (int)evs->count)
		return E2BIG;
	if (evs->count && !attr->ev_op.entries)
		return EINVAL;
	for (uint32_t i = 0; i < evs->count; i++) {
		attr->ev_op.entries[i].ev = evs->ev[i].ev;
		attr->ev_op.entries[i].state = state_of(&evs->ev[i]);
		attr->ev_op.entries[i].flags = 0;
	}
	return 0;
}

int evs_operate(struct plant_evs *evs, struct plant *plant, struct mrc_ctl_ev_profile_attr *attr,
	bool is_query)
{
	enum mrc_ctl_ev_op op = attr->ev_op.op;
	int rc = 0;

	if (op == MRC_CTL_EV_OP_QUERY_EV_ARRAY)
		return is_query ? get_array(evs, attr) : EINVAL;
	if (attr->ev_op.entry_count < 1 || !attr->ev_op.entries)
		return EINVAL;
	if (is_query != (op == MRC_CTL_EV_OP_QUERY_EV_STATE))
		return EINVAL;
	/* Only a list is there to be written; the device's own paths are not in the profile. */
	if (op == MRC_CTL_EV_OP_REPLACE_EV && evs->mode != MRC_CTL_EV_MODE_EXP)
		return EINVAL;
	for (int i = 0; i < attr->ev_op.entry_count && !rc; i++) {
		struct mrc_ctl_ev_op_entry *entry = &attr->ev_op.entries[i];

		if (op == MRC_CTL_EV_OP_REPLACE_EV)
			rc = replace(plant, evs, entry);
		else if (op == MRC_CTL_EV_OP_MODIFY_EV_STATE)
			rc = set_state(evs, entry);
		else if (op == MRC_CTL_EV_OP_QUERY_EV_STATE)
			rc = get_state(evs, entry);
		else
			rc = EINVAL;
	}
	if (!is_query)
		evs->changes++;
	return rc;
}

void evs_expanded(struct plant *plant, const struct plant_evs *evs, uint32_t index,
	struct mrc_ctl_ev *ev)
{
	const struct plant_fmt *fmt = plant_fmt_find(plant, evs->fmt_id);

	memset(ev, 0, sizeof(*ev));
	ev->port = evs->ev[index].ev.port;
	if (fmt)
		fields_expand(evs->field, evs->n_fields, fmt, evs->ev[index].ev.val, ev->val);
}
