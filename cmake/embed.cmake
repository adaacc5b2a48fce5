# SPDX-License-Identifier: BSD-2-Clause
# cmake -DIN=a.html -DOUT=a.html.c -P embed.cmake: a file as C, for lack of C23's #embed.
# SYMBOL is the bytes and a zero that makes text a string, SYMBOL_bytes their number without it.
file(READ ${IN} hex HEX)
file(SIZE ${IN} bytes)
string(REGEX REPLACE "(..)" "0x\\1," values "${hex}")
get_filename_component(name ${IN} NAME)
string(MAKE_C_IDENTIFIER ${name} symbol)
set(type "const unsigned char ${symbol}[]")
set(size "const unsigned ${symbol}_bytes")
# ELF is read in place, by words.
file(WRITE ${OUT} "extern ${type};\nextern ${size};\n"
	"${type} __attribute__((aligned(8))) = {\n${values}0\n};\n${size} = ${bytes};\n")
