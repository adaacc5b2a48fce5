/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak - feeds a fuzz target with random inputs until it has made so many calls.
 *
 * soak CALLS [SEED]: one input per seed, SEED counting up; the seed of a failing input is printed
 * and brings it back alone: soak 1 SEED.
 */
#include <weft/base.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_BYTES = 65536 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);
extern uint64_t ops_calls;

static uint64_t seed;

/* Also where a sanitizer or a signal ends the program: the line is printed before the run. */
static void on_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "%s:%d: broken invariant: %s (seed %" PRIu64 ", call %" PRIu64 ")\n", file,
		line, expr, seed, ops_calls);
	abort();
}

int main(int argc, char **argv)
{
	uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	uint64_t *input = malloc(INPUT_BYTES);

	weft_panic_hook(on_panic);
	WEFT_ASSERT(input);
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	for (; ops_calls < calls; seed++) {
		struct weft_rng rng;

		weft_rng_seed(&rng, seed);
		size_t len = (size_t)weft_rng_between(&rng, 64, INPUT_BYTES);

		for (size_t i = 0; i < INPUT_BYTES / 8; i++)
			input[i] = weft_rng_u64(&rng);
		fprintf(stderr, "\rseed %" PRIu64 ", %" PRIu64 " calls ", seed, ops_calls);
		LLVMFuzzerTestOneInput((const uint8_t *)input, len);
	}
	fprintf(stderr, "\n%" PRIu64 " calls, seeds up to %" PRIu64 "\n", ops_calls, seed - 1);
	free(input);
	return 0;
}
