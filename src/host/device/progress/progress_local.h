/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEVICE_PROGRESS_LOCAL_H
#define DEVICE_PROGRESS_LOCAL_H
/* What the files of progress share with each other, and with no other part of the device. */
#include "device_local.h"

#define STAND_NS_MIN UINT64_C(25000)
#define STAND_NS_MAX UINT64_C(400000) /* between looks of the thread while somebody polls */

/* ---- device_watch.c: who looks at the port ---- */

/* A poll found something, or (for_long) will not come again soon: the thread's turn. */
void watch_leave(struct weft_dev *dev, bool for_long);
/* A poll found nothing.  True: pause, there is no CPU or no hurry. */
bool watch_come(struct weft_dev *dev, uint64_t now);
/* Wakes the thread from whatever sleep. */
void watch_kick(struct weft_dev *dev);
void watch_pause(struct weft_dev *dev); /* without the lock meanwhile; until something completes */
/* Takes the lock for the thread.  Who has it makes the device go, and takes it again at once if he
 * polls; to stand in his way costs both a wake-up per turn, and is done in the end only.  Urgent:
 * something has come, so he may have it in his hands just now, or not look again. */
void watch_enter(struct weft_dev *dev, bool is_urgent);
void watch_stand_back(struct weft_dev *dev); /* the thread's: sleeps while somebody else polls */
/* Nobody does.  Until when the thread may sleep: pollers come back. */
uint64_t watch_awake(struct weft_dev *dev, uint64_t now);
bool watch_owes_much(const struct weft_dev *dev);  /* a stream: its single packets may be late */
bool watch_looks_soon(const struct weft_dev *dev); /* the thread: within STAND_NS_MAX */

/* ---- acks.c: acknowledgements that wait for company ---- */

/* Before and after a poller's turn, and those of a post. */
void acks_poll(struct weft_dev *dev);
void acks_polled(struct weft_dev *dev);
void acks_post(struct weft_dev *dev);
void acks_posted(struct weft_dev *dev);
void acks_let_go(struct weft_dev *dev); /* the thread's: before its turn, in which they leave */

/* ---- quiet.c: when not to wake the switch ---- */

/* Around a poller's turn, and around those of a post. */
void quiet_poll(struct weft_dev *dev);
void quiet_polled(struct weft_dev *dev);
void quiet_post(struct weft_dev *dev);
void quiet_posted(struct weft_dev *dev);
void quiet_wake(struct weft_dev *dev); /* the switch, for what it has not been woken for */

#endif /* DEVICE_PROGRESS_LOCAL_H */
