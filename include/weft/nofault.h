/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_NOFAULT_H
#define WEFT_NOFAULT_H
/*
 * nofault - accesses to memory that its owner may have taken away.
 *
 * Registered memory is the program's, which may unmap or protect it or cut the file under it.  An
 * access here ends with false then, and not with SIGSEGV or SIGBUS.
 *
 * Time     None.
 * Memory   None but static.
 * Threads  Any.
 * Errors   False; weft_nofault_take() says where.
 * Signals  Handlers of SIGSEGV and SIGBUS, once weft_nofault_watch() has been called.  What is not
 *          ours goes to the handler that was there, with its mask and flags, or ends the program as
 *          it would have.  Unblocked in each thread that makes its first access.
 */
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Installs the handlers, or puts them in front again where the program has installed its own since.
 * Without it, all below fault as anybody's. */
void weft_nofault_watch(void);
/* As memcpy().  False: bytes at one of the two are not there; how many were copied is unknown. */
bool weft_nofault_copy(void *to, const void *from, size_t bytes);
/* Calls `access`, which may be left in the middle where bytes at `at` are not there: it keeps no
 * lock and leaves nothing half done. */
bool weft_nofault_call(void (*access)(void *), void *arg, const void *at, size_t bytes);
/* Whether these may be read, and written; what is there stays as it is, for others' writes, too. */
bool weft_nofault_reach(void *at, size_t bytes, bool write);
/* Where the last access of this thread failed, once; NULL: none has since. */
const void *weft_nofault_take(void);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_NOFAULT_H */
