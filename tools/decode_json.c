/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decode_json - a packet as one JSON object, for programs.
 *
 * The keys are a promise (docs/decode.md lists them): a key never changes its meaning, new ones
 * may appear.  Numbers that people write in hex (addresses in memory, keys, EVs, masks) are strings
 * with a fixed number of digits, which also keeps 64-bit values out of the hands of readers that
 * have only doubles.  What cannot be known is left out rather than null.
 */
#include "decode_tell.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

static void set_int(json_t *o, const char *key, int64_t value)
{
	json_object_set_new(o, key, json_integer(value));
}

static void set_text(json_t *o, const char *key, const char *value)
{
	json_object_set_new(o, key, json_string(value));
}

static void set_hex(json_t *o, const char *key, uint64_t value, int digits)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%0*" PRIx64, digits, value);
	set_text(o, key, text);
}

static void set_address(json_t *o, const char *key, const uint8_t address[16], bool ipv4)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(ipv4 ? AF_INET : AF_INET6, address + (ipv4 ? 12 : 0), text, sizeof(text));
	set_text(o, key, text);
}

/* names: from the bit `top` downwards. */
static void set_words(
	json_t *o, const char *key, unsigned bits, unsigned top, const char *const names[])
{
	json_t *words = json_array();

	for (unsigned i = 0; names[i]; i++, top >>= 1)
		if (bits & top)
			json_array_append_new(words, json_string(names[i]));
	json_object_set_new(o, key, words);
}

static void tell_outside(json_t *o, const struct weft_decoded *d)
{
	/* In the order of weft_mark's bits, highest first, but CE always told first. */
	static const char *const marks[] = { "ce", "trimmed", "trimmed_lasthop", NULL };
	const struct weft_arrival *a = &d->outside;
	bool ipv4 = weft_flow_is_ipv4(&a->flow);
	unsigned mark = (a->mark & WEFT_MARK_CE ? 4u : 0) | (a->mark & WEFT_MARK_TRIMMED ? 2u : 0) |
			(a->mark & WEFT_MARK_TRIMMED_LASTHOP ? 1u : 0);

	set_text(o, "encap", weft_encap_name(a->kind));
	set_address(o, "src", a->flow.src, ipv4);
	set_address(o, "dst", a->flow.dst, ipv4);
	if (a->kind == WEFT_ENCAP_SRV6 || d->hops_to_go)
		set_address(o, "via", a->via, false);
	set_int(o, "src_port", a->flow.src_port);
	set_int(o, "dst_port", a->flow.dst_port);
	set_hex(o, "ev", a->ev, 8);
	set_words(o, "mark", mark, 4, marks);
	set_int(o, "hop_limit", a->hop_limit);
	if (a->segments_left)
		set_int(o, "segments_left", a->segments_left);
	if (d->hops_to_go)
		set_int(o, "hops_to_go", d->hops_to_go);
	if (!d->has_place)
		return;
	set_text(o, "from", d->from);
	set_int(o, "plane", d->plane);
	set_int(o, "uplink", d->uplink);
}

static void tell_write(json_t *o, const struct weft_pkt *pkt)
{
	bool trimmed = pkt->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP);

	set_int(o, "msn", pkt->w.msn);
	set_int(o, "rqmsn", pkt->w.rqmsn);
	set_int(o, "ts", pkt->w.ts);
	if (!trimmed) {
		if (pkt->flags & WEFT_BTH_XRC)
			set_hex(o, "srqn", pkt->w.srqn, 6);
		set_hex(o, "va", pkt->w.va, 16);
		set_hex(o, "rkey", pkt->w.rkey, 8);
		set_int(o, "msg_bytes", pkt->w.msg_bytes);
		if (weft_op_has_imm(pkt->op))
			set_hex(o, "imm", pkt->w.imm, 8);
	}
	set_int(o, "payload_bytes", pkt->w.len_bytes);
}

static void tell_sack(json_t *o, const struct weft_pkt *pkt)
{
	static const char *const ms[] = { "none", "skip_once", "always_skip" };
	const struct weft_pkt_sack *s = &pkt->sack;

	set_int(o, "spdcid", pkt->sqpn_low);
	set_text(o, "m", ms[s->m]);
	if (s->is_probe)
		set_int(o, "probe_id", s->probe_id);
	else
		set_int(o, "psn_offset", s->psn_offset);
	set_hex(o, "echo_ev", s->ev, 8);
	set_int(o, "cack_psn", s->cack_psn);
	set_int(o, "sack_offset", s->sack_offset);
	set_hex(o, "bitmap", s->bitmap, 16);
	set_int(o, "mpr_units", s->mpr_units);
	set_int(o, "ooo_pkts", s->ooo_pkts);
	set_int(o, "penalty", s->penalty);
	json_object_set_new(o, "restore_cwnd", json_boolean(s->restore_cwnd));
	set_int(o, "rcvd_units", s->rcvd_units);
	set_int(o, "ts", s->ts);
	set_int(o, "cc_type", s->cc_type_flags >> 4);
	set_int(o, "cc_flags", s->cc_type_flags & 15);
}

static void tell_other(json_t *o, const struct weft_pkt *pkt)
{
	switch (pkt->op) {
	case WEFT_OP_NACK:
		set_int(o, "spdcid", pkt->sqpn_low);
		set_text(o, "reason", weft_nack_reason_name(pkt->nack.reason));
		set_int(o, "nack_psn", pkt->nack.psn);
		set_hex(o, "echo_ev", pkt->nack.ev, 8);
		set_int(o, "ts", pkt->nack.ts);
		set_int(o, "cc_type", pkt->nack.cc_type_flags >> 4);
		set_int(o, "cc_flags", pkt->nack.cc_type_flags & 15);
		if (pkt->nack.reason == WEFT_NACK_RNR)
			set_int(o, "rnr_timer", pkt->nack.vendor_info);
		break;
	case WEFT_OP_ACK:
		set_text(o, "syndrome", weft_syndrome_name(pkt->ack.syndrome));
		set_int(o, "msn", pkt->ack.msn);
		break;
	case WEFT_OP_PROBE:
		set_int(o, "spdcid", pkt->sqpn_low);
		set_int(o, "probe_id", pkt->probe.probe_id);
		set_int(o, "ts", pkt->probe.ts);
		break;
	default:
		set_text(o, "ep_op",
			pkt->ep.op == WEFT_EP_EV_PROBE      ? "ev_probe"
			: pkt->ep.op == WEFT_EP_PORT_STATUS ? "port_status"
							    : "?");
		if (pkt->op == WEFT_OP_EP_REQUEST)
			set_hex(o, "port_mask", pkt->ep.port_mask, 8);
		set_int(o, "ts", pkt->ep.ts);
	}
}

static void tell_packet(json_t *o, const struct weft_decoded *d)
{
	static const char *const flags[] = { "a", "solicited", "rtx", "ts", "xrc", NULL };
	const struct weft_pkt *pkt = &d->pkt;

	set_text(o, "op", weft_op_name(pkt->op));
	set_words(o, "flags", pkt->flags, 0x80, flags);
	set_int(o, "dqpn", pkt->dqpn);
	set_int(o, "psn", pkt->psn);
	if (d->headers_cut)
		return;
	if (weft_op_is_data(pkt->op))
		tell_write(o, pkt);
	else if (pkt->op == WEFT_OP_SACK)
		tell_sack(o, pkt);
	else
		tell_other(o, pkt);
}

json_t *decode_json(
	const struct weft_capture_frame *frame, const struct weft_decoded *d, uint64_t number)
{
	json_t *o = json_object();
	char name[64];

	set_int(o, "n", (int64_t)number);
	if (frame->time_ns)
		set_int(o, "time_ns", (int64_t)frame->time_ns);
	if (frame->wire_bytes > frame->n)
		set_int(o, "not_captured", (int64_t)(frame->wire_bytes - frame->n));
	if (d->what == WEFT_DECODED_DROP || d->what == WEFT_DECODED_OTHER) {
		const char *field = weft_decode_field(frame, d, d->fault.bit, name);

		set_text(o, "drop", weft_drop_name(d->fault.drop));
		set_text(o, "text", weft_drop_text(d->fault.drop));
		set_int(o, "offset", d->fault.bit / 8);
		set_int(o, "bit", d->fault.bit);
		if (field[0])
			set_text(o, "field", field);
	}
	if (d->has_outside)
		tell_outside(o, d);
	if (d->has_packet)
		tell_packet(o, d);
	if (d->has_packet || d->what == WEFT_DECODED_PACKET)
		set_text(o, "icrc", weft_decoded_icrc_name(d->icrc));
	return o;
}
