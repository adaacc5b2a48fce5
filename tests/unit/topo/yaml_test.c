/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "topo_local.h"

struct values {
	struct weft_yaml_value count, speed, flag, word, any;
};

static const struct weft_yaml_field inner[] = {
	{ "speed", WEFT_FIELD_NUMBER, WEFT_UNIT_SPEED, 1000, 2000000,
		offsetof(struct values, speed), NULL },
	{ 0 },
};
static const struct weft_yaml_field outer[] = {
	{ "count", WEFT_FIELD_NUMBER, WEFT_UNIT_COUNT, 1, 8, offsetof(struct values, count), NULL },
	{ "flag", WEFT_FIELD_BOOL, WEFT_UNIT_COUNT, 0, 0, offsetof(struct values, flag), NULL },
	{ "word", WEFT_FIELD_TEXT, WEFT_UNIT_COUNT, 0, 0, offsetof(struct values, word), NULL },
	{ "any", WEFT_FIELD_NODE, WEFT_UNIT_COUNT, 0, 0, offsetof(struct values, any), NULL },
	{ "links", WEFT_FIELD_MAP, WEFT_UNIT_COUNT, 0, 0, 0, inner },
	{ 0 },
};

static char error[256];

/* The document stays open: values point into it. */
static bool read_text(const char *text, struct values *values, yaml_document_t *yaml)
{
	yaml_parser_t parser;
	struct weft_yaml doc = { .name = "f.yaml", .error = error, .error_bytes = sizeof(error) };

	error[0] = 0;
	memset(values, 0, sizeof(*values));
	REQUIRE(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	REQUIRE(yaml_parser_load(&parser, &doc.yaml));
	yaml_parser_delete(&parser);
	bool ok = weft_yaml_fields(&doc, yaml_document_get_root_node(&doc.yaml), "", outer, values);
	*yaml = doc.yaml;
	return ok;
}

TEST(weft_yaml_fields__fills_the_table)
{
	struct values v;
	yaml_document_t yaml;

	CHECK(read_text("count: 3\nword: abc\nflag: true\nany: [1, 2]\nlinks:\n  speed: 1Mb/s\n",
		&v, &yaml));
	CHECK_EQ(v.count.number, 3);
	CHECK_EQ(v.count.line, 1);
	CHECK_EQ(v.flag.number, 1);
	CHECK_STR(v.word.text, "abc");
	CHECK_EQ(v.any.line, 4);
	CHECK_EQ(v.speed.number, 1000000);
	CHECK_EQ(v.speed.line, 6);
	yaml_document_delete(&yaml);
}

TEST(weft_yaml_fields__names_file_line_field_and_what_is_allowed)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "count: 1\nconut: 2\n", "f.yaml:2: conut: no such field, did you mean 'count'? "
					  "allowed: count, flag, word, any, links" },
		{ "count: 1\ncount: 2\n", "f.yaml:2: count: given twice" },
		{ "count: 9\n", "f.yaml:1: count: '9' is out of range, allowed: 1 to 8" },
		{ "\ncount: many\n", "f.yaml:2: count: 'many' is not a whole number" },
		{ "count: [1]\n", "f.yaml:1: count: a single value is wanted" },
		{ "flag: yes\n",
			"f.yaml:1: flag: 'yes' is not a truth value, allowed: true, false" },
		{ "links: 3\n", "f.yaml:1: links: a mapping (key: value) is wanted" },
		{ "links:\n  sped: 1Mb/s\n", "f.yaml:2: links.sped: no such field, did you mean "
					     "'speed'? allowed: speed" },
		{ "links: {speed: 1b/s}\n", "f.yaml:1: links.speed: '1b/s' is out of range, "
					    "allowed: 1000 to 2000000 b/s" },
		{ "- a\n", "f.yaml:1: a mapping (key: value) is wanted" },
		{ "word: \"a\\0b\"\n", "f.yaml:1: word: contains a NUL character" },
	};
	struct values v;
	yaml_document_t yaml;

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		CHECK(!read_text(rows[i].text, &v, &yaml));
		CHECK_STR(error, rows[i].want);
		yaml_document_delete(&yaml);
	}
}

TEST(weft_yaml_scalar__lets_nothing_in_that_a_terminal_obeys)
{
	static const struct {
		const char *text, *why; /* NULL: fine */
	} rows[] = {
		{ "word: \"two\\nlines \\u00e9\"\n", NULL },
		{ "word: \"a\\e[31mb\"\n",
			"f.yaml:1: word: contains a control character: 'a?[31mb'" },
		{ "word: \"\\u009b2J\"\n",
			"f.yaml:1: word: contains a control character: '\?\?2J'" },
		{ "\"\\u202ex\": 1\n", "f.yaml:1: contains a control character: '\?\?\?x'" },
	};

	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		struct values v;
		yaml_document_t yaml;

		CHECK_EQ(read_text(rows[i].text, &v, &yaml), !rows[i].why);
		CHECK_STR(error, rows[i].why ? rows[i].why : "");
		yaml_document_delete(&yaml);
	}
}

TEST(document_fail__never_writes_past_the_buffer)
{
	char small[12];
	struct weft_yaml doc = { .name = "a-long-name.yaml", .error = small, .error_bytes = 8 };

	memset(small, 'x', sizeof(small));
	CHECK(!weft_yaml_fail(&doc, 1, "field", "words %d", 1));
	CHECK_STR(small, "a-long-");
	CHECK_EQ(small[8], 'x');
}

TEST(weft_word_near__finds_what_was_meant)
{
	static const char *const words[] = { "permutation", "incast", "ring" };
	static const struct {
		const char *text, *meant;
	} rows[] = { { "incats", "incast" }, { "permutaton", "permutation" }, { "rnig", "ring" },
		{ "incast", "incast" }, { "all-to-all", NULL }, { "", NULL } };

	for (unsigned i = 0; i < WEFT_COUNT(rows); i++)
		CHECK_STR(weft_word_near(rows[i].text, words, 3, sizeof(words[0])), rows[i].meant);
}
