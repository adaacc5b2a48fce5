/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabrics.h"

#define BASE "name: x\nplanes: 2\nt0s: 2\nt1s: 2\nhosts: 4\nswitch:\n"

TEST(switch_read__leaves_to_others_what_the_file_does_not_say)
{
	struct weft_topo *topo = fabric(LAB8);
	const struct weft_topo_depths *depths = &weft_topo_shape(topo)->depths;

	CHECK_EQ(weft_topo_shape(topo)->switch_queue_bytes, 1000000);
	CHECK_EQ(depths->queue_bytes, 0);
	CHECK_EQ(weft_topo_shape(topo)->full, WEFT_FULL_TRIM);
	CHECK_EQ(weft_topo_shape(topo)->marks, WEFT_MARKS_ALL);
	CHECK_EQ(depths->trim.bytes + depths->trim.bdp_permille, 0);
	CHECK_EQ(depths->ecn_max.bytes + depths->ecn_max.bdp_permille, 0);
	CHECK_EQ(depths->trim_size_bytes, 0);
	weft_topo_close(topo);
}

TEST(switch_read__reads_everything_the_file_can_say)
{
	struct weft_topo *topo = fabric(BASE "  queue: 500KB\n  radix: 4\n  full: trim\n"
					     "  marks: core\n  ecn_min: 20KB\n"
					     "  ecn_max: 90KiB\n  trim: 1.25BDP\n"
					     "  trim_last_hop: 2 BDP\n  trim_size: 192B\n");
	const struct weft_topo_depths *depths = &weft_topo_shape(topo)->depths;

	CHECK_EQ(weft_topo_shape(topo)->switch_queue_bytes, 500000);
	CHECK_EQ(depths->queue_bytes, 500000);
	CHECK_EQ(weft_topo_shape(topo)->marks, WEFT_MARKS_CORE);
	CHECK_EQ(depths->ecn_min.bytes, 20000);
	CHECK_EQ(depths->ecn_min.bdp_permille, 0);
	CHECK_EQ(depths->ecn_max.bytes, 92160);
	CHECK_EQ(depths->trim.bytes, 0);
	CHECK_EQ(depths->trim.bdp_permille, 1250);
	CHECK_EQ(depths->trim_last_hop.bdp_permille, 2000);
	CHECK_EQ(depths->trim_size_bytes, 192);
	weft_topo_close(topo);
}

#define NO_DEPTH                                                                                   \
	" is no depth, like 20KB or 0.8BDP (of bandwidth x delay), allowed: up to 1000000000 B "   \
	"or 1000 BDP"

static const struct {
	const char *text, *error;
} wrongs[] = {
	{ BASE "  depth: 3\n", "t:7: switch.depth: no such field, allowed: queue, radix, "
			       "full, marks, ecn_min, ecn_max, trim, trim_last_hop, "
			       "trim_size" },
	{ BASE "  - trim\n", "t:7: switch: a mapping (key: value) is wanted" },
	{ BASE "  full: trim\n  full: trim\n", "t:8: switch.full: given twice" },
	{ BASE "  queue: 9KB\n",
		"t:7: switch.queue: '9KB' is out of range, allowed: 10000 to 1000000000 B" },
	{ BASE "  trim: 3\n", "t:7: switch.trim: '3'" NO_DEPTH },
	{ BASE "  trim: 0BDP\n", "t:7: switch.trim: '0BDP'" NO_DEPTH },
	{ BASE "  trim_last_hop: 1001BDP\n", "t:7: switch.trim_last_hop: '1001BDP'" NO_DEPTH },
	{ BASE "  trim: 2GB\n", "t:7: switch.trim: '2GB'" NO_DEPTH },
	{ BASE "  trim_size: 64B\n",
		"t:7: switch.trim_size: '64B' is out of range, allowed: 128 to 1500 B" },
	{ BASE "  ecn_min: 1KB\n", "t:7: switch.ecn_min: ecn_min and ecn_max are wanted together" },
	{ BASE "\n  ecn_max: 1KB\n",
		"t:8: switch.ecn_max: ecn_min and ecn_max are wanted together" },
	{ BASE "  ecn_min: 1KB\n  ecn_max: 1BDP\n", "t:8: switch.ecn_max: '1BDP' and ecn_min '1KB' "
						    "must both be sizes or both be in BDP" },
	{ BASE "  ecn_min: 1KB\n  ecn_max: 1000B\n",
		"t:8: switch.ecn_max: '1000B' must be more than ecn_min, '1KB'" },
	{ BASE "  ecn_min: 0.8BDP\n  ecn_max: 0.2BDP\n",
		"t:8: switch.ecn_max: '0.2BDP' must be more than ecn_min, '0.8BDP'" },
	{ BASE "  full: drop\n  trim_size: 128B\n",
		"t:8: switch.trim_size: nothing is trimmed where full is drop" },
	{ BASE "  full: pause\n  trim: 1BDP\n  trim_size: 128B\n",
		"t:8: switch.trim: nothing is trimmed where full is pause" },
	{ BASE "  trim_last_hop: 1BDP\n  full: drop\n",
		"t:7: switch.trim_last_hop: nothing is trimmed where full is drop" },
	{ BASE "  radix: 3\n", "t:7: switch.radix: a T0 needs 4 ports (2 hosts, 2 uplinks), the "
			       "radix is 3" },
};

TEST(switch_read__says_where_and_what_is_wrong)
{
	for (size_t i = 0; i < WEFT_COUNT(wrongs); i++) {
		struct weft_topo *topo = NULL;
		char error[512] = "";

		CHECK_EQ(weft_topo_open_text(&topo, wrongs[i].text, strlen(wrongs[i].text), "t",
				 error, sizeof(error)),
			-1);
		CHECK_STR(error, wrongs[i].error);
		CHECK(!topo);
	}
}
