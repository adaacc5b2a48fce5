/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offer - the set-up line of a TCP connection, from whoever connects.
 *
 * Either it is refused with a line that can be shown, or what was read is in range and says the
 * same when it is written and read again.
 */
#include "net_local.h"

#include <stdlib.h>
#include <string.h>

static void check_refusal(const char *error, size_t bytes)
{
	WEFT_ASSERT(*error && memchr(error, 0, bytes));
	for (; *error; error++)
		WEFT_ASSERT((unsigned char)*error >= ' ' && *error != 0x7f);
}

static void check_range(const struct offer *offer)
{
	WEFT_ASSERT(offer->planes >= 1 && offer->planes <= WEFT_PORTS_MAX);
	WEFT_ASSERT(offer->n_qps >= 1 && offer->n_qps <= WEFT_SESSION_QPS_MAX);
	WEFT_ASSERT(offer->n_src_ports >= 1 && offer->n_src_ports <= WEFT_UDP_SRC_PORTS_MAX);
	WEFT_ASSERT(offer->udp_port && offer->mtu_bytes && offer->mtu_bytes <= WEFT_MTU_MAX);
	WEFT_ASSERT(memchr(offer->host, 0, sizeof(offer->host)));
	WEFT_ASSERT(memchr(offer->fabric, 0, sizeof(offer->fabric)));
}

static void check_again(const struct offer *offer)
{
	char *line = offer_encode(offer), error[256] = "";
	struct offer again;

	WEFT_ASSERT(line);
	line[strcspn(line, "\n")] = 0;
	WEFT_ASSERT(!offer_decode(line, &again, error, sizeof(error)));
	char *twice = offer_encode(&again);

	WEFT_ASSERT(twice);
	twice[strcspn(twice, "\n")] = 0;
	WEFT_ASSERT(!strcmp(line, twice));
	offer_close(&again);
	free(twice);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1), error[256] = "";
	struct offer offer;

	WEFT_ASSERT(line);
	memcpy(line, data, size);
	line[size] = 0;
	if (offer_decode(line, &offer, error, sizeof(error))) {
		check_refusal(error, sizeof(error));
	} else {
		check_range(&offer);
		check_again(&offer);
		offer_close(&offer);
	}
	free(line);
	return 0;
}
