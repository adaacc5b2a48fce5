/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <jansson.h>
#include <weft/trace.h>

static char text[65536];

static int print(const char *host, const struct weft_event events[], size_t n)
{
	text[0] = 0;
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct weft_sink sink;

	weft_sink_file(&sink, file);
	int error = weft_jsonl_events(&sink, host, events, n);

	fclose(file);
	return error;
}

TEST(weft_jsonl_events__one_line_each)
{
	static const struct weft_event events[] = {
		{ .at_ns = 123,
			.qpn = 17,
			.kind = WEFT_EV_PATH_STATE,
			.set = 2,
			.a = 9,
			.b = 1,
			.c = 3 },
		{ .at_ns = UINT64_MAX, .kind = WEFT_EV_PORT, .a = 4 },
	};

	CHECK_EQ(print("h0", events, 2), 0);
	CHECK_STR(text,
		"{\"at_ns\":123,\"event\":\"path_state\",\"host\":\"h0\",\"qpn\":17,\"set\":2,"
		"\"ev\":9,\"from\":1,\"to\":3}\n"
		"{\"at_ns\":18446744073709551615,\"event\":\"port\",\"host\":\"h0\",\"set\":0,"
		"\"port\":4,\"up\":0}\n");
	CHECK_EQ(print(NULL, events, 0), 0);
	CHECK_STR(text, "");
}

/* Another's parser has to agree, for every kind and for hosts with odd names. */
TEST(weft_jsonl_events__is_json_in_the_eyes_of_jansson)
{
	static const char *const hosts[] = { "plain", "a\"b\\c", "tab\there\nand\x01\x1f", "µ-host",
		"" };

	for (size_t h = 0; h < WEFT_COUNT(hosts); h++)
		for (uint16_t kind = 0; kind <= WEFT_EV_COUNT; kind++) {
			struct weft_event event = { .at_ns = 5,
				.qpn = 6,
				.kind = kind,
				.set = 7,
				.a = UINT64_C(1) << 40,
				.b = UINT32_MAX,
				.c = 3 };
			json_error_t error;

			REQUIRE(print(hosts[h], &event, 1) == 0);
			json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, &error);

			if (!line)
				CHECK_FAIL("kind %u: %s in %s", kind, error.text, text);
			REQUIRE(line);
			CHECK_STR(json_string_value(json_object_get(line, "host")), hosts[h]);
			CHECK_STR(json_string_value(json_object_get(line, "event")),
				weft_event_name(kind));
			CHECK_EQ(json_integer_value(json_object_get(line, "set")), 7);
			unsigned fields = 0;

			for (unsigned i = 0; i < 3; i++) {
				static const int64_t values[] = { INT64_C(1) << 40, UINT32_MAX, 3 };
				const char *const plain[] = { "a", "b", "c" };
				bool known = kind < WEFT_EV_COUNT;
				const char *name = known ? weft_event_field(kind, i) : plain[i];

				if (!*name)
					continue;
				fields++;
				json_t *value = json_object_get(line, name);

				CHECK_EQ(json_integer_value(value), values[i]);
			}
			/* at_ns, event, host, qpn, set; and the number of an unknown kind. */
			CHECK_EQ(json_object_size(line), 5 + fields + (kind == WEFT_EV_COUNT));
			json_decref(line);
		}
}

static int refuse(void *user, const void *bytes, size_t len_bytes)
{
	(void)bytes;
	(void)len_bytes;
	return ++*(unsigned *)user > 10 ? -EPIPE : 0;
}

TEST(weft_jsonl_events__stops_where_the_sink_does)
{
	unsigned calls = 0;
	struct weft_sink sink = { .write = refuse, .user = &calls };
	struct weft_event events[100] = { { .kind = WEFT_EV_PORT } };

	CHECK_EQ(weft_jsonl_events(&sink, NULL, events, 100), -EPIPE);
	CHECK_EQ(calls, 11);
}
