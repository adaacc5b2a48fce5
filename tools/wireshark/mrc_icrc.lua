-- SPDX-License-Identifier: BSD-2-Clause
--
-- mrc_icrc - the invariant CRC of RoCEv2 (IBTA annex A17), which MRC has kept.
--
-- CRC-32 over eight bytes of ones, IP and UDP with what routers rewrite set to ones, BTH with byte
-- 4 set to ones, and the rest up to the end of the padding; see src/core/wire/icrc.c.  Eight bytes
-- at a time from eight tables (slicing-by-8): a call of a function costs Lua more than arithmetic,
-- and this way two calls do for eight bytes.  Lua 5.4 has no bit32, hence the second choice.
local icrc = {}

local byte, char, sub = string.byte, string.char, string.sub
local floor = math.floor
local raw_bxor = (bit32 or bit).bxor
local bxor = bit32 and raw_bxor or function(...)
	return raw_bxor(...) % 4294967296
end

local t = {}
for i = 0, 7 do
	t[i] = {}
end
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		c = c % 2 == 1 and bxor(floor(c / 2), 0xEDB88320) or floor(c / 2)
	end
	t[0][i] = c
end
for i = 0, 255 do
	for k = 1, 7 do
		local c = t[k - 1][i]
		t[k][i] = bxor(t[0][c % 256], floor(c / 256))
	end
end

-- The CRC's register after the bytes first..last of s.
local function run(c, s, first, last)
	local t0, t1, t2, t3, t4, t5, t6, t7 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]

	while first + 7 <= last do
		local b1, b2, b3, b4, b5, b6, b7, b8 = byte(s, first, first + 7)
		local x = bxor(c, b1 + 256 * b2 + 65536 * b3 + 16777216 * b4)
		local x0 = x % 256
		x = (x - x0) / 256
		local x1 = x % 256
		x = (x - x1) / 256
		local x2 = x % 256
		c = bxor(t7[x0], t6[x1], t5[x2], t4[(x - x2) / 256], t3[b5], t2[b6], t1[b7], t0[b8])
		first = first + 8
	end
	for i = first, last do
		c = bxor(t0[bxor(c % 256, byte(s, i))], floor(c / 256))
	end
	return c
end

local function number16(n)
	return char(floor(n / 256) % 256, n % 256)
end

-- Whether the datagram s[at..at + bytes - 1] has the ICRC of this flow: { src, dst (strings of 16
-- or, IPv4, 4 bytes), ports (the 4 bytes of UDP), id (IPv4's 4 bytes of id and fragment) }.
function icrc.matches(flow, s, at, bytes)
	if bytes < 16 then
		return false
	end
	local length = 8 + bytes
	local ip = flow.id and
		'\x45\xff' .. number16(20 + length) .. flow.id .. '\xff\x11\xff\xff' or
		'\x6f\xff\xff\xff' .. number16(length) .. '\x11\xff'
	local front = '\xff\xff\xff\xff\xff\xff\xff\xff' .. ip .. flow.src .. flow.dst ..
		flow.ports .. number16(length) .. '\xff\xff' .. sub(s, at, at + 3) .. '\xff' ..
		sub(s, at + 5, at + 11)
	local c = run(run(0xffffffff, front, 1, #front), s, at + 12, at + bytes - 5)
	local b1, b2, b3, b4 = byte(s, at + bytes - 4, at + bytes - 1)

	return bxor(c, 0xffffffff) == b1 + 256 * b2 + 65536 * b3 + 16777216 * b4
end

return icrc
