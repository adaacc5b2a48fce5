/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "net_local.h"

#include <jansson.h>

static struct offer sample(void)
{
	struct offer offer = { .host = "h1",
		.fabric = "lab8",
		.format = WEFT_UDP_USID,
		.planes = 2,
		.mtu_bytes = 4096,
		.mpr_psns = 1024,
		.wimm = 32,
		.n_qps = 2,
		.n_src_ports = 1,
		.rate_bps = 8000000000,
		.udp_port = 7777,
		.trim_nack = true,
		.src_port = { 5555 } };

	offer.addr[0][0] = 0xfd;
	offer.addr[1][0] = 0xfd;
	offer.addr[1][15] = 1;
	offer.qp[0].qpn = 0x10001;
	offer.qp[0].psn = 0xffffff;
	offer.qp[1].qpn = 0x10002;
	return offer;
}

TEST(offer_decode__reads_what_was_encoded)
{
	char error[256] = "";
	json_t *app = json_pack("{s:s}", "file", "x");
	struct offer in = sample(), out;

	in.app = app;
	char *line = offer_encode(&in);

	REQUIRE(line);
	CHECK_EQ(line[strlen(line) - 1], '\n');
	CHECK_EQ(offer_decode(line, &out, error, sizeof(error)), 0);
	CHECK_STR(error, "");
	CHECK(json_equal(app, out.app));
	json_decref(out.app);
	out.app = in.app;
	CHECK_MEM(&out, &in, sizeof(in));
	json_decref(app);
	free(line);
}

/* Offers of before trimming was agreed on. */
TEST(offer_decode__who_does_not_speak_of_trimming_answers_none)
{
	char error[256] = "";
	struct offer in = sample(), out;
	char *line = offer_encode(&in), *at = strstr(line, "\"trim_nack\":true");

	REQUIRE(at);
	memcpy(at, "\"trim_nock\"", strlen("\"trim_nock\""));
	CHECK_EQ(offer_decode(line, &out, error, sizeof(error)), 0);
	CHECK(!out.trim_nack);
	offer_close(&out);
	free(line);
}

/* Replaces the value of a field and wants an error that names it. */
static void expect_refusal(const char *field, const char *value, const char *text)
{
	struct offer offer = sample();
	char *line = offer_encode(&offer), error[256] = "";
	json_error_t why;
	json_t *root = json_loads(line, 0, &why);

	if (value)
		json_object_set_new(root, field, json_loads(value, JSON_DECODE_ANY, &why));
	else
		json_object_del(root, field);
	char *changed = json_dumps(root, 0);

	CHECK_EQ(offer_decode(changed, &offer, error, sizeof(error)), -1);
	if (!strstr(error, text))
		CHECK_FAIL("%s = %s: \"%s\" does not say \"%s\"", field, value ? value : "(none)",
			error, text);
	json_decref(root);
	free(changed);
	free(line);
}

TEST(offer_decode__names_the_field_that_is_wrong)
{
	static const struct {
		const char *field, *value, *text;
	} rows[] = {
		{ "weft", "1", "version 1, this host has 2" },
		{ "weft", "\"2\"", "weft" },
		{ "weft", NULL, "weft" },
		{ "host", "7", "host" },
		{ "host", "\"a name that is much longer than a host's name may ever be\"", "host" },
		{ "host", "\"h\\u001b[2J\"", "host" },
		{ "fabric", NULL, "fabric" },
		{ "format", "\"stev\"", "format" },
		{ "addrs", "[]", "addrs" },
		{ "addrs", "[\"10.0.0.1\"]", "addrs" },
		{ "addrs", "{}", "addrs" },
		{ "src_ports", "[0]", "src_ports" },
		{ "src_ports", "[65536]", "src_ports" },
		{ "udp_port", "-1", "udp_port" },
		{ "udp_port", "1.5", "udp_port" },
		{ "mtu", "9000", "mtu" },
		{ "mtu", "4095", "mtu" },
		{ "mpr", "129", "mpr" },
		{ "mpr", "32641", "mpr" },
		{ "wimm", "0", "wimm" },
		{ "rate", "0", "rate" },
		{ "qps", "[]", "qps" },
		{ "qps", "[{\"qpn\": 2, \"psn\": 0}]", "qps.qpn" },
		{ "qps", "[{\"qpn\": 16777216, \"psn\": 0}]", "qps.qpn" },
		{ "qps", "[{\"qpn\": 9, \"psn\": 16777216}]", "qps.psn" },
		{ "qps", "[{\"qpn\": 9, \"psn\": 0}, {\"qpn\": 9, \"psn\": 0}]", "twice" },
		{ "qps", "[7]", "qps.qpn" },
		{ "error", "\"no room\"", "peer: no room" },
		{ "error", "\"a\\u001b[2J\\u009b\"", "peer: a?[2J??" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++)
		expect_refusal(rows[i].field, rows[i].value, rows[i].text);
}

TEST(offer_decode__survives_any_cut_and_any_flipped_byte)
{
	struct offer offer = sample();
	char *line = offer_encode(&offer), error[256];
	size_t bytes = strlen(line);
	char *copy = malloc(bytes + 1);
	struct weft_rng rng;

	weft_rng_seed(&rng, 1);
	for (size_t i = 0; i + 2 < bytes; i++) {
		memcpy(copy, line, bytes + 1);
		copy[i] = 0;
		CHECK_EQ(offer_decode(copy, &offer, error, sizeof(error)), -1);
	}
	for (unsigned i = 0; i < 20000; i++) {
		memcpy(copy, line, bytes + 1);
		copy[weft_rng_below(&rng, bytes)] = (char)weft_rng_u64(&rng);
		if (!offer_decode(copy, &offer, error, sizeof(error)))
			offer_close(&offer);
	}
	free(copy);
	free(line);
}
