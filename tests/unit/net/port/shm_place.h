/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_PLACE_H
#define SHM_PLACE_H
/* shm_place - two hosts, a socket's place and a packet, for the tests of port/shm. */
#include "check.h"
#include "port/raw.h"

#include <pthread.h>
#include <unistd.h>
#include <weft/shm.h>
#include <weft/topo.h>

#define MTU 4096u
#define SECOND UINT64_C(1000000000)
#define CARRIER                                                                                    \
	{                                                                                          \
		0xfd, 0, 0, 1, 0x80, 1, 0x40, 1, 0x80, 2, 0, 2, 0, 0, 0, 0                         \
	}

static const uint8_t hosts[2][2][16] = { /* [host][plane] */
	{ { 0xfc, [14] = 0, 1 }, { 0xfc, [14] = 1, 1 } },
	{ { 0xfc, [14] = 0, 2 }, { 0xfc, [14] = 1, 2 } }
};
static char dir[] = "/tmp/weft-shm-XXXXXX", path[64], error[256];
static uint8_t payload[MTU];

static inline void leave(void)
{
	unlink(path);
	rmdir(dir);
}

static inline void find_place(void)
{
	if (path[0])
		return;
	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ports", dir);
	atexit(leave);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
}

static inline struct weft_shm_port_config config_of(uint32_t host, bool is_far)
{
	struct weft_shm_port_config config = {
		.path = path, .is_far = is_far, .host = "h", .planes = 2, .mtu_bytes = MTU
	};

	find_place();
	memcpy(config.addr, hosts[host], sizeof(hosts[host]));
	return config;
}

static inline struct weft_port *open_port(const struct weft_shm_port_config *config)
{
	struct weft_port *port = NULL;

	if (weft_shm_port_open(&port, config, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	return port;
}

static inline void *dial(void *config)
{
	return open_port(config);
}

static inline struct weft_pkt data(uint32_t peer, uint32_t ev, uint32_t psn)
{
	return (struct weft_pkt){ .peer = peer,
		.ev = ev,
		.port = (uint8_t)(ev >> 16),
		.op = WEFT_OP_WRITE_ONLY,
		.dqpn = 100,
		.psn = psn,
		.w = { .data = payload, .len_bytes = MTU, .msg_bytes = MTU, .rkey = 1 } };
}

#endif
