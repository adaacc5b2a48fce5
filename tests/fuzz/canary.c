/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * canary - a planted bug, to prove that fuzzing finds bugs here.
 *
 * Three bytes lead to a read past a heap block of the input's size.  If the search ends without a
 * crash, the rig is broken (no sanitizer, no coverage feedback), and every quiet target means
 * nothing.
 */
#include <weft/base.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	if (len_bytes < 3 || data[0] != 'M' || data[1] != 'R' || data[2] != 'C')
		return 0;
	uint8_t *copy = malloc(len_bytes);

	WEFT_ASSERT(copy);
	memcpy(copy, data, len_bytes);
	volatile uint8_t past = copy[len_bytes];

	(void)past;
	free(copy);
	return 0;
}
