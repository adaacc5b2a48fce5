/* SPDX-License-Identifier: BSD-2-Clause */
/* The program at tc: everything that twin.h asks of both. */
#define TWIN_HOOK WEFT_XDP_AT_TC
#define TWIN_BYTES_MIN (14 + 40)
#define TWIN_BYTES_MAX 3000
#include "twin.h"
