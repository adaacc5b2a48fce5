/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_RAW_H
#define WEFT_RAW_H
/*
 * raw - the kernel's own call where a preloaded library has taken the name.
 *
 * For libraries that are loaded into other people's programs (ALSO raw in their row): what they
 * call socket() is then this one, which is not seen from outside.  It behaves as socket(2).
 */

#ifdef __cplusplus
extern "C" {
#endif

int socket(int domain, int type, int protocol);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_RAW_H */
