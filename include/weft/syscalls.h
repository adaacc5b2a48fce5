/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SYSCALLS_H
#define WEFT_SYSCALLS_H
/*
 * syscalls - the kernel's own calls where a preloaded library has taken the name.
 *
 * For libraries that are loaded into other people's programs (ALSO syscalls in their row): what
 * they call socket() is then this one, which is not seen from outside.  It behaves as socket(2).
 */

#ifdef __cplusplus
extern "C" {
#endif

int socket(int domain, int type, int protocol);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SYSCALLS_H */
