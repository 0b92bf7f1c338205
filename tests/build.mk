# build.mk - the tests: their programs, tiers and studies. A part of the Makefile.

# The tests of a folder are one program, in which each file's main() has the file's name: build/tests/unit/base/run test_size.
# A test that replaces a function or a table of the library, or of the C library, is a program of its own, as its head says.
units := $(sort $(dir $(wildcard tests/unit/*/*.c)))
replacing := $(shell grep -l '^ \* tier: .*; program: own' tests/*/*.c tests/*/*/*.c)
tests := $(units:%=$(BUILD)/%run) $(BUILD)/tests/transport/run $(patsubst %.c,$(BUILD)/%,$(filter-out tests/verbs/% tests/cuda/%,$(replacing)))

# A libibverbs for tests (tests/verbs/provider.h), which takes the place of transports/verbs/library.o in the archive.
provider := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/verbs/test_%,$(wildcard tests/verbs/*.c)))
verbs_programs := $(addprefix $(BUILD)/tests/verbs/,cctest transport)
ifdef verbs_found
tests += $(BUILD)/tests/verbs/run $(BUILD)/tests/verbs/test_rdmacm
over_verbs := $(verbs_programs)
endif

# A CUDA runtime for tests (tests/cuda/runtime.h), and kernels that are compiled for the CPU, by a C++ compiler.
cuda_device := $(patsubst src/%,$(BUILD)/tests/cuda/device/%.o,$(basename \
    $(filter-out %/absent.c %/driver.c %/refusal.c,$(wildcard src/*/*/cuda/*.c src/*/*/cuda/*.cu src/run/reference/nccl/*.c))))
cuda_runtime := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/cuda/test_% tests/cuda/check_%,$(wildcard tests/cuda/*.c)))
cuda_programs := $(addprefix $(BUILD)/tests/cuda/,cctest libnvidia-ml.so.1 nccl/libnccl.so.2 copy elements hooks share transport)
both_programs := $(BUILD)/tests/cuda/cctest-verbs
ifneq ($(shell command -v $(CXX)),)
tests += $(BUILD)/tests/cuda/run $(BUILD)/tests/cuda/test_memory_bus
over_cuda := $(cuda_programs) $(if $(over_verbs),$(both_programs))
endif
# Not for what they depend on: those objects are also parts of the program.
$(BUILD)/tests/cuda/%: private defines += -Itests/cuda/include

test_programs := $(units:%=$(BUILD)/%run) $(addprefix $(BUILD)/tests/,transport/run verbs/run verbs/transport cuda/run cuda/transport)
shared_tests := $(filter-out $(replacing),$(wildcard tests/unit/*/*.c tests/transport/*.c tests/verbs/test_*.c tests/cuda/test_*.c))
shared_objects := $(shared_tests:%.c=$(BUILD)/%.o)
$(shared_objects): flags += -Wno-missing-prototypes
$(shared_objects): private defines += -Dmain=$(basename $(@F))_main

# Links again when a test comes or goes. None defines anything but its main(): it would take the place of a function for all.
$(eval $(call kept,$(BUILD)/tests.is,$(shared_tests)))
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
over_standins := conformance eager peers regions session_end
$(BUILD)/tests/verbs/transport: $(over_standins:%=$(BUILD)/tests/transport/%.o)
$(BUILD)/tests/cuda/transport: $(BUILD)/tests/unit/dataplane/test_contents.o $(patsubst %,$(BUILD)/tests/transport/%.o,$(over_standins) processes)

# A test, a fuzz target or a study that is a program of its own.
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(library)
	$(call link,$(if $(filter $(fuzzers),$@),$(if $(libfuzzer),-fsanitize=fuzzer)),$(if $(filter $(fuzzers) $(BUILD)/tests/bench/%,$@),,-lcmocka))

# Kernels, and the files that use CUDA, once more: for the runtime for tests.
on_cpu = $(ccache)$(CXX) -x c++ -std=c++17 -fno-exceptions -fno-rtti -include tests/cuda/include/device_host.h \
    $(filter-out -std=% %-prototypes -Werror,$(flags)) $(defines) $(CPPFLAGS) $(CFLAGS)
$(BUILD)/tests/cuda/%.o: tests/cuda/%.cu
	$(call compile,CXX,$(on_cpu))
$(BUILD)/tests/cuda/device/%.o: src/%.cu
	$(call compile,CXX,$(on_cpu))
$(BUILD)/tests/cuda/device/%.o: src/%.c
	$(call compile,CC,$(c_compiler))
# An NCCL for tests (tests/cuda/nccl/standin.h), which the program loads. It calls the runtime in the program.
nccl_standin := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/check_header.c,$(wildcard tests/cuda/nccl/*.c)))
$(nccl_standin): flags += -fPIC
$(BUILD)/tests/cuda/nccl/header.is: $(wildcard tests/cuda/nccl/*.[ch]) src/run/reference/nccl/internal.h $(BUILD)/left_out.is
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
$(BUILD)/tests/cuda/header.is: $(BUILD)/left_out.is tests/cuda/include/cuda_runtime_api.h src/dataplane/memory/cuda/internal.h \
    $(wildcard tests/cuda/*.[ch] src/host/nvml/nvml.[ch] $(cuda_headers)/cuda_runtime_api.h) $(nvml_header)
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

tests: $(tests) over-verbs over-cuda $(binary) $(if $(SAN),,pages) $(BUILD)/tests/bench/delay_line

## make check             the tests that a change needs first
## make check-deep        sanitizers, stand-ins, faults, hosts, Slurm, RDMA (scripts/setup --tests --rdma)
## make check-night       hours: the whole catalogue of algorithms over everything, campaigns, fuzzing, mutants (SEED=1)
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

## make check-rdma        the tests that need RDMA devices, in virtual machines (scripts/setup --rdma); SIW=yes: iWARP, too
check-rdma: tests
	$(run_tests) 'rdma/*'

## make check-cuda        what only a GPU can show, in at most 9 minutes (CHECK_CUDA=build/check-cuda: the report's folder)
# tests/cuda/check/run, over the stand-in where there is no GPU. It builds by itself.
CHECK_CUDA ?= build/check-cuda
check-cuda:
	$(Q)TOOLKIT='$(nvcc) $(nvcc_version)' MAKEFLAGS= tests/cuda/check/run $(CHECK_CUDA) $(MAKEOVERRIDES)

## make campaign          RUNS=300, SEED=1: random faults at random moments, and a table of the results; about 20 minutes
RUNS ?= 300
SEED ?= 1
campaign: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) CAMPAIGN='--runs $(RUNS) --seed $(SEED)' tests/system/test_campaign.sh

## make accept-campaign   RUNS=300, SEED=1, KINDS='lossy hog': `cctest accept` on hosts with faults; what is named (as root); two hours
# A half of the runs is healthy.
accept-campaign: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) ACCEPT_CAMPAIGN='--runs $(RUNS) --seed $(SEED) $(KINDS:%=--kind %)' tests/system/test_accept_campaign.sh

## make fleets            simulated fleets: is each fault named, and nothing else (FLEETS='runs seed hosts')
# Decisions of `cctest accept` only; 4,096 hosts take most of the time.
fleets: $(BUILD)/tests/unit/accept/run
	$(Q)$< test_screening_fleets $(or $(FLEETS),100)

## make culprit           is the bottleneck named right: slow links, slow hosts, late ranks (CULPRIT='runs seed'; as root)
culprit: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/system/test_culprit.sh $(or $(CULPRIT),20)

# Fuzz targets (tests/fuzz/fuzz.h) need AddressSanitizer. The driver is not instrumented.
fuzz_shared := $(addprefix $(BUILD)/tests/fuzz/,common.o $(if $(libfuzzer),,driver.o))
fuzzers := $(patsubst %.c,$(BUILD)/%,$(filter-out %/common.c %/driver.c $(if $(verbs_found),,%/verbs.c),$(wildcard tests/fuzz/*.c)))
$(BUILD)/tests/fuzz/driver.o: flags := $(filter-out -fsanitize-coverage=%,$(flags))

$(fuzzers): $(fuzz_shared)
fuzzers: $(fuzzers)

# They compile with the tests, so that none falls behind.
tests: $(addsuffix .o,$(fuzzers))

## make fuzz              fuzz all input from outside (FUZZ_SECONDS=60 each; CC=clang: libFuzzer)
FUZZ_SECONDS ?= 60
fuzz:
	$(Q)$(MAKE) FUZZ=1 fuzzers
	$(Q)tests/fuzz/run $(FUZZ_SECONDS) $(patsubst $(BUILD)/%,build-fuzz-$(notdir $(CC))/%,$(fuzzers))

## make mutants           are faults in the source seen by tests (MUTANTS='-j 4 word ...': options of tests/mutants/run)
# Builds in copies of this folder. A fault may leave a variable unused, so warnings are no errors there. A blank in the value of
# a variable parts no words.
blank := $(subst ,, )
mutants:
	$(Q)MAKEFLAGS= tests/mutants/run $(MUTANTS) $(subst |,\$(blank),$(filter-out DEV=% MUTANTS=%,$(subst \$(blank),|,$(MAKEOVERRIDES))))

## make bench             side by side with MPI libraries, on an idle machine (BENCH='...': options of tests/bench/bench.py)
bench: $(binary) $(BUILD)/tests/bench/kernels
	$(Q)tests/bench/bench.py --cctest $(abspath $(binary)) --build $(abspath $(BUILD))/bench \
	    --kernels $(abspath $(BUILD))/tests/bench/kernels $(BENCH)

## make bench-rdma        verbs beside perftest, in a virtual machine (BENCH='...': options of tests/bench/perftest.py)
bench-rdma: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/rdma/bench.sh tests/bench/perftest.py --cctest $(abspath $(binary)) $(BENCH)

## make against           OLD=PATH: side by side with an older cctest (AGAINST: options of tests/bench/against.py)
against: $(binary)
	$(Q)tests/bench/against.py $(or $(OLD),$(error give OLD=PATH, the binary to compare with)) $(abspath $(binary)) $(AGAINST)

## make grain             the fastest --chunk, --slots and --slot-size (GRAIN='--quick ...')
grain: $(binary)
	$(Q)tests/bench/grain.py --cctest $(abspath $(binary)) --build $(abspath $(BUILD))/bench $(GRAIN)

## make fidelity          how near predictions come to what is measured, by every algorithm (FIDELITY='--only shm --rounds 5')
fidelity: $(binary) $(BUILD)/tests/bench/delay_line
	$(Q)CCTEST=$(abspath $(binary)) tests/bench/fidelity.sh $(abspath $(BUILD))/tests/bench/delay_line $(FIDELITY)

## make rings             what the order of a ring gains on hosts with slow links (as root)
rings: $(binary)
	$(Q)CCTEST=$(abspath $(binary)) tests/bench/rings.sh $(RINGS)

## make loggopsim         LOGGOPSIM=PATH: predictions beside the simulator LogGOPSim (GOAL='--ranks 3,5': options of loggopsim.py)
loggopsim: $(binary)
	$(Q)tests/bench/loggopsim.py --cctest $(abspath $(binary)) \
	    --loggopsim $(or $(LOGGOPSIM),$(error give LOGGOPSIM=PATH, the program to compare with)) $(GOAL)

## make tuned             how near to the best is auto, before and after `cctest tune`, on sizes and ranks between (TUNED='--ranks 3,5 ...')
tuned: $(binary)
	$(Q)tests/bench/tuned.py --cctest $(abspath $(binary)) $(TUNED)

## make scale             the cost of many ranks: schedules, shared memory, start, predictions (SCALE='...')
scale: $(binary) $(BUILD)/tests/bench/scale
	$(Q)tests/bench/scale.py --cctest $(abspath $(binary)) --program $(BUILD)/tests/bench/scale $(SCALE)

-include $(provider:.o=.d) $(cuda_runtime:.o=.d) $(cuda_device:.o=.d) $(nccl_standin:.o=.d) $(cuda_check:=.d) \
    $(BUILD)/tests/cuda/kernels_for_test.d $(patsubst %.c,$(BUILD)/%.d,$(shared_tests) $(replacing)) $(fuzzers:=.d) $(fuzz_shared:.o=.d)

.PHONY: over-verbs over-cuda tests check check-deep check-night night-tests sanitizers threads check-rdma check-cuda culprit fleets \
    fuzzers fuzz mutants campaign accept-campaign bench bench-rdma against grain fidelity loggopsim rings tuned scale
