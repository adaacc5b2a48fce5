/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

/* Sizes and offsets of NVIDIA/nccl's declarations on x86-64 and arm64, by hand. */
TEST(plugin__has_the_layouts_that_nccl_has)
{
	CHECK_EQ(sizeof(struct weft_nccl_properties_v8), 64);
	CHECK_EQ(offsetof(struct weft_nccl_properties_v8, latency_us), 40);
	CHECK_EQ(sizeof(struct weft_nccl_properties_v9), 104);
	CHECK_EQ(offsetof(struct weft_nccl_properties_v9, merged), 64);
	CHECK_EQ(offsetof(struct weft_nccl_properties_v9, p2p_bytes_max), 88);
	CHECK_EQ(sizeof(struct weft_nccl_properties_v11), 112);
	CHECK_EQ(offsetof(struct weft_nccl_properties_v11, multi_requests_max), 104);
	CHECK_EQ(offsetof(struct weft_nccl_properties_v12, p2p_bytes_max), 104);
	CHECK_EQ(offsetof(struct weft_nccl_properties_v12, rail), 124);
	CHECK_EQ(sizeof(struct weft_nccl_properties_v12), 128);
	CHECK_EQ(sizeof(struct weft_nccl_net_v8), 19 * sizeof(void *));
	CHECK_EQ(sizeof(struct weft_nccl_net_v9), 20 * sizeof(void *));
	CHECK_EQ(sizeof(struct weft_nccl_net_v10), 20 * sizeof(void *));
	CHECK_EQ(sizeof(struct weft_nccl_net_v11), 22 * sizeof(void *));
	CHECK_EQ(offsetof(struct weft_nccl_net_v8, isend), 10 * sizeof(void *));
	CHECK_EQ(offsetof(struct weft_nccl_net_v12, set_attr), 21 * sizeof(void *));
}

TEST(plugin__leaves_no_function_out)
{
	const void *const *tables[] = { (const void *const *)&ncclNetPlugin_v8,
		(const void *const *)&ncclNetPlugin_v9, (const void *const *)&ncclNetPlugin_v10,
		(const void *const *)&ncclNetPlugin_v11, (const void *const *)&ncclNetPlugin_v12 };
	static const unsigned n[] = { 19, 20, 20, 22, 22 };

	for (unsigned t = 0; t < 5; t++) {
		for (unsigned i = 0; i < n[t]; i++)
			CHECK(tables[t][i]);
	}
}

TEST(plugin__says_the_same_in_all_versions)
{
	struct weft_nccl_properties_v8 p8;
	struct weft_nccl_properties_v9 p9;
	struct weft_nccl_properties_v11 p11;
	struct weft_nccl_properties_v12 p12;
	void *ctx = NULL;
	int n = 0;

	ends_init();
	CHECK_EQ(ncclNetPlugin_v8.init(ends_log), 0);
	CHECK_EQ(ncclNetPlugin_v10.init(ends_log, NULL), 0);
	CHECK_EQ(ncclNetPlugin_v12.init(&ctx, 1, NULL, ends_log, NULL), 0);
	CHECK(ctx);
	CHECK_EQ(ncclNetPlugin_v9.devices(&n), 0);
	CHECK_EQ(n, 1);
	CHECK_EQ(ncclNetPlugin_v8.properties(0, &p8), 0);
	CHECK_EQ(ncclNetPlugin_v9.properties(0, &p9), 0);
	CHECK_EQ(ncclNetPlugin_v11.properties(0, &p11), 0);
	CHECK_EQ(ncclNetPlugin_v12.properties(0, &p12), 0);
	CHECK(p8.guid == p12.guid && p9.guid == p12.guid && p11.guid == p12.guid);
	CHECK(p8.recvs_max == 8 && p9.recvs_max == 8 && p11.recvs_max == 8);
	CHECK(p9.p2p_bytes_max == p12.p2p_bytes_max && p11.p2p_bytes_max == p12.p2p_bytes_max);
	CHECK(p9.merged.n == 1 && p11.merged.n == 1);
	CHECK(p8.ptr_support == p12.ptr_support && p9.ptr_support == p12.ptr_support);
	CHECK(weft_gpu_is_there() || p12.ptr_support == WEFT_NCCL_PTR_HOST);
	CHECK(ncclNetPlugin_v12.properties(1, &p12));
}

TEST(reg_mr__refuses_what_is_no_memory)
{
	static uint8_t data[100];
	struct ends e;
	void *mr = data;

	ends_open(&e);
	CHECK(ncclNetPlugin_v12.reg_mr(e.sender, data, 100, WEFT_NCCL_PTR_CUDA, &mr));
	CHECK(!mr);
	CHECK(weft_gpu_is_there() || strstr(ends_said, "no driver"));
	CHECK(ncclNetPlugin_v12.reg_mr(e.sender, data, 100, 8, &mr));
	CHECK(!mr);
	CHECK(ncclNetPlugin_v12.reg_mr(e.sender, (void *)64, 100, WEFT_NCCL_PTR_HOST, &mr));
	CHECK(!mr);
	CHECK(ncclNetPlugin_v12.reg_mr_dmabuf(
		e.sender, data, 100, WEFT_NCCL_PTR_DMABUF, 0, 3, &mr));
	ends_close(&e);
}

TEST(make_merged__makes_none_of_several)
{
	struct weft_nccl_merged_v12 one = { .n = 1 }, two = { .n = 2 };
	int dev = -1;

	CHECK_EQ(ncclNetPlugin_v12.make_merged(&dev, &one), 0);
	CHECK_EQ(dev, 0);
	CHECK(ncclNetPlugin_v12.make_merged(&dev, &two));
}
