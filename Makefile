# cctest - build, test, install.
#
#   make                build ./cctest                       make check     run the tests
#   make check-rdma     the tests that need RDMA devices, in virtual machines (scripts/setup --rdma)
#   make install        PREFIX=/usr/local, DESTDIR=          make clean
#   make campaign       RUNS=300, SEED=1: random faults at random moments, and a table of the results
#   make bench          side by side with MPI libraries (BENCH='...': options of tests/bench/bench.py)
#   make bench-rdma     verbs beside perftest, in a virtual machine (BENCH='...': options of tests/bench/perftest.py)
#   make against        OLD=PATH: side by side with an older cctest (AGAINST: options of tests/bench/against.py)
#   make fuzz           fuzz all input from outside (FUZZ_SECONDS=60 each; CC=clang: libFuzzer)
#   make grain          the fastest --chunk, --slots and --slot-size (GRAIN='--quick ...')
#   make scale          the cost of many ranks: schedules, shared memory, start (SCALE='...')
#   make culprit        is the bottleneck named right: slow links, slow hosts, late ranks (CULPRIT='runs seed'; as root)
# Variables: SAN=address,undefined or SAN=thread; DEV=1 (warnings are errors); V=1 (show commands);
#   PMIX=yes (an error where pmix.h is missing) or PMIX=no (leave it out); likewise VERBS=yes or VERBS=no.

VERSION := 0.1.0
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
# Some versions of make keep the backslash if it is written in a call.
hash := \#
ifdef FUZZ # set by `make fuzz`
SAN := address,undefined
endif
BUILD := build$(if $(FUZZ),-fuzz-$(notdir $(CC)),$(if $(SAN),-$(subst $(comma),-,$(SAN))))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

CFLAGS ?= -O2 -g
defines := -D_GNU_SOURCE -DCCTEST_VERSION='"$(VERSION)"' -Isrc -I.
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
            -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wno-unknown-warning-option \
            -Wno-format-truncation
# No product and sum are contracted: results are the same to the bit on every machine.
flags := -std=gnu11 -ffp-contract=off $(warnings) $(if $(DEV),-Werror) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) \
         -pthread -MMD -MP
# Fuzzing is guided by coverage.
libfuzzer := $(if $(FUZZ),$(findstring clang,$(CC)))
flags += $(if $(libfuzzer),-fsanitize=fuzzer-no-link,$(if $(FUZZ),-fsanitize-coverage=trace-pc))

binary := $(if $(SAN),$(BUILD)/cctest,cctest)
sources = $(filter-out $(left_out),$(wildcard $(addsuffix /*.c,src/* algorithms algorithms/* transports transports/* cli cli/*)))
objects = $(sources:%.c=$(BUILD)/%.o)
# Tests link with everything but main(), as an archive, so that a test can replace a part.
library := $(BUILD)/libcctest.a
# hwloc, jansson and libsodium are linked statically, so that one binary starts on every node of a cluster.
libraries := -Wl,-Bstatic -lhwloc -ljansson -lsodium -Wl,-Bdynamic -ludev -lm -ldl -pthread

ifeq ($(filter clean uninstall,$(MAKECMDGOALS)),)
missing := $(shell for header in hwloc.h jansson.h sodium.h; do \
    echo "$(hash)include <$$header>" | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || echo $$header; done)
ifneq ($(missing),)
$(error cannot find $(missing): run scripts/setup, or install the -dev packages that it names)
endif

# PMIx is loaded at run time, so only its headers are needed.
PMIX ?= auto
pmix_flags := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags pmix 2>/dev/null || \
    ls -d /usr/lib/*/pmix*/include 2>/dev/null | sed 's/^/-I/'))
ifneq ($(PMIX),no)
pmix_found := $(shell echo '$(hash)include <pmix.h>' | $(CC) $(CPPFLAGS) $(pmix_flags) -E - >/dev/null 2>&1 && echo yes)
endif
ifeq ($(pmix_found),yes)
pmix_defines := -DWITH_PMIX $(pmix_flags)
else ifeq ($(PMIX),yes)
$(error PMIX=yes, but cannot find pmix.h: run scripts/setup, or install libpmix-dev)
else ifneq ($(PMIX),no)
$(info PMIx is left out, so mpirun and srun --mpi=pmix cannot start ranks: no pmix.h (scripts/setup installs it))
endif
endif

# libibverbs and librdmacm are loaded at run time, too. Without their headers, absent.c stands for the transport, and `cctest
# info` still reads what sysfs says of the ports.
VERBS ?= auto
ifneq ($(VERBS),no)
verbs_found := $(shell printf '$(hash)include <infiniband/verbs.h>\n$(hash)include <rdma/rdma_cma.h>\n' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && echo yes)
endif
ifeq ($(verbs_found),yes)
left_out := transports/verbs/absent.c
else ifeq ($(VERBS),yes)
$(error VERBS=yes, but cannot find infiniband/verbs.h and rdma/rdma_cma.h: run scripts/setup, or install libibverbs-dev and librdmacm-dev)
else
ifneq ($(VERBS),no)
$(info the verbs transport is left out: no infiniband/verbs.h or rdma/rdma_cma.h (scripts/setup installs them))
endif
without_verbs := absent gdr gid_table options pause peermem port port_counters
left_out := $(filter-out $(without_verbs:%=transports/verbs/%.c),$(wildcard transports/verbs/*.c))
endif

tests := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c tests/transport/*.c))

# A libibverbs for tests (tests/verbs/provider.h), which takes the place of transports/verbs/library.o in the archive.
provider := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/verbs/test_%,$(wildcard tests/verbs/*.c)))
ifeq ($(verbs_found),yes)
tests += $(patsubst %.c,$(BUILD)/%,$(wildcard tests/verbs/test_*.c))
over_verbs := $(addprefix $(BUILD)/tests/verbs/,cctest conformance eager peers regions session_end)
endif

all: $(binary)

$(binary): $(objects)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -o $@ $(objects) $(libraries)

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(flags) $(defines) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Rebuilds pmix.o when PMIx is installed or removed.
$(BUILD)/pmix.is: FORCE
	$(Q)mkdir -p $(@D) && echo '$(pmix_defines)' | cmp -s - $@ || echo '$(pmix_defines)' >$@
$(BUILD)/src/bootstrap/pmix.o: $(BUILD)/pmix.is
$(BUILD)/src/bootstrap/pmix.o: defines += $(pmix_defines)

# Links again when verbs comes or goes.
$(BUILD)/verbs.is: FORCE
	$(Q)mkdir -p $(@D) && echo '$(left_out)' | cmp -s - $@ || echo '$(left_out)' >$@
$(binary) $(library): $(BUILD)/verbs.is

$(library): $(filter-out $(BUILD)/cli/main.o,$(objects))
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(library)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -o $@ $< $(library) -lcmocka $(libraries)

$(BUILD)/tests/verbs/%: $(BUILD)/tests/verbs/%.o $(provider) $(library)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -o $@ $< $(provider) $(library) -lcmocka $(libraries)

# The program and the tests of transports, with their ranks as threads of one process, which the provider joins.
$(BUILD)/tests/verbs/cctest: $(BUILD)/cli/main.o $(provider) $(library)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -o $@ $< $(provider) $(library) $(libraries)

$(filter-out %/cctest,$(over_verbs)): $(BUILD)/tests/verbs/%: $(BUILD)/tests/transport/%.o $(provider) $(library)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -o $@ $< $(provider) $(library) -lcmocka $(libraries)

over-verbs: $(over_verbs)

tests: $(tests) $(over_verbs) $(binary)

# Test programs, then scripts that run the real binary; test_sanitizers.sh makes its own builds.
check: tests
	$(Q)CCTEST=$(abspath $(binary)) tests/run $(tests) $(wildcard tests/system/test_*.sh)

# Boots machines with RDMA devices in software; says so if that takes longer than 10 minutes. SIW=yes: iWARP, too.
rdma_tests := $(filter-out $(if $(filter yes,$(SIW)),,%/test_iwarp.sh),$(wildcard tests/rdma/test_*.sh))
check-rdma: tests
	$(Q)CCTEST=$(abspath $(binary)) TEST_LIMIT=300 TEST_TOTAL=600 tests/run $(rdma_tests)

# About 20 minutes for 300 runs.
RUNS ?= 300
SEED ?= 1
campaign: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) CAMPAIGN='--runs $(RUNS) --seed $(SEED)' tests/system/test_campaign.sh

culprit: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/system/test_culprit.sh $(or $(CULPRIT),20)

# Fuzz targets (tests/fuzz/fuzz.h) need AddressSanitizer. The driver is not instrumented.
fuzz_shared := $(addprefix $(BUILD)/tests/fuzz/,common.o $(if $(libfuzzer),,driver.o))
fuzzers := $(patsubst %.c,$(BUILD)/%,$(filter-out %/common.c %/driver.c $(if $(verbs_found),,%/verbs.c),$(wildcard tests/fuzz/*.c)))
$(BUILD)/tests/fuzz/driver.o: flags := $(filter-out -fsanitize-coverage=%,$(flags))

$(fuzzers): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(fuzz_shared) $(library)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(if $(libfuzzer),-fsanitize=fuzzer) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(libraries)

fuzzers: $(fuzzers)

# They compile with the tests, so that none falls behind.
tests: $(addsuffix .o,$(fuzzers))

FUZZ_SECONDS ?= 60
fuzz:
	$(Q)$(MAKE) FUZZ=1 fuzzers
	$(Q)tests/fuzz/run $(FUZZ_SECONDS) $(patsubst $(BUILD)/%,build-fuzz-$(notdir $(CC))/%,$(fuzzers))

# Takes minutes, on an idle machine.
bench: $(binary) $(BUILD)/tests/bench/kernels
	$(Q)tests/bench/bench.py --cctest $(abspath $(binary)) --build $(abspath $(BUILD))/bench \
	    --kernels $(abspath $(BUILD))/tests/bench/kernels $(BENCH)

bench-rdma: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/rdma/bench.sh tests/bench/perftest.py --cctest $(abspath $(binary)) $(BENCH)

against: $(binary)
	$(Q)tests/bench/against.py $(or $(OLD),$(error give OLD=PATH, the binary to compare with)) $(abspath $(binary)) $(AGAINST)

grain: $(binary)
	$(Q)tests/bench/grain.py --cctest $(abspath $(binary)) --build $(abspath $(BUILD))/bench $(GRAIN)

# Programs for studies, without cmocka.
$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(library)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -o $@ $< $(library) $(libraries)

scale: $(binary) $(BUILD)/tests/bench/scale
	$(Q)tests/bench/scale.py --cctest $(abspath $(binary)) --program $(BUILD)/tests/bench/scale $(SCALE)

install: $(binary)
	install -D -m 755 $(binary) $(DESTDIR)$(PREFIX)/bin/cctest
	install -D -m 644 man/cctest.1 $(DESTDIR)$(PREFIX)/share/man/man1/cctest.1
	install -D -m 644 cli/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cctest

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/cctest $(DESTDIR)$(PREFIX)/share/man/man1/cctest.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cctest

clean:
	rm -rf build build-* cctest

-include $(objects:.o=.d) $(provider:.o=.d) $(tests:=.d) $(fuzzers:=.d) $(fuzz_shared:.o=.d)

.SECONDARY:
.PHONY: FORCE all over-verbs tests check check-rdma culprit fuzzers fuzz campaign bench bench-rdma against grain scale install uninstall clean
