/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch - all switches of a fabric as one program, and talking to it.
 *
 * `weft switch FILE` is the switch; the other verbs are requests to its control socket, one each,
 * and --json shows the answer as it came.  What a request may say is the switch's business: words
 * are put into JSON here and judged there, so that every client hears the same.
 */
#include "human.h"
#include "live_args.h"
#include "switch_dir.h"
#include "switch_show.h"
#include "term.h"
#include "commands.h"

#include <weft/switchd.h>
#include <weft/topo.h>

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS_MAX 4
#define REBOOT_NS 200000000u

struct arguments {
	const char *dir, *interfaces, *words[WORDS_MAX];
	unsigned n, wanted, wanted_max;
	uint64_t rate_bps, ns, times;
	uint32_t way;
	bool json, prometheus, all;
};

enum { OPTION_JSON = 256, OPTION_PROMETHEUS, OPTION_FOR, OPTION_EVERY };

static volatile int stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'd':
		a->dir = arg;
		return 0;
	case 'r':
		if (!human_read_rate(arg, &a->rate_bps) || a->rate_bps < WEFT_TOPO_BPS_MIN ||
			a->rate_bps > WEFT_TOPO_BPS_MAX)
			argp_error(state, "--rate %s: wants 1Mb/s to 10Tb/s, like 1Gb/s", arg);
		return 0;
	case 'i':
		a->interfaces = arg;
		return 0;
	case 'a':
		a->all = true;
		return 0;
	case 'n':
		a->times = arg_number(state, "times", arg, 1, UINT32_MAX);
		return 0;
	case 'w':
		if (!weft_way_parse(arg, &a->way))
			argp_error(state, "--way %s: wants up, down or both", arg);
		return 0;
	case OPTION_JSON:
		a->json = true;
		return 0;
	case OPTION_PROMETHEUS:
		a->prometheus = true;
		return 0;
	case OPTION_FOR:
	case OPTION_EVERY:
		if (!human_read_ns(arg, &a->ns))
			argp_error(state, "--%s %s: wants a time, like 500ms or 2s",
				key == OPTION_FOR ? "for" : "every", arg);
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
#define OPTION_DIR \
	{ "dir", 'd', "DIR", 0, "the switch's folder (default: $WEFT_SWITCH, or the only one)", 0 }
static const struct argp_option run_options[] = {
	{ "dir", 'd', "DIR", 0, "where its sockets are to be (default: $WEFT_SWITCH, or as the "
		"fabric is called in $XDG_RUNTIME_DIR/weft-switch)", 0 },
	{ "rate", 'r', "RATE", 0, "rate of every link, 1Gb/s (default: the file's)", 0 },
	{ "interfaces", 'i', "FORMAT", 0, "also serve hosts behind interfaces of that name, "
		"h%u.p%u: host, plane", 0 },
	{ 0 },
};
static const struct argp_option dir_options[] = { OPTION_DIR, { 0 } };
static const struct argp_option show_options[] = {
	OPTION_DIR,
	{ "json", OPTION_JSON, NULL, 0, "for programs", 0 },
	{ 0 },
};
static const struct argp_option counters_options[] = {
	OPTION_DIR,
	{ "json", OPTION_JSON, NULL, 0, "for programs", 0 },
	{ "prometheus", OPTION_PROMETHEUS, NULL, 0, "for Prometheus", 0 },
	{ "all", 'a', NULL, 0, "ports that have moved nothing, too", 0 },
	{ 0 },
};
static const struct argp_option way_options[] = {
	OPTION_DIR,
	{ "way", 'w', "WAY", 0, "up (from the hosts), down or both (default)", 0 },
	{ 0 },
};
static const struct argp_option reboot_options[] = {
	OPTION_DIR,
	{ "for", OPTION_FOR, "TIME", 0, "how long it is off (default: 200ms)", 0 },
	{ 0 },
};
static const struct argp_option top_options[] = {
	OPTION_DIR,
	{ "every", OPTION_EVERY, "TIME", 0, "between pictures (default: 1s)", 0 },
	{ "times", 'n', "N", 0, "how many, then end (default: until interrupted)", 0 },
	{ 0 },
};
/* clang-format on */

static bool parse(int argc, char **argv, const struct argp_option *options, unsigned wanted,
	unsigned wanted_max, const char *words, const char *doc, struct arguments *a)
{
	struct argp argp = { options, parse_option, words, doc, NULL, NULL, NULL };

	*a = (struct arguments){
		.wanted = wanted, .wanted_max = wanted_max, .way = WEFT_WAY_UNSAID
	};
	return !argp_parse(&argp, argc, argv, 0, NULL, a);
}

static int tell(const char *error)
{
	fprintf(stderr, "weft switch: %s\n", error);
	return EXIT_FAILED;
}

/* ---- the switch ---- */

static int run(int argc, char **argv)
{
	char error[512], dir[SWITCH_DIR_BYTES], rate[HUMAN_MAX];
	struct weft_switchd *sw;
	struct weft_topo *topo;
	struct arguments a;

	if (!parse(argc, argv, run_options, 1, 1, "FILE",
		    "Run all switches of the fabric of FILE, until stopped.", &a))
		return EXIT_USAGE;
	if (weft_topo_open(&topo, a.words[0], error, sizeof(error)))
		return tell(error);
	const struct weft_topo_shape *s = weft_topo_shape(topo);
	struct weft_switchd_config config = { .fabric = a.words[0],
		.dir = dir,
		.rate_bps = a.rate_bps,
		.ifname_format = a.interfaces };
	int result = EXIT_FAILED;

	if (!switch_dir_make(dir, a.dir, s->name, error, sizeof(error)) ||
		weft_switchd_open(&sw, &config, error, sizeof(error))) {
		(void)tell(error);
		goto out;
	}
	struct sigaction action = { .sa_handler = on_signal };
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	printf("%s: %" PRIu32 " switches for %" PRIu32 " hosts, %" PRIu32 " planes of %s, in %s\n",
		s->name, s->nodes - s->hosts, s->hosts, s->planes,
		human_rate(rate, a.rate_bps ? a.rate_bps : s->host_bps), dir);
	(void)fflush(stdout);
	weft_switchd_run(sw, &stop);
	weft_switchd_close(sw);
	result = EXIT_OK;
out:
	weft_topo_close(topo);
	return result;
}

/* ---- requests ---- */

/* NULL: told why.  request is used up. */
static json_t *ask(const struct arguments *a, json_t *request)
{
	char error[512], dir[SWITCH_DIR_BYTES];
	json_t *answer = NULL;
	bool ok = request && switch_dir_find(dir, a->dir, error, sizeof(error)) &&
		  !weft_switchd_ask(dir, request, &answer, error, sizeof(error));

	if (!ok) {
		(void)tell(request ? error : "not UTF-8");
		json_decref(answer);
		answer = NULL;
	}
	json_decref(request);
	return answer;
}

static int order(const struct arguments *a, json_t *request)
{
	json_t *answer = ask(a, request);

	json_decref(answer);
	return answer ? EXIT_OK : EXIT_FAILED;
}

static int print_json(json_t *answer)
{
	bool ok = !json_dumpf(answer, stdout, JSON_INDENT(1));

	printf("\n");
	json_decref(answer);
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* One request without members but perhaps a node, and a way to show the answer. */
static int show(const struct arguments *a, const char *op,
	void (*print)(const struct json_t *, const struct term *))
{
	json_t *answer = ask(a, json_pack("{s:s, s:s*}", "op", op, "node", a->words[0]));
	struct term term;

	if (!answer)
		return EXIT_FAILED;
	if (a->json)
		return print_json(answer);
	term_open(&term, stdout);
	print(answer, &term);
	json_decref(answer);
	return EXIT_OK;
}

static int status(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, show_options, 0, 0, "",
		    "Who runs there, and which programs have attached.", &a))
		return EXIT_USAGE;
	return show(&a, "hello", switch_show_hello);
}

static int counters(int argc, char **argv)
{
	struct arguments a;
	struct term term;
	int result = EXIT_OK;

	if (!parse(argc, argv, counters_options, 0, 1, "[SWITCH]",
		    "What ports and queues have counted (SAI's names), and drops by reason.", &a))
		return EXIT_USAGE;
	json_t *answer = ask(&a, json_pack("{s:s, s:s*}", "op", "counters", "node", a.words[0]));
	if (!answer)
		return EXIT_FAILED;
	if (a.json)
		return print_json(answer);
	term_open(&term, stdout);
	if (!a.prometheus)
		switch_show_counters(answer, &term, a.all);
	else if (switch_prom(answer, stdout))
		result = EXIT_FAILED;
	json_decref(answer);
	return result;
}

static int sids(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, show_options, 1, 1, "SWITCH", "How many packets each SID has taken.",
		    &a))
		return EXIT_USAGE;
	return show(&a, "table", switch_show_sids);
}

static int table(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, show_options, 1, 1, "SWITCH", "The table of a switch.", &a))
		return EXIT_USAGE;
	return show(&a, "table", switch_show_table);
}

static int links(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, show_options, 0, 0, "", "State and faults of every link.", &a))
		return EXIT_USAGE;
	return show(&a, "links", switch_show_links);
}

static int wants(const char *verb, const char *what, const char *got)
{
	fprintf(stderr, "weft switch %s: '%s': wants %s\n", verb, got, what);
	return EXIT_USAGE;
}

/* One of two words: 1 or 0, -1 neither. */
static int one_of(const char *word, const char *yes, const char *no)
{
	return !strcmp(word, yes) ? 1 : !strcmp(word, no) ? 0 : -1;
}

static int link_verb(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, dir_options, 2, 2, "LINK up|down",
		    "Unplug a cable, or plug it in again.", &a))
		return EXIT_USAGE;
	int up = one_of(a.words[1], "up", "down");
	if (up < 0)
		return wants("link", "up or down", a.words[1]);
	return order(&a, json_pack("{s:s, s:s, s:b}", "op", "link", "link", a.words[0], "up", up));
}

static int rate(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, dir_options, 2, 2, "LINK RATE|built",
		    "Slow a link down (100Mb/s), or let it be as it was built.", &a))
		return EXIT_USAGE;
	uint64_t bps = 0;
	if (strcmp(a.words[1], "built") && !human_read_rate(a.words[1], &bps))
		return wants("rate", "a rate like 100Mb/s, or built", a.words[1]);
	return order(&a, json_pack("{s:s, s:s, s:I}", "op", "rate", "link", a.words[0], "bps",
				 (json_int_t)bps));
}

static int share(int argc, char **argv, const char *op, const char *doc)
{
	struct arguments a;
	uint32_t ppm;

	if (!parse(argc, argv, way_options, 2, 2, "LINK PERCENT", doc, &a))
		return EXIT_USAGE;
	if (!human_read_percent(a.words[1], &ppm))
		return wants(op, "percent, from 0 to 100", a.words[1]);
	return order(&a, json_pack("{s:s, s:s, s:i, s:i}", "op", op, "link", a.words[0], "way",
				 (int)a.way, "ppm", (int)ppm));
}

static int loss(int argc, char **argv)
{
	return share(argc, argv, "loss", "Lose a share of what crosses a link; 0 ends it.");
}

static int spoil(int argc, char **argv)
{
	return share(argc, argv, "spoil",
		"Turn a bit in a share of what crosses a link, which receivers that check the\n"
		"ICRC refuse; 0 ends it.");
}

static int hole(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, way_options, 2, 2, "LINK on|off",
		    "Let packets whose next SID is a link's vanish, silently.", &a))
		return EXIT_USAGE;
	int on = one_of(a.words[1], "on", "off");
	if (on < 0)
		return wants("hole", "on or off", a.words[1]);
	return order(&a, json_pack("{s:s, s:s, s:i, s:b}", "op", "hole", "link", a.words[0], "way",
				 (int)a.way, "on", on));
}

/* In hex, as `weft fabric paths` prints it, or in decimal. */
static bool read_ev(const char *word, uint32_t *ev)
{
	bool is_hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	const char *digits = is_hex ? word + 2 : word;
	size_t n = strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
	uint64_t value = strtoull(digits, NULL, is_hex ? 16 : 10);

	*ev = (uint32_t)value;
	return n && !digits[n] && value <= UINT32_MAX; /* what overflows is above */
}

static int path(int argc, char **argv)
{
	struct arguments a;
	uint32_t ppm, ev;

	if (!parse(argc, argv, dir_options, 4, 4, "SRC DST EV PERCENT",
		    "Lose a share of what takes one path (weft fabric paths); 0 ends it.", &a))
		return EXIT_USAGE;
	if (!read_ev(a.words[2], &ev))
		return wants("path", "an EV, like 0x00010000", a.words[2]);
	if (!human_read_percent(a.words[3], &ppm))
		return wants("path", "percent, from 0 to 100", a.words[3]);
	return order(&a, json_pack("{s:s, s:s, s:s, s:I, s:i}", "op", "path", "src", a.words[0],
				 "dst", a.words[1], "ev", (json_int_t)ev, "ppm", (int)ppm));
}

static int freeze(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, dir_options, 2, 2, "SWITCH on|off",
		    "Stop a switch from forwarding while its links stay up.", &a))
		return EXIT_USAGE;
	int on = one_of(a.words[1], "on", "off");
	if (on < 0)
		return wants("freeze", "on or off", a.words[1]);
	return order(
		&a, json_pack("{s:s, s:s, s:b}", "op", "freeze", "node", a.words[0], "on", on));
}

static int power(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, dir_options, 2, 2, "SWITCH on|off", "Switch a switch off, or on.",
		    &a))
		return EXIT_USAGE;
	int on = one_of(a.words[1], "on", "off");
	if (on < 0)
		return wants("power", "on or off", a.words[1]);
	return order(&a, json_pack("{s:s, s:s, s:b}", "op", "power", "node", a.words[0], "on", on));
}

static int reboot(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, reboot_options, 1, 1, "SWITCH",
		    "Switch a switch off, and on again with the fabric file's table.", &a))
		return EXIT_USAGE;
	return order(&a, json_pack("{s:s, s:s, s:I}", "op", "reboot", "node", a.words[0], "for_ns",
				 (json_int_t)(a.ns ? a.ns : REBOOT_NS)));
}

static int end(int argc, char **argv)
{
	struct arguments a;

	if (!parse(argc, argv, dir_options, 0, 0, "", "End the switch.", &a))
		return EXIT_USAGE;
	return order(&a, json_pack("{s:s}", "op", "stop"));
}

/* A signal ends it. */
static void nap(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000) };

	(void)nanosleep(&time, NULL);
}

static int top(int argc, char **argv)
{
	struct arguments a;
	struct term term;

	if (!parse(argc, argv, top_options, 0, 1, "[SWITCH]",
		    "Ports that carry traffic, again and again.", &a))
		return EXIT_USAGE;
	struct sigaction action = { .sa_handler = on_signal };
	(void)sigaction(SIGINT, &action, NULL);
	term_open(&term, stdout);
	json_t *before = NULL;
	for (uint64_t i = 0; !stop && (!a.times || i <= a.times); i++) {
		json_t *now =
			ask(&a, json_pack("{s:s, s:s*}", "op", "counters", "node", a.words[0]));

		if (!now)
			break;
		if (before && term.tty)
			printf("\033[H\033[2J");
		if (before)
			switch_show_rates(before, now, &term);
		(void)fflush(stdout);
		json_decref(before);
		before = now;
		if (i < a.times || !a.times)
			nap(a.ns ? a.ns : 1000000000);
	}
	int result = before ? EXIT_OK : EXIT_FAILED;
	json_decref(before);
	return result;
}

int cmd_switch(int argc, char **argv)
{
	static const struct verb verbs[] = {
		{ "run", "FILE: all switches of a fabric, until stopped", run },
		{ "status", "who runs there, which programs have attached", status },
		{ "top", "ports that carry traffic, live", top },
		{ "counters", "[SWITCH]: ports, queues, drops by reason", counters },
		{ "sids", "SWITCH: packets per SID", sids },
		{ "table", "SWITCH: its table", table },
		{ "links", "state and faults of every link", links },
		{ "link", "LINK up|down: unplug a cable", link_verb },
		{ "rate", "LINK RATE|built: slow a link down", rate },
		{ "loss", "LINK PERCENT: lose what crosses a link", loss },
		{ "spoil", "LINK PERCENT: turn a bit in what crosses a link", spoil },
		{ "hole", "LINK on|off: let what has its SID next vanish", hole },
		{ "path", "SRC DST EV PERCENT: lose what takes one path", path },
		{ "freeze", "SWITCH on|off: stop forwarding, links stay up", freeze },
		{ "power", "SWITCH on|off", power },
		{ "reboot", "SWITCH: off, and on again", reboot },
		{ "stop", "end it", end },
		{ NULL, NULL, NULL },
	};
	const char *word = argc > 1 ? argv[1] : "help";

	/* `weft switch FILE` is what is typed most: a file's name is no verb. */
	if (strpbrk(word, "./") && *word != '-')
		return run(argc, argv);
	return verb_run(argv[0], "all switches of a fabric in one program", verbs, argc, argv);
}
