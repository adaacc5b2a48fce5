/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_ops - a whole fabric under any bytes, any faults, at any time.
 *
 * The input is a row of operations: a host sends what the input says (as it is, or over a packet
 * that would be led somewhere), time passes, things break and are mended.  What must hold: each
 * frame comes back exactly once, from a switch that could have had it or at a host that it was
 * for, on the plane where it set out; nothing is written outside of a packet; the network adds up.
 */
#include <weft/base.h>
#include <weft/network.h>

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 48, SLOT = 1472, OFFSET = 64, ROOM = SLOT - OFFSET, OPS_MAX = 600, FILL = 0xa5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define SHAPE                                                                                      \
	"name: f\nplanes: 2\nt0s: 3\nt1s: 2\nparallel_links: 2\nhosts: 6\nmtu: 1300\n"             \
	"core_links: {speed: 100Gb/s, delay: 100ns}\noverrides:\n"                                 \
	"- {link: \"p0.t0-1:t1-0\", cabled: false}\n- {link: h5.p1, speed: 1Gb/s, delay: 5us}\n"

static const char *const fabrics[] = {
	SHAPE "switch: {trim: 3KB, trim_last_hop: 2KB}\n",
	SHAPE "usid: {behavior: uA}\n",
	SHAPE "switch: {full: pause}\n",
	SHAPE "switch: {full: drop, queue: 10KB}\n",
	"name: one\nplanes: 1\nt0s: 1\nhosts: 3\nmtu: 1280\n",
};

struct input {
	const uint8_t *at, *end;
};

struct slot {
	uint32_t sent_bytes, plane;
	bool is_inside;
};

struct fabric {
	struct weft_topo *topo;
	const struct weft_topo_shape *shape;
	struct weft_network *network;
	uint8_t *memory;
	struct slot slots[SLOTS];
	uint64_t now_ps, returned;
	bool is_ua;
};

static uint8_t get(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint32_t get_below(struct input *in, uint32_t n)
{
	return ((uint32_t)get(in) << 8 | get(in)) % n;
}

static uint8_t *slot_at(const struct fabric *f, uint64_t handle)
{
	return f->memory + handle * SLOT;
}

/* ---- out ---- */

/* A host is sent what names it, unless links are named instead of nodes. */
static void check_arrival(const struct fabric *f, const struct weft_network_out *out)
{
	const uint8_t *ip = slot_at(f, out->frame.handle) + OFFSET;
	uint32_t bytes = (uint32_t)out->frame.bytes - WEFT_FRAME_ETHER_BYTES;
	uint8_t usid[16], addr[16];

	WEFT_ASSERT(out->node < f->shape->hosts);
	WEFT_ASSERT(ip[0] >> 4 == 6 && 40u + ((uint32_t)ip[4] << 8 | ip[5]) == bytes);
	WEFT_ASSERT(ip[7] == out->frame.hop_limit);
	weft_topo_host_usid(f->topo, out->node, out->plane, usid);
	weft_topo_host_addr(f->topo, out->node, out->plane, addr);
	WEFT_ASSERT(f->is_ua || !memcmp(ip + 24, usid, 6) || !memcmp(ip + 24, addr, 16));
}

static void check_out(struct fabric *f, const struct weft_network_out *out)
{
	uint64_t handle = out->frame.handle;

	WEFT_ASSERT(handle < SLOTS && f->slots[handle].is_inside);
	const struct slot *slot = &f->slots[handle];
	const uint8_t *at = slot_at(f, handle);

	f->slots[handle].is_inside = false;
	f->returned++;
	WEFT_ASSERT(out->drop < WEFT_SWITCH_DROP_COUNT && out->node < f->shape->nodes);
	WEFT_ASSERT(out->plane == slot->plane && out->at_ps <= f->now_ps);
	WEFT_ASSERT(out->frame.bytes <= slot->sent_bytes + WEFT_FRAME_ETHER_BYTES);
	if (out->node >= f->shape->hosts)
		WEFT_ASSERT(out->drop && weft_topo_node(f->topo, out->node).plane == slot->plane);
	else if (!out->drop)
		check_arrival(f, out);
	for (uint32_t i = 0; i < OFFSET; i++)
		WEFT_ASSERT(at[i] == FILL);
	for (uint32_t i = OFFSET + slot->sent_bytes; i < SLOT; i++)
		WEFT_ASSERT(at[i] == FILL);
}

static void take(struct fabric *f)
{
	struct weft_network_out outs[7];
	size_t n;

	while ((n = weft_network_take(f->network, outs, WEFT_COUNT(outs))))
		for (size_t i = 0; i < n; i++)
			check_out(f, &outs[i]);
}

static void run(struct fabric *f, uint64_t ps)
{
	f->now_ps += ps;
	weft_network_run(f->network, f->now_ps);
}

/* ---- in ---- */

/* A packet that some path would take, with what the input wants changed. */
static void lead(struct fabric *f, struct input *in, uint8_t *ip, uint32_t bytes, uint32_t src)
{
	uint32_t hosts = f->shape->hosts, dst = get_below(in, hosts), evs[16];
	uint8_t how = get(in), addr[16] = { 0 };
	size_t n = src == dst ? 0 : weft_topo_evs(f->topo, src, dst, how, evs, WEFT_COUNT(evs));

	if (n && how & 1)
		WEFT_ASSERT(weft_topo_usid(f->topo, src, dst, evs[how % n], addr));
	else
		weft_topo_host_addr(f->topo, dst, get(in) % f->shape->planes, addr);
	memset(ip, 0, WEFT_MIN(bytes, 64u));
	if (bytes < 40)
		return;
	ip[0] = 0x60 | (uint8_t)(how & 4 ? 2 : 0); /* DSCP 8: trimmable */
	ip[1] = 0x20;
	ip[4] = (uint8_t)((bytes - 40) >> 8);
	ip[5] = (uint8_t)(bytes - 40);
	ip[6] = how & 8 ? 43 : 59;
	ip[7] = (uint8_t)(how & 16 ? 255 : 8);
	memcpy(ip + 24, addr, 16);
	for (uint32_t changes = how >> 5; changes; changes--)
		ip[get_below(in, WEFT_MIN(bytes, 120u))] = get(in);
}

static void send(struct fabric *f, struct input *in, bool is_led)
{
	uint32_t handle = 0, src = get_below(in, f->shape->hosts);
	uint32_t plane = get(in) % f->shape->planes, length = get_below(in, 2 * (ROOM + 1));
	/* Half of them shorter than what any reader wants to see. */
	uint32_t bytes = length <= ROOM ? length : length % 48;
	struct weft_frame frame = { .in_port = get(in), .flags = 0xff, .mark = 0xff };

	while (handle < SLOTS && f->slots[handle].is_inside)
		handle++;
	frame.handle = handle;
	if (handle < SLOTS) {
		uint8_t *at = slot_at(f, handle);

		memset(at, FILL, SLOT);
		if (is_led)
			lead(f, in, at + OFFSET, bytes, src);
		else
			for (uint32_t i = 0; i < bytes && in->at < in->end; i++)
				at[OFFSET + i] = get(in);
	}
	uint64_t at_ps = f->now_ps + (get(in) & 1 ? get_below(in, 1000) * UINT64_C(10000) : 0);
	bool has_sent = weft_network_send(f->network, src, plane, &frame, bytes, at_ps);

	WEFT_ASSERT(has_sent == (handle < SLOTS));
	if (has_sent)
		f->slots[handle] = (struct slot){ bytes, plane, true };
}

static void break_link(struct fabric *f, struct input *in)
{
	uint32_t link = get_below(in, f->shape->links);
	uint8_t what = get(in);
	unsigned way = what >> 6;

	switch (what % 6) {
	case 0:
		weft_network_link_mark(f->network, link, what & 32, f->now_ps);
		return;
	case 1:
		weft_network_link_rate(f->network, link, UINT64_C(1000000) << what % 20);
		return;
	case 2:
		weft_network_link_rate(f->network, link, 0);
		return;
	case 3:
		weft_network_link_loss(f->network, link, way, get_below(in, 3) * 500000);
		return;
	case 4:
		weft_network_link_spoil(f->network, link, way, get_below(in, 3) * 500000);
		return;
	default:
		weft_network_link_hole(f->network, link, way, what & 32);
	}
}

static void break_node(struct fabric *f, struct input *in)
{
	const struct weft_topo_shape *s = f->shape;
	uint32_t node = s->hosts + get_below(in, s->nodes - s->hosts);
	uint8_t what = get(in);

	if (what & 1)
		weft_network_freeze(f->network, node, what & 4, f->now_ps);
	else if (what & 2)
		weft_network_power(f->network, node, what & 4, f->now_ps);
	else
		weft_network_path_loss(f->network, what % s->hosts, get_below(in, s->hosts),
			weft_ev(what >> 7, get(in) % 4), get_below(in, 3) * 500000);
}

static void operate(struct fabric *f, struct input *in)
{
	uint8_t op = get(in);

	switch (op % 8) {
	case 0:
		send(f, in, false);
		return;
	case 1:
	case 2:
	case 3:
		send(f, in, true);
		return;
	case 4:
		run(f, get_below(in, 2000) * UINT64_C(1000));
		return;
	case 5:
		run(f, get(in) * UINT64_C(10000000));
		take(f);
		return;
	case 6:
		break_link(f, in);
		break;
	default:
		break_node(f, in);
	}
	weft_network_check(f->network);
}

/* ---- all ---- */

static void mend(struct fabric *f)
{
	const struct weft_topo_shape *s = f->shape;

	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		weft_network_power(f->network, node, true, f->now_ps);
		weft_network_freeze(f->network, node, false, f->now_ps);
	}
	for (uint32_t link = 0; link < s->links; link++) {
		weft_network_link_mark(f->network, link, true, f->now_ps);
		WEFT_ASSERT(weft_network_link_is_up(f->network, link) ==
			    weft_topo_link(f->topo, link).cabled);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct input in = { data, data + len_bytes };
	const char *text = fabrics[get(&in) % WEFT_COUNT(fabrics)];
	struct fabric f = { .memory = malloc((size_t)SLOTS * SLOT) };
	char error[200];

	WEFT_ASSERT(f.memory);
	WEFT_ASSERT(!weft_topo_open_text(&f.topo, text, strlen(text), "-", error, sizeof(error)));
	f.shape = weft_topo_shape(f.topo);
	f.is_ua = f.shape->behavior == WEFT_USID_UA;
	struct weft_network_config config = { .topo = f.topo,
		.memory = f.memory,
		.slot_bytes = SLOT,
		.slot_offset = OFFSET,
		.frames = SLOTS };

	WEFT_ASSERT(!weft_network_open(&f.network, &config, error, sizeof(error)));
	for (unsigned i = 0; i < OPS_MAX && in.at < in.end; i++)
		operate(&f, &in);
	mend(&f);
	run(&f, UINT64_C(60000000000000)); /* at 1 Mb/s, all of it over one link, and again */
	take(&f);
	weft_network_check(f.network);
	WEFT_ASSERT(weft_network_next_ps(f.network) == WEFT_NEVER);
	WEFT_ASSERT(weft_network_stats(f.network)->sent == f.returned);
	for (unsigned i = 0; i < SLOTS; i++)
		WEFT_ASSERT(!f.slots[i].is_inside);
	weft_network_close(f.network);
	weft_topo_close(f.topo);
	free(f.memory);
	return 0;
}
