# SPDX-License-Identifier: BSD-2-Clause
#
# The whole build vocabulary.  CMakeLists.txt uses these words and no other CMake, so that a room reads as one row
# of a table: its name, what it may use, its files.  The same rows feed the shape tests (rooms.txt), so a rule about
# rooms is written once.  No globbing: a file that no row names is reported by the tidy test, not built by accident.

set(WEFT_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
	-Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough)
# Tests and benchmarks trade in literals; conversions there hide nothing worth a cast.
set(WEFT_WARNINGS_TEST ${WEFT_WARNINGS} -Wno-conversion -Wno-sign-conversion -Wno-missing-prototypes)
# -ffp-contract=off: a fused multiply-add rounds differently, and a seed must mean the same on every machine.
set(WEFT_FLAGS -std=c11 -ffp-contract=off -fno-strict-aliasing -fno-common)
set(WEFT_GNU_ROOMS net lab) # may ask the C library for more than C11

set_property(GLOBAL PROPERTY WEFT_ROOMS "")
set_property(GLOBAL PROPERTY WEFT_FREE "")

function(_weft_compile target)
	target_compile_options(${target} PRIVATE ${WEFT_FLAGS} ${ARGN})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include)
endfunction()

function(_weft_program target room)
	_weft_compile(${target} ${WEFT_WARNINGS_TEST} -D_GNU_SOURCE)
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src/${room})
	target_link_libraries(${target} PRIVATE ${room} ${ARGN})
endfunction()

# weft_room(NAME "rooms it may use" FILE...)   sources lie in src/NAME; a .h or .def is a further public header in
# include/weft (NAME.h itself needs no mention); pkg:LIB asks for a library through pkg-config.
function(weft_room name deps)
	set(sources "")
	set(headers ${name}.h)
	set(packages "")
	foreach(file IN LISTS ARGN)
		if(file MATCHES "^pkg:(.*)")
			list(APPEND packages ${CMAKE_MATCH_1})
		elseif(file MATCHES "\\.(h|def)$")
			list(APPEND headers ${file})
		else()
			list(APPEND sources src/${name}/${file})
		endif()
	endforeach()
	add_library(${name} STATIC ${sources})
	_weft_compile(${name} ${WEFT_WARNINGS})
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src/${name})
	target_link_libraries(${name} PUBLIC ${deps})
	if(name IN_LIST WEFT_GNU_ROOMS)
		target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
	endif()
	weft_packages(${name} ${packages})
	list(JOIN deps " " deps)
	list(JOIN headers " " headers)
	list(JOIN sources " " sources)
	set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS "${name}|${deps}|${headers}|${sources}")
endfunction()

function(weft_packages target)
	foreach(package IN LISTS ARGN)
		pkg_check_modules(pkg_${package} REQUIRED QUIET IMPORTED_TARGET ${package})
		target_link_libraries(${target} PUBLIC PkgConfig::pkg_${package})
	endforeach()
endfunction()

# weft_freestanding(ROOM...)   may need nothing from outside but weft_* and mem{cpy,set,move,cmp}; a shape test.
function(weft_freestanding)
	set_property(GLOBAL APPEND PROPERTY WEFT_FREE ${ARGN})
endfunction()

# weft_unit(ROOM/FILE [MORE_LIBS...])   tests/unit/ROOM/FILE_test.c; may include the room's "local.h".
function(weft_unit path)
	string(REPLACE "/" ";" parts ${path})
	list(GET parts 0 room)
	string(REPLACE "/" "_" target unit_${path})
	add_executable(${target} tests/unit/${path}_test.c)
	_weft_program(${target} ${room} ${ARGN})
	add_test(NAME unit/${path} COMMAND ${target})
	set_tests_properties(unit/${path} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 120)
endfunction()

# weft_bench(ROOM/FILE [MORE_LIBS...])   bench/ROOM/FILE_bench.c; `make bench` runs them all.
function(weft_bench path)
	string(REPLACE "/" ";" parts ${path})
	list(GET parts 0 room)
	string(REPLACE "/" "_" target bench_${path})
	add_executable(${target} bench/${path}_bench.c)
	_weft_program(${target} ${room} ${ARGN})
	set_property(GLOBAL APPEND PROPERTY WEFT_BENCHES ${target})
endfunction()

# weft_kit(FILE...)   what the programs share: the library `tools`, from tools/, with its unit tests in tests/unit/tools.
function(weft_kit)
	list(TRANSFORM ARGN PREPEND tools/ OUTPUT_VARIABLE sources)
	add_library(tools STATIC ${sources})
	_weft_compile(tools ${WEFT_WARNINGS} -D_GNU_SOURCE)
	target_include_directories(tools PUBLIC ${CMAKE_SOURCE_DIR}/tools)
	target_link_libraries(tools PUBLIC base m)
endfunction()

# weft_tool(NAME "rooms" FILE...)   a program from tools/, left in the build folder itself.
function(weft_tool name rooms)
	set(sources "")
	set(packages "")
	foreach(file IN LISTS ARGN)
		if(file MATCHES "^pkg:(.*)")
			list(APPEND packages ${CMAKE_MATCH_1})
		else()
			list(APPEND sources tools/${file})
		endif()
	endforeach()
	add_executable(${name}_program ${sources})
	set_target_properties(${name}_program PROPERTIES OUTPUT_NAME ${name})
	_weft_compile(${name}_program ${WEFT_WARNINGS} -D_GNU_SOURCE)
	target_link_libraries(${name}_program PRIVATE ${rooms})
	weft_packages(${name}_program ${packages})
endfunction()
