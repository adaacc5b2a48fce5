-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_tree - an MRC packet in Wireshark's tree of fields, and in its line of the packet list.
--
-- Everything that was captured is shown, dropped or not: what is wrong is an expert info beside
-- it.  Only what would be read from bytes that cannot be (a SACK cut short) is left out.
local tree = {}

local byte = string.byte
local floor = math.floor
local wire, outside, fields, experts

-- The names of uSIDs and hosts, or nil: mrc_names.lua's.
tree.names = nil

function tree.init(the_outside, the_fields)
	outside, wire = the_outside, the_outside.wire
	fields, experts = the_fields, the_fields.experts
end

-- What is concluded, and stands in no byte.
local function add_fact(item, key, value)
	return item:add(fields.fact[key], value):set_generated()
end

-- ---- headers ----

-- p: what is shown: { tvb, at (of BTH in tvb, from 0), bytes (of the datagram, captured), d }.
local function add_header(item, p, header, at)
	local bytes = math.min(header.bytes, p.bytes - at)

	if bytes <= 0 then return nil end
	local own = item:add(p.tvb(p.at + at, bytes), header.name)
	local op = p.op
	local is_set, where = false, nil

	for i, row in ipairs(fields.rows[header.name]) do
		local skip = header == wire.BTH and (not op.is_data and
			(row.name == 'ts' or row.name == 'solicited') or
			not op.is_extended and row.name == 'xrc')

		skip = skip or (header == wire.SETH and row.name == 'ack_psn_offset' and p.is_probe)
		if not skip and row.first + row.bytes <= bytes then
			own:add(row.field, p.tvb(p.at + at + row.first, row.bytes))
		end
		where = i
	end
	for i, mask in pairs(fields.reserved[header.name]) do
		if mask ~= 0 and i < bytes and not (header == wire.BTH and i == 4) then
			is_set = is_set or bit.band(p.tvb(p.at + at + i, 1):uint(), mask) ~= 0
		end
	end
	if is_set and where then
		own:add_proto_expert_info(experts.reserved, header.name ..
			': reserved bits are not zero: a receiver ignores them')
	end
	return own
end

-- ---- the bitmap of a SACK ----

local function psn_add(psn, n)
	return (psn + n) % 0x1000000
end

-- Bit i (the lowest is 0 [P 8.6]) is PSN cack + offset + i.  Returns ranges { first, last } of i.
function tree.ranges(map)
	local ranges, open = {}, nil

	for i = 0, 63 do
		local is_one = floor(byte(map, 8 - floor(i / 8)) / 2 ^ (i % 8)) % 2 == 1

		if is_one and open then
			open[2] = i
		elseif is_one then
			open = { i, i }
			ranges[#ranges + 1] = open
		else
			open = nil
		end
	end
	return ranges
end

local function add_bitmap(item, p, at)
	local range = p.tvb(p.at + at + 20, 8)
	local first = psn_add(p.tvb(p.at + at + 13, 3):uint(), p.tvb(p.at + at + 18, 2):int())
	local ranges, words = tree.ranges(range:raw()), {}

	for i, r in ipairs(ranges) do
		local a, b = psn_add(first, r[1]), psn_add(first, r[2])
		words[i] = a == b and tostring(a) or a .. '-' .. b
	end
	local own = item:add(fields.fact.sacked, range, table.concat(words, ', '))

	own:set_generated()
	for _, r in ipairs(ranges) do
		for i = r[1], r[2] do
			own:add(fields.fact['sacked.psn'], range, psn_add(first, i)):append_text(
				' (bit ' .. i .. ')')
		end
	end
	p.words = #ranges > 0 and ', and ' .. table.concat(words, ', ') or ''
end

-- ---- by opcode ----

local function u(p, at, bytes)
	return p.tvb(p.at + at, bytes):uint()
end

local show = {}

function show.sack(item, p)
	local m = wire.ms[floor(u(p, 13, 1) / 32) % 4] or '?'
	local echo = string.format('0x%08x', u(p, 16, 4))

	add_fact(item, 'm', m)
	if p.is_probe then
		item:add(fields.fact.probe_id, p.tvb(p.at + 14, 2))
	end
	add_bitmap(item, p, 12)
	return string.format('all to %d%s%s, path %s%s', u(p, 25, 3), p.words,
		p.is_probe and ', answers probe ' .. u(p, 14, 2) or
		', for ' .. psn_add(u(p, 25, 3), p.tvb(p.at + 14, 2):int()), echo,
		m ~= 'none' and ', ' .. m or '')
end

function show.nack(item, p)
	local reason = wire.reasons[u(p, 14, 1)] or '?'

	add_fact(item, 'reason', reason)
	item:add_proto_expert_info(experts.nack, 'A receiver has refused a packet: ' .. reason)
	return string.format('%s: psn %d, path 0x%08x', reason, u(p, 25, 3), u(p, 16, 4))
end

function show.ack(item, p)
	local syndrome = wire.syndromes[u(p, 12, 1)] or '?'

	add_fact(item, 'syndrome', syndrome)
	if syndrome ~= 'ack' then
		item:add_proto_expert_info(experts.nak,
			'A receiver has refused a message: ' .. syndrome)
	end
	return string.format('%s, messages to %d', syndrome, u(p, 13, 3))
end

function show.probe(_, p)
	return 'probe ' .. u(p, 16, 2)
end

function show.ep_request(item, p)
	local op = wire.ep_ops[u(p, 13, 1) % 4] or '?'
	local mask, ports = p.tvb(p.at + 16, 4), {}

	add_fact(item, 'ep_op', op)
	for i = 0, 31 do
		if op == 'port_status' and floor(mask:uint() / 2 ^ i) % 2 == 1 then
			item:add(fields.fact.port, mask, i + 1):set_generated()
			ports[#ports + 1] = i + 1
		end
	end
	return op .. ' ' .. u(p, 9, 3) % 65536 ..
		(op == 'port_status' and ', usable ports ' .. table.concat(ports, ' ') or '')
end

function show.ep_response(item, p)
	-- Two places are read at once: sources differ [P 8.3].
	local value = bit.bor(floor(u(p, 13, 1) / 16), floor(u(p, 13, 1) / 4)) % 4
	local op = wire.ep_ops[value] or '?'

	add_fact(item, 'ep_op', op)
	return op .. ' ' .. u(p, 9, 3) % 65536
end

local function show_data(item, p)
	local pkt, a = p.d.pkt, p.d.outside or {}
	local at, payload = pkt.payload_at, pkt.payload_bytes

	if payload then
		add_fact(item, 'payload_bytes', payload)
	end
	if a.is_cut then
		return 'msn ' .. (p.bytes >= 16 and u(p, 14, 2) or '?')
	end
	local there = at and math.min(payload, p.bytes - at) or 0

	if there > 0 then
		item:add(fields.fact.payload, p.tvb(p.at + at, there))
	end
	local va = at and at - (p.op.has_imm and 20 or 16)

	if not va or p.bytes < va + 16 then return '' end
	return string.format('msn %d, %d of %d bytes to 0x%s', u(p, 14, 2), payload,
		u(p, va + 12, 4), p.tvb(p.at + va, 8):bytes():tohex(true):gsub('^0*(%x)', '%1'))
end

-- ---- around the datagram ----

local function add_marks(item, a)
	for _, mark in ipairs({ 'ce', 'trimmed', 'trimmed_lasthop' }) do
		if a[mark] then
			add_fact(item, 'mark', mark)
			item:add_proto_expert_info(experts[mark == 'ce' and 'ce' or 'trimmed'])
		end
	end
end

-- The uSIDs of a carrier that are still to be used: all up to a zero (RFC 9800), or, where the EV
-- stands behind them, as many as there are hops to go and the destination's own.
local function add_carrier(item, a, dst)
	local is_native = a.encap == 'usid'
	local last = is_native and (a.hops_to_go or 0) + 1 or 6

	if a.encap ~= 'srv6' and not is_native then return end
	local names = tree.names and tree.names.along(a.via, last, a.flow.src) or {}
	local own = (a.encap == 'srv6' or a.hops_to_go) and
		add_fact(item, 'via', outside.address_text(a.via)) or dst

	for i = 1, last do
		local usid = wire.get16(a.via, 3 + 2 * i)

		if usid == 0 then break end
		local one = add_fact(own, 'usid', usid)

		if names[i] then
			one:append_text(': ' .. names[i])
			add_fact(one, 'hop', names[i])
		end
	end
end

local function add_outside(item, d)
	local a = d.outside
	local from = tree.names and tree.names.host(a.flow.src)

	add_fact(item, 'encap', a.encap)
	add_fact(item, 'src', outside.address_text(a.flow.src))
	local dst = add_fact(item, 'dst', outside.address_text(a.flow.dst))

	add_carrier(item, a, dst)
	add_fact(item, 'ev', a.ev)
	add_marks(item, a)
	add_fact(item, 'hop_limit', a.hop_limit)
	if a.segments_left > 0 then add_fact(item, 'segments_left', a.segments_left) end
	if a.hops_to_go then add_fact(item, 'hops_to_go', a.hops_to_go) end
	if not from then return end
	d.from, d.plane = from, floor(a.ev / 65536)
	add_fact(item, 'from', from)
	add_fact(item, 'plane', d.plane)
	add_fact(item, 'uplink', a.ev % 65536)
end

local function add_drop(item, d)
	if not d.drop then return end
	local own = add_fact(item, 'drop', d.drop)
	local text = wire.drops[d.drop]

	add_fact(own, 'drop.text', text)
	add_fact(own, 'drop.offset', floor(d.bit / 8))
	add_fact(own, 'drop.bit', d.bit)
	if d.field ~= '' then add_fact(own, 'drop.field', d.field) end
	own:add_proto_expert_info(experts[d.drop], string.format('A receiver drops it: %s%s', text,
		d.field ~= '' and ' (' .. d.field .. ')' or ''))
end

-- Headers and what follows from them; returns words for the packet list.
local function add_datagram(item, p)
	local code, flags = u(p, 0, 1), p.bytes >= 9 and u(p, 8, 1) or 0
	local list = wire.headers(code, flags)
	local o, words, is_cut = wire.op(code), '', p.d.outside and p.d.outside.is_cut

	p.op = o
	p.is_probe = o.name == 'sack' and p.bytes >= 14 and floor(u(p, 13, 1) / 2) % 2 == 1
	if o.name then add_fact(item, 'op', o.name) end
	for _, entry in ipairs(list) do
		if is_cut and (entry[1] == wire.XRCETH or entry[1] == wire.RETH) then break end
		add_header(item, p, entry[1], entry[2] / 8)
	end
	if o.is_data and p.d.pkt then
		words = show_data(item, p)
	elseif o.control and p.bytes >= list.bytes then
		words = show[o.name](item, p)
	end
	if p.bytes >= 9 and wire.has(flags, wire.RTX) and o.is_data then
		item:add_proto_expert_info(experts.rtx)
	end
	if p.bytes < wire.BTH_BYTES then return o.name or '?' end
	return string.format('%s %s%s qp 0x%06x psn %d %s',
		o.name or string.format('opcode 0x%02x', code),
		wire.has(flags, wire.ACK_REQ) and 'A' or '-',
		wire.has(flags, wire.RTX) and 'R' or '-', u(p, 5, 3), u(p, 9, 3), words)
end

-- tvb, at: where BTH is; bytes: from there on, as captured; d: judge's, or nil where no receiver
-- would see this.  Returns the line for the packet list.
function tree.show(item, tvb, at, bytes, d)
	local p = { tvb = tvb, at = at, bytes = bytes, d = d or {} }
	local words = bytes > 0 and add_datagram(item, p) or ''

	if d and d.what == 'cut' then return words end
	if not d or d.what == 'other' then
		item:add_proto_expert_info(experts.unjudged)
		return words
	end
	if d.has_outside then
		add_outside(item, d)
		words = words .. string.format(', ev 0x%08x', d.outside.ev) ..
			(d.from and ' of ' .. d.from or '')
	end
	if d.icrc then
		local own = add_fact(item, 'icrc', d.icrc)

		if d.icrc == 'ok' or d.icrc == 'bad' then
			own:add_le(fields.fact['icrc.value'], tvb(at + d.outside.bytes - 4, 4))
		end
	end
	add_drop(item, d)
	if d.outside.is_cut then words = words .. ' [trimmed]' end
	if d.outside.ce then words = words .. ' [CE]' end
	return d.drop and words .. ' [drop: ' .. d.drop .. ']' or words
end

return tree
