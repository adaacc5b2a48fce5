/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net_mail - questions and answers of two programs, carried by what they are there to use.
 *
 * The set-up connection could have been kept for this, but TCP dies with its plane while the queue
 * pairs do not, and a program that moves its last word over the transport under test has tested
 * it.  A slot is reused only after WEFT_MAIL_SLOTS further messages; since both ends keep half of
 * that under way at most, nothing unread is overwritten by an honest peer, and a dishonest one
 * spoils only its own messages.
 */
#include "net_local.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF_BYTES ((size_t)WEFT_MAIL_SLOTS * WEFT_MAIL_BYTES)

int weft_mail_open(struct weft_mail *mail, struct weft_live *live)
{
	*mail = (struct weft_mail){ .live = live, .memory = calloc(2, HALF_BYTES) };
	if (!mail->memory)
		return -1;
	if (weft_region_add(weft_live_endpoint(live), 0, mail->memory, HALF_BYTES, 0,
		    WEFT_ACCESS_REMOTE_WRITE, weft_live_random(live), &mail->rkey)) {
		free(mail->memory);
		mail->memory = NULL;
		return -1;
	}
	return 0;
}

void weft_mail_close(struct weft_mail *mail)
{
	if (!mail->memory)
		return;
	(void)weft_region_drop(weft_live_endpoint(mail->live), mail->rkey);
	free(mail->memory);
	mail->memory = NULL;
}

void weft_mail_offer(const struct weft_mail *mail, struct json_t *app)
{
	json_object_set_new(app, "mail", json_pack("{s:I}", "rkey", (json_int_t)mail->rkey));
}

int weft_mail_start(
	struct weft_mail *mail, struct weft_session *session, char *error, size_t error_bytes)
{
	const json_t *rkey = json_object_get(json_object_get(session->app, "mail"), "rkey");
	json_int_t value = json_integer_value(rkey);

	if (!json_is_integer(rkey) || value < 0 || value > UINT32_MAX) {
		snprintf(error, error_bytes, "peer's offer: app.mail.rkey: missing, or no key");
		return -1;
	}
	mail->session = session;
	mail->peer_rkey = (uint32_t)value;
	for (uint32_t i = 0; i < WEFT_MAIL_SLOTS; i++) {
		if (!weft_post_recv(session->qp[0], WEFT_MAIL_ID | i))
			continue;
		snprintf(error, error_bytes, "no room for %u receives", WEFT_MAIL_SLOTS);
		return -1;
	}
	return 0;
}

int weft_mail_send(struct weft_mail *mail, const struct json_t *message)
{
	uint32_t slot = mail->sent % WEFT_MAIL_SLOTS;
	uint8_t *data = mail->memory + HALF_BYTES + (size_t)slot * WEFT_MAIL_BYTES;
	size_t bytes = json_dumpb(message, (char *)data, WEFT_MAIL_BYTES, JSON_COMPACT);
	struct weft_work work = { .id = WEFT_MAIL_ID | slot,
		.remote_va = (uint64_t)slot * WEFT_MAIL_BYTES,
		.data = data,
		.len_bytes = (uint32_t)bytes,
		.rkey = mail->peer_rkey,
		.imm = slot << 24 | (uint32_t)bytes,
		.has_imm = true };

	if (!bytes || bytes > WEFT_MAIL_BYTES || mail->unacked >= WEFT_MAIL_SLOTS / 2 ||
		weft_post_write(mail->session->qp[0], &work))
		return -1;
	mail->sent++;
	mail->unacked++;
	return 0;
}

bool weft_mail_take(struct weft_mail *mail, const struct weft_done *done, struct json_t **message)
{
	*message = NULL;
	if ((done->id & (UINT64_C(0xffff) << 48)) != WEFT_MAIL_ID)
		return false;
	if (done->kind == WEFT_DONE_WRITE) {
		mail->unacked--;
		return true;
	}
	uint32_t slot = done->imm >> 24, bytes = done->imm & 0xffffff;

	if (done->status != WEFT_OK)
		return true;
	if (slot < WEFT_MAIL_SLOTS && bytes <= WEFT_MAIL_BYTES)
		*message = json_loadb((char *)mail->memory + (size_t)slot * WEFT_MAIL_BYTES, bytes,
			JSON_REJECT_DUPLICATES, NULL);
	(void)weft_post_recv(mail->session->qp[0], done->id);
	return true;
}

bool weft_mail_idle(const struct weft_mail *mail)
{
	return !mail->unacked;
}
