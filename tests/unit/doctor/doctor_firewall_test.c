/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "doctor_local.h"

static struct weft_doctor_machine m;

/* A chain "in" of table "inet f" at hook input, with these expressions of a rule each. */
static void read_rules(const char *policy, const char *hook, const char *rules[])
{
	static char text[8192];
	size_t at = 0;

	at += (size_t)snprintf(text + at, sizeof(text) - at,
		"{\"nftables\":[{\"metainfo\":{}},{\"chain\":{\"family\":\"inet\",\"table\":\"f\","
		"\"name\":\"in\"%s%s%s,\"policy\":\"%s\"}}",
		hook ? ",\"hook\":\"" : "", hook ? hook : "", hook ? "\"" : "", policy);
	for (; *rules; rules++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			",{\"rule\":{\"family\":\"inet\",\"table\":\"f\",\"chain\":\"in\","
			"\"expr\":[%s]}}",
			*rules);
	snprintf(text + at, sizeof(text) - at, "]}");
	json_t *json = json_loads(text, 0, NULL);

	REQUIRE(json);
	memset(&m, 0, sizeof(m));
	firewall_read(&m, json);
	json_decref(json);
	CHECK(m.is_firewall_known);
}

#define UDP "{\"match\":{\"op\":\"==\",\"left\":{\"meta\":{\"key\":\"l4proto\"}},\"right\":17}}"
#define DPORT(what)                                                                                \
	"{\"match\":{\"op\":\"==\",\"left\":{\"payload\":{\"protocol\":\"udp\",\"field\":"         \
	"\"dport\"}},\"right\":" what "}}"
#define TCP                                                                                        \
	"{\"match\":{\"op\":\"==\",\"left\":{\"payload\":{\"protocol\":\"tcp\",\"field\":"         \
	"\"dport\"}},\"right\":22}}"
#define INVALID                                                                                    \
	"{\"match\":{\"op\":\"in\",\"left\":{\"ct\":{\"key\":\"state\"}},\"right\":\"invalid\"}}"
#define FROM                                                                                       \
	"{\"match\":{\"op\":\"==\",\"left\":{\"payload\":{\"protocol\":\"ip\",\"field\":"          \
	"\"saddr\"}},\"right\":\"10.0.0.9\"}}"
#define DROP "{\"drop\":null}"
#define REJECT "{\"reject\":{\"type\":\"icmpx\"}}"
#define ACCEPT "{\"accept\":null}"
#define COUNT "{\"counter\":{\"packets\":0}}"
#define RULES(...) ((const char *[]){ __VA_ARGS__, NULL })

TEST(firewall_read__finds_rules_that_drop_udp)
{
	read_rules("accept", "input", RULES(UDP "," COUNT "," DROP));
	REQUIRE(m.drops == 1);
	CHECK(m.drop[0].is_certain && !m.drop[0].is_policy);
	CHECK_EQ(m.drop[0].port, 0);
	CHECK_STR(m.drop[0].table, "inet f");
	CHECK_STR(m.drop[0].hook, "input");
	read_rules("accept", "input", RULES(DPORT("4791") "," REJECT));
	REQUIRE(m.drops == 1);
	CHECK_EQ(m.drop[0].port, 4791);
	read_rules(
		"accept", "input", RULES(DPORT("{\"set\":[53,{\"range\":[4000,5000]}]}") "," DROP));
	CHECK_EQ(m.drops, 1);
	read_rules("accept", "input", RULES(DROP));
	CHECK_EQ(m.drops, 1);
}

TEST(firewall_read__passes_over_rules_about_others)
{
	read_rules("accept", "input",
		RULES(TCP "," DROP, INVALID "," DROP, DPORT("53") "," DROP,
			DPORT("{\"range\":[1,1000]}") "," DROP, UDP "," ACCEPT));
	CHECK_EQ(m.drops, 0);
	read_rules("accept", "forward", RULES(DROP));
	CHECK_EQ(m.drops, 0);
}

TEST(firewall_read__is_uncertain_of_what_it_does_not_understand)
{
	read_rules("accept", "input", RULES(UDP "," FROM "," DROP));
	REQUIRE(m.drops == 1);
	CHECK(!m.drop[0].is_certain);
	read_rules("accept", NULL, RULES(UDP "," DROP)); /* who jumps here? */
	REQUIRE(m.drops == 1);
	CHECK(!m.drop[0].is_certain);
}

TEST(firewall_read__knows_an_order_and_a_policy)
{
	read_rules("drop", "input", RULES(TCP "," ACCEPT, INVALID "," DROP));
	REQUIRE(m.drops == 1);
	CHECK(m.drop[0].is_policy);
	read_rules("drop", "input", RULES(UDP "," ACCEPT));
	CHECK_EQ(m.drops, 0);
	read_rules("accept", "input", RULES(UDP "," ACCEPT, DROP));
	CHECK_EQ(m.drops, 0);
	read_rules("accept", "input", RULES(DPORT("4791") "," ACCEPT, DROP));
	CHECK_EQ(m.drops, 1);
}

TEST(firewall_read__takes_what_is_not_a_ruleset)
{
	json_t *json = json_pack("{s:[i, n, {s:{}}, {s:i}]}", "nftables", 3, "chain", "rule", 4);

	firewall_read(&m, json);
	json_decref(json);
	CHECK_EQ(m.drops, 0);
	firewall_read(&m, NULL);
	CHECK(!m.is_firewall_known);
}
