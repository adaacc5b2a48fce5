/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_firewall - where the packet filter may end UDP, from `nft -j list ruleset`.
 *
 * libnftables says all tables as JSON (libnftables-json(5)), iptables-nft's among them.  No verdict
 * is computed: rules jump, count and look into sets.  What is looked for is a rule that drops or
 * rejects and does not ask for something that MRC's packets are not; and a chain at a hook whose
 * policy is drop and in which nothing accepts UDP.  A condition that we do not understand makes the
 * finding uncertain, not wrong.  Whether packets really come through, the peer tells.
 */
#include "doctor_local.h"

#include <linux/capability.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <string.h>

enum about { ABOUT_ALL, ABOUT_UDP, ABOUT_OTHER };

struct rule {
	enum about about;
	bool is_certain;
	uint16_t port; /* of UDP; 0: any */
	uint32_t handle;
	bool drops, accepts;
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* A number, a range, or a set of either: whether one of them is the port. */
static bool holds(const json_t *value, json_int_t port)
{
	const json_t *range = json_object_get(value, "range"), *set = json_object_get(value, "set");

	if (json_is_integer(value))
		return json_integer_value(value) == port;
	if (range)
		return json_integer_value(json_array_get(range, 0)) <= port &&
		       port <= json_integer_value(json_array_get(range, 1));
	for (size_t i = 0; i < json_array_size(set); i++) {
		const json_t *element = json_array_get(set, i);
		const json_t *inner = json_object_get(element, "range");

		if (json_is_integer(element)
				? json_integer_value(element) == port
				: json_integer_value(json_array_get(inner, 0)) <= port &&
					  port <= json_integer_value(json_array_get(inner, 1)))
			return true;
	}
	return false;
}

static bool is_17(const json_t *value)
{
	if (json_is_string(value))
		return !strcmp(json_string_value(value), "udp");
	return json_integer_value(value) == 17;
}

/* "udp", 17, or a set with one of them. */
static bool is_udp(const json_t *value)
{
	const json_t *set = json_object_get(value, "set");

	for (size_t i = 0; i < json_array_size(set); i++)
		if (is_17(json_array_get(set, i)))
			return true;
	return is_17(value);
}

static void narrow(struct rule *rule, bool fits, uint16_t port)
{
	if (!fits)
		rule->about = ABOUT_OTHER;
	else if (rule->about == ABOUT_ALL)
		rule->about = ABOUT_UDP;
	if (fits && port)
		rule->port = port;
}

static void read_match(struct rule *rule, const json_t *match)
{
	const json_t *left = json_object_get(match, "left"),
		     *right = json_object_get(match, "right");
	const json_t *payload = json_object_get(left, "payload"),
		     *meta = json_object_get(left, "meta");
	const char *protocol = text_of(payload, "protocol"), *field = text_of(payload, "field");
	bool is_not = !strcmp(text_of(match, "op"), "!=");

	if (!strcmp(text_of(meta, "key"), "l4proto") || !strcmp(field, "protocol") ||
		!strcmp(field, "nexthdr")) {
		narrow(rule, is_udp(right) != is_not, 0);
	} else if (!strcmp(field, "dport") &&
		   (!strcmp(protocol, "udp") || !strcmp(protocol, "th"))) {
		bool mrc = holds(right, WEFT_DOCTOR_UDP_PORT) != is_not;

		narrow(rule, mrc, is_not ? 0 : WEFT_DOCTOR_UDP_PORT);
	} else if (!strcmp(protocol, "tcp") || !strncmp(protocol, "icmp", 4) ||
		   !strcmp(protocol, "sctp") || !strcmp(protocol, "arp")) {
		narrow(rule, false, 0);
	} else if (json_object_get(left, "ct")) {
		/* "ct state invalid drop", "established accept": neither is about new packets. */
		rule->about = ABOUT_OTHER;
	} else if (!strcmp(text_of(meta, "key"), "iifname") && json_is_string(right) &&
		   !strcmp(json_string_value(right), "lo") && !is_not) {
		rule->about = ABOUT_OTHER;
	} else {
		rule->is_certain = false;
	}
}

static struct rule read_rule(const json_t *expr)
{
	struct rule rule = { .is_certain = true };

	for (size_t i = 0; i < json_array_size(expr); i++) {
		const json_t *part = json_array_get(expr, i);

		if (json_object_get(part, "match"))
			read_match(&rule, json_object_get(part, "match"));
		else if (json_object_get(part, "drop") || json_object_get(part, "reject"))
			rule.drops = true;
		else if (json_object_get(part, "accept"))
			rule.accepts = true;
		else if (!json_object_get(part, "counter") && !json_object_get(part, "log"))
			rule.is_certain = false;
	}
	return rule;
}

static const json_t *find_chain(
	const json_t *all, const char *family, const char *table, const char *name)
{
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *chain = json_object_get(json_array_get(all, i), "chain");

		if (chain && !strcmp(text_of(chain, "family"), family) &&
			!strcmp(text_of(chain, "table"), table) &&
			!strcmp(text_of(chain, "name"), name))
			return chain;
	}
	return NULL;
}

static bool is_of(const json_t *rule, const json_t *chain)
{
	return rule && !strcmp(text_of(rule, "family"), text_of(chain, "family")) &&
	       !strcmp(text_of(rule, "table"), text_of(chain, "table")) &&
	       !strcmp(text_of(rule, "chain"), text_of(chain, "name"));
}

/* A host's own packets: what is forwarded is none of ours. */
static bool matters(const char *family, const char *hook)
{
	return strcmp(family, "bridge") && strcmp(family, "arp") && strcmp(hook, "forward");
}

static void add(struct weft_doctor_machine *m, const json_t *chain, const char *name,
	const struct rule *rule)
{
	struct weft_doctor_drop *drop = &m->drop[m->drops];

	if (m->drops == WEFT_DOCTOR_DROPS_MAX)
		return;
	m->drops++;
	*drop = (struct weft_doctor_drop){ .is_policy = !rule,
		/* A chain without a hook is jumped to, on conditions. */
		.is_certain = *text_of(chain, "hook") && (!rule || rule->is_certain),
		.port = rule ? rule->port : 0,
		.handle = rule ? rule->handle : 0 };
	snprintf(drop->table, sizeof(drop->table), "%.15s %.47s", text_of(chain, "family"),
		text_of(chain, "table"));
	snprintf(drop->chain, sizeof(drop->chain), "%.63s", name);
	snprintf(drop->hook, sizeof(drop->hook), "%.15s", text_of(chain, "hook"));
	(void)weft_text_clean(drop->table);
	(void)weft_text_clean(drop->chain);
}

static void read_chain(struct weft_doctor_machine *m, const json_t *all, const json_t *chain)
{
	bool has_policy = !strcmp(text_of(chain, "policy"), "drop"), accepts = false, ended = false;

	for (size_t i = 0; i < json_array_size(all) && !ended; i++) {
		const json_t *told = json_object_get(json_array_get(all, i), "rule");

		if (!is_of(told, chain))
			continue;
		struct rule rule = read_rule(json_object_get(told, "expr"));

		if (rule.about == ABOUT_OTHER)
			continue;
		rule.handle = (uint32_t)json_integer_value(json_object_get(told, "handle"));
		if (rule.accepts) {
			accepts = true;
			ended = rule.is_certain && !rule.port;
		} else if (rule.drops) {
			add(m, chain, text_of(chain, "name"), &rule);
			ended = rule.is_certain && !rule.port;
		}
	}
	if (has_policy && !accepts && !ended && *text_of(chain, "hook"))
		add(m, chain, text_of(chain, "name"), NULL);
}

void firewall_read(struct weft_doctor_machine *m, const json_t *ruleset)
{
	const json_t *all = json_object_get(ruleset, "nftables");

	m->drops = 0;
	m->is_firewall_known = json_is_array(all);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *chain = json_object_get(json_array_get(all, i), "chain");

		if (chain &&
			find_chain(all, text_of(chain, "family"), text_of(chain, "table"),
				text_of(chain, "name")) == chain &&
			matters(text_of(chain, "family"), text_of(chain, "hook")) &&
			strncmp(text_of(chain, "table"), "weft_", 5)) /* mute.c's own */
			read_chain(m, all, chain);
	}
}

void firewall_ask(struct weft_doctor_machine *m)
{
	/* Without the right to, the library says so on stderr, whatever its buffers. */
	struct nft_ctx *nft =
		m->capabilities >> CAP_NET_ADMIN & 1 ? nft_ctx_new(NFT_CTX_DEFAULT) : NULL;

	if (!nft)
		return;
	nft_ctx_output_set_flags(
		nft, NFT_CTX_OUTPUT_JSON | NFT_CTX_OUTPUT_NUMERIC_PROTO | NFT_CTX_OUTPUT_TERSE);
	nft_ctx_buffer_output(nft);
	nft_ctx_buffer_error(nft);
	if (!nft_run_cmd_from_buffer(nft, "list ruleset")) {
		json_t *ruleset = json_loads(nft_ctx_get_output_buffer(nft), 0, NULL);

		firewall_read(m, ruleset);
		json_decref(ruleset);
	}
	nft_ctx_free(nft);
}
