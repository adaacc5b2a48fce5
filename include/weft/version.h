/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H
/*
 * version - which Weft this is; by the rules of semver.org.
 *
 * While the first number is 0 the second changes where a program has to be changed or built anew,
 * and is part of the library's soname; CHANGELOG.md says what has changed.
 */
#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION "0.2.0" /* of these headers */

/* Of the library that is linked or loaded: the three numbers with points.  A static string. */
const char *weft_version(void);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_VERSION_H */
