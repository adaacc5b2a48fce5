/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ENV_H
#define RUN_ENV_H
/* run_env - the environment in which a program finds Weft's libraries before the system's. */
#include <stdbool.h>
#include <stddef.h>

struct run_env {
	const char *device; /* configuration file, NULL: what the environment says */
	bool strict;
};

/* exe: path of this program, beside which the libraries lie.  False: one line in error. */
bool run_env_set(const struct run_env *run, const char *exe, char *error, size_t error_bytes);

#endif
