#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""taps.py - what `tshark -z mrc,paths` and `mrc,planes` count, against a count made here.

Usage: taps.py WEFT MRC.LUA FABRIC

A sender of 2,000 writes over all paths of a pair, as seen beside it: some are marked, some cut,
some lost and sent again over another path, some spoilt.
"""
import pathlib
import random
import sys
import tempfile

import compare
import frames
import names

COUNTS = ('packets', 'bytes', 'CE', 'trimmed', 'lasthop', 'again', 'lost', 'dropped')
BTH = 48
RTX, FLAGS, PSN = 0x20, BTH + 8, slice(BTH + 9, BTH + 12)
ETHERNET_BYTES = 14


def make(base, path, psn, again, dscp, ce):
	"""One write over a path of names.read_paths(); bytes of the frame."""
	carrier, source, hops = path
	f = frames.Frame('usid', base.raw)
	f.raw[0], f.raw[1] = 0x60 | dscp >> 2, (dscp << 2 & 15 | (3 if ce else 2)) << 4
	f.raw[FLAGS] |= RTX if again else 0
	f.raw[PSN] = psn.to_bytes(3, 'big')
	f.raw[names.SOURCE] = source
	arrived = dscp in (16, 18)  # where nothing tells of hops to go, none are
	f.seal(names.shift(carrier, hops))
	f.raw[names.DESTINATION] = names.shift(carrier, hops if arrived else 0)
	return f


def play(rng, base, paths):
	"""Frames, and counts by path."""
	made, counts = [], {}
	waiting = []  # (path, psn) to be sent again
	psn = 0xFFFE00  # so that it goes round
	for _ in range(2000):
		path = rng.randrange(len(paths))
		again = waiting.pop(0) if len(waiting) > 5 else None
		number = again[1] if again else psn
		psn += not again
		dscp, ce = rng.choice((8,) * 12 + (16, 18)), rng.random() < 0.1
		f = make(base, paths[path], number & compare.PSN_MASK, again, dscp, ce)
		spoilt = dscp == 8 and not again and rng.random() < 0.05
		row = counts.setdefault(None if spoilt else path, dict.fromkeys(COUNTS, 0))
		row['packets'] += 1
		row['bytes'] += len(f.raw) + ETHERNET_BYTES
		if spoilt:
			f.raw[-1] ^= 1
			row['dropped'] += 1
		else:
			row['again'] += bool(again)
			if again and again[0] is not None:
				counts[again[0]]['lost'] += 1
			row['CE'] += ce
			row['trimmed'] += dscp == 16
			row['lasthop'] += dscp == 18
		if dscp != 8:
			waiting.append((None, number))
		elif not spoilt and rng.random() < 0.1:
			waiting.append((path, number))
		made.append(f)
	return made, counts


def rows(text):
	"""Words in front -> numbers, of a table."""
	found = {}
	for line in text.splitlines():
		words = line.split()
		if len(words) > len(COUNTS) and words[-1].isdigit():
			n = len(COUNTS)
			found[' '.join(words[:-n])] = [int(word) for word in words[-n:]]
	return found


def main(weft, lua, fabric):
	pair = ('alice', 'bob')
	with tempfile.TemporaryDirectory() as folder:
		file, path = pathlib.Path(folder) / 'names', pathlib.Path(folder) / 'taps.pcap'
		file.write_text(compare.run([weft, 'fabric', 'names', fabric]))
		sources = names.read_sources(file)
		paths = [(carrier, sources[pair[0], switches[0]], len(switches))
			for carrier, switches in names.read_paths(weft, fabric, pair)]
		made, counts = play(random.Random(7), frames.write_only(), paths)
		frames.write_pcap(path, made)
		command = [*compare.tshark(lua, path), '-q', '-o', f'mrc.names:{file}']
		by_path = rows(compare.run([*command, '-z', 'mrc,paths']))
		by_plane = rows(compare.run([*command, '-z', 'mrc,planes']))
	want, planes = {}, {}
	for i, row in counts.items():
		ev, plane = '?', '?'  # spoilt: how far its uSIDs are used up, nobody knows
		if i is not None:
			carrier, _, hops = paths[i]
			word = names.shift(carrier, hops)[6:10].hex()
			ev, plane = '0x' + word, f'p{int(word[:4], 16)}'
		want[f'{pair[0]} {ev}'] = list(row.values())
		plane = planes.setdefault(plane, dict.fromkeys(COUNTS, 0))
		for key, number in row.items():
			plane[key] += number
	planes = {key: list(row.values()) for key, row in planes.items()}
	print(f'{len(made)} frames, {sum(row["lost"] for row in counts.values())} losses')
	if by_path == want and by_plane == planes:
		return 0
	print(f'wanted {want}\n{planes}\ntshark says {by_path}\n{by_plane}')
	return 1


sys.exit(main(*sys.argv[1:]))
