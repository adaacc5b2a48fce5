/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario_parse - any bytes as a scenario file; what is accepted must be playable.
 *
 * A refusal names the file and a line.  Of what is accepted the flows lie within the fabric and
 * every claim can be judged; nothing is run, since a good scenario may take hours.  Loads have a
 * target of their own; numbers of four digits and loads that may be large are left out here.
 */
#include <weft/base.h>
#include <weft/scenario.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static bool is_large(const char *text)
{
	static const char *const words[] = { "train", "all-", "poisson", "goal", "cm", "txt" };
	unsigned digits = 0;

	for (unsigned i = 0; i < WEFT_COUNT(words); i++) {
		if (strstr(text, words[i]))
			return true;
	}
	for (; *text && digits < 4; text++)
		digits = *text >= '0' && *text <= '9' ? digits + 1 : 0;
	return digits == 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct weft_scenario *play = NULL;
	char error[512] = "", copy[4096];

	if (len_bytes >= sizeof(copy))
		return 0;
	memcpy(copy, data, len_bytes);
	copy[len_bytes] = 0;
	if (is_large(copy))
		return 0;
	if (weft_scenario_open_text(&play, (const char *)data, len_bytes, "fuzz", "/nowhere", error,
		    sizeof(error))) {
		WEFT_ASSERT(memchr(error, 0, sizeof(error)));
		WEFT_ASSERT(!strncmp(error, "fuzz:", 5));
		return 0;
	}
	const struct weft_scenario_head *head = weft_scenario_head(play);
	struct weft_scenario_result result = { .seed = head->seed_first };

	WEFT_ASSERT(head->n_loads && head->stop_ps && head->seed_first <= head->seed_last);
	for (uint32_t i = 0; i < head->n_claims; i++) {
		struct weft_scenario_judgement j;

		weft_scenario_judge(play, i, &result, "sim", &j);
		WEFT_ASSERT(j.line && j.claim);
	}
	weft_scenario_close(play);
	return 0;
}
