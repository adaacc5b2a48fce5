-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_names - who is behind an address: what `weft fabric names` has written.
--
-- The fabric file itself is not read here: what its counts mean for addresses is arithmetic of
-- src/fabric/topo, which should not be done twice.  Three kinds of lines, bytes in hex:
--   usid BLOCK+USID SWITCH   the uSID names this switch, wherever it is read (uN)
--   next SWITCH USID NODE    standing at SWITCH, it leads to NODE: a host's uSID, or a link's (uA)
--   host ADDRESS HOST T0     a source address of HOST's, who hangs on T0 in its plane
local names = {}

local sub = string.sub

local function bytes(hex)
	return (hex:gsub('%x%x', function(pair)
		return string.char(tonumber(pair, 16))
	end))
end

-- Where a carrier begins to mean something.  With uA its first uSID is a port of some switch, and
-- which is only sure where nothing is used up yet: at the sender's T0, with three to go.
local function start(facts, src, last)
	local host = facts.hosts[src]

	return not facts.has_un and last == 4 and host and host.t0 or nil
end

local function read(facts, line)
	local kind, a, b, c = line:match('^(%l+) (%S+) (%S+) ?(%S*)')

	if kind == 'usid' then
		facts.usids[bytes(a)], facts.has_un = b, true
	elseif kind == 'next' then
		facts.nexts[a] = facts.nexts[a] or {}
		facts.nexts[a][bytes(b)] = c
	elseif kind == 'host' then
		facts.hosts[bytes(a)] = { name = b, t0 = c }
	elseif line:find('^[^#]') then
		return false
	end
	return true
end

-- Reads the file at path.  Returns { host(src), along(carrier, last, src) }, or nil and why not.
function names.open(path)
	local file, why = io.open(path)
	local facts, number = { usids = {}, nexts = {}, hosts = {} }, 0

	if not file then return nil, why end
	for line in file:lines() do
		number = number + 1
		if not read(facts, line) then
			file:close()
			return nil, path .. ':' .. number .. ': not a line of `weft fabric names`'
		end
	end
	file:close()
	local found = {}

	function found.host(src)
		return facts.hosts[src] and facts.hosts[src].name
	end
	-- The names of the first `last` uSIDs of a carrier; nil where one cannot be known.
	function found.along(carrier, last, src)
		local list, at = {}, start(facts, src, last)

		for i = 1, last do
			local usid = sub(carrier, 3 + 2 * i, 4 + 2 * i)

			at = at and facts.nexts[at] and facts.nexts[at][usid] or
				facts.usids[sub(carrier, 1, 4) .. usid]
			list[i] = at
		end
		return list
	end
	return found
end

return names
