/* SPDX-License-Identifier: BSD-2-Clause */
#include "one.h"

TEST(weft_port_profile_fill__follows_the_advice)
{
	struct weft_port_profile p;

	weft_port_profile_fill(&p, WEFT_DISCIPLINE_TRIM, false, 150000, 0);
	CHECK_EQ(p.ecn_min_bytes, 30000);
	CHECK_EQ(p.ecn_max_bytes, 120000);
	CHECK_EQ(p.trim_bytes, 150000);
	CHECK_EQ(p.drop_bytes[WEFT_QUEUE_DATA], 450000);
	CHECK_EQ(p.drop_bytes[WEFT_QUEUE_CONTROL], 450000);
	CHECK_EQ(p.quantum_bytes[WEFT_QUEUE_DATA], p.quantum_bytes[WEFT_QUEUE_CONTROL]);
	CHECK_EQ(p.trim_to_bytes, 128);
	CHECK_EQ(p.trim_mark, WEFT_MARK_TRIMMED);
	weft_port_profile_fill(&p, WEFT_DISCIPLINE_TRIM, true, 150000, 0);
	CHECK_EQ(p.ecn_min_bytes, 30000); /* NSCC needs it there: docs/decisions/050 */
	CHECK_EQ(p.ecn_max_bytes, 120000);
	CHECK_EQ(p.trim_bytes, 225000);
	CHECK_EQ(p.trim_mark, WEFT_MARK_TRIMMED_LASTHOP);
	weft_port_profile_fill(&p, WEFT_DISCIPLINE_DROP_TAIL, true, 150000, 0);
	CHECK_EQ(p.trim_bytes, 0);
	CHECK_EQ(p.ecn_max_bytes, 120000);
	weft_port_profile_fill(&p, WEFT_DISCIPLINE_LOSSLESS, true, 150000, 12500);
	CHECK_EQ(p.xoff_bytes, 150000);
	CHECK(p.headroom_bytes > 12500 && p.xon_bytes < p.xoff_bytes);
}

TEST(weft_port_profile_fill__makes_possible_ones_of_any_delay)
{
	static const uint32_t bdps[] = { 0, 1, 1500, 100000, 12500000, UINT32_MAX };

	for (unsigned discipline = WEFT_DISCIPLINE_TRIM; discipline <= WEFT_DISCIPLINE_LOSSLESS;
		discipline++) {
		for (size_t i = 0; i < 2 * WEFT_COUNT(bdps); i++) {
			struct weft_port_profile p;

			weft_port_profile_fill(&p, (enum weft_discipline)discipline, i & 1,
				bdps[i / 2], bdps[i / 2] / 8);
			CHECK(!weft_port_profile_fault(&p));
		}
	}
}

/* The sentence begins with the field that was changed: "p.FIELD[0] = 511". */
static void check_names(const char *fault, const char *change)
{
	const char *field = strchr(change, '.') + 1;

	if (!fault || strncmp(fault, field, strcspn(field, " [")))
		CHECK_FAIL("%s: %s", change, fault ? fault : "passes");
}

TEST(weft_port_profile_fault__names_contradictions)
{
	struct weft_port_profile good, p;

	weft_port_profile_fill(&good, WEFT_DISCIPLINE_TRIM, false, 150000, 0);
#define BAD(change)                                                                                \
	do {                                                                                       \
		p = good;                                                                          \
		change;                                                                            \
		check_names(weft_port_profile_fault(&p), #change);                                 \
	} while (0)
	BAD(p.quantum_bytes[0] = 511);
	BAD(p.quantum_bytes[1] = 65537);
	BAD(p.ecn_max_bytes = p.ecn_min_bytes);
	BAD(p.trim_to_bytes = 53);
	BAD(p.trim_mark = 0);
	BAD(p.trim_mark = WEFT_MARK_CE);
	BAD(p.xon_bytes = 1);
	BAD(p.drop_bytes[0] = UINT32_MAX);
	BAD(p.headroom_bytes = UINT32_MAX);
#undef BAD
}
