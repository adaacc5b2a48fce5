/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet_limit - token buckets: how many greetings a source may have heard in a second.
 *
 * One bucket for all would be emptied by the first who floods it, and nobody else could meet then.
 * So each process has one, by the address and port that its greetings come from, and each host one
 * for its processes together; only what passes both takes of that for all, which bounds the CPU
 * time that strangers get.  Answers that were waited for, and what comes about a queue pair whose
 * program has named its peer, are paid for by whoever asked, and cost nothing, nor do they take
 * from others: thousands of connections may be set up at once.
 *
 * A host has as many addresses as it likes of an IPv6 network, and would empty the bucket for all
 * with sixteen of them.  So where no fabric file says who is who, a /64 has a bucket, too, of half
 * of that for all.  It is not the host's: on many a wire all hosts are of one /64.
 *
 * Sources are remembered while there is room; of those that are too many the one goes whose
 * bucket has been full the longest.
 */
#include "greetings/greet_local.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

#define NET (NUMBERS + 1) /* as a number: all of the network's */
#define NET_BYTES 8

static uint32_t depth(uint32_t number)
{
	return number == NET       ? GREET_PER_NET_S
	       : number == NUMBERS ? GREET_PER_HOST_S
				   : GREET_PER_PROCESS_S;
}

static struct greet_source *find_in(struct greet_source list[], uint32_t n, const uint8_t addr[16],
	uint32_t number, uint64_t now)
{
	struct greet_source *oldest = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct greet_source *s = &list[i];

		if (s->number == number && !memcmp(s->addr, addr, 16) && s->full_at_ns) {
			if (now >= s->full_at_ns) {
				s->tokens = depth(number);
				s->full_at_ns = now + SECOND_NS;
			}
			return s;
		}
		if (!oldest || s->full_at_ns < oldest->full_at_ns)
			oldest = s;
	}
	*oldest = (struct greet_source){
		.number = number, .tokens = depth(number), .full_at_ns = now + SECOND_NS
	};
	memcpy(oldest->addr, addr, 16);
	return oldest;
}

static struct greet_source *find(
	struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint64_t now)
{
	return find_in(dev->greetings.sources.list, GREET_SOURCES, addr, number, now);
}

/* The network from which addresses may be had for nothing; false: there is none. */
static bool net_of(const struct weft_dev *dev, const uint8_t addr[16], uint8_t net[16])
{
	memset(net, 0, 16);
	memcpy(net, addr, NET_BYTES);
	return !weft_live_topo(dev->live) && !weft_inet_is_mapped(addr);
}

bool greet_may(struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint64_t now)
{
	struct greet_source *net = NULL;
	uint8_t prefix[16];

	if (net_of(dev, addr, prefix))
		net = find_in(dev->greetings.sources.nets, GREET_NETS, prefix, NET, now);
	if (net && !net->tokens)
		return false;
	struct greet_source *process = find(dev, addr, number, now);

	if (!process->tokens)
		return false;
	process->tokens--; /* first: the host's may take its place where there are very many */
	struct greet_source *host = find(dev, addr, NUMBERS, now);

	if (now >= dev->greetings.second_ns) {
		dev->greetings.second_ns = now + SECOND_NS;
		dev->greetings.tokens = GREET_PER_S;
	}
	if (!host->tokens || !dev->greetings.tokens)
		return false;
	host->tokens--;
	dev->greetings.tokens--;
	if (net)
		net->tokens--;
	return true;
}

static void give(struct greet_source *s, const uint8_t addr[16], uint32_t number)
{
	if (s->number == number && !memcmp(s->addr, addr, 16) && s->tokens < depth(number))
		s->tokens++;
}

void greet_give_back(struct weft_dev *dev, const uint8_t addr[16], uint32_t number)
{
	uint8_t prefix[16];

	for (uint32_t i = 0; i < GREET_SOURCES; i++) {
		give(&dev->greetings.sources.list[i], addr, number);
		give(&dev->greetings.sources.list[i], addr, NUMBERS);
	}
	for (uint32_t i = 0; net_of(dev, addr, prefix) && i < GREET_NETS; i++)
		give(&dev->greetings.sources.nets[i], prefix, NET);
	if (dev->greetings.tokens < GREET_PER_S)
		dev->greetings.tokens++;
}
