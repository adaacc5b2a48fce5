/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_LOCAL_H
#define REPORT_LOCAL_H
/* What the files of report share: plot.c draws axes and lines, picture.c says which. */
#include <weft/base.h>
#include <weft/report.h>

enum { SERIES_MAX = 40, BANDS_MAX = 48, RULES_MAX = 4 };

struct series {
	const char *name;
	const double *x, *y; /* n of each */
	uint32_t n;
	uint8_t colour; /* of the palette */
	bool is_faint, is_step;
};

struct band { /* a time in which something is broken */
	double begin, end;
	const char *text;
};

struct rule { /* a line across: what arithmetic says */
	double y;
	const char *text;
};

struct plot {
	const char *title, *x_name, *y_name;
	double x_min, x_max, y_max; /* y_max 0: from the values */
	bool is_log;                /* of y: 0, 1, 10, 100 ... */
	struct series series[SERIES_MAX];
	unsigned n_series;
	struct band bands[BANDS_MAX];
	unsigned n_bands;
	struct rule rules[RULES_MAX];
	unsigned n_rules;
};
void plot_draw(FILE *out, const struct plot *plot, bool is_standalone);

struct heat { /* rows of cells over time, dark where much happens */
	const char *title, *x_name, *unit;
	const char *names[64];
	const double *values[64]; /* columns each */
	const double *x;          /* ends of the columns */
	uint32_t columns, rows;
	double max;   /* 0: from the values */
	bool is_good; /* not a thing to be warned of: another colour */
};
void heat_draw(FILE *out, const struct heat *heat, bool is_standalone);

enum { STATES_MAX = 4, STRIPS_MAX = 16 };
struct strips { /* a strip for each of some things: its share in which state, over time */
	const char *title, *x_name;
	const char *names[STRIPS_MAX];
	const double *values[STRIPS_MAX][STATES_MAX]; /* columns each; the worst state last */
	const char *states[STATES_MAX];
	const double *x; /* ends of the columns */
	uint32_t columns, rows, n_states;
	struct band bands[BANDS_MAX];
	unsigned n_bands;
};
void strips_draw(FILE *out, const struct strips *strips, bool is_standalone);

/* Text with &, < and > made harmless. */
void put_text(FILE *out, const char *text);
/* A number in three digits or so and its unit, for people: "2.35 MB", "730 frames"; text. */
const char *put_number(double value, const char *unit, char *text, size_t bytes);
/* About n round numbers from min to max: the distance between them. */
double tick_step(double min, double max, unsigned n);

#endif
