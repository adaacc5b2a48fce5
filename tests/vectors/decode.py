#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""decode.py - a second, independent decoder of MRC frames, and the judge over the vectors.

Written from the field lists that docs/protocol.md is made of, with nothing but
Python's standard library: struct for the fields, zlib for the ICRC.  Where this and src/core/wire agree
on every vector, a misreading would have to have been made twice.

Usage: decode.py FILE.hex...            check: decode each, compare with what the file says
       decode.py --print FILE.hex...    print what was decoded, one JSON object per file
       decode.py --against WEFT FILE... also compare with `WEFT decode --plain KIND FILE`
       decode.py --seeds FOLDER FILE... write the bytes as seeds of tests/fuzz/wire_decode.c
"""
import ipaddress
import json
import pathlib
import struct
import subprocess
import sys
import zlib

NAMES = {0xC6: 'write_first', 0xC7: 'write_middle', 0xC8: 'write_last', 0xC9: 'write_last_imm',
	0xCA: 'write_only', 0xCB: 'write_only_imm', 0xD1: 'ack', 0xD8: 'ep_request',
	0xD9: 'ep_response', 0xDC: 'sack', 0xDD: 'nack', 0xDE: 'probe',
	# the extended profile of docs/decisions/110, all shaped like writes
	0xE0: 'send_first', 0xE1: 'send_middle', 0xE2: 'send_last', 0xE3: 'send_last_imm',
	0xE4: 'send_only', 0xE5: 'send_only_imm', 0xEC: 'read_request', 0xED: 'reply_first',
	0xEE: 'reply_middle', 0xEF: 'reply_last', 0xF0: 'reply_only', 0xF2: 'reply_refused',
	0xF3: 'cmp_swap', 0xF4: 'fetch_add', 0xF8: 'datagram', 0xF9: 'datagram_imm',
	0xE6: 'xrc_write_first', 0xE7: 'xrc_write_middle', 0xE8: 'xrc_write_last',
	0xE9: 'xrc_write_last_imm', 0xEA: 'xrc_write_only', 0xEB: 'xrc_write_only_imm'}
FIXED = {'ack': 4, 'ep_request': 16, 'ep_response': 36, 'sack': 36, 'nack': 20, 'probe': 16}
REASONS = {1: 'trimmed', 2: 'trimmed_lasthop', 6: 'no_bitmap', 7: 'no_pkt_buffer',
	10: 'no_resource', 11: 'psn_oor_window', 25: 'unexp_event', 0xE0: 'rnr'}
SYNDROMES = {0x1F: 'ack', 0x60: 'nak_psn_sequence', 0x61: 'nak_invalid_request',
	0x62: 'nak_remote_access', 0x63: 'nak_remote_operation'}
EP_OPS = ['port_status', 'ev_probe']
TRIMMED, TRIMMED_LASTHOP = 16, 18
MTU_MAX = 8192


class Drop(Exception):
	"""reason, and the first wrong bit counted from the first IP header"""


def words(*pairs):
	return ' '.join(word for word, on in pairs if on) or 'none'


def marks(tclass):
	return {w for w, on in (('ce', tclass & 3 == 3), ('trimmed', tclass >> 2 == TRIMMED),
		('trimmed_lasthop', tclass >> 2 == TRIMMED_LASTHOP)) if on}


def ip_header(raw, at, short_ok):
	"""(next, tclass, flow label, src, dst, body start, body end) of the header at `at`"""
	left = len(raw) - at
	version = raw[at] >> 4
	if version == 6:
		if left < 40:
			raise Drop('truncated', 8 * len(raw))
		first, length, nxt, _ = struct.unpack_from('>IHBB', raw, at)
		src, dst = (ipaddress.IPv6Address(raw[at + i:at + i + 16]) for i in (8, 24))
		tclass, label, body = first >> 20 & 255, first & 0xFFFFF, at + 40
	elif version == 4:
		tclass, length, frag, nxt = (*struct.unpack_from('>xBH2xH', raw, at), raw[at + 9])
		if raw[at] & 15 != 5:
			raise Drop('bad_field', 8 * at + 4)
		if frag & 0x3FFF:
			raise Drop('bad_field', 8 * at + 48)
		src, dst = (ipaddress.IPv4Address(raw[at + i:at + i + 4]) for i in (12, 16))
		label, body, length = 0, at + 20, length - 20
	else:
		raise Drop('not_mrc', 8 * at)
	end = body + length
	if end > len(raw):
		if not short_ok:
			raise Drop('truncated', 8 * len(raw))
		end = len(raw)
	return nxt, tclass, label, src, dst, body, end


def outside(raw, plain):
	"""Everything up to UDP.  Returns (facts, start of the inner IP, start and end of datagram)."""
	tclass = raw[1] if raw[0] >> 4 == 4 else struct.unpack_from('>H', raw)[0] >> 4 & 255
	mark = marks(tclass)
	short_ok = bool(mark & {'trimmed', 'trimmed_lasthop'})
	inner = 0
	nxt, tclass, label, src, dst, body, end = ip_header(raw, 0, short_ok)
	kind = plain
	if nxt in (41, 43) and src.version == 6:
		kind, outer_ce = 'srv6', tclass & 3 == 3
		if nxt == 43:
			body += 8 * (raw[body + 1] + 1)
		inner = body
		nxt, tclass, label, src, dst, body, end = ip_header(raw[:end], inner, short_ok)
		if outer_ce and tclass & 3 == 0:
			raise Drop('bad_field', 8 * inner + 10)
		if tclass & 3 == 3:
			mark.add('ce')
	if nxt != 17:
		raise Drop('not_mrc', 8 * body)
	src_port, dst_port, length = struct.unpack_from('>HHH', raw, body)
	if length != end - body and not short_ok:
		raise Drop('truncated' if length > end - body else 'bad_length', 8 * (body + 4))
	if kind == 'usid':
		ev = int(dst) >> 48 & 0xFFFFFFFF
	else:
		ev = src_port if kind == 'udp_port' else src_port << 16 | label & 0xFFFF
	facts = dict(encap=kind, src=str(src), dst=str(dst), src_port=src_port, dst_port=dst_port,
		ev=f'0x{ev:08x}', mark=words(*((w, w in mark)
			for w in ('ce', 'trimmed', 'trimmed_lasthop'))))
	return facts, inner, body + 8, end


def write(raw, at, end, op, flags_byte, pad, cut):
	facts = {}
	rqmsn, msn = struct.unpack_from('>HH', raw, at)
	facts.update(msn=msn, rqmsn=rqmsn)
	ts, p = 0, at + 4
	if flags_byte & 0x10:
		ts, kind = struct.unpack_from('>HH', raw, p)
		if kind & 15 != 1:
			raise Drop('bad_field', 8 * (p + 3) + 4)
		p += 4
	facts['ts'] = ts
	if cut:
		return {**facts, 'payload_bytes': 0}
	if flags_byte & 8 and raw[at - 12] >= 0xE0:
		facts['srqn'] = f'0x{struct.unpack_from(">I", raw, p)[0] & 0xFFFFFF:06x}'
		p += 4
	va, rkey, total = struct.unpack_from('>QII', raw, p)
	facts.update(va=f'0x{va:016x}', rkey=f'0x{rkey:08x}', msg_bytes=total)
	length_bit = 8 * (p + 12)
	p += 16
	if op.endswith('_imm'):
		facts['imm'] = f'0x{struct.unpack_from(">I", raw, p)[0]:08x}'
		p += 4
	size = end - 4 - p - pad
	if size + pad > MTU_MAX:
		raise Drop('oversized', 8 * (p + MTU_MAX))
	if op in ('read_request', 'reply_refused'):
		place_ok = size == 0
	elif op in ('cmp_swap', 'fetch_add'):
		place_ok = size == total == 16
	elif 'only' in op or 'datagram' in op:
		place_ok = size == total
	else:
		place_ok = 0 < size < total
	if not place_ok or (op.endswith(('_first', '_middle')) and pad):
		raise Drop('bad_length', length_bit)
	facts['payload_bytes'] = size
	return facts


def control(raw, at, op):
	u16, u24 = (lambda i: struct.unpack_from('>H', raw, at + i)[0]), (
		lambda i: int.from_bytes(raw[at + i:at + i + 3], 'big'))
	u32 = lambda i: struct.unpack_from('>I', raw, at + i)[0]
	s16 = lambda i: struct.unpack_from('>h', raw, at + i)[0]
	if op == 'sack':
		m = raw[at + 1] >> 5 & 3
		if m == 3:
			raise Drop('bad_field', 8 * (at + 1) + 1)
		second = ('probe_id', u16(2)) if raw[at + 1] & 2 else ('psn_offset', s16(2))
		return dict([('spdcid', u16(8)), ('m', ['none', 'skip_once', 'always_skip'][m]), second],
			echo_ev=f'0x{u32(4):08x}', cack_psn=u24(13), sack_offset=s16(18),
			bitmap='0x' + raw[at + 20:at + 28].hex(), mpr_units=raw[at + 17],
			ooo_pkts=u16(30) & 0x7FFF, penalty=raw[at + 32] & 127,
			restore_cwnd=raw[at + 32] >> 7, rcvd_units=u24(33), ts=u16(28),
			cc_type=raw[at + 16] >> 4, cc_flags=raw[at + 16] & 15)
	if op == 'nack':
		if raw[at + 2] not in REASONS:
			raise Drop('bad_field', 8 * (at + 2))
		rnr = dict(rnr_timer=raw[at + 3]) if REASONS[raw[at + 2]] == 'rnr' else {}
		return dict(spdcid=u16(8), reason=REASONS[raw[at + 2]], nack_psn=u24(13),
			echo_ev=f'0x{u32(4):08x}', ts=u16(18), cc_type=raw[at + 16] >> 4,
			cc_flags=raw[at + 16] & 15, **rnr)
	if op == 'ack':
		if raw[at] not in SYNDROMES:
			raise Drop('bad_field', 8 * at)
		return dict(syndrome=SYNDROMES[raw[at]], msn=u24(1))
	if op == 'probe':
		return dict(spdcid=u16(8), probe_id=u16(4), ts=u16(12))
	if op == 'ep_request':
		return dict(ep_op=EP_OPS[raw[at + 1] & 3], port_mask=f'0x{u32(4):08x}', ts=u16(12))
	return dict(ep_op=EP_OPS[raw[at + 1] >> 4 & 3], ts=u16(28))


def icrc_of(inner):
	"""inner: from the inner IP header to the end of padding"""
	raw = bytearray(inner)
	udp = 20 if raw[0] >> 4 == 4 else 40
	for i in ((1, 8, 10, 11) if udp == 20 else (1, 2, 3, 7)):
		raw[i] = 255
	if udp == 40:
		raw[0] |= 15
	for i in (6, 7, 12):
		raw[udp + i] = 255
	return zlib.crc32(b'\xff' * 8 + raw).to_bytes(4, 'little')


def decode(raw, plain):
	facts, inner, at, end = outside(raw, plain)
	if end - at < 12:
		raise Drop('truncated', 8 * end)
	code, second, pkey, dqpn, flags, psn = struct.unpack_from('>BBH4s1s3s', raw, at)
	if code not in NAMES:
		raise Drop('not_mrc', 8 * at)
	op, flags = NAMES[code], flags[0]
	if second & 15:
		raise Drop('bad_tver', 8 * at + 12)
	if pkey & 0x7FFF != 0x7FFF:
		raise Drop('bad_field', 8 * at + 16)
	is_write, cut = op not in FIXED, 'trimmed' in facts['mark']
	qpn = int.from_bytes(dqpn[1:], 'big')
	if not is_write and end - at - 12 != FIXED[op] + 4:
		short = end - at - 12 < FIXED[op] + 4
		raise Drop('truncated' if short else 'oversized',
			8 * (end if short else at + 12 + FIXED[op] + 4))
	if op.startswith('ep_') and qpn != 2:
		raise Drop('bad_field', 8 * at + 40)
	facts.update(op=op, flags=words(('a', flags & 0x80),
		('solicited', is_write and flags & 0x40), ('rtx', flags & 0x20), ('ts', is_write and flags & 0x10),
		('xrc', is_write and code >= 0xE0 and flags & 8)), dqpn=qpn, psn=int.from_bytes(psn, 'big'))
	facts.update(write(raw, at + 12, end, op, flags, second >> 4 & 3, cut) if is_write
		else control(raw, at + 12, op))
	facts['icrc'] = 'absent' if cut else 'ok'
	if not cut and icrc_of(raw[inner:end - 4]) != bytes(raw[end - 4:end]):
		raise Drop('bad_icrc', 8 * (end - 4))
	return facts


def load(path):
	"""(bytes, plain kind, expected facts or (reason, bit)) of a vector file"""
	raw, plain, said, drop = bytearray(), 'stev', {}, None
	for line in path.read_text().splitlines():
		if line.startswith('= '):
			_, key, value = line.split(' ', 2)
			said[key] = value
		elif line.startswith('! plain '):
			plain = line.split()[2]
		elif line.startswith('! drop '):
			drop = (line.split()[2], int(line.split()[3]))
		else:
			raw += bytes.fromhex(line.partition('#')[0])
	return bytes(raw), plain, drop or said


def result(raw, plain):
	try:
		return {key: str(value) for key, value in decode(raw, plain).items()}
	except Drop as drop:
		return drop.args


def by_weft(program, path, plain):
	"""What `weft decode` says, in the form of result()."""
	out = subprocess.run([program, 'decode', '--plain', plain, str(path)], check=False,
		capture_output=True, text=True).stdout
	said = json.loads(out)
	if 'drop' in said:
		return said['drop'], said['bit']
	flat = {}
	for key, value in said.items():
		if key in ('flags', 'mark'):
			value = ' '.join(value) or 'none'
		flat[key] = str(int(value) if isinstance(value, bool) else value)
	return flat


def write_seeds(folder, paths):
	for path in paths:
		raw, plain, _ = load(path)
		(folder / path.stem).write_bytes(bytes([['usid', 'stev', 'udp_port'].index(plain)]) + raw)
		try:
			_, _, at, end = outside(raw, plain)
		except Drop:
			continue
		(folder / f'{path.stem}-datagram').write_bytes(b'\x03' + raw[at:end])


def main(args):
	show, program = False, None
	if args[:1] == ['--seeds']:
		write_seeds(pathlib.Path(args[1]), map(pathlib.Path, args[2:]))
		return 0
	if args[:1] == ['--print']:
		show, args = True, args[1:]
	elif args[:1] == ['--against']:
		program, args = args[1], args[2:]
	faults = 0
	for path in map(pathlib.Path, args):
		raw, plain, want = load(path)
		got = result(raw, plain)
		if show:
			print(json.dumps(got))
			continue
		if got != want:
			print(f'{path}: decoded {got}\n  the file says {want}')
			faults += 1
		if program:
			theirs = by_weft(program, path, plain)
			if isinstance(want, dict):
				theirs = {key: theirs.get(key) for key in want}
			if theirs != want:
				print(f'{path}: {program} says {theirs}\n  the file says {want}')
				faults += 1
	print(f'{len(args)} vectors, {faults} faults')
	return 1 if faults or not args else 0


sys.exit(main(sys.argv[1:]))
