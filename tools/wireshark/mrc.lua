-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc - MRC (Multipath Reliable Connection) in Wireshark and tshark: docs/decode.md.
--
-- Wireshark calls a dissector by UDP port; but an MRC packet has its EV in the source port, which
-- may be anybody's (Wireshark asks the lower of the two numbers first), and a frame that a receiver
-- would drop may be one whose IP or UDP Wireshark itself gives up.  So there are two: one by port,
-- in whose tree the packet belongs, and a postdissector, which sees every frame and shows what the
-- first was not asked about.  Both judge the frame from its first IP header on, by its own bytes.
--
-- Wireshark loads every file of its plugin folder by itself, in any order; the parts of this one
-- (mrc_*.lua) do nothing when loaded so.
local is_known, known = pcall(Dissector.get, 'mrc')
if is_known and known then return end -- installed, and named on the command line as well
local here = debug.getinfo(1, 'S').source:match('^@(.*[/\\])') or ''
local judge = dofile(here .. 'mrc_judge.lua')
local fields = dofile(here .. 'mrc_fields.lua')
local tree = dofile(here .. 'mrc_tree.lua')
local names = dofile(here .. 'mrc_names.lua')
local taps = dofile(here .. 'mrc_taps.lua')
local mrc = Proto('mrc', 'MRC')
local rest = Proto('mrc_rest', 'MRC that no UDP dissector was asked about')

fields.make_all(mrc, judge.outside.wire)
tree.init(judge.outside, fields)

local ROCE_PORT = 4791 -- MRC has the same
local OPCODES_OF_MAKERS = 0xc0 -- below: services of IBTA's, RoCEv2's
local PLAINS = { 'usid', 'stev', 'udp_port' }

mrc.prefs.ports = Pref.range('UDP ports', '4791,4971',
	'RoCEv2\'s, and the one that the specification prints', 65535)
mrc.prefs.plain = Pref.enum('EV of plain IPv6', 1,
	'In the address (native uSID), in source port and flow label, or in the port alone',
	{ { 1, 'usid', 1 }, { 2, 'stev', 2 }, { 3, 'udp_port', 3 } }, false)
mrc.prefs.trimmed = Pref.uint('DSCP of trimmed packets', 16, 'What switches write that cut')
mrc.prefs.trimmed_lasthop = Pref.uint('DSCP of packets trimmed at the last hop', 18,
	'What the destination\'s own switch writes')
mrc.prefs.names = Pref.string('File of names', '', 'What `weft fabric names FABRIC` has written')
mrc.prefs.icrc = Pref.bool('Check the ICRC', true, 'Takes a third of a millisecond for 4 KiB')

local udp_ports = DissectorTable.get('udp.port')
local roce = udp_ports:get_dissector(ROCE_PORT)
local ports, added = {}, ''
local config = { is_ours = function(port) return ports[port] end }

-- "4791,4971" as a set.
local function parse_ports(text)
	local set = {}

	for first, last in text:gmatch('(%d+)%-?(%d*)') do
		for port = tonumber(first), tonumber(last) or tonumber(first) do
			set[port] = true
		end
	end
	return set
end

local names_path = ''

local function take_names()
	if names_path == mrc.prefs.names then return end
	names_path, tree.names = mrc.prefs.names, nil
	if names_path == '' then return end
	local found, why = names.open(names_path)

	if not found then report_failure('mrc.names: ' .. why) end
	tree.names = found
end

local function take_prefs()
	config.plain = PLAINS[mrc.prefs.plain]
	config.trimmed, config.trimmed_lasthop = mrc.prefs.trimmed, mrc.prefs.trimmed_lasthop
	config.icrc = mrc.prefs.icrc
	take_names()
	if added == mrc.prefs.ports then return end
	if added ~= '' then udp_ports:remove(added, mrc) end
	added, ports = mrc.prefs.ports, parse_ports(mrc.prefs.ports)
	if added ~= '' then udp_ports:add(added, mrc) end
end

-- Where the first IP header is: fields of the dissectors that have run.
local ip_field, ipv6_field = Field.new('ip'), Field.new('ipv6')

-- Fields exist only where Wireshark builds a tree, which it does if a listener may want one.
local want_tree = Listener.new('frame', 'mrc')

function want_tree.packet() end

local function first_ip()
	local ip, ipv6 = ip_field(), ipv6_field()

	if ip and ipv6 then return ip.offset < ipv6.offset and ip or ipv6 end
	return ip or ipv6
end

-- Of the frame under dissection: whether the postdissector has anything to do, and for the taps.
local shown, judged, judged_number = false, nil, 0

local function set_columns(pinfo, words)
	pinfo.cols.protocol:set('MRC')
	pinfo.cols.info:set(words)
end

-- RoCEv2's own, on its port; what it throws of a malformed packet it has shown already.
local function dissect_roce(tvb, pinfo, root)
	if not roce or pinfo.dst_port ~= ROCE_PORT then return 0 end
	pcall(roce.call, roce, tvb, pinfo, root)
	return tvb:len()
end

function mrc.dissector(tvb, pinfo, root)
	if not ports[pinfo.dst_port] then return 0 end
	local ip = first_ip()
	local d = ip and judge.frame(ip.source:raw(), pinfo.len, ip.offset + 1, config)

	shown = true
	if not (d and (d.drop or d.what == 'packet')) and tvb:len() > 0 and
			tvb(0, 1):uint() < OPCODES_OF_MAKERS then
		return dissect_roce(tvb, pinfo, root)
	end
	-- A packet in a tunnel, or quoted by ICMP: the frame is not MRC's.
	if d and d.has_outside and d.outside.bth_at - 1 ~= tvb:offset() then d = nil end
	local item = root:add(mrc, tvb())
	local bytes = d and d.has_outside and math.min(d.outside.bytes, tvb:len()) or tvb:len()

	set_columns(pinfo, tree.show(item, tvb, 0, bytes, d))
	judged, judged_number = d, pinfo.number
	return tvb:len()
end

function rest.dissector(tvb, pinfo, root)
	local was_shown = shown
	local ip = not was_shown and first_ip()

	shown = false
	if not ip then return end
	local d = judge.frame(tvb:raw(), pinfo.len, ip.offset + 1, config)

	if d.what ~= 'drop' and d.what ~= 'packet' then return end
	local at = d.has_outside and d.outside.bth_at - 1 or ip.offset
	local bytes = d.has_outside and math.min(d.outside.bytes, tvb:len() - at) or 0
	local item = root:add(mrc, bytes > 0 and tvb(at, bytes) or tvb(ip.offset))

	set_columns(pinfo, tree.show(item, tvb, at, math.max(bytes, 0), d))
	judged, judged_number = d, pinfo.number
end

mrc.prefs_changed = take_prefs
take_prefs()
register_postdissector(rest)
taps.register(function(number) return judged_number == number and judged or nil end, judge.outside)
