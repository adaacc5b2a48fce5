#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""make.py - writes tests/vectors/v1/*.hex from the lists of fields below.

Frames are built here from (name, bits, value), in the order of the specification's tables, by code
that shares nothing with src/core/wire; what a decoder must say about a frame is stated beside it by
hand.  The files are then the truth: a vector is added here, never changed to please a test.
Usage: make.py FOLDER
"""
import ipaddress
import pathlib
import struct
import sys
import zlib

OPS = dict(write_first=0xC6, write_middle=0xC7, write_last=0xC8, write_last_imm=0xC9,
	write_only=0xCA, write_only_imm=0xCB, ack=0xD1, ep_request=0xD8, ep_response=0xD9,
	sack=0xDC, nack=0xDD, probe=0xDE,
	# the extended profile, docs/decisions/110
	send_first=0xE0, send_middle=0xE1, send_last=0xE2, send_last_imm=0xE3, send_only=0xE4,
	send_only_imm=0xE5, read_request=0xEC, reply_first=0xED, reply_middle=0xEE, reply_last=0xEF,
	reply_only=0xF0, reply_refused=0xF2, cmp_swap=0xF3, fetch_add=0xF4, datagram=0xF8,
	datagram_imm=0xF9, xrc_write_first=0xE6, xrc_write_middle=0xE7, xrc_write_last=0xE8,
	xrc_write_last_imm=0xE9, xrc_write_only=0xEA, xrc_write_only_imm=0xEB)
HOST_A, HOST_B = 'fd00:a::1', 'fd00:b::2'
CARRIER = 'fc00:0:a01:b02:a02:c02::'  # T0, T1, T0', host
SPRAY = 0xBEEF1234  # the EV of most vectors


class Frame:
	"""Bytes and their annotation, field by field."""

	def __init__(self):
		self.data, self.lines = bytearray(), []
		self.acc = self.bits = 0
		self.notes = []

	def put(self, header, *fields):
		for name, bits, value in fields:
			value &= (1 << bits) - 1
			self.acc = self.acc << bits | value
			self.bits += bits
			shown = str(value) if value < 10 else hex(value)
			if bits == 128:
				shown = str(ipaddress.IPv6Address(value))
			self.notes.append(f'{name} {shown}' if name else f'(reserved) {shown}')
			if self.bits % 8 == 0:
				self.flush(header)

	def flush(self, header):
		raw = self.acc.to_bytes(self.bits // 8, 'big')
		self.add(raw, f'{header:<8} {", ".join(self.notes)}')
		self.acc = self.bits = 0
		self.notes = []

	def payload(self, raw, pad):
		for i in range(0, len(raw), 16):
			self.add(raw[i:i + 16], f'payload  from byte {i}')
		if pad:
			self.add(bytes(pad), 'padding')

	def add(self, raw, note):
		self.lines.append((raw, note))
		self.data += raw

	def text(self, cut):
		"""The annotated bytes, without the last `cut` of them."""
		left = len(self.data) - cut
		for raw, note in self.lines:
			if left <= 0:
				return
			yield f'{raw[:left].hex(" "):<48}# {note}'
			left -= len(raw)


def ip6(f, name, src, dst, nxt, length, tclass, label, hop):
	f.put(name, ('version', 4, 6), ('traffic class', 8, tclass), ('flow label', 20, label))
	f.put(name, ('payload length', 16, length), ('next header', 8, nxt), ('hop limit', 8, hop))
	f.put(name, ('source', 128, int(ipaddress.IPv6Address(src))))
	f.put(name, ('destination', 128, int(ipaddress.IPv6Address(dst))))


def ip4(f, src, dst, length, tos, ttl):
	head = struct.pack('>BBHHHBBH4s4s', 0x45, tos, length, 0, 0x4000, ttl, 17, 0,
		ipaddress.IPv4Address(src).packed, ipaddress.IPv4Address(dst).packed)
	total = sum(struct.unpack('>10H', head))
	while total >> 16:
		total = (total & 0xFFFF) + (total >> 16)
	f.put('IPv4', ('version', 4, 4), ('header words', 4, 5), ('type of service', 8, tos))
	f.put('IPv4', ('total length', 16, length))
	f.put('IPv4', ('id', 16, 0), ('flags and offset, DF', 16, 0x4000))
	f.put('IPv4', ('time to live', 8, ttl), ('protocol', 8, 17), ('checksum', 16, ~total))
	f.put('IPv4', ('source', 32, int(ipaddress.IPv4Address(src))))
	f.put('IPv4', ('destination', 32, int(ipaddress.IPv4Address(dst))))


def bth(f, op, dqpn, psn, a=0, rtx=0, ts=0, pad=0, tver=0, pkey=0xFFFF, sol=0,
		xrc=0):
	f.put('BTH', ('opcode', 8, op), ('se', 1, 0), ('m', 1, 0), ('padcnt', 2, pad),
		('tver', 4, tver), ('pkey', 16, pkey))
	f.put('BTH', ('', 8, 0), ('dqpn', 24, dqpn))
	f.put('BTH', ('a', 1, a), ('solicited' if sol else '', 1, sol), ('rtx', 1, rtx), ('ts', 1, ts),
		*((('xrc', 1, 1), ('', 3, 0)) if xrc else (('', 4, 0),)), ('psn', 24, psn))


def tseth(f, header, ts, ftype=1):
	f.put(header, ('tx_timestamp', 16, ts), ('tsr', 1, 0), ('', 11, 0), ('ftype', 4, ftype))


def write(op, size, msg, dqpn=0x123456, psn=0xABCDEF, ts=0x8001, msn=7, rqmsn=0, imm=None,
		va=0x00007F0012345000, a=0, rtx=0, tver=0, pad=None, pkey=0xFFFF, ftype=1, sol=0,
		rkey=0x99AABBCC, srqn=None):
	def body(f):
		n = -size % 4 if pad is None else pad
		bth(f, OPS[op], dqpn, psn, a, rtx, ts is not None, n, tver, pkey, sol,
			srqn is not None)
		f.put('METH', ('rqmsn', 16, rqmsn), ('msn', 16, msn))
		if ts is not None:
			tseth(f, 'TSETH', ts, ftype)
		if srqn is not None:
			f.put('XRCETH', ('', 8, 0), ('srqn', 24, srqn))
		f.put('RETH', ('va', 64, va))
		f.put('RETH', ('rkey', 32, rkey), ('dmalen', 32, msg))
		if imm is not None:
			f.put('ImmDt', ('imm', 32, imm))
		f.payload(bytes((i * 7 + 1) & 255 for i in range(size)), -size % 4)
	flags = ' '.join(w for w, on in (('a', a), ('solicited', sol), ('rtx', rtx), ('ts', ts is not None),
		('xrc', srqn is not None)) if on)
	says = dict(op=op, flags=flags or 'none', dqpn=dqpn, psn=psn, msn=msn, rqmsn=rqmsn,
		ts=ts or 0, va=f'0x{va:016x}', rkey=f'0x{rkey:08x}', msg_bytes=msg)
	if srqn is not None:
		says['srqn'] = f'0x{srqn:06x}'
	if imm is not None:
		says['imm'] = f'0x{imm:08x}'
	says['payload_bytes'] = size
	return body, says


def sack(m=0, pr=0, offset=-3, cack=0x0000FE, base=-128, bitmap=0xF0000000000000A5, mpr=8,
		ooo=0x123, restore=0, pen=0, rcvd=0x0ABCDE, ts=0x4321, rtx=0, ev=SPRAY, typ=0):
	def body(f):
		bth(f, OPS['sack'], 0x654321, 0, 0, rtx)
		f.put('SETH', ('', 4, 0), ('nxt', 5, 0), ('m', 2, m), ('', 3, 0), ('pr', 1, pr),
			('', 1, 0), ('probe_id' if pr else 'ack_psn_offset', 16, offset))
		f.put('SETH', ('entropy', 32, ev))
		f.put('SETH', ('spdcid', 16, 0x3456), ('dpdcid', 16, 0x4321))
		f.put('SETH', ('', 8, 0), ('cack_psn', 24, cack))
		f.put('SETH', ('cc_type', 4, typ), ('cc_flags', 4, 0), ('mpr', 8, mpr),
			('sack_offset', 16, base))
		f.put('SETH', ('sack_bitmap', 64, bitmap))
		f.put('CC_STATE', ('tx_timestamp', 16, ts), ('', 1, 0), ('ooo_count', 15, ooo))
		f.put('CC_STATE', ('restore_cwnd', 1, restore), ('rcv_cwnd_pen', 7, pen),
			('rcvd_bytes', 24, rcvd))
	says = dict(op='sack', flags='rtx' if rtx else 'none', dqpn=0x654321, psn=0,
		spdcid=0x3456, m=['none', 'skip_once', 'always_skip', '?'][m])
	says['probe_id' if pr else 'psn_offset'] = offset
	says.update(echo_ev=f'0x{ev:08x}', cack_psn=cack, sack_offset=base,
		bitmap=f'0x{bitmap:016x}', mpr_units=mpr, ooo_pkts=ooo, penalty=pen,
		restore_cwnd=restore, rcvd_units=rcvd, ts=ts, cc_type=typ, cc_flags=0)
	return body, says


def nack(code, name, psn=0x000100, ts=0x0102, vendor=0):
	def body(f):
		bth(f, OPS['nack'], 0x654321, 0)
		f.put('NETH', ('', 16, 0), ('reason', 8, code), ('vendor_info', 8, vendor))
		f.put('NETH', ('entropy', 32, SPRAY))
		f.put('NETH', ('spdcid', 16, 0x3456), ('dpdcid', 16, 0x4321))
		f.put('NETH', ('', 8, 0), ('nack_psn', 24, psn))
		f.put('NETH', ('cc_type', 4, 2), ('cc_flags', 4, 0), ('', 8, 0))
		f.put('NETH', ('tx_timestamp', 16, ts))
	says = dict(op='nack', flags='none', dqpn=0x654321, psn=0, spdcid=0x3456, reason=name,
		nack_psn=psn, echo_ev=f'0x{SPRAY:08x}', ts=ts, cc_type=2, cc_flags=0)
	if name == 'rnr':
		says['rnr_timer'] = vendor
	return body, says


def ack(syndrome, name, msn):
	def body(f):
		bth(f, OPS['ack'], 0x654321, 0x000102)
		f.put('AETH', ('syndrome', 8, syndrome), ('msn', 24, msn))
	return body, dict(op='ack', flags='none', dqpn=0x654321, psn=0x102, syndrome=name, msn=msn)


def probe():
	def body(f):
		bth(f, OPS['probe'], 0x123456, 0)
		f.put('PETH', ('', 24, 0), ('vendor_info', 8, 0))
		f.put('PETH', ('probe_id', 16, 0xBEAD), ('', 16, 0))
		f.put('PETH', ('spdcid', 16, 0x4321), ('dpdcid', 16, 0x3456))
		tseth(f, 'PETH', 0x7FFF)
	return body, dict(op='probe', flags='none', dqpn=0x123456, psn=0, spdcid=0x4321,
		probe_id=0xBEAD, ts=0x7FFF)


def ep_request(op, name, mask, qpn=2):
	def body(f):
		bth(f, OPS['ep_request'], qpn, 0x000777)
		f.put('ERTH', ('', 8, 0), ('', 6, 0), ('op', 2, op), ('', 8, 0), ('vendor_info', 8, 0))
		f.put('ERTH', ('port_status_mask', 32, mask))
		f.put('ERTH', ('', 32, 0))
		tseth(f, 'ERTH', 0x0A0B)
	return body, dict(op='ep_request', flags='none', dqpn=qpn, psn=0x777, ep_op=name,
		port_mask=f'0x{mask:08x}', ts=0x0A0B)


def ep_response():
	def body(f):
		bth(f, OPS['ep_response'], 2, 0x000777)
		f.put('EETH', ('', 8, 0), ('', 2, 0), ('op', 2, 1), ('', 4, 0))
		for _ in range(26):
			f.put('EETH', ('', 8, 0))
		f.put('EETH', ('tx_timestamp', 16, 0x0A0B))
		f.put('EETH', ('', 48, 0))
	return body, dict(op='ep_response', flags='none', dqpn=2, psn=0x777, ep_op='ev_probe',
		ts=0x0A0B)


def mask_and_crc(inner):
	"""The ICRC by zlib, over what the receiver sees; inner: from IP to the end of padding."""
	raw = bytearray(inner)
	if raw[0] >> 4 == 4:
		raw[1] = raw[8] = raw[10] = raw[11] = 0xFF
		udp = 20
	else:
		raw[0] |= 0x0F
		raw[1] = raw[2] = raw[3] = raw[7] = 0xFF
		udp = 40
	raw[udp + 6] = raw[udp + 7] = raw[udp + 8 + 4] = 0xFF
	return zlib.crc32(b'\xff' * 8 + raw)


def build(kind, packet, tclass=8 << 2 | 2, outer_tclass=None, ev=SPRAY, port=4791, srh=False,
		v4=False, cut=0, bad_icrc=False, slack=0):
	"""cut: bytes that a switch took off the end; slack: what UDP's length is too large by."""
	body, says = packet
	probe_frame = Frame()
	body(probe_frame)
	udp_bytes = 8 + len(probe_frame.data) + 4
	f = Frame()
	src_port, label, dst, src = ev >> 16, ev & 0xFFFF, HOST_B, HOST_A
	if kind == 'usid':
		src_port, label = 0xC001, 0
		dst = ipaddress.IPv6Address(0xFC000000 << 96 | 0x0C02 << 80 | ev << 48)
	if kind == 'udp_port':
		src_port, label = ev, 0
	seen = dict(encap=kind)
	if kind == 'srv6':
		outer = outer_tclass if outer_tclass is not None else tclass
		inner_bytes = 40 + udp_bytes + (24 if srh else 0)
		ip6(f, 'outer', HOST_A, CARRIER, 43 if srh else 41, inner_bytes - cut, outer, label, 61)
		if srh:
			f.put('SRH', ('next header', 8, 41), ('length', 8, 2), ('type', 8, 4),
				('segments left', 8, 0), ('last entry', 8, 0), ('flags', 8, 0), ('tag', 16, 0))
			f.put('SRH', ('segment', 128, int(ipaddress.IPv6Address('fc00:0:d01:c02::'))))
	start = len(f.data)
	if v4:
		src, dst = '192.0.2.1', '198.51.100.2'
		ip4(f, src, dst, 20 + udp_bytes, tclass, 61)
	else:
		ip6(f, 'IPv6', src, dst, 17, udp_bytes - (cut if kind != 'srv6' else 0), tclass, label, 61)
	f.put('UDP', ('source port', 16, src_port), ('destination port', 16, port))
	f.put('UDP', ('length', 16, udp_bytes + slack), ('checksum', 16, 0))
	body(f)
	icrc = mask_and_crc(f.data[start:]) ^ (1 if bad_icrc else 0)
	f.put('ICRC', ('lowest byte first:', 32, int.from_bytes(icrc.to_bytes(4, 'little'), 'big')))
	seen.update(src=str(src), dst=str(dst), src_port=src_port, dst_port=port, ev=f'0x{ev:08x}')
	marks = outer_tclass if outer_tclass is not None and kind == 'srv6' else tclass
	words = [w for w, on in (('ce', marks & 3 == 3), ('trimmed', marks >> 2 == 16),
		('trimmed_lasthop', marks >> 2 == 18)) if on]
	seen['mark'] = ' '.join(words) or 'none'
	seen.update(says)
	seen['icrc'] = 'absent' if cut else 'ok'
	return f, seen, cut


def trimmed(says):
	keep = dict(says)
	for key in ('va', 'rkey', 'msg_bytes', 'imm'):
		keep.pop(key, None)
	keep['payload_bytes'] = 0
	return keep


DATA, CONTROL, CE = 8 << 2 | 2, 46 << 2, 8 << 2 | 3
TRIM, TRIM_LAST = 16 << 2 | 2, 18 << 2 | 2


def vectors():
	yield 'write_first', 'First packet of a 10000-byte write; SRv6, no SRH.', build(
		'srv6', write('write_first', 64, 10000, a=1))
	yield 'write_middle', 'Middle packet, retransmitted; SRv6 with a one-segment SRH, used up.', build(
		'srv6', write('write_middle', 64, 10000, rtx=1, va=0x00007F0012345040), srh=True)
	yield 'write_last', 'Last packet, 61 bytes and 3 of padding; structured EV in plain IPv6.', build(
		'stev', write('write_last', 61, 10000, psn=0xFFFFFF))
	yield 'write_last_imm', 'Last with immediate; IPv4, 16 bits of EV in the source port.', build(
		'udp_port', write('write_last_imm', 30, 1054, imm=0xDEADBEEF, rqmsn=9), ev=0x4242, v4=True)
	yield 'write_only', 'A write of one packet; native uSID, as it arrives: EV in the address.', build(
		'usid', write('write_only', 32, 32))
	yield 'write_only_imm', 'One packet with immediate, no timestamp.', build(
		'usid', write('write_only_imm', 5, 5, imm=1, rqmsn=0xFFFF, msn=0xFFFF, ts=None))
	yield 'write_empty', 'A write of no bytes at all.', build(
		'usid', write('write_only', 0, 0, va=0))
	yield 'write_ce', 'A switch marked the outer header: congestion experienced.', build(
		'srv6', write('write_middle', 16, 64), outer_tclass=CE)
	yield 'write_port_4971', 'The port as the specification prints it; UDP mode over IPv6.', build(
		'udp_port', write('write_only', 4, 4), ev=0xFFFF, port=4971)
	body, says = write('write_middle', 256, 100000, psn=0x000100)
	yield 'trimmed', 'Cut behind TSETH; outer length corrected, inner and UDP length stale.', build(
		'srv6', (body, trimmed(says)), outer_tclass=TRIM, cut=16 + 256 + 4)
	yield 'trimmed_lasthop', 'Cut by the last switch, in the middle of the payload; plain IPv6.', build(
		'usid', (body, trimmed(says)), tclass=TRIM_LAST, cut=200)
	yield 'sack', 'Selective acknowledgement, base below cack, window as negotiated.', build(
		'usid', sack(), tclass=CONTROL)
	yield 'sack_skip_once', 'The triggering packet was marked and a retransmission.', build(
		'srv6', sack(m=1, rtx=1, offset=63, base=1, cack=0xFFFFFF), tclass=CONTROL)
	yield 'sack_always_skip', 'Leave this path; shrink the window by 32/128.', build(
		'stev', sack(m=2, restore=1, pen=32, mpr=255, ooo=0x7FFF, rcvd=0xFFFFFF), tclass=CONTROL)
	yield 'sack_probe', 'Answer to a reliability probe: probe_id instead of an offset.', build(
		'udp_port', sack(pr=1, offset=0xBEAD, ev=0x4242), tclass=CONTROL, ev=0x4242, v4=True)
	for code, name in ((1, 'trimmed'), (2, 'trimmed_lasthop'), (6, 'no_bitmap'),
			(7, 'no_pkt_buffer'), (10, 'no_resource'), (11, 'psn_oor_window'), (25, 'unexp_event')):
		yield f'nack_{name}', f'Negative acknowledgement: {name}.', build(
			'usid', nack(code, name), tclass=CONTROL)
	yield 'ack', 'Transport acknowledgement of all messages up to 0xfedcba.', build(
		'usid', ack(0x1F, 'ack', 0xFEDCBA), tclass=CONTROL)
	yield 'nak_remote_access', 'Transport NAK: remote access error.', build(
		'srv6', ack(0x62, 'nak_remote_access', 3), tclass=CONTROL)
	yield 'probe', 'Reliability probe.', build('usid', probe(), tclass=CONTROL)
	yield 'ep_request_ports', 'Ports 1 and 3 to 8 are usable.', build(
		'usid', ep_request(0, 'port_status', 0xFD), tclass=CONTROL)
	yield 'ep_request_ev_probe', 'Is this path alive?', build(
		'srv6', ep_request(1, 'ev_probe', 0), tclass=CONTROL)
	yield 'ep_response', 'Yes.', build('srv6', ep_response(), tclass=CONTROL)
	yield from extended()


def extended():
	"""Our own: shaped like writes.  va is an offset, an address or a QPN: docs/decisions/110."""
	for op, size, msg, va in (('send_first', 64, 10000, 0), ('send_middle', 64, 10000, 64),
			('send_last', 61, 10000, 9939), ('send_only', 32, 32, 0), ('reply_first', 64, 200, 0),
			('reply_middle', 64, 200, 64), ('reply_last', 8, 200, 192), ('reply_only', 0, 0, 0)):
		yield f'ext_{op}', f'Extended profile: {op}.', build(
			'usid', write(op, size, msg, va=va, rqmsn=3, rkey=0))
	yield 'ext_send_last_imm', 'The end of a send, with an immediate; wakes who waits.', build(
		'srv6', write('send_last_imm', 30, 1054, imm=0xDEADBEEF, rqmsn=9, va=1024, sol=1, a=1, rkey=0))
	yield 'ext_send_only_imm', 'A send of nothing but its immediate.', build(
		'stev', write('send_only_imm', 0, 0, imm=1, rqmsn=0xFFFF, va=0, rkey=0))
	yield 'ext_read_request', 'Wants 1 MB.', build('srv6', write('read_request', 0, 1 << 20))
	yield 'ext_reply_refused', 'No: remote access error.', build(
		'usid', write('reply_refused', 0, 0, va=0, rkey=0x62))
	yield 'ext_cmp_swap', 'Two operands, little endian.', build('usid', write('cmp_swap', 16, 16))
	yield 'ext_fetch_add', 'Again, after a loss.', build('usid', write('fetch_add', 16, 16, rtx=1))
	yield 'ext_datagram', 'To group 0x123 with a Q_Key.', build(
		'udp_port', write('datagram', 5, 5, va=0x123, rkey=0x11111111, msn=0, psn=0), ev=0x4242, v4=True)
	yield 'ext_datagram_imm', 'The same with an immediate.', build(
		'usid', write('datagram_imm', 16, 16, va=0x123, rkey=0x11111111, imm=7, msn=0, psn=0))
	yield 'ext_xrc_send', 'To a shared queue that XRCETH names.', build(
		'usid', write('send_only', 12, 12, va=0, rkey=0, srqn=0x030001))
	yield 'ext_xrc_write', 'The same, of a write with immediate, without a time.', build(
		'srv6', write('xrc_write_last_imm', 64, 1000, imm=9, ts=None, srqn=0xFFFFFF))
	body, says = write('send_middle', 256, 100000, va=512, rkey=0)
	yield 'ext_trimmed', 'A send that was cut behind TSETH.', build(
		'srv6', (body, trimmed(says)), outer_tclass=TRIM, cut=16 + 256 + 4)
	yield 'ext_nack_rnr', 'No receive is posted; come back after the time with code 12.', build(
		'usid', nack(0xE0, 'rnr', vendor=12), tclass=CONTROL)


def hostile():
	"""name, text, frame, reason, bit counted from the first IP header."""
	udp = 8 * 48  # where BTH begins in plain IPv6
	small = write('write_only', 32, 32)
	yield 'bad_icrc', 'One bit of the ICRC is wrong.', build('usid', small, bad_icrc=True), \
		'bad_icrc', udp + 8 * 68
	yield 'bad_tver', 'Transport version 1.', build('usid', write('write_only', 32, 32, tver=1)), \
		'bad_tver', udp + 12
	yield 'bad_pkey', 'Not our partition.', build(
		'usid', write('write_only', 32, 32, pkey=0x8001)), 'bad_field', udp + 16
	yield 'bad_ftype', 'TSETH that is not a timestamp.', build(
		'usid', write('write_only', 32, 32, ftype=2)), 'bad_field', udp + 8 * 19 + 4
	yield 'bad_m', 'SETH.M has its reserved value.', build('usid', sack(m=3), tclass=CONTROL), \
		'bad_field', udp + 8 * 13 + 1
	yield 'bad_reason', 'No such NACK reason.', build('usid', nack(3, '?'), tclass=CONTROL), \
		'bad_field', udp + 8 * 14
	yield 'bad_endpoint_qpn', 'An endpoint operation belongs to QPN 2.', build(
		'usid', ep_request(1, 'ev_probe', 0, qpn=3), tclass=CONTROL), 'bad_field', udp + 40
	yield 'bad_length', 'An Only packet that carries less than its message.', build(
		'usid', write('write_only', 32, 33)), 'bad_length', udp + 8 * 32
	yield 'truncated_udp', 'UDP promises more than the IP packet holds.', build(
		'usid', small, slack=8), 'truncated', 8 * 4 + udp - 8 * 8
	yield 'oversized_sack', 'A SACK with four bytes too many.', build(
		'usid', (lambda f: (sack()[0](f), f.payload(bytes(4), 0)), {}), tclass=CONTROL), \
		'oversized', udp + 8 * 52
	yield 'ext_read_payload', 'A request does not carry anything.', build(
		'usid', write('read_request', 4, 64)), 'bad_length', udp + 8 * 32
	yield 'ext_atomic_short', 'An atomic has two operands.', build(
		'usid', write('fetch_add', 8, 8)), 'bad_length', udp + 8 * 32
	yield 'ext_unknown', 'In our group, but no code of ours.', build(
		'usid', (lambda f: (bth(f, 0xF5, 1, 2), f.payload(bytes(32), 0)), {})), 'not_mrc', udp
	yield 'ce_not_ect', 'Outer CE over an inner packet that is not ECN-capable (RFC 6040).', build(
		'srv6', sack(), tclass=CONTROL, outer_tclass=CONTROL | 3), 'bad_field', 8 * 40 + 10
	yield 'roce_send', 'An ordinary RoCEv2 packet.', build(
		'stev', (lambda f: (bth(f, 0x04, 1, 2), f.payload(bytes(8), 0)), {})), 'not_mrc', udp


def save(folder, name, text, built, drop=None):
	f, seen, cut = built
	out = ['# SPDX-License-Identifier: BSD-2-Clause', f'# {text}']
	plain = seen['encap'] if seen['encap'] != 'srv6' else 'stev'
	out.append(f'! plain {plain}')
	if drop:
		out.append(f'! drop {drop[0]} {drop[1]}')
	else:
		out += [f'= {key} {value}' for key, value in seen.items()]
	(folder / f'{name}.hex').write_text('\n'.join(out + list(f.text(cut))) + '\n')


def main():
	folder = pathlib.Path(sys.argv[1])
	folder.mkdir(parents=True, exist_ok=True)
	for name, text, built in vectors():
		save(folder, name, text, built)
	for name, text, built, reason, bit in hostile():
		save(folder, f'bad_{name}' if not name.startswith('bad_') else name, text, built,
			(reason, bit))


main()
