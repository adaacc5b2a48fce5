/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folder - whether a folder with sockets in it may be believed.
 *
 * Where nobody has said which folder it is, it is looked for by a name that everybody can guess,
 * and /tmp is everybody's.  Who made it first could take orders there, or give answers.  So it has
 * to be a folder (not a link), this user's, and nobody else may write in it.
 */
#include <weft/switchd.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool weft_switchd_folder(const char *path, bool make, char *error, size_t error_bytes)
{
	const char *why = NULL;
	struct stat st;

	if ((make && mkdir(path, 0700) && errno != EEXIST) || lstat(path, &st))
		why = strerror(errno);
	else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		why = "not a folder of ours";
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		why = "others may write there (chmod go-w)";
	if (why)
		(void)snprintf(error, error_bytes, "%s: %s", path, why);
	return !why;
}
