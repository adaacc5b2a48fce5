#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py - the dissector for Wireshark against `weft decode`, field by field.

Usage: compare.py WEFT MRC.LUA SEED N

Over every vector, seed and capture of the tree, and over N random frames made of them: each key of
each JSON object must be a field of tshark's with this value, and what is concluded about a frame
(dropped or not, why, over which path) must be said by both or by neither.  A reported frame lies in
the capture that is named, and that one is kept.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import frames

# Concluded: said by both or by neither.  JSON's key, and Wireshark's field.
FACTS = dict(drop='mrc.drop', text='mrc.drop.text', offset='mrc.drop.offset', bit='mrc.drop.bit',
	field='mrc.drop.field', encap='mrc.encap', src='mrc.src', dst='mrc.dst', via='mrc.via',
	ev='mrc.ev', mark='mrc.mark', hop_limit='mrc.hop_limit', segments_left='mrc.segments_left',
	hops_to_go='mrc.hops_to_go', icrc='mrc.icrc')
# Read from headers: what the JSON has must be there; it leaves them out where a packet is dropped.
BTH = dict(op='mrc.op', dqpn='mrc.bth.dqpn', psn='mrc.bth.psn')
DATA = dict(msn='mrc.meth.msn', rqmsn='mrc.meth.rqmsn', ts='mrc.tseth.tx_timestamp',
	srqn='mrc.xrceth.srqn', va='mrc.reth.va', rkey='mrc.reth.rkey', msg_bytes='mrc.reth.dmalen',
	imm='mrc.immdt.imm', payload_bytes='mrc.payload_bytes')
CONTROL = dict(
	sack=dict(spdcid='mrc.seth.spdcid', m='mrc.m', psn_offset='mrc.seth.ack_psn_offset',
		probe_id='mrc.probe_id', echo_ev='mrc.seth.entropy', cack_psn='mrc.seth.cack_psn',
		sack_offset='mrc.seth.sack_offset', bitmap='mrc.seth.sack_bitmap',
		mpr_units='mrc.seth.mpr',
		ooo_pkts='mrc.cc_state.ooo_count', penalty='mrc.cc_state.rcv_cwnd_pen',
		restore_cwnd='mrc.cc_state.restore_cwnd', rcvd_units='mrc.cc_state.rcvd_bytes',
		ts='mrc.cc_state.tx_timestamp', cc_type='mrc.seth.cc_type',
		cc_flags='mrc.seth.cc_flags'),
	nack=dict(spdcid='mrc.neth.spdcid', reason='mrc.reason', nack_psn='mrc.neth.nack_psn',
		echo_ev='mrc.neth.entropy', ts='mrc.neth.tx_timestamp', cc_type='mrc.neth.cc_type',
		cc_flags='mrc.neth.cc_flags', rnr_timer='mrc.neth.vendor_info'),
	ack=dict(syndrome='mrc.syndrome', msn='mrc.aeth.msn'),
	probe=dict(spdcid='mrc.peth.spdcid', probe_id='mrc.peth.probe_id',
		ts='mrc.peth.tx_timestamp'),
	ep_request=dict(ep_op='mrc.ep_op', port_mask='mrc.erth.port_status_mask',
		ts='mrc.erth.tx_timestamp'),
	ep_response=dict(ep_op='mrc.ep_op', ts='mrc.eeth.tx_timestamp'))
FLAGS = dict(a='mrc.bth.a', solicited='mrc.bth.solicited', rtx='mrc.bth.rtx', ts='mrc.bth.ts',
	xrc='mrc.bth.xrc')
# Not of a packet, or compared by name below.
ELSEWHERE = {'n', 'time_ns', 'not_captured', 'src_port', 'dst_port', 'flags', *FACTS, *BTH}
SACKED = ('mrc.sacked', 'mrc.sacked.psn')
FIELDS = sorted({*FACTS.values(), *BTH.values(), *DATA.values(), *FLAGS.values(), *SACKED,
	*(name for table in CONTROL.values() for name in table.values())})
SIGNED = ('mrc.seth.ack_psn_offset', 'mrc.seth.sack_offset')
NOT_ALWAYS = ('mrc.bth.ts', 'mrc.bth.solicited', 'mrc.bth.xrc', 'mrc.seth.ack_psn_offset')
PSN_MASK = 0xFFFFFF


def value(word):
	"""A number where it is one, however it is written."""
	if isinstance(word, bool):
		return int(word)
	try:
		return int(word, 0) if isinstance(word, str) else word
	except ValueError:
		return word


def tshark(lua, path):
	return ['tshark', '-n', '-X', f'lua_script:{lua}', '-r', path]


def by_fields(lua, path, plain):
	"""Number of a frame -> field -> list of values, of all frames, by tshark -T fields."""
	command = [*tshark(lua, path), '-o', f'mrc.plain:{plain}', '-T', 'fields',
		'-E', 'separator=/t', '-E', 'aggregator=|', '-e', 'frame.number', '-e', '_ws.lua.error']
	for name in FIELDS:
		command += ['-e', name]
	out = run(command)
	found = {}
	for line in out.splitlines():
		number, error, *cells = line.split('\t')
		if error:
			sys.exit(f'{path}, frame {number}: {error}')
		found[int(number)] = {name: [value(word) for word in cell.split('|')]
			for name, cell in zip(FIELDS, cells) if cell}
	return found


def by_json(lua, path, plain):
	"""The same by tshark -T json, and all other fields of ours."""
	found = {}

	def flatten(node, into):
		for key, inner in node.items():
			for one in inner if isinstance(inner, list) else [inner]:
				if isinstance(one, dict):
					flatten(one, into)
				elif key.startswith('mrc.'):
					into.setdefault(key, []).append(value(one))

	out = run([*tshark(lua, path), '-o', f'mrc.plain:{plain}', '-T', 'json',
		'--no-duplicate-keys'])
	for packet in json.loads(out):
		layers = packet['_source']['layers']
		into = found[int(layers['frame']['frame.number'])] = {}
		flatten(layers, into)
	return found


def run(command):
	done = subprocess.run(command, check=False, capture_output=True, text=True)
	noise = [line for line in done.stderr.splitlines() if not line.startswith('Running as ')]
	if done.returncode or noise:
		command = ' '.join(map(str, command))
		sys.exit('\n'.join([command, f'ends with {done.returncode}', *noise[:9]]))
	return done.stdout


def by_weft(weft, path, plain):
	"""Number of a frame -> what `weft decode` says; nothing of frames that are not MRC's."""
	done = subprocess.run([weft, 'decode', '--plain', plain, path], check=False,
		stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
	if done.returncode not in (0, 1):
		sys.exit(f'{weft} decode {path} ends with {done.returncode}')
	return {said['n']: said for said in map(json.loads, done.stdout.splitlines())}


def sacked(said):
	"""The PSNs that a bitmap names, as numbers and as ranges."""
	first = said['cack_psn'] + said['sack_offset']
	bits = [i for i in range(64) if int(said['bitmap'], 16) >> i & 1]
	ranges = []
	for i in bits:
		if ranges and ranges[-1][1] == i - 1:
			ranges[-1][1] = i
		else:
			ranges.append([i, i])
	words = ', '.join('-'.join(str(first + i & PSN_MASK) for i in dict.fromkeys(pair))
		for pair in ranges)
	return [first + i & PSN_MASK for i in bits], [value(words)] if words else []


def differences(said, found):
	"""Of one frame; said: None where weft passes it over."""
	table = dict(FACTS)
	has_op = said is not None and 'op' in said
	body = {}
	if has_op:
		table.update(BTH)
		body = CONTROL.get(said['op'], DATA)
	for key, name in table.items():
		want = [] if said is None or key not in said else said[key]
		want = [value(word) for word in (want if isinstance(want, list) else [want])]
		yield name, want, found.get(name, [])
	if not has_op:
		return
	for word, name in FLAGS.items():
		yield name, word in said['flags'], found.get(name) == [1]
	for key, word in said.items():
		if key in body:
			want = [value(word)]
			if key == 'ts' and body is DATA and 'ts' not in said['flags']:
				want = []  # the JSON has a zero, the packet nothing
			yield body[key], want, found.get(body[key], [])
		elif key not in ELSEWHERE:
			yield f'no field for {key}', word, None
	if 'bitmap' in said:
		psns, ranges = sacked(said)
		yield SACKED[1], psns, found.get(SACKED[1], [])
		yield SACKED[0], ranges, [word for word in found.get(SACKED[0], []) if word != '']


def headers_by_weft(weft, path, plain):
	"""Number of a frame -> field -> its value, of all fields that `weft decode --fields` prints."""
	done = subprocess.run([weft, 'decode', '--fields', '--plain', plain, path], check=False,
		stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
	found, number = {}, None
	for line in done.stdout.splitlines():
		packet = re.match(r' *(\d+)  \S', line[:10])
		row = re.match(r' +\d+  ([A-Z]\w+) +(\w+) +(\S+)', line)
		if row:
			found[number][f'mrc.{row[1].lower()}.{row[2]}'] = int(row[3], 0)
		elif packet:
			number = int(packet[1])
			found[number] = {}
	return found


def header_differences(said, headers, found):
	"""Of one frame; said: its JSON.  What does not apply to its opcode is not shown by tshark."""
	is_whole = 'drop' not in said and 'not_captured' not in said
	is_cut = any('trimmed' in mark for mark in said.get('mark', []))
	for name, word in headers.items():
		have = found.get(name, [])
		if name in SIGNED and word >= 0x8000:
			word -= 0x10000
		elsewhere = name in NOT_ALWAYS or (is_cut and name.startswith(('mrc.reth', 'mrc.xrceth',
			'mrc.immdt')))
		if have or (is_whole and not elsewhere):
			yield name, [word], have


class Judge:
	def __init__(self, weft, lua):
		self.weft, self.lua = weft, lua
		self.frames = self.packets = self.drops = self.fields = self.headers = self.faults = 0
		self.seen = {}

	def compare(self, path, plain, reader, title):
		said = by_weft(self.weft, path, plain)
		found = reader(self.lua, path, plain)
		if not set(said) <= set(found):
			sys.exit(f'{title}: tshark has read {len(found)} frames, weft more')
		for number, fields in found.items():
			one = said.get(number)
			self.frames += 1
			if one:
				self.packets += 'drop' not in one
				self.drops += 'drop' in one
				word = one.get('op', '') + ' ' + one.get('drop', 'packet')
				self.seen[word] = self.seen.get(word, 0) + 1
			for name, want, have in differences(one, fields):
				self.fields += 1
				if want != have:
					self.report(f'{title} ({path}), frame {number}: {name}: '
						f'weft {want}, tshark {have}')

	def compare_headers(self, path, plain, title):
		said = by_weft(self.weft, path, plain)
		headers = headers_by_weft(self.weft, path, plain)
		found = by_json(self.lua, path, plain)
		for number, one in said.items():
			for name, want, have in header_differences(one, headers[number], found[number]):
				self.headers += 1
				if want != have:
					self.report(f'{title} ({path}), frame {number}: {name}: '
						f'weft {want}, tshark {have}')

	def report(self, text):
		self.faults += 1
		if self.faults <= 20:
			print(text)


def main(weft, lua, seed, n):
	folder = pathlib.Path(tempfile.mkdtemp())
	os.environ['XDG_CONFIG_HOME'] = os.environ['HOME'] = str(folder)  # nobody's own settings
	if 'mrc.lua' in run(['tshark', '-G', 'plugins']):
		sys.exit('an mrc.lua is installed: Wireshark would take that one')
	judge = Judge(weft, lua)
	own, made = list(frames.vectors()), frames.random_frames(int(seed), int(n))
	for plain in frames.PLAINS:
		if judge.faults:
			break
		path = folder / f'own-{plain}.pcap'
		frames.write_pcap(path, [f for f in own if f.plain == plain])
		judge.compare(path, plain, by_json, 'vectors and seeds')
		judge.compare(path, plain, by_fields, 'vectors and seeds')
		judge.compare_headers(path, plain, 'vectors and seeds')
		path = folder / f'random-{plain}.pcap'
		frames.write_pcap(path, [f for f in made if f.plain == plain])
		judge.compare(path, plain, by_fields, f'seed {seed}')
		path = folder / f'headers-{plain}.pcap'
		frames.write_pcap(path, [f for f in made if f.plain == plain][:1000])
		judge.compare_headers(path, plain, f'seed {seed}')
	for link in frames.LINKS:
		path = folder / f'link-{link}.pcap'
		frames.write_pcap(path, [f for f in own if f.plain == 'usid'], link)
		judge.compare(path, 'usid', by_fields, f'link type {link}')
	for path in frames.captures():
		judge.compare(path, 'usid', by_fields, path.name)
	print(f'{judge.frames} frames, {judge.packets} packets and {judge.drops} drops of '
		f'{len(judge.seen)} kinds, {judge.fields} facts and {judge.headers} fields of headers '
		f'compared, {judge.faults} differ')
	if not judge.packets or not judge.drops or not judge.headers or judge.faults:
		print(f'captures are kept in {folder}')
		return 1
	shutil.rmtree(folder)
	return 0


if __name__ == '__main__':
	sys.exit(main(*sys.argv[1:]))
