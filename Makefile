# cctest - build, test, install.
#
#   make                build ./cctest                       make check     the tests that a change needs first
#   make check-deep     sanitizers, stand-ins, faults, hosts, Slurm, RDMA (scripts/setup --tests --rdma)
#   make check-night    hours: the whole catalogue of algorithms over everything, campaigns, fuzzing, mutants (SEED=1)
#   make check-rdma     the tests that need RDMA devices, in virtual machines (scripts/setup --rdma)
#   make check-cuda     what only a GPU can show, in at most 9 minutes (CHECK_CUDA=build/check-cuda: the report's folder)
#   make install        PREFIX=/usr/local, DESTDIR=          make clean
#   make campaign       RUNS=300, SEED=1: random faults at random moments, and a table of the results
#   make accept-campaign RUNS=300, SEED=1, KINDS='lossy hog': `cctest accept` on hosts that are made sick; what is named (as root)
#   make bench          side by side with MPI libraries (BENCH='...': options of tests/bench/bench.py)
#   make bench-rdma     verbs beside perftest, in a virtual machine (BENCH='...': options of tests/bench/perftest.py)
#   make against        OLD=PATH: side by side with an older cctest (AGAINST: options of tests/bench/against.py)
#   make fuzz           fuzz all input from outside (FUZZ_SECONDS=60 each; CC=clang: libFuzzer)
#   make mutants        are faults in the source seen by tests (MUTANTS='-j 4 word ...': options of tests/mutants/run)
#   make grain          the fastest --chunk, --slots and --slot-size (GRAIN='--quick ...')
#   make fidelity       how near predictions come to what is measured, by every algorithm (FIDELITY='--only shm --rounds 5')
#   make rings          what the order of a ring gains on hosts with slow links (as root)
#   make loggopsim      LOGGOPSIM=PATH: predictions beside the simulator LogGOPSim (GOAL='--ranks 3,5': options of loggopsim.py)
#   make tuned          how near to the best is auto, before and after `cctest tune`, on sizes and ranks between (TUNED='--ranks 3,5 ...')
#   make scale          the cost of many ranks: schedules, shared memory, start, predictions (SCALE='...')
#   make fleets         simulated fleets: is what is sick named, and nothing else (FLEETS='runs seed hosts')
#   make culprit        is the bottleneck named right: slow links, slow hosts, late ranks (CULPRIT='runs seed'; as root)
# Variables: SAN=address,undefined or SAN=thread; DEV=1 (warnings are errors); V=1 (show commands);
#   PMIX=yes (an error where pmix.h is missing) or PMIX=no (leave it out); likewise VERBS=yes or VERBS=no;
#   CUDA=yes, CUDA=no or CUDA=PATH (the folder of a toolkit); CUDA_ARCHS='90 100' (kernels for these GPUs only).

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
# All cores compile, and ccache helps where it is installed, from a folder that `make clean` removes.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
ccache := $(if $(filter ccache,$(CC) $(CXX)),,$(addsuffix $(subst ,, ) ,$(shell command -v ccache)))
export CCACHE_DIR ?= $(CURDIR)/build/ccache
export CCACHE_NOHASHDIR := yes
export CCACHE_DEPEND := yes
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
sources = $(filter-out $(left_out),$(wildcard $(addsuffix /*.c,src/* src/*/* src/*/*/* algorithms algorithms/* transports transports/* cli cli/* cli/*/*)))
objects = $(sources:%.c=$(BUILD)/%.o) $(kernels:%.cu=$(BUILD)/%.o)
# Ranks and helpers are threads, whose stacks may be small (STACK_LEAST of cli/main.c).
$(objects): flags += $(if $(SAN),,-Wframe-larger-than=16384)
# Tests link with everything but main(), as an archive, so that a test can replace a part.
library := $(BUILD)/libcctest.a
# hwloc, jansson, libsodium and expat are linked statically, so that one binary starts on every node of a cluster.
libraries := -Wl,-Bstatic -lhwloc -ljansson -lsodium -lexpat -Wl,-Bdynamic -ludev -lm -ldl -pthread

ifeq ($(filter clean uninstall,$(MAKECMDGOALS)),)
# Without a compiler, no header would be found.
compiler_fault := $(shell said=$$(: | $(CC) $(CPPFLAGS) -E - 2>&1 >/dev/null) || echo "status $$?: $$said")
ifneq ($(compiler_fault),)
$(error cannot run the compiler '$(strip $(CC) $(CPPFLAGS))': $(compiler_fault); scripts/setup installs gcc, CC=NAME takes another)
endif
missing := $(shell for header in hwloc.h jansson.h sodium.h expat.h; do \
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
without_verbs := absent gdr options peermem port
left_out := $(filter-out $(without_verbs:%=transports/verbs/%.c),$(wildcard transports/verbs/*.c))
endif

# scripts/find-cuda looks for a toolkit. Its runtime is linked statically, so that the binary starts without CUDA and without a
# driver. Without a toolkit, dataplane/memory/cuda/absent.c stands for the memory of GPUs. Sanitizers see it over the runtime for tests.
cuda_wanted := $(or $(CUDA),$(if $(SAN),no,auto))
ifneq ($(cuda_wanted),no)
toolkit := $(shell CC='$(CC)' scripts/find-cuda $(filter-out auto yes,$(cuda_wanted)) 2>&1 || echo missing)
cuda_found := $(if $(filter missing,$(lastword $(toolkit))),,yes)
endif
ifeq ($(cuda_found),yes)
nvcc := $(firstword $(toolkit))
cudart := $(word 3,$(toolkit))
cuda_include := $(wordlist 4,99,$(toolkit))
left_out += $(wildcard src/*/*/cuda/absent.c) src/run/reference/nccl/absent.c
kernels := $(wildcard src/*/*/cuda/*.cu)
libraries += $(cudart) -ldl -lrt -lpthread
cuda_known := $(patsubst compute_%,%,$(shell $(nvcc) --list-gpu-arch))
cuda_archs := $(or $(patsubst sm_%,%,$(subst $(comma), ,$(CUDA_ARCHS))),$(filter $(cuda_known),75 80 90 100 120))
# Kernels for 80 run on 86 and 89, and so on. A letter is that of a variant, such as 90a.
ifneq ($(filter-out $(cuda_known) $(addsuffix a,$(cuda_known)) $(addsuffix f,$(cuda_known)),$(cuda_archs)),)
$(error CUDA_ARCHS=$(CUDA_ARCHS), but this toolkit makes kernels for $(cuda_known))
endif
# Later GPUs compile the PTX of the newest, but not that of a variant such as 90a. As in C, no product and sum are contracted.
# Nothing needs the library of C++.
cuda_newest := $(shell printf '%s\n' $(cuda_archs) | grep -x '[0-9]*' | sort -n | tail -1)
nvcc_flags := -std=c++17 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true -cudart static \
    -Xcompiler -ffp-contract=off,-fno-threadsafe-statics,-fno-exceptions,-fno-rtti -Isrc -I. \
    $(foreach arch,$(cuda_archs),-gencode arch=compute_$(arch),code=sm_$(arch)) \
    $(if $(cuda_newest),-gencode arch=compute_$(cuda_newest)$(comma)code=compute_$(cuda_newest))
else ifeq ($(filter auto no,$(cuda_wanted)),)
$(error CUDA=$(CUDA), but $(filter-out missing,$(toolkit)): run scripts/setup --cuda, or install a CUDA toolkit and give its folder, CUDA=PATH)
else
ifneq ($(cuda_wanted),no)
$(info CUDA is left out, so there is no memory of GPUs: $(filter-out missing,$(toolkit)) (scripts/setup --cuda installs it))
endif
left_out += $(filter-out %/absent.c,$(wildcard src/*/*/cuda/*.c)) \
    $(filter-out %/absent.c %/refusal.c,$(wildcard src/run/reference/nccl/*.c))
endif

# The tests of a folder are one program, in which each file's main() has the file's name: build/tests/unit/base/run test_size.
# A test that replaces a function or a table of the library, or of the C library, is a program of its own, as its head says.
units := $(sort $(dir $(wildcard tests/unit/*/*.c)))
replacing := $(shell grep -l '^ \* tier: .*; program: own' tests/*/*.c tests/*/*/*.c)
tests := $(units:%=$(BUILD)/%run) $(BUILD)/tests/transport/run $(patsubst %.c,$(BUILD)/%,$(filter-out tests/verbs/% tests/cuda/%,$(replacing)))

# A libibverbs for tests (tests/verbs/provider.h), which takes the place of transports/verbs/library.o in the archive.
provider := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/verbs/test_%,$(wildcard tests/verbs/*.c)))
verbs_programs := $(addprefix $(BUILD)/tests/verbs/,cctest transport)
ifeq ($(verbs_found),yes)
tests += $(BUILD)/tests/verbs/run $(BUILD)/tests/verbs/test_rdmacm
over_verbs := $(verbs_programs)
endif

# A CUDA runtime for tests (tests/cuda/runtime.h), and kernels that are compiled for the CPU, by a C++ compiler.
cuda_device := $(patsubst src/%,$(BUILD)/tests/cuda/device/%.o,$(basename \
    $(filter-out %/absent.c %/driver.c,$(wildcard src/*/*/cuda/*.c src/*/*/cuda/*.cu)))) \
    $(patsubst src/run/reference/nccl/%.c,$(BUILD)/tests/cuda/device/nccl/%.o,\
    $(filter-out %/absent.c %/refusal.c,$(wildcard src/run/reference/nccl/*.c)))
cuda_runtime := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/cuda/test_% tests/cuda/check_%,$(wildcard tests/cuda/*.c)))
cuda_programs := $(addprefix $(BUILD)/tests/cuda/,cctest libnvidia-ml.so.1 nccl/libnccl.so.2 copy elements hooks share transport)
both_programs := $(BUILD)/tests/cuda/cctest-verbs
ifneq ($(shell command -v $(CXX)),)
tests += $(BUILD)/tests/cuda/run $(BUILD)/tests/cuda/test_memory_bus
over_cuda := $(cuda_programs) $(if $(over_verbs),$(both_programs))
endif
# Not for what they depend on: those objects are also parts of the program.
$(BUILD)/tests/cuda/%: private defines += -Itests/cuda/include

all: $(binary)

# $(call link,OPTIONS,LIBRARIES): links $@ of the objects among its prerequisites, then the archive. The CUDA runtime for tests
# takes the place of CUDA's.
define link
$(call say,LINK,$@)
$(Q)$(CC) $(filter-out -MMD -MP,$(flags)) $(CFLAGS) $(LDFLAGS) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(2) \
    $(filter-out $(if $(filter $(cuda_runtime),$^),$(cudart)),$(libraries))
endef

$(binary): $(objects)
	$(call link)

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(ccache)$(CC) $(flags) $(defines) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Rebuilds pmix.o when PMIx is installed or removed.
$(BUILD)/pmix.is: FORCE
	$(Q)mkdir -p $(@D) && echo '$(pmix_defines)' | cmp -s - $@ || echo '$(pmix_defines)' >$@
$(BUILD)/src/controlplane/bootstrap/pmix.o: $(BUILD)/pmix.is
$(BUILD)/src/controlplane/bootstrap/pmix.o: defines += $(pmix_defines)

# Links again when verbs or CUDA comes or goes.
$(BUILD)/left_out.is: FORCE
	$(Q)mkdir -p $(@D) && echo '$(left_out)' | cmp -s - $@ || echo '$(left_out)' >$@
$(binary) $(library): $(BUILD)/left_out.is

$(BUILD)/%.o: %.cu
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(nvcc) $(nvcc_flags) $(if $(DEV),-Werror all-warnings) --threads 2 -MMD -MP -c -o $@ $<

# Compiles what CUDA's headers are in again when the toolkit or the architectures change. It lies beside the objects, so that
# tests copy both (build_other of tests/system/lib.sh).
ifeq ($(cuda_found),yes)
$(BUILD)/src/dataplane/memory/cuda/cuda.is: FORCE
	$(Q)mkdir -p $(@D) && echo '$(toolkit) $(nvcc_flags)' | cmp -s - $@ || echo '$(toolkit) $(nvcc_flags)' >$@
$(kernels:%.cu=$(BUILD)/%.o): $(BUILD)/src/dataplane/memory/cuda/cuda.is
cuda_users := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(left_out),$(wildcard $(addsuffix *.c,$(sort \
    $(dir $(shell grep -rl '^$(hash)include <cuda' src transports)))))))
$(cuda_users): $(BUILD)/src/dataplane/memory/cuda/cuda.is
$(cuda_users): flags += $(cuda_include)
endif

$(library): $(filter-out $(BUILD)/cli/main.o,$(objects))
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

test_programs := $(units:%=$(BUILD)/%run) $(addprefix $(BUILD)/tests/,transport/run verbs/run verbs/transport cuda/run cuda/transport)
shared_tests := $(filter-out $(replacing),$(wildcard tests/unit/*/*.c tests/transport/*.c tests/verbs/test_*.c tests/cuda/test_*.c))
shared_objects := $(shared_tests:%.c=$(BUILD)/%.o)
$(shared_objects): flags += -Wno-missing-prototypes
$(shared_objects): private defines += -Dmain=$(basename $(@F))_main

# Links again when a test comes or goes. None defines anything but its main(): it would take the place of a function for all.
$(BUILD)/tests.is: FORCE
	$(Q)mkdir -p $(@D) && echo '$(shared_tests)' | cmp -s - $@ || echo '$(shared_tests)' >$@
names = $(basename $(notdir $(filter $(shared_objects),$^)))
$(test_programs): tests/main.c $(BUILD)/tests.is $(library)
	$(Q)! nm -g --defined-only $(filter $(shared_objects),$^) | grep -E ' [A-VX-Z] ' | grep -v '_main$$' || \
	    { echo "$@: a test that replaces these functions needs 'program: own' in its head"; exit 1; }
	$(call link,-DTESTS='$(foreach name,$(names),TEST($(name)))' $<,-lcmocka)
$(foreach folder,$(units) tests/transport/ tests/verbs/ tests/cuda/,$(eval \
    $(BUILD)/$(folder)run: $(filter $(BUILD)/$(folder)%,$(shared_objects))))
$(BUILD)/tests/verbs/run $(BUILD)/tests/verbs/transport $(BUILD)/tests/verbs/test_rdmacm: $(provider)
$(BUILD)/tests/cuda/run $(BUILD)/tests/cuda/transport $(BUILD)/tests/cuda/test_memory_bus: $(cuda_device) $(cuda_runtime)
$(BUILD)/tests/cuda/run $(BUILD)/tests/cuda/test_memory_bus: $(BUILD)/tests/cuda/kernels_for_test.o $(BUILD)/tests/cuda/header.is
# The tests of transports, whose ranks are threads, over the provider; they and those of a kind of memory, over the runtime.
$(BUILD)/tests/verbs/transport: $(patsubst %,$(BUILD)/tests/transport/%.o,conformance eager peers regions session_end)
$(BUILD)/tests/cuda/transport: $(BUILD)/tests/unit/dataplane/test_contents.o \
    $(patsubst %,$(BUILD)/tests/transport/%.o,conformance eager peers processes regions session_end)

# A test that is a program of its own.
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(library)
	$(call link,,-lcmocka)

# Kernels, and the files that use CUDA, once more: for the runtime for tests.
on_cpu = $(ccache)$(CXX) -x c++ -std=c++17 -fno-exceptions -fno-rtti -include tests/cuda/include/device_host.h \
    $(filter-out -std=% %-prototypes -Werror,$(flags)) $(defines) $(CPPFLAGS) $(CFLAGS) -c -o
$(BUILD)/tests/cuda/%.o: tests/cuda/%.cu
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(on_cpu) $@ $<
$(BUILD)/tests/cuda/device/%.o: src/%.cu
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(on_cpu) $@ $<
$(BUILD)/tests/cuda/device/%.o: src/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(ccache)$(CC) $(flags) $(defines) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/tests/cuda/device/nccl/%.o: src/run/reference/nccl/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(ccache)$(CC) $(flags) $(defines) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
# An NCCL for tests (tests/cuda/nccl/standin.h), which the program loads. It calls the runtime in the program.
nccl_standin := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/check_header.c,$(wildcard tests/cuda/nccl/*.c)))
$(nccl_standin): flags += -fPIC
$(BUILD)/tests/cuda/nccl/header.is: $(wildcard tests/cuda/nccl/*.[ch]) src/run/reference/nccl/api.h $(BUILD)/left_out.is
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(cuda_found),$(CC) $(filter-out -MMD -MP,$(flags)) $(filter-out -Itests/cuda/include,$(defines)) $(cuda_include) \
	    -Itests/cuda/nccl $(CPPFLAGS) -fsyntax-only tests/cuda/nccl/check_header.c)
	$(Q)touch $@
$(BUILD)/tests/cuda/nccl/libnccl.so.2: $(nccl_standin) $(BUILD)/tests/cuda/nccl/header.is
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) $(CFLAGS) $(LDFLAGS) -shared -o $@ $(nccl_standin)
# The program with that runtime; with it and the provider, whose NICs reach the runtime's device memory; with the provider.
$(BUILD)/tests/cuda/cctest $(both_programs): $(BUILD)/cli/main.o $(cuda_device) $(cuda_runtime) $(library)
	$(call link,-rdynamic)
$(BUILD)/tests/verbs/cctest: $(BUILD)/cli/main.o $(library)
	$(call link)
$(both_programs) $(BUILD)/tests/verbs/cctest: $(provider)

# The NVML for tests, as what the program loads.
$(BUILD)/tests/cuda/libnvidia-ml.so.1: $(wildcard tests/cuda/nvml*.[ch]) src/host/nvml/nvml.h
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(flags)) $(defines) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $(filter %.c,$^) -pthread

# Programs of `make check-cuda`: over that runtime, and over CUDA's.
cuda_check := $(addprefix $(BUILD)/tests/cuda/check/,copy elements hooks share)
$(addprefix $(BUILD)/tests/cuda/,copy elements hooks share): $(BUILD)/tests/cuda/%: $(BUILD)/tests/cuda/check/%.o $(cuda_device) $(cuda_runtime) $(library)
	$(call link)
$(cuda_check): $(BUILD)/tests/cuda/check/%: $(BUILD)/tests/cuda/check/%.o $(library)
	$(call link)

cuda_headers := $(firstword $(filter-out -isystem,$(cuda_include)))
nvml_header := $(if $(cuda_headers),$(shell grep -ls 'define NVML_API_VERSION *1[3-9]' $(cuda_headers)/nvml.h))
# The runtime for tests defines what NVIDIA's header declares, and our nvml.h is a part of NVIDIA's, where these are.
$(BUILD)/tests/cuda/header.is: $(BUILD)/left_out.is tests/cuda/include/cuda_runtime_api.h src/dataplane/memory/cuda/fabric_driver.h $(wildcard tests/cuda/*.[ch] src/host/nvml/nvml.[ch] \
    $(cuda_headers)/cuda_runtime_api.h) $(nvml_header)
	$(Q)mkdir -p $(@D)
	$(Q)for api in tests/cuda/include $(cuda_headers); do \
	    $(CC) -std=gnu11 -Wall -Wextra -Werror $(defines:-Itests/cuda/include=-iquote tests/cuda/include) -isystem $$api \
	    -fsyntax-only $(filter-out tests/cuda/test_%,$(filter %.c,$^)) || exit 1; done
	$(Q)$(if $(nvml_header),$(CC) -std=gnu11 -Wall -Wextra -Werror -Wno-deprecated-declarations $(defines) -isystem $(cuda_headers) \
	    -include $(nvml_header) -fsyntax-only tests/cuda/check_nvml.c src/host/nvml/nvml.c)
	$(Q)touch $@

# What an earlier build left is removed where this one leaves it out: system tests run what they find.
over-verbs: $(over_verbs)
	$(if $(over_verbs),,$(Q)rm -f $(verbs_programs) $(both_programs))
over-cuda: $(over_cuda)
	$(if $(over_cuda),,@echo 'the tests of tests/cuda are left out: no C++ compiler (set CXX)')
	$(if $(over_cuda),,$(Q)rm -f $(cuda_programs) $(both_programs))

tests: $(tests) over-verbs over-cuda $(binary)

# The tiers of tests/README.md. Sanitizers' builds have programs for the tests that run with them.
run_tests := $(Q)MAKEFLAGS= tests/run -j --build $(BUILD)
sanitized := +$(Q)$(MAKE) --no-print-directory CFLAGS='-O1 -g1'
check: tests
	$(run_tests) --tier check

check-deep: tests sanitizers
	$(run_tests) --tier deep

sanitizers:
	$(sanitized) SAN=address,undefined tests fuzzers
	$(sanitized) SAN=thread threads
# ThreadSanitizer is for what runs ranks as threads, and for units whose threads order nothing but by what they test.
threads: $(binary) over-verbs over-cuda $(addprefix $(BUILD)/tests/,transport/run transport/refusals unit/run/run unit/dataplane/run)

# The whole catalogue where the basis runs by day, and what goes on for longer. Without a SEED, that of a campaign is new each day.
catalogue := $(addprefix system/,$(notdir $(shell grep -lE 'basis|TEST_CATALOGUE' tests/system/test_*.sh)))
night-tests: export TEST_CATALOGUE := all
night-tests: export TEST_LIMIT := 14400
night-tests: export CAMPAIGN := --runs 300 --seed $(or $(SEED),$(shell date +%Y%m%d))
night-tests: export ACCEPT_CAMPAIGN := $(CAMPAIGN)
check-night:
	$(Q)failed=0; for goal in night-tests fuzz "mutants MUTANTS='--part $$(date +%u)/7'"; do \
	    eval "$(MAKE) --no-print-directory $$goal" || failed=1; done; exit $$failed
night-tests: tests sanitizers
	$(run_tests) --tier night 'rdma/*' 'unit/algorithms/*' address-undefined:unit/algorithms/test_algorithms_far $(catalogue) \
	    system/test_campaign.sh system/test_accept_campaign.sh

# Boots machines with RDMA devices in software. SIW=yes: iWARP, too.
check-rdma: tests
	$(run_tests) 'rdma/*'

# What only a GPU can show (tests/cuda/check/run), over the stand-in where there is none. It builds by itself.
CHECK_CUDA ?= build/check-cuda
check-cuda:
	$(Q)TOOLKIT='$(if $(cuda_found),$(wordlist 1,2,$(toolkit)))' MAKEFLAGS= tests/cuda/check/run $(CHECK_CUDA) $(MAKEOVERRIDES)

# About 20 minutes for 300 runs.
RUNS ?= 300
SEED ?= 1
campaign: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) CAMPAIGN='--runs $(RUNS) --seed $(SEED)' tests/system/test_campaign.sh

# A third of the runs is healthy. About two hours for 300 runs.
accept-campaign: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) ACCEPT_CAMPAIGN='--runs $(RUNS) --seed $(SEED) $(KINDS:%=--kind %)' tests/system/test_accept_campaign.sh

# Decisions of `cctest accept` only; 4,096 hosts take most of the time.
fleets: $(BUILD)/tests/unit/accept/run
	$(Q)$< test_screening_fleets $(or $(FLEETS),100)

culprit: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/system/test_culprit.sh $(or $(CULPRIT),20)

# Fuzz targets (tests/fuzz/fuzz.h) need AddressSanitizer. The driver is not instrumented.
fuzz_shared := $(addprefix $(BUILD)/tests/fuzz/,common.o $(if $(libfuzzer),,driver.o))
fuzzers := $(patsubst %.c,$(BUILD)/%,$(filter-out %/common.c %/driver.c $(if $(verbs_found),,%/verbs.c),$(wildcard tests/fuzz/*.c)))
$(BUILD)/tests/fuzz/driver.o: flags := $(filter-out -fsanitize-coverage=%,$(flags))

$(fuzzers): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(fuzz_shared) $(library)
	$(call link,$(if $(libfuzzer),-fsanitize=fuzzer))

fuzzers: $(fuzzers)

# They compile with the tests, so that none falls behind.
tests: $(addsuffix .o,$(fuzzers))

FUZZ_SECONDS ?= 60
fuzz:
	$(Q)$(MAKE) FUZZ=1 fuzzers
	$(Q)tests/fuzz/run $(FUZZ_SECONDS) $(patsubst $(BUILD)/%,build-fuzz-$(notdir $(CC))/%,$(fuzzers))

# Builds in copies of this folder. A fault may leave a variable unused, so warnings are no errors there. A blank in the value of
# a variable parts no words.
blank := $(subst ,, )
mutants:
	$(Q)MAKEFLAGS= tests/mutants/run $(MUTANTS) $(subst |,\$(blank),$(filter-out DEV=% MUTANTS=%,$(subst \$(blank),|,$(MAKEOVERRIDES))))

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

fidelity: $(binary) $(BUILD)/tests/bench/delay_line
	$(Q)CCTEST=$(abspath $(binary)) tests/bench/fidelity.sh $(abspath $(BUILD))/tests/bench/delay_line $(FIDELITY)

rings: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/bench/rings.sh $(RINGS)

loggopsim: $(binary)
	$(Q)tests/bench/loggopsim.py --cctest $(abspath $(binary)) \
	    --loggopsim $(or $(LOGGOPSIM),$(error give LOGGOPSIM=PATH, the program to compare with)) $(GOAL)

tuned: $(binary)
	$(Q)tests/bench/tuned.py --cctest $(abspath $(binary)) $(TUNED)

# Programs for studies, without cmocka.
$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(library)
	$(call link)

scale: $(binary) $(BUILD)/tests/bench/scale
	$(Q)tests/bench/scale.py --cctest $(abspath $(binary)) --program $(BUILD)/tests/bench/scale $(SCALE)

# Installs what `make` has built: root may have other tools on the PATH.
install: $(if $(wildcard $(binary)),,$(binary))
	install -D -m 755 $(binary) $(DESTDIR)$(PREFIX)/bin/cctest
	install -D -m 644 man/cctest.1 $(DESTDIR)$(PREFIX)/share/man/man1/cctest.1
	install -D -m 644 cli/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cctest
	install -D -m 644 cli/schema.json $(DESTDIR)$(PREFIX)/share/cctest/schema.json

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/cctest $(DESTDIR)$(PREFIX)/share/man/man1/cctest.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cctest $(DESTDIR)$(PREFIX)/share/cctest/schema.json
	rmdir $(DESTDIR)$(PREFIX)/share/cctest 2>/dev/null || true

# A toolkit of `scripts/setup --cuda` stays.
clean:
	rm -rf $(filter-out build/cuda,$(wildcard build/*)) build-* cctest

-include $(objects:.o=.d) $(provider:.o=.d) $(cuda_runtime:.o=.d) $(cuda_device:.o=.d) $(nccl_standin:.o=.d) $(cuda_check:=.d) \
    $(BUILD)/tests/cuda/kernels_for_test.d $(patsubst %.c,$(BUILD)/%.d,$(shared_tests) $(replacing)) $(fuzzers:=.d) $(fuzz_shared:.o=.d)

.SECONDARY:
.PHONY: FORCE all over-verbs over-cuda tests check check-deep check-night night-tests sanitizers threads check-rdma check-cuda culprit fleets fuzzers fuzz mutants campaign accept-campaign bench bench-rdma against grain fidelity loggopsim rings tuned scale install uninstall clean
