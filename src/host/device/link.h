/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_LINK_H
#define DEVICE_LINK_H
/*
 * link - lists of what has something to do, so that nobody walks those that have not.
 *
 * A device has 16,384 slots for queue pairs: one look at each per failure, with the lock held, is
 * what stands still when thousands fail together.  So who must find some of them keeps a list of
 * these, which each enters and leaves at the same small cost, from whatever place.
 */
#include <stdbool.h>
#include <stddef.h>

struct link {
	struct link *next, **from; /* from: what points here; NULL: in no list */
	void *of;                  /* whose it is */
};

static inline bool link_is_in(const struct link *link)
{
	return link->from != NULL;
}

static inline void link_in(struct link **head, struct link *link, void *of)
{
	if (link->from)
		return;
	*link = (struct link){ .next = *head, .from = head, .of = of };
	if (link->next)
		link->next->from = &link->next;
	*head = link;
}

/* Its next stays known, to whoever walks the list. */
static inline void link_out(struct link *link)
{
	if (!link->from)
		return;
	*link->from = link->next;
	if (link->next)
		link->next->from = link->from;
	link->from = NULL;
}

/* All of them, into a list of its own: those that enter meanwhile are the next ones. */
static inline void link_move(struct link **to, struct link **from)
{
	*to = *from;
	*from = NULL;
	if (*to)
		(*to)->from = to;
}

#endif /* DEVICE_LINK_H */
