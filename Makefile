# SPDX-License-Identifier: Apache-2.0
# bpfprof: build, test, install. `make help` lists the targets.
#
# Everything that is built lands in build/ (or $(O)); nothing generated is in git. Variables:
#   O=DIR  V=1 (show commands)  DEBUG=1  STATIC=1  WERROR=1  SAN=address,undefined  CC=clang
#   CROSS=aarch64-linux-gnu-  SYSROOT=DIR  PREFIX=/usr/local  DESTDIR=  VERSION=TEXT
# The list of packages is in tools/install-deps, and only there.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

O        ?= build
V        ?= 0
DEBUG    ?= 0
STATIC   ?= 0
WERROR   ?= 0
SAN      ?=
CROSS    ?=
SYSROOT  ?=
PREFIX   ?= /usr/local
DESTDIR  ?=
TIME     ?= 60
CLANG    ?= clang
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
ifeq ($(origin CC),default)
CC       := $(CROSS)gcc
endif

# A tool that is missing must not show here: $(O)/.deps-build says so, in one line.
ARCH     := $(or $(shell $(CC) -dumpmachine 2>/dev/null | sed 's/-.*//'),$(shell uname -m))
# Where <asm/types.h> is, which <linux/types.h> wants
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_ARCH := $(if $(filter aarch64 arm64,$(ARCH)),arm64,x86)
# The source in a tarball has no git, but a file that says it.
VERSION  := $(or $(file <.version),$(shell git -c safe.directory='$(CURDIR)' describe --always --dirty --tags 2>/dev/null),unknown)

Q        := $(if $(filter 1,$(V)),,@)
say       = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)')
# Targets that build with other variables, or after installing packages, start over with this (the "+"
# before it tells make that it is one of its own).
SUBMAKE   = $(MAKE) $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# --- Flags ---

CFLAGS   ?= -O2 -g
# include/ comes last: its limits.h, which abi.h finds beside itself, must not hide the system's.
OUR_HEADERS := -iquote user -iquote $(O) -idirafter include
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wno-unused-parameter -Wno-missing-field-initializers \
	-fno-omit-frame-pointer -D_GNU_SOURCE $(OUR_HEADERS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS := $(LDFLAGS)
LIBS     := -lbpf -lelf -lzstd -llzma -lcjson -lxxhash -lncursesw -ltinfo -lcapstone -lseccomp -lsqlite3 -lz -lpthread -ldl -lm
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
	-Wno-missing-field-initializers -Wno-unused-function -D__TARGET_ARCH_$(BPF_ARCH) \
	-iquote include -iquote vmlinux -iquote bpf $(MULTIARCH:%=-idirafter $(SYSROOT)/usr/include/% -idirafter /usr/%/include)

ifeq ($(WERROR),1)
ALL_CFLAGS += -Werror
BPF_CFLAGS += -Werror
endif
ifeq ($(DEBUG),1)
ALL_CFLAGS += -O0 -DDEBUG
endif
ifneq ($(SAN),)
ALL_CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all
ALL_LDFLAGS += -fsanitize=$(SAN)
endif
ifneq ($(SYSROOT),)
ALL_CFLAGS += --sysroot=$(SYSROOT)
ALL_LDFLAGS += --sysroot=$(SYSROOT)
endif
ifeq ($(STATIC),1)
# Debian packages no archive of cJSON: the tool builds one and prints its folder. Of C++ only the names are wanted.
ALL_CFLAGS += -DBPFPROF_STATIC
ALL_LDFLAGS += -static-pie -Wl,--wrap=dlopen -L"$$(tools/static-cjson $(CC))"
LIBS     += -lsupc++
else
# Its TLS library has no static form in Debian: a static build has no HTTP server, and says so.
LIBS     += -lmicrohttpd
endif

# --- What there is ---

NO_SRCS  := $(if $(filter 1,$(STATIC)),user/web/mhd_%.c,user/web/no_server.c)
LIB_SRCS := $(filter-out $(NO_SRCS),$(sort $(wildcard user/*/*.c)))
# What its runtime does not know
ifeq ($(SAN),thread)
LIB_SRCS += tests/tsan/clockjoin.c
endif
LIB_OBJS := $(LIB_SRCS:%.c=$(O)/%.o)
ASSETS   := $(sort $(wildcard $(foreach folder,encode web,$(addprefix user/$(folder)/*.,js css html))))
ASSET_HDRS := $(patsubst %,$(O)/gen/%.h,$(notdir $(ASSETS)))
UNIT_SRCS := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(O)/tests/%)
# The unwinder on live processes and core files, by the architecture's own registers
BPFHOST_BINS := $(addprefix $(O)/tests/,singlestep $(if $(filter x86_64,$(ARCH)),snapshot))
BPFHOST_CFLAGS := -iquote bpf -iquote vmlinux -fno-strict-aliasing -Wno-enum-compare -Wno-attributes \
	-Wno-sign-compare
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(O)/tests/%)
# What the page consists of, from the page itself
ASSET_HDRS += $(O)/gen/page_files.h
VERSIONED := $(patsubst %.c,$(O)/%.o,$(shell grep -ls BPFPROF_VERSION user/*.c user/*/*.c))

.PHONY: all
all: $(O)/bpfprof ## build build/bpfprof (the default)

# --- Stamps: a file that changes with the text of a variable, so that what was built with other
# flags, from other sources or at another commit is built again ---

.PHONY: FORCE
FORCE:

# Read by cat: make 4.3's $(file <) now and then gives something else than what is in the file.
define stamp
ifneq ($$(shell cat $(1) 2>/dev/null),$$(strip $$($(2))))
$(1): FORCE
endif
$(1):
	@$$(shell mkdir -p $$(@D))$$(file >$$@,$$(strip $$($(2)))):
endef
CC_STAMP  = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS)
BPF_STAMP = $(CLANG) $(BPF_CFLAGS)
$(eval $(call stamp,$(O)/.cc-flags,CC_STAMP))
$(eval $(call stamp,$(O)/.bpf-flags,BPF_STAMP))
$(eval $(call stamp,$(O)/.objects,LIB_OBJS))
$(eval $(call stamp,$(O)/.version,VERSION))

# One line instead of a wall of errors when a package is missing. The probe's own dependencies are
# the headers and tools that it found, so it is asked again when one of them goes away.
DEPS_STAMPS := $(O)/.deps-build $(O)/.deps-unit $(O)/.deps-fuzz
$(DEPS_STAMPS): $(O)/.deps-%: tools/install-deps $(O)/.cc-flags $(O)/.bpf-flags
	@CC='$(CC) $(filter -I% -nostdinc --sysroot=%,$(ALL_CFLAGS))' CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' \
		tools/install-deps --check --$* --stamp $@

# --- The program ---

$(O)/bpfprof: $(O)/user/main.o $(O)/libbpfprof.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(O)/libbpfprof.a: $(LIB_OBJS) $(O)/.objects
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(CROSS)ar rcs $@ $(LIB_OBJS)

$(O)/%.o: %.c $(O)/.cc-flags | $(O)/.deps-build $(ASSET_HDRS)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(DEFINES) -MMD -MP -c -o $@ $<

$(VERSIONED): $(O)/.version
$(VERSIONED): DEFINES = -DBPFPROF_VERSION='"$(VERSION)"'

# Order-only: which objects include the skeleton is known from their .d files once they were built.
$(filter $(O)/user/capture/%,$(LIB_OBJS)): | $(O)/bpfprof.skel.h

# An asset becomes a C array's initialiser: #include "gen/NAME.h" inside braces.
$(O)/gen/%.h: user/encode/% tools/embed
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && tools/embed $< > $@

$(O)/gen/%.h: user/web/% tools/embed
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && tools/embed $< > $@

$(O)/bpfprof.bpf.o: bpf/bpfprof.bpf.c $(O)/.bpf-flags | $(O)/.deps-build
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $<

$(O)/gen/page_files.h: user/web/page.html tools/page-files
	$(Q)mkdir -p $(@D) && tools/page-files $< > $@

$(O)/bpfprof.skel.h: $(O)/bpfprof.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name bpfprof > $@

# --- Tests ---

.PHONY: unit
unit: $(UNIT_BINS) ## build the unit tests

$(O)/tests/test_%: tests/unit/test_%.c $(O)/libbpfprof.a $(O)/.cc-flags | $(O)/.deps-unit
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -iquote tests/unit -iquote tests/bpfhost -iquote bpf \
		-iquote vmlinux -MMD -MP -MF $@.d -o $@ $(filter %.c %.o,$^) $(O)/libbpfprof.a -lcmocka $(ALL_LDFLAGS) $(LIBS)

# The kernel side's unwinder as a part of tests, for either architecture on any machine.
$(O)/tests/test_unwind_x86: $(O)/tests/bpfhost_x86.o
$(O)/tests/test_unwind_arm64: $(O)/tests/bpfhost_arm64.o

$(O)/tests/bpfhost_%.o: tests/bpfhost/bpfhost.c $(O)/.cc-flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(BPFHOST_CFLAGS) -D__TARGET_ARCH_$* -MMD -MP -MT $@ \
		-MF $(@:.o=.d) -c -o $@ $<

.PHONY: bpfhost
bpfhost: $(BPFHOST_BINS) ## build the programs that compare the unwinder with others

BPFHOST_PARTS := $(addprefix tests/bpfhost/,shadow.c shadow_$(BPF_ARCH).c registers.c space.c libdw_chain.c)
$(O)/tests/snapshot: tests/bpfhost/core_file.c
$(BPFHOST_BINS): $(O)/tests/%: tests/bpfhost/%.c $(BPFHOST_PARTS) $(O)/tests/bpfhost_$(BPF_ARCH).o \
		$(wildcard tests/bpfhost/*.h) $(O)/libbpfprof.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -iquote tests/bpfhost -o $@ $(filter %.c %.o,$^) \
		$(O)/libbpfprof.a -ldw $(ALL_LDFLAGS) $(LIBS)

.PHONY: test
test: ## every test; as root it installs what is missing first
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test; fi
	+@$(SUBMAKE) all unit
	+-@$(SUBMAKE) bpfhost
	@BUILD=$(O) tests/run

.PHONY: test-long
test-long: all ## the sweeps of `make test` in full: all the addresses and files, recordings that are longer; an hour and more
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test; fi
	@BUILD=$(O) BPFPROF_TEST_LONG=1 CFI_SAMPLE=1 tests/run --e2e test_lines test_dwarf test_big_debug test_cfi_libdw test_memory

.PHONY: test-kernels
test-kernels: ## the program on the whole range of kernels, in QEMU, arm64 included
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test --cross; fi
	+@$(SUBMAKE) all
	+@$(SUBMAKE) cross
	@BUILD=$(O) tests/run --kernels

.PHONY: test-live
test-live: all ## real programs under load beside perf: complete stacks, cost per frame, the race test
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@BUILD=$(O) tests/live/run
	@BUILD=$(O) tests/live/speed.sh --check
	@BUILD=$(O) tests/live/race.sh

.PHONY: soak
soak: all ## the agent for TIME=7200 seconds under a load that changes: its cost, memory, store and books
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@tests/live/soak $(O)/bpfprof $(if $(filter file,$(origin TIME)),7200,$(TIME))

.PHONY: test-faults
test-faults: all ## every call of a recording fails once: hours; FAULTS="--mode on-cpu --call bpf" for some
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test; fi
	@BUILD=$(O) tests/faults/run $(FAULTS)

.PHONY: check-readers
check-readers: all ## what we write in readers from the npm registry: speedscope, Firefox Profiler, pprof-format, ClickHouse
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test; fi
	@BUILD=$(O) tests/readers/run
	@BUILD=$(O) tests/readers/clickhouse.sh

# One build for all that looks at the program from inside, because each build takes as long: AddressSanitizer and UBSan,
# what libFuzzer follows, and which lines ran. Clang counts lines of the source, however it optimises.
CHECKED_O = $(O)/checked
CHECKED   = O=$(CHECKED_O) CC=$(CLANG) CFLAGS='-O1 -g -fprofile-instr-generate -fcoverage-mapping' \
	SAN=fuzzer-no-link,address,undefined

.PHONY: checked checked-bins checked-deps
checked-deps:
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --fuzz --unit; fi

checked: checked-deps ## what san, leaks, fuzz and coverage run: by clang, under ASan and UBSan, with counters, in build/checked
	+@$(SUBMAKE) $(CHECKED) all checked-bins

checked-bins: $(UNIT_BINS) $(FUZZ_BINS)

.PHONY: san
san: checked-deps ## the unit tests under AddressSanitizer and UBSan
	+@$(SUBMAKE) $(CHECKED) unit
	@BUILD=$(CHECKED_O) LLVM_PROFILE_FILE=/dev/null tests/run --unit

# gcc's runtime tells a race without making a process, which a confined program may not. It says of fences that it does
# not follow them: ours order what the kernel side reads, which is nothing that it could see.
TSAN_UNITS := test_base_fs test_base_task test_debuginfod test_flame_calls test_fleet_calls test_row_builder test_stream
.PHONY: tsan tsan-bins
tsan: ## what has threads under ThreadSanitizer, in build/tsan; SHORT=1: a part
	+@$(SUBMAKE) O=$(O)/tsan CC=$(CROSS)gcc SAN=thread CFLAGS='-O2 -g -Wno-tsan' tsan-bins
	@tests/tsan/run $(if $(SHORT),--short) $(O)/tsan $(TSAN_UNITS)

tsan-bins: $(O)/bpfprof $(TSAN_UNITS:%=$(O)/tests/%)

.PHONY: leaks
leaks: checked-deps ## TIME=3600 seconds of recordings and of an agent under LeakSanitizer; SHORT=1: 20
	+@$(SUBMAKE) $(CHECKED) all
	@LLVM_PROFILE_FILE=/dev/null tests/live/leaks $(CHECKED_O) $(if $(SHORT),20,$(if $(filter file,$(origin TIME)),3600,$(TIME)))

.PHONY: fuzz fuzz-bins
fuzz: checked-deps ## run every fuzz target for TIME=60 seconds
	+@$(SUBMAKE) $(CHECKED) fuzz-bins
	@LLVM_PROFILE_FILE=/dev/null tools/fuzz $(CHECKED_O) $(TIME)

fuzz-bins: $(FUZZ_BINS)

$(O)/tests/fuzz_%: tests/fuzz/fuzz_%.c $(O)/libbpfprof.a $(O)/.cc-flags | $(O)/.deps-fuzz
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -iquote tests/fuzz -fsanitize=fuzzer -MMD -MP -MF $@.d \
		-o $@ $< $(O)/libbpfprof.a $(ALL_LDFLAGS) $(LIBS)

.PHONY: coverage
coverage: checked-deps ## lines of user/ that unit tests and fuzz corpora reach, under ASan and UBSan; readers of foreign bytes at least 90 %
	+@$(SUBMAKE) $(CHECKED) all checked-bins
	@tools/coverage $(CHECKED_O)

.PHONY: bench
bench: all ## measure the program's own cost (tests/bench)
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@BUILD=$(O) tests/bench/run

.PHONY: bench-finish
bench-finish: all ## from the end of a recording to the flame graph, beside perf script
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@BUILD=$(O) tests/bench/finish

.PHONY: bench-waits
bench-waits: all ## what recording waits costs per context switch, beside perf, bpftrace and offcputime
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@BUILD=$(O) tests/bench/waits

.PHONY: bench-heap
bench-heap: all ## what --heap costs per malloc and free, beside empty programs and the shape of memleak
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@BUILD=$(O) tests/bench/heap

.PHONY: bench-html
bench-html: all ## the report of a million nodes: writing, opening, zooming, searching
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test; fi
	@BUILD=$(O) tests/bench/html

.PHONY: bench-store
bench-store: $(O)/tests/store_day ## a generated day in the local store: bytes per sample, times of reads
	@folder=$$(mktemp -d) && $(O)/tests/store_day "$$folder"; status=$$?; rm -rf "$$folder"; exit $$status

.PHONY: bench-page
bench-page: all $(O)/tests/store_day ## until a browser has painted any moment of a generated day
	@tests/bench/page $(O)/bpfprof $(O)/tests/store_day

$(O)/tests/store_day: tests/bench/store_day.c $(O)/libbpfprof.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $< $(O)/libbpfprof.a $(ALL_LDFLAGS) $(LIBS)

# A fleet in one process, for scale tests and demonstrations: no part of the product.
FLEET_SIM := $(wildcard tools/fleet-sim/*.c)

.PHONY: fleet-sim
fleet-sim: $(O)/fleet-sim ## what one host recorded, played as a whole fleet (build/fleet-sim --help)

$(O)/fleet-sim: $(FLEET_SIM) $(wildcard tools/fleet-sim/*.h) $(O)/libbpfprof.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -iquote tools/fleet-sim -o $@ $(FLEET_SIM) $(O)/libbpfprof.a $(ALL_LDFLAGS) $(LIBS)

.PHONY: bench-fleet
bench-fleet: all $(O)/fleet-sim $(O)/tests/store_day ## a simulated fleet in ClickHouse: bytes on disk and on the wire, ingest, questions, beside peers' layouts
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --test; fi
	@BUILD=$(O) tests/bench/fleet

.PHONY: bench-top
bench-top: all ## what the live table costs beside perf top
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --bench; fi
	@BUILD=$(O) tests/bench/top

# --- Source checks ---

.PHONY: lint
lint: $(ASSET_HDRS) ## formatting, function lengths, layers, headers, banned calls
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --lint; fi
	@LINT_CFLAGS='$(filter-out -fsanitize=% -Werror,$(ALL_CFLAGS))' tools/lint

# gcc's analyzer works on optimised code: what is inlined is followed.
ANALYZE_CFLAGS = $(filter-out -fsanitize=% -fno-sanitize-recover=% -Werror,$(ALL_CFLAGS))
.PHONY: analyze
analyze: $(ASSET_HDRS) $(O)/bpfprof.skel.h ## clang-tidy, cppcheck and gcc -fanalyzer over all of user/; SHORT=1: clang-tidy over a part
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --analyze; fi
	@ANALYZE_CFLAGS='$(ANALYZE_CFLAGS)' tools/analyze $(if $(SHORT),--short) $(O)

.PHONY: format
format: ## clang-format every C file
	@tools/lint --list-c | xargs clang-format -i

.PHONY: compile_commands.json
compile_commands.json: ## for clangd and other tools
	$(Q)tools/compile-commands '$(CC) $(ALL_CFLAGS)' $(LIB_SRCS) $(wildcard user/main.c) \
		$(UNIT_SRCS) $(FUZZ_SRCS) > $@

# --- Use and installation ---

PROFILE ?= bpfprof-$(shell date -u +%Y%m%dT%H%M%SZ).html

.PHONY: deps
deps: ## install the packages that the build needs (as root)
	@tools/install-deps --build

# Files made under sudo are given to the user who called it, so that a plain `make` works afterwards.
.PHONY: profile
profile: PROFILE := $(PROFILE)
profile: ## as root: build, record every CPU for 10 s, name the flame graph
	@[ "$$(id -u)" = 0 ] || { echo 'make profile: recording needs root: sudo make profile' >&2; exit 1; }
	@tools/install-deps --build
	+@$(SUBMAKE) all
	@$(O)/bpfprof --all-cpus --duration 10 -o '$(PROFILE)'
	@[ -z "$$SUDO_UID" ] || chown -R "$$SUDO_UID:$$SUDO_GID" '$(O)' '$(PROFILE)'
	@echo 'report: $(PROFILE)'

MAN_DIR  = $(DESTDIR)$(PREFIX)/share/man/man1
MAN_PAGES = $(O)/bpfprof.1 $(O)/cargo-bpfprof.1
# Where each shell looks for the completions of programs
ZSH_FUNCTIONS ?= $(PREFIX)/share/zsh/site-functions
COMPLETIONS = $(O)/bpfprof.bash $(O)/bpfprof.zsh $(O)/bpfprof.fish
BASH_COMPLETION = $(DESTDIR)$(PREFIX)/share/bash-completion/completions/bpfprof
ZSH_COMPLETION = $(DESTDIR)$(ZSH_FUNCTIONS)/_bpfprof
FISH_COMPLETION = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/bpfprof.fish
SYSTEMD_UNITS ?= $(PREFIX)/lib/systemd/system
UNITS = bpfprof-agent.service bpfprof-relay.service
CONFS = agent.conf relay.conf
UNIT_DIR = $(DESTDIR)$(SYSTEMD_UNITS)
CONF_DIR = $(DESTDIR)$(PREFIX)/share/bpfprof
# What tells its options: a program that runs here
TELLER  ?= $(O)/bpfprof

$(O)/bpfprof.1: $(TELLER)
	$(Q)$< help --man > $@

$(O)/cargo-bpfprof.1: tools/cargo-bpfprof tools/help-to-man
	$(Q)mkdir -p $(@D) && $< bpfprof --help | tools/help-to-man -v name=cargo-bpfprof \
		-v summary='build with cargo, profile what runs' > $@

$(COMPLETIONS): $(O)/bpfprof.%: $(TELLER)
	$(Q)$< help --completion $* > $@

.PHONY: install
install: $(O)/bpfprof $(MAN_PAGES) $(COMPLETIONS) ## into PREFIX=/usr/local, under DESTDIR
	$(Q)install -D -m 755 $(O)/bpfprof '$(DESTDIR)$(PREFIX)/bin/bpfprof'
	$(Q)install -D -m 755 tools/cargo-bpfprof '$(DESTDIR)$(PREFIX)/bin/cargo-bpfprof'
	$(Q)install -d '$(MAN_DIR)' && install -m 644 $(MAN_PAGES) '$(MAN_DIR)'
	$(Q)install -D -m 644 $(O)/bpfprof.bash '$(BASH_COMPLETION)'
	$(Q)install -D -m 644 $(O)/bpfprof.zsh '$(ZSH_COMPLETION)'
	$(Q)install -D -m 644 $(O)/bpfprof.fish '$(FISH_COMPLETION)'
	$(Q)install -d '$(UNIT_DIR)' '$(CONF_DIR)'
	$(Q)install -m 644 $(UNITS:%=tools/systemd/%) '$(UNIT_DIR)'
	$(Q)install -m 644 $(CONFS:%=tools/systemd/%) '$(CONF_DIR)'

.PHONY: uninstall
uninstall: ## remove what install put there
	$(Q)rm -f '$(DESTDIR)$(PREFIX)/bin/bpfprof' '$(DESTDIR)$(PREFIX)/bin/cargo-bpfprof' \
		$(MAN_PAGES:$(O)/%='$(MAN_DIR)/%') '$(BASH_COMPLETION)' '$(ZSH_COMPLETION)' '$(FISH_COMPLETION)' \
		$(UNITS:%='$(UNIT_DIR)/%') $(CONFS:%='$(CONF_DIR)/%')

.PHONY: dist
dist: ## the source as a tarball, in build/
	@tools/make-dist '$(VERSION)' $(O)

.PHONY: deb
deb: ## Debian packages, their source package too, in build/deb
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --package; fi
	@tools/make-deb '$(VERSION)' $(O)/deb

# Its symbols stay, for profiles in which it is itself.
STATIC_O = $(O)/static-$(ARCH)
STATIC_LIBS = $(filter-out pthread dl m microhttpd,$(LIBS:-l%=%)) supc++ c gcc
.PHONY: dist-static
dist-static: ## a tarball with a static binary, for any Linux, in build/
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --static; fi
	@rm -rf $(STATIC_O)/root
	+@$(SUBMAKE) O=$(STATIC_O) STATIC=1 PREFIX= DESTDIR=$(STATIC_O)/root install
	@$(CROSS)strip --strip-debug $(STATIC_O)/root/bin/bpfprof
	@tools/make-static $(STATIC_O)/root $(O) 'bpfprof-$(VERSION)-linux-$(ARCH)' $(STATIC_LIBS)

# The program tells its options where it runs: the one for this machine does.
.PHONY: dist-static-arm64
dist-static-arm64: all ## the same for arm64
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --static --cross; fi
	+@sysroot='$(SYSROOT)' && sysroot=$${sysroot:-$$(tools/arm64-sysroot)} && \
		$(SUBMAKE) CC=$(or $(CROSS),aarch64-linux-gnu-)gcc CROSS=$(or $(CROSS),aarch64-linux-gnu-) \
		SYSROOT="$$sysroot" TELLER=$(O)/bpfprof dist-static

.PHONY: cross
cross: ## build for arm64 into build/aarch64; SYSROOT= by default from Debian's packages
	@if [ "$$(id -u)" = 0 ]; then tools/install-deps --cross; fi
	+@sysroot='$(SYSROOT)' && sysroot=$${sysroot:-$$(tools/arm64-sysroot)} && \
		$(SUBMAKE) O=$(O)/aarch64 CC=$(or $(CROSS),aarch64-linux-gnu-)gcc \
		CROSS=$(or $(CROSS),aarch64-linux-gnu-) SYSROOT="$$sysroot" all bpfhost

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf $(O)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z_.-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | sort | expand -t 24

-include $(LIB_OBJS:.o=.d) $(O)/user/main.d $(O)/bpfprof.bpf.d $(UNIT_BINS:=.d) $(FUZZ_BINS:=.d) \
	$(wildcard $(O)/tests/bpfhost_*.d)
-include $(DEPS_STAMPS:=.d)
