/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire_fields - the same layouts as v1.c, as a table: for decoders that point at bytes.
 *
 * A second statement of the layout is a cost; it is paid because a table fast enough to decode with
 * does not exist (v1.c) and code cannot be printed.  tests/unit/wire/wire_fields_test.c holds the
 * two together: it encodes packets with every field at its largest value and demands that exactly
 * the bits listed here are set.  Reserved bits are left out: a reader sees only what means
 * something.
 */
#include <weft/base.h>

#include "wire_local.h"

struct row {
	const char *name;
	uint8_t bit, bits; /* inside the header */
};

struct header {
	const char *name;
	const struct row *rows;
	uint8_t n, bytes;
};

/* clang-format off */
static const struct row bth_rows[] = {
	{ "opcode", 0, 8 },
	{ WEFT_BTH_BIT7, 8, 1 },
	{ WEFT_BTH_BIT6, 9, 1 },
	{ "padcnt", 10, 2 },
	{ "tver", 12, 4 },
	{ "pkey", 16, 16 },
	{ "dqpn", 40, 24 },
	{ "a", 64, 1 },
	{ "solicited", 65, 1 },
	{ "rtx", 66, 1 },
	{ "ts", 67, 1 },
	{ "xrc", 68, 1 },
	{ "psn", 72, 24 },
};
static const struct row meth_rows[] = { { "rqmsn", 0, 16 }, { "msn", 16, 16 } };
static const struct row tseth_rows[] = { { "tx_timestamp", 0, 16 }, { "tsr", 16, 1 },
	{ "ftype", 28, 4 } };
static const struct row xrceth_rows[] = { { "srqn", 8, 24 } };
static const struct row reth_rows[] = { { "va", 0, 64 }, { "rkey", 64, 32 }, { "dmalen", 96, 32 } };
static const struct row immdt_rows[] = { { "imm", 0, 32 } };
static const struct row aeth_rows[] = { { "syndrome", 0, 8 }, { "msn", 8, 24 } };
static const struct row seth_rows[] = {
	{ "nxt", 4, 5 },
	{ "m", 9, 2 },
	{ "pr", 14, 1 },
	{ "ack_psn_offset", 16, 16 },
	{ "entropy", 32, 32 },
	{ "spdcid", 64, 16 },
	{ "dpdcid", 80, 16 },
	{ "cack_psn", 104, 24 },
	{ "cc_type", 128, 4 },
	{ "cc_flags", 132, 4 },
	{ "mpr", 136, 8 },
	{ "sack_offset", 144, 16 },
	{ "sack_bitmap", 160, 64 },
};
static const struct row cc_state_rows[] = {
	{ "tx_timestamp", 0, 16 },
	{ "ooo_count", 17, 15 },
	{ "restore_cwnd", 32, 1 },
	{ "rcv_cwnd_pen", 33, 7 },
	{ "rcvd_bytes", 40, 24 },
};
static const struct row neth_rows[] = {
	{ "reason", 16, 8 },
	{ "vendor_info", 24, 8 },
	{ "entropy", 32, 32 },
	{ "spdcid", 64, 16 },
	{ "dpdcid", 80, 16 },
	{ "nack_psn", 104, 24 },
	{ "cc_type", 128, 4 },
	{ "cc_flags", 132, 4 },
	{ "tx_timestamp", 144, 16 },
};
static const struct row peth_rows[] = {
	{ "vendor_info", 24, 8 },
	{ "probe_id", 32, 16 },
	{ "spdcid", 64, 16 },
	{ "dpdcid", 80, 16 },
	{ "tx_timestamp", 96, 16 },
	{ "tsr", 112, 1 },
	{ "ftype", 124, 4 },
};
static const struct row erth_rows[] = {
	{ "op", 14, 2 },
	{ "vendor_info", 24, 8 },
	{ "port_status_mask", 32, 32 },
	{ "tx_timestamp", 96, 16 },
	{ "tsr", 112, 1 },
	{ "ftype", 124, 4 },
};
static const struct row eeth_rows[] = {
	{ "op", 16 - WEFT_EETH_OP_SHIFT - 2, 2 },
	{ "tx_timestamp", 224, 16 },
};

#define HEADER(label, rows, bytes) { label, rows, WEFT_COUNT(rows), bytes }
static const struct header bth = HEADER("BTH", bth_rows, 12);
static const struct header meth = HEADER("METH", meth_rows, 4);
static const struct header tseth = HEADER("TSETH", tseth_rows, 4);
static const struct header xrceth = HEADER("XRCETH", xrceth_rows, 4);
static const struct header reth = HEADER("RETH", reth_rows, 16);
static const struct header immdt = HEADER("ImmDt", immdt_rows, 4);
static const struct header aeth = HEADER("AETH", aeth_rows, 4);
static const struct header seth = HEADER("SETH", seth_rows, 28);
static const struct header cc_state = HEADER("CC_STATE", cc_state_rows, 8);
static const struct header neth = HEADER("NETH", neth_rows, 20);
static const struct header peth = HEADER("PETH", peth_rows, 16);
static const struct header erth = HEADER("ERTH", erth_rows, 16);
static const struct header eeth = HEADER("EETH", eeth_rows, 36);
/* clang-format on */

enum { HEADERS_MAX = 6 };

/* The headers of a packet in wire order; NULL ends the list. */
static void list_headers(uint8_t op, uint8_t flags, const struct header *list[HEADERS_MAX + 1])
{
	unsigned n = 0;

	list[n++] = &bth;
	if (weft_op_is_data(op)) {
		list[n++] = &meth;
		if (flags & WEFT_BTH_TS)
			list[n++] = &tseth;
		if (flags & WEFT_BTH_XRC && weft_op_is_extended(op))
			list[n++] = &xrceth;
		list[n++] = &reth;
		if (weft_op_has_imm(op))
			list[n++] = &immdt;
	} else if (op == WEFT_OP_SACK) {
		list[n++] = &seth;
		list[n++] = &cc_state;
	} else {
		const struct header *second = op == WEFT_OP_ACK           ? &aeth
					      : op == WEFT_OP_NACK        ? &neth
					      : op == WEFT_OP_PROBE       ? &peth
					      : op == WEFT_OP_EP_REQUEST  ? &erth
					      : op == WEFT_OP_EP_RESPONSE ? &eeth
									  : NULL;

		if (second)
			list[n++] = second;
	}
	list[n] = NULL;
}

bool weft_wire_field(uint8_t op, uint8_t flags, unsigned i, struct weft_wire_field *field)
{
	const struct header *list[HEADERS_MAX + 1];
	unsigned start_bytes = 0;

	list_headers(op, flags, list);
	for (unsigned h = 0; list[h]; h++) {
		if (i < list[h]->n) {
			field->header = list[h]->name;
			field->name = list[h]->rows[i].name;
			field->bit = (uint16_t)(8 * start_bytes + list[h]->rows[i].bit);
			field->bits = list[h]->rows[i].bits;
			return true;
		}
		i -= list[h]->n;
		start_bytes += list[h]->bytes;
	}
	return false;
}
