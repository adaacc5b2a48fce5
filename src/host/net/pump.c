/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pump - turn by turn: receive, place, send, wait.
 *
 * One instant per turn, "now", read when the turn begins and again behind each burst that came in:
 * a packet must not be received before it has arrived.  Else, where this process is not run between
 * its clock and its rings, an answer that came meanwhile makes a round trip shorter than light
 * allows, congestion control takes that for the length of the path, and the flow stays behind for
 * good (measured: half its share).  A turn is bounded (one burst in, a few bursts out), so that
 * acknowledgements keep flowing under a flood from either side.  Sending comes after receiving in
 * the same turn, because what was just received is what opens windows and asks for answers.
 *
 * Waiting belongs to the port, which knows its file descriptors, with the engine's next deadline
 * as the limit; an idle pump therefore costs nothing.  Link changes are looked at once per turn:
 * a wait ends when one happens, so the engine learns of it at once.
 *
 * Received packets are answered one turn later, unless more come in between: whoever runs the pump
 * looks at what arrived first, and his answer leaves in one system call with the engine's.
 *
 * A wake-up costs more than a packet, so while bulk moves the pump sleeps a little by time before
 * it sleeps until something comes, as network drivers moderate interrupts (decisions/051).
 *
 * What lay in the sockets while this machine ran somebody else is read before timers may fire:
 * otherwise every pause of our own would look like a silent peer.
 *
 * Hot: once per burst.
 */
#include <weft/base.h>
#include <weft/net.h>
#include <weft/nofault.h>

#include <stdlib.h>
#include <string.h>

#define GATHER_NS 60000          /* long against a wake-up, short against a round trip */
#define GATHER_FAST_NS 120000    /* where packets come faster than they can be woken for */
#define BULK_BYTES_PER_MS 65536  /* half a Gb/s */
#define FAST_BYTES_PER_MS 262144 /* two */
#define INPUT_BURSTS 64          /* after a pause */
#define LATE_NS 300000           /* that a pause is longer than */
#define OUTPUT_BURSTS 4 /* per turn: enough to fill an idle NIC, few enough to hear the peer */

struct weft_pump {
	struct weft_pump_config config;
	struct weft_pump_stats stats;
	uint64_t now, expected_ns; /* when this turn began; when the next should, at the latest */
	uint64_t hold_ns;
	uint64_t gather_ns;        /* how long to sleep by time; 0: no bulk moves */
	uint64_t bulk_since_ns, bulk_before; /* begin of this millisecond; moved until then */
	bool owes;                          /* received, and not yet let the engine answer */
	bool gathered;                      /* slept by time since something moved */
	uint32_t carrier;
	struct weft_wake wake;
	struct weft_pkt pkts[WEFT_NET_BURST];
	struct weft_place places[WEFT_NET_BURST];
};

int weft_pump_open(struct weft_pump **pump, const struct weft_pump_config *config)
{
	struct weft_pump *p = aligned_alloc(64, WEFT_ALIGN_UP(sizeof(*p), (size_t)64));

	WEFT_ASSERT(config->ep && config->port);
	if (!p)
		return -1;
	memset(p, 0, sizeof(*p));
	p->config = *config;
	if (!p->config.clock)
		p->config.clock = weft_clock_now;
	/* The engine starts with all ports up; the first turn reports those that are not. */
	p->carrier = config->port->planes == 32 ? UINT32_MAX : (1u << config->port->planes) - 1;
	p->now = p->config.clock(p->config.clock_arg);
	*pump = p;
	return 0;
}

void weft_pump_close(struct weft_pump *pump)
{
	free(pump);
}

uint64_t weft_pump_now(const struct weft_pump *pump)
{
	return pump->now;
}

const struct weft_pump_stats *weft_pump_stats(const struct weft_pump *pump)
{
	return &pump->stats;
}

static void mark_ports(struct weft_pump *p)
{
	uint32_t carrier = p->config.port->ops->carrier(p->config.port);
	uint32_t changed = carrier ^ p->carrier;

	if (WEFT_LIKELY(!changed))
		return;
	p->carrier = carrier;
	for (uint32_t port = 0; port < p->config.port->planes; port++)
		if (changed >> port & 1)
			(void)weft_port_mark(p->config.ep, port, carrier >> port & 1, p->now);
}

static size_t receive(struct weft_pump *p)
{
	struct weft_port *port = p->config.port;
	size_t n = port->ops->rx(port, p->pkts, WEFT_NET_BURST);
	uint64_t placed_bytes = 0;

	if (!n)
		return 0;
	WEFT_ASSERT(n <= WEFT_NET_BURST);
	p->now = p->config.clock(p->config.clock_arg);
	weft_input(p->config.ep, p->pkts, n, p->now, p->places);
	for (size_t i = 0; i < n; i++) {
		const struct weft_place *place = &p->places[i];

		if (!place->len_bytes)
			continue;
		if (WEFT_UNLIKELY(place->list_at))
			p->config.scatter(p->config.scatter_arg, place);
		else
			(void)weft_nofault_copy(place->to, place->from, place->len_bytes);
		if (WEFT_UNLIKELY(weft_nofault_take() != NULL))
			weft_place_lost(p->config.ep, &p->pkts[i]);
		placed_bytes += place->len_bytes;
	}
	if (placed_bytes) {
		p->stats.placed_bytes += placed_bytes;
		p->stats.placed_at_ns = p->now;
	}
	return n;
}

/* What could not be read is lost, as in a fabric: the others of this burst come to it again. */
static void send_burst(struct weft_pump *p, size_t n)
{
	p->config.port->ops->tx(p->config.port, p->pkts, n, p->wake);
	const void *lost = weft_nofault_take();

	if (WEFT_UNLIKELY(lost != NULL))
		weft_data_lost(p->config.ep, lost);
}

static size_t send_bursts(struct weft_pump *p)
{
	struct weft_port *port = p->config.port;
	size_t sent = 0;

	for (unsigned i = 0; i < OUTPUT_BURSTS; i++) {
		size_t max = WEFT_NET_BURST;
		/* No plane free: still ask, because timers fire in there. */
		uint32_t room = port->ops->room(port, &max) & p->carrier;

		WEFT_ASSERT(max <= WEFT_NET_BURST);
		size_t n = weft_output(p->config.ep, p->pkts, max, room, p->now);

		if (n)
			send_burst(p, n);
		sent += n;
		if (n < max || !max)
			break;
	}
	return sent;
}

/* waits: it is ours to say, else that of who calls us again and again. */
static void note_bulk(struct weft_pump *p, bool waits)
{
	const struct weft_counters *count = weft_stats(p->config.ep);
	uint64_t moved = count->tx_data_bytes + count->rx_data_bytes;
	uint64_t ns = p->now - p->bulk_since_ns;

	if (ns < 1000000)
		return;
	/* Who brings a clock of his own brings his own time, too. */
	uint64_t bytes_per_ms =
		p->config.clock == weft_clock_now ?
			(moved - p->bulk_before) / (ns / 1000000) : 0;

	p->gather_ns = bytes_per_ms < BULK_BYTES_PER_MS   ? 0
		       : bytes_per_ms < FAST_BYTES_PER_MS ? GATHER_NS
							  : GATHER_FAST_NS;
	if (waits)
		p->wake.is_bulk = p->gather_ns != 0;
	p->bulk_since_ns = p->now;
	p->bulk_before = moved;
}

/* Sleeps until there is something to do, or enough; expected_ns: when the next turn should be. */
static void wait_for(struct weft_pump *p, uint64_t wait_ns)
{
	p->stats.waits++;
	if (p->gather_ns && !p->gathered) {
		p->gathered = true; /* one sleep by time, then one until something comes */
		wait_ns = WEFT_MIN(wait_ns, p->gather_ns);
		p->expected_ns = p->now + wait_ns;
		weft_clock_sleep(wait_ns);
		return;
	}
	p->expected_ns = p->now + WEFT_MIN(wait_ns, UINT64_MAX / 2);
	p->config.port->ops->wait(p->config.port, wait_ns);
}

void weft_pump_wake(struct weft_pump *pump, struct weft_wake wake)
{
	pump->wake = wake;
}

void weft_pump_hold(struct weft_pump *pump, uint64_t hold_ns)
{
	pump->hold_ns = hold_ns;
}

static bool holds_acks(const struct weft_pump *p)
{
	uint64_t since = weft_acks_since(p->config.ep);

	return since && !weft_wants_data(p->config.ep) && p->now - since < p->hold_ns &&
	       weft_next_timeout(p->config.ep) > p->now;
}

size_t weft_pump_step(struct weft_pump *p, uint64_t max_wait_ns)
{
	uint64_t now = p->config.clock(p->config.clock_arg);

	WEFT_ASSERT(now >= p->now);
	p->stats.late_ns = p->expected_ns && now > p->expected_ns ? now - p->expected_ns : 0;
	p->now = now;
	p->stats.steps++;
	mark_ports(p);
	size_t moved = receive(p), burst = moved;

	for (unsigned i = 1; burst && p->stats.late_ns > LATE_NS && i < INPUT_BURSTS; i++) {
		burst = receive(p);
		moved += burst;
	}
	p->expected_ns = now;
	note_bulk(p, max_wait_ns != 0);
	if (moved && !p->owes) {
		p->owes = true; /* the application's answer may leave together with ours */
		p->gathered = false;
		return moved;
	}
	if (p->hold_ns && holds_acks(p))
		return moved;
	p->owes = false;
	moved += send_bursts(p);
	if (moved)
		p->gathered = false;
	if (moved || !max_wait_ns)
		return moved;
	uint64_t next = weft_next_timeout(p->config.ep);
	uint64_t wait_ns = next == WEFT_NEVER ? max_wait_ns : next > p->now ? next - p->now : 0;

	wait_ns = WEFT_MIN(wait_ns, max_wait_ns);
	if (wait_ns)
		wait_for(p, wait_ns);
	return 0;
}
