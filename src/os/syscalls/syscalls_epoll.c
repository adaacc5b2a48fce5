/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscalls_epoll - the kernel's epoll, whoever else goes by that name.
 *
 * librspreload.so replaces it from rdma-core 65 on, and makes sets of rsockets of all sets.  Ours
 * are polled in turn, which such a set cannot be; and what waits for an rsocket would wait on one.
 */
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_create1(int flags)
{
	return (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int set_fd, int op, int fd, struct epoll_event *event)
{
	return (int)syscall(SYS_epoll_ctl, set_fd, op, fd, event);
}

int epoll_wait(int set_fd, struct epoll_event *events, int max, int timeout_ms)
{
	return (int)syscall(SYS_epoll_pwait, set_fd, events, max, timeout_ms, NULL, 0);
}
