/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_MRC_CTL_API_VER_H
#define WEFT_MRC_CTL_API_VER_H
/*
 * mrc_ctl_api_ver - versions of the OCP MRC controller API; the same form as mrc_api_ver.h.
 *
 *      31        24 23        16 15                        0
 *     +------------+------------+---------------------------+
 *     |   major    |   minor    |         sub-minor         |
 *     +------------+------------+---------------------------+
 *
 * A new major number breaks programs, a new minor one adds, a sub-minor one mends.  A program may
 * say before including which version it was written for (MRC_CTL_API_VER_USED, default: the
 * newest known here).
 */

#define MRC_CTL_API_VER_MAJOR_OFFSET    24
#define MRC_CTL_API_VER_MINOR_OFFSET    16
#define MRC_CTL_API_VER_SUBMINOR_OFFSET 0

/* Unsigned, also where the preprocessor compares. */
#define MRC_CTL_API_VER(major, minor, sub_minor) \
	((((major) + 0u) << MRC_CTL_API_VER_MAJOR_OFFSET) | \
		(((minor) + 0u) << MRC_CTL_API_VER_MINOR_OFFSET) | \
		(((sub_minor) + 0u) << MRC_CTL_API_VER_SUBMINOR_OFFSET))

#define MRC_CTL_API_VER_LATEST MRC_CTL_API_VER(0xFF, 0xFF, 0xFFFF) /* whatever is newest */

#define MRC_CTL_API_CURRENT_VERSION        MRC_CTL_API_VER(1, 0, 1)
#define MRC_CTL_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)

#if !defined(MRC_CTL_API_VER_USED)
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#elif MRC_CTL_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_API_VER_USED
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#elif MRC_CTL_API_VER_USED > MRC_CTL_API_CURRENT_VERSION
#error "this mrc_ctl.h knows the API up to 1.0.1; MRC_CTL_API_VER_USED asks for more"
#endif

/* What a vendor adds has numbers of its own.  Weft adds nothing. */
#define MRC_CTL_VENDOR_API_CURRENT_VERSION        MRC_CTL_API_VER(1, 0, 0)
#define MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)

#if !defined(MRC_CTL_VENDOR_API_VER_USED)
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#elif MRC_CTL_VENDOR_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_VENDOR_API_VER_USED
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#elif MRC_CTL_VENDOR_API_VER_USED > MRC_CTL_VENDOR_API_CURRENT_VERSION
#error "MRC_CTL_VENDOR_API_VER_USED is newer than this library"
#endif

#endif /* WEFT_MRC_CTL_API_VER_H */
