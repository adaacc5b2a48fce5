/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RIG_H
#define RIG_H
/* rig - a network out of a fabric file's text, and frames by path; 100 Gb/s: a byte lasts 80 ps. */
#include "check.h"
#include "network_local.h"

/* 16 hosts, 4 per T0; two of the T0's four uplinks lead to each T1. */
static const char rig_fabric[] =
	"name: rig\nplanes: 2\nt0s: 4\nt1s: 2\nparallel_links: 2\nhosts: 16\n"
	"host_links: {speed: 100Gb/s, delay: 100ns}\n"
	"core_links: {speed: 100Gb/s, delay: 500ns}\n";

enum { RIG_FRAMES = 4096, RIG_SLOT = 4608, RIG_OFFSET = 64, RIG_BYTE_PS = 80 };

struct rig {
	struct weft_topo *topo;
	struct weft_topo_shape shape;
	struct weft_network *network;
	struct weft_network_config config;
	uint8_t *memory;
	struct weft_network_out outs[RIG_FRAMES]; /* by rig_take() */
	size_t n_outs;
};

static inline void rig_open(struct rig *rig, const char *text, bool is_bytes)
{
	char error[200] = "";

	*rig = (struct rig){ .topo = NULL };
	if (weft_topo_open_text(&rig->topo, text, strlen(text), "rig", error, sizeof(error)))
		CHECK_STR(error, "");
	REQUIRE(rig->topo);
	rig->shape = *weft_topo_shape(rig->topo);
	rig->memory = is_bytes ? calloc(RIG_FRAMES, RIG_SLOT) : NULL;
	rig->config = (struct weft_network_config){ .topo = rig->topo,
		.memory = rig->memory,
		.slot_bytes = RIG_SLOT,
		.slot_offset = RIG_OFFSET,
		.frames = RIG_FRAMES,
		.seed = 7 };
	if (weft_network_open(&rig->network, &rig->config, error, sizeof(error)))
		CHECK_STR(error, "");
	REQUIRE(rig->network);
}

static inline void rig_close(struct rig *rig)
{
	weft_network_check(rig->network);
	weft_network_close(rig->network);
	weft_topo_close(rig->topo);
	free(rig->memory);
}

static inline uint8_t *rig_ip(const struct rig *rig, uint64_t handle)
{
	return rig->memory + handle * RIG_SLOT + RIG_OFFSET;
}

/* An IPv6 packet of data from host src's address on plane to addr. */
static inline void rig_put_ip(struct rig *rig, uint64_t handle, uint32_t src, uint32_t plane,
	const uint8_t addr[16], uint32_t ip_bytes)
{
	uint8_t *ip = rig_ip(rig, handle);
	uint32_t tclass = WEFT_DSCP_DEFAULT.data << 2 | 2, length = ip_bytes - 40;
	uint8_t head[8] = { (uint8_t)(0x60 | tclass >> 4), (uint8_t)(tclass << 4), 0, 0,
		(uint8_t)(length >> 8), (uint8_t)length, 59, 64 };

	memcpy(ip, head, 8);
	weft_topo_host_addr(rig->topo, src, plane, ip + 8);
	memcpy(ip + 24, addr, 16);
}

/* A data frame from src to dst by path ev, in both forms. */
static inline bool rig_send(struct rig *rig, uint32_t src, uint32_t dst, uint32_t ev,
	uint64_t handle, uint32_t ip_bytes, uint64_t at_ps)
{
	struct weft_frame frame = { .handle = handle,
		.flow = ev,
		.hop_limit = 64,
		.flags = WEFT_FRAME_ECT | WEFT_FRAME_TRIMMABLE };
	uint8_t addr[16];

	REQUIRE(weft_topo_usid(rig->topo, src, dst, ev, addr));
	for (unsigned i = 4; i < 12; i++)
		frame.route = frame.route << 8 | addr[i];
	if (rig->memory)
		rig_put_ip(rig, handle, src, weft_ev_plane(ev), addr, ip_bytes);
	return weft_network_send(rig->network, src, weft_ev_plane(ev), &frame, ip_bytes, at_ps);
}

/* Runs until then and adds what came back; returns how much did. */
static inline size_t rig_run(struct rig *rig, uint64_t now_ps)
{
	weft_network_run(rig->network, now_ps);
	size_t n =
		weft_network_take(rig->network, rig->outs + rig->n_outs, RIG_FRAMES - rig->n_outs);

	rig->n_outs += n;
	return n;
}

/* Of that much on the line, gap included. */
static inline uint64_t rig_line_ps(uint32_t ip_bytes)
{
	return (uint64_t)(ip_bytes + WEFT_FRAME_ETHER_BYTES + WEFT_FRAME_GAP_BYTES) * RIG_BYTE_PS;
}

#endif
