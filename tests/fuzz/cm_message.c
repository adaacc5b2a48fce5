/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cm_message - rdma_cm's messages, from a peer who may be anybody, to a connection in any state.
 *
 * The first byte is the state, then come bytes of the stream in pieces: how many (a byte), and
 * they; 255 stands for a whole message of which the magic is right, 0 for a deadline that passes.
 */
#include "rdmacm_local.h"
#include "unit/rdmacm/fake_objects.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x57434d32u
#define PIECES_MAX 64

static const enum state states[] = { AWAITS_REQUEST, AWAITS_REPLY, AWAITS_GREETING, ASKED, ANSWERED,
	TOGETHER };

static struct id *make(
	struct rdma_event_channel *channel, struct id *listener, enum state state, int fd)
{
	struct sockaddr_in at = loopback(7471);
	struct id *id = id_new(channel, NULL, RDMA_PS_TCP);

	WEFT_ASSERT(id);
	memcpy(&id->rdma.route.addr.src_storage, &at, sizeof(at));
	memcpy(&id->rdma.route.addr.dst_storage, &at, sizeof(at));
	id->rdma.verbs = &one_context;
	id->state = state;
	id->fd = fd;
	id->listener = state == AWAITS_REQUEST || state == ASKED ? listener : NULL;
	id->is_told = state != AWAITS_REQUEST;
	id->place = PORT_PLACES - 1; /* who is not greeted here is nowhere: nobody is called */
	return id;
}

/* What the program is told: no more than was sent, and in its own memory. */
static void look(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	uint32_t sum = 0;

	while (!rdma_get_cm_event(channel, &event)) {
		const uint8_t *data = event->param.conn.private_data;

		WEFT_ASSERT(event->param.conn.private_data_len <= PRIVATE_BYTES);
		for (uint8_t i = 0; data && i < event->param.conn.private_data_len; i++)
			sum += data[i];
		WEFT_ASSERT(sum <= 255u * PRIVATE_BYTES && event->id);
		sum = 0;
		(void)rdma_ack_cm_event(event);
	}
}

static size_t say(int fd, const uint8_t *data, size_t size)
{
	struct message m = { .magic = htobe32(MAGIC) };
	size_t n = size ? data[0] : 0;

	if (n == 255) {
		size_t bytes = WEFT_MIN(size - 1, sizeof(m) - sizeof(m.magic));

		memcpy((uint8_t *)&m + sizeof(m.magic), data + 1, bytes);
		(void)!send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
		return bytes + 1;
	}
	n = WEFT_MIN(n, size - 1);
	(void)!send(fd, data + 1, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fds[2];

	if (!size || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
		return 0;
	struct rdma_event_channel *channel = rdma_create_event_channel();

	WEFT_ASSERT(channel && !fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	weft_lock_take(&cm_lock);
	struct id *listener = make(channel, NULL, IDLE, -1);
	struct id *id = make(channel, listener, states[data[0] % WEFT_COUNT(states)], fds[0]);
	uint64_t serial = id->serial;

	for (size_t at = 1, n = 0; at < size && n < PIECES_MAX && id_find(serial) == id; n++) {
		if (data[at]) {
			at += say(fds[1], data + at, size - at);
			wire_handle(id);
		} else {
			at++;
			wire_due(id);
		}
	}
	weft_lock_give(&cm_lock);
	look(channel);
	weft_lock_take(&cm_lock);
	bool is_there = id_find(serial) == id;
	weft_lock_give(&cm_lock);
	if (is_there)
		(void)rdma_destroy_id(&id->rdma);
	(void)rdma_destroy_id(&listener->rdma);
	rdma_destroy_event_channel(channel);
	(void)close(fds[1]);
	return 0;
}
