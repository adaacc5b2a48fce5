/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page - reports of demos: the page carries its own data and draws itself from it, so there is one
 * description of a run, and page and JSON cannot differ.
 */
#include "page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <weft/base.h>

#define MARKER "{\"report\": \"goes here\"}"

json_t *page_machine(void)
{
	char line[256], model[256] = "unknown";
	FILE *info = fopen("/proc/cpuinfo", "r");
	struct utsname name = { 0 };

	while (info && fgets(line, sizeof(line), info)) {
		char *value = strchr(line, ':');

		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "model name", 10) && value)
			(void)snprintf(model, sizeof(model), "%s", value + 2);
	}
	if (info)
		(void)fclose(info);
	(void)uname(&name);
	return json_pack("{s:s, s:i, s:s, s:f}", "cpu", model, "cpus",
		(int)sysconf(_SC_NPROCESSORS_ONLN), "kernel", name.release, "memory_gib",
		(double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30));
}

/* "</" would end the script element that carries the JSON. */
static void write_guarded(FILE *out, const char *json)
{
	for (const char *c = json; *c; c++) {
		if (*c == '<')
			fputs("\\u003c", out);
		else
			putc(*c, out);
	}
}

static int write_page(const char *path, const char *page, const char *json)
{
	const char *split = strstr(page, MARKER);
	FILE *out = fopen(path, "w");

	WEFT_ASSERT(split);
	if (!out)
		return -1;
	(void)fwrite(page, 1, (size_t)(split - page), out);
	write_guarded(out, json);
	fputs(split + strlen(MARKER), out);
	bool bad = ferror(out);

	return fclose(out) || bad ? -1 : 0;
}

int page_write(const char *folder, const unsigned char *page, const json_t *json, char *error,
	size_t error_bytes)
{
	char path[4096];
	char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));

	(void)snprintf(path, sizeof(path), "%s/report.json", folder);
	int result =
		text ? json_dump_file(json, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
	if (!result) {
		(void)snprintf(path, sizeof(path), "%s/report.html", folder);
		result = write_page(path, (const char *)page, text);
	}
	if (result)
		(void)snprintf(
			error, error_bytes, "%s: cannot be written: %s", path, strerror(errno));
	free(text);
	return result;
}

int page_finish(
	const char *command, const char *folder, const unsigned char *page, const json_t *json)
{
	char error[4096 + 128] = "the report cannot be made";

	if (!json || page_write(folder, page, json, error, sizeof(error))) {
		fprintf(stderr, "%s: %s\n", command, error);
		return -1;
	}
	printf("\nThe whole story: %s/report.html (and report.json)\n", folder);
	return 0;
}
