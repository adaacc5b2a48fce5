/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_doctor - `weft doctor`: what stands between this machine, or a peer, and Weft.
 *
 * One program for both ends, as weft perf: --listen waits, HOST asks.  It ends with 1 if there is a
 * fault, so that a script can ask before a job starts; warnings do not end a job.
 */
#include "commands.h"
#include "doctor_print.h"
#include "live_args.h"

#include <stdlib.h>
#include <string.h>

struct doctor_args {
	const char *host, *planes;
	uint16_t tcp_port;
	bool listen, once, json, all;
};

enum { OPT_ALL = 0x1000, OPT_PLANES };

static const struct argp_option options[] = {
	{ "listen", 'l', NULL, 0, "wait for the other end's weft doctor HOST", 0 },
	{ "once", '1', NULL, 0, "with --listen: end after one", 0 },
	{ "planes", OPT_PLANES, "ADDR,...", 0,
		"own addresses or interfaces, one per plane (default: $WEFT_PLANES, else every "
		"interface with an address)",
		0 },
	{ "port", 'p', "PORT", 0, "TCP port where the two meet (default: 18515)", 0 },
	{ "all", OPT_ALL, NULL, 0, "also what is in order", 0 },
	{ "json", 'j', NULL, 0, "one JSON object instead of a table", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct doctor_args *a = state->input;

	switch (key) {
	case 'l':
		a->listen = true;
		break;
	case '1':
		a->once = true;
		break;
	case OPT_PLANES:
		a->planes = arg;
		break;
	case 'p':
		a->tcp_port = (uint16_t)arg_number(state, "port", arg, 1, 65535);
		break;
	case OPT_ALL:
		a->all = true;
		break;
	case 'j':
		a->json = true;
		break;
	case ARGP_KEY_ARG:
		if (a->host || !*arg || strlen(arg) > 60)
			argp_usage(state);
		a->host = arg;
		break;
	case ARGP_KEY_END:
		if (a->listen && a->host)
			argp_error(state, "--listen waits: it takes no HOST");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int serve(const struct doctor_args *a)
{
	struct weft_doctor_ear *ear;
	char error[256] = "";

	if (weft_doctor_listen(&ear, a->planes, a->tcp_port, error, sizeof(error))) {
		fprintf(stderr, "weft doctor: %s\n", error);
		return EXIT_FAILED;
	}
	fprintf(stderr, "weft doctor: waits on TCP port %u\n", a->tcp_port);
	while (!weft_doctor_hear(ear, 1000) || !a->once)
		;
	weft_doctor_deafen(ear);
	return EXIT_OK;
}

static int look(const struct doctor_args *a)
{
	struct weft_doctor_facts *facts = calloc(1, sizeof(*facts));
	struct weft_doctor_report *report = calloc(1, sizeof(*report));
	char error[256] = "no memory";
	int rc = EXIT_FAILED;

	if (!facts || !report || weft_doctor_gather(facts, a->planes, error, sizeof(error))) {
		fprintf(stderr, "weft doctor: %s\n", error);
	} else {
		if (a->host)
			weft_doctor_ask(facts, a->host, a->tcp_port);
		weft_doctor_judge(facts, a->all, report);
		if (a->json)
			doctor_print_json(facts, report, stdout);
		else
			doctor_print(facts, report, stdout);
		rc = report->n && report->finding[0].verdict == WEFT_DOCTOR_FAULT ? EXIT_FAILED
										  : EXIT_OK;
	}
	free(facts);
	free(report);
	return rc;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[HOST]",
		.doc = "Checks what Weft needs of this machine, and with HOST of the way there, "
		       "where "
		       "weft doctor --listen waits. Ends with 1 if there is a fault.",
	};
	struct doctor_args a = { .planes = getenv("WEFT_PLANES"),
		.tcp_port = WEFT_DOCTOR_TCP_PORT };

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	/* A name server that is dead is no reason to wait for longer than for a dead peer. */
	(void)setenv("RES_OPTIONS", "timeout:1 attempts:1", 0);
	return a.listen ? serve(&a) : look(&a);
}
