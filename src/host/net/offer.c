/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offer - what one end tells the other before they talk, and the distrust with which it is read.
 *
 * One line of JSON: people can read it in a capture, and a field more does not break an older
 * reader.  Unknown fields are ignored for that reason; a known one that is missing, of another
 * type or out of range is refused by name, because a queue pair that was set up wrongly fails
 * later and says nothing.
 */
#include "net_local.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = { [WEFT_UDP_USID] = "usid", [WEFT_UDP_PLAIN] = "plain" };

struct reader {
	const json_t *from;
	char *error;
	size_t error_bytes;
	bool failed;
};

static void refuse(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void refuse(struct reader *r, const char *format, ...)
{
	va_list args;

	if (r->failed)
		return; /* the first one counts */
	r->failed = true;
	va_start(args, format);
	vsnprintf(r->error, r->error_bytes, format, args);
	va_end(args);
	(void)weft_text_clean(r->error); /* it may quote the peer */
}

static uint64_t to_number(
	struct reader *r, const json_t *value, const char *field, uint64_t min, uint64_t max)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value)) {
		refuse(r, "peer's offer: %s: missing, or not a whole number", field);
		return min;
	}
	if (number < 0 || (uint64_t)number < min || (uint64_t)number > max) {
		refuse(r, "peer's offer: %s: %lld is not within %llu..%llu", field,
			(long long)number, (unsigned long long)min, (unsigned long long)max);
		return min;
	}
	return (uint64_t)number;
}

static uint64_t get_number(struct reader *r, const char *field, uint64_t min, uint64_t max)
{
	return to_number(r, json_object_get(r->from, field), field, min, max);
}

static void get_text(struct reader *r, const char *field, char *text, size_t bytes)
{
	const char *value = json_string_value(json_object_get(r->from, field));

	if (!value || strlen(value) >= bytes) {
		refuse(r, "peer's offer: %s: missing, or not a text of at most %zu bytes", field,
			bytes - 1);
		value = "";
	}
	snprintf(text, bytes, "%s", value);
	if (!weft_text_is_clean(text))
		refuse(r, "peer's offer: %s: has an unprintable character", field);
}

/* An array of 1..max elements. */
static const json_t *get_array(struct reader *r, const char *field, size_t max, uint32_t *n)
{
	const json_t *array = json_object_get(r->from, field);
	size_t size = json_array_size(array);

	*n = 0;
	if (!json_is_array(array) || !size || size > max) {
		refuse(r, "peer's offer: %s: missing, or not a list of 1..%zu", field, max);
		return NULL;
	}
	*n = (uint32_t)size;
	return array;
}

static void get_addrs(struct reader *r, struct offer *offer)
{
	const json_t *list = get_array(r, "addrs", WEFT_PORTS_MAX, &offer->planes);

	for (uint32_t i = 0; i < offer->planes; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || inet_pton(AF_INET6, text, offer->addr[i]) != 1)
			refuse(r, "peer's offer: addrs: number %u is not an IPv6 address", i);
	}
}

static void get_qps(struct reader *r, struct offer *offer)
{
	const json_t *list = get_array(r, "qps", WEFT_SESSION_QPS_MAX, &offer->n_qps);

	for (uint32_t i = 0; i < offer->n_qps; i++) {
		const json_t *qp = json_array_get(list, i);

		offer->qp[i].qpn = (uint32_t)to_number(
			r, json_object_get(qp, "qpn"), "qps.qpn", WEFT_EP_QPN + 1, WEFT_PSN_MASK);
		offer->qp[i].psn = (uint32_t)to_number(
			r, json_object_get(qp, "psn"), "qps.psn", 0, WEFT_PSN_MASK);
		for (uint32_t other = 0; other < i; other++)
			if (offer->qp[other].qpn == offer->qp[i].qpn)
				refuse(r, "peer's offer: qps.qpn: %u twice", offer->qp[i].qpn);
	}
}

static void get_format(struct reader *r, struct offer *offer)
{
	char text[16];

	get_text(r, "format", text, sizeof(text));
	for (size_t i = 0; i < WEFT_COUNT(formats); i++) {
		if (strcmp(text, formats[i]))
			continue;
		offer->format = (enum weft_udp_format)i;
		return;
	}
	refuse(r, "peer's offer: format: \"%s\" is neither \"usid\" nor \"plain\"", text);
}

static void get_src_ports(struct reader *r, struct offer *offer)
{
	const json_t *list = get_array(r, "src_ports", WEFT_UDP_SRC_PORTS_MAX, &offer->n_src_ports);

	for (uint32_t i = 0; i < offer->n_src_ports; i++)
		offer->src_port[i] =
			(uint16_t)to_number(r, json_array_get(list, i), "src_ports", 1, 65535);
}

static void get_version(struct reader *r)
{
	const json_t *version = json_object_get(r->from, "weft");

	if (!json_is_integer(version))
		refuse(r, "peer's offer: weft: missing, or no whole number");
	else if (json_integer_value(version) != OFFER_VERSION)
		refuse(r,
			"peer's offer: weft: set-up of version %lld, this host has %d: both ends "
			"want the same release of Weft",
			(long long)json_integer_value(version), OFFER_VERSION);
}

int offer_decode(const char *line, struct offer *offer, char *error, size_t error_bytes)
{
	json_error_t why;
	json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, &why);
	struct reader r = { .from = root, .error = error, .error_bytes = error_bytes };

	*offer = (struct offer){ 0 };
	if (!json_is_object(root)) {
		refuse(&r, "peer's offer: %s", root ? "not an object" : why.text);
	} else if (json_is_string(json_object_get(root, "error"))) {
		refuse(&r, "peer: %s", json_string_value(json_object_get(root, "error")));
	} else {
		get_version(&r);
		get_text(&r, "host", offer->host, sizeof(offer->host));
		get_text(&r, "fabric", offer->fabric, sizeof(offer->fabric));
		get_format(&r, offer);
		get_addrs(&r, offer);
		get_src_ports(&r, offer);
		get_qps(&r, offer);
		offer->udp_port = (uint16_t)get_number(&r, "udp_port", 1, 65535);
		offer->mtu_bytes = (uint32_t)get_number(&r, "mtu", 4, WEFT_MTU_MAX);
		offer->mpr_psns = (uint32_t)get_number(&r, "mpr", 128, WEFT_MPR_MAX_PSNS);
		offer->wimm = (uint32_t)get_number(&r, "wimm", 1, 32768);
		offer->rate_bps = get_number(&r, "rate", 1, INT64_MAX);
		offer->trim_nack = json_is_true(json_object_get(root, "trim_nack"));
		if (offer->mpr_psns % WEFT_MPR_UNIT_PSNS || offer->mtu_bytes % 4)
			refuse(&r, "peer's offer: mpr, mtu: not multiples of 128 and 4");
		offer->app = json_incref(json_object_get(root, "app"));
	}
	if (r.failed)
		offer_close(offer);
	json_decref(root);
	return r.failed ? -1 : 0;
}

void offer_close(struct offer *offer)
{
	json_decref(offer->app);
	offer->app = NULL;
}

char *offer_encode(const struct offer *offer)
{
	json_t *addrs = json_array(), *ports = json_array(), *qps = json_array();

	for (uint32_t i = 0; i < offer->planes; i++) {
		char text[INET6_ADDRSTRLEN];

		inet_ntop(AF_INET6, offer->addr[i], text, sizeof(text));
		json_array_append_new(addrs, json_string(text));
	}
	for (uint32_t i = 0; i < offer->n_src_ports; i++)
		json_array_append_new(ports, json_integer(offer->src_port[i]));
	for (uint32_t i = 0; i < offer->n_qps; i++)
		json_array_append_new(qps, json_pack("{s:i, s:i}", "qpn", (int)offer->qp[i].qpn,
						   "psn", (int)offer->qp[i].psn));
	json_t *root = json_pack(
		"{s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:I, s:b, s:O*}", "weft",
		OFFER_VERSION, "host", offer->host, "fabric", offer->fabric, "format",
		formats[offer->format], "addrs", addrs, "src_ports", ports, "qps", qps, "udp_port",
		(int)offer->udp_port, "mtu", (int)offer->mtu_bytes, "mpr", (int)offer->mpr_psns,
		"wimm", (int)offer->wimm, "rate", (json_int_t)offer->rate_bps, "trim_nack",
		offer->trim_nack, "app", offer->app);
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	size_t bytes = text ? strlen(text) : 0;
	char *line = text ? realloc(text, bytes + 2) : NULL;

	json_decref(root);
	if (!line) {
		free(text);
		return NULL;
	}
	memcpy(line + bytes, "\n", 2);
	return line;
}
