/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef PROGRAM_H
#define PROGRAM_H
/*
 * program - the fabric's switch as a program in the kernel; compiled once for each hook.
 *
 * It decides as src/fabric/switch does, in the same order, because a test runs the same bytes
 * through both and wants the same verdict, port and bytes: first what a frame is, then where it
 * goes (uSIDs are shifted out and looked up again, RFC 9800 NEXT-C-SID F3216), then injected
 * faults, then what its queue says.  Nothing is passed to the kernel's own stack: a frame leaves by
 * a port of the table, or is dropped and counted.
 *
 * No queue exists here: what is redirected goes out at once.  So each port has a virtual one, a
 * number that grows with every frame and shrinks as the line would have sent it, and from whose
 * depth frames are marked, cut and dropped.  docs/decisions/070-xdp-switch.md says how far that
 * is the truth.
 *
 * Hot: once per packet and hop.  Tables are plain memory of the program (one load each, where a
 * map's look-up would be a call); counters belong to a CPU each; only the virtual queue is shared,
 * and locked for some 20 instructions.
 *
 * A hook brings struct hook_context, hook_bytes, hook_ifindex, hook_load, hook_store, hook_resize,
 * hook_send and HOOK_DROP.
 */

enum drop {
#define WEFT_SWITCH_DROP(NAME, key, text) DROP_##NAME,
#include <weft/switch_drops.def>
#undef WEFT_SWITCH_DROP
	DROP_COUNT
};

enum queue { QUEUE_DATA, QUEUE_CONTROL };

struct queue_counters {
#define WEFT_PORT_COUNTER(field, name, text)
#define WEFT_QUEUE_COUNTER(field, name, text) uint64_t field;
#include <weft/switch_counters.def>
#undef WEFT_PORT_COUNTER
#undef WEFT_QUEUE_COUNTER
};
struct port_counters {
#define WEFT_PORT_COUNTER(field, name, text) uint64_t field;
#define WEFT_QUEUE_COUNTER(field, name, text)
#include <weft/switch_counters.def>
#undef WEFT_PORT_COUNTER
#undef WEFT_QUEUE_COUNTER
	struct queue_counters queue[XDP_QUEUES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XDP_PORTS_MAX);
	__type(key, uint32_t);
	__type(value, struct port_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DROP_COUNT);
	__type(key, uint32_t);
	__type(value, uint64_t);
} drops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, uint64_t);
} sid_pkts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct xdp_prefix);
	__type(value, struct xdp_hop);
} prefixes SEC(".maps");

enum {
	GAP_BYTES = 24, /* FCS, preamble, gap */
	IPV6_BYTES = 40,
	NEXT_UDP = 17,
	NEXT_ROUTING = 43,
	ROUTING_SEGMENTS = 4,
	SRH_FIXED_BYTES = 8,
	USIDS = 6,
	TURNS_MAX = 255, /* each uses up one of the hop limit */
	SPINS_MAX = 1 << 22,
	CE = 3,
};

/* IPv6's ten words, in network order. */
enum { WORD_CLASS, WORD_LENGTH, WORD_SRC, WORD_BLOCK = 6, WORD_HIGH, WORD_MIDDLE, WORD_LOW, WORDS };

struct frame {
	uint64_t high, route;   /* four uSIDs, the next one on top; and as they were on arrival */
	uint32_t low;           /* two more */
	uint32_t first, second; /* words of IPv6 in host order: version, class, label; length,
				 * next header, hop limit */
	uint32_t bytes;         /* Ethernet header and IP packet */
	uint32_t port;
	uint32_t has_carrier; /* high, low are to be written back */
	uint32_t addr[4];     /* destination, in network order */
};

/* Loaders see to it that numbers are in range; the verifier wants to see it too. */
static __always_inline struct xdp_port *port_at(uint32_t index)
{
	return &state.ports[index & (XDP_PORTS_MAX - 1)];
}

static __always_inline uint32_t class_of(uint32_t first)
{
	return first >> 20 & 0xff;
}

/* ---- tables ---- */

static __always_inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* One of several ports, by what the sender wrote as entropy: that which the switch takes, too. */
static __noinline uint32_t choose_port(struct hook_context *ctx, uint64_t packed)
{
	const struct xdp_hop *hop = (const struct xdp_hop *)&packed;
	uint64_t words[WORDS / 2];
	uint16_t source_port = 0;
	uint32_t ports = hop->ports, which;

	if (!ports || hook_load(ctx, ETHER_BYTES, words, sizeof(words)))
		return hop->first; /* none is cabled: found down by whoever queues there */
	uint32_t flow = bpf_ntohl((uint32_t)words[0]) & 0xffff;
	uint32_t second = bpf_ntohl(words[0] >> 32);

	if ((second >> 8 & 0xff) == NEXT_UDP && second >> 16 >= 2 &&
		!hook_load(ctx, ETHER_BYTES + IPV6_BYTES, &source_port, 2))
		flow |= (uint32_t)bpf_ntohs(source_port) << 16;
	if (hop->kind == XDP_HOP_FIELD) {
		which = flow >> (hop->shift & 31);
	} else {
		uint64_t hash = mix(config.seed ^ flow);

		for (int i = 1; i < WORDS / 2; i++)
			hash = mix(hash ^ words[i]);
		which = hash >> 32;
	}
	return state.groups[(hop->first + which % ports) & (XDP_GROUP_PLACES - 1)];
}

static __always_inline void leave_by(
	struct hook_context *ctx, struct frame *f, const struct xdp_hop *hop)
{
	f->port = hop->first;
	if (hop->kind >= XDP_HOP_HASH)
		f->port = choose_port(ctx, *(const uint64_t *)hop);
}

static __always_inline int use_hop_limit(struct frame *f)
{
	if ((f->second & 0xff) <= 1)
		return 0;
	f->second--;
	return 1;
}

static __always_inline int follow_prefix(struct hook_context *ctx, struct frame *f)
{
	const uint32_t *addr = f->addr;
	struct xdp_prefix key = { .addr = { addr[0], addr[1], addr[2], addr[3] }, .bits = 128 };
	uint32_t lengths = state.prefix_lengths;
	const struct xdp_hop *hop = 0;

	if (lengths & 4)
		hop = bpf_map_lookup_elem(&prefixes, &key);
	key.addr[2] = key.addr[3] = 0;
	key.bits = 64;
	if (!hop && lengths & 2)
		hop = bpf_map_lookup_elem(&prefixes, &key);
	key.addr[1] &= bpf_htonl(0xffff0000);
	key.bits = 48;
	if (!hop && lengths & 1)
		hop = bpf_map_lookup_elem(&prefixes, &key);
	if (!hop)
		return DROP_NO_ROUTE;
	if (!use_hop_limit(f))
		return DROP_HOP_LIMIT;
	leave_by(ctx, f, hop);
	return DROP_NONE;
}

/* SID_EXHAUSTED: the last uSID was ours; port says which link's, if one's. */
static __always_inline int follow_carrier(struct hook_context *ctx, struct frame *f)
{
	f->route = f->high;
	f->port = XDP_ANY;
	for (int i = 0; i <= USIDS; i++) {
		uint16_t sid = f->high >> 48;

		if (!sid)
			return DROP_SID_ZERO;
		const struct xdp_hop *hop = &state.sids[sid];
		uint32_t kind = hop->kind, counter = hop->counter;

		if (kind == XDP_HOP_NONE)
			return DROP_NO_SID;
		uint64_t *pkts = bpf_map_lookup_elem(&sid_pkts, &counter);

		if (pkts)
			++*pkts;
		if (kind > XDP_HOP_UA) {
			if (kind & XDP_HOP_HOLE)
				return DROP_FAULT;
			if (!i && !use_hop_limit(f))
				return DROP_HOP_LIMIT;
			leave_by(ctx, f, hop);
			return DROP_NONE;
		}
		if (!(f->high << 16) && !f->low) {
			if (kind == XDP_HOP_UA)
				f->port = hop->first;
			return DROP_SID_EXHAUSTED;
		}
		if (!use_hop_limit(f))
			return DROP_HOP_LIMIT;
		f->high = f->high << 16 | f->low >> 16;
		f->low <<= 16;
		if (kind == XDP_HOP_UA) {
			f->port = hop->first;
			return DROP_NONE;
		}
	}
	return DROP_SID_ZERO; /* not reached: six uSIDs are used up by then */
}

/* ---- a segment routing header ---- */

static __always_inline int next_segment(struct hook_context *ctx, struct frame *f)
{
	const uint32_t at = ETHER_BYTES + IPV6_BYTES;
	uint32_t left = f->bytes - at;
	uint8_t srh[SRH_FIXED_BYTES];

	if ((f->second >> 8 & 0xff) != NEXT_ROUTING)
		return DROP_SID_EXHAUSTED;
	if (left < SRH_FIXED_BYTES || hook_load(ctx, at, srh, sizeof(srh)) ||
		srh[2] != ROUTING_SEGMENTS)
		return DROP_BAD_SRH;
	/* RFC 8754 4.3.1.1: lengths in units of eight bytes, a segment takes two. */
	uint32_t units = srh[1], segments_left = srh[3], last_entry = srh[4];

	if (!segments_left)
		return DROP_SID_EXHAUSTED;
	if (SRH_FIXED_BYTES + 8 * units > left || 2 * (last_entry + 1) > units ||
		segments_left > last_entry + 1)
		return DROP_BAD_SRH;
	srh[3] = --segments_left;
	if (hook_load(ctx, at + SRH_FIXED_BYTES + 16 * segments_left, f->addr, 16) ||
		hook_store(ctx, at, srh, sizeof(srh)) ||
		hook_store(ctx, ETHER_BYTES + 4 * WORD_BLOCK, f->addr, 16))
		return DROP_BAD_SRH;
	return DROP_NONE;
}

static __always_inline int route_addr(struct hook_context *ctx, struct frame *f)
{
	f->has_carrier = f->addr[0] == config.block_be;
	if (!f->has_carrier)
		return follow_prefix(ctx, f);
	f->high = (uint64_t)bpf_ntohl(f->addr[1]) << 32 | bpf_ntohl(f->addr[2]);
	f->low = bpf_ntohl(f->addr[3]);
	return follow_carrier(ctx, f);
}

struct journey {
	struct hook_context *ctx;
	struct frame *f;
	int verdict; /* enum drop */
};

/* A carrier has ended here: goes on with the segment behind it.  1: no further turn. */
static int turn(uint32_t index, struct journey *j)
{
	struct frame *f = j->f;

	(void)index;
	j->verdict = DROP_HOP_LIMIT;
	if ((f->second & 0xff) <= 1)
		return 1;
	j->verdict = next_segment(j->ctx, f);
	if (j->verdict)
		return 1;
	f->second--;
	f->has_carrier = 0; /* the address has been written already */
	if (f->port != XDP_ANY)
		return 1;
	j->verdict = route_addr(j->ctx, f);
	return j->verdict != DROP_SID_EXHAUSTED;
}

/*
 * Where the frame goes; enum drop.  Not static: the verifier then looks at it by itself and once,
 * not again for each way to and from it.
 */
__noinline int find_port(struct hook_context *ctx, struct frame *f)
{
	if (!f)
		return DROP_NO_ROUTE; /* never, but the verifier cannot know */
	int why = route_addr(ctx, f);

	if (why != DROP_SID_EXHAUSTED)
		return why;
	struct journey journey = { .ctx = ctx, .f = f, .verdict = DROP_SID_EXHAUSTED };

	bpf_loop(TURNS_MAX, turn, &journey, 0);
	return journey.verdict;
}

/* ---- queue ---- */

static int try_lock(uint32_t index, uint32_t *port)
{
	(void)index;
	return !__sync_lock_test_and_set(&port_at(*port)->lock, 1);
}

/* After some 100 ms the holder is gone or asleep: better one frame uncounted than a stuck CPU. */
static __noinline long wait_lock(uint32_t port)
{
	return bpf_loop(SPINS_MAX, try_lock, &port, 0);
}

/* What the line has sent since somebody last looked; both queues share it as fluids would. */
static __always_inline void serve(struct xdp_port *port, uint64_t now_ns)
{
	uint64_t data = port->depth_q16[QUEUE_DATA], control = port->depth_q16[QUEUE_CONTROL];
	int64_t elapsed_ns = now_ns - port->last_ns;

	if (elapsed_ns <= 0)
		return; /* another CPU's clock was a little ahead */
	port->last_ns = now_ns;
	uint64_t served = (uint64_t)elapsed_ns << 16;

	if (elapsed_ns >> 40 || served >= data + control) {
		port->depth_q16[QUEUE_DATA] = port->depth_q16[QUEUE_CONTROL] = 0;
		return;
	}
	uint64_t part = 0;

	if (control) {
		part = (served >> 8) * port->control_share_q8;
		if (served > data && part < served - data)
			part = served - data;
		if (part > control)
			part = control;
		port->depth_q16[QUEUE_CONTROL] = control - part;
	}
	port->depth_q16[QUEUE_DATA] = data - (served - part);
}

struct ticket {             /* what the virtual queue says */
	uint64_t depth_q16; /* of data, found on arrival */
	uint32_t drop;
	uint32_t cut;
};

static __always_inline struct ticket admit(
	uint32_t out_port, uint32_t class, uint32_t bytes, uint64_t now_ns)
{
	struct xdp_port *port = port_at(out_port);
	uint64_t byte_ns_q16 = port->byte_ns_q16, time_q16 = (bytes + GAP_BYTES) * byte_ns_q16;
	uint32_t queue = class & XDP_CLASS_CONTROL ? QUEUE_CONTROL : QUEUE_DATA;
	uint32_t cut_bytes = port->trim_to_bytes;
	struct ticket ticket = { 0 };

	if (__sync_lock_test_and_set(&port->lock, 1))
		wait_lock(out_port);
	serve(port, now_ns);
	uint64_t depth = port->depth_q16[queue];

	ticket.depth_q16 = depth;
	if (class & XDP_CLASS_TRIMMABLE && port->trim_q16 && depth + time_q16 > port->trim_q16) {
		if (bytes <= cut_bytes) {
			ticket.drop = DROP_TRIM_TOO_SMALL;
			goto out;
		}
		ticket.cut = 1;
		queue = QUEUE_CONTROL;
		time_q16 = (cut_bytes + GAP_BYTES) * byte_ns_q16;
		depth = port->depth_q16[queue];
	}
	depth += time_q16;
	if (depth > port->drop_q16[queue]) {
		ticket.drop = ticket.cut            ? DROP_TRIM_TAIL
			      : queue == QUEUE_DATA ? DROP_TAIL
						    : DROP_CONTROL_TAIL;
		goto out;
	}
	port->depth_q16[queue] = depth;
	if (depth > port->watermark_q16[queue])
		port->watermark_q16[queue] = depth;
out:
	asm volatile("" ::: "memory");
	*(volatile uint32_t *)&port->lock = 0;
	return ticket;
}

static __always_inline int wants_mark(
	const struct xdp_port *port, uint32_t class, uint64_t depth_q16)
{
	uint32_t ecn = class & CE;

	if (depth_q16 <= port->ecn_min_q16 || !port->ecn_range_q16 || !ecn || ecn == CE)
		return 0;
	uint64_t above_q16 = depth_q16 - port->ecn_min_q16;

	return above_q16 >= port->ecn_range_q16 ||
	       (bpf_get_prandom_u32() & 0xffff) * (port->ecn_range_q16 >> 16) < above_q16;
}

/* ---- faults ---- */

static __noinline int fault_hits(uint32_t in_port, uint32_t out_port, uint64_t route)
{
	for (uint32_t i = 0; i < XDP_FAULTS_MAX && i < state.n_faults; i++) {
		const struct xdp_fault *fault = &state.faults[i];

		if ((fault->in_port == XDP_ANY || fault->in_port == in_port) &&
			(fault->out_port == XDP_ANY || fault->out_port == out_port) &&
			!((route ^ fault->route) & fault->route_mask) &&
			(uint64_t)bpf_get_prandom_u32() * 1000000 >> 32 < fault->loss_ppm)
			return 1;
	}
	return 0;
}

/* ---- counting what is dropped ---- */

static __always_inline void count_drop(uint32_t why)
{
	uint64_t *n = bpf_map_lookup_elem(&drops, &why);

	if (n)
		++*n;
}

static __noinline int discard(uint32_t in_port, uint32_t why)
{
	struct port_counters *c = bpf_map_lookup_elem(&counters, &in_port);

	if (c)
		c->in_discards++;
	count_drop(why);
	return HOOK_DROP;
}

/* Dropped at the port that it should leave by. */
static __noinline int refuse(uint32_t out_port, uint32_t why, uint32_t bytes)
{
	struct port_counters *c = bpf_map_lookup_elem(&counters, &out_port);

	count_drop(why);
	if (!c)
		return HOOK_DROP;
	c->out_discards++;
	if (why == DROP_PORT_DOWN)
		return HOOK_DROP;
	struct queue_counters *queue = &c->queue[QUEUE_DATA];

	if (why == DROP_TRIM_TAIL) {
		c->trimmed++;
		queue->trimmed++;
		c->trim_drops++;
		queue = &c->queue[QUEUE_CONTROL];
		queue->trim_drops++;
	} else if (why == DROP_CONTROL_TAIL) {
		queue = &c->queue[QUEUE_CONTROL];
	}
	queue->drops++;
	queue->drop_octets += bytes;
	return HOOK_DROP;
}

static __always_inline void count_cut(struct port_counters *c)
{
	c->trimmed++;
	c->trim_sent++;
	c->queue[QUEUE_DATA].trimmed++;
	c->queue[QUEUE_CONTROL].trim_sent++;
}

/* ---- one frame ---- */

static __always_inline int read_frame(
	struct frame *f, const uint32_t words[WORDS], uint16_t type, uint32_t length)
{
	f->first = bpf_ntohl(words[WORD_CLASS]);
	f->second = bpf_ntohl(words[WORD_LENGTH]);
	f->bytes = ETHER_BYTES + IPV6_BYTES + (f->second >> 16);
	for (int i = 0; i < 4; i++)
		f->addr[i] = words[WORD_BLOCK + i];
	if (type != bpf_htons(0x86dd) || f->first >> 28 != 6)
		return DROP_NOT_IPV6;
	if (f->bytes > length)
		return DROP_TRUNCATED;
	if (f->bytes > ETHER_BYTES + config.mtu_bytes)
		return DROP_TOO_BIG;
	return DROP_NONE;
}

/* Writes what has changed, and sends. */
static __always_inline int send_frame(struct hook_context *ctx, struct frame *f,
	const struct ticket *ticket, uint32_t class, uint8_t *data, uint32_t length)
{
	uint32_t *words = (uint32_t *)(data + ETHER_BYTES), key = f->port;
	struct port_counters *c = bpf_map_lookup_elem(&counters, &key);
	const struct xdp_port *port = port_at(f->port);
	struct queue_counters *queue;

	if (!c)
		return HOOK_DROP;
	queue = &c->queue[class & XDP_CLASS_CONTROL ? QUEUE_CONTROL : QUEUE_DATA];
	if (ticket->cut) {
		count_cut(c);
		queue = &c->queue[QUEUE_CONTROL];
		f->bytes = port->trim_to_bytes;
		f->second = (f->bytes - ETHER_BYTES - IPV6_BYTES) << 16 | (f->second & 0xffff);
		f->first = (f->first & ~(0xfcu << 20)) | (uint32_t)port->trim_tclass << 20;
		words[WORD_CLASS] = bpf_htonl(f->first);
	} else if (!(class & XDP_CLASS_CONTROL) &&
		   wants_mark(port, class_of(f->first), ticket->depth_q16)) {
		c->ecn_marked++;
		queue->ecn_marked++;
		words[WORD_CLASS] = bpf_htonl(f->first | CE << 20);
	}
	words[WORD_LENGTH] = bpf_htonl(f->second);
	if (f->has_carrier) {
		words[WORD_HIGH] = bpf_htonl(f->high >> 32);
		words[WORD_MIDDLE] = bpf_htonl((uint32_t)f->high);
		words[WORD_LOW] = bpf_htonl(f->low);
	}
	*(uint64_t *)data = port->macs_low;
	*(uint32_t *)(data + 8) = port->macs_high;
	queue->pkts++;
	queue->octets += f->bytes;
	if (f->bytes != length && hook_resize(ctx, f->bytes, length))
		return HOOK_DROP;
	return hook_send(f->port, port);
}

static __always_inline int forward(struct hook_context *ctx)
{
	uint8_t *data = hook_headers(ctx);
	uint32_t in_port = state.in_ports[hook_ifindex(ctx) & (XDP_IFINDEXES - 1)];
	uint32_t length = hook_bytes(ctx), class;
	struct port_counters *in = bpf_map_lookup_elem(&counters, &in_port);
	struct frame f = { 0 };
	struct ticket ticket = { 0 };

	if (!in)
		return HOOK_DROP;
	in->in_pkts++;
	in->in_octets += length;
	if (state.is_frozen)
		return discard(in_port, DROP_FROZEN);
	if (!data)
		return discard(in_port, DROP_NOT_IPV6);
	uint32_t why =
		read_frame(&f, (uint32_t *)(data + ETHER_BYTES), *(uint16_t *)(data + 12), length);

	if (!why)
		why = find_port(ctx, &f);
	if (why)
		return discard(in_port, why);
	data = hook_headers(ctx); /* a segment may have been written */
	if (!data)
		return HOOK_DROP;
	if (state.n_faults && fault_hits(in_port, f.port, f.route))
		return discard(in_port, DROP_FAULT);
	const struct xdp_port *port = port_at(f.port);

	if (!(port->flags & XDP_PORT_UP))
		return refuse(f.port, DROP_PORT_DOWN, f.bytes);
	class = config.classes[class_of(f.first) >> 2];
	if (port->byte_ns_q16) {
		uint64_t now_ns = config.is_test_clock ? state.test_now_ns : bpf_ktime_get_ns();

		ticket = admit(f.port, class, f.bytes, now_ns);
		if (ticket.drop)
			return refuse(
				f.port, ticket.drop, ticket.cut ? port->trim_to_bytes : f.bytes);
	}
	return send_frame(ctx, &f, &ticket, class, data, length);
}

#endif
