/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * two_hosts - the engine in a simulation of your own: two NICs, four switches, virtual time.
 *
 * Two hosts write 8 MiB to each other over two planes; every link up to a switch loses 1 % of its
 * packets.  Time goes from one thing that happens to the next, so it takes no time to wait, and the
 * same seed gives the same bytes.  Everything is as docs/embed.md tells it.
 *
 *   cc two_hosts.c $(pkg-config --cflags --libs weft) -o two_hosts && ./two_hosts
 */
#include <weft/nic.h>
#include <weft/nic_mrc.h>
#include <weft/network.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANES = 2, FRAMES = 1 << 14, BYTES = 8 << 20, LOSS_PPM = 10000 };
#define CHECK(expr) ((expr) ? (void)0 : (printf("line %d: %s\n", __LINE__, #expr), exit(1)))

static const char fabric[] = "{name: two, planes: 2, t0s: 2, t1s: 2, hosts: 2,"
			     " host_links: {speed: 100Gb/s, delay: 500ns},"
			     " core_links: {speed: 100Gb/s, delay: 500ns}}";

struct host {
	struct weft_endpoint *ep;
	struct weft_nic nic;
	uint64_t free_ps[PLANES], wake_ps;
	struct weft_qp *qp;
	uint32_t qpn, rkey, set;
	uint8_t *sends, *gets;
	int done;
};

static struct host hosts[2];
static struct weft_topo *topo;
static struct weft_network *network;
static struct weft_pkt pkts[FRAMES]; /* by the handle of the frame that stands for each */
static uint64_t handles[FRAMES];
static uint32_t n_handles, lost;
static uint64_t now_ps = 1000; /* above 0 */

static void open_host(uint32_t self)
{
	struct host *h = &hosts[self];
	struct weft_config config;
	struct weft_qp_attr attr = { .pd = 1, .cc = &weft_cc_nscc };
	struct weft_qp_info info;
	struct weft_pathset_attr set = { .peer = !self };
	uint32_t evs[16];
	uint8_t ports[16];

	weft_config_default(&config);
	config.ports = PLANES;
	config.base_rtt_ns = weft_topo_shape(topo)->base_rtt_ns;
	config.seed = self + 1;
	void *block = aligned_alloc(64, weft_endpoint_size(&config));

	CHECK(block && !weft_endpoint_init(&h->ep, block, &config));
	h->nic = (struct weft_nic){ &weft_transport_mrc, h->ep, h->free_ps, PLANES, 0 };
	h->sends = malloc(BYTES);
	h->gets = calloc(1, BYTES);
	for (uint32_t i = 0; i < BYTES; i++)
		h->sends[i] = (uint8_t)(i * 2654435761u >> (13 + self));
	CHECK(!weft_region_add(h->ep, 0, h->gets, BYTES, 1, WEFT_ACCESS_REMOTE_WRITE,
		0x5a17 + self, &h->rkey));
	set.n = (uint32_t)weft_topo_evs(topo, self, !self, 1, evs, 16);
	for (uint32_t i = 0; i < set.n; i++)
		ports[i] = (uint8_t)weft_ev_plane(evs[i]);
	set.evs = evs;
	set.ports = ports;
	CHECK(!weft_pathset_open(h->ep, &set, &h->set));
	attr.cc_config.rate_bps = PLANES * weft_topo_shape(topo)->host_bps;
	attr.cc_config.mtu_bytes = weft_nominal_bytes(config.mtu_bytes);
	attr.cc_config.base_rtt_ns = config.base_rtt_ns;
	CHECK(!weft_qp_open(h->ep, &attr, &h->qp));
	weft_qp_info(h->qp, &info);
	h->qpn = info.qpn;
}

/* What two ends agree about out of band; here each reads it off the other. */
static void connect_host(uint32_t self)
{
	struct host *h = &hosts[self], *peer = &hosts[!self];
	struct weft_qp_attr attr = { .peer = !self,
		.peer_qpn = peer->qpn,
		.pathset = h->set,
		.mpr_rx_psns = 1024,
		.mpr_tx_psns = 1024,
		.timeout_exp = 6,
		.linear_count = 7,
		.retry_count = 7 };
	struct weft_work work = {
		.data = h->sends, .len_bytes = BYTES, .rkey = peer->rkey, .remote_va = 0
	};

	CHECK(!weft_qp_move(h->qp, WEFT_QP_RTR, &attr, now_ps / 1000));
	CHECK(!weft_qp_move(h->qp, WEFT_QP_RTS, &attr, now_ps / 1000));
	CHECK(!weft_post_write(h->qp, &work));
}

static void depart(uint32_t self, const struct weft_pkt *pkt)
{
	uint16_t bytes = weft_frame_bytes(pkt, WEFT_ENCAP_SRV6_BYTES);
	uint64_t handle = handles[--n_handles];
	struct weft_frame frame = { .handle = handle };
	uint8_t addr[16];

	pkts[handle] = *pkt;
	pkts[handle].peer = self; /* whom it is from, for the receiver */
	weft_frame_of(&frame, pkt, bytes);
	CHECK(weft_topo_usid(topo, self, pkt->peer, pkt->ev, addr));
	frame.route = weft_frame_route(addr);
	CHECK(weft_network_send(
		network, self, pkt->port, &frame, bytes - WEFT_FRAME_ETHER_BYTES, now_ps));
	hosts[self].free_ps[pkt->port] = weft_network_line_free_ps(network, self, pkt->port);
}

static void arrive(const struct weft_network_out *out)
{
	struct weft_pkt *pkt = &pkts[out->frame.handle];
	struct weft_place place;

	handles[n_handles++] = out->frame.handle;
	lost += out->drop != WEFT_SWITCH_DROP_NONE;
	if (out->drop)
		return;
	struct host *h = &hosts[out->node];

	weft_frame_arrive(&out->frame, out->plane, pkt);
	weft_nic_input(&h->nic, pkt, now_ps, &place);
	if (place.len_bytes)
		memcpy(place.to, place.from, place.len_bytes);
	h->wake_ps = now_ps;
}

static void run_host(uint32_t self)
{
	struct host *h = &hosts[self];
	struct weft_done done;
	struct weft_pkt pkt;

	while (weft_nic_output(&h->nic, &pkt, now_ps))
		depart(self, &pkt);
	for (; weft_poll(h->ep, 0, &done, 1); h->done++)
		CHECK(done.status == WEFT_OK);
	h->wake_ps = weft_nic_next_ps(&h->nic, now_ps);
}

int main(void)
{
	struct weft_network_config config = { .frames = FRAMES, .seed = 1 };
	char error[256];
	struct weft_network_out out;

	CHECK(!weft_topo_open_text(&topo, fabric, strlen(fabric), "two", error, sizeof(error)));
	config.topo = topo;
	CHECK(!weft_network_open(&network, &config, error, sizeof(error)));
	while (n_handles < FRAMES) {
		handles[n_handles] = n_handles;
		n_handles++;
	}
	for (uint32_t link = 0; link < 2 * PLANES; link++) /* host by host, plane by plane */
		weft_network_link_loss(network, link, 1, LOSS_PPM);
	for (uint32_t i = 0; i < 2; i++)
		open_host(i);
	for (uint32_t i = 0; i < 2; i++)
		connect_host(i);
	while (!hosts[0].done || !hosts[1].done) {
		for (uint32_t i = 0; i < 2; i++) {
			if (hosts[i].wake_ps <= now_ps)
				run_host(i);
		}
		now_ps = weft_network_next_ps(network);
		for (uint32_t i = 0; i < 2; i++)
			now_ps = hosts[i].wake_ps < now_ps ? hosts[i].wake_ps : now_ps;
		weft_network_run(network, now_ps);
		while (weft_network_take(network, &out, 1))
			arrive(&out);
	}
	CHECK(!memcmp(hosts[0].sends, hosts[1].gets, BYTES));
	CHECK(!memcmp(hosts[1].sends, hosts[0].gets, BYTES));
	printf("2 x %d MiB in %.1f us, %u packets lost, every byte in its place\n", BYTES >> 20,
		(double)now_ps / 1e6, (unsigned)lost);
	return 0;
}
