/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version - which library this is, as found at run time.
 *
 * A program may run with another library than the one whose headers it was built with; so it asks a
 * function, not a macro.
 */
#include <weft/version.h>

#define TEXT(number) #number
#define JOIN(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *weft_version(void)
{
	return JOIN(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
}
