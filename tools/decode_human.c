/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decode_human - a packet as a person wants to see it: a line each, aligned, so that a column can
 * be read downwards; all fields where asked for; and what is wrong pointed at in the bytes.
 *
 * The line has what tells packets of one connection apart (what, PSN, path, marks) and leaves out
 * what they share.  Values stay in the protocol's own units and words, so that a line can be held
 * against the specification or a log.
 */
#include "decode_tell.h"

#include <weft/base.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { ROW_BYTES = 16 };

static void print_time(FILE *out, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000u);
	struct tm tm;

	if (!time_ns)
		return;
	localtime_r(&seconds, &tm);
	fprintf(out, "%02d:%02d:%02d.%09u  ", tm.tm_hour, tm.tm_min, tm.tm_sec,
		(unsigned)(time_ns % 1000000000u));
}

static void print_ends(FILE *out, const struct weft_arrival *a)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	bool ipv4 = weft_flow_is_ipv4(&a->flow);
	size_t skip = ipv4 ? 12 : 0;

	inet_ntop(ipv4 ? AF_INET : AF_INET6, a->flow.src + skip, src, sizeof(src));
	inet_ntop(ipv4 ? AF_INET : AF_INET6, a->flow.dst + skip, dst, sizeof(dst));
	fprintf(out, "%s > %s  ", src, dst);
}

static void print_write(FILE *out, const struct weft_pkt *pkt)
{
	fprintf(out, "msn %u", pkt->w.msn);
	if (pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))
		return;
	if (pkt->op == WEFT_OP_READ_REQUEST)
		fprintf(out, ", read %u: %u bytes from 0x%" PRIx64, pkt->w.rqmsn, pkt->w.msg_bytes,
			pkt->w.va);
	else if (pkt->op == WEFT_OP_REPLY_REFUSED)
		fprintf(out, ", read %u: %s", pkt->w.rqmsn,
			weft_syndrome_name((uint8_t)pkt->w.rkey));
	else if (pkt->op == WEFT_OP_DATAGRAM || pkt->op == WEFT_OP_DATAGRAM_IMM)
		fprintf(out, ", %u bytes from qp 0x%06" PRIx64, pkt->w.len_bytes, pkt->w.va);
	else if (pkt->op >= WEFT_OP_REPLY_FIRST && pkt->op <= WEFT_OP_REPLY_ONLY)
		fprintf(out, ", read %u: %u of %u bytes at %" PRIu64, pkt->w.rqmsn,
			pkt->w.len_bytes, pkt->w.msg_bytes, pkt->w.va);
	else if (pkt->op >= WEFT_OP_SEND_FIRST && pkt->op <= WEFT_OP_SEND_ONLY_IMM)
		fprintf(out, ", receive %u: %u of %u bytes at %" PRIu64, pkt->w.rqmsn,
			pkt->w.len_bytes, pkt->w.msg_bytes, pkt->w.va);
	else
		fprintf(out, ", %u of %u bytes to 0x%" PRIx64, pkt->w.len_bytes, pkt->w.msg_bytes,
			pkt->w.va);
	if (pkt->flags & WEFT_BTH_XRC)
		fprintf(out, ", srq 0x%06x", pkt->w.srqn);
	if (weft_op_has_imm(pkt->op))
		fprintf(out, ", imm 0x%x", pkt->w.imm);
}

static uint32_t offset_psn(uint32_t psn, int32_t by)
{
	return weft_psn_add(psn, (uint32_t)by);
}

static void print_sack(FILE *out, const struct weft_pkt_sack *s)
{
	static const char *const ms[] = { "", ", skip once", ", always skip" };

	fprintf(out, "all to %u", s->cack_psn);
	if (s->is_probe)
		fprintf(out, ", answers probe %u", s->probe_id);
	else
		fprintf(out, ", for %u", offset_psn(s->cack_psn, s->psn_offset));
	fprintf(out, ", %u more from %u on", weft_popcount64(s->bitmap),
		offset_psn(s->cack_psn, s->sack_offset));
	fprintf(out, ", path 0x%08x%s", s->ev, ms[s->m]);
	if (s->penalty)
		fprintf(out, ", penalty %u/128", s->penalty);
}

static void print_body(FILE *out, const struct weft_pkt *pkt)
{
	switch (pkt->op) {
	case WEFT_OP_SACK:
		print_sack(out, &pkt->sack);
		break;
	case WEFT_OP_NACK:
		fprintf(out, "%s: psn %u, path 0x%08x", weft_nack_reason_name(pkt->nack.reason),
			pkt->nack.psn, pkt->nack.ev);
		break;
	case WEFT_OP_ACK:
		fprintf(out, "%s, messages to %u", weft_syndrome_name(pkt->ack.syndrome),
			pkt->ack.msn);
		break;
	case WEFT_OP_PROBE:
		fprintf(out, "probe %u", pkt->probe.probe_id);
		break;
	case WEFT_OP_EP_REQUEST:
	case WEFT_OP_EP_RESPONSE:
		fprintf(out, "request %u", pkt->psn & 0xffff);
		if (pkt->op == WEFT_OP_EP_REQUEST && pkt->ep.op == WEFT_EP_PORT_STATUS)
			fprintf(out, ", usable ports 0x%08x", pkt->ep.port_mask);
		break;
	default:
		print_write(out, pkt);
	}
}

static void print_mark(struct term *term, uint8_t mark)
{
	fputs(term_on(term, TERM_YELLOW), term->out);
	if (mark & WEFT_MARK_CE)
		fprintf(term->out, "CE  ");
	if (mark & WEFT_MARK_TRIMMED)
		fprintf(term->out, "trimmed  ");
	if (mark & WEFT_MARK_TRIMMED_LASTHOP)
		fprintf(term->out, "trimmed at last hop  ");
	fputs(term_off(term), term->out);
}

/* Columns of fixed width first. */
static void print_packet(struct term *term, const struct weft_decoded *d)
{
	const struct weft_pkt *pkt = &d->pkt;
	FILE *out = term->out;

	fprintf(out, "%s%-14s%s %c%c ", term_on(term, TERM_BOLD), weft_op_name(pkt->op),
		term_off(term), pkt->flags & WEFT_BTH_ACK_REQ ? 'A' : '-',
		pkt->flags & WEFT_BTH_RTX ? 'R' : '-');
	fprintf(out, " qp 0x%06x  psn %8u  ", pkt->dqpn, pkt->psn);
	if (d->has_outside) {
		fprintf(out, "ev 0x%08x  ", d->outside.ev);
		if (d->has_place)
			fprintf(out, "%s plane %u uplink %u  ", d->from, d->plane, d->uplink);
		else
			print_ends(out, &d->outside);
	}
	print_mark(term, pkt->mark);
	if (d->headers_cut)
		fprintf(out, "(headers not_captured)");
	else
		print_body(out, pkt);
	if (d->hops_to_go)
		fprintf(out, "  (%u hop%s to go)", d->hops_to_go, d->hops_to_go == 1 ? "" : "s");
	if (d->icrc > WEFT_ICRC_IS_ABSENT)
		fprintf(out, "  (ICRC %s)", weft_decoded_icrc_name(d->icrc));
}

static void print_row(FILE *out, const struct weft_capture_frame *frame, size_t row)
{
	fprintf(out, "        %04zx ", row);
	for (size_t i = row; i < row + ROW_BYTES && i < frame->n; i++)
		fprintf(out, " %02x", frame->bytes[i]);
	putc('\n', out);
}

/* The row of bytes that the fault is in, or all of them, and a caret below it.  `weft decode` reads
 * this, too, and takes no row for the packet where others are left out. */
static void point(struct term *term, const struct weft_capture_frame *frame,
	const struct weft_decoded *d, bool all)
{
	FILE *out = term->out;
	char name[64];
	const char *field = weft_decode_field(frame, d, d->fault.bit, name);
	size_t at = d->fault.bit / 8, row = at / ROW_BYTES * ROW_BYTES;

	fprintf(out, "        byte %zu, bit %u%s%s\n", at, 7 - d->fault.bit % 8,
		field[0] ? ": " : "", field);
	if (row && !all)
		fprintf(out, "        ...\n");
	for (size_t i = 0; i < row && all; i += ROW_BYTES)
		print_row(out, frame, i);
	print_row(out, frame, row);
	fprintf(out, "              %*s%s^^%s", (int)(3 * (at - row)), "", term_on(term, TERM_RED),
		term_off(term));
	fprintf(out, "%s\n", at >= frame->n ? " the end" : "");
	if (row + ROW_BYTES < frame->n && !all)
		fprintf(out, "        ...\n");
	for (size_t i = row + ROW_BYTES; i < frame->n && all; i += ROW_BYTES)
		print_row(out, frame, i);
}

static uint64_t get_bits(const uint8_t *bytes, unsigned bit, unsigned bits)
{
	uint64_t value = 0;

	for (unsigned i = bit; i < bit + bits; i++)
		value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
	return value;
}

static void print_fields(
	FILE *out, const struct weft_capture_frame *frame, const struct weft_decoded *d)
{
	const uint8_t *bth = frame->bytes + d->bth_at;
	size_t left = frame->n > d->bth_at ? frame->n - d->bth_at : 0;
	struct weft_wire_field f;

	if (left < 9)
		return;
	for (unsigned i = 0; weft_wire_field(bth[0], bth[8], i, &f); i++) {
		if (8 * left < (size_t)f.bit + f.bits)
			break;
		fprintf(out, "        %4zu  %-9s %-17s ", d->bth_at + f.bit / 8, f.header, f.name);
		uint64_t value = get_bits(bth, f.bit, f.bits);

		if (value < 10)
			fprintf(out, "%" PRIu64 "\n", value);
		else
			fprintf(out, "0x%0*" PRIx64 "  %" PRIu64 "\n", (f.bits + 3) / 4, value,
				value);
	}
}

void decode_human(struct term *term, const struct weft_capture_frame *frame,
	const struct weft_decoded *d, uint64_t number, bool fields)
{
	FILE *out = term->out;

	fprintf(out, "%6" PRIu64 "  ", number);
	print_time(out, frame->time_ns);
	if (d->has_packet)
		print_packet(term, d);
	else if (d->has_outside)
		print_ends(out, &d->outside);
	if (d->what == WEFT_DECODED_CUT) {
		fprintf(out, "not_captured: %zu bytes, and with them what this is\n",
			frame->wire_bytes - frame->n);
	} else if (d->what != WEFT_DECODED_PACKET) {
		fprintf(out, "%s%sdrop: %s%s (%s)\n", d->has_packet ? "\n        " : "",
			term_on(term, TERM_RED), weft_drop_name(d->fault.drop), term_off(term),
			weft_drop_text(d->fault.drop));
		point(term, frame, d, fields);
	} else {
		fprintf(out, "%s\n", d->has_packet ? "" : "(headers not_captured)");
	}
	if (fields && (d->has_outside || frame->is_datagram))
		print_fields(out, frame, d);
}
