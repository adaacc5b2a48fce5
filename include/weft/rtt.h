/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_RTT_H
#define WEFT_RTT_H
/*
 * rtt - round trips that fabrics may have and engines can count with.
 *
 * Ages are kept in units of 16 ns, and timers in 32 bits after some doublings.  A fabric file is
 * held to this range when it is read, so that nobody behind it has to say what is wrong.
 */
#include <stdint.h> /* and so that it compiles alone */

#define WEFT_BASE_RTT_NS_MIN 100u
#define WEFT_BASE_RTT_NS_MAX 1000000000u

#endif /* WEFT_RTT_H */
