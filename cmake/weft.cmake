# SPDX-License-Identifier: BSD-2-Clause
#
# The whole build vocabulary.  CMakeLists.txt uses these words and no other CMake, so that a room
# reads as one row of a table: its name, what it may use, its files.  The same rows feed the shape
# tests through build/PRESET/rooms.txt, so a rule about rooms is written once.  No globbing: a file
# that no row names is reported by the tidy test instead of being built by accident.

set(WEFT_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
	-Wold-style-definition -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2
	-Wimplicit-fallthrough)
# Tests and benchmarks trade in literals; conversions there hide nothing worth a cast.
set(WEFT_WARNINGS_TEST ${WEFT_WARNINGS} -Wno-conversion -Wno-sign-conversion
	-Wno-missing-prototypes)
# A fused multiply-add rounds differently, and a seed must mean the same on every machine.
# x86-64-v2: population count and SSE4, in every processor since 2009; without it counting bits
# is a call.
set(WEFT_MARCH "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
	set(WEFT_MARCH -march=x86-64-v2)
endif()
set(WEFT_FLAGS ${WEFT_MARCH} -std=c11 -ffp-contract=off -fno-strict-aliasing -fno-common)
# These may ask the C library for more than C11.
set(WEFT_GNU_ROOMS accept decode mpi device doctor gpu lab lock nccl net nofault mrc panic paths
	scenario syscalls rdmacm rsocket shm switchd verbs xdp sim)
get_filename_component(WEFT_PRESET ${CMAKE_BINARY_DIR} NAME)

# One line of rooms.txt: kind and fields, separated by bars.
function(_weft_note)
	list(JOIN ARGN "|" line)
	set_property(GLOBAL APPEND_STRING PROPERTY WEFT_NOTES "${line}\n")
endfunction()

# Test names end in the preset, because `make test` runs several builds under one ctest.
function(_weft_test name label)
	add_test(NAME ${name}@${WEFT_PRESET} COMMAND ${ARGN})
	set_tests_properties(${name}@${WEFT_PRESET} PROPERTIES LABELS "${label}"
		SKIP_RETURN_CODE 77 TIMEOUT 120)
endfunction()

function(_weft_compile target)
	target_compile_options(${target} PRIVATE ${WEFT_FLAGS} ${ARGN})
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include)
endfunction()

function(_weft_program target room)
	_weft_compile(${target} ${WEFT_WARNINGS_TEST} -D_GNU_SOURCE)
	_weft_folder(${room} folder)
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests
		${CMAKE_SOURCE_DIR}/${folder})
	target_link_libraries(${target} PRIVATE ${room} ${ARGN})
endfunction()

# Sorts a row's words into VAR_packages (pkg:NAME), VAR_headers (*.h, *.def) and VAR_sources.
function(_weft_sort var folder)
	set(packages "")
	set(headers "")
	set(sources "")
	foreach(word IN LISTS ARGN)
		if(word MATCHES "^pkg:(.*)")
			list(APPEND packages ${CMAKE_MATCH_1})
		elseif(word MATCHES "\\.(h|def)$")
			list(APPEND headers ${word})
		else()
			list(APPEND sources ${folder}/${word})
		endif()
	endforeach()
	set(${var}_packages "${packages}" PARENT_SCOPE)
	set(${var}_headers "${headers}" PARENT_SCOPE)
	set(${var}_sources "${sources}" PARENT_SCOPE)
endfunction()

function(_weft_packages target)
	foreach(package IN LISTS ARGN)
		pkg_check_modules(pkg_${package} REQUIRED QUIET IMPORTED_TARGET ${package})
		target_link_libraries(${target} PUBLIC PkgConfig::pkg_${package})
	endforeach()
endfunction()

# Turns want:LIB in a row into pkg:LIB, or notes that the room is left out.
function(_weft_wants name var)
	set(words ${ARGN})
	foreach(word IN LISTS ARGN)
		if(NOT word MATCHES "^want:(.*)")
			continue()
		endif()
		set(package ${CMAKE_MATCH_1})
		list(REMOVE_ITEM words ${word})
		pkg_check_modules(pkg_${package} QUIET IMPORTED_TARGET ${package})
		if(pkg_${package}_FOUND)
			list(APPEND words pkg:${package})
		else()
			message(STATUS "${name} is left out: pkg-config does not know ${package}")
			set(WEFT_LEFT_OUT ${WEFT_LEFT_OUT} ${name} PARENT_SCOPE)
			set_property(GLOBAL APPEND PROPERTY WEFT_LEFT_OUT ${name})
		endif()
	endforeach()
	set(${var} "${words}" PARENT_SCOPE)
endfunction()

# The line about a room, of what _weft_sort() has found.
macro(_weft_note_room name deps)
	string(JOIN " " headers ${name}.h ${row_headers})
	string(JOIN " " sources ${row_sources})
	string(JOIN " " may ${deps})
	_weft_note(room ${name} "${may}" "${headers}" "${sources}")
endmacro()

# Whether a row is about a room that is left out.
function(_weft_is_left_out room var)
	get_property(rooms GLOBAL PROPERTY WEFT_LEFT_OUT)
	if(room IN_LIST rooms)
		set(${var} TRUE PARENT_SCOPE)
	else()
		set(${var} FALSE PARENT_SCOPE)
	endif()
endfunction()

# These sources of a room have a test each, which weft_units() adds.
function(_weft_tested room folder)
	list(TRANSFORM ARGN REPLACE "^${folder}/(.*)\\.c$" "${room}/\\1" OUTPUT_VARIABLE names)
	set_property(GLOBAL APPEND PROPERTY WEFT_TESTED ${names})
endfunction()

# weft_wing(NAME "wings it may use")
# The rooms in the rows that follow lie in src/NAME; they may use rooms of these wings, and those of
# their own that come before them.
function(weft_wing name uses)
	string(JOIN " " may ${uses})
	_weft_note(wing wing/${name} "${may}")
	set(WEFT_WING ${name} PARENT_SCOPE)
endfunction()

# Where a room's sources lie.  The programs' own, "tools", is no room and lies where it does.
function(_weft_folder room var)
	get_property(folder GLOBAL PROPERTY WEFT_FOLDER_${room})
	if(NOT folder)
		set(folder tools)
	endif()
	set(${var} ${folder} PARENT_SCOPE)
endfunction()

# weft_room(NAME "rooms it may use" WORD...)
# Sources lie in src/WING/NAME.  A .h or .def names a further public header in include/weft (NAME.h
# needs no mention); pkg:LIB asks for a library through pkg-config.  want:LIB does, too, but where
# it is not to be had the room is left out, with its tests and the shared library made of it.
function(weft_room name deps)
	_weft_wants(${name} words ${ARGN})
	set(folder src/${WEFT_WING}/${name})
	set_property(GLOBAL PROPERTY WEFT_FOLDER_${name} ${folder})
	_weft_note(in wing/${WEFT_WING} ${name})
	_weft_sort(row ${folder} ${words})
	_weft_tested(${name} ${folder} ${row_sources})
	if(name IN_LIST WEFT_LEFT_OUT)
		_weft_note_room(${name} "${deps}")
		return()
	endif()
	set(files ${row_sources})
	if(NOT files) # a room may be headers only, but CMake wants a file
		set(files include/weft/${name}.h)
	endif()
	add_library(${name} STATIC ${files})
	# A fuzz build makes what its targets need and no more.
	# Any room may end up in a shared library; no one may replace its functions there, so that
	# the compiler still inlines them.
	set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C POSITION_INDEPENDENT_CODE ON
		EXCLUDE_FROM_ALL $<BOOL:${WEFT_LIBFUZZER}>)
	_weft_compile(${name} ${WEFT_WARNINGS} -fno-semantic-interposition)
	target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/${folder})
	target_link_libraries(${name} PUBLIC ${deps})
	if(name IN_LIST WEFT_GNU_ROOMS)
		target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
	endif()
	_weft_packages(${name} ${row_packages})
	_weft_note_room(${name} "${deps}")
	set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS ${name})
endfunction()

# weft_freestanding(ROOM...)
# These need nothing from outside but weft_* and mem{cpy,set,move,cmp}; a shape test sees to it.
function(weft_freestanding)
	foreach(room IN LISTS ARGN)
		_weft_note(free ${room})
	endforeach()
endfunction()

# weft_unit(ROOM/FILE [MORE_LIBS...])
# Builds tests/unit/ROOM/FILE_test.c, which may include the room's ROOM_local.h; ctest label "unit".
# A row is for tests that want more than their room, or that are of no single source: a source's
# own test needs none, see weft_units().
function(weft_unit path)
	set_property(GLOBAL APPEND PROPERTY WEFT_UNITS ${path})
	_weft_note(unit unit/${path})
	if(WEFT_LIBFUZZER)
		return()
	endif()
	string(REGEX REPLACE "/.*" "" room ${path})
	_weft_is_left_out(${room} left_out)
	if(left_out)
		return()
	endif()
	string(REPLACE "/" "_" target unit_${path})
	add_executable(${target} tests/unit/${path}_test.c)
	_weft_program(${target} ${room} ${ARGN})
	_weft_test(unit/${path} unit ${target})
endfunction()

# weft_units()
# The tests of all sources that have no row; whether each has one is for the tidy test to say.
function(weft_units)
	get_property(sources GLOBAL PROPERTY WEFT_TESTED)
	get_property(units GLOBAL PROPERTY WEFT_UNITS)
	foreach(path IN LISTS sources)
		if(NOT path IN_LIST units AND EXISTS ${CMAKE_SOURCE_DIR}/tests/unit/${path}_test.c)
			weft_unit(${path})
		endif()
	endforeach()
endfunction()

# weft_fuzz(NAME ROOM [MORE_LIBS...])
# tests/fuzz/NAME.c defines LLVMFuzzerTestOneInput.  Under libFuzzer (preset fuzz) it searches for
# ten seconds from its corpus, tests/fuzz/corpus/NAME; everywhere else a plain main replays the
# corpus.  The target named canary must fail.
function(weft_fuzz name room)
	set(must_fail "")
	if(name STREQUAL canary)
		set(must_fail must-fail)
	endif()
	set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
	if(WEFT_LIBFUZZER)
		add_executable(fuzz_${name} tests/fuzz/${name}.c)
		target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
		_weft_test(fuzz/${name} fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz/smoke.sh
			$<TARGET_FILE:fuzz_${name}> ${corpus} ${must_fail})
	elseif(must_fail)
		return() # nothing to replay: the search is what is tested
	else()
		add_executable(fuzz_${name} tests/fuzz/${name}.c tests/fuzz/replay.c)
		_weft_test(fuzz/${name} fuzz fuzz_${name} ${corpus})
	endif()
	_weft_program(fuzz_${name} ${room} ${ARGN})
endfunction()

# weft_soak(NAME ROOM [MORE_LIBS...])
# The fuzz target NAME, fed with random inputs until it has made ten million calls (label "soak";
# one million where no sanitizer looks on).  A failing seed is printed: soak_NAME 1 SEED.
function(weft_soak name room)
	if(WEFT_LIBFUZZER)
		return()
	endif()
	set(calls 1000000)
	if(WEFT_PRESET STREQUAL asan)
		set(calls 10000000)
	endif()
	add_executable(soak_${name} tests/fuzz/${name}.c tests/fuzz/soak.c)
	_weft_test(soak/${name} soak soak_${name} ${calls})
	set_tests_properties(soak/${name}@${WEFT_PRESET} PROPERTIES TIMEOUT 600)
	_weft_program(soak_${name} ${room} ${ARGN})
endfunction()

# weft_bench(ROOM/FILE [MORE_LIBS...])
# Builds bench/ROOM/FILE_bench.c; `make bench` builds all of them and runs what lies in
# build/release/bench.
add_custom_target(benches)
function(weft_bench path)
	if(WEFT_LIBFUZZER)
		return()
	endif()
	string(REGEX REPLACE "/.*" "" room ${path})
	string(REPLACE "/" "_" target bench_${path})
	add_executable(${target} bench/${path}_bench.c)
	set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY bench)
	add_dependencies(benches ${target})
	_weft_program(${target} ${room} ${ARGN})
endfunction()

# Turns each page (*.html) in the list VAR into a C source that defines it as a string.
function(_weft_embed var)
	set(sources ${${var}})
	foreach(page IN LISTS sources)
		if(NOT page MATCHES "\\.html$")
			continue()
		endif()
		set(c ${CMAKE_BINARY_DIR}/${page}.c)
		add_custom_command(OUTPUT ${c} VERBATIM
			COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/${page} -DOUT=${c}
				-P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
			DEPENDS ${page} cmake/embed.cmake)
		list(REMOVE_ITEM sources ${page})
		list(APPEND sources ${c})
	endforeach()
	set(${var} "${sources}" PARENT_SCOPE)
endfunction()

# weft_bpf(ROOM/FILE)
# Compiles the room's FILE.bpf.c for the kernel and puts the object into the room: the bytes
# FILE_bpf_o, FILE_bpf_o_bytes of them.  It has a unit test as any source has: FILE.bpf_test.c.
function(weft_bpf path)
	get_filename_component(name ${path} NAME)
	string(REGEX REPLACE "/.*" "" room ${path})
	_weft_folder(${room} home)
	string(REGEX REPLACE "^[^/]*/(.*)$" "\\1" inner ${path})
	set(source ${home}/${inner}.bpf.c)
	_weft_tested(${room} ${home} ${source})
	set(object ${CMAKE_BINARY_DIR}/bpf/${path}.bpf.o)
	_weft_note(bpf ${room} "" "" ${source})
	find_program(WEFT_CLANG clang REQUIRED)
	get_filename_component(folder ${object} DIRECTORY)
	file(MAKE_DIRECTORY ${folder})
	# Debian keeps <asm/*.h> in a folder per architecture, which clang forgets for this target.
	add_custom_command(OUTPUT ${object} VERBATIM
		COMMAND ${WEFT_CLANG} -target bpf -O2 -g -std=gnu11 -Wall -Wextra -Wshadow -Werror
			-I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
			-mcpu=v3 -I${CMAKE_SOURCE_DIR}/${home} -I${CMAKE_SOURCE_DIR}/include
			-MMD -MF ${object}.d -MT ${object}
			-c ${CMAKE_SOURCE_DIR}/${source} -o ${object}
		DEPENDS ${source} DEPFILE ${object}.d)
	add_custom_command(OUTPUT ${object}.c VERBATIM
		COMMAND ${CMAKE_COMMAND} -DIN=${object} -DOUT=${object}.c
			-P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
		DEPENDS ${object} cmake/embed.cmake)
	target_sources(${room} PRIVATE ${object}.c)
endfunction()

# weft_kit("rooms" WORD...)
# What the programs share: the library "tools" from tools/, with its tests in tests/unit/tools.
# A page, NAME.html, becomes the string NAME_html.
function(weft_kit rooms)
	_weft_sort(row tools ${ARGN})
	_weft_embed(row_sources)
	string(JOIN " " files ${row_sources})
	_weft_note(kit tools "" "" "${files}")
	_weft_tested(tools tools ${row_sources})
	add_library(tools STATIC ${row_sources})
	set_target_properties(tools PROPERTIES EXCLUDE_FROM_ALL $<BOOL:${WEFT_LIBFUZZER}>)
	_weft_compile(tools ${WEFT_WARNINGS} -D_GNU_SOURCE)
	target_include_directories(tools PUBLIC ${CMAKE_SOURCE_DIR}/tools)
	target_link_libraries(tools PUBLIC ${rooms} m)
	_weft_packages(tools ${row_packages})
endfunction()

# A broken assertion in what is shipped says so: the room panic's object, which nobody calls.
function(_weft_panics target)
	target_sources(${target} PRIVATE $<TARGET_OBJECTS:panic>)
	add_dependencies(${target} panic)
endfunction()

# What is installed, and no tests: what `make` builds.
add_custom_target(product)

# weft_tool(NAME "rooms" WORD...)
# A program from tools/, left in the build folder itself.
function(weft_tool name rooms)
	if(WEFT_LIBFUZZER)
		return()
	endif()
	_weft_sort(row tools ${ARGN})
	add_executable(${name}_program ${row_sources})
	string(JOIN " " files ${row_sources})
	string(JOIN " " uses ${rooms})
	_weft_note(tool ${name} "${uses}" "" "${files}")
	set_target_properties(${name}_program PROPERTIES OUTPUT_NAME ${name})
	_weft_compile(${name}_program ${WEFT_WARNINGS} -D_GNU_SOURCE)
	target_include_directories(${name}_program PRIVATE ${CMAKE_SOURCE_DIR}/tools)
	target_link_libraries(${name}_program PRIVATE ${rooms})
	_weft_panics(${name}_program)
	_weft_packages(${name}_program ${row_packages})
	install(TARGETS ${name}_program RUNTIME DESTINATION bin)
	add_dependencies(product ${name}_program)
endfunction()

# weft_library(NAME ROOM... [pkg:LIB...])
# For other programs: the rooms with nothing visible but weft_*, as build/PRESET/lib/libNAME.a and
# as libNAME.so, which needs the LIBs and whose soname ends in what must be the same of the version.
function(weft_library name)
	_weft_sort(row "" ${ARGN})
	list(TRANSFORM row_sources REPLACE "^/" "")
	set(lib ${CMAKE_BINARY_DIR}/lib)
	set(out ${lib}/lib${name}.a)
	set(so lib${name}.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
	set(words "")
	foreach(room IN LISTS row_sources)
		list(APPEND words -- ${room} $<TARGET_OBJECTS:${room}>)
	endforeach()
	list(POP_FRONT words)
	add_custom_command(OUTPUT ${out} VERBATIM COMMAND_EXPAND_LISTS
		COMMAND ${CMAKE_COMMAND} -E make_directory ${lib}
		COMMAND ${CMAKE_SOURCE_DIR}/cmake/archive.sh ${out} ${CMAKE_C_COMPILER}
			"${CMAKE_C_FLAGS}" ${words}
		DEPENDS ${row_sources} ${CMAKE_SOURCE_DIR}/cmake/archive.sh)
	foreach(package IN LISTS row_packages)
		pkg_check_modules(pkg_${package} REQUIRED QUIET IMPORTED_TARGET ${package})
		list(APPEND needs ${pkg_${package}_LDFLAGS})
	endforeach()
	add_custom_command(OUTPUT ${lib}/${so} VERBATIM COMMAND_EXPAND_LISTS
		COMMAND ${CMAKE_C_COMPILER} -shared -Wl,-soname,${so} -Wl,-z,defs -o ${lib}/${so}
			-Wl,--whole-archive ${out} -Wl,--no-whole-archive
			$<TARGET_OBJECTS:panic> ${needs}
		COMMAND ${CMAKE_COMMAND} -E create_symlink ${so} ${lib}/lib${name}.so
		DEPENDS ${out} panic)
	if(WEFT_PRESET MATCHES "^(dev|release)$")
		add_custom_target(lib${name} ALL DEPENDS ${out} ${lib}/${so})
		install(FILES ${out} ${lib}/${so} ${lib}/lib${name}.so DESTINATION lib)
		add_dependencies(product lib${name})
	endif()
	set_property(GLOBAL PROPERTY WEFT_LIBRARY ${out})
endfunction()

# weft_shared(FILE ROOM MAP [ALSO ROOM...] [USES FILE...] [ALIAS NAME...])
# build/PRESET/lib/FILE, a shared library with somebody else's ABI: the room ROOM with all that it
# may use; with USES its own objects only, the rest comes from shared libraries named before.  MAP
# is its version script: what is not named there does not exist outside.  It is never unmapped
# (-z nodelete): threads of ours run in it when a program closes its plugins.  ALSO: rooms whose
# objects are in it as well.  ALIAS: more names.
function(weft_shared file room map)
	_weft_is_left_out(${room} left_out)
	if(WEFT_LIBFUZZER OR left_out)
		return()
	endif()
	cmake_parse_arguments(row "" "" "ALSO;USES;ALIAS" ${ARGN})
	set(target shared_${file})
	add_library(${target} SHARED $<TARGET_OBJECTS:${room}>)
	add_dependencies(${target} ${room})
	foreach(also IN LISTS row_ALSO)
		target_sources(${target} PRIVATE $<TARGET_OBJECTS:${also}>)
		add_dependencies(${target} ${also})
	endforeach()
	set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C PREFIX "" SUFFIX ""
		OUTPUT_NAME ${file} NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
		LINK_DEPENDS ${CMAKE_SOURCE_DIR}/${map} BUILD_RPATH "\$ORIGIN"
		INSTALL_RPATH "\$ORIGIN")
	install(TARGETS ${target} LIBRARY DESTINATION lib/weft)
	add_dependencies(product ${target})
	target_link_options(${target} PRIVATE -Wl,-soname,${file} -Wl,-z,nodelete
		-Wl,--version-script=${CMAKE_SOURCE_DIR}/${map})
	if(row_USES)
		list(TRANSFORM row_USES PREPEND shared_)
		target_link_libraries(${target} PRIVATE ${row_USES})
	else()
		target_link_libraries(${target} PRIVATE ${room})
		get_target_property(rooms ${room} LINK_LIBRARIES)
		if("base" IN_LIST rooms) # else it has no assertions
			_weft_panics(${target})
		endif()
	endif()
	foreach(alias IN LISTS row_ALIAS)
		add_custom_command(TARGET ${target} POST_BUILD VERBATIM
			COMMAND ${CMAKE_COMMAND} -E create_symlink ${file}
				${CMAKE_BINARY_DIR}/lib/${alias})
		install(FILES ${CMAKE_BINARY_DIR}/lib/${alias} DESTINATION lib/weft)
	endforeach()
endfunction()

# weft_standin(FILE SOURCE)
# build/PRESET/standin/FILE, for tests: a shared library that plays one of somebody else's, made of
# tests/standin/SOURCE.  A test that names standin_FILE among its libraries finds it loaded already,
# whatever the machine has; for other programs there is LD_LIBRARY_PATH.
function(weft_standin file source)
	if(WEFT_LIBFUZZER)
		return()
	endif()
	set(target standin_${file})
	add_library(${target} SHARED tests/standin/${source})
	_weft_compile(${target} ${WEFT_WARNINGS_TEST} -D_GNU_SOURCE)
	set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${file}
		NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/standin)
	target_link_options(${target} PRIVATE -Wl,-soname,${file})
endfunction()

# weft_install(DESTINATION FILE...)
# Files and folders that `make install` puts there besides programs and libraries, which go to bin
# and lib/weft by themselves; X.pc.in becomes X.pc, with the version in it.
function(weft_install destination)
	foreach(file IN LISTS ARGN)
		if(file MATCHES "\\.pc\\.in$")
			get_filename_component(pc ${file} NAME_WLE)
			configure_file(${file} ${CMAKE_BINARY_DIR}/${pc} @ONLY)
			install(FILES ${CMAKE_BINARY_DIR}/${pc} DESTINATION ${destination})
		elseif(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${file})
			install(DIRECTORY ${file} DESTINATION ${destination})
		else()
			install(FILES ${file} DESTINATION ${destination})
		endif()
	endforeach()
endfunction()

# weft_script(NAME LABEL COMMAND...)
# A test that is a script or a program with arguments; 77 means skipped.  It finds the programs of
# its build in $WEFT_BUILD.  Under the labels "live" (its subject is real time: it may be tried
# twice) and "alone" (long, but in virtual time: it passes at once) it has the machine to itself.
function(weft_script name label)
	if(WEFT_LIBFUZZER)
		return()
	endif()
	_weft_test(${name} ${label} ${ARGN})
	set_tests_properties(${name}@${WEFT_PRESET} PROPERTIES
		ENVIRONMENT WEFT_BUILD=${CMAKE_BINARY_DIR})
	if(label MATCHES "live|alone")
		set_tests_properties(${name}@${WEFT_PRESET} PROPERTIES RUN_SERIAL ON TIMEOUT 300)
	endif()
endfunction()

# weft_api_pages(HEADER...)
# Pages of include/weft/HEADER.h, by `make docs`; a test sees to it that Doxygen has nothing to say.
function(weft_api_pages)
	add_custom_target(docs USES_TERMINAL COMMAND ${CMAKE_SOURCE_DIR}/docs/api/build.sh
		${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/build/api ${ARGN})
	set_property(GLOBAL PROPERTY WEFT_API_HEADERS ${ARGN})
endfunction()

# weft_shape()
# The rules of the house, as tests; once, in the daily build.  Comes last: it needs the whole table.
function(weft_shape)
	get_property(notes GLOBAL PROPERTY WEFT_NOTES)
	file(WRITE ${CMAKE_BINARY_DIR}/rooms.txt "${notes}")
	if(NOT WEFT_PRESET STREQUAL dev)
		return()
	endif()
	add_executable(tidy tests/shape/tidy.c)
	_weft_program(tidy base)
	set(shape ${CMAKE_SOURCE_DIR}/tests/shape)
	set(tree ${CMAKE_BINARY_DIR}/rooms.txt ${CMAKE_SOURCE_DIR})
	_weft_test(shape/tidy shape tidy ${tree})
	_weft_test(shape/layers shape ${shape}/layers.sh ${tree})
	_weft_test(shape/freestanding shape ${shape}/freestanding.sh ${tree} ${CMAKE_C_COMPILER})
	_weft_test(shape/headers shape ${shape}/headers.sh ${tree})
	get_property(rooms GLOBAL PROPERTY WEFT_ROOMS)
	list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
	_weft_test(shape/symbols shape ${shape}/symbols.sh ${tree} ${archives})
	get_property(library GLOBAL PROPERTY WEFT_LIBRARY)
	_weft_test(shape/archive shape ${shape}/archive.sh ${tree} ${library} ${CMAKE_C_COMPILER})
	_weft_test(shape/can_fail/tidy shape ${shape}/self_test.sh ${shape}/fixtures/tidy
		$<TARGET_FILE:tidy>)
	_weft_test(shape/can_fail/layers shape ${shape}/self_test.sh ${shape}/fixtures/layers
		${shape}/layers.sh)
	_weft_test(shape/can_fail/freestanding shape ${shape}/self_test.sh
		${shape}/fixtures/freestanding ${shape}/freestanding.sh ${CMAKE_C_COMPILER})
	_weft_test(shape/can_fail/headers shape ${shape}/self_test.sh ${shape}/fixtures/headers
		${shape}/headers.sh)
	add_library(fixture_one STATIC tests/shape/fixtures/symbols/one.c)
	add_library(fixture_two STATIC tests/shape/fixtures/symbols/two.c)
	_weft_test(shape/can_fail/symbols shape ${shape}/self_test.sh ${shape}/fixtures/symbols
		${shape}/symbols.sh $<TARGET_FILE:fixture_one> $<TARGET_FILE:fixture_two>)
	_weft_test(shape/can_fail/archive shape ${shape}/self_test.sh ${shape}/fixtures/archive
		${shape}/archive.sh $<TARGET_FILE:fixture_one> ${CMAKE_C_COMPILER})
	add_executable(fixture_check tests/shape/fixtures/check/failing_test.c)
	_weft_program(fixture_check base)
	_weft_test(shape/can_fail/check shape ${shape}/self_test.sh ${shape}/fixtures/check
		${shape}/check.sh $<TARGET_FILE:fixture_check>)
	get_property(headers GLOBAL PROPERTY WEFT_API_HEADERS)
	_weft_test(shape/api_pages shape ${shape}/api_pages.sh ${tree} ${headers})
	_weft_test(shape/can_fail/api_pages shape ${shape}/self_test.sh ${shape}/fixtures/api_pages
		${shape}/api_pages.sh version)
	_weft_test(shape/facts shape ${shape}/facts.sh ${tree})
	_weft_test(shape/can_fail/facts shape ${shape}/self_test.sh ${shape}/fixtures/facts
		${shape}/facts.sh)
	_weft_test(shape/documents shape ${shape}/documents.sh ${tree})
	_weft_test(shape/can_fail/documents shape ${shape}/self_test.sh ${shape}/fixtures/documents
		${shape}/documents.sh)
	_weft_test(shape/manual shape ${shape}/manual.sh ${tree} ${CMAKE_BINARY_DIR})
	_weft_test(shape/can_fail/manual shape ${shape}/self_test.sh ${shape}/fixtures/manual
		${shape}/manual.sh ${shape}/fixtures/manual/bin)
endfunction()
