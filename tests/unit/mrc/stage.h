/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STAGE_H
#define STAGE_H
/* stage - a context over profiles in a file of its own, and no device: enough for a controller. */
#include "check.h"
#include "mrc_local.h"

#include <unistd.h>

struct stage {
	struct station station;
	struct mrc_context context;
	struct mrc_context *other; /* where set, what is done is done to that one */
	char path[64];
};

static inline void stage_open(struct stage *stage)
{
	memset(stage, 0, sizeof(*stage));
	snprintf(stage->path, sizeof(stage->path), "/tmp/weft-test-%d", (int)getpid());
	unlink(stage->path);
	REQUIRE(!plant_open(&stage->station.file, stage->path, true));
	stage->station.plant = stage->station.file.plant;
	stage->station.planes = 4;
	weft_lock_open(&stage->station.lock);
	stage->context.station = &stage->station;
	stage->context.version = MRC_API_CURRENT_VERSION;
	REQUIRE(alive_add(&stage->context));
}

static inline void stage_close(struct stage *stage)
{
	alive_drop(&stage->context);
	plant_close(&stage->station.file);
	CHECK(access(stage->path, F_OK));
}

static inline struct mrc_context *stage_context(struct stage *stage)
{
	return stage->other ? stage->other : &stage->context;
}

/* errno of a call that must fail, 0 if it did not. */
#define ERRNO_OF(call) (errno = 0, (call) == -1 ? errno : 0)

/* A format that is online: STEV, two fields of 16 bits. */
static inline void stage_format(struct stage *stage, uint64_t id, enum mrc_ctl_ev_fmt_mode mode)
{
	struct mrc_ctl_ev_fmt_field fields[8] = { { 16 }, { 16 }, { 32 }, { 32 }, { 32 } };
	struct mrc_ctl_ev_fmt_profile_attr attr = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_fmt_mode = mode,
		.ev_fmt_op = { MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields,
			mode == MRC_CTL_EV_FMT_MODE_SRV6   ? 5
			: mode == MRC_CTL_EV_FMT_MODE_STEV ? 2
							   : 1 },
	};

	REQUIRE(!mrc_ctl_modify_ev_fmt_profile(stage_context(stage), id, &attr,
		MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_MODE |
			MRC_CTL_EV_FMT_PROFILE_OP));
	attr.profile_state = MRC_CTL_PROFILE_ONLINE;
	REQUIRE(!mrc_ctl_modify_ev_fmt_profile(
		stage_context(stage), id, &attr, MRC_CTL_EV_FMT_PROFILE_STATE));
}

static inline int stage_state(struct stage *stage, uint64_t id, enum mrc_ctl_profile_state state)
{
	struct mrc_ctl_ev_profile_attr attr = { .profile_state = state };

	return mrc_ctl_modify_ev_profile(stage_context(stage), id, &attr, MRC_CTL_EV_PROFILE_STATE);
}

/* An explicit or generated profile that is offline. */
static inline int stage_evs(struct stage *stage, uint64_t id, enum mrc_ctl_ev_mode mode,
	uint64_t fmt_id, uint32_t count)
{
	struct mrc_ctl_ev_profile_attr attr = {
		.profile_state = MRC_CTL_PROFILE_OFFLINE,
		.ev_mode = mode,
		.ev_fmt_profile_id = fmt_id,
		.ev_count = count,
		.ev_min_active = count / 4,
		.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD,
	};

	return mrc_ctl_modify_ev_profile(stage_context(stage), id, &attr,
		MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
			MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |
			MRC_CTL_EV_PROFILE_EVENT_MASK);
}

static inline struct mrc_ctl_ev stage_ev(uint32_t value, uint8_t port)
{
	struct mrc_ctl_ev ev = { .val = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
					 (uint8_t)(value >> 8), (uint8_t)value },
		.port = port };

	return ev;
}

static inline int stage_op(struct stage *stage, uint64_t id, enum mrc_ctl_ev_op op,
	struct mrc_ctl_ev_op_entry *entries, int n)
{
	struct mrc_ctl_ev_profile_attr attr = { .ev_op = { op, entries, n } };

	if (op == MRC_CTL_EV_OP_QUERY_EV_STATE || op == MRC_CTL_EV_OP_QUERY_EV_ARRAY)
		return mrc_ctl_query_ev_profile(
			stage_context(stage), id, &attr, MRC_CTL_EV_PROFILE_EV_OP);
	return mrc_ctl_modify_ev_profile(stage_context(stage), id, &attr, MRC_CTL_EV_PROFILE_EV_OP);
}

#endif
