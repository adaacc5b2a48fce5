/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private - what libibverbs has for vendors' libraries, refused.
 *
 * perftest, UCX and libfabric are linked with libmlx5, libefa and others, and those with private
 * names of libibverbs under a version of their own that changes with releases.  The loader wants
 * them all before main(); so one refusal stands behind every name, under every version.  Only two
 * are ever called: a driver's registration, which is ignored, and the GID type, which ibv_devinfo
 * asks for.
 *
 * A name has several versions at once, which a version script cannot say; hence .symver.
 */
#include "verbs_local.h"

#define NAME(name, version) name "@IBVERBS_PRIVATE_" version
#ifdef __clang__
#define ALIAS(function, name, version) __asm__(".symver " #function "," NAME(name, version));
#define ALIASES(function, name) \
	ALIAS(function, name, "34") \
	ALIAS(function, name, "57") \
	ALIAS(function, name, "59") \
	ALIAS(function, name, "64") \
	ALIAS(function, name, "65")
#define ALIASED(function, name)
#else
#define ALIASES(function, name)
#define ALIASED(function, name) \
	__attribute__((symver(NAME(name, "34")), symver(NAME(name, "57")), \
		symver(NAME(name, "59")), symver(NAME(name, "64")), symver(NAME(name, "65"))))
#endif

#define X(name) \
	int private_##name(void); \
	ALIASED(private_##name, #name) int private_##name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return EOPNOTSUPP; \
	} \
	ALIASES(private_##name, #name)
#include "private.def"
#undef X

/* Constructors of drivers call this, whatever the device: not an error, and nothing to say. */
#define REGISTERS(version) "verbs_register_driver_" #version "@IBVERBS_PRIVATE_" #version
#ifdef __clang__
#define REGISTER(version) \
	void private_register_##version(const void *ops); \
	void private_register_##version(const void *ops) \
	{ \
		(void)ops; \
	} \
	__asm__(".symver private_register_" #version "," REGISTERS(version));
#else
#define REGISTER(version) \
	void private_register_##version(const void *ops); \
	__attribute__((symver(REGISTERS(version)))) void private_register_##version( \
		const void *ops) \
	{ \
		(void)ops; \
	}
#endif
REGISTER(34)
REGISTER(57)
REGISTER(59)
REGISTER(64)
REGISTER(65)

void private_log(void *context, unsigned level, const char *format, ...);
ALIASED(private_log, "__verbs_log")
void private_log(void *context, unsigned level, const char *format, ...)
{
	(void)context;
	(void)level;
	(void)format;
}
ALIASES(private_log, "__verbs_log")

int private_gid_type(
	struct ibv_context *context, uint8_t port, unsigned index, unsigned int *type);
ALIASED(private_gid_type, "ibv_query_gid_type")
int private_gid_type(struct ibv_context *context, uint8_t port, unsigned index, unsigned int *type)
{
	(void)context;
	if (port != PORT || index >= GIDS) {
		errno = EINVAL;
		return -1;
	}
	*type = 1; /* IBV_GID_TYPE_SYSFS_ROCE_V2 */
	return 0;
}
ALIASES(private_gid_type, "ibv_query_gid_type")
