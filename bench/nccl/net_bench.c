/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net_bench - libnccl-net-weft.so used as NCCL uses it, without NCCL and without a GPU.
 *
 *   bench_nccl_net PLUGIN listen PORT             on one host
 *   bench_nccl_net PLUGIN send ADDRESS PORT       on another
 *   bench_nccl_net PLUGIN                         both in this process, over $WEFT_PLANES
 *
 * With --gpu before PLUGIN this process' data is in the memory of GPU 0 (of $WEFT_BENCH_GPU), and
 * with --dmabuf it is registered by its DMA-BUF; the other one may do as it likes.
 *
 * The plugin is opened by name and found by its symbol.  Messages of all sizes go in groups of
 * receives with as many in flight as NCCL has; every byte is checked.  Then one size, as fast as it
 * goes.  The 128 bytes of the handle travel by TCP, which is NCCL's own bootstrap's business.
 */
#include "../bench.h"
#include "gpu_memory.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/nccl.h>

#define MESSAGE_MAX (4u << 20)
#define SLOTS 8u
#define ROUNDS 60u
#define FAST_BYTES (1u << 20)
#define FAST_ROUNDS 200u

static const struct weft_nccl_net_v12 *net;
static uint8_t *from, *to; /* a GPU's, if is_gpu: then this is what should be there, or was: */
static uint8_t *shadow;
static bool is_gpu, by_dmabuf;

static void die(const char *what)
{
	fprintf(stderr, "net_bench: %s\n", what);
	exit(1);
}

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if (call)                                                                          \
			die(#call);                                                                \
	} while (0)

__attribute__((format(printf, 5, 6))) static void say(
	int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
	va_list list;

	(void)level;
	(void)flags;
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

static uint8_t byte_of(size_t i, unsigned round)
{
	return (uint8_t)(i * 7 + i / 4093 + round * 13);
}

/* Sizes that both ends know: all powers of two, and what lies around them. */
static size_t size_of(unsigned round, unsigned slot)
{
	size_t power = (size_t)1 << (round * 3 + slot * 5) % 22;

	return (round + slot) % 3 ? power - (round + slot) % 2 : power / 2 + 1;
}

struct flight { /* one group of receives, or the sends that belong to it */
	void *request[SLOTS];
	unsigned n, posted;
};

static unsigned group_of(unsigned round)
{
	return 1 + round % SLOTS;
}

static bool is_done(void *request, int bytes[])
{
	int done = 0;

	MUST(net->test(request, &done, bytes));
	return done;
}

/* Sends what is due; true: all of round has gone. */
static bool send_some(void *comm, void *mr, unsigned round, struct flight *f)
{
	unsigned n = group_of(round), left = 0;

	for (; f->posted < n; f->posted++) {
		unsigned slot = n - 1 - f->posted; /* not in the order of the receives */
		size_t bytes = size_of(round, slot);
		uint8_t *at = from + (size_t)slot * MESSAGE_MAX, *host = is_gpu ? shadow : at;

		for (size_t i = 0; i < bytes; i++)
			host[i] = byte_of(i, round + slot);
		if (is_gpu)
			gpu_put(at, host, bytes);
		MUST(net->isend(
			comm, at, bytes, (int)(100 + slot), mr, NULL, &f->request[f->posted]));
		if (!f->request[f->posted])
			return false;
	}
	for (unsigned i = 0; i < n; i++) {
		if (f->request[i] && is_done(f->request[i], NULL))
			f->request[i] = NULL;
		left += f->request[i] != NULL;
	}
	return !left;
}

static void clear(size_t bytes)
{
	if (!is_gpu) {
		memset(to, 0, bytes);
		return;
	}
	memset(shadow, 0, MESSAGE_MAX);
	for (size_t at = 0; at < bytes; at += MESSAGE_MAX)
		gpu_put(to + at, shadow, MESSAGE_MAX);
}

static void check_message(const uint8_t *data, size_t bytes, unsigned round)
{
	if (is_gpu) {
		gpu_get(shadow, data, bytes + 1);
		data = shadow;
	}
	for (size_t k = 0; k < bytes; k++) {
		if (data[k] != byte_of(k, round))
			die("a message has other bytes");
	}
	if (data[bytes])
		die("a byte too many was written");
}

static bool receive_some(void *comm, void *mr, unsigned round, struct flight *f)
{
	unsigned n = group_of(round);
	void *data[SLOTS], *mrs[SLOTS];
	size_t room[SLOTS];
	int tags[SLOTS], bytes[SLOTS];

	for (unsigned i = 0; i < n; i++) {
		data[i] = to + (size_t)i * MESSAGE_MAX;
		mrs[i] = mr;
		room[i] = MESSAGE_MAX;
		tags[i] = (int)(100 + i);
	}
	if (!f->posted) {
		clear((size_t)n * MESSAGE_MAX);
		MUST(net->irecv(comm, (int)n, data, room, tags, mrs, NULL, &f->request[0]));
		f->posted = f->request[0] != NULL;
		return false;
	}
	if (!is_done(f->request[0], bytes))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if ((size_t)bytes[i] != size_of(round, i))
			die("a message has another size");
		check_message(data[i], (size_t)bytes[i], round + i);
	}
	return true;
}

/* Either comm may be NULL: then the other end is elsewhere. */
static void check(void *sender, void *receiver, void *send_mr, void *recv_mr)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct flight out = { .n = 0 }, in = { .n = 0 };
		bool sent = !sender, received = !receiver;

		while (!sent || !received) {
			if (!sent)
				sent = send_some(sender, send_mr, round, &out);
			if (!received)
				received = receive_some(receiver, recv_mr, round, &in);
		}
	}
}

static void fast(void *sender, void *receiver, void *send_mr, void *recv_mr)
{
	void *out[SLOTS] = { NULL }, *in[SLOTS] = { NULL };
	unsigned sent = sender ? 0 : FAST_ROUNDS, received = receiver ? 0 : FAST_ROUNDS;
	unsigned asked = received, posted = sent;
	double start_ns = bench_now_ns();
	size_t room = FAST_BYTES;
	int tag = 1;

	while (sent < FAST_ROUNDS || received < FAST_ROUNDS) {
		for (unsigned i = 0; i < SLOTS; i++) {
			void *data = to + (size_t)i * MESSAGE_MAX;

			if (receiver && !in[i] && asked < FAST_ROUNDS) {
				MUST(net->irecv(
					receiver, 1, &data, &room, &tag, &recv_mr, NULL, &in[i]));
				asked += in[i] != NULL;
			}
			if (sender && !out[i] && posted < FAST_ROUNDS) {
				MUST(net->isend(sender, from + (size_t)i * MESSAGE_MAX, FAST_BYTES,
					tag, send_mr, NULL, &out[i]));
				posted += out[i] != NULL;
			}
			if (in[i] && is_done(in[i], NULL)) {
				in[i] = NULL;
				received++;
			}
			if (out[i] && is_done(out[i], NULL)) {
				out[i] = NULL;
				sent++;
			}
		}
	}
	printf("%u messages of %u bytes, %s memory: %.2f Gb/s\n", FAST_ROUNDS, FAST_BYTES,
		is_gpu ? "a GPU's" : "host",
		8.0 * FAST_BYTES * FAST_ROUNDS / (bench_now_ns() - start_ns));
}

/* ---- who is where ---- */

static int tcp_listen(const char *port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), one = 1, came;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1))
		die("cannot listen");
	printf("listening\n");
	fflush(stdout);
	came = accept(fd, NULL, NULL);
	close(fd);
	return came;
}

static int tcp_connect(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;

	for (unsigned i = 0; i < 200; i++) {
		if (!getaddrinfo(host, port, &hints, &found)) {
			int fd = socket(found->ai_family, SOCK_STREAM, 0);
			bool ok = !connect(fd, found->ai_addr, found->ai_addrlen);

			freeaddrinfo(found);
			if (ok)
				return fd;
			close(fd);
		}
		usleep(50000);
	}
	die("cannot connect");
	return -1;
}

static const char *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *ctx;
	int n = 0;

	if (!library)
		die(dlerror());
	net = dlsym(library, "ncclNetPlugin_v12");
	if (!net)
		die("no ncclNetPlugin_v12 in it");
	MUST(net->init(&ctx, 1, NULL, say, NULL));
	MUST(net->devices(&n));
	if (n < 1)
		die("no device");
	return net->name;
}

/* ---- memory ---- */

static uint8_t *take_memory(void)
{
	size_t bytes = (size_t)SLOTS * MESSAGE_MAX;
	uint8_t *at = is_gpu ? gpu_alloc(bytes) : aligned_alloc(4096, bytes);

	if (!is_gpu)
		memset(at, 0, bytes);
	return at;
}

static void give_memory(uint8_t *at)
{
	if (is_gpu)
		gpu_free(at);
	else
		free(at);
}

static void *register_memory(void *comm, uint8_t *at)
{
	size_t bytes = (size_t)SLOTS * MESSAGE_MAX;
	int fd = by_dmabuf ? gpu_dmabuf(at, bytes) : -1;
	void *mr = NULL;

	if (by_dmabuf && fd < 0)
		printf("no DMA-BUF of this GPU's memory: as CUDA's, then\n");
	if (fd >= 0) {
		MUST(net->reg_mr_dmabuf(comm, at, bytes, WEFT_NCCL_PTR_CUDA, 0, fd, &mr));
		close(fd); /* as NCCL does */
	} else {
		MUST(net->reg_mr(
			comm, at, bytes, is_gpu ? WEFT_NCCL_PTR_CUDA : WEFT_NCCL_PTR_HOST, &mr));
	}
	return mr;
}

static void prepare(void)
{
	const char *ordinal = getenv("WEFT_BENCH_GPU");
	struct weft_nccl_properties_v12 p;

	if (is_gpu && !gpu_open(ordinal ? (int)strtoul(ordinal, NULL, 10) : 0))
		die("no libcuda.so.1 here");
	MUST(net->properties(0, &p));
	if (is_gpu && !(p.ptr_support & WEFT_NCCL_PTR_CUDA))
		die("the plugin says that it has no way to a GPU");
	shadow = aligned_alloc(4096, (size_t)MESSAGE_MAX + 4096);
	from = take_memory();
	to = take_memory();
}

/* Its options, taken out of argv. */
static int options(int argc, char **argv)
{
	int n = 1;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--gpu"))
			is_gpu = true;
		else if (!strcmp(argv[i], "--dmabuf"))
			is_gpu = by_dmabuf = true;
		else
			argv[n++] = argv[i];
	}
	return n;
}

int main(int argc, char **argv)
{
	argc = options(argc, argv);
	bool is_listener = argc == 4 && !strcmp(argv[2], "listen");
	bool is_sender = argc == 5 && !strcmp(argv[2], "send"), is_both = argc == 2;
	void *listener = NULL, *sender = NULL, *receiver = NULL, *send_mr = NULL, *recv_mr = NULL;
	uint8_t handle[WEFT_NCCL_HANDLE_BYTES];
	int fd = -1;

	if (argc < 2) {
		printf("net_bench: wants the path of libnccl-net-weft.so; see its first lines\n");
		return 0;
	}
	if (!is_listener && !is_sender && !is_both)
		die("wants PLUGIN [listen PORT | send ADDRESS PORT]");
	printf("plugin: %s\n", load(argv[1]));
	prepare();
	if (is_listener || is_both)
		MUST(net->listen(NULL, 0, handle, &listener));
	if (!is_both)
		fd = is_listener ? tcp_listen(argv[3]) : tcp_connect(argv[3], argv[4]);
	if (is_listener && send(fd, handle, sizeof(handle), 0) != sizeof(handle))
		die("cannot send the handle");
	if (is_sender && recv(fd, handle, sizeof(handle), MSG_WAITALL) != sizeof(handle))
		die("no handle");
	while ((!is_sender && !receiver) || (!is_listener && !sender)) {
		if (!is_sender && !receiver)
			MUST(net->accept(listener, &receiver, NULL));
		if (!is_listener && !sender)
			MUST(net->connect(NULL, 0, handle, &sender, NULL));
	}
	if (sender)
		send_mr = register_memory(sender, from);
	if (receiver)
		recv_mr = register_memory(receiver, to);
	check(sender, receiver, send_mr, recv_mr);
	printf("%u groups of messages: every byte right\n", ROUNDS);
	fast(sender, receiver, send_mr, recv_mr);
	if (sender) {
		MUST(net->dereg_mr(sender, send_mr));
		MUST(net->close_send(sender));
	}
	if (receiver) {
		MUST(net->dereg_mr(receiver, recv_mr));
		MUST(net->close_recv(receiver));
	}
	if (listener)
		MUST(net->close_listen(listener));
	give_memory(from);
	give_memory(to);
	free(shadow);
	if (fd >= 0)
		close(fd);
	return 0;
}
