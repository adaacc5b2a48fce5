/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_args - one spelling of the options that have to do with where we are and how we send.
 */
#include "live_args.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <weft/base.h>

#define ASK_NS UINT64_C(5000000000) /* for a server that may be busy with another client */

enum {
	OPT_FABRIC = 0x1000,
	OPT_HOST,
	OPT_PLANES,
	OPT_SWITCH,
	OPT_VIA,
	OPT_CC,
	OPT_RTT,
	OPT_RATE,
	OPT_PATHS,
	OPT_MTU,
	OPT_NO_CHECKSUM,
	OPT_GIVE_UP
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Where this is and how to send:", 10 },
	{ "fabric", OPT_FABRIC, "FILE", 0, "fabric file (default: $WEFT_FABRIC)", 0 },
	{ "host", OPT_HOST, "NAME", 0, "which of its hosts this is (default: $WEFT_HOST)", 0 },
	{ "planes", OPT_PLANES, "ADDR,...", 0,
		"no fabric file: own addresses or interfaces, one per plane (default: found)", 0 },
	{ "switch", OPT_SWITCH, "DIR", 0, "where a weft switch lives (default: $WEFT_SWITCH)", 0 },
	{ "via", OPT_VIA, "NAME", 0,
		"port: udp, shm ... (default: $WEFT_VIA, else shm where there is a switch)", 0 },
	{ "port", 'p', "PORT", 0, "TCP port of the set-up (default: 18515)", 0 },
	{ "cc", OPT_CC, "NAME", 0, "congestion control (default: uet-1.0-nscc)", 0 },
	{ "rtt", OPT_RTT, "US", 0, "idle round trip of the longest path in us", 0 },
	{ "rate", OPT_RATE, "MBPS", 0, "rate of all planes together in Mb/s", 0 },
	{ "paths", OPT_PATHS, "N", 0, "paths (EVs) per connection, at most", 0 },
	{ "mtu", OPT_MTU, "BYTES", 0,
		"payload per packet (default: what fits the links, with --planes what is proved)",
		0 },
	{ "no-udp-checksum", OPT_NO_CHECKSUM, NULL, 0,
		"with --planes over IPv6: leave it to the ICRC, as with a fabric file", 0 },
	{ "give-up", OPT_GIVE_UP, "MS", 0, "silence of the peer that ends a connection", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static uint64_t read_number(struct argp_state *state, const char *name, const char *text,
	const char *units, uint64_t min, uint64_t max)
{
	char *end = NULL;
	bool has_digits = *text >= '0' && *text <= '9'; /* strtoull() would take "-1" */

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (errno || !has_digits || (*end && (!unit || end[1])) || value > UINT64_MAX >> shift ||
		value << shift < min || value << shift > max)
		argp_error(state, "%s: \"%s\" is not a whole number from %" PRIu64 " to %" PRIu64,
			name, text, min, max);
	return (uint64_t)value << shift;
}

uint64_t arg_number(
	struct argp_state *state, const char *name, const char *text, uint64_t min, uint64_t max)
{
	return read_number(state, name, text, "", min, max);
}

uint64_t arg_size(
	struct argp_state *state, const char *name, const char *text, uint64_t min, uint64_t max)
{
	return read_number(state, name, text, "kMG", min, max);
}

static int be_real_time(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param);
}

void live_hurry(void)
{
	/* Niceness would count within this terminal's group of processes only (autogroups). */
	if (be_real_time(2))
		(void)setpriority(PRIO_PROCESS, 0, -15);
}

void live_direct(bool on)
{
	const struct sched_param plain = { 0 };

	if (on)
		(void)be_real_time(3);
	else
		(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &plain);
}

void live_hurry_second(void)
{
	(void)be_real_time(1);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct live_args *args = state->input;
	struct weft_live_config *config = &args->config;

	switch (key) {
	case OPT_FABRIC:
		config->fabric = arg;
		break;
	case OPT_HOST:
		config->host = arg;
		break;
	case OPT_PLANES:
		config->planes = arg;
		break;
	case OPT_SWITCH:
		config->switch_dir = arg;
		break;
	case OPT_VIA:
		config->via = arg;
		break;
	case 'p':
		args->tcp_port = (uint16_t)arg_number(state, "port", arg, 1, 65535);
		break;
	case OPT_CC:
		config->cc = arg;
		break;
	case OPT_RTT:
		config->rtt_ns = (uint32_t)arg_number(state, "rtt", arg, 1, 1000000) * 1000;
		break;
	case OPT_RATE:
		config->rate_bps = arg_number(state, "rate", arg, 1, 100000000) * 1000000;
		break;
	case OPT_PATHS:
		config->paths = (uint32_t)arg_number(state, "paths", arg, 1, 512);
		break;
	case OPT_MTU:
		config->mtu_bytes = (uint32_t)arg_size(state, "mtu", arg, 64, WEFT_MTU_MAX);
		if (config->mtu_bytes % 4)
			argp_error(state, "mtu: \"%s\" is no multiple of 4", arg);
		break;
	case OPT_NO_CHECKSUM:
		config->no_checksum = true;
		break;
	case OPT_GIVE_UP:
		config->timeout_ms = (uint32_t)arg_number(state, "give-up", arg, 10, 3600000);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool is_told(const struct weft_live_config *config)
{
	static const char *const names[] = { "WEFT_FABRIC", "WEFT_SWITCH" };

	for (size_t i = 0; i < WEFT_COUNT(names); i++)
		if (getenv(names[i]) && *getenv(names[i]))
			return true;
	return config->planes || config->fabric || config->switch_dir;
}

int live_find_planes_for(
	struct live_args *args, const char *verb, const char *server, char *error, size_t bytes)
{
	if (is_told(&args->config))
		return 0;
	if (server ? weft_planes_towards(
			     server, args->tcp_port, ASK_NS, args->planes, error, bytes)
		   : weft_planes_here(args->planes, error, bytes))
		return -1;
	fprintf(stderr, "weft %s: planes %s (--planes names others)\n", verb, args->planes);
	args->config.planes = args->planes;
	return 0;
}

void live_say_narrow(const char *verb, const struct weft_session *session)
{
	for (uint32_t plane = 0; plane < WEFT_PORTS_MAX; plane++)
		if (session->narrow >> plane & 1)
			fprintf(stderr,
				"weft %s: plane %u is left out: packets with %u bytes of payload "
				"do not come through there, as they do elsewhere; is the MTU of a "
				"switch smaller?\n",
				verb, plane, session->mtu_bytes);
}

const struct argp live_argp = { .options = options, .parser = parse };
