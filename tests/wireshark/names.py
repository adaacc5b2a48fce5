#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""names.py - the names that the dissector gives to uSIDs and senders, against the fabric file's.

Usage: names.py WEFT MRC.LUA FABRIC

Every path of one pair of hosts, as `weft fabric paths` has it, seen at the sender and behind each
switch; with uSIDs of switches (uN) and of links (uA).
"""
import ipaddress
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import compare
import frames

FIELDS = ['mrc.from', 'mrc.plane', 'mrc.uplink', 'mrc.hops_to_go', 'mrc.hop']
SOURCE, DESTINATION = slice(8, 24), slice(24, 40)


def read_paths(weft, fabric, pair):
	"""(carrier, names of the switches) of each path."""
	for line in compare.run([weft, 'fabric', 'paths', fabric, *pair, '--all']).splitlines():
		if line.startswith('0x'):
			_, carrier, *switches = line.split()
			switches = [word for word in switches if word != '-']
			yield ipaddress.IPv6Address(carrier).packed, switches


def read_sources(names):
	"""(host, T0) -> address, of a file of names."""
	lines = [line.split() for line in names.read_text().splitlines()]
	return {(line[2], line[3]): bytes.fromhex(line[1]) for line in lines if line[0] == 'host'}


def make_frames(paths, sources, pair):
	"""Frames, and the hops that each must be told to have before it."""
	base = frames.write_only()
	for carrier, switches in paths:
		for hops in range(len(switches) + 1):
			f = frames.Frame('usid', base.raw)
			f.raw[SOURCE] = sources[pair[0], switches[0]]
			f.seal(shift(carrier, len(switches)))
			f.raw[DESTINATION] = shift(carrier, hops)
			yield f, hops, [*switches[hops:], pair[1]] if hops < len(switches) else []


def shift(carrier, hops):
	return carrier[:4] + carrier[4 + 2 * hops:] + bytes(2 * hops)


def check(weft, lua, fabric, folder):
	text = pathlib.Path(fabric).read_text()
	pair = re.search(r'hosts: \[(\w+), (\w+)\]', text).groups()
	names, path = folder / 'names', folder / 'paths.pcap'
	names.write_text(compare.run([weft, 'fabric', 'names', fabric]))
	sources = read_sources(names)
	made = list(make_frames(read_paths(weft, fabric, pair), sources, pair))
	frames.write_pcap(path, [f for f, _, _ in made])
	out = compare.run([*compare.tshark(lua, path), '-o', f'mrc.names:{names}', '-T', 'fields',
		*(word for name in FIELDS for word in ('-e', name))])
	said = subprocess.run([weft, 'decode', '--fabric', fabric, path], check=True,
		capture_output=True, text=True).stdout.splitlines()
	faults = 0
	for line, one, (_, hops, along) in zip(out.splitlines(), said, made, strict=True):
		one = json.loads(one)
		if 'behavior: uA' in text:
			# A link's uSID says where it leads; of which switch, only before the first.
			along = along[1:] if not hops else []
		want = [str(one[key]) for key in ('from', 'plane', 'uplink')]
		want += [str(one.get('hops_to_go', '')), ','.join(along)]
		if line.split('\t') != want or one['from'] != pair[0]:
			faults += 1
			print(f'{fabric}, {hops} hops: wanted {want}, tshark says {line}')
	print(f'{len(made)} frames of {fabric}, {faults} faults')
	return faults or not made


def main(weft, lua, fabric):
	with tempfile.TemporaryDirectory() as folder:
		folder = pathlib.Path(folder)
		links = folder / 'links.yaml'
		links.write_text(pathlib.Path(fabric).read_text() + 'usid: {behavior: uA}\n')
		return any([check(weft, lua, fabric, folder), check(weft, lua, links, folder)])


if __name__ == '__main__':
	sys.exit(main(*sys.argv[1:]))
