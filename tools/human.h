/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HUMAN_H
#define HUMAN_H
/* human - numbers as people read them, three significant digits and a unit, and as they write
 * them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUMAN_MAX 32 /* bytes of buffer that hold any result, its NUL too */

/* Each fills buf and returns it, so that a call can stand in an argument list. */
char *human_bytes(char buf[HUMAN_MAX], uint64_t bytes);     /* "1.25 GiB", powers of 1024 */
char *human_rate(char buf[HUMAN_MAX], uint64_t bits_per_s); /* "7.4 Gb/s", powers of 1000 */
char *human_ns(char buf[HUMAN_MAX], uint64_t ns);   /* "850 ns", "2 min 05 s", "1 h 02 min" */
char *human_count(char buf[HUMAN_MAX], uint64_t n); /* "12,345,678" */

/* And back, as people write them: "1.5Gb/s", "500ms", in topo's units.  False: something else, or
 * zero, and the value is what it was. */
bool human_read_rate(const char *text, uint64_t *bits_per_s);
bool human_read_ns(const char *text, uint64_t *ns);
/* "0.5" or "0.5%" to parts per million; zero is good. */
bool human_read_percent(const char *text, uint32_t *ppm);

#endif
