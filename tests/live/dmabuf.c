/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmabuf - two processes write and read each other's DMA-BUFs, by verbs alone, on a machine that is
 * made for it: dmabuf.sh.
 *
 * The buffers are those of vgem, a driver of the kernel for graphics without a card.  It lends each
 * as a file, which is registered, and maps it for us beside that, which is how the test looks at
 * the bytes.  As process 1 this program first makes the machine one: modules, /proc, an interface.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 0x100000u
#define AT 0x70000000u /* by which peers name the first byte */
#define POLLS_MAX 200000000u

#define MUST(expr)                                                                                 \
	do {                                                                                       \
		if (!(expr)) {                                                                     \
			fprintf(stderr, "dmabuf.c:%d: %s: %s\n", __LINE__, #expr,                  \
				strerror(errno));                                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* ---- buffers: three calls of DRM's ---- */

struct dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t bytes;
};
struct dumb_map {
	uint32_t handle, pad;
	uint64_t offset;
};
struct prime {
	uint32_t handle, flags;
	int32_t fd;
};
#define CREATE_DUMB _IOWR('d', 0xb2, struct dumb)
#define MAP_DUMB _IOWR('d', 0xb3, struct dumb_map)
#define TO_FD _IOWR('d', 0x2d, struct prime)

struct buffer {
	int fd;
	uint8_t *seen; /* by the driver's own mapping */
	struct ibv_mr *mr;
};

static struct buffer lend(int card)
{
	struct dumb dumb = { .height = BYTES / 4096, .width = 1024, .bpp = 32 };
	struct buffer b;

	MUST(!ioctl(card, CREATE_DUMB, &dumb) && dumb.bytes == BYTES);
	struct dumb_map map = { .handle = dumb.handle };
	struct prime prime = { .handle = dumb.handle, .flags = O_RDWR | O_CLOEXEC };

	MUST(!ioctl(card, MAP_DUMB, &map) && !ioctl(card, TO_FD, &prime));
	b.fd = prime.fd;
	b.seen = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)map.offset);
	MUST(b.seen != MAP_FAILED);
	return b;
}

/* How many mappings of DMA-BUFs this process has. */
static unsigned mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned n = 0;

	MUST(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "dmabuf") != NULL;
	fclose(maps);
	return n;
}

/* ---- a queue pair, and who is at the other end ---- */

struct end {
	union ibv_gid gid;
	uint32_t qpn, rkey;
};

struct side {
	int peer; /* a socket */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct buffer a, b;
};

static void say(struct side *s, const void *what, size_t bytes)
{
	MUST(write(s->peer, what, bytes) == (ssize_t)bytes);
}

static void hear(struct side *s, void *what, size_t bytes)
{
	MUST(read(s->peer, what, bytes) == (ssize_t)bytes);
}

static void open_qp(struct side *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	MUST(list && *list);
	struct ibv_context *context = ibv_open_device(*list);

	MUST(context);
	s->pd = ibv_alloc_pd(context);
	s->cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	MUST(s->pd && s->cq);
	struct ibv_qp_init_attr init = { .send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { 16, 16, 1, 1, 0 },
		.qp_type = IBV_QPT_RC };

	s->qp = ibv_create_qp(s->pd, &init);
	MUST(s->qp);
}

static void connect_qp(struct side *s, const struct end *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

	MUST(!ibv_modify_qp(s->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024, /* which every port has */
		.dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.dgid = peer->gid } };
	MUST(!ibv_modify_qp(s->qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1 };
	MUST(!ibv_modify_qp(s->qp, &attr,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static enum ibv_wc_status run(
	struct side *s, enum ibv_wr_opcode op, struct ibv_sge sge, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { remote, rkey } },
			   *bad;
	struct ibv_wc wc;

	MUST(!ibv_post_send(s->qp, &wr, &bad));
	for (unsigned i = 0; i < POLLS_MAX; i++) {
		if (ibv_poll_cq(s->cq, 1, &wc) == 1)
			return wc.status;
	}
	MUST(!"a completion");
	return IBV_WC_GENERAL_ERR;
}

/* ---- the two ---- */

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static void register_both(struct side *s)
{
	int card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);

	MUST(card >= 0);
	s->a = lend(card);
	s->b = lend(card);
	errno = 0;
	MUST(!ibv_reg_dmabuf_mr(s->pd, 0, BYTES + 1, AT, s->a.fd, ACCESS) && errno == EINVAL);
	MUST(!ibv_reg_dmabuf_mr(s->pd, 4096, BYTES, AT, s->a.fd, ACCESS) && errno == EINVAL);
	MUST(!ibv_reg_dmabuf_mr(s->pd, 0, BYTES, AT, card, ACCESS) && errno == EINVAL);
	MUST(mappings() == 0);
	s->a.mr = ibv_reg_dmabuf_mr(s->pd, 0, BYTES, AT, s->a.fd, ACCESS);
	s->b.mr = ibv_reg_dmabuf_mr(s->pd, 4096, BYTES - 4096, AT, s->b.fd, ACCESS);
	MUST(s->a.mr && s->b.mr);
	close(s->a.fd);
	close(s->b.fd);
}

static void unregister_both(struct side *s)
{
	MUST(!ibv_destroy_qp(s->qp));
	MUST(!ibv_dereg_mr(s->a.mr) && !ibv_dereg_mr(s->b.mr));
	MUST(mappings() == 0);
}

static uint8_t byte_of(size_t i)
{
	return (uint8_t)(i * 7 + i / 4093);
}

static void writer(struct side *s, const struct end *peer)
{
	struct ibv_sge sge = { AT, BYTES - 4096, s->a.mr->lkey };
	uint8_t done = 1;

	for (size_t i = 0; i < BYTES; i++)
		s->a.seen[i] = byte_of(i);
	MUST(!run(s, IBV_WR_RDMA_WRITE, sge, AT, peer->rkey));
	say(s, &done, 1);
	hear(s, &done, 1); /* it has turned them over */
	sge.lkey = s->b.mr->lkey;
	MUST(!run(s, IBV_WR_RDMA_READ, sge, AT, peer->rkey));
	for (size_t i = 0; i < BYTES - 4096; i++)
		MUST(s->b.seen[4096 + i] == 255 - byte_of(i));
	for (size_t i = 0; i < 4096; i++)
		MUST(!s->b.seen[i]);
	/* One byte more is one too many. */
	sge = (struct ibv_sge){ AT, 2, s->a.mr->lkey };
	MUST(run(s, IBV_WR_RDMA_WRITE, sge, AT + BYTES - 4097, peer->rkey) ==
		IBV_WC_REM_ACCESS_ERR);
	say(s, &done, 1);
}

static void target(struct side *s)
{
	uint8_t done = 1;

	hear(s, &done, 1);
	for (size_t i = 0; i < BYTES - 4096; i++) {
		MUST(s->b.seen[4096 + i] == byte_of(i));
		s->b.seen[4096 + i] ^= 0xff;
	}
	for (size_t i = 0; i < 4096; i++)
		MUST(!s->b.seen[i]);
	say(s, &done, 1);
	hear(s, &done, 1);
}

static void side_run(int peer, bool writes)
{
	struct side s = { .peer = peer };
	struct end own, other;

	open_qp(&s);
	register_both(&s);
	memset(&own, 0, sizeof(own));
	MUST(!ibv_query_gid(s.pd->context, 1, 0, &own.gid));
	own.qpn = s.qp->qp_num;
	own.rkey = s.b.mr->rkey;
	say(&s, &own, sizeof(own));
	hear(&s, &other, sizeof(other));
	connect_qp(&s, &other);
	if (writes)
		writer(&s, &other);
	else
		target(&s);
	unregister_both(&s);
}

static bool both(void)
{
	int pair[2], status = 1;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid_t child = fork();

	if (!child) {
		close(pair[0]);
		side_run(pair[1], false);
		exit(0);
	}
	close(pair[1]);
	side_run(pair[0], true);
	return waitpid(child, &status, 0) == child && !status;
}

/* ---- process 1 ---- */

static void load(const char *module)
{
	int fd = open(module, O_RDONLY | O_CLOEXEC);

	MUST(fd >= 0 && !syscall(SYS_finit_module, fd, "", 0));
	close(fd);
}

static void make_machine(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	MUST(!mount("proc", "/proc", "proc", 0, NULL) &&
		!mount("dev", "/dev", "devtmpfs", 0, NULL));
	MUST(!mkdir("/dev/shm", 0777) && !mount("shm", "/dev/shm", "tmpfs", 0, NULL));
	MUST(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
	load("/drm.ko");
	load("/drm_shmem_helper.ko");
	load("/vgem.ko");
	setenv("WEFT_PLANES", "127.0.0.1", 1);
}

int main(void)
{
	int status = 1;

	if (getpid() != 1)
		return !both();
	pid_t child = fork(); /* what is process 1 must not die */

	if (!child) {
		make_machine();
		exit(!both());
	}
	(void)waitpid(child, &status, 0);
	printf("guest: %s\n", status ? "failed" : "every byte right");
	fflush(stdout);
	sync();
	reboot(RB_AUTOBOOT);
	return 1;
}
