/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAB_GUARD_H
#define LAB_GUARD_H
/*
 * lab_guard - the certain end of a lab that this program brings up for itself; one at a time.
 *
 * Start it before the lab; end it after closing the lab: returns when the lab is down.  Processes
 * that are forked in between hold its pipe, so they must not outlive this one (PR_SET_PDEATHSIG).
 */
#include <stdbool.h>

bool lab_guard_start(const char *lab_name);
void lab_guard_end(void); /* also after a failed start, and twice */

#endif
