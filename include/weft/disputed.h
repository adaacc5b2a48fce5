/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_DISPUTED_H
#define WEFT_DISPUTED_H
/*
 * disputed - every code point that the public sources on MRC 1.0 read in two ways.
 *
 * The specification's text was not at hand; each of these came through works written from it
 * (docs/protocol.md has them: EMU, DISS, NS3A, FPGA, MANIAM ...).  Each entry gives both
 * readings, who holds them, and what was chosen.  Settling one is a change in this file only.
 */
#include <stdint.h>

/*
 * UDP destination port [P 8.1].  Spec 7.5.5.2 prints 4971 (EMU, NS3A and a figure of the OCP course
 * follow); IANA's RoCEv2 port is 4791, and 4971 looks like its digits swapped (DISS takes both).
 * Chosen: 4791 by default, 4971 as an option, and whoever only looks (decoder) takes both.
 */
enum { WEFT_UDP_PORT = 4791, WEFT_UDP_PORT_AS_PRINTED = 4971 };

/*
 * Halves of the EV [P 8.2], which [P 1.12] divides.  EMU, quoting 9.1 and 9.3.4: UDP source port =
 * EV[31:16], low 16 bits of the flow label = EV[15:0].  MANIAM has it the other way round in one
 * place. Chosen: EMU's. The flow label's upper four bits are sent as zero and ignored.
 */
#define WEFT_EV_SRC_PORT(ev) ((uint16_t)((ev) >> 16))
#define WEFT_EV_FLOW_LABEL(ev) ((uint32_t)(ev)&0xffffu)
#define WEFT_EV_JOIN(src_port, flow_label)                                                         \
	((uint32_t)(src_port) << 16 | ((uint32_t)(flow_label)&0xffffu))

/*
 * EETH.op [P 8.3], byte 1: bits 5:4 (EMU) or bits 3:2 (DISS).  Written where EMU has it.  Read from
 * both at once: the other pair is reserved, hence zero, in either reading.
 */
enum { WEFT_EETH_OP_SHIFT = 4, WEFT_EETH_OP_SHIFT_ALT = 2 };

/*
 * BTH byte 1 [P 8.4], bits 7 and 6: SE and MigReq as in IBTA (DISS), or M and SE (EMU, FPGA).  Sent
 * as zero, ignored, so the names matter to the decoder only.
 */
#define WEFT_BTH_BIT7 "se"
#define WEFT_BTH_BIT6 "m"

/*
 * TSETH.tsr [P 8.5].  0 is 128 ns units everywhere; 1 is one microsecond (one digest) or up to the
 * implementation (NS3A).  Sent as 0.  A receiver only echoes a timestamp, so 1 is accepted.
 */
enum { WEFT_TSETH_TSR = 0 };

/*
 * Order of bits in SETH.sack_bitmap [P 8.6]: bit 0 (the base PSN) is the lowest bit of the 64-bit
 * big-endian word (EMU, NS3A), not the first bit sent, as tables drawn from bit 0 would suggest.
 */
#define WEFT_BITMAP_TO_WIRE(bitmap) (bitmap)
#define WEFT_BITMAP_FROM_WIRE(bitmap) (bitmap)

#endif /* WEFT_DISPUTED_H */
