-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_wire - MRC's headers as a table, and what a receiver would refuse of them.
--
-- The same statements as src/core/wire/v1.c and wire_fields.c, made a third time because
-- Wireshark's Lua cannot call them; tests/wireshark/check.sh holds the two together.  The
-- table serves for all that is shown: fields of Wireshark, the tree, and the name of the bit that
-- is wrong.  The order of the checks is the receiver's, since only the first fault is told.
--
-- Bytes are strings, positions count from 1 as Lua's do; `at` is where BTH begins.  Numbers of
-- bits count from 0, from the first byte of BTH, as weft_wire_fault does.
local wire = {}

local byte = string.byte

wire.MTU_MAX = 8192
wire.ICRC_BYTES = 4
wire.BTH_BYTES = 12
wire.ENDPOINT_QPN = 2
-- BTH byte 8
wire.ACK_REQ, wire.SOLICITED, wire.RTX, wire.TS, wire.XRC = 0x80, 0x40, 0x20, 0x10, 0x08

wire.op_names = {
	[0xC6] = 'write_first', [0xC7] = 'write_middle', [0xC8] = 'write_last',
	[0xC9] = 'write_last_imm', [0xCA] = 'write_only', [0xCB] = 'write_only_imm',
	[0xD1] = 'ack', [0xD8] = 'ep_request', [0xD9] = 'ep_response', [0xDC] = 'sack',
	[0xDD] = 'nack', [0xDE] = 'probe',
	-- Weft's extended profile, docs/decisions/110
	[0xE0] = 'send_first', [0xE1] = 'send_middle', [0xE2] = 'send_last',
	[0xE3] = 'send_last_imm', [0xE4] = 'send_only', [0xE5] = 'send_only_imm',
	[0xE6] = 'xrc_write_first', [0xE7] = 'xrc_write_middle', [0xE8] = 'xrc_write_last',
	[0xE9] = 'xrc_write_last_imm', [0xEA] = 'xrc_write_only', [0xEB] = 'xrc_write_only_imm',
	[0xEC] = 'read_request', [0xED] = 'reply_first', [0xEE] = 'reply_middle',
	[0xEF] = 'reply_last', [0xF0] = 'reply_only', [0xF2] = 'reply_refused',
	[0xF3] = 'cmp_swap', [0xF4] = 'fetch_add', [0xF8] = 'datagram', [0xF9] = 'datagram_imm',
}
wire.reasons = { [0x01] = 'trimmed', [0x02] = 'trimmed_lasthop', [0x06] = 'no_bitmap',
	[0x07] = 'no_pkt_buffer', [0x0A] = 'no_resource', [0x0B] = 'psn_oor_window',
	[0x19] = 'unexp_event', [0xE0] = 'rnr' }
wire.syndromes = { [0x1F] = 'ack', [0x60] = 'nak_psn_sequence', [0x61] = 'nak_invalid_request',
	[0x62] = 'nak_remote_access', [0x63] = 'nak_remote_operation' }
wire.ms = { [0] = 'none', 'skip_once', 'always_skip' }
wire.ep_ops = { [0] = 'port_status', 'ev_probe' }
-- As include/weft/drops.def has them: those that follow from one packet alone.
wire.drops = {
	truncated = 'shorter than its headers say',
	oversized = 'longer than its headers or the MTU allow',
	not_mrc = 'opcode outside the MRC group, or not known in it',
	bad_tver = 'transport version is not 0',
	bad_icrc = 'invariant CRC does not match',
	bad_field = 'a header field has a value that the protocol forbids',
	bad_length = 'payload length does not fit the packet\'s place in its message',
}

-- { name, first bit, bits }.  Further words: how a value is shown, see mrc_fields.lua.
wire.BTH = { name = 'BTH', bytes = 12,
	{ 'opcode', 0, 8, names = wire.op_names, hex = true }, { 'se', 8, 1 }, { 'm', 9, 1 },
	{ 'padcnt', 10, 2 }, { 'tver', 12, 4 }, { 'pkey', 16, 16, hex = true }, { 'dqpn', 40, 24 },
	{ 'a', 64, 1 }, { 'solicited', 65, 1 }, { 'rtx', 66, 1 }, { 'ts', 67, 1 },
	{ 'xrc', 68, 1 }, { 'psn', 72, 24 } }
wire.METH = { name = 'METH', bytes = 4, { 'rqmsn', 0, 16 }, { 'msn', 16, 16 } }
wire.TSETH = { name = 'TSETH', bytes = 4,
	{ 'tx_timestamp', 0, 16 }, { 'tsr', 16, 1 }, { 'ftype', 28, 4 } }
wire.XRCETH = { name = 'XRCETH', bytes = 4, { 'srqn', 8, 24, hex = true } }
wire.RETH = { name = 'RETH', bytes = 16,
	{ 'va', 0, 64, hex = true }, { 'rkey', 64, 32, hex = true }, { 'dmalen', 96, 32 } }
wire.ImmDt = { name = 'ImmDt', bytes = 4, { 'imm', 0, 32, hex = true } }
wire.AETH = { name = 'AETH', bytes = 4,
	{ 'syndrome', 0, 8, names = wire.syndromes, hex = true }, { 'msn', 8, 24 } }
wire.SETH = { name = 'SETH', bytes = 28,
	{ 'nxt', 4, 5 }, { 'm', 9, 2, names = wire.ms }, { 'pr', 14, 1 },
	{ 'ack_psn_offset', 16, 16, signed = true }, { 'entropy', 32, 32, hex = true },
	{ 'spdcid', 64, 16 }, { 'dpdcid', 80, 16 }, { 'cack_psn', 104, 24 },
	{ 'cc_type', 128, 4 }, { 'cc_flags', 132, 4 }, { 'mpr', 136, 8 },
	{ 'sack_offset', 144, 16, signed = true }, { 'sack_bitmap', 160, 64, hex = true } }
wire.CC_STATE = { name = 'CC_STATE', bytes = 8,
	{ 'tx_timestamp', 0, 16 }, { 'ooo_count', 17, 15 }, { 'restore_cwnd', 32, 1 },
	{ 'rcv_cwnd_pen', 33, 7 }, { 'rcvd_bytes', 40, 24 } }
wire.NETH = { name = 'NETH', bytes = 20,
	{ 'reason', 16, 8, names = wire.reasons, hex = true }, { 'vendor_info', 24, 8 },
	{ 'entropy', 32, 32, hex = true }, { 'spdcid', 64, 16 }, { 'dpdcid', 80, 16 },
	{ 'nack_psn', 104, 24 }, { 'cc_type', 128, 4 }, { 'cc_flags', 132, 4 },
	{ 'tx_timestamp', 144, 16 } }
wire.PETH = { name = 'PETH', bytes = 16,
	{ 'vendor_info', 24, 8 }, { 'probe_id', 32, 16 }, { 'spdcid', 64, 16 },
	{ 'dpdcid', 80, 16 }, { 'tx_timestamp', 96, 16 }, { 'tsr', 112, 1 }, { 'ftype', 124, 4 } }
wire.ERTH = { name = 'ERTH', bytes = 16,
	{ 'op', 14, 2, names = wire.ep_ops }, { 'vendor_info', 24, 8 },
	{ 'port_status_mask', 32, 32, hex = true }, { 'tx_timestamp', 96, 16 },
	{ 'tsr', 112, 1 }, { 'ftype', 124, 4 } }
wire.EETH = { name = 'EETH', bytes = 36,
	{ 'op', 10, 2, names = wire.ep_ops }, { 'tx_timestamp', 224, 16 } }
wire.all = { wire.BTH, wire.METH, wire.TSETH, wire.XRCETH, wire.RETH, wire.ImmDt, wire.AETH,
	wire.SETH, wire.CC_STATE, wire.NETH, wire.PETH, wire.ERTH, wire.EETH }

local control = {
	ack = { wire.AETH }, probe = { wire.PETH }, ep_request = { wire.ERTH },
	ep_response = { wire.EETH }, nack = { wire.NETH }, sack = { wire.SETH, wire.CC_STATE },
}

-- Whether the bit (a flag of BTH byte 8, a power of two) is set.
local function has(flags, flag)
	return flags % (2 * flag) >= flag
end
wire.has = has

-- What follows from an opcode, worked out once: packets are many, opcodes few.
local function describe(op)
	local name = wire.op_names[op]
	local o = { name = name, control = control[name], lists = {} }

	if not name then
		return o
	end
	o.is_data = not o.control
	o.is_extended = op >= 0xE0
	o.has_imm = name:find('_imm$') ~= nil
	if o.control then
		o.bytes = 0
		for _, header in ipairs(o.control) do
			o.bytes = o.bytes + header.bytes
		end
	end
	if name == 'read_request' or name == 'reply_refused' then
		o.place = 'empty'
	elseif name == 'cmp_swap' or name == 'fetch_add' then
		o.place = 'operands'
	elseif name:find('only') or name:find('^datagram') then
		o.place = 'only'
	elseif name:find('_first$') or name:find('_middle$') then
		o.place = 'before'
	else
		o.place = 'last'
	end
	return o
end

local described = {}

function wire.op(code)
	if not described[code] then
		described[code] = describe(code)
	end
	return described[code]
end

-- The headers of a packet in wire order, with the bit that each begins at: { header, bit }.
function wire.headers(code, flags)
	local o = wire.op(code)
	local ts, xrc = has(flags, wire.TS), o.is_extended and has(flags, wire.XRC)
	local key = (ts and 1 or 0) + (xrc and 2 or 0)

	if o.lists[key] then
		return o.lists[key]
	end
	local list, bit = { n = 0 }, 0
	local function add(header)
		list[#list + 1] = { header, bit }
		bit = bit + 8 * header.bytes
	end

	add(wire.BTH)
	if o.is_data then
		add(wire.METH)
		if ts then add(wire.TSETH) end
		if xrc then add(wire.XRCETH) end
		add(wire.RETH)
		if o.has_imm then add(wire.ImmDt) end
	else
		for _, header in ipairs(o.control or {}) do
			add(header)
		end
	end
	-- Bytes up to the last bit that has a name.
	local last = list[#list]
	local row = last[1][#last[1]]
	list.bytes = math.ceil((last[2] + row[2] + row[3]) / 8)
	o.lists[key] = list
	return list
end

-- "BTH.tver", or nil where the bit has no name.
function wire.field_name(code, flags, bit)
	for _, entry in ipairs(wire.headers(code, flags)) do
		for _, row in ipairs(entry[1]) do
			local first = entry[2] + row[2]

			if bit >= first and bit < first + row[3] then
				return entry[1].name .. '.' .. row[1]
			end
		end
	end
	return nil
end

local function get16(s, at)
	local a, b = byte(s, at, at + 1)
	return a * 256 + b
end

local function get24(s, at)
	local a, b, c = byte(s, at, at + 2)
	return (a * 256 + b) * 256 + c
end

local function get32(s, at)
	local a, b, c, d = byte(s, at, at + 3)
	return ((a * 256 + b) * 256 + c) * 256 + d
end
wire.get16, wire.get24, wire.get32 = get16, get24, get32

-- How payload and message lengths go together, by the packet's place in its message.
local function place_is_right(place, payload, message)
	if place == 'only' then
		return payload == message
	elseif place == 'empty' then
		return payload == 0
	elseif place == 'operands' then
		return payload == 16 and message == 16
	elseif place == 'before' and payload % 4 ~= 0 then
		return false
	end
	return payload > 0 and payload < message
end

-- left: bytes behind BTH.  Returns nothing, or the reason and the bit.
local function check_write(s, at, left, pkt, o, pad, is_cut)
	local body, need = at + wire.BTH_BYTES, 4
	local ends = 8 * (wire.BTH_BYTES + left)

	if has(pkt.flags, wire.TS) then
		need = 8
	end
	if left < need then
		return 'truncated', ends
	end
	if need == 8 and byte(s, body + 7) % 16 ~= 1 then
		return 'bad_field', 8 * (wire.BTH_BYTES + 7) + 4
	end
	if is_cut then
		pkt.payload_bytes = 0
		return
	end
	local head = need
	if o.is_extended and has(pkt.flags, wire.XRC) then
		head = head + 4
	end
	local reth = body + head

	head = head + 16 + (o.has_imm and 4 or 0)
	if left < head + wire.ICRC_BYTES then
		return 'truncated', ends
	end
	local padded = left - head - wire.ICRC_BYTES

	if padded > wire.MTU_MAX then
		return 'oversized', 8 * (wire.BTH_BYTES + head + wire.MTU_MAX)
	elseif padded % 4 ~= 0 then
		return 'bad_length', ends
	elseif pad > padded then
		return 'bad_length', 10
	end
	pkt.payload_at = wire.BTH_BYTES + head
	pkt.payload_bytes = padded - pad
	pkt.msg_bytes = get32(s, reth + 12)
	if not place_is_right(o.place, pkt.payload_bytes, pkt.msg_bytes) then
		return 'bad_length', 8 * (reth - at + 12)
	end
end

-- Values that a header without payload may not have.
local forbidden = {
	sack = function(s, p)
		if math.floor(byte(s, p + 1) / 32) % 4 == 3 then return 'bad_field', 8 * 13 + 1 end
	end,
	nack = function(s, p)
		if not wire.reasons[byte(s, p + 2)] then return 'bad_field', 8 * 14 end
	end,
	ack = function(s, p)
		if not wire.syndromes[byte(s, p)] then return 'bad_field', 8 * 12 end
	end,
	probe = function(s, p)
		if byte(s, p + 15) % 16 ~= 1 then return 'bad_field', 8 * 27 + 4 end
	end,
	ep_request = function(s, p, pkt)
		if pkt.dqpn ~= wire.ENDPOINT_QPN then return 'bad_field', 40 end
		if byte(s, p + 1) % 4 > 1 then return 'bad_field', 8 * 13 + 6 end
		if byte(s, p + 15) % 16 ~= 1 then return 'bad_field', 8 * 27 + 4 end
	end,
	ep_response = function(_, _, pkt)
		if pkt.dqpn ~= wire.ENDPOINT_QPN then return 'bad_field', 40 end
	end,
}

local function check_control(s, at, left, pkt, o, pad, is_cut)
	local need = o.bytes + wire.ICRC_BYTES

	if is_cut then
		return 'bad_field', 0 -- the class that is never cut
	elseif left ~= need then
		return left < need and 'truncated' or 'oversized',
			8 * (wire.BTH_BYTES + math.min(left, need))
	elseif pad ~= 0 then
		return 'bad_field', 10
	end
	return forbidden[o.name](s, at + wire.BTH_BYTES, pkt)
end

-- One datagram, BTH to ICRC: { op, flags, dqpn, psn, ... }, and the reason to drop it with the
-- first wrong bit, or nil.  is_cut: marked as trimmed.  The ICRC is not looked at.
function wire.decode(s, at, bytes, is_cut)
	local pkt = {}

	if bytes < wire.BTH_BYTES then
		return pkt, 'truncated', 8 * bytes
	end
	local second = byte(s, at + 1)
	local pad = math.floor(second / 16) % 4

	pkt.op = byte(s, at)
	pkt.flags = byte(s, at + 8)
	pkt.dqpn = get24(s, at + 5)
	pkt.psn = get24(s, at + 9)
	local o = wire.op(pkt.op)

	if not o.name then
		return pkt, 'not_mrc', 0
	elseif second % 16 ~= 0 then
		return pkt, 'bad_tver', 12
	elseif get16(s, at + 2) % 0x8000 ~= 0x7fff then
		return pkt, 'bad_field', 16 -- bit 15 is membership, and either will do
	end
	return pkt, (o.is_data and check_write or check_control)(
		s, at, bytes - wire.BTH_BYTES, pkt, o, pad, is_cut)
end

return wire
