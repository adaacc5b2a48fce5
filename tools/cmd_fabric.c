/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric - what a fabric file says, for people.
 *
 * `check` prints nothing but the verdict, so that it can stand in a commit hook.  `paths`, `names`
 * and `table` print what `topo` computes and nothing made up here: what is seen is what the sender
 * and the switches use.
 */
#include "human.h"
#include "term.h"
#include "commands.h"

#include <weft/topo.h>

#include <arpa/inet.h>
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>

struct arguments {
	const char *words[4];
	unsigned n, wanted;
	bool all;
};

static error_t parse_argument(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->n == a->wanted)
			argp_usage(state);
		a->words[a->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->n < a->wanted)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Reads the arguments and opens the fabric of the first; NULL: already told why not. */
static struct weft_topo *open_fabric(int argc, char **argv, struct arguments *a, unsigned wanted,
	const char *words, const char *doc)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "list every path, not the first 64", 0 },
		{ 0 },
	};
	struct argp argp = { options, parse_argument, words, doc, NULL, NULL, NULL };
	struct weft_topo *topo;
	char error[512];

	*a = (struct arguments){ .wanted = wanted };
	if (argp_parse(&argp, argc, argv, 0, NULL, a))
		return NULL;
	if (!weft_topo_open(&topo, a->words[0], error, sizeof(error)))
		return topo;
	fprintf(stderr, "%s\n", error);
	return NULL;
}

static int check(int argc, char **argv)
{
	struct arguments a;
	struct weft_topo *topo = open_fabric(
		argc, argv, &a, 1, "FILE", "Check a fabric file; silent when it is good.");

	weft_topo_close(topo);
	return topo ? EXIT_OK : EXIT_FAILED;
}

static int show(int argc, char **argv)
{
	struct arguments a;
	struct weft_topo *topo =
		open_fabric(argc, argv, &a, 1, "FILE", "What a fabric file adds up to.");
	char speed[2][HUMAN_MAX], count[4][HUMAN_MAX], rtt[HUMAN_MAX];

	if (!topo)
		return EXIT_FAILED;
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	uint32_t far = s->hosts - 1;

	printf("%s: %" PRIu32 " plane%s x (%" PRIu32 " T0 + %" PRIu32 " T1), %s hosts\n", s->name,
		s->planes, s->planes == 1 ? "" : "s", s->t0s, s->t1s,
		human_count(count[0], s->hosts));
	printf("  host links  %s x %s, %" PRIu32 " ns one way, %" PRIu32 " hosts per T0\n",
		human_count(count[0], (uint64_t)s->hosts * s->planes),
		human_rate(speed[0], s->host_bps), s->host_delay_ns, s->hosts_per_t0);
	printf("  core links  %s x %s, %" PRIu32 " ns one way, %" PRIu32 " uplinks per T0\n",
		human_count(count[1], s->links - (uint64_t)s->hosts * s->planes),
		human_rate(speed[1], s->core_bps), s->core_delay_ns, s->uplinks);
	printf("  switches    %s, ports: T0 %" PRIu32 ", T1 %" PRIu32 "\n",
		human_count(count[2], (uint64_t)s->nodes - s->hosts), s->hosts_per_t0 + s->uplinks,
		s->t0s * s->parallel);
	printf("  paths       %s between hosts below %s\n",
		human_count(count[3], weft_topo_paths(topo, 0, far)),
		s->hosts_per_t0 > far ? "one T0" : "different T0s");
	printf("  MTU %" PRIu32 ", UDP port %u, base RTT %s\n", s->mtu_bytes, s->udp_port,
		human_ns(rtt, s->base_rtt_ns));
	if (s->behavior == WEFT_USID_UA)
		printf("  uSID        uA: 3 bits type, %u plane, %u port\n", s->plane_bits,
			s->index_bits - 1);
	else
		printf("  uSID        uN: 2 bits type, %u plane, %u index\n", s->plane_bits,
			s->index_bits);
	weft_topo_close(topo);
	return EXIT_OK;
}

static void print_path(
	const struct weft_topo *topo, uint32_t src, uint32_t dst, uint32_t ev, struct table *table)
{
	char address[INET6_ADDRSTRLEN], nodes[4][WEFT_TOPO_NAME_BYTES];
	uint8_t usid[16];
	uint32_t links[4], at = src;
	size_t n = weft_topo_path_links(topo, src, dst, ev, links);

	if (!n || !weft_topo_usid(topo, src, dst, ev, usid))
		return;
	for (size_t i = 0; i < n; i++) {
		struct weft_link l = weft_topo_link(topo, links[i]);

		at = l.node[0] == at ? l.node[1] : l.node[0];
		weft_topo_node_name(topo, at, nodes[i], sizeof(nodes[i]));
	}
	table_add(table, "0x%08" PRIx32, ev);
	table_add(table, "%s", inet_ntop(AF_INET6, usid, address, sizeof(address)));
	table_add(table, "%s", nodes[0]);
	table_add(table, "%s", n == 4 ? nodes[1] : "-");
	table_add(table, "%s", n == 4 ? nodes[2] : "-");
}

static uint32_t find_host(const struct weft_topo *topo, const char *name)
{
	uint32_t node = weft_topo_node_find(topo, name);

	if (node < weft_topo_shape(topo)->hosts)
		return node;
	fprintf(stderr, "no host '%s' in this fabric\n", name);
	return WEFT_TOPO_NONE;
}

static int paths(int argc, char **argv)
{
	struct arguments a;
	struct weft_topo *topo = open_fabric(argc, argv, &a, 3, "FILE SRC DST",
		"Every path from host SRC to host DST: its EV and the address that takes it.");
	struct table table;
	struct term term;
	int result = EXIT_FAILED;

	if (!topo)
		return EXIT_FAILED;
	uint32_t src = find_host(topo, a.words[1]), dst = find_host(topo, a.words[2]);
	if (src == WEFT_TOPO_NONE || dst == WEFT_TOPO_NONE)
		goto out;
	if (src == dst) {
		fprintf(stderr, "from %s to itself no path leads over the fabric\n", a.words[1]);
		goto out;
	}
	uint32_t total = weft_topo_paths(topo, src, dst);
	uint32_t n = total > 64 && !a.all ? 64 : total, found = 0;
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	term_open(&term, stdout);
	table_begin(&table, "lllll");
	table_add(&table, "EV");
	table_add(&table, "destination address");
	table_add(&table, "T0");
	table_add(&table, "T1");
	table_add(&table, "T0");
	for (uint32_t i = 0; i < s->planes * (s->uplinks ? s->uplinks : 1) && found < n; i++) {
		uint32_t per_plane = s->uplinks ? s->uplinks : 1, links[4];
		uint32_t ev = weft_ev(i / per_plane, i % per_plane);

		if (!weft_topo_path_links(topo, src, dst, ev, links))
			continue;
		print_path(topo, src, dst, ev, &table);
		found++;
	}
	table_print(&table, &term);
	if (n < total)
		printf("... and %" PRIu32 " more (--all)\n", total - n);
	result = EXIT_OK;
out:
	weft_topo_close(topo);
	return result;
}

static void add_route(const struct weft_topo *topo, uint32_t node, const struct weft_route *r,
	struct table *table)
{
	static const char *const kinds[] = {
		[WEFT_ROUTE_END] = "own uSID: shift",
		[WEFT_ROUTE_UA] = "own link's uSID: shift",
		[WEFT_ROUTE_LOCAL] = "deliver",
		[WEFT_ROUTE_USID] = "next uSID",
		[WEFT_ROUTE_HOST] = "host address",
	};
	char address[INET6_ADDRSTRLEN], link[WEFT_TOPO_NAME_BYTES] = "-";

	if (r->ports)
		weft_topo_link_name(
			topo, weft_topo_port_link(topo, node, r->port), link, sizeof(link));
	table_add(table, "%s/%" PRIu32, inet_ntop(AF_INET6, r->prefix, address, sizeof(address)),
		r->prefix_bits);
	table_add(table, "%s", kinds[r->kind]);
	if (r->ports > 1)
		table_add(table, "%s and %" PRIu32 " more", link, r->ports - 1);
	else
		table_add(table, "%s", link);
}

static int table(int argc, char **argv)
{
	struct arguments a;
	struct weft_topo *topo = open_fabric(argc, argv, &a, 2, "FILE NODE",
		"The static table of a switch (p0.t0-1, p3.t1-0) or host (h2).");
	struct weft_route route;
	struct table table;
	struct term term;

	if (!topo)
		return EXIT_FAILED;
	uint32_t node = weft_topo_node_find(topo, a.words[1]);
	if (node == WEFT_TOPO_NONE) {
		fprintf(stderr, "no host or switch '%s' in this fabric\n", a.words[1]);
		weft_topo_close(topo);
		return EXIT_FAILED;
	}
	term_open(&term, stdout);
	table_begin(&table, "lll");
	table_add(&table, "prefix");
	table_add(&table, "what");
	table_add(&table, "link");
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		if (route.kind != WEFT_ROUTE_NONE)
			add_route(topo, node, &route, &table);
	}
	table_print(&table, &term);
	weft_topo_close(topo);
	return EXIT_OK;
}

static void print_hex(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

/* What a switch's own table can name: itself, and whom its links lead to. */
static void name_switch(const struct weft_topo *topo, uint32_t node)
{
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	char name[WEFT_TOPO_NAME_BYTES], next[WEFT_TOPO_NAME_BYTES];
	struct weft_route r;

	weft_topo_node_name(topo, node, name, sizeof(name));
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &r); i++) {
		if (r.kind == WEFT_ROUTE_END) {
			printf("usid ");
			print_hex(r.prefix, 6);
			printf(" %s\n", name);
		}
		if (r.kind != WEFT_ROUTE_USID && r.kind != WEFT_ROUTE_UA)
			continue;
		struct weft_link l = weft_topo_link(topo, weft_topo_port_link(topo, node, r.port));
		uint32_t to = l.node[0] == node ? l.node[1] : l.node[0];

		if (r.kind == WEFT_ROUTE_USID && to >= s->hosts)
			continue; /* a switch's uSID names it wherever it is read */
		weft_topo_node_name(topo, to, next, sizeof(next));
		printf("next %s %02x%02x %s\n", name, r.prefix[4], r.prefix[5], next);
	}
}

/*
 * For programs that see addresses and want names: tools/wireshark/mrc_names.lua.  Bytes are hex,
 * because such a program compares bytes; one fact a line, so that it need not know the uSID plan.
 */
static int names(int argc, char **argv)
{
	struct arguments a;
	struct weft_topo *topo = open_fabric(argc, argv, &a, 1, "FILE",
		"Every name behind an address, for programs: Wireshark's preference mrc.names.");
	char host_name[WEFT_TOPO_NAME_BYTES], t0[WEFT_TOPO_NAME_BYTES];
	uint8_t address[16];

	if (!topo)
		return EXIT_FAILED;
	const struct weft_topo_shape *s = weft_topo_shape(topo);

	printf("# weft fabric names: %s\n", s->name);
	for (uint32_t node = s->hosts; node < s->nodes; node++)
		name_switch(topo, node);
	for (uint32_t host = 0; host < s->hosts; host++) {
		weft_topo_node_name(topo, host, host_name, sizeof(host_name));
		for (uint32_t plane = 0; plane < s->planes; plane++) {
			weft_topo_host_addr(topo, host, plane, address);
			weft_topo_node_name(
				topo, weft_topo_host_t0(topo, host, plane), t0, sizeof(t0));
			printf("host ");
			print_hex(address, sizeof(address));
			printf(" %s %s\n", host_name, t0);
		}
	}
	weft_topo_close(topo);
	return EXIT_OK;
}

int cmd_fabric(int argc, char **argv)
{
	static const struct verb verbs[] = {
		{ "check", "FILE: say whether it is a good fabric file", check },
		{ "show", "FILE: what it adds up to", show },
		{ "paths", "FILE SRC DST: every path of a pair", paths },
		{ "names", "FILE: every name behind an address, for programs", names },
		{ "table", "FILE NODE: what a switch or host must know", table },
		{ NULL, NULL, NULL },
	};

	return verb_run(argv[0], "check and read a fabric file", verbs, argc, argv);
}
