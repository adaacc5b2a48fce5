/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_SWITCHD_H
#define WEFT_SWITCHD_H
/*
 * switchd - a network, live: hosts come by shared memory or through interfaces, the clock is real,
 * and a socket answers questions and takes orders.
 *
 *    weft programs ==shm rings==+                           +-- DIR/ports    hosts dial here
 *    (shm.h)
 *                              +--> network (real time) ---+
 *   veths, NICs ==AF_PACKET====+                           +-- DIR/control  JSON, a line each way
 *
 * A packet that arrives at a host goes to the process that holds its UDP destination port (its
 * NIC's flow table), else to the host's interface on that plane, else it is dropped and counted.
 *
 * Time     Real.  Everything in the network happens at its own picosecond; what leaves it is seen
 *          by hosts at most one turn late, under 0.2 ms where the machine is not busy otherwise.
 * Memory   Opening allocates.  Slots that a process held come back when it dies.
 * Threads  The caller's one; within weft_switchd_run(), where real time is allowed and lines are
 *          fast, one more per CPU.  weft_switchd_ask() may be called from any process.
 * Errors   -1 and one line in error.  What hosts do wrong is dropped and counted; what clients of
 *          the control socket say wrong is answered with a line that says what would be right.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_switchd;

struct weft_switchd_config {
	const char *fabric; /* file */
	const char *dir;    /* where the sockets are made; exists, and is ours alone */
	uint64_t rate_bps;  /* of every link; 0: as the file says */
	/* Switch's ends of the hosts' cables, looked up by name in this network namespace: a format
	 * for host and plane, like "h%u.p%u".  Those that do not exist are left out; NULL: none.
	 * The host's end must have offloads off, and the MAC address of ours with the last bit
	 * turned over until it has sent something. */
	const char *ifname_format;
};
int weft_switchd_open(struct weft_switchd **sw, const struct weft_switchd_config *config,
	char *error, size_t error_bytes);
void weft_switchd_close(struct weft_switchd *sw); /* NULL is fine */
/* Runs until *stop is not 0 (looked at twice a second and on every signal), or until told to stop
 * over the control socket. */
void weft_switchd_run(struct weft_switchd *sw, const volatile int *stop);
/* One turn, without sleeping: for callers with a loop of their own, and tests. */
void weft_switchd_turn(struct weft_switchd *sw);

/*
 * Client: one request, one answer, as JSON objects (jansson), over DIR/control.  Nodes and links
 * are named as in topo.h.
 *   {"op":"hello"}                                   fabric, hosts, rate, up_ns, processes
 *   {"op":"counters"[,"node":"p0.t1-0"]}             ports, queues (SAI's names), drops by reason
 *   {"op":"table","node":..}                         entries, and packets per SID
 *   {"op":"links"}                                   carrier, rate, loss, packets of every link
 *   {"op":"link","link":"p0.t0-0:t1-1","up":false}
 *   {"op":"rate","link":..,"bps":..}                 0: as built
 *   {"op":"loss","link":..,"way":1|2|3,"ppm":..}     way: 1 from the hosts, 2 to them
 *   {"op":"spoil","link":..,"way":1|2|3,"ppm":..}    a bit turns; the receiver's ICRC refuses it
 *   {"op":"hole","link":..,"way":1|2|3,"on":true}    drops what has that link's uSID next
 *   {"op":"path","src":"h0","dst":"h2","ev":n,"ppm":..}
 *   {"op":"freeze","node":..,"on":true}
 *   {"op":"power","node":..,"on":false}
 *   {"op":"reboot","node":..,"for_ns":..}            off, and on again by itself
 *   {"op":"stop"}
 * Every answer has "ok": true, or false and "error": one line.  *answer is the caller's to
 * json_decref(); -1 also where the answer is an error, which error then repeats.  No string in
 * either has anything in it that a terminal would obey.
 */
struct json_t;
int weft_switchd_ask(const char *dir, const struct json_t *request, struct json_t **answer,
	char *error, size_t error_bytes);

/* Whether a folder that was not named by the user may be believed: it is ours, and nobody else may
 * write there.  make: it is made where it is not there.  False: error says why not. */
bool weft_switchd_folder(const char *path, bool make, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_SWITCHD_H */
