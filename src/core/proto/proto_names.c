/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proto_names - words for the numbers that people and exporters see.
 *
 * Everything here is generated from the .def lists in include/weft or stands in one switch per
 * enumeration, so that a counter key, a JSON value and a column of a table are never spelled
 * twice.  Switches have no default where the enumeration is ours: the compiler then names the
 * value that was forgotten.  Keys are lower case because they end up in JSON and in metrics; the
 * lists are upper case because C wants it.  The compiler folds them: a second spelling in the lists
 * would drift, and folding at run time would need a buffer that somebody owns.
 */
#include <weft/proto.h>

static const char *const xrc_writes[] = { "xrc_write_first", "xrc_write_middle", "xrc_write_last",
	"xrc_write_last_imm", "xrc_write_only", "xrc_write_only_imm" };

const char *weft_op_name(uint8_t op)
{
	switch ((enum weft_op)op) {
	case WEFT_OP_WRITE_FIRST:
		return "write_first";
	case WEFT_OP_WRITE_MIDDLE:
		return "write_middle";
	case WEFT_OP_WRITE_LAST:
		return "write_last";
	case WEFT_OP_WRITE_LAST_IMM:
		return "write_last_imm";
	case WEFT_OP_WRITE_ONLY:
		return "write_only";
	case WEFT_OP_WRITE_ONLY_IMM:
		return "write_only_imm";
	case WEFT_OP_ACK:
		return "ack";
	case WEFT_OP_EP_REQUEST:
		return "ep_request";
	case WEFT_OP_EP_RESPONSE:
		return "ep_response";
	case WEFT_OP_SACK:
		return "sack";
	case WEFT_OP_NACK:
		return "nack";
	case WEFT_OP_PROBE:
		return "probe";
	case WEFT_OP_SEND_FIRST:
		return "send_first";
	case WEFT_OP_SEND_MIDDLE:
		return "send_middle";
	case WEFT_OP_SEND_LAST:
		return "send_last";
	case WEFT_OP_SEND_LAST_IMM:
		return "send_last_imm";
	case WEFT_OP_SEND_ONLY:
		return "send_only";
	case WEFT_OP_SEND_ONLY_IMM:
		return "send_only_imm";
	case WEFT_OP_XRC_WRITE_FIRST:
	case WEFT_OP_XRC_WRITE_MIDDLE:
	case WEFT_OP_XRC_WRITE_LAST:
	case WEFT_OP_XRC_WRITE_LAST_IMM:
	case WEFT_OP_XRC_WRITE_ONLY:
	case WEFT_OP_XRC_WRITE_ONLY_IMM:
		return xrc_writes[op - WEFT_OP_XRC_WRITE_FIRST];
	case WEFT_OP_READ_REQUEST:
		return "read_request";
	case WEFT_OP_REPLY_FIRST:
		return "reply_first";
	case WEFT_OP_REPLY_MIDDLE:
		return "reply_middle";
	case WEFT_OP_REPLY_LAST:
		return "reply_last";
	case WEFT_OP_REPLY_ONLY:
		return "reply_only";
	case WEFT_OP_REPLY_REFUSED:
		return "reply_refused";
	case WEFT_OP_CMP_SWAP:
		return "cmp_swap";
	case WEFT_OP_FETCH_ADD:
		return "fetch_add";
	case WEFT_OP_DATAGRAM:
		return "datagram";
	case WEFT_OP_DATAGRAM_IMM:
		return "datagram_imm";
	}
	return "?";
}

const char *weft_nack_reason_name(uint8_t reason)
{
	switch ((enum weft_nack_reason)reason) {
	case WEFT_NACK_TRIMMED:
		return "trimmed";
	case WEFT_NACK_TRIMMED_LASTHOP:
		return "trimmed_lasthop";
	case WEFT_NACK_NO_BITMAP:
		return "no_bitmap";
	case WEFT_NACK_NO_PKT_BUFFER:
		return "no_pkt_buffer";
	case WEFT_NACK_NO_RESOURCE:
		return "no_resource";
	case WEFT_NACK_PSN_OOR_WINDOW:
		return "psn_oor_window";
	case WEFT_NACK_UNEXP_EVENT:
		return "unexp_event";
	case WEFT_NACK_RNR:
		return "rnr";
	}
	return "?";
}

const char *weft_syndrome_name(uint8_t syndrome)
{
	/* No enumeration here: WIMM_OVERFLOW shares a value with INVALID_REQUEST. */
	switch (syndrome) {
	case WEFT_AETH_ACK:
		return "ack";
	case WEFT_AETH_NAK_PSN_SEQUENCE:
		return "nak_psn_sequence";
	case WEFT_AETH_NAK_INVALID_REQUEST:
		return "nak_invalid_request";
	case WEFT_AETH_NAK_REMOTE_ACCESS:
		return "nak_remote_access";
	case WEFT_AETH_NAK_REMOTE_OPERATION:
		return "nak_remote_operation";
	default:
		return "?";
	}
}

/* One lower-case byte of a literal; past its end, the terminator. */
#define AT(s, i) FOLD((s)[(i) < sizeof(s) ? (i) : sizeof(s) - 1])
#define FOLD(c) (char)((c) >= 'A' && (c) <= 'Z' ? (c) + ('a' - 'A') : (c))
#define AT4(s, i) AT(s, (i)), AT(s, (i) + 1), AT(s, (i) + 2), AT(s, (i) + 3)
#define KEY(s)                                                                                     \
	{                                                                                          \
		AT4(s, 0), AT4(s, 4), AT4(s, 8), AT4(s, 12), AT4(s, 16), AT4(s, 20)                \
	}
enum { KEY_BYTES = 24 };

#define WEFT_DROP(NAME, text) _Static_assert(sizeof(#NAME) <= KEY_BYTES, "widen KEY");
#include <weft/drops.def>
#undef WEFT_DROP
#define WEFT_EVENT(NAME, a, b, c, text) _Static_assert(sizeof(#NAME) <= KEY_BYTES, "widen KEY");
#include <weft/events.def>
#undef WEFT_EVENT

static const char drop_names[WEFT_DROP_COUNT][KEY_BYTES] = {
#define WEFT_DROP(NAME, text) KEY(#NAME),
#include <weft/drops.def>
#undef WEFT_DROP
};

static const char *const drop_texts[WEFT_DROP_COUNT] = {
#define WEFT_DROP(NAME, text) text,
#include <weft/drops.def>
#undef WEFT_DROP
};

static const char event_names[WEFT_EV_COUNT][KEY_BYTES] = {
#define WEFT_EVENT(NAME, a, b, c, text) KEY(#NAME),
#include <weft/events.def>
#undef WEFT_EVENT
};

static const struct {
	const char *text, *fields[3];
} event_words[WEFT_EV_COUNT] = {
#define WEFT_EVENT(NAME, a, b, c, text) { text, { a, b, c } },
#include <weft/events.def>
#undef WEFT_EVENT
};

const char *weft_drop_name(enum weft_drop drop)
{
	return (unsigned)drop < WEFT_DROP_COUNT ? drop_names[drop] : "?";
}

const char *weft_drop_text(enum weft_drop drop)
{
	return (unsigned)drop < WEFT_DROP_COUNT ? drop_texts[drop] : "?";
}

const char *weft_event_name(uint16_t kind)
{
	return kind < WEFT_EV_COUNT ? event_names[kind] : "?";
}

const char *weft_event_text(uint16_t kind)
{
	return kind < WEFT_EV_COUNT ? event_words[kind].text : "?";
}

const char *weft_event_field(uint16_t kind, unsigned which)
{
	return kind < WEFT_EV_COUNT && which < 3 ? event_words[kind].fields[which] : "";
}
