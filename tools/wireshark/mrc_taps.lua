-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_taps - `tshark -z mrc,paths` and `-z mrc,planes`: what became of the packets of each.
--
-- A path is a sender's EV.  A loss is seen, not concluded: a packet that went past untrimmed and
-- was sent again (RTX) later is lost on the path of the first; where the first was lost before the
-- place of the capture, there is only the second to see ("again").  So capture at the sender.
-- Frames of two places in one capture count twice.
local taps = {}

local KEPT_PSNS = 65536 -- per queue pair: twice what a window may hold [P 2.7]
local COUNTS = { 'packets', 'bytes', 'ce', 'trimmed', 'lasthop', 'again', 'lost', 'dropped' }

local function new_row(words, order)
	local row = { words = words, order = order }

	for _, key in ipairs(COUNTS) do
		row[key] = 0
	end
	return row
end

-- Which queue pair a packet goes to, whatever path it takes.  Native uSIDs leave of an address what
-- differs from plane to plane: there the sender's name stands for both ends, or what its addresses
-- have in common.
local function queue_pair(d)
	local flow = d.outside.flow

	if d.outside.encap == 'usid' then
		return (d.from or flow.src:sub(-8)) .. ' ' .. d.pkt.dqpn
	end
	return flow.src .. flow.dst .. d.pkt.dqpn
end

-- Notes a data packet; returns the row that an earlier one with its PSN was lost on, if any.
local function note_psn(qps, d, row)
	local key = queue_pair(d)
	local is_again = math.floor(d.pkt.flags / 0x20) % 2 == 1

	qps[key] = qps[key] or {}
	local psns, psn = qps[key], d.pkt.psn
	local before = psns[psn]

	psns[psn] = not d.outside.is_cut and row or nil
	psns[(psn - KEPT_PSNS) % 0x1000000] = nil
	if is_again then row.again = row.again + 1 end
	return is_again and before or nil
end

-- classify(d): the key of a row, its words, and what to sort by.
local function new_table(classify)
	local rows, qps = {}, {}
	local t = {}

	function t.count(d, bytes, is_data)
		local key, words, order = classify(d)
		local row = rows[key] or new_row(words, order)

		rows[key] = row
		row.packets, row.bytes = row.packets + 1, row.bytes + bytes
		if d.drop then
			row.dropped = row.dropped + 1
			return
		end
		if d.outside.ce then row.ce = row.ce + 1 end
		if d.outside.trimmed then row.trimmed = row.trimmed + 1 end
		if d.outside.trimmed_lasthop then row.lasthop = row.lasthop + 1 end
		local lost = is_data and note_psn(qps, d, row)

		if lost then lost.lost = lost.lost + 1 end
	end
	function t.reset()
		rows, qps = {}, {}
	end
	function t.print(title, heading)
		local sorted = {}

		for _, row in pairs(rows) do
			sorted[#sorted + 1] = row
		end
		table.sort(sorted, function(a, b) return a.order < b.order end)
		print(title)
		print(string.format('%s %10s %12s %8s %8s %8s %8s %8s %8s', heading,
			'packets', 'bytes', 'CE', 'trimmed', 'lasthop', 'again', 'lost', 'dropped'))
		for _, row in ipairs(sorted) do
			print(string.format('%s %10d %12d %8d %8d %8d %8d %8d %8d', row.words,
				row.packets, row.bytes, row.ce, row.trimmed, row.lasthop, row.again,
				row.lost, row.dropped))
		end
	end
	return t
end

-- current(): the judge's table of the frame under dissection, or nil.
function taps.register(current, outside)
	local wire = outside.wire
	local function listen(title, heading, classify)
		local t, tap = new_table(classify), Listener.new('frame', 'mrc')

		function tap.packet(pinfo)
			local d = current(pinfo.number)

			if d and d.has_outside and d.pkt then
				t.count(d, pinfo.len, d.pkt.op and wire.op(d.pkt.op).is_data)
			end
		end
		tap.reset = t.reset
		function tap.draw() t.print(title, heading) end
	end
	-- Of a native packet that is dropped nobody knows how far its uSIDs are used up.
	local function has_path(d)
		return not d.drop or d.outside.encap ~= 'usid'
	end
	local function sender(d)
		return d.from or outside.address_text(d.outside.flow.src)
	end

	register_stat_cmd_arg('mrc,paths', function()
		local heading = string.format('%-24s %-10s', 'sender', 'EV')

		listen('MRC by sender and path', heading, function(d)
			local from = sender(d)
			local ev = has_path(d) and string.format('0x%08x', d.outside.ev) or '?'
			local key = from .. ' ' .. ev
			return key, string.format('%-24s %-10s', from, ev), key
		end)
	end)
	register_stat_cmd_arg('mrc,planes', function()
		-- Which bits of an EV are the plane is the fabric's affair: mrc.names says so.
		listen('MRC by plane', string.format('%-5s', 'plane'), function(d)
			local plane = has_path(d) and d.plane or -1
			local word = plane < 0 and '?' or 'p' .. plane

			return plane, string.format('%-5s', word), plane
		end)
	end)
end

return taps
