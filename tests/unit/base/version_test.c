/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <weft/version.h>

TEST(weft_version__is_what_the_headers_say)
{
	CHECK_STR(weft_version(), WEFT_VERSION);
}
