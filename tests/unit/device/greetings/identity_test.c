/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A third host, and another process of the peer's host, say everything that can be said, by their
 * own true addresses: every kind of greeting, with every mixture of names and addresses, with and
 * without the random numbers that only the peer should know, to a device that knows the peer and to
 * one that does not yet, with a fabric file and without.  The peer itself says it without those
 * numbers, as a datagram of its earlier life would.  Whatever it is, nothing that the device knows
 * of the peer may change, and nobody but the one that said it may be answered.  The peer with the
 * right numbers must be believed: or nobody ever would.
 */
#include "datagrams/datagrams_local.h"
#include "greetings/greet_local.h"
#include "unit/device/pair.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <weft/topo.h>

enum { PEER, THIRD, HOSTS };
#define NUMBER(host) (1u + (host)) /* the device is process 0 */
#define UD_QPN(host) (NUMBER(host) << SLOT_BITS | 33u)
#define RC_QPN (NUMBER(PEER) << SLOT_BITS | 44u)
#define MEMBER (NUMBER(PEER) << SLOT_BITS | 33u)

static const uint8_t gid_a[16] = { 0xff, 0x12, [15] = 9 };
static const char *const plain[3][2] = { { "127.0.0.1", "127.0.1.1" }, { "127.0.0.2", "127.0.1.2" },
	{ "127.0.0.3", "127.0.1.3" } };
static const char fabric[] = "name: t\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: 4\nmtu: 4252\n"
			     "host_links: {speed: 1Gb/s, delay: 0ns}\n"
			     "core_links: {speed: 1Gb/s, delay: 0ns}\nbase_rtt: 250us\n";
static char path[] = "/tmp/weft-identity-test-XXXXXX";

struct world {
	bool has_file, is_known;
	uint8_t addr[3][2][16]; /* the device's, the peer's, the third host's */
	struct side *side;
	struct weft_dev_qp *rc;
	struct weft_dev *dev;
	struct contact *contact;
	int fd[HOSTS][2][HOSTS]; /* [whose][plane][as whose process] */
	uint64_t group_nonce, psn;
};

/* ---- a network with three hosts on lo ---- */

static void read_addresses(struct world *w)
{
	struct weft_topo *topo = NULL;
	char error[256], text[64], command[128];

	if (w->has_file)
		REQUIRE(!weft_topo_open(&topo, path, error, sizeof(error)));
	for (uint32_t host = 0; host < 3; host++)
		for (uint32_t p = 0; p < 2; p++) {
			if (topo) {
				weft_topo_host_addr(topo, host, p, w->addr[host][p]);
				inet_ntop(AF_INET6, w->addr[host][p], text, sizeof(text));
			} else {
				snprintf(text, sizeof(text), "%s", plain[host][p]);
				REQUIRE(weft_plane_address(text, w->addr[host][p]));
			}
			snprintf(command, sizeof(command), "ip addr replace %s/%u dev lo", text,
				topo ? 128 : 32);
			REQUIRE(shell(command));
		}
	if (topo)
		weft_topo_close(topo);
}

static struct weft_dev *open_device(const struct world *w)
{
	struct weft_dev_name name = { .name = "test0" };
	struct weft_dev *dev = NULL;
	char error[256] = "";

	setenv("WEFT_FABRIC", path, 1);
	setenv("WEFT_HOST", "h0", 1);
	if (!w->has_file)
		snprintf(name.planes, sizeof(name.planes), "%s,%s", plain[0][0], plain[0][1]);
	if (weft_dev_open(&dev, &name, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(dev);
	return dev;
}

static void open_sockets(struct world *w)
{
	for (uint32_t host = 0; host < HOSTS; host++)
		for (uint32_t p = 0; p < 2; p++)
			for (uint32_t as = 0; as < HOSTS; as++) {
				int fd = weft_inet_socket(SOCK_DGRAM);

				REQUIRE(fd >= 0);
				REQUIRE(!weft_inet_bind(fd, w->addr[host + 1][p],
					(uint16_t)(WEFT_DEV_PORT_BASE + NUMBER(as))));
				w->fd[host][p][as] = fd;
			}
}

/* ---- what can be said ---- */

/* All that the peer would say, from this host. */
static struct greet true_words(const struct world *w, uint8_t kind, uint32_t host)
{
	struct greet greet = { .kind = kind,
		.nonce = 99,
		.number = NUMBER(host),
		.end = w->dev->end,
		.qp = { .qpn = UD_QPN(host),
			.peer_qpn = w->side->qp->number,
			.eq_number = 0x4000,
			.psn = 5,
			.mpr_psns = 128,
			.profile = WEFT_DEV_DATAGRAM } };

	if (kind == GREET_PAIR || kind == GREET_PAIR_ANSWER || kind == GREET_WAIT) {
		greet.qp.qpn = RC_QPN;
		greet.qp.peer_qpn = w->rc->number;
		greet.qp.profile = WEFT_DEV_STRICT;
	}
	if (kind == GREET_GROUP || kind == GREET_GROUP_ANSWER) {
		memcpy(greet.group.gid, gid_a, 16);
		greet.group.n = 1;
		greet.group.qpn[0] = MEMBER;
	}
	greet.end.udp_port = (uint16_t)(5000 + host);
	greet.end.src_port[0] = (uint16_t)(6000 + host);
	greet.end.n_src_ports = 1;
	snprintf(greet.end.host, sizeof(greet.end.host), w->has_file ? "h%u" : "plain", host + 1);
	memcpy(greet.end.addr, w->addr[host + 1], sizeof(w->addr[0]));
	return greet;
}

static uint64_t right_echo(const struct world *w, uint8_t kind)
{
	switch (kind) {
	case GREET_HELLO:
	case GREET_HELLO_ANSWER:
		return w->contact->nonce;
	case GREET_PAIR_ANSWER:
	case GREET_WAIT:
		return w->rc->nonce;
	case GREET_GROUP_ANSWER:
		return w->group_nonce;
	default:
		return 12345;
	}
}

static void say(const struct world *w, int fd, const struct greet *greet)
{
	uint8_t bytes[GREET_BYTES_MAX];
	struct sockaddr_in6 name;
	socklen_t name_bytes = sizeof(name);

	CHECK_EQ(getsockname(fd, (struct sockaddr *)&name, &name_bytes), 0);
	CHECK(weft_inet_send(fd, (const uint8_t *)&name.sin6_addr, w->addr[0][0],
		      (uint16_t)(WEFT_DEV_PORT_BASE + w->dev->number), bytes,
		      greet_encode(greet, bytes)) > 0);
}

/* ---- the device, and the peer that it talks to ---- */

/* The peer's answer to one of the device's questions. */
static void answer(struct world *w, uint32_t plane, const struct greet *asked)
{
	uint8_t kind = asked->kind == GREET_HELLO   ? GREET_HELLO_ANSWER
		       : asked->kind == GREET_PAIR  ? GREET_PAIR_ANSWER
		       : asked->kind == GREET_GROUP ? GREET_GROUP_ANSWER
		       : asked->kind == GREET_PLANE ? GREET_PLANE_ANSWER
						    : 0;
	struct greet greet = true_words(w, kind, PEER);

	if (asked->kind == GREET_GROUP)
		w->group_nonce = asked->nonce;
	if (!kind || (!w->is_known && kind != GREET_PLANE_ANSWER))
		return;
	greet.echo = asked->nonce;
	say(w, w->fd[PEER][plane][PEER], &greet);
}

/* Until the peer is known in all ways, or has been asked in all of them. */
static bool is_ready(struct world *w)
{
	if (!w->contact || !w->group_nonce || !w->rc->nonce)
		return false;
	return !w->is_known || (w->contact->known && w->rc->connected &&
				       group_has(w->dev, gid_a, w->addr[1][0], MEMBER));
}

static void meet_peer(struct world *w)
{
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);
	bool ready = false;

	while (!ready && weft_clock_now(NULL) < limit_ns) {
		struct sockaddr_in6 from;
		uint8_t bytes[GREET_BYTES_MAX];
		struct greet asked;
		ssize_t n;

		weft_lock_take(&w->dev->lock);
		w->contact = contact_take(w->dev, w->side->qp->number, w->addr[1][0], UD_QPN(PEER));
		for (uint32_t p = 0; p < 2; p++)
			while ((n = weft_inet_recv(
					w->fd[PEER][p][PEER], bytes, sizeof(bytes), &from)) > 0)
				if (greet_decode(bytes, (size_t)n, &asked))
					answer(w, p, &asked);
		greet_read(w->dev);
		ready = is_ready(w);
		weft_lock_give(&w->dev->lock);
		weft_clock_sleep(1000000);
	}
	CHECK(ready);
}

static void open_queue_pairs(struct world *w)
{
	struct weft_dev_qp_attr attr = { .state = WEFT_DEV_RTR, .peer_qpn = RC_QPN };
	struct side *s = w->side;

	side_open_qp(s, WEFT_DEV_STRICT, NULL);
	side_init(s);
	memcpy(attr.gid, w->addr[1][0], 16);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr,
			 WEFT_DEV_SET_STATE | WEFT_DEV_SET_PEER | WEFT_DEV_SET_PEER_QPN),
		0);
	w->rc = s->qp;
	side_open_qp(s, WEFT_DEV_DATAGRAM, NULL);
	side_init(s);
	CHECK_EQ(weft_dev_qp_modify(s->qp, &attr, WEFT_DEV_SET_STATE), 0);
}

static void world_open(struct world *w)
{
	struct weft_dev_ah *ah;

	read_addresses(w);
	w->dev = open_device(w);
	w->side = side_open_on(w->dev);
	open_queue_pairs(w);
	open_sockets(w);
	/* Without a file a host is asked for members when it is known for something else. */
	CHECK_EQ(weft_dev_group_join(w->side->qp, gid_a), 0);
	CHECK_EQ(weft_dev_ah_open(w->side->pd, gid_a, &ah), 0);
	CHECK_EQ(weft_dev_ah_close(ah), 0);
	meet_peer(w);
}

static void world_close(struct world *w)
{
	for (uint32_t host = 0; host < HOSTS; host++)
		for (uint32_t p = 0; p < 2; p++)
			for (uint32_t as = 0; as < HOSTS; as++)
				close(w->fd[host][p][as]);
	CHECK_EQ(weft_dev_group_leave(w->side->qp, gid_a), 0);
	CHECK_EQ(weft_dev_qp_close(w->rc), 0);
	side_close(w->side);
}

/* ---- what must not change ---- */

struct memory { /* what the device knows of the peer; without padding, to be compared */
	uint32_t is_known, connected, in_group, eq_number, psn, rc_eq_number, n_contacts, udp_port;
	uint64_t nonce, rc_nonce, heard_ns;
};

static struct memory remember(struct world *w)
{
	const struct contact *contact =
		contact_find(w->dev, w->side->qp->number, w->addr[1][0], UD_QPN(PEER));
	struct memory m = { 0 };

	if (contact)
		m = (struct memory){ .is_known = contact->known,
			.eq_number = contact->eq_number,
			.psn = contact->psn,
			.udp_port = contact->end.udp_port,
			.nonce = contact->nonce };
	m.connected = w->rc->connected;
	m.rc_eq_number = w->rc->peer_eq_number;
	m.rc_nonce = w->rc->nonce;
	m.heard_ns = w->rc->heard_ns;
	m.in_group = group_has(w->dev, gid_a, w->addr[1][0], MEMBER);
	for (uint32_t i = 0; i < CONTACTS_MAX; i++) {
		const struct contact *c = &w->dev->datagrams.contacts[i];

		m.n_contacts += c->in_use && !memcmp(c->gid, w->addr[1][0], 16) &&
				c->qpn >> SLOT_BITS == NUMBER(PEER);
		/* Nothing may go to the peer that is not for it. */
		for (uint32_t p = 0; c->known && p < 2; p++)
			CHECK(!memcmp(c->gid, w->addr[1][0], 16) || c->end.absent >> p & 1 ||
				memcmp(c->end.addr[p], w->addr[1][p], 16));
	}
	return m;
}

/* How many greetings the peer has in its sockets; questions about its planes are none of these. */
static unsigned hears(const struct world *w)
{
	unsigned heard = 0;
	uint8_t bytes[GREET_BYTES_MAX];
	struct sockaddr_in6 from;
	struct greet greet;
	ssize_t n;

	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t as = 0; as < HOSTS; as++)
			while ((n = weft_inet_recv(
					w->fd[PEER][p][as], bytes, sizeof(bytes), &from)) > 0)
				heard += greet_decode(bytes, (size_t)n, &greet) &&
					 greet.kind != GREET_PLANE;
	return heard;
}

struct row { /* what is claimed, and by which of the sockets */
	uint32_t kind, first, second, home, name, number, qpn, host, plane, port, echo;
};

static void try_row(struct world *w, const struct row *row)
{
	struct greet greet = true_words(w, (uint8_t)row->kind, PEER);
	struct memory before = remember(w), after;

	memcpy(greet.end.addr[0], w->addr[row->first + 1][0], 16);
	memcpy(greet.end.addr[1], w->addr[row->second + 1][1], 16);
	greet.end.home = row->home;
	if (w->has_file)
		snprintf(greet.end.host, sizeof(greet.end.host), "h%u", row->name + 1);
	greet.number = NUMBER(row->number);
	greet.end.src_port[0] = (uint16_t)(6000 + row->number); /* no two processes share one */
	if (row->qpn == THIRD)
		greet.qp.qpn = UD_QPN(THIRD);
	greet.end.udp_port = 5555; /* where it would like to have the peer's packets */
	greet.qp.eq_number = 0x7000;
	greet.group.n = 0; /* "I am not in it", or, where the peer is not: */
	if (!w->is_known) {
		greet.group.n = 1;
		greet.group.qpn[0] = MEMBER;
	}
	greet.echo = row->echo ? right_echo(w, greet.kind) : 0;
	if (row->echo == 2)
		greet.echo = identity_challenge(w->dev, &greet);
	w->dev->greetings.second_ns = 0; /* no limit: this is not a test of that */
	memset(&w->dev->greetings.sources, 0, sizeof(w->dev->greetings.sources));
	say(w, w->fd[row->host][row->plane][row->port], &greet);
	greet_read(w->dev); /* by loopback it is there */
	after = remember(w);
	bool is_heard = hears(w) && row->host == THIRD;

	if (memcmp(&before, &after, sizeof(before)) != 0 || is_heard)
		CHECK_FAIL("file %d, known %d, kind %u, addresses %u and %u, home %u, host %u, "
			   "number %u, "
			   "QPN of %u, from host %u, plane %u and port of %u, echo %u",
			w->has_file, w->is_known, row->kind, row->first, row->second, row->home,
			row->name, row->number, row->qpn, row->host, row->plane, row->port,
			row->echo);
}

static void try_all(struct world *w)
{
	for (uint32_t i = 0; i < 512 * 3 * (GREET_KINDS - 1); i++) {
		struct row row = { .kind = 1 + i / (512 * 3),
			.first = i & 1,
			.second = i >> 1 & 1,
			.name = i >> 2 & 1,
			.number = i >> 3 & 1,
			.plane = i >> 4 & 1,
			.port = i >> 5 & 1,
			.qpn = i >> 6 & 1,
			.host = i >> 7 & 1,
			.home = i >> 8 & 1,
			.echo = i / 512 % 3 };

		if (row.host != PEER || row.port != PEER || !row.echo)
			try_row(w, &row);
	}
}

TEST(identity_is__lets_nobody_speak_for_another_host)
{
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && write(fd, fabric, sizeof(fabric) - 1) == sizeof(fabric) - 1);
	close(fd);
	netns_enter();
	shell("ip link set lo up");
	setenv("WEFT_VIA", "udp", 1);
	for (unsigned i = 0; i < 4; i++) {
		struct world w = { .has_file = i & 1, .is_known = i & 2 };

		world_open(&w);
		weft_lock_take(&w.dev->lock);
		weft_clock_sleep(1000000);
		greet_read(w.dev);
		(void)hears(&w); /* what was under way */
		try_all(&w);
		weft_lock_give(&w.dev->lock);
		/* And the peer itself is believed, still. */
		w.is_known = true;
		meet_peer(&w);
		world_close(&w);
	}
	unlink(path);
}

/* The plane that names a host is dead: another will do, if it has been shown to be the host's. */
TEST(identity_is__knows_a_host_by_any_plane_that_it_has_proven)
{
	struct world w = { .is_known = true };
	struct sockaddr_in6 from;
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);
	uint8_t bytes[GREET_BYTES_MAX];
	bool by[2] = { false, false };
	struct greet greet;
	uint32_t plane;

	setenv("WEFT_VIA", "udp", 1);
	world_open(&w);
	weft_lock_take(&w.dev->lock);
	greet = true_words(&w, GREET_PAIR, PEER);
	CHECK(identity_is(w.dev, &greet, w.addr[1][1], NUMBER(PEER), &plane));
	CHECK_EQ(plane, 1);
	memcpy(greet.end.addr[1], w.addr[2][1], 16); /* the third host's, which has shown nothing */
	CHECK(!identity_is(w.dev, &greet, w.addr[2][1], NUMBER(PEER), &plane));
	greet = true_words(&w, GREET_PAIR, PEER);
	greet.number = NUMBER(THIRD); /* another process, which has not, either */
	greet.qp.qpn = NUMBER(THIRD) << SLOT_BITS | 5u;
	CHECK(!identity_is(w.dev, &greet, w.addr[1][1], NUMBER(THIRD), &plane));
	/* And it is asked by both. */
	(void)hears(&w);
	for (uint32_t try = 0; !(by[0] && by[1]) && weft_clock_now(NULL) < limit_ns; try++) {
		struct greet question = { .kind = GREET_WAIT,
			.qp = { .mpr_psns = WEFT_MPR_UNIT_PSNS } };

		greet_send_to(w.dev, w.addr[1][0], NUMBER(PEER), try, &question);
		for (uint32_t p = 0; p < 2; p++)
			while (weft_inet_recv(w.fd[PEER][p][PEER], bytes, sizeof(bytes), &from) > 0)
				by[p] = by[p] || !memcmp(&from.sin6_addr, w.addr[0][p], 16);
	}
	CHECK(by[0] && by[1]);
	weft_lock_give(&w.dev->lock);
	world_close(&w);
}

/* The plane that is named first is not there: the device is known by another one. */
static void check_home(const char *planes)
{
	struct weft_dev_name name = { .name = "test0" };
	struct side *s[2];
	uint8_t gid[16], home[16];
	char error[256] = "";

	netns_enter();
	snprintf(name.planes, sizeof(name.planes), "%s", planes);
	REQUIRE(weft_plane_address("127.0.0.1", home));
	for (unsigned i = 0; i < 2; i++) {
		struct weft_dev *dev = NULL;

		if (weft_dev_open(&dev, &name, error, sizeof(error)))
			CHECK_FAIL("%s", error);
		REQUIRE(dev);
		s[i] = side_open_on(dev);
		side_open_qp(s[i], WEFT_DEV_STRICT, NULL);
		side_init(s[i]);
		weft_dev_gid(dev, gid);
		CHECK_MEM(gid, home, 16);
	}
	side_ready(s[0], s[1]);
	side_ready(s[1], s[0]);
	CHECK_EQ(side_post(s[0],
			 (struct weft_dev_send){ .id = 3,
				 .op = WEFT_DEV_WRITE,
				 .flags = WEFT_DEV_SIGNALED,
				 .remote_va = (uintptr_t)s[1]->memory,
				 .rkey = weft_dev_mr_key(s[1]->mr) },
			 0, 64),
		0);
	CHECK_EQ(side_wait(s[0]).status, WEFT_DEV_OK);
	side_close(s[0]);
	side_close(s[1]);
}

TEST(weft_dev_open__is_known_by_a_plane_that_is_there)
{
	check_home("10.66.9.1,127.0.0.1");
	check_home("nosuchif0,127.0.0.1,nosuchif1");
}

/* Who meets it from then on is told of the plane. */
TEST(device_find_planes__takes_an_interface_when_it_has_an_address)
{
	static const uint8_t later[16] = { [10] = 0xff, 0xff, 10, 66, 0, 1 };
	uint64_t limit_ns = weft_clock_now(NULL) + LIMIT_S * UINT64_C(1000000000);
	struct weft_dev_name name = { .name = "test0", .planes = "127.0.0.1,u7" };
	struct weft_dev *dev = NULL;
	char error[256] = "";

	netns_enter();
	shell("ip link set lo up");
	if (weft_dev_open(&dev, &name, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	REQUIRE(dev);
	CHECK_EQ(dev->planes_up, 1);
	CHECK(weft_inet_is_none(dev->end.addr[1]));
	if (!shell("ip link add u7 type veth peer name x7"))
		SKIP("no veth here");
	shell("ip link set u7 up; ip link set x7 up; ip addr add 10.66.0.1/24 dev u7");
	weft_lock_take(&dev->lock);
	while (dev->planes_up != 3 && weft_clock_now(NULL) < limit_ns) {
		(void)run_once(dev);
		weft_clock_sleep(1000000);
	}
	CHECK_EQ(dev->planes_up, 3);
	CHECK_MEM(dev->end.addr[1], later, 16);
	weft_lock_give(&dev->lock);
	CHECK_EQ(weft_dev_close(dev), 0);
	shell("ip link del u7");
}
