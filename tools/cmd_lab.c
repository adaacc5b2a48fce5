/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab - the emulated fabric from the command line.
 *
 * Thin on purpose: what a verb does is one call of <weft/lab.h>, so that scripts and programs
 * see the same lab.  `--name` is never needed while only one lab is up.
 */
#include "human.h"
#include "term.h"
#include "commands.h"

#include <weft/lab.h>
#include <weft/yaml.h>

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIDS_MAX 1024

struct arguments {
	const char *name, *words[2];
	unsigned n, wanted, wanted_max;
	char **command; /* of run: what follows the host */
	struct weft_lab_options up;
	bool json, sids;
	uint64_t for_ns, to_bps;
	uint32_t loss_ppm, way;
};

enum { OPTION_OFFLOADS = 256, OPTION_JSON, OPTION_FOR, OPTION_FABRIC, OPTION_SIDS, OPTION_TO };

static bool read_rate(const char *text, uint64_t *bps)
{
	if (!strcmp(text, "none")) {
		*bps = WEFT_LAB_RATE_NONE;
		return true;
	}
	return human_read_rate(text, bps) && *bps >= WEFT_TOPO_BPS_MIN &&
	       *bps <= WEFT_TOPO_FREE_BPS;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'n':
		a->name = a->up.name = arg;
		return 0;
	case 'r':
		if (!read_rate(arg, &a->up.rate_bps))
			argp_error(state, "--rate %s: wants 1Mb/s to 400Gb/s, or none", arg);
		return 0;
	case OPTION_OFFLOADS:
		a->up.offloads = true;
		return 0;
	case OPTION_SIDS:
		a->sids = true;
		return 0;
	case OPTION_FABRIC:
		if (!weft_lab_switches_find(arg, &a->up.switches))
			argp_error(state, "--fabric %s: wants soft, kernel or xdp", arg);
		return 0;
	case OPTION_JSON:
		a->json = true;
		return 0;
	case OPTION_FOR:
		if (!human_read_ns(arg, &a->for_ns))
			argp_error(state, "--for %s: wants a time, like 500ms or 2s", arg);
		return 0;
	case OPTION_TO:
		if (!read_rate(arg, &a->to_bps) || a->to_bps == WEFT_LAB_RATE_NONE)
			argp_error(state, "--to %s: wants 1Mb/s to 400Gb/s", arg);
		return 0;
	case 'p':
		if (!human_read_percent(arg, &a->loss_ppm) || !a->loss_ppm)
			argp_error(state,
				"--percent %s: wants more than 0, up to 100, in steps of 0.0001",
				arg);
		return 0;
	case 'w':
		if (!weft_way_parse(arg, &a->way))
			argp_error(state, "--way %s: wants up, down or both", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (a->n == a->wanted_max)
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

/* clang-format off */
#define OPTION_NAME { "name", 'n', "NAME", 0, "which lab (default: the only one)", 0 }
static const struct argp_option up_options[] = {
	{ "name", 'n', "NAME", 0, "what to call it (default: the fabric's name)", 0 },
	{ "rate", 'r', "RATE", 0, "rate of every link, 1Gb/s, or none (default: the file's)", 0 },
	{ "fabric", OPTION_FABRIC, "KIND", 0, "who forwards: soft (default), kernel or xdp", 0 },
	{ "offloads", OPTION_OFFLOADS, NULL, 0, "leave checksum and segmentation offload on", 0 },
	{ 0 },
};
static const struct argp_option name_options[] = { OPTION_NAME, { 0 } };
static const struct argp_option status_options[] = {
	OPTION_NAME,
	{ "json", OPTION_JSON, NULL, 0, "for programs", 0 },
	{ "sids", OPTION_SIDS, NULL, 0, "packets that each switch steered, by its own uSIDs", 0 },
	{ 0 },
};
static const struct argp_option fault_options[] = {
	OPTION_NAME,
	{ "for", OPTION_FOR, "TIME", 0, "ends by itself, 500ms (default: when undone)", 0 },
	{ "percent", 'p', "P", 0, "how much is lost or spoilt (default: 100)", 0 },
	{ "to", OPTION_TO, "RATE", 0, "how slow, 10Mb/s", 0 },
	{ "way", 'w', "WAY", 0, "up (from the hosts), down or both (default)", 0 },
	{ 0 },
};
/* clang-format on */

/* True: go on. */
static bool parse(int argc, char **argv, const struct argp_option *options, unsigned wanted,
	unsigned wanted_max, const char *words, const char *doc, struct arguments *a)
{
	struct argp argp = { options, parse_option, words, doc, NULL, NULL, NULL };

	*a = (struct arguments){ .wanted = wanted,
		.wanted_max = wanted_max,
		.loss_ppm = 1000000,
		.way = WEFT_WAY_UNSAID };
	return !argp_parse(&argp, argc, argv, 0, NULL, a);
}

static int tell(const char *error)
{
	fprintf(stderr, "weft lab: %s\n", error);
	return EXIT_FAILED;
}

static int up(int argc, char **argv)
{
	struct arguments a;
	char error[512];

	if (!parse(argc, argv, up_options, 1, 1, "FILE",
		    "Build the fabric of FILE out of network namespaces.", &a))
		return EXIT_USAGE;
	struct weft_topo *topo;
	a.up.fabric = a.words[0];
	if (weft_topo_open(&topo, a.up.fabric, error, sizeof(error)))
		return tell(error);
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	int result = weft_lab_up(&a.up, error, sizeof(error)) ? tell(error) : EXIT_OK;
	if (result == EXIT_OK)
		printf("lab %s is up: %" PRIu32 " hosts, %" PRIu32 " switches, %" PRIu32 " links\n",
			a.name ? a.name : s->name, s->hosts, s->nodes - s->hosts, s->links);
	weft_topo_close(topo);
	return result;
}

static int down(int argc, char **argv)
{
	struct arguments a;
	struct weft_lab *lab;
	char error[512];

	if (!parse(argc, argv, name_options, 0, 0, "", "Take the lab down and end what runs in it.",
		    &a))
		return EXIT_USAGE;
	if (weft_lab_open(&lab, a.name, error, sizeof(error)))
		return tell(error);
	int result = weft_lab_down(lab, error, sizeof(error)) ? tell(error) : EXIT_OK;
	weft_lab_close(lab);
	return result;
}

static int list(int argc, char **argv)
{
	char names[64][WEFT_TOPO_NAME_BYTES];
	struct arguments a;

	if (!parse(argc, argv, NULL, 0, 0, "", "Names of the labs that are up.", &a))
		return EXIT_USAGE;
	char error[256];
	int n = weft_lab_list(names, 64, error, sizeof(error));

	if (n < 0) {
		fprintf(stderr, "weft lab list: %s\n", error);
		return EXIT_FAILED;
	}
	for (int i = 0; i < n; i++)
		printf("%s\n", names[i]);
	return EXIT_OK;
}

/* So that `weft lab run h0 -- weft ...` finds this very program, wherever it was called from. */
static void find_self(void)
{
	const char *path = getenv("PATH");
	char self[4096], all[8192];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;

	if (!slash || slash == self)
		return;
	*slash = 0;
	/* Last: whoever has a program of that name in PATH means it. */
	int length = snprintf(all, sizeof(all), "%s%s%s", path ? path : "", path ? ":" : "", self);
	if (length > 0 && (size_t)length < sizeof(all))
		(void)setenv("PATH", all, 1);
}

static int run(int argc, char **argv)
{
	struct arguments a;
	struct weft_lab *lab;
	char error[512];
	char **command = verb_command(&argc, argv);

	if (!parse(argc, argv, name_options, 1, 1, "HOST -- COMMAND...",
		    "Run a command in a host's (or switch's) network.", &a))
		return EXIT_USAGE;
	if (!command) {
		fprintf(stderr, "weft lab run: wants HOST -- COMMAND...\n");
		return EXIT_USAGE;
	}
	if (weft_lab_open(&lab, a.name, error, sizeof(error)))
		return tell(error);
	uint32_t node = weft_topo_node_find(weft_lab_topo(lab), a.words[0]);
	if (node == WEFT_TOPO_NONE) {
		snprintf(error, sizeof(error), "no host or switch '%s' in lab %s", a.words[0],
			weft_lab_name(lab));
	}
	bool is_inside = node != WEFT_TOPO_NONE && !weft_lab_enter(lab, node, error, sizeof(error));
	char why[512];

	/* Where mounting is forbidden, programs still run: addresses do what names would. */
	if (is_inside && weft_lab_use_names(lab, node, why, sizeof(why)))
		fprintf(stderr, "weft lab run: without %s\n", why);
	weft_lab_close(lab);
	if (!is_inside)
		return tell(error);
	find_self();
	execvp(command[0], command);
	fprintf(stderr, "weft lab run: %s: %s\n", command[0], strerror(errno));
	return 127;
}

/* ---- status ---- */

static json_t *end_json(const struct weft_topo *topo, const struct weft_link *l, unsigned e,
	const struct weft_lab_end_stats *s)
{
	char name[WEFT_TOPO_NAME_BYTES];

	weft_topo_node_name(topo, l->node[e], name, sizeof(name));
	return json_pack("{s:s, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "node", name,
		"up", s->up, "carrier", s->carrier, "tx_packets", (json_int_t)s->tx_packets,
		"tx_bytes", (json_int_t)s->tx_bytes, "tx_dropped", (json_int_t)s->tx_dropped,
		"rx_packets", (json_int_t)s->rx_packets, "rx_bytes", (json_int_t)s->rx_bytes,
		"rx_dropped", (json_int_t)s->rx_dropped, "queue_dropped",
		(json_int_t)s->queue_dropped, "queue_bytes", (json_int_t)s->queue_bytes);
}

static json_t *links_json(struct weft_lab *lab)
{
	const struct weft_topo *topo = weft_lab_topo(lab);
	json_t *links = json_array();

	for (uint32_t i = 0; i < weft_topo_shape(topo)->links; i++) {
		struct weft_link l = weft_topo_link(topo, i);
		struct weft_lab_end_stats ends[2];
		char name[WEFT_TOPO_NAME_BYTES];

		if (!l.cabled || weft_lab_link_stats(lab, i, ends))
			continue;
		weft_topo_link_name(topo, i, name, sizeof(name));
		json_array_append_new(
			links, json_pack("{s:s, s:i, s:[o, o]}", "link", name, "plane",
				       (int)l.plane, "ends", end_json(topo, &l, 0, &ends[0]),
				       end_json(topo, &l, 1, &ends[1])));
	}
	return links;
}

/* The link that a uA leads over; a uN leads to its switch. */
static const char *sid_name(
	const struct weft_topo *topo, uint32_t node, uint16_t usid, char name[WEFT_TOPO_NAME_BYTES])
{
	struct weft_route route;

	weft_topo_node_name(topo, node, name, WEFT_TOPO_NAME_BYTES);
	for (uint32_t i = 0; weft_topo_route(topo, node, i, &route); i++) {
		if (route.kind != WEFT_ROUTE_UA || (route.prefix[4] << 8 | route.prefix[5]) != usid)
			continue;
		weft_topo_link_name(topo, weft_topo_port_link(topo, node, route.port), name,
			WEFT_TOPO_NAME_BYTES);
		break;
	}
	return name;
}

static json_t *sids_json(struct weft_lab *lab)
{
	const struct weft_topo *topo = weft_lab_topo(lab);
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	json_t *all = json_array();

	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		struct weft_lab_sid sids[SIDS_MAX];
		char error[512], name[2][WEFT_TOPO_NAME_BYTES], usid[8];
		int n = weft_lab_sids(lab, node, sids, SIDS_MAX, error, sizeof(error));

		weft_topo_node_name(topo, node, name[0], sizeof(name[0]));
		for (int i = 0; i < n; i++) {
			snprintf(usid, sizeof(usid), "%04x", sids[i].usid);
			json_array_append_new(all,
				json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "switch", name[0],
					"usid", usid, "behavior", sids[i].is_ua ? "uA" : "uN", "to",
					sid_name(topo, node, sids[i].usid, name[1]), "packets",
					(json_int_t)sids[i].packets, "bytes",
					(json_int_t)sids[i].bytes, "errors",
					(json_int_t)sids[i].errors));
		}
	}
	return all;
}

static int status_json(struct weft_lab *lab, bool sids)
{
	struct weft_lab_fault faults[WEFT_LAB_FAULTS_MAX];
	const struct weft_topo *topo = weft_lab_topo(lab);
	int n = weft_lab_faults(lab, faults, WEFT_LAB_FAULTS_MAX);
	json_t *list = json_array();

	for (int i = 0; i < n; i++) {
		char text[128];

		weft_lab_fault_text(topo, &faults[i], text, sizeof(text));
		json_array_append_new(
			list, json_pack("{s:i, s:s, s:s, s:f, s:f}", "id", (int)faults[i].id,
				      "kind", weft_lab_fault_name(faults[i].kind), "text", text,
				      "age_s", (double)faults[i].age_ns / 1e9, "for_s",
				      (double)faults[i].for_ns / 1e9));
	}
	json_t *root = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "lab", weft_lab_name(lab),
		"fabric", weft_lab_fabric(lab), "switches",
		weft_lab_switches_name(weft_lab_switches(lab)), "keeper_pid",
		weft_lab_keeper_pid(lab), "faults", list, "links", links_json(lab));
	if (root && weft_lab_switches(lab) == WEFT_LAB_SWITCHES_SOFT)
		json_object_set_new(root, "switch_pid", json_integer(weft_lab_switch_pid(lab)));
	if (root && *weft_lab_trouble(lab))
		json_object_set_new(root, "trouble", json_string(weft_lab_trouble(lab)));
	if (root && sids)
		json_object_set_new(root, "sids", sids_json(lab));
	bool ok = root && !json_dumpf(root, stdout, JSON_INDENT(1));
	printf("\n");
	json_decref(root);
	return ok && n >= 0 ? EXIT_OK : EXIT_FAILED;
}

static void print_faults(struct weft_lab *lab, const struct term *term)
{
	struct weft_lab_fault faults[WEFT_LAB_FAULTS_MAX];
	int n = weft_lab_faults(lab, faults, WEFT_LAB_FAULTS_MAX);

	printf("%s\n", n > 0 ? "faults:" : "no faults");
	for (int i = 0; i < n; i++) {
		char text[128], age[HUMAN_MAX];

		weft_lab_fault_text(weft_lab_topo(lab), &faults[i], text, sizeof(text));
		printf("  %s%" PRIu32 "%s %s, for %s now\n", term_on(term, TERM_RED), faults[i].id,
			term_off(term), text, human_ns(age, faults[i].age_ns));
	}
}

static void print_links(struct weft_lab *lab, const struct term *term)
{
	static const char *const heads[] = { "link", "carrier", "up packets", "down packets",
		"queue drops", "other drops" };
	const struct weft_topo *topo = weft_lab_topo(lab);
	struct table table;

	table_begin(&table, "llrrrr");
	for (size_t i = 0; i < 6; i++)
		table_add(&table, "%s", heads[i]);
	for (uint32_t i = 0; i < weft_topo_shape(topo)->links; i++) {
		struct weft_lab_end_stats e[2];
		char name[WEFT_TOPO_NAME_BYTES], counts[4][HUMAN_MAX];

		if (!weft_topo_link(topo, i).cabled || weft_lab_link_stats(lab, i, e))
			continue;
		weft_topo_link_name(topo, i, name, sizeof(name));
		table_add(&table, "%s", name);
		table_add(&table, "%s", e[0].carrier && e[1].carrier ? "yes" : "LOST");
		table_add(&table, "%s", human_count(counts[0], e[0].tx_packets));
		table_add(&table, "%s", human_count(counts[1], e[1].tx_packets));
		table_add(&table, "%s",
			human_count(counts[2], e[0].queue_dropped + e[1].queue_dropped));
		table_add(&table, "%s",
			human_count(counts[3], e[0].tx_dropped + e[1].tx_dropped + e[0].rx_dropped +
						       e[1].rx_dropped));
	}
	table_print(&table, term);
}

static void print_sids(struct weft_lab *lab, const struct term *term)
{
	static const char *const heads[] = { "switch", "uSID", "", "to", "packets", "errors" };
	const struct weft_topo *topo = weft_lab_topo(lab);
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	struct table table;

	table_begin(&table, "llllrr");
	for (size_t i = 0; i < 6; i++)
		table_add(&table, "%s", heads[i]);
	for (uint32_t node = s->hosts; node < s->nodes; node++) {
		struct weft_lab_sid sids[SIDS_MAX];
		char error[512], name[WEFT_TOPO_NAME_BYTES], counts[2][HUMAN_MAX];
		int n = weft_lab_sids(lab, node, sids, SIDS_MAX, error, sizeof(error));

		for (int i = 0; i < n; i++) {
			weft_topo_node_name(topo, node, name, sizeof(name));
			table_add(&table, "%s", name);
			table_add(&table, "%04x", sids[i].usid);
			table_add(&table, "%s", sids[i].is_ua ? "uA" : "uN");
			table_add(&table, "%s", sid_name(topo, node, sids[i].usid, name));
			table_add(&table, "%s", human_count(counts[0], sids[i].packets));
			table_add(&table, "%s", human_count(counts[1], sids[i].errors));
		}
	}
	table_print(&table, term);
}

static int status(int argc, char **argv)
{
	struct arguments a;
	struct weft_lab *lab;
	struct term term;
	char error[512];
	int result = EXIT_OK;

	if (!parse(argc, argv, status_options, 0, 0, "", "Links, counters and faults of a lab.",
		    &a))
		return EXIT_USAGE;
	if (weft_lab_open(&lab, a.name, error, sizeof(error)))
		return tell(error);
	if (a.json) {
		result = status_json(lab, a.sids);
	} else {
		term_open(&term, stdout);
		printf("lab %s, keeper %d, %s switches, fabric %s\n", weft_lab_name(lab),
			weft_lab_keeper_pid(lab), weft_lab_switches_name(weft_lab_switches(lab)),
			weft_lab_fabric(lab));
		if (weft_lab_switch_pid(lab))
			printf("switches: process %d, %s\n", weft_lab_switch_pid(lab),
				weft_lab_switch_dir(lab));
		if (*weft_lab_trouble(lab))
			printf("switches: %sended%s, %s\n", term_on(&term, TERM_RED),
				term_off(&term), weft_lab_trouble(lab));
		print_faults(lab, &term);
		if (a.sids)
			print_sids(lab, &term);
		else
			print_links(lab, &term);
	}
	weft_lab_close(lab);
	return result;
}

/* ---- fault ---- */

static int undo(struct weft_lab *lab, const struct arguments *a)
{
	char error[512];
	uint64_t id = 0;

	if (strcmp(a->words[1], "all") &&
		(!weft_unit_parse(WEFT_UNIT_COUNT, a->words[1], &id) || !id || id > UINT32_MAX))
		return tell("undo wants the number of a fault, or all");
	return weft_lab_undo(lab, (uint32_t)id, error, sizeof(error)) ? tell(error) : EXIT_OK;
}

static int inject(struct weft_lab *lab, const struct arguments *a)
{
	struct weft_lab_fault fault;
	char error[512], text[128];
	uint32_t id;

	if (weft_lab_fault_parse(
		    weft_lab_topo(lab), a->words[0], a->words[1], &fault, error, sizeof(error)))
		return tell(error);
	fault.way = a->way;
	fault.rate_bps = a->to_bps;
	if (fault.kind == WEFT_LAB_LOSS || fault.kind == WEFT_LAB_CORRUPT)
		fault.loss_ppm = a->loss_ppm;
	if (a->for_ns)
		fault.for_ns = a->for_ns;
	if (weft_lab_fault(lab, &fault, &id, error, sizeof(error)))
		return tell(error);
	weft_lab_fault_text(weft_lab_topo(lab), &fault, text, sizeof(text));
	printf("%" PRIu32 " %s\n", id, text);
	return EXIT_OK;
}

static int fault(int argc, char **argv)
{
	static char doc[2048] = "Break something, or undo it (by number, or all).\v";
	struct arguments a;
	struct weft_lab *lab;
	char error[512];

	for (unsigned k = 0; k < WEFT_LAB_FAULT_COUNT; k++) {
		size_t n = strlen(doc);

		snprintf(doc + n, sizeof(doc) - n, "  %-13s %s\n",
			weft_lab_fault_name((enum weft_lab_fault_kind)k),
			weft_lab_fault_help((enum weft_lab_fault_kind)k));
	}
	if (!parse(argc, argv, fault_options, 2, 2, "KIND WHERE\nundo ID|all", doc, &a))
		return EXIT_USAGE;
	if (weft_lab_open(&lab, a.name, error, sizeof(error)))
		return tell(error);
	int result = strcmp(a.words[0], "undo") ? inject(lab, &a) : undo(lab, &a);
	weft_lab_close(lab);
	return result;
}

int cmd_lab(int argc, char **argv)
{
	static const struct verb verbs[] = {
		{ "up", "FILE: build the fabric", up },
		{ "down", "take it down", down },
		{ "status", "links, counters, faults", status },
		{ "run", "HOST -- COMMAND: run a program on a host", run },
		{ "fault", "KIND WHERE: break something; undo ID|all", fault },
		{ "list", "which labs are up", list },
		{ NULL, NULL, NULL },
	};

	return verb_run(argv[0], "an emulated fabric on this machine", verbs, argc, argv);
}
