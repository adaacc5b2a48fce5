# SPDX-License-Identifier: BSD-2-Clause
"""frames.py - frames for the comparison: the tree's own, and random ones made of them.

A random frame begins as one of the tree's, whose layout is therefore known.  It is changed in a way
that a network or a stranger could have; most are sealed again, so that an ICRC that is wrong does
not hide what else is.
"""
import pathlib
import random
import struct
import zlib

TREE = pathlib.Path(__file__).resolve().parents[2]
VECTORS = TREE / 'tests/vectors/v1'
PLAINS = ('usid', 'stev', 'udp_port')  # as bits 0 and 1 of a fuzz seed count them
LINKS = LOOPBACK, ETHERNET, RAW, SLL, SLL2 = 0, 1, 101, 113, 276
UDP, ROUTING, IPV6 = 17, 43, 41
HEAD = 48  # bytes in front of BTH where there is one header; less is left as it is
DSCPS = (8, 8, 8, 46, 46, 16, 18, 0)


class Frame:
	"""What is on the wire from the first IP header on, and what of it the capture has kept."""

	def __init__(self, plain, raw):
		self.plain, self.raw = plain, bytearray(raw)
		self.tags, self.cut, self.time = 0, 0, 1

	def layout(self):
		"""(start of the inner IP header, of UDP), or None where there is no such thing."""
		at, raw = 0, self.raw
		if not raw or raw[0] >> 4 not in (4, 6):
			return None
		for _ in range(3):
			if len(raw) < at + 40:
				return None
			if raw[at] >> 4 == 4:
				return (at, at + 20) if raw[at + 9] == UDP else None
			following, body = raw[at + 6], at + 40
			if following == ROUTING and len(raw) > body + 1:
				following, body = raw[body], body + 8 * (raw[body + 1] + 1)
			if following == UDP:
				return at, body
			if following != IPV6:
				return None
			at = body
		return None

	def seal(self, dst=None):
		"""Makes lengths and ICRC right, as far as there is something to make right."""
		where = self.layout()
		if not where or len(self.raw) < where[1] + 24:
			return
		ip, udp = where
		raw = self.raw
		for at in {0, ip}:
			struct.pack_into('>H', raw, at + (2 if raw[at] >> 4 == 4 else 4),
				len(raw) - at - (0 if raw[at] >> 4 == 4 else 40) & 0xFFFF)
		struct.pack_into('>H', raw, udp + 4, len(raw) - udp & 0xFFFF)
		masked = raw[ip:len(raw) - 4]
		if raw[ip] >> 4 == 4:
			ones = (1, 8, 10, 11)
		else:
			ones = (1, 2, 3, 7)
			masked[0] |= 15
			masked[24:40] = dst or masked[24:40]
		for i in ones:
			masked[i] = 255
		for i in (6, 7, 12):
			masked[udp - ip + i] = 255
		raw[-4:] = zlib.crc32(b'\xff' * 8 + masked).to_bytes(4, 'little')

	def on(self, link):
		"""Behind the header of a link layer, of libpcap's number."""
		ipv4 = bool(self.raw) and self.raw[0] >> 4 == 4
		kind = b'\x08\x00' if ipv4 else b'\x86\xdd'
		front = {ETHERNET: b'\x02\0\0\0\0\2\x02\0\0\0\0\1' + self.tagged() + kind,
			RAW: b'', LOOPBACK: struct.pack('<I', 2 if ipv4 else 30), # of who writes: macOS
			SLL: bytes(14) + kind, SLL2: kind + bytes(18)}
		return front[link] + bytes(self.raw)

	def tagged(self):
		return b''.join(struct.pack('>HH', 0x88A8 if self.tags - i > 1 else 0x8100, 100 + i)
			for i in range(self.tags))


def vector(path):
	plain, raw = 'stev', b''
	for line in path.read_text().splitlines():
		if line.startswith('! plain '):
			plain = line.split()[2]
		elif line[:1] not in ('!', '=', '#', ''):
			raw += bytes.fromhex(line.partition('#')[0])
	return Frame(plain, raw)


def write_only():
	"""The vector that other tests begin with: native uSID, arrived."""
	return vector(VECTORS / 'write_only.hex')


def vectors():
	"""The tree's frames: every vector, every seed that is a frame."""
	yield from map(vector, sorted(VECTORS.glob('*.hex')))
	for folder in ('dissect', 'wire_decode', 'raw_get'):
		for path in sorted((TREE / 'tests/fuzz/corpus' / folder).iterdir()):
			seed = path.read_bytes()
			if len(seed) > 1 and seed[0] & 3 < 3:
				yield Frame(PLAINS[seed[0] & 3], seed[1:])


def captures():
	"""The tree's captures that are no text."""
	for path in sorted((TREE / 'tests/fuzz/corpus/capture').iterdir()):
		if path.name.startswith('pcap') or path.suffix in ('.pcap', '.pcapng'):
			yield path


# ---- what may happen to a frame ----

def spoil(rng, byte):
	return rng.choice((rng.randrange(256), byte ^ 1 << rng.randrange(8)))


def field(rng, f):
	"""Some bytes of the headers behind UDP, or the one that says what it is."""
	where = f.layout()
	first = where[1] + 8 if where else 0
	for _ in range(rng.choice((1, 1, 2, 4))):
		if first < len(f.raw):
			at = rng.randrange(first, min(len(f.raw), first + 52))
			f.raw[at] = spoil(rng, f.raw[at])


def values(rng, f):
	"""All headers behind BTH anew; most enumerations stay what they are."""
	where = f.layout()
	if where:
		for at in range(where[1] + 8 + 5, len(f.raw) - 4):
			if rng.random() < 0.7 and at - where[1] - 8 not in (13, 14):
				f.raw[at] = rng.randrange(256)


def outside(rng, f):
	"""One bit or byte of what stands in front of BTH."""
	where = f.layout()
	at = rng.randrange(min(len(f.raw), where[1] + 8 if where else 48))
	f.raw[at] = spoil(rng, f.raw[at])


def ports(rng, f):
	where = f.layout()
	if where and len(f.raw) >= where[1] + 4:
		src = rng.choice((rng.randrange(65536), rng.randrange(64)))
		dst = rng.choice((4791,) * 8 + (4971, 4792, 53))
		struct.pack_into('>HH', f.raw, where[1], src, dst)


def marks(rng, f):
	"""Traffic class and hop limit of the first header."""
	byte = rng.choice(DSCPS) << 2 | rng.choice((2, 2, 3, 0))
	if f.raw[0] >> 4 == 4:
		f.raw[1], f.raw[8] = byte, rng.randrange(256)
	else:
		f.raw[0], f.raw[1] = 0x60 | byte >> 4, (byte & 15) << 4 | f.raw[1] & 15
		f.raw[7] = rng.randrange(256)


def trim(rng, f):
	"""A switch cuts: the outer length is corrected, those inside are not."""
	marks(rng, f)
	byte = rng.choice((16, 18)) << 2 | 2
	if f.raw[0] >> 4 == 4:
		f.raw[1] = byte
	else:
		f.raw[0], f.raw[1] = 0x60 | byte >> 4, (byte & 15) << 4 | f.raw[1] & 15
	del f.raw[rng.randrange(min(60, len(f.raw)), len(f.raw) + 1):]
	if rng.random() < 0.7 and len(f.raw) >= 40:
		struct.pack_into('>H', f.raw, *((2, len(f.raw)) if f.raw[0] >> 4 == 4
			else (4, len(f.raw) - 40)))


def grow(rng, f):
	"""More payload, or what Ethernet pads with."""
	rare = rng.random() < 0.1
	size = rng.choice((1, 64, 256, 1000, 8188) if rare else (4, 8, 16, 46))
	at = max(0, len(f.raw) - 4)
	f.raw[at:at] = bytes(rng.randrange(256) for _ in range(min(size, 64))) * max(1, size // 64)


def pad(rng, f):
	f.raw += bytes(rng.randrange(20))


def shorten(rng, f):
	del f.raw[rng.randrange(1, len(f.raw) + 1):]


BEFORE_SEAL = ((field, 5), (values, 4), (ports, 2), (marks, 2), (grow, 1), (shorten, 1),
	(outside, 1))
AFTER_SEAL = ((marks, 2), (trim, 2), (pad, 1), (outside, 2), (field, 1), (shorten, 1),
	(ports, 1))


def hops(rng, f):
	"""Native uSID before it has arrived: switches stand in front; sealed for the arrival."""
	where = f.layout()
	if not where or where[0] or f.raw[0] >> 4 != 6:
		return False
	n = rng.randrange(1, 4)
	arrival = f.raw[24:28] + bytes(rng.randrange(256) for _ in range(6)) + bytes(6)
	f.seal(arrival)
	f.raw[24:40] = arrival[:4] + bytes(rng.randrange(1, 256) for _ in range(2 * n)) + \
		arrival[4:16 - 2 * n]
	return True


def pick(rng, table):
	return rng.choices([row[0] for row in table], [row[1] for row in table])[0]


def mutated(rng, bases):
	base = rng.choice(bases)
	f = Frame(base.plain, base.raw)
	for _ in range(rng.choice((0, 1, 1, 2))):
		if len(f.raw) > HEAD:
			pick(rng, BEFORE_SEAL)(rng, f)
	if not (f.plain == 'usid' and rng.random() < 0.15 and f.raw and hops(rng, f)):
		if rng.random() < 0.8:
			f.seal()
	if rng.random() < 0.4 and len(f.raw) > HEAD:
		pick(rng, AFTER_SEAL)(rng, f)
	f.tags = rng.choice((0, 0, 0, 1, 2))
	f.time = rng.randrange(1, 1 << 31)
	if rng.random() < 0.08:
		f.cut = rng.randrange(len(f.raw) + 1)
	return f


def random_frames(seed, n):
	rng = random.Random(seed)
	bases = list(vectors())
	return [mutated(rng, bases) for _ in range(n)]


def write_pcap(path, frames, link=ETHERNET):
	with open(path, 'wb') as out:
		out.write(struct.pack('<IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 262144, link))
		for f in frames:
			raw = f.on(link)
			kept = max(0, len(raw) - f.cut)
			out.write(struct.pack('<IIII', f.time, 0, kept, len(raw)) + raw[:kept])
