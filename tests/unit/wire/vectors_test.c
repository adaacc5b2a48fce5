/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every annotated packet of tests/vectors/v1: decoded, told in the words of the file and compared
 * line by line, encoded again and compared byte by byte.  The files were written without this
 * code's help (make.py) and are judged by a second decoder (decode.py, test vectors/python).
 */
#include "check.h"

#include <weft/wire.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <stdarg.h>

#include <isa-l/crc.h>

struct vector {
	uint8_t *bytes; /* a block of exactly n bytes */
	size_t n;
	enum weft_encap_kind plain;
	char drop[32];
	unsigned drop_bit;
	char said[4096];
};

static const char *file_name;

#define BAD(...) (fprintf(stderr, "%s: ", file_name), CHECK_FAIL(__VA_ARGS__))

static enum weft_encap_kind kind_of(const char *name)
{
	for (unsigned kind = 0; kind < WEFT_ENCAP_KINDS; kind++)
		if (!strcmp(weft_encap_name((uint8_t)kind), name))
			return (enum weft_encap_kind)kind;
	BAD("no format %s", name);
	return WEFT_ENCAP_STEV;
}

static void read_line(struct vector *v, char *line)
{
	char word[32];
	unsigned byte;
	int used;

	if (line[0] == '=') {
		strncat(v->said, line, sizeof(v->said) - strlen(v->said) - 1);
	} else if (sscanf(line, "! plain %31s", word) == 1) {
		v->plain = kind_of(word);
	} else if (sscanf(line, "! drop %31s %u", v->drop, &v->drop_bit) < 1) {
		line[strcspn(line, "#")] = 0;
		for (; sscanf(line, "%2x%n", &byte, &used) == 1; line += used) {
			v->bytes = realloc(v->bytes, v->n + 1);
			v->bytes[v->n++] = (uint8_t)byte;
		}
	}
}

static void load(const char *path, struct vector *v)
{
	FILE *in = fopen(path, "r");
	char line[512];

	memset(v, 0, sizeof(*v));
	REQUIRE(in);
	while (fgets(line, sizeof(line), in))
		read_line(v, line);
	fclose(in);
}

/* ---- the packet in the words of the files ---- */

static char told[4096];

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void tell(const char *format, ...)
{
	size_t at = strlen(told);
	va_list args;

	va_start(args, format);
	at += (size_t)snprintf(told + at, sizeof(told) - at, "= ");
	at += (size_t)vsnprintf(told + at, sizeof(told) - at, format, args);
	snprintf(told + at, sizeof(told) - at, "\n");
	va_end(args);
}

static void tell_words(const char *key, unsigned bits, const char *const names[], unsigned top)
{
	char text[128] = "";

	for (unsigned bit = top, i = 0; names[i]; bit >>= 1, i++) {
		if (!(bits & bit))
			continue;
		strncat(text, text[0] ? " " : "", 2);
		strncat(text, names[i], 32);
	}
	tell("%s %s", key, text[0] ? text : "none");
}

static void tell_address(const char *key, const uint8_t address[16], bool ipv4)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(ipv4 ? AF_INET : AF_INET6, address + (ipv4 ? 12 : 0), text, sizeof(text));
	tell("%s %s", key, text);
}

static void tell_outside(const struct weft_arrival *a)
{
	static const char *const marks[] = { "trimmed_lasthop", "trimmed", "ce", NULL };
	bool ipv4 = weft_flow_is_ipv4(&a->flow);

	tell("encap %s", weft_encap_name(a->kind));
	tell_address("src", a->flow.src, ipv4);
	tell_address("dst", a->flow.dst, ipv4);
	tell("src_port %u", a->flow.src_port);
	tell("dst_port %u", a->flow.dst_port);
	tell("ev 0x%08x", a->ev);
	tell_words("mark", a->mark, marks, 4);
}

static void tell_write(const struct weft_pkt *pkt, bool trimmed)
{
	tell("msn %u", pkt->w.msn);
	tell("rqmsn %u", pkt->w.rqmsn);
	tell("ts %u", pkt->w.ts);
	if (!trimmed) {
		tell("va 0x%016" PRIx64, pkt->w.va);
		tell("rkey 0x%08x", pkt->w.rkey);
		tell("msg_bytes %u", pkt->w.msg_bytes);
		if (pkt->flags & WEFT_BTH_XRC)
			tell("srqn 0x%06x", pkt->w.srqn);
		if (weft_op_has_imm(pkt->op))
			tell("imm 0x%08x", pkt->w.imm);
	}
	tell("payload_bytes %u", pkt->w.len_bytes);
}

static void tell_sack(const struct weft_pkt *pkt)
{
	static const char *const ms[] = { "none", "skip_once", "always_skip" };
	const struct weft_pkt_sack *s = &pkt->sack;

	tell("spdcid %u", pkt->sqpn_low);
	tell("m %s", ms[s->m]);
	if (s->is_probe)
		tell("probe_id %u", s->probe_id);
	else
		tell("psn_offset %d", s->psn_offset);
	tell("echo_ev 0x%08x", s->ev);
	tell("cack_psn %u", s->cack_psn);
	tell("sack_offset %d", s->sack_offset);
	tell("bitmap 0x%016" PRIx64, s->bitmap);
	tell("mpr_units %u", s->mpr_units);
	tell("ooo_pkts %u", s->ooo_pkts);
	tell("penalty %u", s->penalty);
	tell("restore_cwnd %u", s->restore_cwnd);
	tell("rcvd_units %u", s->rcvd_units);
	tell("ts %u", s->ts);
	tell("cc_type %u", s->cc_type_flags >> 4);
	tell("cc_flags %u", s->cc_type_flags & 15);
}

static void tell_control(const struct weft_pkt *pkt)
{
	switch (pkt->op) {
	case WEFT_OP_NACK:
		tell("spdcid %u", pkt->sqpn_low);
		tell("reason %s", weft_nack_reason_name(pkt->nack.reason));
		tell("nack_psn %u", pkt->nack.psn);
		tell("echo_ev 0x%08x", pkt->nack.ev);
		tell("ts %u", pkt->nack.ts);
		tell("cc_type %u", pkt->nack.cc_type_flags >> 4);
		tell("cc_flags %u", pkt->nack.cc_type_flags & 15);
		if (pkt->nack.reason == WEFT_NACK_RNR)
			tell("rnr_timer %u", pkt->nack.vendor_info);
		break;
	case WEFT_OP_ACK:
		tell("syndrome %s", weft_syndrome_name(pkt->ack.syndrome));
		tell("msn %u", pkt->ack.msn);
		break;
	case WEFT_OP_PROBE:
		tell("spdcid %u", pkt->sqpn_low);
		tell("probe_id %u", pkt->probe.probe_id);
		tell("ts %u", pkt->probe.ts);
		break;
	default:
		tell("ep_op %s", pkt->ep.op == WEFT_EP_EV_PROBE ? "ev_probe" : "port_status");
		if (pkt->op == WEFT_OP_EP_REQUEST)
			tell("port_mask 0x%08x", pkt->ep.port_mask);
		tell("ts %u", pkt->ep.ts);
	}
}

static void tell_packet(const struct weft_pkt *pkt, bool trimmed)
{
	static const char *const flags[] = { "a", "solicited", "rtx", "ts", "xrc", NULL };

	tell("op %s", weft_op_name(pkt->op));
	tell_words("flags", pkt->flags, flags, 0x80);
	tell("dqpn %u", pkt->dqpn);
	tell("psn %u", pkt->psn);
	if (weft_op_is_data(pkt->op))
		tell_write(pkt, trimmed);
	else if (pkt->op == WEFT_OP_SACK)
		tell_sack(pkt);
	else
		tell_control(pkt);
	tell("icrc %s", trimmed ? "absent" : "ok");
}

/* ---- decoding, and back ---- */

static bool decode(const struct vector *v, struct weft_arrival *arrival, struct weft_pkt *pkt,
	struct weft_wire_fault *fault)
{
	size_t at;

	if (!weft_encap_parse(v->bytes, v->n, v->plain, &WEFT_DSCP_DEFAULT, arrival, fault))
		return false;
	at = (size_t)(arrival->datagram - v->bytes);
	if (!weft_wire_decode(
		    arrival->datagram, arrival->datagram_bytes, arrival->mark, pkt, fault)) {
		fault->bit += (uint32_t)(8 * at);
		return false;
	}
	if (arrival->mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP))
		return true;
	if (weft_icrc_check(
		    crc32_gzip_refl, &arrival->flow, arrival->datagram, arrival->datagram_bytes))
		return true;
	*fault = (struct weft_wire_fault){ WEFT_DROP_BAD_ICRC,
		(uint32_t)(8 * (at + arrival->datagram_bytes - WEFT_WIRE_ICRC_BYTES)) };
	return false;
}

static void check_datagram(const struct weft_arrival *a, const struct weft_pkt *pkt, bool trimmed)
{
	static uint8_t again[WEFT_WIRE_DATAGRAM_MAX];
	size_t at = weft_wire_encode(pkt, again), payload = weft_wire_payload_bytes(pkt);

	if (trimmed) {
		CHECK_MEM(again, a->datagram, 12 + 4 + 4);
		return;
	}
	if (payload)
		memcpy(again + at, pkt->w.data, payload);
	at += payload + weft_icrc_seal(crc32_gzip_refl, &a->flow, again, at, again + at, payload,
				again + at + payload);
	CHECK_EQ(at, a->datagram_bytes);
	CHECK_MEM(again, a->datagram, at);
}

static void check_outside(const struct vector *v, const struct weft_arrival *a, uint8_t op)
{
	uint8_t again[WEFT_ENCAP_BYTES_MAX];
	struct weft_encap encap = { .kind = a->kind, .hop_limit = a->hop_limit, .flow = a->flow };
	uint8_t tclass = weft_op_is_data(op) ? WEFT_CLASS_DATA : WEFT_CLASS_CONTROL;

	memcpy(encap.via, a->via, 16);
	memcpy(encap.via_src, a->flow.src, 16);
	encap.has_segment = a->kind == WEFT_ENCAP_SRV6 && v->bytes[6] == 43;
	if (encap.has_segment)
		memcpy(encap.segment, v->bytes + 40 + 8, 16);
	size_t bytes =
		weft_encap_put(&encap, &WEFT_DSCP_DEFAULT, tclass, a->ev, a->datagram_bytes, again);

	CHECK_EQ(bytes, a->datagram - v->bytes);
	/* What the way here changed: a congestion mark, the segment that was used up. */
	if (a->mark & WEFT_MARK_CE)
		again[1] |= 0x30;
	if (encap.has_segment)
		again[40 + 3] = a->segments_left;
	CHECK_MEM(again, v->bytes, bytes);
}

static void check_vector(const struct vector *v)
{
	struct weft_wire_fault fault = { 0 };
	struct weft_arrival arrival;
	struct weft_pkt pkt;
	bool ok = decode(v, &arrival, &pkt, &fault);

	if (v->drop[0]) {
		if (ok || strcmp(weft_drop_name(fault.drop), v->drop) || fault.bit != v->drop_bit)
			BAD("%s at bit %u, want %s at %u",
				ok ? "decoded" : weft_drop_name(fault.drop), fault.bit, v->drop,
				v->drop_bit);
		return;
	}
	if (!ok) {
		BAD("dropped: %s at bit %u", weft_drop_name(fault.drop), fault.bit);
		return;
	}
	bool trimmed = arrival.mark & (WEFT_MARK_TRIMMED | WEFT_MARK_TRIMMED_LASTHOP);

	told[0] = 0;
	tell_outside(&arrival);
	tell_packet(&pkt, trimmed);
	if (strcmp(told, v->said))
		BAD("decoded as\n%sbut the file says\n%s", told, v->said);
	check_datagram(&arrival, &pkt, trimmed);
	if (!trimmed)
		check_outside(v, &arrival, pkt.op);
}

TEST(wire__agrees_with_every_vector)
{
	char folder[512], path[1024];
	unsigned n = 0, drops = 0;

	snprintf(folder, sizeof(folder), "%s", __FILE__);
	*strstr(folder, "unit/wire/vectors_test.c") = 0;
	strncat(folder, "vectors/v1", 16);
	DIR *dir = opendir(folder);

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct vector v;

		if (!strstr(entry->d_name, ".hex"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		file_name = entry->d_name;
		load(path, &v);
		check_vector(&v);
		drops += v.drop[0] != 0;
		free(v.bytes);
		n++;
	}
	closedir(dir);
	CHECK(n >= 40 && drops >= 12); /* no vector got lost */
}
