/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DOCTOR_PRINT_H
#define DOCTOR_PRINT_H
/* doctor_print - findings for people and for programs. */
#include <weft/doctor.h>

#include <stdio.h>

/* Planes that were measured as a table, then findings, worst first, then a line that adds up. */
void doctor_print(
	const struct weft_doctor_facts *facts, const struct weft_doctor_report *report, FILE *out);
/* One object: verdict, findings, machine, planes, and the peer with its paths. */
void doctor_print_json(
	const struct weft_doctor_facts *facts, const struct weft_doctor_report *report, FILE *out);

#endif
