/* SPDX-License-Identifier: BSD-2-Clause */
/* The program at the driver: everything that twin.h asks of both, with frames in several pieces. */
#define TWIN_HOOK WEFT_XDP_AT_DRIVER
#define TWIN_BYTES_MIN (14 + 1)
#define TWIN_BYTES_MAX 8000
#include "twin.h"
