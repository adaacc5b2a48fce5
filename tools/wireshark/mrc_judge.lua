-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_judge - one frame as its receiver would take it: src/fabric/decode/dissect.c, in Lua.
--
-- Three things a host has not to think of.  A capture may be taken in the middle of a path, where
-- a native uSID address is not used up yet: the ICRC, which covers the address on arrival, tells
-- how many hops are to go.  It may hold only the beginning of each frame: the rest is taken as
-- zeros, and nothing is said that depends on it.  And most of what it holds may be somebody
-- else's: a frame is judged only when its UDP port is MRC's and its opcode none of RoCEv2's.
local here = debug.getinfo(1, 'S').source:match('^@(.*[/\\])') or ''
local outside = dofile(here .. 'mrc_outside.lua')
local icrc = dofile(here .. 'mrc_icrc.lua')
local wire = outside.wire
local judge = { outside = outside }

local FRAME_MAX = 65536 + 64
local OPCODES_OF_MAKERS = 0xc0 -- below: services of IBTA's, RoCEv2's

local function check_icrc(s, d, is_cut, config)
	local a = d.outside

	if a.is_cut then return 'absent' end
	if is_cut then return 'not_captured' end
	if not config.icrc then return 'unknown' end
	if icrc.matches(a.flow, s, a.bth_at, a.bytes) or
			(a.encap == 'usid' and outside.find_hops(icrc, s, a)) then
		return 'ok'
	end
	return 'bad'
end

-- n: bytes captured; s may be longer, then by zeros.
local function read_datagram(s, n, d, config)
	local a = d.outside
	local is_cut, has_bth = #s > n, n >= a.bth_at - 1 + wire.BTH_BYTES
	local pkt, drop, bit = wire.decode(s, a.bth_at, a.bytes, a.is_cut)

	d.pkt, d.refused = pkt, drop
	if drop then
		bit = bit + 8 * (a.bth_at - 1)
	end
	if is_cut then
		d.headers_cut = not has_bth or
			n < a.bth_at - 1 + wire.headers(pkt.op or 0, pkt.flags or 0).bytes
	end
	-- What BTH itself forbids has been seen; lengths there have to do with what has not.
	local of_bth = drop and has_bth and drop ~= 'bad_length' and
		bit < 8 * (a.bth_at - 1 + wire.BTH_BYTES)

	if drop and (of_bth or not is_cut or not (d.headers_cut or bit >= 8 * n)) then
		d.what, d.drop, d.bit = 'drop', drop, bit
		return
	end
	d.has_packet, d.what = has_bth, 'packet'
	if drop then
		d.headers_cut, d.icrc = true, 'not_captured'
		return
	end
	d.icrc = check_icrc(s, d, is_cut, config)
	if d.icrc == 'bad' then
		d.what, d.drop = 'drop', 'bad_icrc'
		d.bit = 8 * (a.bth_at - 1 + a.bytes - wire.ICRC_BYTES)
	end
end

local function is_roce(s, d)
	local a = d.outside

	return d.refused == 'not_mrc' and a.bytes >= wire.BTH_BYTES and
		string.byte(s, a.bth_at) < OPCODES_OF_MAKERS
end

local function find_field(s, ip_at, d)
	local a = d.outside

	if not a.ev or d.bit < 8 * (a.bth_at - 1) then
		return outside.field_name(s, ip_at, d.bit)
	end
	local name = #s >= a.bth_at + 8 and wire.field_name(string.byte(s, a.bth_at),
		string.byte(s, a.bth_at + 8), d.bit - 8 * (a.bth_at - 1))

	return name or (d.drop == 'bad_icrc' and 'ICRC') or ''
end

-- s: the frame's captured bytes; wire_bytes: there were; ip_at: of the first IP header, from 1.
-- config: outside.parse()'s, is_ours(port), icrc (whether to look at it).
-- Returns { what = 'other', 'cut', 'drop', 'packet'; outside; pkt; drop, bit, field; ... }.
function judge.frame(s, wire_bytes, ip_at, config)
	local n, d = #s, { what = 'other' }
	local is_cut = wire_bytes > n

	if math.max(n, wire_bytes) > FRAME_MAX then return d end
	if ip_at > n then
		d.what = is_cut and 'cut' or 'other'
		return d
	end
	local owner = outside.owner(s, ip_at, is_cut, config.is_ours)

	if owner ~= 'mrc' then
		d.what = owner == 'unseen' and 'cut' or 'other'
		return d
	end
	local whole = is_cut and s .. string.rep('\0', wire_bytes - n) or s
	local drop, bit

	d.outside, drop, bit = outside.parse(whole, ip_at, config)
	if drop == 'not_mrc' then return d end
	if drop and is_cut and bit >= 8 * n then
		d.what = 'cut'
		return d
	end
	if drop then
		d.what, d.drop, d.bit = 'drop', drop, bit
	else
		d.has_outside = true
		if is_cut and d.outside.bth_at > n then -- MRC's or RoCEv2's: the opcode would tell
			d.what = 'cut'
			return d
		end
		read_datagram(whole, n, d, config)
		if is_roce(whole, d) or not config.is_ours(d.outside.dst_port) then
			return { what = 'other' }
		end
	end
	if d.drop then
		d.field = find_field(s, ip_at, d)
	end
	return d
end

return judge
