/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay - runs a fuzz target over files, where there is no libFuzzer.
 *
 * Arguments are files, or folders of files (not of folders); every input that ever failed lies in
 * the corpus, so an ordinary test run meets it again.  An empty input is always among them.
 */
#include <weft/base.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static unsigned n_inputs;

static void on_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expr);
	abort();
}

static void run_file(const char *path)
{
	FILE *in = fopen(path, "rb");

	if (!in) {
		perror(path);
		exit(2);
	}
	uint8_t *data = NULL;
	size_t len = 0, got = 0;

	do {
		/* Exactly as large as the input in the end, so that a sanitizer sees its edge. */
		data = realloc(data, len + 65536);
		WEFT_ASSERT(data);
		got = fread(data + len, 1, 65536, in);
		len += got;
	} while (got == 65536);
	fclose(in);
	data = realloc(data, len ? len : 1);
	WEFT_ASSERT(data);
	fprintf(stderr, "%s\n", path); /* the last line before a crash names its input */
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	n_inputs++;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_folder(const char *path, struct dirent **entries, int n_entries)
{
	for (int i = 0; i < n_entries; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		run_file(file);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	weft_panic_hook(on_panic);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		struct dirent **entries;
		int n_entries = scandir(argv[i], &entries, is_input, alphasort);

		if (n_entries >= 0)
			run_folder(argv[i], entries, n_entries);
		else
			run_file(argv[i]);
	}
	fprintf(stderr, "%u inputs\n", n_inputs);
	return n_inputs ? 0 : 2; /* a missing corpus is a mistake, not a success */
}
