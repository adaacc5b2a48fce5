/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topofile - htsim's .topo as a fabric file.
 *
 *   Nodes 128                 Tier 0                       Tier 1
 *   Tiers 2                   Downlink_speed_Gbps 400      Downlink_speed_Gbps 400
 *   Podsize 128               Radix_Down 16                Radix_Down 8
 *                             Radix_Up 16                  Downlink_Latency_ns 1000
 *                             Downlink_Latency_ns 1000
 *
 * A path crosses its T0s at both ends and one T1; their latencies are put on the cables below
 * them, all of a T0's and half of a T1's, which adds up to the same.  Bundle: so many parallel
 * cables.  Our fabrics have two tiers; a file with three is refused.
 */
#include "workload_local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tier {
	uint64_t gbps, down, up, latency_ns, switch_ns, over, bundle;
	uint32_t down_line;
};

struct topo_file {
	uint64_t nodes, tiers, podsize;
	uint32_t podsize_line;
	struct tier tier[3];
	uint32_t at; /* the tier that lines are about; NONE */
};

static bool read_line(struct topo_file *f, struct reader *r)
{
	struct tier *t = f->at == NONE ? NULL : &f->tier[f->at];
	const struct {
		const char *name;
		uint64_t *to, max;
	} keys[] = { { "Nodes", &f->nodes, 1u << 20 }, { "Tiers", &f->tiers, 3 },
		{ "Podsize", &f->podsize, 1u << 20 },
		{ "Downlink_speed_Gbps", t ? &t->gbps : NULL, 100000 },
		{ "Radix_Down", t ? &t->down : NULL, 1u << 16 },
		{ "Radix_Up", t ? &t->up : NULL, 1u << 16 },
		{ "Downlink_Latency_ns", t ? &t->latency_ns : NULL, 1000000000 },
		{ "Switch_Latency_ns", t ? &t->switch_ns : NULL, 1000000000 },
		{ "Oversubscribed", t ? &t->over : NULL, 1u << 16 },
		{ "Bundle", t ? &t->bundle : NULL, 1u << 16 } };
	uint64_t tier;

	if (r->n != 2)
		return reader_fail(r, "wanted is a word and a number");
	if (!strcmp(r->words[0], "Tier")) {
		if (!reader_number(r, "Tier", r->words[1], 2, &tier))
			return false;
		f->at = (uint32_t)tier;
		return true;
	}
	for (unsigned i = 0; i < WEFT_COUNT(keys); i++) {
		if (strcmp(r->words[0], keys[i].name))
			continue;
		if (!keys[i].to)
			return reader_fail(r, "%s before Tier", keys[i].name);
		if (keys[i].to == &f->podsize)
			f->podsize_line = r->line;
		if (t && keys[i].to == &t->down)
			t->down_line = r->line;
		return reader_number(r, keys[i].name, r->words[1], keys[i].max, keys[i].to);
	}
	return reader_fail(r, "\"%.40s\" is not known here", r->words[0]);
}

/* What says the same thing twice must not say two things. */
static bool agrees(const struct topo_file *f, struct reader *r)
{
	uint64_t t0s = f->nodes / f->tier[0].down, bundle = f->tier[1].bundle;
	uint64_t down = f->tier[1].down;

	/* Some count cables there, some the switches below. */
	if (down && down != t0s && down != t0s * bundle) {
		r->line = f->tier[1].down_line;
		return reader_fail(r, "Tier 1's Radix_Down: %u, and there are %u T0s below",
			(unsigned)down, (unsigned)t0s);
	}
	if (f->podsize && f->podsize != f->nodes) {
		r->line = f->podsize_line;
		return reader_fail(r, "Podsize: %u, which in two tiers is Nodes, %u",
			(unsigned)f->podsize, (unsigned)f->nodes);
	}
	return true;
}

static bool judge(struct topo_file *f, struct reader *r)
{
	struct tier *t0 = &f->tier[0], *t1 = &f->tier[1];

	if (f->tiers != 2)
		return reader_fail(r, "%u tiers: fabrics here have two", (unsigned)f->tiers);
	if (!t0->over)
		t0->over = 1;
	if (!t1->bundle)
		t1->bundle = 1;
	if (!t0->up)
		t0->up = t0->down / t0->over;
	if (!f->nodes || !t0->down || !t0->up || !t0->gbps || !t1->gbps)
		return reader_fail(r,
			"wanted are Nodes, Tier 0's Radix_Down and Radix_Up, and both tiers'"
			" Downlink_speed_Gbps");
	if (f->nodes % t0->down || t0->up % t1->bundle)
		return reader_fail(r,
			"%u nodes below T0s of %u, %u uplinks in bundles of %u: that does not"
			" divide",
			(unsigned)f->nodes, (unsigned)t0->down, (unsigned)t0->up,
			(unsigned)t1->bundle);
	return agrees(f, r);
}

static char *write(const struct topo_file *f, struct reader *r)
{
	const struct tier *t0 = &f->tier[0], *t1 = &f->tier[1];
	size_t bytes = 1024;
	char *text = malloc(bytes);

	if (!text) {
		(void)reader_fail(r, "out of memory");
		return NULL;
	}
	(void)snprintf(text, bytes,
		"# from htsim's %.200s\nname: htsim\nplanes: 1\nt0s: %llu\nt1s: "
		"%llu\nparallel_links: "
		"%llu\n"
		"hosts: %llu\nhost_links: {speed: %lluGb/s, delay: %lluns}\n"
		"core_links: {speed: %lluGb/s, delay: %lluns}\n",
		r->name, (unsigned long long)(f->nodes / t0->down),
		(unsigned long long)(t0->up / t1->bundle), (unsigned long long)t1->bundle,
		(unsigned long long)f->nodes, (unsigned long long)t0->gbps,
		(unsigned long long)(t0->latency_ns + t0->switch_ns), (unsigned long long)t1->gbps,
		(unsigned long long)(t1->latency_ns + t1->switch_ns / 2));
	return text;
}

char *weft_workload_topo_text(
	const char *name, const char *text, size_t text_bytes, char *error, size_t error_bytes)
{
	struct topo_file f = { .at = NONE };
	struct reader r;
	char *out = NULL;
	bool is_good = true;

	if (!reader_open(&r, name, text, text_bytes, error, error_bytes))
		return NULL;
	error[0] = 0;
	while (is_good && reader_next(&r))
		is_good = read_line(&f, &r);
	if (is_good && !error[0] && judge(&f, &r))
		out = write(&f, &r);
	reader_close(&r);
	return out;
}

char *weft_workload_topo_file(const char *path, char *error, size_t error_bytes)
{
	size_t bytes;
	char *text = reader_load(path, &bytes, error, error_bytes), *out = NULL;

	if (text)
		out = weft_workload_topo_text(path, text, bytes, error, error_bytes);
	free(text);
	return out;
}
