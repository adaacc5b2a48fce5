/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket - the kernel's socket(), whoever else goes by that name.
 *
 * Preloaded libraries that turn a program's sockets into rsockets (librspreload.so) replace
 * socket(); ours would be turned into such sockets as well, which need sockets of ours.  The
 * version script keeps this definition inside the library.  Calls on a descriptor need none: a
 * preloaded library knows which are its own.
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}
