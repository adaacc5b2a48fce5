/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PAGE_H
#define PAGE_H
/* page - a report as one page that needs no network, and as JSON beside it. */
#include <jansson.h>
#include <stddef.h>

/*
 * Writes folder/report.json and folder/report.html.  page: an embedded one, whose marker
 * {"report": "goes here"} the same JSON replaces.  0, or -1 with one line in error.
 */
int page_write(const char *folder, const unsigned char *page, const json_t *json, char *error,
	size_t error_bytes);
/* The same, and tells where the report is, or what is wrong.  json: NULL could not be made. */
int page_finish(
	const char *command, const char *folder, const unsigned char *page, const json_t *json);
/* The machine that all was measured on. */
json_t *page_machine(void);

#endif
