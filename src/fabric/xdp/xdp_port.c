/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xdp_port - an interface becomes a port: its thresholds, its MACs, the program in front of it.
 *
 * The program measures depth in time (shared.h), the profiles in bytes that wait.  The difference
 * is made up for here, once per port and not per frame: on the line a frame takes its gap too, and
 * a virtual queue counts what is left of the frame on the line, half a frame on average, which a
 * real one does not.  Data is taken to come in full frames, control in the size of trimmed ones:
 * that is when a queue fills.
 */
#include "xdp_local.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

static uint64_t waiting_q16(uint64_t byte_ns_q16, uint64_t bytes, uint64_t frame_bytes)
{
	uint64_t gaps = bytes * WEFT_FRAME_GAP_BYTES / frame_bytes;

	return (bytes + gaps + (frame_bytes + WEFT_FRAME_GAP_BYTES) / 2) * byte_ns_q16;
}

void port_scale(struct weft_xdp *xdp, uint32_t index)
{
	const struct weft_port_profile *p = &xdp->profiles[index];
	struct xdp_port *port = &xdp->state->ports[index];
	uint64_t rate_bps = xdp->rates_bps[index];
	uint64_t frame_bytes = xdp->config.mtu_bytes + WEFT_FRAME_ETHER_BYTES;
	uint64_t byte_ns_q16 = rate_bps ? (UINT64_C(8000000000) << 16) / rate_bps : 0;
	uint64_t quanta = p->quantum_bytes[WEFT_QUEUE_DATA] + p->quantum_bytes[WEFT_QUEUE_CONTROL];
	uint32_t cut_bytes = p->trim_bytes ? p->trim_to_bytes : 128;

	port->ecn_range_q16 = 0; /* nobody marks while the limits change */
	port->ecn_min_q16 = waiting_q16(byte_ns_q16, p->ecn_min_bytes, frame_bytes);
	if (p->ecn_max_bytes)
		port->ecn_range_q16 =
			waiting_q16(byte_ns_q16, p->ecn_max_bytes, frame_bytes) - port->ecn_min_q16;
	port->trim_q16 = p->trim_bytes ? waiting_q16(byte_ns_q16, p->trim_bytes, frame_bytes) : 0;
	port->drop_q16[WEFT_QUEUE_DATA] =
		waiting_q16(byte_ns_q16, p->drop_bytes[WEFT_QUEUE_DATA], frame_bytes);
	port->drop_q16[WEFT_QUEUE_CONTROL] =
		waiting_q16(byte_ns_q16, p->drop_bytes[WEFT_QUEUE_CONTROL], cut_bytes);
	port->control_share_q8 =
		(uint32_t)(p->quantum_bytes[WEFT_QUEUE_CONTROL] * UINT64_C(256) / quanta);
	port->trim_to_bytes = p->trim_to_bytes;
	port->trim_tclass = (uint8_t)((p->trim_mark & WEFT_MARK_TRIMMED_LASTHOP
						      ? xdp->config.dscp.trimmed_lasthop
						      : xdp->config.dscp.trimmed)
				      << 2);
	port->byte_ns_q16 = byte_ns_q16;
}

static void put_macs(struct xdp_port *port, const struct weft_xdp_port *setting)
{
	uint8_t macs[12];

	memcpy(macs, setting->peer_mac, 6);
	memcpy(macs + 6, setting->mac, 6);
	memcpy(&port->macs_low, macs, 8);
	memcpy(&port->macs_high, macs + 8, 4);
}

#define TCX_INGRESS 46 /* enum bpf_attach_type; Debian's headers are older than the kernel */

static int attach(struct weft_xdp *xdp, uint32_t index, uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, driver, .flags = XDP_FLAGS_DRV_MODE);
	int fd;

	if (xdp->config.has_test_clock)
		return 0;
	if (xdp->config.hook == WEFT_XDP_AT_DRIVER)
		fd = bpf_link_create(xdp->program_fd, (int)ifindex, BPF_XDP, &driver);
	else
		fd = bpf_link_create(
			xdp->program_fd, (int)ifindex, (enum bpf_attach_type)TCX_INGRESS, NULL);
	if (fd < 0)
		return -errno;
	xdp->link_fds[index] = fd;
	return 0;
}

static int add_device(struct weft_xdp *xdp, uint32_t index, uint32_t ifindex)
{
	if (xdp->config.hook != WEFT_XDP_AT_DRIVER)
		return 0;
	return bpf_map_update_elem(xdp->devices_fd, &index, &ifindex, BPF_ANY) ? -errno : 0;
}

static const char *hint_of(enum weft_xdp_hook hook, int code)
{
	if (code == -EBUSY)
		return " (another XDP program has it)";
	if (code == -EINVAL && hook == WEFT_XDP_AT_TC)
		return " (wants a kernel of 6.6 or later)";
	return "";
}

int weft_xdp_port_set(struct weft_xdp *xdp, uint32_t index, const struct weft_xdp_port *setting,
	char *error, size_t error_bytes)
{
	uint32_t ifindex = setting->ifindex;

	if (index >= xdp->config.ports || xdp->is_set[index] || !ifindex ||
		ifindex > WEFT_XDP_IFINDEX_MAX ||
		(setting->rate_bps && setting->rate_bps < 1000000) ||
		weft_port_profile_fault(setting->profile)) {
		(void)snprintf(error, error_bytes, "xdp: port %u cannot be interface %u so", index,
			ifindex);
		return -1;
	}
	struct xdp_port *port = &xdp->state->ports[index];
	int code = add_device(xdp, index, ifindex);

	if (!code) {
		xdp->profiles[index] = *setting->profile;
		xdp->rates_bps[index] = setting->rate_bps;
		port_scale(xdp, index);
		put_macs(port, setting);
		port->ifindex = ifindex;
		port->flags = setting->is_peer ? XDP_PORT_PEER : 0;
		xdp->state->in_ports[ifindex] = (uint16_t)index;
		code = attach(xdp, index, ifindex);
	}
	if (code) {
		(void)snprintf(error, error_bytes, "xdp: cannot take interface %u: %s%s", ifindex,
			strerror(-code), hint_of(xdp->config.hook, code));
		return -1;
	}
	xdp->is_set[index] = true;
	weft_xdp_port_mark(xdp, index, true);
	return 0;
}
