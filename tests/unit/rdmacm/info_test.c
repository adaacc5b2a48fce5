/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_verbs.h"

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
