-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_fields - what Wireshark may filter by: a field per field of mrc_wire's table, and the facts.
--
-- Fields of headers are called mrc.HEADER.FIELD in small letters, as `weft decode --fields` has
-- them (SETH.cack_psn is mrc.seth.cack_psn).  What is concluded rather than read (the EV, marks,
-- why a packet is dropped) is called as in the JSON of `weft decode`: mrc.ev, mrc.drop.  So one
-- table, docs/decode.md's, serves both programs.
local fields = { list = {}, experts = {} }

-- Bits that do not fill bytes are shown out of the smallest number that holds them.
local function make(header, row)
	local name, first, bits = row[1], row[2], row[3]
	local first_byte = math.floor(first / 8)
	local bytes = math.floor((first + bits - 1) / 8) - first_byte + 1
	local abbr = 'mrc.' .. header.name:lower() .. '.' .. name
	local below = 8 * (first_byte + bytes) - first - bits
	local mask = bits ~= 8 * bytes and (2 ^ bits - 1) * 2 ^ below or nil
	local field

	if bits == 1 then
		field = ProtoField.bool(abbr, name, 8, nil, mask)
	elseif row.signed then
		field = ProtoField.int16(abbr, name, base.DEC)
	else
		local kind = 'uint' .. 8 * bytes
		local shown = row.hex and base.HEX or base.DEC

		field = ProtoField[kind](abbr, name, shown, row.names, mask)
	end
	fields.list[#fields.list + 1] = field
	return { field = field, name = name, first = first_byte, bytes = bytes }
end

-- Bits of a header that no row names, per byte; a receiver ignores them.
local function find_reserved(header)
	local reserved = {}

	for i = 0, header.bytes - 1 do
		reserved[i] = 255
	end
	for _, row in ipairs(header) do
		for bit = row[2], row[2] + row[3] - 1 do
			local i = math.floor(bit / 8)
			reserved[i] = reserved[i] - 2 ^ (7 - bit % 8)
		end
	end
	return reserved
end

-- Of the frame as a whole: { key, kind, what it is }.
local facts = {
	{ 'op', 'string', 'operation' }, { 'encap', 'string', 'where the EV was read' },
	{ 'src', 'string', 'source' }, { 'dst', 'string', 'destination, as the receiver sees it' },
	{ 'via', 'string', 'destination as captured' }, { 'ev', 'uint32', 'entropy value', 'HEX' },
	{ 'mark', 'string', 'mark' }, { 'hop_limit', 'uint8', 'hop limit' },
	{ 'segments_left', 'uint8', 'segments left' }, { 'hops_to_go', 'uint8', 'hops to go' },
	{ 'from', 'string', 'sending host' }, { 'plane', 'uint16', 'plane' },
	{ 'uplink', 'uint16', 'uplink of the sender\'s T0' },
	{ 'usid', 'uint16', 'uSID', 'HEX' }, { 'hop', 'string', 'named hop' },
	{ 'icrc', 'string', 'ICRC' }, { 'payload_bytes', 'uint32', 'bytes of payload' },
	{ 'm', 'string', 'advice about the path' }, { 'reason', 'string', 'reason' },
	{ 'syndrome', 'string', 'syndrome' }, { 'ep_op', 'string', 'endpoint operation' },
	{ 'sacked', 'string', 'PSNs that have arrived' }, { 'sacked.psn', 'uint24', 'arrived' },
	{ 'probe_id', 'uint16', 'number of the probe' }, { 'port', 'uint8', 'usable port' },
	{ 'payload', 'bytes', 'payload' }, { 'icrc.value', 'uint32', 'ICRC as sent', 'HEX' },
	{ 'drop', 'string', 'a receiver drops it' }, { 'drop.text', 'string', 'because' },
	{ 'drop.offset', 'uint32', 'first wrong byte of the frame' },
	{ 'drop.bit', 'uint32', 'first wrong bit of the frame' },
	{ 'drop.field', 'string', 'wrong field' },
}

local function make_fact(fact)
	local abbr = 'mrc.' .. fact[1]

	if fact[2] == 'string' or fact[2] == 'bytes' then
		return ProtoField[fact[2]](abbr, fact[3])
	end
	return ProtoField[fact[2]](abbr, fact[3], base[fact[4] or 'DEC'])
end

local function make_experts(drops)
	local groups = { bad_icrc = expert.group.CHECKSUM, not_mrc = expert.group.UNDECODED }
	local function add(key, text, group, severity)
		fields.experts[key] = ProtoExpert.new('mrc.expert.' .. key, text, group, severity)
	end

	for drop, text in pairs(drops) do
		add(drop, 'A receiver drops it: ' .. text, groups[drop] or expert.group.MALFORMED,
			expert.severity.ERROR)
	end
	add('trimmed', 'A switch has cut off the payload', expert.group.SEQUENCE,
		expert.severity.NOTE)
	add('ce', 'A switch has marked it: congestion', expert.group.SEQUENCE,
		expert.severity.NOTE)
	add('rtx', 'Sent again', expert.group.SEQUENCE, expert.severity.NOTE)
	add('nack', 'A receiver has refused a packet', expert.group.RESPONSE_CODE,
		expert.severity.WARN)
	add('nak', 'A receiver has refused a message', expert.group.RESPONSE_CODE,
		expert.severity.WARN)
	add('reserved', 'Reserved bits are not zero: a receiver ignores them',
		expert.group.PROTOCOL, expert.severity.NOTE)
	add('unjudged', 'Inside of something else: no receiver gets this frame',
		expert.group.COMMENTS_GROUP, expert.severity.CHAT)
end

-- Fills fields.rows[HEADER name], fields.reserved[HEADER name], fields.fact[key], .experts[key].
function fields.make_all(proto, wire)
	local experts = {}

	fields.rows, fields.reserved, fields.fact = {}, {}, {}
	for _, header in ipairs(wire.all) do
		local rows = {}

		for i, row in ipairs(header) do
			rows[i] = make(header, row)
		end
		fields.rows[header.name] = rows
		fields.reserved[header.name] = find_reserved(header)
	end
	for _, fact in ipairs(facts) do
		local field = make_fact(fact)

		fields.fact[fact[1]] = field
		fields.list[#fields.list + 1] = field
	end
	make_experts(wire.drops)
	for _, made in pairs(fields.experts) do
		experts[#experts + 1] = made
	end
	proto.fields, proto.experts = fields.list, experts
end

return fields
