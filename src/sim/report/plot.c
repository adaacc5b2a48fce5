/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plot - lines over time, and heat, as SVG.
 *
 * Drawn here and not by a script in the page: a picture in a README cannot run one, and so there is
 * one drawing of a thing.  Colours are classes, so that a page can be dark; a file of its own has
 * them with it.  Coordinates are rounded to a tenth of a pixel: pictures are compared as text.
 */
#include "report_local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 330, LEFT = 66, RIGHT = 20, TOP = 58, BOTTOM = 46, NAMED_MAX = 6 };

static const char style[] =
	"<style>.bg{fill:#fff}text{font:12px system-ui,sans-serif;fill:#3a4150}"
	".t{font-size:15px;font-weight:600;fill:#171b24}.g{stroke:#e6e9ef}.a{stroke:#9aa2b1}"
	".b{fill:#d03b4b;opacity:.1}.bl{stroke:#d03b4b;opacity:.55}.r{stroke:#171b24;"
	"stroke-dasharray:5 4;opacity:.6}.l{fill:none;stroke-width:1.8;stroke-linejoin:round}"
	".f{opacity:.5;stroke-width:1.2}.h{paint-order:stroke;stroke:#fff;stroke-width:4px}"
	"@media(prefers-color-scheme:dark){.bg{fill:#151922}text{fill:#b6bdcb}.t{fill:#f0f2f6}"
	".g{stroke:#2a3040}.a{stroke:#5c6577}.r{stroke:#f0f2f6}.h{stroke:#151922}}</style>\n";
static const char *const palette[] = { "#3b6fd4", "#e0762a", "#2f9e6e", "#b0489c", "#a3821c",
	"#d03b4b", "#3f9fb4", "#737a89" };

void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			(void)fputs("&amp;", out);
		else if (*text == '<')
			(void)fputs("&lt;", out);
		else if (*text == '>')
			(void)fputs("&gt;", out);
		else if (*text == '"')
			(void)fputs("&quot;", out);
		else
			(void)fputc(*text, out);
	}
}

const char *put_number(double value, const char *unit, char *text, size_t bytes)
{
	static const char *const powers[] = { "", "k", "M", "G", "T", "P" };
	bool is_bytes = !strcmp(unit, "bytes"), is_rate = !strcmp(unit, "b/s");
	double size = fabs(value);
	unsigned i = 0;

	for (; size >= (is_bytes || is_rate ? 999.5 : 99999.5) && i + 1 < WEFT_COUNT(powers); i++)
		size /= 1000;
	/* Things that are counted are written out up to 99999. */
	(void)snprintf(text, bytes, "%s%.*f", value < 0 ? "-" : "",
		size >= 100 || size == floor(size) ? 0
		: size >= 10                       ? 1
		: size >= 0.1                      ? 2
						   : 4,
		size);
	if (strchr(text, '.')) { /* 2.50 is 2.5 */
		char *end = text + strlen(text);

		while (end[-1] == '0')
			*--end = 0;
		if (end[-1] == '.')
			end[-1] = 0;
	}
	size_t used = strlen(text);

	if (is_bytes && i)
		(void)snprintf(text + used, bytes - used, " %sB", i == 1 ? "K" : powers[i]);
	else if (is_rate)
		(void)snprintf(text + used, bytes - used, " %s%s", powers[i], unit);
	else
		(void)snprintf(
			text + used, bytes - used, "%s%s%s", powers[i], *unit ? " " : "", unit);
	return text;
}

double tick_step(double min, double max, unsigned n)
{
	double rough = (max - min) / n, power = 1;

	if (!(rough > 0) || !isfinite(rough))
		return 1;
	for (; power * 10 <= rough; power *= 10)
		;
	for (; power > rough; power /= 10)
		;
	return rough / power < 1.5   ? power
	       : rough / power < 3.5 ? 2 * power
	       : rough / power < 7.5 ? 5 * power
				     : 10 * power;
}

static void text_at(
	FILE *out, double x, double y, const char *class, const char *anchor, const char *text)
{
	(void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s%s%s>", x, y, anchor,
		*class ? " class=\"" : "", class, *class ? "\"" : "");
	put_text(out, text);
	(void)fputs("</text>\n", out);
}

static void line_at(FILE *out, double x1, double y1, double x2, double y2, const char *class)
{
	(void)fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		class, x1, y1, x2, y2);
}

static void begin(FILE *out, const char *title, unsigned height, bool is_standalone)
{
	(void)fprintf(out,
		"%s<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" role=\"img\" "
		"aria-label=\"",
		is_standalone ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" : "", WIDTH, height);
	put_text(out, title);
	(void)fputs("\">\n", out);
	if (is_standalone)
		(void)fputs(style, out);
	(void)fprintf(
		out, "<rect class=\"bg\" width=\"%d\" height=\"%u\" rx=\"6\"/>\n", WIDTH, height);
	text_at(out, LEFT, 22, "t", "start", title);
}

/* ---- scales ---- */

struct scale {
	const struct plot *plot;
	double y_max, y_step;
};

static double x_at(const struct scale *s, double x)
{
	const struct plot *p = s->plot;
	double share = (x - p->x_min) / (p->x_max > p->x_min ? p->x_max - p->x_min : 1);

	share = share < 0 ? 0 : share > 1 ? 1 : share;
	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct scale *s, double y)
{
	double share = y / s->y_max;

	/* None is below one: from 0 to 1 it is as far as from 1 to 10. */
	if (s->plot->is_log)
		share = (y < 1 ? y : 1 + log10(y)) / (1 + log10(s->y_max));
	share = share < 0 ? 0 : share > 1.02 ? 1.02 : share;
	return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static struct scale scale_of(const struct plot *p)
{
	struct scale s = { .plot = p, .y_max = p->y_max };

	for (unsigned i = 0; i < p->n_series && !(p->y_max > 0); i++) {
		for (uint32_t k = 0; k < p->series[i].n; k++)
			s.y_max = WEFT_MAX(s.y_max, p->series[i].y[k]);
	}
	for (unsigned i = 0; i < p->n_rules; i++)
		s.y_max = WEFT_MAX(s.y_max, p->rules[i].y);
	if (p->is_log) {
		double power = 10;

		while (power < s.y_max)
			power *= 10;
		s.y_max = power;
		return s;
	}
	s.y_max = s.y_max > 0 ? s.y_max : 1;
	s.y_step = tick_step(0, s.y_max, 5);
	s.y_max = ceil(s.y_max / s.y_step - 1e-9) * s.y_step;
	return s;
}

/* ---- parts ---- */

static void draw_axes(FILE *out, const struct scale *s)
{
	const struct plot *p = s->plot;
	double x_step = tick_step(p->x_min, p->x_max, 8), bottom = HEIGHT - BOTTOM;
	char text[48];

	for (double y = 0; y <= s->y_max * 1.0001;
		y = p->is_log ? WEFT_MAX(y * 10, 1.0) : y + s->y_step) {
		line_at(out, LEFT, y_at(s, y), WIDTH - RIGHT, y_at(s, y), "g");
		text_at(out, LEFT - 8, y_at(s, y) + 4, "", "end",
			put_number(fabs(y) < 1e-12 ? 0 : y, "", text, sizeof(text)));
	}
	for (double x = ceil(p->x_min / x_step - 1e-9) * x_step; x <= p->x_max * 1.0001;
		x += x_step) {
		(void)snprintf(text, sizeof(text), "%g", fabs(x) < 1e-12 ? 0 : x);
		line_at(out, x_at(s, x), bottom, x_at(s, x), bottom + 5, "a");
		text_at(out, x_at(s, x), bottom + 18, "", "middle", text);
	}
	line_at(out, LEFT, bottom, WIDTH - RIGHT, bottom, "a");
	text_at(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "", "middle", p->x_name);
	text_at(out, WIDTH - RIGHT, 22, "", "end", p->y_name);
}

/* Where the next name of a band goes: below the one before, and clear of what rules say. */
static double name_row(const struct scale *s, double y)
{
	for (unsigned i = 0; i < s->plot->n_rules; i++) {
		double rule = y_at(s, s->plot->rules[i].y);

		if (y > rule - 18 && y < rule + 14)
			y = rule + 14;
	}
	return y;
}

static void draw_bands(FILE *out, const struct scale *s)
{
	const struct plot *p = s->plot;
	double bottom = HEIGHT - BOTTOM, row = TOP - 2;

	for (unsigned i = 0; i < p->n_bands; i++) {
		const struct band *b = &p->bands[i];
		double left = x_at(s, b->begin), right = x_at(s, b->end);

		if (b->begin > p->x_max)
			continue;
		(void)fprintf(out,
			"<rect class=\"b\"%s x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			"height=\"%.1f\"><title>",
			p->n_bands > NAMED_MAX ? " style=\"opacity:.03\"" : "", left, TOP,
			WEFT_MAX(right - left, 1.0), bottom - TOP);
		put_text(out, b->text);
		(void)fputs("</title></rect>\n", out);
		line_at(out, left, TOP, left, bottom, "bl");
		if (p->n_bands > NAMED_MAX)
			continue;
		row = name_row(s, row + 14);
		if (left + 4 + 6.6 * (double)strlen(b->text) < WIDTH - RIGHT)
			text_at(out, left + 4, row, "h", "start", b->text);
		else
			text_at(out, WEFT_MIN(left, WIDTH - RIGHT) - 4, row, "h", "end", b->text);
	}
}

static void draw_series(FILE *out, const struct scale *s, const struct series *series)
{
	double before = 0;

	(void)fprintf(out, "<path class=\"l%s\" stroke=\"%s\" d=\"", series->is_faint ? " f" : "",
		palette[series->colour % WEFT_COUNT(palette)]);
	for (uint32_t i = 0; i < series->n; i++) {
		double x = x_at(s, series->x[i]), y = y_at(s, series->y[i]);

		if (series->is_step && i)
			(void)fprintf(out, "L%.1f %.1f", x, before);
		(void)fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
		before = y;
	}
	(void)fputs("\"><title>", out);
	put_text(out, series->name);
	(void)fputs("</title></path>\n", out);
}

static void draw_legend(FILE *out, const struct plot *p)
{
	double x = LEFT, room = (double)(WIDTH - LEFT - RIGHT) / (p->n_series ? p->n_series : 1);
	char text[64];

	for (unsigned i = 0; i < p->n_series && p->n_series <= 10; i++) {
		const char *name = p->series[i].name;
		int most = (int)((room - 30) / 7.2);
		double wide = 30 + 7.2 * (double)WEFT_MIN(strlen(name), (size_t)most);

		(void)snprintf(text, sizeof(text), "%.*s", most, name);
		if (strlen(name) > (size_t)most)
			(void)snprintf(text, sizeof(text), "%.*s\xe2\x80\xa6", most - 1, name);
		(void)fprintf(out,
			"<rect x=\"%.1f\" y=\"36\" width=\"14\" height=\"4\" rx=\"2\" "
			"fill=\"%s\"/>\n",
			x, palette[p->series[i].colour % WEFT_COUNT(palette)]);
		text_at(out, x + 19, 42, "", "start", text);
		x += wide;
	}
}

void plot_draw(FILE *out, const struct plot *p, bool is_standalone)
{
	struct scale s = scale_of(p);

	begin(out, p->title, HEIGHT, is_standalone);
	draw_bands(out, &s);
	draw_axes(out, &s);
	for (unsigned i = 0; i < p->n_series; i++)
		draw_series(out, &s, &p->series[i]);
	for (unsigned i = 0; i < p->n_rules; i++) {
		double y = y_at(&s, p->rules[i].y);

		line_at(out, LEFT, y, WIDTH - RIGHT, y, "r");
		text_at(out, WIDTH - RIGHT - 4, y - 5, "h", "end", p->rules[i].text);
	}
	draw_legend(out, p);
	(void)fputs("</svg>\n", out);
}

/* ---- heat ---- */

void heat_draw(FILE *out, const struct heat *h, bool is_standalone)
{
	unsigned cell = h->rows > 20 ? 14 : 20, height = TOP + h->rows * cell + BOTTOM;
	double most = h->max, x_max = h->columns ? h->x[h->columns - 1] : 1;
	struct plot plot = { .x_max = x_max };
	struct scale s = { .plot = &plot };
	double x_step = tick_step(0, x_max, 8);
	char text[96], value[48];

	for (uint32_t r = 0; r < h->rows && !(h->max > 0); r++) {
		for (uint32_t c = 0; c < h->columns; c++)
			most = WEFT_MAX(most, h->values[r][c]);
	}
	begin(out, h->title, height, is_standalone);
	(void)snprintf(
		text, sizeof(text), "darkest: %s", put_number(most, h->unit, value, sizeof(value)));
	text_at(out, WIDTH - RIGHT, 22, "", "end", text);
	for (uint32_t r = 0; r < h->rows; r++) {
		double y = TOP + r * cell;

		text_at(out, LEFT - 6, y + cell - 6, "", "end", h->names[r]);
		for (uint32_t c = 0; c < h->columns; c++) {
			double left = x_at(&s, c ? h->x[c - 1] : 0), right = x_at(&s, h->x[c]);
			double share = most > 0 ? h->values[r][c] / most : 0;

			if (share > 0)
				(void)fprintf(out,
					"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%u\" "
					"fill=\"%s\" opacity=\"%.2f\"/>\n",
					left, y, WEFT_MAX(right - left, 0.8), cell - 2,
					h->is_good ? palette[0] : palette[5],
					0.08 + 0.92 * sqrt(share));
		}
		line_at(out, LEFT, y + cell - 1, WIDTH - RIGHT, y + cell - 1, "g");
	}
	for (double x = 0; x <= x_max * 1.0001; x += x_step) {
		(void)snprintf(text, sizeof(text), "%g", x);
		text_at(out, x_at(&s, x), height - BOTTOM + 16, "", "middle", text);
	}
	text_at(out, (LEFT + WIDTH - RIGHT) / 2.0, height - 10, "", "middle", h->x_name);
	(void)fputs("</svg>\n", out);
}

/* ---- strips ---- */

/* What is in this state or a worse one, as a share of all: the top of its area. */
static double share_from(const struct strips *t, uint32_t row, uint32_t state, uint32_t column)
{
	double sum = 0, part = 0;

	for (uint32_t i = 0; i < t->n_states; i++) {
		double value = t->values[row][i][column];

		sum += value;
		part += i >= state ? value : 0;
	}
	return sum > 0 ? part / sum : 0;
}

/* An area from the bottom of the strip up, in steps. */
static void draw_state(FILE *out, const struct scale *s, const struct strips *t, uint32_t row,
	uint32_t state, double bottom, double high)
{
	static const char *const fills[STATES_MAX] = { "#2f9e6e", "#e5b53c", "#d03b4b", "#737a89" };
	static const char *const opacities[STATES_MAX] = { ".22", ".85", ".9", ".9" };
	bool is_there = false;

	for (uint32_t c = 0; c < t->columns && !is_there; c++)
		is_there = t->values[row][state][c] > 0;
	if (!is_there)
		return;
	(void)fprintf(out, "<path class=\"s\" fill=\"%s\" opacity=\"%s\" d=\"M%.1f %.1f",
		fills[state], opacities[state], x_at(s, 0), bottom);
	for (uint32_t c = 0; c < t->columns; c++) {
		double y = bottom - high * share_from(t, row, state, c);

		(void)fprintf(out, "V%.1fH%.1f", y, x_at(s, t->x[c]));
	}
	/* Back along the next worse state, so that areas do not lie upon each other. */
	for (uint32_t c = t->columns; c-- > 0;) {
		double y = bottom - high * share_from(t, row, state + 1, c);

		(void)fprintf(out, "V%.1fH%.1f", y, x_at(s, c ? t->x[c - 1] : 0));
	}
	(void)fprintf(out, "Z\"><title>%s: ", t->names[row]);
	put_text(out, t->states[state]);
	(void)fputs("</title></path>\n", out);
}

static void draw_keys(FILE *out, const struct strips *t)
{
	static const char *const fills[STATES_MAX] = { "#2f9e6e", "#e5b53c", "#d03b4b", "#737a89" };
	double x = LEFT;

	for (uint32_t i = 0; i < t->n_states; i++) {
		(void)fprintf(out,
			"<rect x=\"%.1f\" y=\"32\" width=\"12\" height=\"12\" rx=\"3\" "
			"fill=\"%s\" opacity=\"%s\"/>\n",
			x, fills[i], i ? ".9" : ".35");
		text_at(out, x + 17, 42, "", "start", t->states[i]);
		x += 34 + 7.2 * (double)strlen(t->states[i]);
	}
}

void strips_draw(FILE *out, const struct strips *t, bool is_standalone)
{
	unsigned each = t->rows > 8   ? 20
			: t->rows > 3 ? 30
				      : 56,
		 height = TOP + t->rows * each + BOTTOM;
	double x_max = t->columns ? t->x[t->columns - 1] : 1, high = each - 5;
	struct plot plot = { .x_max = x_max };
	struct scale s = { .plot = &plot };
	double x_step = tick_step(0, x_max, 8);
	char text[48];

	begin(out, t->title, height, is_standalone);
	draw_keys(out, t);
	for (uint32_t r = 0; r < t->rows; r++) {
		double bottom = TOP + (r + 1) * each - 3;

		text_at(out, LEFT - 8, bottom - high / 2 + 4, "", "end", t->names[r]);
		for (uint32_t i = 0; i < t->n_states; i++)
			draw_state(out, &s, t, r, i, bottom, high);
	}
	for (unsigned i = 0; i < t->n_bands; i++) {
		double x = x_at(&s, t->bands[i].begin);

		(void)fprintf(out, "<g><title>");
		put_text(out, t->bands[i].text);
		(void)fputs("</title>", out);
		line_at(out, x, TOP - 4, x, height - BOTTOM, "bl");
		(void)fputs("</g>\n", out);
	}
	for (double x = 0; x <= x_max * 1.0001; x += x_step) {
		(void)snprintf(text, sizeof(text), "%g", x);
		text_at(out, x_at(&s, x), height - BOTTOM + 16, "", "middle", text);
	}
	text_at(out, (LEFT + WIDTH - RIGHT) / 2.0, height - 10, "", "middle", t->x_name);
	(void)fputs("</svg>\n", out);
}
