/* SPDX-License-Identifier: BSD-2-Clause */
/* One endpoint that never gets an answer: what was posted, and when, is all there is to see. */
#include "check.h"
#include "incast.h"

static struct incast_plan plan;
static struct incast_sender sender;
static void *block;

static void setup(uint32_t flow)
{
	struct weft_config config;
	uint32_t ev = 1, set;
	uint8_t port = 0;

	incast_plan_fill(&plan, true, false);
	plan.bursts = 3;
	weft_config_default(&config);
	config.qps = 4;
	config.ports = 1;
	config.sq_depth = 16;
	free(block);
	block = aligned_alloc(64, WEFT_ALIGN_UP(weft_endpoint_size(&config), (size_t)64));
	sender = (struct incast_sender){ .plan = &plan, .flow = flow };
	REQUIRE(!weft_endpoint_init(&sender.ep, block, &config));
	struct weft_pathset_attr paths = { .peer = 1, .evs = &ev, .ports = &port, .n = 1 };

	REQUIRE(!weft_pathset_open(sender.ep, &paths, &set));
	for (uint32_t i = 0; i < 4; i++) {
		struct weft_qp_attr attr = { .cc = &weft_cc_fixed,
			.cc_config = { .rate_bps = 1000000000, .base_rtt_ns = 1000000 },
			.peer = 1,
			.pathset = set,
			.peer_qpn = 7,
			.mpr_rx_psns = 1024,
			.mpr_tx_psns = 1024,
			.timeout_exp = 16,
			.linear_count = 1 };

		REQUIRE(!weft_qp_open(sender.ep, &attr, &sender.qp[i]));
		REQUIRE(!weft_qp_move(sender.qp[i], WEFT_QP_RTR, &attr, 1));
		REQUIRE(!weft_qp_move(sender.qp[i], WEFT_QP_RTS, &attr, 1));
	}
}

static uint32_t posted(uint32_t qp)
{
	struct weft_qp_info info;

	weft_qp_info(sender.qp[qp], &info);
	return info.sq_used;
}

TEST(incast_send__waits_for_the_lead_then_keeps_messages_out)
{
	setup(2);
	uint64_t part_ns = plan.lead_ns / INCAST_FLOWS;

	CHECK_EQ(incast_send(&sender, 0), 2 * part_ns);
	CHECK_EQ(incast_send(&sender, 3 * part_ns), plan.lead_ns); /* its part is over */
	CHECK_EQ(posted(0), 0);
	CHECK_EQ(incast_send(&sender, 2 * part_ns), plan.lead_ns);
	CHECK_EQ(posted(0), 1); /* one packet, until it is answered */
	incast_send(&sender, 3 * part_ns - 1);
	CHECK_EQ(posted(0), 1);
	CHECK_EQ(incast_send(&sender, plan.lead_ns), incast_burst_ns(&plan, 0));
	CHECK_EQ(posted(0), INCAST_MESSAGES);
	incast_send(&sender, plan.lead_ns + 1);
	CHECK_EQ(posted(0), INCAST_MESSAGES);
}

TEST(incast_send__the_victim_s_flow_starts_at_once_and_has_no_bursts)
{
	setup(INCAST_VICTIM);
	CHECK_EQ(incast_send(&sender, 0), WEFT_NEVER);
	CHECK_EQ(posted(0), INCAST_MESSAGES);
	incast_send(&sender, incast_burst_ns(&plan, 2));
	CHECK_EQ(posted(1) + posted(2) + posted(3), 0);
}

TEST(incast_send__posts_each_burst_once_on_a_queue_pair_of_its_own)
{
	setup(3);
	CHECK_EQ(incast_send(&sender, incast_stop_ns(&plan)), incast_burst_ns(&plan, 0));
	CHECK_EQ(posted(0), 0); /* the incast is over */
	CHECK_EQ(incast_send(&sender, incast_burst_ns(&plan, 0)), incast_burst_ns(&plan, 1));
	CHECK_EQ(posted(1), 1);
	incast_send(&sender, incast_burst_ns(&plan, 1) - 1);
	CHECK_EQ(posted(1) + posted(2), 1);
	CHECK_EQ(incast_send(&sender, incast_burst_ns(&plan, 2)), WEFT_NEVER); /* late: both */
	CHECK_EQ(posted(2), 1);
	CHECK_EQ(posted(3), 1);
	CHECK_EQ(sender.took_ns[0], 0);
}

TEST(incast_send__tells_the_first_failure_and_posts_no_more)
{
	setup(0);
	incast_send(&sender, plan.lead_ns);
	REQUIRE(!weft_qp_move(sender.qp[0], WEFT_QP_ERROR, NULL, 2));
	CHECK_EQ(incast_send(&sender, plan.lead_ns + 1), WEFT_NEVER);
	CHECK(sender.status != WEFT_OK);
	incast_send(&sender, incast_burst_ns(&plan, 0));
	CHECK_EQ(posted(1), 0);
	free(block);
	block = NULL;
}
