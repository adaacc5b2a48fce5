/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outsider - written from docs/embed.md and the installed headers alone, by somebody who had seen
 * nothing else of Weft: two hosts, two planes, a switch per plane; packets as bytes, virtual time.
 * outsider.cc is the same with packets as structs, in C++.  Built by tests/unit/install.sh.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/nic_mrc.h>
#include <weft/version.h>

#include "outsider.h"

enum { PLANES = 2, HOSTS = 2, PAYLOAD = 4096, SLOT = 9216, SLOTS = 4096, MSGS = 128, EVS = 8 };
enum { CABLE_PS = 500000, BASE_RTT_NS = 6000, DST_SID = 0x100 };
#define MIB (1u << 20)
#define BLOCK 0xfcbb0000u
#define VA(h) (UINT64_C(0x70000000) + (uint64_t)(h)*0x10000000u)

/* ---- events ---- */

enum what { TO_SWITCH, TO_HOST, TAKE, WAKE };
struct event {
	uint64_t at, seq;
	enum what what;
	uint32_t plane, host, slot, bytes;
};
static struct event *heap;
static size_t heap_n, heap_room;
static uint64_t heap_seq;

static int before(const struct event *a, const struct event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->what != b->what)
		return a->what < b->what;
	return a->seq < b->seq;
}

static void push(
	uint64_t at, enum what what, uint32_t plane, uint32_t host, uint32_t slot, uint32_t bytes)
{
	struct event e = { at, heap_seq++, what, plane, host, slot, bytes };
	size_t i = heap_n++;

	if (heap_n > heap_room) {
		heap_room = heap_room ? 2 * heap_room : 1024;
		heap = realloc(heap, heap_room * sizeof(*heap));
		if (!heap)
			die("out of memory", 0);
	}
	for (; i && before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

static struct event pop(void)
{
	struct event top = heap[0], e = heap[--heap_n];
	size_t i = 0;

	for (;;) {
		size_t c = 2 * i + 1;
		if (c + 1 < heap_n && before(&heap[c + 1], &heap[c]))
			c++;
		if (c >= heap_n || before(&e, &heap[c]))
			break;
		heap[i] = heap[c];
		i = c;
	}
	heap[i] = e;
	return top;
}

/* ---- the world ---- */

struct msg {
	uint32_t at, len, imm;
	bool has_imm;
};
struct host {
	void *block;
	struct weft_endpoint *ep;
	struct weft_qp *qp;
	struct weft_nic nic;
	uint64_t free_ps[PLANES], wake_ps;
	uint8_t *out, *in;
	uint32_t out_bytes, in_bytes, rkey, set;
	uint32_t msgs, writes, imms, imms_wanted, imm_xor;
	struct msg msg[MSGS];
	int done[MSGS];
	uint8_t addr[PLANES][16]; /* inner address, one per plane */
};
struct sw {
	void *block;
	struct weft_switch *sw;
	uint64_t next_ps[HOSTS];
};

static struct host host[HOSTS];
static struct sw sw[PLANES];
static uint64_t now, in_bps, out_bps;
static struct dice dice;
static uint8_t *slots;
static uint32_t spare[SLOTS], spare_n;
static struct weft_frame pool_frames[SLOTS];
static struct weft_frame_pool pool;
static struct weft_port_profile profile;
static const struct weft_dscp dscp = { 8, 8, 46, 16, 18, 0 };
static uint64_t lost, flipped, cut, sw_drops[WEFT_SWITCH_DROP_COUNT];
static uint64_t bad_parse, bad_icrc, bad_decode, bad_peer, bad_dst, rx_cut;

static void free_slot(uint32_t slot)
{
	spare[spare_n++] = slot;
}

static uint64_t line_ps(uint32_t ip_bytes, uint64_t bps)
{
	return (uint64_t)(ip_bytes + WEFT_FRAME_ETHER_BYTES + WEFT_FRAME_GAP_BYTES) * 8 * 1000 *
	       1000000000 / bps;
}

static void open_switches(uint32_t trim_bytes, uint64_t seed)
{
	weft_port_profile_fill(&profile, WEFT_DISCIPLINE_TRIM, true,
		(uint32_t)(out_bps / 8 * BASE_RTT_NS / 1000000000), 0);
	if (trim_bytes) {
		profile.trim_bytes = trim_bytes;
		profile.ecn_min_bytes = profile.ecn_max_bytes = 0;
	}
	weft_frame_pool_init(&pool, pool_frames, SLOTS);
	for (uint32_t p = 0; p < PLANES; p++) {
		struct weft_switch_config c = {
			.ports = HOSTS,
			.sids = 16,
			.block = BLOCK + p,
			.mtu_bytes = 9000,
			.seed = seed + p,
			.dscp = dscp,
			.profiles = &profile,
			.n_profiles = 1,
			.pool = &pool,
		};
		size_t n = weft_switch_size(&c);

		if (!n)
			die("switch is impossible", 0);
		sw[p].block = block64(n);
		if (!weft_switch_init(&sw[p].sw, sw[p].block, &c))
			die("switch_init", 0);
		for (uint32_t h = 0; h < HOSTS; h++) {
			struct weft_hop hop = { .kind = WEFT_HOP_PORT, .port = (uint16_t)h };

			sw[p].next_ps[h] = WEFT_NEVER;
			if (!weft_switch_port_set(sw[p].sw, h, out_bps, 0) ||
				!weft_switch_sid_add(sw[p].sw, (uint16_t)(DST_SID + h), &hop))
				die("switch port or sid", (long)h);
		}
	}
}

static void ok(int rc, const char *what)
{
	if (rc)
		die(what, rc);
}

static void open_engine(uint32_t h, uint64_t seed)
{
	struct host *me = &host[h];
	struct weft_config c;
	size_t n;

	weft_config_default(&c);
	c.ports = PLANES;
	c.qps = 4;
	c.cqs = 1;
	c.regions = 4;
	c.pathsets = 1;
	c.paths_per_set = 16;
	c.mtu_bytes = PAYLOAD;
	c.base_rtt_ns = BASE_RTT_NS;
	c.seed = seed * 1000 + h;
	n = weft_endpoint_size(&c);
	if (!n) {
		fprintf(stderr, "outsider: %s\n", weft_config_fault(&c));
		exit(1);
	}
	memset(me, 0, sizeof(*me));
	me->wake_ps = WEFT_NEVER;
	me->block = block64(n);
	ok(weft_endpoint_init(&me->ep, me->block, &c), "endpoint_init");
}

static void open_memory(uint32_t h, struct dice *d)
{
	struct host *me = &host[h];

	me->out_bytes = h ? MIB : 4 * MIB;
	me->in_bytes = h ? 4 * MIB : MIB;
	me->out = block64(me->out_bytes);
	me->in = block64(me->in_bytes);
	memset(me->in, 0xee, me->in_bytes);
	for (uint32_t i = 0; i < me->out_bytes; i++)
		me->out[i] = (uint8_t)roll(d);
	ok(weft_region_add(me->ep, VA(h), me->in, me->in_bytes, 7, WEFT_ACCESS_REMOTE_WRITE,
		   (uint32_t)roll(d), &me->rkey),
		"region_add");
}

static void open_hosts(uint64_t seed)
{
	struct weft_qp_attr attr[HOSTS];
	uint32_t qpn[HOSTS];

	for (uint32_t h = 0; h < HOSTS; h++) {
		struct host *me = &host[h];
		struct dice d = { seed ^ (0x1234u + h) };
		struct weft_pathset_attr pa = { .peer = 1 - h, .n = EVS };
		struct weft_qp_info info;
		uint32_t evs[EVS];
		uint8_t ports[EVS];

		open_engine(h, seed);
		me->nic = (struct weft_nic){ .transport = &weft_transport_mrc,
			.state = me->ep,
			.free_ps = me->free_ps,
			.planes = PLANES };
		open_memory(h, &d);
		for (uint32_t i = 0; i < EVS; i++) {
			ports[i] = (uint8_t)(i % PLANES);
			evs[i] = (uint32_t)ports[i] << 16 | i / PLANES;
		}
		pa.evs = evs;
		pa.ports = ports;
		ok(weft_pathset_open(me->ep, &pa, &me->set), "pathset_open");
		for (uint32_t p = 0; p < PLANES; p++) {
			const uint8_t a[16] = { 0xfd, 0, 0, (uint8_t)p, [15] = (uint8_t)(1 + h) };
			memcpy(me->addr[p], a, 16);
		}
		attr[h] = (struct weft_qp_attr){ .pd = 7,
			.user = 42 + h,
			.cc = &weft_cc_nscc,
			.cc_config = { .rate_bps = PLANES * in_bps,
				.mtu_bytes = weft_nominal_bytes(PAYLOAD),
				.base_rtt_ns = BASE_RTT_NS,
				.trimming = true } };
		ok(weft_qp_open(me->ep, &attr[h], &me->qp), "qp_open");
		weft_qp_info(me->qp, &info);
		qpn[h] = info.qpn;
	}
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct host *me = &host[h];
		struct weft_qp_attr *a = &attr[h];

		a->peer = 1 - h;
		a->peer_qpn = qpn[1 - h];
		a->pathset = me->set;
		a->psn_rx = 1000 + (1 - h);
		a->mpr_rx_psns = a->mpr_tx_psns = 1024;
		a->wimm_rx = a->wimm_tx = 64;
		a->trim_nack_rx = true;
		a->psn_tx = 1000 + h;
		a->timeout_exp = 6;
		a->retry_count = 10;
		ok(weft_qp_move(me->qp, WEFT_QP_RTR, a, now / 1000), "to RTR");
		ok(weft_qp_move(me->qp, WEFT_QP_RTS, a, now / 1000), "to RTS");
	}
}

static void post(void)
{
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct host *me = &host[h], *peer = &host[1 - h];

		for (uint32_t at = 0; at < me->out_bytes; at += me->msg[me->msgs++].len) {
			uint32_t left = me->out_bytes - at,
				 len = 1 + (uint32_t)(roll(&dice) % 300000);
			struct msg m = { at, len < left ? len : left, (uint32_t)roll(&dice),
				me->msgs % 3 == 1 };

			if (me->msgs == MSGS)
				die("too many messages", MSGS);
			me->msg[me->msgs] = m;
			peer->imms_wanted += m.has_imm;
		}
	}
	for (uint32_t h = 0; h < HOSTS; h++) {
		struct host *me = &host[h], *peer = &host[1 - h];

		for (uint32_t i = 0; i < me->imms_wanted; i++)
			ok(weft_post_recv(me->qp, 1000 + i), "post_recv");
		for (uint32_t i = 0; i < me->msgs; i++) {
			const struct msg *m = &me->msg[i];
			struct weft_work w = { .id = i,
				.remote_va = VA(1 - h) + m->at,
				.data = me->out + m->at,
				.len_bytes = m->len,
				.rkey = peer->rkey,
				.imm = m->imm,
				.has_imm = m->has_imm };

			if (m->has_imm)
				peer->imm_xor ^= m->imm;
			ok(weft_post_write(me->qp, &w), "post_write");
		}
	}
}

/* A packet as the bytes of an IP packet, at to; returns how many. */
static uint32_t put(const struct weft_pkt *pkt, uint32_t from, uint8_t *to)
{
	struct weft_encap e = { .kind = WEFT_ENCAP_SRV6, .hop_limit = 64 };
	struct weft_flow flow;
	uint32_t payload = weft_wire_payload_bytes(pkt), block = BLOCK + pkt->port;
	uint32_t sid = DST_SID + pkt->peer;
	uint8_t *at = to, *headers;
	size_t n;

	memcpy(e.flow.src, host[from].addr[pkt->port], 16);
	memcpy(e.flow.dst, host[pkt->peer].addr[pkt->port], 16);
	e.flow.dst_port = WEFT_UDP_PORT;
	memcpy(e.via_src, host[from].addr[pkt->port], 16);
	for (int i = 0; i < 4; i++)
		e.via[i] = (uint8_t)(block >> (24 - 8 * i));
	e.via[4] = (uint8_t)(sid >> 8);
	e.via[5] = (uint8_t)sid;
	weft_encap_flow(&e, pkt->ev, &flow);
	at += weft_encap_put(&e, &dscp, pkt->tclass, pkt->ev, weft_wire_bytes(pkt), at);
	headers = at;
	n = weft_wire_encode(pkt, headers);
	at += n;
	if (payload)
		memcpy(at, pkt->w.data, payload);
	at += payload;
	at += weft_icrc_seal(crc32_of, &flow, headers, n, pkt->w.data, payload, at);
	if ((size_t)(at - headers) != weft_wire_bytes(pkt))
		die("size of a datagram", (long)(at - headers));
	return (uint32_t)(at - to);
}

/* The bytes that came in by a plane as a packet; false: not for us, or broken. */
static bool get(
	const uint8_t *ip, uint32_t bytes, uint32_t me, uint32_t plane, struct weft_pkt *pkt)
{
	struct weft_arrival in;
	struct weft_wire_fault fault;

	if (!weft_encap_parse(ip, bytes, WEFT_ENCAP_STEV, &dscp, &in, &fault))
		return bad_parse++, false;
	if (in.mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))
		rx_cut++;
	else if (!weft_icrc_check(crc32_of, &in.flow, in.datagram, in.datagram_bytes))
		return bad_icrc++, false;
	if (!weft_wire_decode(in.datagram, in.datagram_bytes, in.mark, pkt, &fault))
		return bad_decode++, false;
	if (memcmp(in.flow.src, host[1 - me].addr[plane], 16) != 0)
		return bad_peer++, false;
	if (memcmp(in.flow.dst, host[me].addr[plane], 16) != 0)
		return bad_dst++, false;
	pkt->peer = 1 - me;
	pkt->ev = in.ev;
	pkt->port = (uint8_t)plane;
	pkt->tclass = 0; /* nobody tells what it was */
	return true;
}

static void visit(uint32_t h)
{
	struct host *me = &host[h];
	struct weft_pkt pkt;
	struct weft_done d;
	uint64_t next;

	while (weft_nic_output(&me->nic, &pkt, now)) {
		uint32_t slot, bytes;
		uint64_t end;

		if (!spare_n)
			die("out of slots", SLOTS);
		slot = spare[--spare_n];
		bytes = put(&pkt, h, slots + (size_t)slot * SLOT);
		end = now + line_ps(bytes, in_bps);
		me->free_ps[pkt.port] = end;
		if (roll(&dice) % 100 == 0) {
			uint64_t bit = roll(&dice) % (bytes * 8);
			slots[(size_t)slot * SLOT + bit / 8] ^= (uint8_t)(1u << bit % 8);
			flipped++;
		}
		push(end + CABLE_PS, TO_SWITCH, pkt.port, h, slot, bytes);
	}
	while (weft_poll(me->ep, 0, &d, 1)) {
		if (d.status != WEFT_OK)
			die(weft_status_name(d.status), d.kind);
		if (d.kind == WEFT_DONE_WRITE) {
			me->writes++;
			me->done[d.id]++;
		} else {
			me->imms++;
			me->imm_xor ^= d.imm;
		}
	}
	next = weft_nic_next_ps(&me->nic, now);
	if (next != WEFT_NEVER && next != me->wake_ps) {
		me->wake_ps = next;
		push(next, WAKE, 0, h, 0, 0);
	}
}

static void drain(uint32_t plane)
{
	struct weft_departure d;

	for (uint32_t port = 0; port < HOSTS; port++) {
		while (weft_switch_take(sw[plane].sw, port, now, &d)) {
			if (d.drop != WEFT_SWITCH_DROP_NONE) {
				sw_drops[d.drop]++;
				free_slot((uint32_t)d.frame.handle);
				continue;
			}
			cut += !!(d.frame.flags & WEFT_FRAME_CUT_HERE);
			if (roll(&dice) % 100 == 0) {
				lost++;
				free_slot((uint32_t)d.frame.handle);
				continue;
			}
			push(d.ends_ps + CABLE_PS, TO_HOST, plane, port, (uint32_t)d.frame.handle,
				d.frame.bytes - WEFT_FRAME_ETHER_BYTES);
		}
	}
}

static void step(const struct event *e)
{
	uint8_t *ip = slots + (size_t)e->slot * SLOT;

	switch (e->what) {
	case TO_SWITCH: {
		struct weft_frame f = { .handle = e->slot, .in_port = (uint16_t)e->host };
		enum weft_switch_drop drop;
		uint32_t port;

		drain(e->plane);
		drop = weft_switch_input_bytes(sw[e->plane].sw, &f, ip, e->bytes, now, &port);
		if (drop) {
			sw_drops[drop]++;
			free_slot(e->slot);
		}
	}
	/* fall through */
	case TAKE:
		drain(e->plane);
		for (uint32_t port = 0; port < HOSTS; port++) {
			uint64_t next = weft_switch_port_next(sw[e->plane].sw, port);

			if (next != sw[e->plane].next_ps[port] && next != WEFT_NEVER)
				push(next < now ? now : next, TAKE, e->plane, port, 0, 0);
			sw[e->plane].next_ps[port] = next;
		}
		break;
	case TO_HOST: {
		struct weft_pkt pkt;
		struct weft_place place;

		if (get(ip, e->bytes, e->host, e->plane, &pkt)) {
			weft_nic_input(&host[e->host].nic, &pkt, now, &place);
			if (place.len_bytes)
				memcpy(place.to, place.from, place.len_bytes);
		}
		free_slot(e->slot);
		visit(e->host);
		break;
	}
	case WAKE:
		if (host[e->host].wake_ps == e->at)
			host[e->host].wake_ps = WEFT_NEVER;
		visit(e->host);
		break;
	}
}

static bool all_done(void)
{
	for (int h = 0; h < HOSTS; h++)
		if (host[h].writes < host[h].msgs || host[h].imms < host[h].imms_wanted)
			return false;
	return true;
}

/* Every byte, every completion once, every immediate. */
static bool judge(uint32_t h)
{
	struct host *me = &host[h];
	uint32_t wrong = 0, once = 0;

	weft_check(me->ep);
	for (uint32_t i = 0; i < me->in_bytes; i++)
		wrong += me->in[i] != host[1 - h].out[i];
	for (uint32_t i = 0; i < me->msgs; i++)
		once += me->done[i] == 1;
	printf("  host %c: %u of %u writes, %u of %u immediates%s, %u of %u bytes wrong\n",
		'A' + (int)h, once, me->msgs, me->imms, me->imms_wanted,
		me->imm_xor ? " (VALUES DIFFER)" : "", wrong, me->in_bytes);
	return !wrong && once == me->msgs && me->writes == me->msgs &&
	       me->imms == me->imms_wanted && !me->imm_xor;
}

static bool run(const char *name, uint64_t in, uint64_t out, uint32_t trim_bytes, uint64_t seed)
{
	uint64_t steps = 0;
	bool good;

	now = 1000000;
	in_bps = in;
	out_bps = out;
	dice.s = seed;
	heap_n = 0;
	heap_seq = 0;
	lost = flipped = cut = bad_parse = bad_icrc = bad_decode = bad_peer = bad_dst = rx_cut = 0;
	memset(sw_drops, 0, sizeof(sw_drops));
	for (spare_n = 0; spare_n < SLOTS; spare_n++)
		spare[spare_n] = SLOTS - 1 - spare_n;
	open_switches(trim_bytes, seed);
	open_hosts(seed);
	post();
	for (uint32_t h = 0; h < HOSTS; h++)
		visit(h);
	while (!all_done() && heap_n && now < UINT64_C(1000000000000)) {
		struct event e = pop();

		if (e.at < now)
			die("time ran backwards", e.what);
		now = e.at;
		step(&e);
		steps++;
	}
	good = all_done();
	printf("%s: %s at %" PRIu64 " ns, %" PRIu64 " events, lost %" PRIu64 ", flipped %" PRIu64
	       ", cut %" PRIu64 "\n",
		name, good ? "all completed" : "NOT COMPLETED", now / 1000, steps, lost, flipped,
		cut);
	printf("  refused by hosts: parse %" PRIu64 " icrc %" PRIu64 " decode %" PRIu64
	       " peer %" PRIu64 " dst %" PRIu64 "; cut seen %" PRIu64 "; by switches:",
		bad_parse, bad_icrc, bad_decode, bad_peer, bad_dst, rx_cut);
	for (int i = 0; i < WEFT_SWITCH_DROP_COUNT; i++)
		if (sw_drops[i])
			printf(" %s %" PRIu64, weft_switch_drop_name((enum weft_switch_drop)i),
				sw_drops[i]);
	printf("\n");
	for (uint32_t h = 0; h < HOSTS; h++)
		good = judge(h) && good;
	if (trim_bytes && (!cut || !weft_stats(host[0].ep)->lost_nack))
		good = false;
	for (int p = 0; p < PLANES; p++) {
		weft_switch_check(sw[p].sw);
		free(sw[p].block);
	}
	for (int h = 0; h < HOSTS; h++) {
		free(host[h].block);
		free(host[h].out);
		free(host[h].in);
	}
	return good;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	bool good;

	if (strcmp(weft_version(), WEFT_VERSION) != 0)
		die("headers and library differ", 0);
	crc_init();
	slots = block64((size_t)SLOTS * SLOT);
	good = run("plain", 100000000000, 100000000000, 0, seed);
	good = run("trim", 400000000000, 100000000000, 20000, seed) && good;
	free(slots);
	free(heap);
	puts(good ? "PASS" : "FAIL");
	return !good;
}
