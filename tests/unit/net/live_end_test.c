/* SPDX-License-Identifier: BSD-2-Clause */
#include "plain.h"

TEST(weft_live_peer_open__takes_what_another_end_tells)
{
	struct weft_live *a = open_plain(), *b = open_plain();
	struct weft_live_end end;
	uint32_t peer, again, pathset;
	struct weft_set_info info;

	weft_live_end(b, &end);
	CHECK_EQ(end.planes, 2);
	CHECK(!strcmp(end.host, "plain"));
	CHECK_EQ(weft_live_peer_open(a, &end, &peer, &pathset, error, sizeof(error)), 0);
	CHECK_EQ(weft_live_peer_open(a, &end, &again, &pathset, error, sizeof(error)), 0);
	CHECK_EQ(peer, again);
	CHECK_EQ(weft_set_info(a->ep, pathset, &info), 0);
	CHECK_EQ(info.peer, peer);
	weft_live_peer_close(a, peer);
	weft_live_peer_close(a, peer);
	CHECK(weft_set_info(a->ep, pathset, &info) != 0);
	CHECK(weft_live_topo(a) == NULL);
	weft_live_close(a);
	weft_live_close(b);
}

TEST(weft_live_peer_open__refuses_what_does_not_fit)
{
	struct weft_live *a = open_plain(), *b = open_plain();
	struct weft_live_end end;
	uint32_t peer, pathset;

	weft_live_end(b, &end);
	end.planes = 1;
	CHECK_EQ(weft_live_peer_open(a, &end, &peer, &pathset, error, sizeof(error)), -1);
	CHECK(strstr(error, "peer has 1 planes") != NULL);
	weft_live_end(b, &end);
	end.format = WEFT_UDP_USID;
	CHECK_EQ(weft_live_peer_open(a, &end, &peer, &pathset, error, sizeof(error)), -1);
	CHECK(strstr(error, "peer sends by uSIDs") != NULL);
	weft_live_end(b, &end);
	snprintf(end.fabric, sizeof(end.fabric), "elsewhere");
	CHECK_EQ(weft_live_peer_open(a, &end, &peer, &pathset, error, sizeof(error)), -1);
	CHECK(strstr(error, "elsewhere") != NULL);
	weft_live_close(a);
	weft_live_close(b);
}

TEST(weft_live_qp_defaults__takes_the_slower_end)
{
	struct weft_live *live = open_plain();
	struct weft_qp_attr attr = { .pd = 7 };

	weft_live_qp_defaults(live, 1000000000, &attr);
	CHECK_EQ(attr.pd, 7);
	CHECK_EQ(attr.cc_config.rate_bps, 1000000000);
	CHECK(attr.cc != NULL && attr.cc_config.max_cwnd_bytes >= 65536);
	CHECK_EQ(attr.timeout_exp, live->timeout_exp);
	weft_live_close(live);
}
