# SPDX-License-Identifier: BSD-2-Clause
# The doors of the house for people and CI; CMakeLists.txt knows the rooms.
JOBS ?= $(shell nproc)
CTEST_ARGS ?=
PRESETS ?= dev asan fuzz
SHELL := /bin/bash
PREFIX ?= /usr/local

# $(call build,PRESET[,--target X]): a compiler's words are shown only where it has something to say.
build = cmake --preset $(1) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }; \
	.ci/progress "building $(1)" build/$(1).log & progress=$$!; trap "kill $$progress 2>/dev/null" EXIT; \
	cmake --build build/$(1) -j$(JOBS) $(2) >build/$(1).log 2>&1 || { tail -60 build/$(1).log; exit 1; }; \
	{ kill $$progress; wait $$progress; } 2>/dev/null || :

.PHONY: all install packages test demo bench docs format clean

all: packages
	@mkdir -p build
	@$(call build,release,--target product)
	@ln -sfn release/weft build/weft
	@ln -sfn release/lib build/lib

# The libraries go to lib/weft, where `weft run` looks and no loader: the system's own stay.
install: all
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)' >build/install.log || \
	{ cat build/install.log; exit 1; }

packages:
	@.ci/packages

# All builds under one ctest, twice: first what must pass at once, always; then the tests whose subject is
# real time (label "live"), which other work on the machine can redden.  Those get a second try, and are
# named if they needed one.  The closing line speaks for both.
test: packages
	@mkdir -p build/test; date +%s >build/test.began
	@echo "tests: $$(cat build/test.took 2>/dev/null || echo 'some 25 minutes on two idle cores')"
	@for preset in $(PRESETS); do echo "building $$preset"; $(call build,$$preset); done
	@for preset in $(PRESETS); do echo "subdirs(../$$preset)"; done >build/test/CTestTestfile.cmake
	@rm -f build/test.log; .ci/ctest -LE live -j$(JOBS) $(CTEST_ARGS); once=$$?; \
	.ci/ctest -L live --repeat until-pass:2 $(CTEST_ARGS); live=$$?; \
	echo "$$((($$(date +%s) - $$(cat build/test.began)) / 60)) minutes last time" >build/test.took; \
	.ci/ctest --sum && [ $$once = 0 ] && [ $$live = 0 ]

# Only what it needs: of the rest are hundreds of tests and benchmarks.
demo: packages
	@mkdir -p build
	@$(call build,release,--target weft_program)
	@ln -sfn release/weft build/weft
	build/weft demo

# The benchmarks and nothing else; build/bench.txt and .json have what they said.
bench: packages
	@mkdir -p build
	@echo "building benchmarks"; $(call build,release,--target benches)
	@.ci/bench build/release/bench build/bench

# API pages of the headers that embedders get: build/api/html/index.html.
docs: packages
	@mkdir -p build
	@$(call build,release,--target docs)
	@echo "API pages: build/api/html/index.html"

format:
	@git ls-files '*.c' '*.h' | grep -v tests/shape/fixtures | xargs clang-format -i

clean:
	rm -rf build
