/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LIVE_ARGS_H
#define LIVE_ARGS_H
/*
 * live_args - the options that every verb with a live endpoint has: --fabric, --host, --planes,
 * --via, --cc, --rtt, --rate, --paths, --give-up, --port.  An argp child over a struct live_args.
 */
#include <argp.h>
#include <weft/session.h>

struct live_args {
	struct weft_live_config config; /* weft_live_defaults() before parsing */
	uint16_t tcp_port;
	char planes[WEFT_PLANES_TEXT_BYTES]; /* as found; config.planes may point here */
};

extern const struct argp live_argp;

/*
 * Where neither options nor environment say where this is: planes as they are found here (server
 * NULL) or towards a server, told on stderr.  -1: error says why.
 */
int live_find_planes_for(
	struct live_args *args, const char *verb, const char *server, char *error, size_t bytes);
/* On stderr, where planes are left out of a session: which, and for what. */
void live_say_narrow(const char *verb, const struct weft_session *session);

/*
 * What every verb reads its numbers with: a whole number in digits from min to max; argp_error(),
 * which names the option, what was said and the range, where it is not.  arg_size: with an optional
 * k, M, G (powers of 1024).
 */
uint64_t arg_number(
	struct argp_state *state, const char *name, const char *text, uint64_t min, uint64_t max);
uint64_t arg_size(
	struct argp_state *state, const char *name, const char *text, uint64_t min, uint64_t max);

/* Asks for the machine's attention: a pump that is not run is a network that stands still.  Only
 * root gets it; everybody else is served in turn. */
void live_hurry(void);
/* Before the pumps, for what must happen at its time beside them (faults, samples) and takes next
 * to none.  Off again before anything that takes time. */
void live_direct(bool on);
/* As live_hurry, for a thread that the pump depends on: next to it, never before it. */
void live_hurry_second(void);

#endif
