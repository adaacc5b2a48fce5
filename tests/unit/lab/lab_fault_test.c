/* SPDX-License-Identifier: BSD-2-Clause */
/* Every fault must bite where it says and nowhere else, and its undo must heal all of it. */
#include "labs.h"

#define ANY WEFT_TOPO_NONE

static struct world world;
static uint64_t all; /* every EV from h0 to h3 */

/* False: such switches cannot be had here. */
static bool begin_with(const char *fabric, enum weft_lab_switches switches)
{
	if (switches == WEFT_LAB_SWITCHES_SOFT)
		build_soft(&world, fabric);
	else if (switches == WEFT_LAB_SWITCHES_KERNEL)
		build(&world, fabric, WEFT_LAB_RATE_NONE);
	else if (!build_programs(&world, fabric, WEFT_LAB_RATE_NONE))
		return false;
	all = ev_bits(&world, 0, 3, ANY, ANY);
	CHECK_EQ(deliver_all(&world, 0, 3), all);
	return true;
}

static void begin(void)
{
	REQUIRE(begin_with(TWO_PLANES, WEFT_LAB_SWITCHES_KERNEL));
}

static uint32_t inject(const char *kind, const char *where, uint32_t way, uint32_t loss_ppm)
{
	struct weft_lab_fault fault;
	char error[256] = "";
	uint32_t id = 0;

	if (weft_lab_fault_parse(world.topo, kind, where, &fault, error, sizeof(error)))
		CHECK_FAIL("%s", error);
	fault.way = way;
	fault.loss_ppm = loss_ppm;
	if (!fault_add(&world, &fault, 1000, &id))
		CHECK_FAIL("%s", world.error);
	return id;
}

static void heal(uint32_t id)
{
	if (!fault_undo(&world, id))
		CHECK_FAIL("%s", world.error);
}

static bool has_carrier(const char *link)
{
	struct weft_lab_end_stats ends[2];

	CHECK(link_stats(&world, weft_topo_link_find(world.topo, link), ends));
	CHECK_EQ(ends[0].carrier, ends[1].carrier);
	return ends[0].carrier && ends[1].carrier;
}

static const struct {
	const char *kind, *where;
	uint32_t way, loss_ppm;
	uint32_t plane, uplink;           /* which EVs from h0 to h3 die */
	uint32_t back_plane, back_uplink; /* and from h3 to h0; 99: none */
	const char *link;                 /* loses carrier, or keeps it when silent */
	bool silent;
} rows[] = {
	{ "link-down", "p0.t0-0:t1-1", 1, 0, 0, 1, 0, 1, "p0.t0-0:t1-1", false },
	{ "link-down", "h3.p1", 1, 0, 1, ANY, 1, ANY, "h3.p1", false },
	{ "port-down", "h0.p1", 1, 0, 1, ANY, 1, ANY, "h0.p1", false },
	{ "loss", "p1.t0-0:t1-0", 1, 1000000, 1, 0, 99, 0, "p1.t0-0:t1-0", true },
	{ "loss", "p1.t0-0:t1-0", 2, 1000000, 99, 0, 1, 0, "p1.t0-0:t1-0", true },
	{ "loss", "h3.p0", 3, 1000000, 0, ANY, 0, ANY, "h3.p0", true },
	{ "blackhole", "p0.t0-0:t1-0", 1, 0, 0, 0, 99, 0, "p0.t0-0:t1-0", true },
	{ "blackhole", "p0.t0-0:t1-0", 2, 0, 99, 0, 0, 0, "p0.t0-0:t1-0", true },
	{ "blackhole", "h3.p1", 2, 0, 1, ANY, 99, 0, "h3.p1", true },
	{ "blackhole", "h3.p1", 1, 0, 99, 0, 1, ANY, "h3.p1", true },
	{ "blackhole", "h3.p1", 3, 0, 1, ANY, 1, ANY, "h3.p1", true },
	{ "freeze", "p0.t1-1", 1, 0, 0, 1, 0, 1, "p0.t0-0:t1-1", true },
	{ "freeze", "p1.t0-1", 1, 0, 1, ANY, 1, ANY, "h3.p1", true },
	{ "reboot", "p1.t1-0", 1, 0, 1, 0, 1, 0, "p1.t0-1:t1-0", false },
	{ "plane-down", "1", 1, 0, 1, ANY, 1, ANY, "p1.t0-1:t1-0", false },
	{ "plane-freeze", "p0", 1, 0, 0, ANY, 0, ANY, "h0.p0", true },
	{ "nic-down", "h0", 1, 0, ANY, ANY, ANY, ANY, "h0.p0", false },
};

static void check_all_kinds(const char *fabric, enum weft_lab_switches switches)
{
	if (!begin_with(fabric, switches))
		return;
	uint64_t back_all = ev_bits(&world, 3, 0, ANY, ANY);
	for (size_t i = 0; i < WEFT_COUNT(rows); i++) {
		uint64_t dead = ev_bits(&world, 0, 3, rows[i].plane, rows[i].uplink);
		uint64_t back_dead = ev_bits(&world, 3, 0, rows[i].back_plane, rows[i].back_uplink);
		unsigned before = check_failures;

		CHECK(has_carrier(rows[i].link));
		uint32_t id = inject(rows[i].kind, rows[i].where, rows[i].way, rows[i].loss_ppm);
		CHECK_EQ(has_carrier(rows[i].link), rows[i].silent);
		CHECK_EQ(deliver_all(&world, 0, 3), all & ~dead);
		CHECK_EQ(deliver_all(&world, 3, 0), back_all & ~back_dead);
		heal(id);
		CHECK(has_carrier(rows[i].link));
		CHECK_EQ(deliver_all(&world, 0, 3), all);
		CHECK_EQ(deliver_all(&world, 3, 0), back_all);
		if (check_failures != before)
			CHECK_FAIL("... in row %zu: %s %s", i, rows[i].kind, rows[i].where);
	}
	build_end(&world);
}

TEST(fault_add__bites_where_it_says_and_undo_heals_it)
{
	check_all_kinds(TWO_PLANES, WEFT_LAB_SWITCHES_KERNEL);
}

TEST(fault_add__bites_and_heals_where_links_steer)
{
	check_all_kinds(TWO_PLANES "usid: {behavior: uA}\n", WEFT_LAB_SWITCHES_KERNEL);
}

TEST(fault_add__bites_and_heals_in_soft_switches)
{
	check_all_kinds(TWO_PLANES, WEFT_LAB_SWITCHES_SOFT);
}

TEST(fault_add__bites_and_heals_in_programs)
{
	check_all_kinds(TWO_PLANES, WEFT_LAB_SWITCHES_XDP);
	check_all_kinds(TWO_PLANES "usid: {behavior: uA}\n", WEFT_LAB_SWITCHES_XDP);
}

/* Traffic that is not source routed must come back too: its routes are shared ones. */
static void check_host_addresses(void)
{
	static const char *const faults[][2] = { { "plane-down", "0" }, { "reboot", "p0.t1-0" },
		{ "nic-down", "h3" }, { "link-down", "p0.t0-1:t1-0" }, { "freeze", "p0.t0-0" } };
	uint8_t address[16], to[16], from[16];
	char byte;

	weft_topo_host_addr(world.topo, 3, 0, address);
	for (size_t i = 0; i < WEFT_COUNT(faults); i++) {
		heal((inject(faults[i][0], faults[i][1], 1, 0)));
		/* Different source ports and labels: both uplinks get some. */
		for (uint16_t port = 5000; port < 5016; port++) {
			int tx = udp_open(&world, 0, port), rx = udp_open(&world, 3, 4791);

			CHECK(udp_send(tx, address, "x", 1));
			CHECK_EQ(udp_take(rx, 200, to, from, &byte, 1), 1);
			close(tx);
			close(rx);
		}
	}
	world_close(&world);
}

TEST(fault_undo__restores_host_addresses_as_well)
{
	begin();
	check_host_addresses();
	if (begin_with(TWO_PLANES, WEFT_LAB_SWITCHES_XDP))
		check_host_addresses();
}

TEST(fault_undo__keeps_what_another_fault_wants)
{
	begin();
	uint32_t link = inject("link-down", "p0.t0-0:t1-0", 1, 0);
	uint32_t plane = inject("plane-down", "0", 1, 0);
	uint32_t reboot = inject("reboot", "p0.t1-0", 1, 0);
	uint64_t plane0 = ev_bits(&world, 0, 3, 0, ANY);

	CHECK_EQ(deliver_all(&world, 0, 3), all & ~plane0);
	heal(plane);
	CHECK_EQ(deliver_all(&world, 0, 3), all & ~ev_bits(&world, 0, 3, 0, 0));
	heal(reboot);
	CHECK_EQ(deliver_all(&world, 0, 3), all & ~ev_bits(&world, 0, 3, 0, 0));
	CHECK(has_carrier("p0.t0-1:t1-0"));
	CHECK(!has_carrier("p0.t0-0:t1-0"));
	heal(link);
	CHECK_EQ(deliver_all(&world, 0, 3), all);
	inject("nic-down", "h0", 1, 0);
	inject("plane-freeze", "1", 1, 0);
	inject("blackhole", "p0.t0-0:t1-1", 1, 0);
	inject("loss", "h0.p0", 3, 500000);
	heal(0);
	CHECK_EQ(world.n_faults, 0);
	CHECK_EQ(deliver_all(&world, 0, 3), all);
	world_close(&world);
}

TEST(fault_expire__ends_a_fault_in_time)
{
	struct weft_lab_fault fault = { .kind = WEFT_LAB_PLANE_FREEZE, .for_ns = 500 };
	uint32_t id;

	begin();
	CHECK_EQ(fault_next_ns(&world), UINT64_MAX);
	CHECK(fault_add(&world, &fault, 1000, &id));
	CHECK_EQ(fault_next_ns(&world), 1500);
	CHECK(fault_expire(&world, 1499));
	CHECK_EQ(world.n_faults, 1);
	CHECK_EQ(deliver_all(&world, 0, 3), all & ~ev_bits(&world, 0, 3, 0, ANY));
	/* It took so long to make that its time began later. */
	fault_since(&world, id, 1200);
	CHECK_EQ(fault_next_ns(&world), 1700);
	CHECK(fault_expire(&world, 1500));
	CHECK_EQ(world.n_faults, 1);
	fault_since(&world, id, 1000);
	CHECK(fault_expire(&world, 1500));
	CHECK_EQ(world.n_faults, 0);
	CHECK_EQ(deliver_all(&world, 0, 3), all);
	world_close(&world);
}

TEST(fault_record__tells_when_a_fault_was_in_force_and_when_it_was_not)
{
	struct weft_lab_record record;
	uint64_t before_ns = clock_now_ns();

	begin();
	uint32_t first = inject("plane-down", "0", 1, 0),
		 second = inject("freeze", "p1.t1-0", 1, 0);
	uint64_t broken_ns = clock_now_ns();

	CHECK(fault_record(&world, first, &record));
	CHECK_EQ(record.id, first);
	CHECK(record.on_ns > before_ns && record.on_ns < broken_ns);
	CHECK(!record.lift_ns && !record.off_ns);
	heal(first);
	CHECK(fault_record(&world, first, &record));
	CHECK(record.lift_ns >= broken_ns && record.off_ns > record.lift_ns);
	CHECK(record.off_ns <= clock_now_ns());
	CHECK(fault_record(&world, second, &record));
	CHECK(record.on_ns && !record.lift_ns);
	CHECK(!fault_record(&world, 0, &record));
	CHECK(!fault_record(&world, second + 1, &record));
	/* What came a whole list of records later has its place. */
	world.next_id = first + WEFT_LAB_RECORDS_MAX - 1;
	uint32_t late = inject("freeze", "p1.t1-1", 1, 0);
	CHECK(fault_record(&world, late, &record));
	CHECK(!fault_record(&world, first, &record));
	CHECK_STR(world.error, "fault number 1: not noted, or too long ago");
	world_close(&world);
}

TEST(weft_lab_fault_parse__knows_every_kind_and_says_what_is_wrong)
{
	struct weft_topo *topo = read_fabric(TWO_PLANES);
	struct weft_lab_fault fault;
	char error[256], text[128];

	for (unsigned k = 0; k < WEFT_LAB_FAULT_COUNT; k++) {
		CHECK(strlen(weft_lab_fault_name(k)) > 3);
		CHECK(strlen(weft_lab_fault_help(k)) > 10);
	}
	CHECK(!weft_lab_fault_parse(topo, "loss", "h2.p1", &fault, error, sizeof(error)));
	fault.loss_ppm = 205000;
	weft_lab_fault_text(topo, &fault, text, sizeof(text));
	CHECK_STR(text, "loss 20.5 % of h2.p1 both ways"); /* as in a scenario */
	CHECK(!weft_lab_fault_parse(topo, "reboot", "p1.t1-0", &fault, error, sizeof(error)));
	CHECK_EQ(fault.for_ns, 200000000);
	weft_lab_fault_text(topo, &fault, text, sizeof(text));
	CHECK_STR(text, "reboot p1.t1-0");
	CHECK(!weft_lab_fault_parse(topo, "slow", "h2.p1", &fault, error, sizeof(error)));
	fault.rate_bps = 2500000;
	weft_lab_fault_text(topo, &fault, text, sizeof(text));
	CHECK_STR(text, "slow to 2.5 Mb/s: h2.p1");
	CHECK(weft_lab_fault_parse(topo, "explode", "h2", &fault, error, sizeof(error)));
	CHECK_STR(error, "no fault 'explode', `weft lab fault --help` lists them");
	CHECK(weft_lab_fault_parse(topo, "freeze", "h2", &fault, error, sizeof(error)));
	CHECK_STR(error, "freeze: 'h2' is not a switch of fabric two");
	CHECK(weft_lab_fault_parse(topo, "plane-down", "2", &fault, error, sizeof(error)));
	CHECK(weft_lab_fault_parse(topo, "plane-down", "4294967297", &fault, error, sizeof(error)));
	CHECK_STR(error, "plane-down: '4294967297' is not a plane's number of fabric two");
	CHECK(weft_lab_fault_parse(
		topo, "port-down", "p0.t0-0:t1-0", &fault, error, sizeof(error)));
	CHECK_STR(
		error, "port-down: 'p0.t0-0:t1-0' is not a host's link, like h0.p0 of fabric two");
	weft_topo_close(topo);
}

TEST(fault_check__refuses_what_makes_no_sense)
{
	struct world w = { .topo = read_fabric(TWO_PLANES), .switches = WEFT_LAB_SWITCHES_SOFT };
	struct weft_lab_fault soft_only[] = {
		{ .kind = WEFT_LAB_SLOW, .rate_bps = 1000000 },
		{ .kind = WEFT_LAB_CORRUPT, .way = 3, .loss_ppm = 1000 },
	};
	struct weft_lab_fault wrong[] = {
		{ .kind = WEFT_LAB_FAULT_COUNT },
		{ .kind = WEFT_LAB_LOSS, .way = 1 },
		{ .kind = WEFT_LAB_LOSS, .way = 1, .loss_ppm = 1000001 },
		{ .kind = WEFT_LAB_LOSS, .way = 4, .loss_ppm = 1000 },
		{ .kind = WEFT_LAB_LOSS, .way = 1, .loss_ppm = 1000, .where = 9999 },
		{ .kind = WEFT_LAB_BLACKHOLE, .way = 0, .where = 0 },
		{ .kind = WEFT_LAB_BLACKHOLE, .way = 4, .where = 0 },
		{ .kind = WEFT_LAB_SLOW, .rate_bps = 999999 },
		{ .kind = WEFT_LAB_SLOW, .rate_bps = WEFT_TOPO_FREE_BPS + 1 },
		{ .kind = WEFT_LAB_CORRUPT, .way = 1 },
		{ .kind = WEFT_LAB_CORRUPT, .way = 0, .loss_ppm = 1000 },
		{ .kind = WEFT_LAB_REBOOT, .where = 5 },
		{ .kind = WEFT_LAB_FREEZE, .where = 0 },
		{ .kind = WEFT_LAB_PLANE_DOWN, .where = 2 },
	};

	for (size_t i = 0; i < WEFT_COUNT(wrong); i++) {
		w.error[0] = 0;
		if (fault_check(&w, &wrong[i]) || !w.error[0])
			CHECK_FAIL("row %zu was taken", i);
	}
	for (size_t i = 0; i < WEFT_COUNT(soft_only); i++) {
		w.switches = WEFT_LAB_SWITCHES_SOFT;
		CHECK(fault_check(&w, &soft_only[i]));
		w.switches = WEFT_LAB_SWITCHES_KERNEL;
		CHECK(!fault_check(&w, &soft_only[i]));
		CHECK(strstr(w.error, "the switches of this lab cannot; soft ones can"));
	}
	weft_topo_close(w.topo);
}
