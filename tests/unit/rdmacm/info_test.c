/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"
#include "rdmacm_newer.h"

TEST(rdma_getaddrinfo__takes_names_and_hints)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *info;
	struct sockaddr_in to = loopback(5);

	CHECK_EQ(rdma_getaddrinfo(NULL, NULL, NULL, &info), -1);
	REQUIRE(!rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info));
	CHECK_EQ(((struct sockaddr_in *)info->ai_src_addr)->sin_port, htons(7471));
	CHECK(!info->ai_dst_addr);
	CHECK_EQ(info->ai_qp_type, IBV_QPT_UD);
	rdma_freeaddrinfo(info);
	hints = (struct rdma_addrinfo){ .ai_dst_addr = (struct sockaddr *)&to,
		.ai_dst_len = sizeof(to) };
	REQUIRE(!rdma_getaddrinfo(NULL, NULL, &hints, &info));
	CHECK_EQ(((struct sockaddr_in *)info->ai_dst_addr)->sin_port, htons(5));
	CHECK_EQ(info->ai_port_space, RDMA_PS_TCP);
	rdma_freeaddrinfo(info);
}

TEST(rdma_resolve_addrinfo__tells_by_an_event)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info = NULL;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(rdma_query_addrinfo(id, &info) == -1 && errno == ENODATA);
	for (int i = 0; i < 2; i++) { /* the second takes the place of the first */
		REQUIRE(!rdma_resolve_addrinfo(id, "127.0.0.1", i ? "7472" : "7471", NULL));
		REQUIRE(!rdma_get_cm_event(channel, &event));
		CHECK_STR(rdma_event_str(event->event), "RDMA_CM_EVENT_ADDRINFO_RESOLVED");
		CHECK(event->id == id && event->status == 0);
		CHECK(!rdma_ack_cm_event(event));
	}
	REQUIRE(!rdma_query_addrinfo(id, &info));
	CHECK_EQ(((struct sockaddr_in *)info->ai_dst_addr)->sin_port, htons(7472));
	rdma_freeaddrinfo(info);
	CHECK(rdma_query_addrinfo(id, &info) == -1 && errno == ENODATA);
	REQUIRE(!rdma_resolve_addrinfo(id, "nobody", "1", &hints));
	REQUIRE(!rdma_get_cm_event(channel, &event));
	CHECK_STR(rdma_event_str(event->event), "RDMA_CM_EVENT_ADDRINFO_ERROR");
	CHECK_EQ(event->status, -ENOENT);
	CHECK(!rdma_ack_cm_event(event));
	REQUIRE(!rdma_resolve_addrinfo(id, "127.0.0.1", "1", NULL)); /* goes with the id */
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(rdma_resolve_addrinfo__asks_no_subnet)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_cm_id *id;

	REQUIRE(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	CHECK(rdma_resolve_addrinfo(id, NULL, "1", &hints) == -1 && errno == EOPNOTSUPP);
	hints.ai_flags |= RAI_DNS;
	CHECK(rdma_resolve_addrinfo(id, "127.0.0.1", "1", &hints) == -1 && errno == EINVAL);
	CHECK(rdma_resolve_addrinfo(id, NULL, NULL, NULL) == -1 && errno == EINVAL);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

struct serving {
	struct rdma_cm_id *listener;
	int result;
};

static void *serve(void *arg)
{
	struct serving *s = arg;
	struct rdma_cm_id *id = NULL;

	s->result = rdma_get_request(s->listener, &id);
	if (!s->result)
		s->result = rdma_accept(id, NULL);
	if (id)
		rdma_destroy_ep(id);
	return NULL;
}

TEST(rdma_create_ep__waits_in_its_calls)
{
	struct ibv_qp_init_attr init = { 0 }; /* the kind is the address's business */
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE }, *info;
	struct serving serving = { 0 };
	struct rdma_cm_id *id;
	pthread_t thread;
	char port[8];

	REQUIRE(!rdma_getaddrinfo("127.0.0.1", "0", &hints, &info));
	REQUIRE(!rdma_create_ep(&serving.listener, info, NULL, &init));
	rdma_freeaddrinfo(info);
	REQUIRE(!rdma_listen(serving.listener, 1));
	snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(serving.listener)));
	REQUIRE(!pthread_create(&thread, NULL, serve, &serving));
	REQUIRE(!rdma_getaddrinfo("127.0.0.1", port, NULL, &info));
	REQUIRE(!rdma_create_ep(&id, info, NULL, &init));
	rdma_freeaddrinfo(info);
	CHECK(!rdma_connect(id, NULL));
	CHECK_EQ(id->qp->state, IBV_QPS_RTS);
	pthread_join(thread, NULL);
	CHECK_EQ(serving.result, 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(serving.listener);
}
