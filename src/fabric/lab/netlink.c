/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netlink - batches of acknowledged requests.
 *
 * A fabric is some thousand requests; one system call each way per request would be most of the
 * time it takes to come up.  So requests are packed and the acknowledgements read afterwards.
 * A failed request does not stop those behind it: after a fault, "as much as is possible now" is
 * the right state; the first failure is kept with a word for people and the kernel's own.
 */
#include "lab_local.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_BYTES_MAX 1024
#define ANSWER_BYTES 16384
#define ALIGNED(bytes) WEFT_ALIGN_UP(bytes, 4u) /* MNL_ALIGN, without its sign mix */

bool netlink_open(struct netlink *netlink)
{
	int on = 1;

	netlink->seq = 0;
	netlink->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!netlink->socket)
		return false;
	/* Both only make errors better to read; old kernels may lack them. */
	(void)mnl_socket_setsockopt(netlink->socket, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)mnl_socket_setsockopt(netlink->socket, NETLINK_CAP_ACK, &on, sizeof(on));
	return mnl_socket_bind(netlink->socket, 0, MNL_SOCKET_AUTOPID) == 0;
}

void netlink_close(struct netlink *netlink)
{
	if (netlink->socket)
		(void)mnl_socket_close(netlink->socket);
	netlink->socket = NULL;
}

void batch_begin(struct batch *batch, struct netlink *netlink)
{
	batch->netlink = netlink;
	batch->used = 0;
	batch->n = 0;
	batch->error = 0;
	batch->text[0] = 0;
}

static int read_words(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
		*(const char **)data = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

/* The kernel's own words about a failure, where it has some. */
static const char *read_ext_ack(const struct nlmsghdr *header)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(header);
	const char *words = "";
	size_t skip = sizeof(*e);

	if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
		return "";
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skip += ALIGNED(e->msg.nlmsg_len) - sizeof(struct nlmsghdr);
	(void)mnl_attr_parse(header, (unsigned)skip, read_words, &words);
	return words;
}

static void note_answer(struct batch *batch, const struct nlmsghdr *header)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(header);
	uint32_t i = header->nlmsg_seq - batch->first_seq;

	if (!e->error || batch->error || i >= batch->n)
		return;
	batch->error = -e->error;
	const char *words = read_ext_ack(header);
	(void)snprintf(batch->text, sizeof(batch->text), "%s: %s%s%s", batch->whats[i],
		strerror(-e->error), *words ? ": " : "", words);
}

static void fail(struct batch *batch, const char *what)
{
	if (batch->error)
		return;
	batch->error = errno;
	(void)snprintf(batch->text, sizeof(batch->text), "netlink %s: %s", what, strerror(errno));
}

static void flush(struct batch *batch)
{
	_Alignas(8) char answer[ANSWER_BYTES];
	uint32_t answered = 0;

	if (!batch->n)
		return;
	if (mnl_socket_sendto(batch->netlink->socket, batch->buf, batch->used) < 0) {
		fail(batch, "send");
		batch->n = 0;
		batch->used = 0;
		return;
	}
	while (answered < batch->n) {
		ssize_t got = mnl_socket_recvfrom(batch->netlink->socket, answer, sizeof(answer));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			fail(batch, "receive");
			break;
		}
		int left = (int)got;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
			mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
			if (h->nlmsg_type != NLMSG_ERROR)
				continue;
			note_answer(batch, h);
			answered++;
		}
	}
	batch->n = 0;
	batch->used = 0;
}

static void close_request(struct batch *batch)
{
	if (batch->n) {
		/* The caller has grown the last request in place. */
		struct nlmsghdr *last = (struct nlmsghdr *)(batch->buf + batch->used);

		WEFT_ASSERT(last->nlmsg_len <= REQUEST_BYTES_MAX);
		batch->used += ALIGNED(last->nlmsg_len);
	}
}

struct nlmsghdr *batch_add(struct batch *batch, uint16_t type, uint16_t flags, const char *what)
{
	close_request(batch);
	if (batch->n == WEFT_COUNT(batch->whats) ||
		batch->used + REQUEST_BYTES_MAX > sizeof(batch->buf))
		flush(batch);
	struct nlmsghdr *header = mnl_nlmsg_put_header(batch->buf + batch->used);

	header->nlmsg_type = type;
	header->nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | NLM_F_ACK);
	header->nlmsg_seq = ++batch->netlink->seq;
	if (!batch->n)
		batch->first_seq = header->nlmsg_seq;
	batch->whats[batch->n++] = what;
	return header;
}

bool batch_end(struct batch *batch)
{
	close_request(batch);
	flush(batch);
	return !batch->error;
}
