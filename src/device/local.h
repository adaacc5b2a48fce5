/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_LOCAL_H
#define DEVICE_LOCAL_H
/* What the files of device share with each other and with nobody else. */
#include <weft/base.h>
#include <weft/device.h>

/* ---- list.c ---- */

/* "10.0.0.1" or "fd00::1"; IPv4 becomes ::ffff:a.b.c.d. */
bool list_address(const char *text, uint8_t addr[16]);

#endif /* DEVICE_LOCAL_H */
