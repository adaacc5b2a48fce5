/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random - numbers that a stranger cannot guess, from the operating system.
 *
 * We live in programs of others, some of which are kept from asking for them (seccomp, a chroot
 * without /dev), and ending such a program is not ours.  So where getrandom() is refused, they are
 * made of the sixteen bytes that the kernel gives each program at its start (AT_RANDOM in
 * getauxval(3)), which no other host knows, and of what differs from call to call and between
 * parent and child.
 */
#include <weft/base.h>
#include <weft/net.h>

#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

/* Sebastiano Vigna's finalizer (2015): each bit of the result hangs on all of them. */
static uint64_t mix(uint64_t bits)
{
	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

static uint64_t without_getrandom(void)
{
	static _Atomic uint64_t calls;
	const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t secret[2] = { 0 };

	if (given)
		memcpy(secret, given, sizeof(secret));
	uint64_t bits = mix(secret[0] + atomic_fetch_add(&calls, 1));

	bits = mix(bits ^ (uint64_t)getpid());
	return mix(bits + secret[1] + weft_clock_now(NULL));
}

uint64_t weft_random(void)
{
	uint64_t bits;

	/* So few bytes come at once or not at all; a signal does not interrupt them. */
	return getrandom(&bits, sizeof(bits), GRND_NONBLOCK) == sizeof(bits) ? bits
									     : without_getrandom();
}
