/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_cp - `weft cp FILE HOST:PATH`, and `weft cp --serve FOLDER` at the other end.
 */
#include "cp.h"
#include "live_args.h"
#include "commands.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_BYTES 256

struct cp_args {
	struct live_args live;
	struct cp_options options;
	const char *folder, *file, *to;
};

static const struct argp_option options[] = {
	{ "serve", 's', "FOLDER", 0, "receive into FOLDER, and nowhere else", 0 },
	{ "once", '1', NULL, 0, "receive one file and end", 0 },
	{ "json", 'j', NULL, 0,
		"a report per file on standard output: bytes over time, longest "
		"stall, counters, paths, events",
		0 },
	{ "bin", 'B', "MS", 0, "width of the report's time bins (default: 1)", 0 },
	{ "chunk", 'c', "BYTES", 0, "bytes per write (default: 1M)", 0 },
	{ "silence", 'T', "SECONDS", 0, "give the other end up after this (default: 30)", 0 },
	{ "max-bytes", 'M', "BYTES", 0,
		"with --serve: the longest file to take (default: what the disk has)", 0 },
	{ "keep-free", 'F', "BYTES", 0,
		"with --serve: take nothing that would leave less than this free (default: a 32nd "
		"of the file system, at most 1G)",
		0 },
	{ "quiet", 'q', NULL, 0, "only errors", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/*
 * The colon of HOST:PATH; NULL: there is none.  As scp and curl have it, an IPv6 address stands in
 * brackets, "[fd00::2]:file"; one without is understood as far as it is no other host's name.
 */
static const char *find_colon(const char *to)
{
	const char *close = *to == '[' ? strchr(to, ']') : NULL, *last = strrchr(to, ':');
	char host[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (close)
		return close[1] == ':' ? close + 1 : NULL;
	if (last && (size_t)(last - to) < sizeof(host)) {
		snprintf(host, sizeof(host), "%.*s", (int)(last - to), to);
		if (inet_pton(AF_INET6, host, &address) == 1)
			return last;
	}
	return strchr(to, ':');
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cp_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->live;
		break;
	case 's':
		a->folder = arg;
		break;
	case '1':
		a->options.once = true;
		break;
	case 'j':
		a->options.json = true;
		break;
	case 'B':
		a->options.bin_ns = arg_number(state, "bin", arg, 1, 10000) * 1000000;
		break;
	case 'c':
		a->options.chunk_bytes = (uint32_t)arg_size(state, "chunk", arg, 4096, 1u << 30);
		break;
	case 'T':
		a->options.silence_ns = arg_number(state, "silence", arg, 1, 86400) * 1000000000;
		break;
	case 'M':
		a->options.limits.max_bytes = arg_size(state, "max-bytes", arg, 1, INT64_MAX);
		break;
	case 'F':
		a->options.limits.has_keep_free = true;
		a->options.limits.keep_free_bytes = arg_size(state, "keep-free", arg, 0, INT64_MAX);
		break;
	case 'q':
		a->options.quiet = true;
		break;
	case ARGP_KEY_ARG:
		if (a->to)
			argp_usage(state);
		*(a->file ? &a->to : &a->file) = arg;
		break;
	case ARGP_KEY_END:
		if (a->folder ? a->file != NULL : !a->to)
			argp_usage(state);
		if (a->to && !find_colon(a->to))
			argp_error(state, "\"%s\" is not HOST:PATH", a->to);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void put_host(const struct cp_args *a, char host[HOST_BYTES])
{
	snprintf(host, HOST_BYTES, "%.*s", (int)(find_colon(a->to) - a->to), a->to);
}

/* An empty PATH, or one that ends in "/", takes the file's own name. */
static int send_to(struct weft_live *live, const struct cp_args *a)
{
	const char *colon = find_colon(a->to), *slash = strrchr(a->file, '/');
	const char *own = slash ? slash + 1 : a->file, *path = colon + 1;
	bool into = !*path || path[strlen(path) - 1] == '/';
	char host[HOST_BYTES], name[4096];

	put_host(a, host);
	snprintf(name, sizeof(name), "%s%s", path, into ? own : "");
	return cp_send(live, &a->options, a->live.tcp_port, a->file, host, name);
}

/* Files are mapped, so one that shrinks under our hands is told by a signal, in any thread. */
static void on_bus_error(int signal)
{
	static const char text[] =
		"weft cp: the file became shorter, or its disk failed, while it was copied\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_FAILED);
}

int cmd_cp(int argc, char **argv)
{
	static const struct argp_child children[] = { { &live_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE HOST:PATH\n--serve FOLDER",
		.doc = "Copies a file to another host, whatever happens to the network in between. "
		       "PATH lies beneath the folder that the other end serves; the file appears "
		       "there when all of it has arrived and the SHA-256 of both ends agree.",
		.children = children,
	};
	struct cp_args a = { .options = { .bin_ns = 1000000,
				     .silence_ns = UINT64_C(30000000000),
				     .chunk_bytes = CP_CHUNK_BYTES } };
	struct weft_live *live;
	char error[CP_TEXT_BYTES] = "", host[HOST_BYTES];

	weft_live_defaults(&a.live.config);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	(void)signal(SIGBUS, on_bus_error);
	live_hurry();
	if (a.to)
		put_host(&a, host);
	if (live_find_planes_for(&a.live, "cp", a.to ? host : NULL, error, sizeof(error)) ||
		weft_live_open(&live, &a.live.config, error, sizeof(error))) {
		fprintf(stderr, "weft cp: %s\n", error);
		return EXIT_FAILED;
	}
	int rc = a.folder ? cp_serve(live, &a.options, a.live.tcp_port, a.folder)
			  : send_to(live, &a);

	weft_live_close(live);
	return rc;
}
