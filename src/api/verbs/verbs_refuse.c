/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_refuse - what libibverbs exports and a device of ours does not have, with the answer that a
 * provider without it gives; and a few names that have nothing to do here.
 *
 * Import of another process's objects and enhanced connection options.  Programs ask, are told
 * EOPNOTSUPP and go on without.
 */
#include "verbs_local.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return refuse(EOPNOTSUPP);
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	return refuse(EOPNOTSUPP);
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)pd, (void)handle;
	return refuse(EOPNOTSUPP);
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	return refuse(EOPNOTSUPP);
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}

/* Packets are placed in the order in which they arrive. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0;
}

int ibv_resolve_eth_l2_from_gid(
	struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vid)
{
	(void)context, (void)attr, (void)mac, (void)vid;
	return EOPNOTSUPP;
}

/* ---- nothing to do ---- */

/* Memory is copied by this process, so a child's copy on write harms nobody. */
int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t size);
int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

int ibv_dofork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

void ibv_register_driver(const char *name, void *init);
void ibv_register_driver(const char *name, void *init)
{
	(void)name, (void)init;
}

/* The kernel's structures never come here; the system's librdmacm is linked with the names. */
#define KERNEL(name) \
	void name(void *to, void *from); \
	void name(void *to, void *from) \
	{ \
		(void)to, (void)from; \
	}
KERNEL(ibv_copy_ah_attr_from_kern)
KERNEL(ibv_copy_qp_attr_from_kern)
KERNEL(ibv_copy_path_rec_from_kern)
KERNEL(ibv_copy_path_rec_to_kern)

const char *ibv_get_sysfs_path(void);
const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	int fd = n > 0 && (size_t)n < sizeof(path) && size ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return -1;
	ssize_t got = read(fd, buf, size - 1);
	(void)close(fd);
	if (got < 0)
		return -1;
	buf[got] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return (int)strlen(buf);
}
