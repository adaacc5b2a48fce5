-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_outside - what stands around an MRC datagram: IP, SRv6, UDP, marks, the EV.
--
-- Follows src/core/wire/encap and src/fabric/decode/dissect.c step by step, on the frame's own
-- bytes and not on what Wireshark's dissectors made of them: those are lenient where a receiver is
-- not, and the other way round.  Positions count from 1, bits from 0 and from the frame's first.
local here = debug.getinfo(1, 'S').source:match('^@(.*[/\\])') or ''
local wire = dofile(here .. 'mrc_wire.lua')
local outside = { wire = wire }

local byte, sub, rep = string.byte, string.sub, string.rep
local floor = math.floor

local HEADERS_MAX = 10 -- in front of UDP
local OPTIONS, ROUTING, FRAGMENT, UDP, IPV4, IPV6 = 60, 43, 44, 17, 4, 41
local USID_SLOTS = 6

local function nibble(s, at)
	return floor(byte(s, at) / 16)
end

-- ---- whose it is ----

-- One header: its bytes, and what the next is; 0: nothing that leads to UDP.
local function pass_header(s, at, left, next)
	if next == IPV4 then
		if left < 20 then return left, next end
		if nibble(s, at) ~= 4 then return 0, next end
		local behind = byte(s, at + 6) % 32 ~= 0 or byte(s, at + 7) ~= 0
		return math.max(4 * (byte(s, at) % 16), 20), behind and -1 or byte(s, at + 9)
	elseif next == IPV6 then
		if left < 40 then return left, next end
		return nibble(s, at) == 6 and 40 or 0, byte(s, at + 6)
	elseif next == FRAGMENT then
		if left < 8 then return left, next end
		local behind = byte(s, at + 2) ~= 0 or byte(s, at + 3) >= 8
		return 8, behind and -1 or byte(s, at)
	elseif next == 0 or next == ROUTING or next == OPTIONS then
		if left < 2 then return left, next end
		return 8 * (byte(s, at + 1) + 1), byte(s, at)
	end
	return 0, next
end

-- By the bytes that were captured alone: 'mrc', 'other' or 'unseen'.
function outside.owner(s, ip_at, is_cut, is_ours)
	local unseen = is_cut and 'unseen' or 'other'
	local at, next = ip_at, nibble(s, ip_at) == 4 and IPV4 or IPV6
	local bytes

	for _ = 1, HEADERS_MAX do
		if next == UDP then break end
		bytes, next = pass_header(s, at, #s - at + 1, next)
		if bytes == 0 then return 'other' end
		at = at + bytes
		if at > #s then return unseen end
	end
	if next ~= UDP then return 'other' end
	if #s < at + 3 then return unseen end
	if not is_ours(wire.get16(s, at + 2)) then return 'other' end
	return #s < at + 7 and is_cut and 'unseen' or 'mrc'
end

-- ---- the receiver's parser ----

local MAPPED = rep('\0', 10) .. '\xff\xff'

-- Every parser returns nothing on success, or the reason and the bit.
local function get_ipv6(s, at, left, view)
	if left < 40 then return 'truncated', 8 * (at - 1 + left) end
	view.src, view.dst = sub(s, at + 8, at + 23), sub(s, at + 24, at + 39)
	-- A mapped source never crosses a wire (RFC 4291).
	if sub(view.src, 1, 12) == MAPPED then return 'bad_field', 8 * (at - 1 + 8) end
	view.tclass = nibble(s, at + 1) + byte(s, at) % 16 * 16
	view.flow_label = wire.get24(s, at + 1) % 0x100000
	view.next, view.hop_limit = byte(s, at + 6), byte(s, at + 7)
	view.id = nil
	view.body, view.bytes = at + 40, wire.get16(s, at + 4)
end

local function get_ipv4(s, at, left, view)
	if left < 20 then return 'truncated', 8 * (at - 1 + left) end
	if byte(s, at) % 16 ~= 5 then return 'bad_field', 8 * (at - 1) + 4 end
	if wire.get16(s, at + 2) < 20 then return 'truncated', 8 * (at - 1 + 2) end
	if wire.get16(s, at + 6) % 0x4000 ~= 0 then return 'bad_field', 8 * (at - 1 + 6) end
	view.src, view.dst = sub(s, at + 12, at + 15), sub(s, at + 16, at + 19)
	view.tclass, view.flow_label = byte(s, at + 1), 0
	view.next, view.hop_limit = byte(s, at + 9), byte(s, at + 8)
	view.id = sub(s, at + 4, at + 7)
	view.body, view.bytes = at + 20, wire.get16(s, at + 2) - 20
end

-- left: bytes from `at` on.  short_ok: trimmed, so that lengths are bounds and not promises.
local function get_ip(s, at, left, short_ok, view)
	if left == 0 then return 'truncated', 8 * (at - 1) end
	local version, drop, bit = nibble(s, at), nil, nil

	if version == 6 then
		drop, bit = get_ipv6(s, at, left, view)
	elseif version == 4 then
		drop, bit = get_ipv4(s, at, left, view)
	else
		return 'not_mrc', 8 * (at - 1)
	end
	if drop then return drop, bit end
	local there = left - (view.body - at)

	if view.bytes > there and not short_ok then
		return 'truncated', 8 * (at - 1 + left)
	end
	view.bytes = math.min(view.bytes, there)
end

-- Steps over an SRH (RFC 8754) at the start of the body.
local function skip_srh(s, view, a)
	local at = view.body
	local bytes = view.bytes >= 8 and 8 * (byte(s, at + 1) + 1) or 8

	if view.bytes < bytes then return 'truncated', 8 * (at - 1 + view.bytes) end
	if byte(s, at + 2) ~= 4 then return 'not_mrc', 8 * (at - 1 + 2) end
	if 2 * byte(s, at + 3) > byte(s, at + 1) then return 'bad_field', 8 * (at - 1 + 3) end
	if byte(s, at) ~= IPV6 then return 'not_mrc', 8 * (at - 1) end
	a.segments_left = byte(s, at + 3)
	view.body, view.bytes = at + bytes, view.bytes - bytes
end

local function get_srv6(s, view, short_ok, a)
	local outer_ce = view.tclass % 4 == 3

	if view.next == ROUTING then
		local drop, bit = skip_srh(s, view, a)
		if drop then return drop, bit end
	end
	local at = view.body

	if view.bytes > 0 and nibble(s, at) ~= 6 then return 'not_mrc', 8 * (at - 1) end
	local drop, bit = get_ip(s, at, view.bytes, short_ok, view)

	if drop then return drop, bit end
	if outer_ce and view.tclass % 4 == 0 then
		return 'bad_field', 8 * (at - 1) + 10 -- RFC 6040, 4.2
	end
	a.ce = a.ce or view.tclass % 4 == 3
end

local function get_udp(s, view, short_ok, a)
	local at = view.body

	if view.next ~= UDP then return 'not_mrc', 8 * (at - 1) end
	if view.bytes < 8 then return 'truncated', 8 * (at - 1 + view.bytes) end
	local length = wire.get16(s, at + 4)

	if length ~= view.bytes and not short_ok then
		return length > view.bytes and 'truncated' or 'bad_length', 8 * (at - 1 + 4)
	end
	a.flow = { src = view.src, dst = view.dst, ports = sub(s, at, at + 3), id = view.id }
	a.src_port, a.dst_port = wire.get16(s, at), wire.get16(s, at + 2)
	a.bth_at, a.bytes = at + 8, view.bytes - 8
end

-- The carrier after this many hops have each used up one uSID (RFC 9800, blocks of 32 bits).
function outside.usid_shift(carrier, hops)
	return sub(carrier, 1, 4) .. sub(carrier, 5 + 2 * hops) .. rep('\0', 2 * hops)
end

-- Native uSID: the EV stands behind the uSID of the host that it has arrived at.
local function usid_ev(dst)
	return wire.get32(dst, 7)
end

-- What the outside of a frame tells a receiver: a table, and the reason to drop it, the bit.
-- config: plain ('usid', 'stev', 'udp_port'), trimmed, trimmed_lasthop (DSCPs).
function outside.parse(s, ip_at, config)
	local left = #s - ip_at + 1
	local a, view, tclass = { encap = config.plain, segments_left = 0 }, {}, 0

	if left >= 2 then
		tclass = nibble(s, ip_at) == 4 and byte(s, ip_at + 1) or
			nibble(s, ip_at + 1) + byte(s, ip_at) % 16 * 16
	end
	a.ce = tclass % 4 == 3
	local dscp = floor(tclass / 4)

	a.trimmed = dscp == config.trimmed
	a.trimmed_lasthop = not a.trimmed and dscp == config.trimmed_lasthop
	a.is_cut = a.trimmed or a.trimmed_lasthop
	local drop, bit = get_ip(s, ip_at, left, a.is_cut, view)

	if drop then return a, drop, bit end
	a.hop_limit, a.via = view.hop_limit, view.dst
	if nibble(s, ip_at) == 4 then
		a.encap = 'udp_port'
	elseif view.next == IPV6 or view.next == ROUTING then
		a.encap = 'srv6'
		drop, bit = get_srv6(s, view, a.is_cut, a)
		if drop then return a, drop, bit end
	end
	drop, bit = get_udp(s, view, a.is_cut, a)
	if drop then return a, drop, bit end
	a.ev = a.encap == 'usid' and usid_ev(a.flow.dst) or a.encap == 'udp_port' and a.src_port or
		a.src_port * 65536 + view.flow_label % 65536
	return a
end

-- A native uSID packet that has hops to go carries the ICRC of its arrival.
function outside.find_hops(icrc, s, a)
	for hops = 1, USID_SLOTS - 1 do
		local flow = { src = a.flow.src, dst = outside.usid_shift(a.flow.dst, hops),
			ports = a.flow.ports }

		if icrc.matches(flow, s, a.bth_at, a.bytes) then
			a.hops_to_go, a.flow, a.ev = hops, flow, usid_ev(flow.dst)
			return true
		end
	end
	return false
end

-- ---- names of the bits in front of BTH ----

local ipv6_fields = { name = 'IPv6', { 'version', 0, 4 }, { 'traffic_class', 4, 8 },
	{ 'flow_label', 12, 20 }, { 'payload_length', 32, 16 }, { 'next_header', 48, 8 },
	{ 'hop_limit', 56, 8 }, { 'source', 64, 128 }, { 'destination', 192, 128 } }
local ipv4_fields = { name = 'IPv4', { 'version', 0, 4 }, { 'header_length', 4, 4 },
	{ 'tos', 8, 8 }, { 'total_length', 16, 16 }, { 'id', 32, 16 }, { 'fragment', 48, 16 },
	{ 'ttl', 64, 8 }, { 'protocol', 72, 8 }, { 'checksum', 80, 16 }, { 'source', 96, 32 },
	{ 'destination', 128, 32 } }
local udp_fields = { name = 'UDP', { 'source_port', 0, 16 }, { 'destination_port', 16, 16 },
	{ 'length', 32, 16 }, { 'checksum', 48, 16 } }
local srh_fields = { name = 'SRH', { 'next_header', 0, 8 }, { 'length', 8, 8 },
	{ 'type', 16, 8 }, { 'segments_left', 24, 8 }, { 'flags', 32, 32 }, { 'segment', 64, 128 } }

-- Walks the headers in front of BTH, each told by the one before it; "" if none has a name.
function outside.field_name(s, ip_at, bit)
	local at, next = ip_at, 0

	if bit < 8 * (ip_at - 1) then return '' end
	for header = 1, 4 do
		if at > #s then return '' end
		local ipv4 = header == 1 and nibble(s, at) == 4
		local fields = next == UDP and udp_fields or next == ROUTING and srh_fields or
			ipv4 and ipv4_fields or ipv6_fields
		local bytes = next == UDP and 8 or
			next == ROUTING and at < #s and 8 * (byte(s, at + 1) + 1) or
			ipv4 and 20 or 40

		if bit < 8 * (at - 1 + bytes) then
			local inner = bit - 8 * (at - 1)

			for _, row in ipairs(fields) do
				if inner >= row[2] and inner < row[2] + row[3] then
					return fields.name .. '.' .. row[1]
				end
			end
			return ''
		end
		if next == UDP or at + 9 > #s then return '' end
		next = byte(s, at + (next == ROUTING and 0 or ipv4 and 9 or 6))
		at = at + bytes
	end
	return ''
end

-- ---- addresses as inet_ntop() and RFC 5952 write them ----

local function ipv4_text(s, at)
	return table.concat({ byte(s, at, at + 3) }, '.')
end

-- The longest run of zero words, the first of equals, at least two: where and how many.
local function find_zeros(words)
	local best, length, run = 0, 1, 0

	for i = 1, 8 do
		run = words[i] == 0 and run + 1 or 0
		if run > length then
			best, length = i - run + 1, run
		end
	end
	return best, length
end

function outside.address_text(s)
	if #s == 4 then return ipv4_text(s, 1) end
	local words, out = {}, {}

	for i = 1, 8 do
		words[i] = wire.get16(s, 2 * i - 1)
	end
	local zeros, length = find_zeros(words)

	if zeros == 1 and (length == 6 or (length == 5 and words[6] == 0xffff)) then
		return (length == 6 and '::' or '::ffff:') .. ipv4_text(s, 13)
	end
	for i = 1, 8 do
		if zeros == 0 or i < zeros or i >= zeros + length then
			out[#out + 1] = string.format('%x', words[i])
		elseif i == zeros then
			out[#out + 1] = (i == 1 and ':' or '') .. (i + length == 9 and ':' or '')
		end
	end
	return table.concat(out, ':')
end

return outside
