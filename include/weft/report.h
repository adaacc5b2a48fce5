/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_REPORT_H
#define WEFT_REPORT_H
/*
 * report - results of play as pictures (SVG) and as one page (HTML).
 *
 *   struct weft_scenario_result --> weft_report_picture("goodput") --> <svg>...</svg>
 *                           --> weft_report_page() --> all of them, tables, claims
 *
 * Everything is in the file: no script from elsewhere, no font, no network.  The same result gives
 * the same bytes.
 *
 * Errors   false: out of memory, or there is nothing to draw.  A full disk shows at fclose().
 */
#include <weft/scenario.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_report_kind {
	const char *word, *help;
};
/* Kinds of pictures; ended by a NULL word. */
extern const struct weft_report_kind weft_report_kinds[];
/* What to draw of a scenario that does not say. */
const char *weft_report_kind_usual(const struct weft_scenario_result *result);

/* One <svg> element; standalone: with its XML head and colours, for a file of its own. */
bool weft_report_picture(
	FILE *out, const char *kind, const struct weft_scenario_result *result, bool is_standalone);

/* A page of several runs of one scenario. */
bool weft_report_page(FILE *out, const struct weft_scenario *play,
	struct weft_scenario_result *const results[], unsigned n, const char *where);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_REPORT_H */
