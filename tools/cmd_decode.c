/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decode - MRC packets out of a capture or out of hex text, told to programs or to people.
 *
 * JSON is the default because a capture has a million packets and jq is better at choosing than
 * any option of ours; --human is for the ten that are left.  In a capture, frames that have nothing
 * to do with MRC are passed over and counted; in text nothing is, since somebody asked about
 * exactly those bytes.  The exit status is 1 if any packet would be dropped, so that it can judge.
 */
#include "commands.h"
#include "decode_tell.h"
#include "live_args.h"

#include <argp.h>
#include <inttypes.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	struct weft_decode_config config;
	const char *path, *fabric;
	bool human, fields, all;
};

static void parse_plain(const char *word, struct arguments *a, struct argp_state *state)
{
	for (unsigned kind = WEFT_ENCAP_USID; kind < WEFT_ENCAP_KINDS; kind++) {
		if (strcmp(word, weft_encap_name((uint8_t)kind)))
			continue;
		a->config.plain = (enum weft_encap_kind)kind;
		return;
	}
	argp_error(state, "--plain: '%s' is none of usid, stev, udp_port", word);
}

static error_t parse_argument(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->all = true;
		return 0;
	case 'f':
		a->fabric = arg;
		return 0;
	case 'v':
		a->fields = true;
		a->human = true;
		return 0;
	case 'H':
		a->human = true;
		return 0;
	case 'p':
		a->config.port = (uint16_t)arg_number(state, "port", arg, 1, 65535);
		return 0;
	case 'e':
		parse_plain(arg, a, state);
		return 0;
	case ARGP_KEY_ARG:
		if (a->path)
			argp_usage(state);
		a->path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct tally {
	uint64_t frames, others, cut, bad;
};

static void tell(const struct arguments *a, const struct weft_capture_frame *frame,
	const struct weft_decoded *d, uint64_t number, struct term *term)
{
	if (a->human) {
		decode_human(term, frame, d, number, a->fields);
		return;
	}
	json_t *object = decode_json(frame, d, number);

	json_dumpf(object, stdout, JSON_COMPACT);
	json_decref(object);
	putchar('\n');
}

/* What was not shown, and why.  Returns the failures in it. */
static uint64_t tell_rest(const struct weft_capture *capture, const struct tally *t)
{
	unsigned link;
	uint64_t unknown = weft_capture_unknown(capture, &link);

	if (t->others)
		fprintf(stderr,
			"%" PRIu64 " of %" PRIu64 " frames were not MRC (--all shows them)\n",
			t->others, t->frames);
	if (t->cut)
		fprintf(stderr,
			"%" PRIu64 " of %" PRIu64 " frames were captured too short to tell whether "
			"they are MRC's\n",
			t->cut, t->frames);
	if (unknown)
		fprintf(stderr,
			"%" PRIu64 " of them have a link layer that is not known (type %u, for "
			"one); known are " WEFT_CAPTURE_LINKS "\n",
			unknown, link);
	return unknown && unknown == t->frames;
}

/* Returns the frames that are dropped or cannot be read. */
static uint64_t tell_all(struct weft_capture *capture, const struct arguments *a, struct term *term)
{
	char error[WEFT_CAPTURE_ERROR_BYTES];
	struct weft_capture_frame frame;
	struct tally t = { 0 };
	bool show_all = a->all || weft_capture_is_text(capture);
	int more;

	while ((more = weft_capture_next(capture, &frame, error)) > 0) {
		struct weft_decoded d;

		t.frames++;
		weft_decode_frame(&a->config, &frame, &d);
		if (!show_all && (d.what == WEFT_DECODED_OTHER || d.what == WEFT_DECODED_CUT)) {
			t.others += d.what == WEFT_DECODED_OTHER;
			t.cut += d.what == WEFT_DECODED_CUT;
			continue;
		}
		t.bad += d.what == WEFT_DECODED_DROP;
		tell(a, &frame, &d, t.frames, term);
	}
	if (more < 0)
		fprintf(stderr, "%s\n", error);
	return t.bad + tell_rest(capture, &t) + (more < 0);
}

int cmd_decode(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "show what is not MRC, too", 0 },
		{ "fabric", 'f', "FILE", 0, "name hosts, planes and uplinks by this fabric file",
			0 },
		{ "fields", 'v', NULL, 0, "for people, with every header field", 0 },
		{ "human", 'H', NULL, 0, "for people: a line per packet", 0 },
		{ "plain", 'e', "KIND", 0,
			"where plain IPv6 has its EV: usid (default), stev, udp_port", 0 },
		{ "port", 'p', "PORT", 0, "MRC's UDP port; without it, 4791 and 4971", 0 },
		{ 0 },
	};
	static const struct argp argp = { options, parse_argument, "[FILE]",
		"Decode MRC packets out of FILE (pcap, pcapng or hex text; - or nothing: standard "
		"input), one JSON object per packet.",
		NULL, NULL, NULL };
	static uint8_t scratch[WEFT_DECODE_FRAME_MAX];
	struct arguments a = { .config = { .crc = crc32_gzip_refl,
				       .plain = WEFT_ENCAP_USID,
				       .dscp = WEFT_DSCP_DEFAULT,
				       .scratch = scratch } };
	char error[WEFT_CAPTURE_ERROR_BYTES];
	struct term term;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_USAGE;
	struct weft_topo *topo = NULL;
	struct weft_capture *capture = NULL;
	uint64_t bad = 1;

	if (!a.fabric || !weft_topo_open(&topo, a.fabric, error, sizeof(error)))
		capture = weft_capture_open(a.path ? a.path : "-", error);
	if (capture) {
		a.config.topo = topo;
		term_open(&term, stdout);
		bad = tell_all(capture, &a, &term);
	} else {
		fprintf(stderr, "%s\n", error);
	}
	weft_capture_close(capture);
	weft_topo_close(topo);
	return bad ? EXIT_FAILED : EXIT_OK;
}
