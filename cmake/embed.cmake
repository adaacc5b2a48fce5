# SPDX-License-Identifier: BSD-2-Clause
# cmake -DIN=a.html -DOUT=a.html.c -P embed.cmake: a file as a C string, for lack of C23's #embed.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
get_filename_component(name ${IN} NAME)
string(MAKE_C_IDENTIFIER ${name} symbol)
set(type "const unsigned char ${symbol}[]")
file(WRITE ${OUT} "extern ${type};\n${type} = {\n${bytes}0\n};\n")
