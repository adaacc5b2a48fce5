/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H
/*
 * fake_verbs - what most tests begin with: two ids of one process connect over the loopback
 * interface, events and all, by verbs that move nothing (fake_objects.h).
 */
#include "check.h"
#include "fake_objects.h"
#include "rdmacm_local.h"

#include <poll.h>
#include <unistd.h>

/* ---- what most tests begin with ---- */

/* The next event of this kind, within half a minute; acknowledged by the caller. */
static inline struct rdma_cm_event *want(
	struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct pollfd ready = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event = NULL;

	REQUIRE(poll(&ready, 1, 30000) == 1);
	REQUIRE(!rdma_get_cm_event(channel, &event));
	CHECK_STR(rdma_event_str(event->event), rdma_event_str(type));
	return event;
}

struct pair {
	struct rdma_event_channel *server, *client;
	struct rdma_cm_id *listener, *passive, *active;
};

static inline void resolve(struct rdma_cm_id *id, uint16_t port)
{
	struct sockaddr_in to = loopback(port);

	REQUIRE(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	rdma_ack_cm_event(want(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED));
	REQUIRE(!rdma_resolve_route(id, 1000));
	rdma_ack_cm_event(want(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

static inline void make_qp(struct rdma_cm_id *id, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .qp_type = type };

	REQUIRE(!rdma_create_qp(id, NULL, &init));
}

/* Up to the request; passive has been asked. */
static inline struct pair ask(enum rdma_port_space ps, const char *words, bool with_qps)
{
	enum ibv_qp_type type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	struct rdma_conn_param param = { .private_data = words,
		.private_data_len = (uint8_t)strlen(words),
		.initiator_depth = 3,
		.responder_resources = 5,
		.retry_count = 6,
		.qp_num = 77 };
	struct pair p = { .server = rdma_create_event_channel(),
		.client = rdma_create_event_channel() };
	struct sockaddr_in any = loopback(0);

	REQUIRE(!rdma_create_id(p.server, &p.listener, NULL, ps));
	REQUIRE(!rdma_bind_addr(p.listener, (struct sockaddr *)&any));
	REQUIRE(!rdma_listen(p.listener, 4));
	REQUIRE(!rdma_create_id(p.client, &p.active, NULL, ps));
	resolve(p.active, ntohs(rdma_get_src_port(p.listener)));
	if (with_qps)
		make_qp(p.active, type);
	REQUIRE(!rdma_connect(p.active, &param));
	struct rdma_cm_event *event = want(p.server, RDMA_CM_EVENT_CONNECT_REQUEST);
	p.passive = event->id;
	CHECK(event->listen_id == p.listener);
	rdma_ack_cm_event(event);
	if (with_qps)
		make_qp(p.passive, type);
	return p;
}

static inline void end(struct pair *p)
{
	struct rdma_cm_id *ids[] = { p->active, p->passive, p->listener };

	for (int i = 0; i < 3; i++) {
		if (!ids[i])
			continue;
		rdma_destroy_qp(ids[i]);
		CHECK(!rdma_destroy_id(ids[i]));
	}
	rdma_destroy_event_channel(p->server);
	rdma_destroy_event_channel(p->client);
}

#endif
