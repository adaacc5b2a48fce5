/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greet_limit - token buckets: how many greetings a source may have heard in a second.
 *
 * One bucket for all would be emptied by the first who floods it, and nobody else could meet then.
 * So each process has one, by the address and port that its greetings come from, and each host one
 * for its processes together; only what passes both takes of that for all, which bounds the CPU
 * time.  Answers that were waited for, and what comes about a queue pair whose program has named
 * its peer, are paid for by whoever asked, and cost their source nothing: thousands of connections
 * may be set up at once.
 *
 * Sources are remembered while there is room; of those that are too many the one goes whose
 * bucket has been full the longest.
 */
#include "local.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static uint32_t depth(uint32_t number)
{
	return number == NUMBERS ? GREET_PER_HOST_S : GREET_PER_PROCESS_S;
}

static struct greet_source *find(
	struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint64_t now)
{
	struct greet_source *oldest = NULL;

	for (uint32_t i = 0; i < GREET_SOURCES; i++) {
		struct greet_source *s = &dev->greet_sources.list[i];

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

bool greet_may(struct weft_dev *dev, const uint8_t addr[16], uint32_t number, uint64_t now)
{
	struct greet_source *process = find(dev, addr, number, now);

	if (!process->tokens)
		return false;
	process->tokens--; /* first: the host's may take its place where there are very many */
	struct greet_source *host = find(dev, addr, NUMBERS, now);

	if (now >= dev->second_ns) {
		dev->second_ns = now + SECOND_NS;
		dev->greet_tokens = GREET_PER_S;
	}
	if (!host->tokens || !dev->greet_tokens)
		return false;
	host->tokens--;
	dev->greet_tokens--;
	return true;
}

void greet_give_back(struct weft_dev *dev, const uint8_t addr[16], uint32_t number)
{
	for (uint32_t i = 0; i < GREET_SOURCES; i++) {
		struct greet_source *s = &dev->greet_sources.list[i];

		if ((s->number == number || s->number == NUMBERS) && !memcmp(s->addr, addr, 16) &&
			s->tokens < depth(s->number))
			s->tokens++;
	}
}
