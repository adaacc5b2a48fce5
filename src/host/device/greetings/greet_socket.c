/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet_socket - UDP sockets that carry greetings, where the network is this machine's.
 *
 * The number that is free is this process's on this host: its port says which.
 */
#include "greetings/greet_local.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_to(void *arg, const uint8_t from[16], const uint8_t to[16], uint32_t number,
	const void *bytes, size_t n)
{
	const struct weft_dev *dev = arg;

	/* What cannot be sent now is asked again. */
	(void)weft_inet_send(
		dev->greetings.fd, from, to, (uint16_t)(WEFT_DEV_PORT_BASE + number), bytes, n);
}

static int receive(void *arg, void *bytes, size_t max, uint8_t from[16], uint32_t *number)
{
	const struct weft_dev *dev = arg;
	struct sockaddr_in6 name;
	ssize_t n = weft_inet_recv(dev->greetings.fd, bytes, max, &name);

	if (n < 0)
		return -1;
	uint32_t port = ntohs(name.sin6_port);

	memcpy(from, &name.sin6_addr, 16);
	*number = name.sin6_family == AF_INET6 && port >= WEFT_DEV_PORT_BASE
			  ? port - WEFT_DEV_PORT_BASE
			  : UINT32_MAX;
	return (int)n;
}

int greet_open(struct weft_dev *dev, char *error, size_t error_bytes)
{
	int fd = weft_inet_socket(SOCK_DGRAM);

	if (fd < 0) {
		snprintf(error, error_bytes, "no socket for greetings: %s", strerror(errno));
		return -1;
	}
	dev->net = (struct weft_dev_net){ .arg = dev, .send = send_to, .recv = receive };
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 1 << 20 }, sizeof(int));
	for (dev->number = 0; dev->number < NUMBERS; dev->number++) {
		if (!weft_inet_bind(fd, NULL, (uint16_t)(WEFT_DEV_PORT_BASE + dev->number))) {
			dev->greetings.fd = fd;
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	snprintf(error, error_bytes, "no UDP port of %u..%u for greetings: %s", WEFT_DEV_PORT_BASE,
		WEFT_DEV_PORT_BASE + NUMBERS - 1, strerror(errno));
	close(fd);
	return -1;
}

/* Ports of sockets of one version of IP. */
static void read_ports(const char *path, uint8_t numbers[NUMBERS / 8])
{
	FILE *file = fopen(path, "re");
	char line[256];
	unsigned port;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %*u: %*32[0-9A-F]:%4x", &port) != 1 ||
			port < WEFT_DEV_PORT_BASE || port >= WEFT_DEV_PORT_BASE + NUMBERS)
			continue;
		port -= WEFT_DEV_PORT_BASE;
		numbers[port / 8] |= (uint8_t)(1u << port % 8);
	}
	if (file)
		fclose(file);
}

/* As far as the kernel tells.  Where it has no IPv6, or a program may not use that, sockets are of
 * IPv4 (inet.c of net). */
void greet_numbers(const struct weft_dev *dev, uint8_t numbers[NUMBERS / 8])
{
	memset(numbers, 0, NUMBERS / 8);
	numbers[dev->number / 8] = (uint8_t)(1u << dev->number % 8);
	if (dev->has_net)
		return;
	read_ports("/proc/net/udp6", numbers);
	read_ports("/proc/net/udp", numbers);
}
