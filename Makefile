# cctest - build, install; `make help` says what else. Tests: tests/build.mk; the manual: man/build.mk. What this machine has: scripts/configure.
#
# Variables: SAN=address,undefined or SAN=thread; DEV=1 (warnings are errors); V=1 (show commands);
#   PMIX=yes (an error where pmix.h is missing) or PMIX=no (leave it out); likewise VERBS=yes or VERBS=no;
#   CUDA=yes, CUDA=no or CUDA=PATH (the folder of a toolkit); CUDA_ARCHS='90 100' (kernels for these GPUs only).

VERSION := 0.1.0
.DEFAULT_GOAL := all
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
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

# What this machine has. Sanitizers see the memory of GPUs over the runtime for tests.
ifeq ($(filter clean uninstall help,$(MAKECMDGOALS)),)
config := $(BUILD)/config.mk
PMIX ?= auto
VERBS ?= auto
cuda_wanted := $(or $(CUDA),$(if $(SAN),no,auto))
asked := $(strip $(CC) | $(CPPFLAGS) | $(PMIX) | $(VERBS) | $(cuda_wanted) | $(CUDA_ARCHS))
-include $(config)
newer := $(shell find scripts/configure scripts/find-cuda -newer $(config) 2>/dev/null)
ifneq ($(asked)|$(strip $(present))|,$(configured)|$(strip $(wildcard $(present)))|$(strip $(wildcard $(awaited)) $(newer)))
said := $(shell CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' PMIX='$(PMIX)' VERBS='$(VERBS)' CUDA='$(cuda_wanted)' \
    CUDA_ARCHS='$(CUDA_ARCHS)' ASKED='$(asked)' scripts/configure $(config) 2>&1)
ifneq ($(.SHELLSTATUS),0)
$(error $(said))
endif
include $(config)
endif
$(config): ; # by the above; make may have looked for it before it was there
$(foreach part,pmix verbs cuda,$(if $(without_$(part)),$(info $(without_$(part)))))
endif

# Without the headers of verbs, absent.c stands for the transport, and `cctest info` still reads what sysfs says of the ports.
# Without a toolkit of CUDA, another stands for the memory of GPUs.
verbs_facts := absent gdr options peermem port
left_out := $(if $(verbs_found),transports/verbs/absent.c,\
    $(filter-out $(verbs_facts:%=transports/verbs/%.c),$(wildcard transports/verbs/*.c)))
ifdef cuda_found
left_out += $(wildcard src/*/*/cuda/absent.c) src/run/reference/nccl/absent.c
kernels := $(wildcard src/*/*/cuda/*.cu)
else
left_out += $(filter-out %/absent.c,$(wildcard src/*/*/cuda/*.c)) \
    $(filter-out %/absent.c %/refusal.c,$(wildcard src/run/reference/nccl/*.c))
endif

binary := $(if $(SAN),$(BUILD)/cctest,cctest)
sources := $(filter-out $(left_out),$(wildcard $(addsuffix /*.c,src/* src/*/* src/*/*/* algorithms algorithms/* transports transports/* cli cli/* cli/*/*)))
objects := $(sources:%.c=$(BUILD)/%.o) $(BUILD)/cli/info/schema.o $(kernels:%.cu=$(BUILD)/%.o)
# Ranks and helpers are threads; cli/main.c says how small their stacks may be (STACK_LEAST).
$(objects): flags += $(if $(SAN),,-Wframe-larger-than=16384)
# Tests link with everything but main(), as an archive, so that a test can replace a part.
library := $(BUILD)/libcctest.a
# hwloc, jansson, libsodium and expat are linked statically, so that one binary starts on every node of a cluster. So is the
# runtime of CUDA: the binary starts without CUDA and without a driver.
libraries := -Wl,-Bstatic -lhwloc -ljansson -lsodium -lexpat -Wl,-Bdynamic -ludev -lm -ldl -pthread \
    $(if $(cuda_found),$(cudart) -ldl -lrt -lpthread)

include man/build.mk
all: $(binary) pages

# $(call link,OPTIONS,LIBRARIES): links $@ of the objects among its prerequisites, then the archive. The CUDA runtime for tests
# takes the place of CUDA's.
define link
$(call say,LINK,$@)
$(Q)$(CC) $(filter-out -MMD -MP,$(flags)) $(CFLAGS) $(LDFLAGS) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(2) \
    $(filter-out $(if $(filter $(cuda_runtime),$^),$(cudart)),$(libraries))
endef

$(binary): $(objects)
	$(call link)

$(library): $(filter-out $(BUILD)/cli/main.o,$(objects))
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# $(call compile,WORD,COMPILER): compiles $< with its flags.
define compile
$(call say,$(1),$<)
$(Q)mkdir -p $(@D)
$(Q)$(2) -c -o $@ $<
endef
c_compiler = $(ccache)$(CC) $(flags) $(defines) $(CPPFLAGS) $(CFLAGS)
$(BUILD)/%.o: %.c
	$(call compile,CC,$(c_compiler))

# $(call kept,FILE,TEXT): a file that changes when the text does, and so makes again what depends on it.
define kept
$(1): FORCE
	$$(Q)mkdir -p $$(@D) && echo '$(2)' | cmp -s - $$@ || echo '$(2)' >$$@
endef
$(eval $(call kept,$(BUILD)/left_out.is,$(left_out)))
$(eval $(call kept,$(BUILD)/pmix.is,$(pmix_defines)))
$(binary) $(library): $(BUILD)/left_out.is
$(BUILD)/src/controlplane/bootstrap/pmix.o: $(BUILD)/pmix.is
$(BUILD)/src/controlplane/bootstrap/pmix.o: defines += $(pmix_defines)

ifdef cuda_found
# Later GPUs compile the PTX of the newest, but not that of a variant such as 90a. As in C, no product and sum are contracted.
# Nothing needs the library of C++.
cuda_newest := $(shell printf '%s\n' $(cuda_archs) | grep -x '[0-9]*' | sort -n | tail -1)
nvcc_flags := -std=c++17 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true -cudart static \
    -Xcompiler -ffp-contract=off,-fno-threadsafe-statics,-fno-exceptions,-fno-rtti -Isrc -I. \
    $(foreach arch,$(cuda_archs),-gencode arch=compute_$(arch),code=sm_$(arch)) \
    $(if $(cuda_newest),-gencode arch=compute_$(cuda_newest)$(comma)code=compute_$(cuda_newest))
$(BUILD)/%.o: %.cu
	$(call compile,NVCC,$(nvcc) $(nvcc_flags) $(if $(DEV),-Werror all-warnings) --threads 2 -MMD -MP)
# It lies beside the objects, so that tests copy both (build_other of tests/system/lib.sh).
cuda_is := $(BUILD)/src/dataplane/memory/cuda/cuda.is
$(eval $(call kept,$(cuda_is),$(nvcc) $(nvcc_version) $(cudart) $(cuda_include) $(nvcc_flags)))
cuda_users := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(left_out),$(wildcard $(addsuffix *.c,$(sort \
    $(dir $(shell grep -rl '^.include <cuda' src transports)))))))
$(kernels:%.cu=$(BUILD)/%.o) $(cuda_users): $(cuda_is)
$(cuda_users): flags += $(cuda_include)
endif

# Installs what `make` has built: root may have other tools on the PATH.
installed := $(DESTDIR)$(PREFIX)
install: $(foreach file,$(binary) $(pages) $(schema),$(if $(wildcard $(file)),,$(file)))
	install -D -m 755 $(binary) $(installed)/bin/cctest
	$(foreach page,$(pages),install -D -m 644 $(page) $(call installed_page,$(page)) &&) true
	install -D -m 644 cli/completion.bash $(installed)/share/bash-completion/completions/cctest
	install -D -m 644 cli/completion.zsh $(installed)/share/zsh/site-functions/_cctest
	install -D -m 644 cli/completion.fish $(installed)/share/fish/vendor_completions.d/cctest.fish
	install -D -m 644 $(schema) $(installed)/share/cctest/schema.json
	install -d $(installed)/share/doc/cctest && install -m 644 doc/*.md $(installed)/share/doc/cctest

uninstall:
	rm -f $(foreach page,$(pages),$(call installed_page,$(page))) $(addprefix $(installed)/,bin/cctest \
	    share/bash-completion/completions/cctest share/zsh/site-functions/_cctest \
	    share/fish/vendor_completions.d/cctest.fish share/cctest/schema.json)
	rm -rf $(installed)/share/doc/cctest
	rmdir $(installed)/share/cctest 2>/dev/null || true

# A toolkit of `scripts/setup --cuda` stays.
clean:
	rm -rf $(filter-out build/cuda,$(wildcard build/*)) build-* cctest

# Lines of this file and of tests/build.mk that begin with "## ".
help:
	@sed -n 's/^## //p' Makefile tests/build.mk
## make                   build ./cctest
## make install           PREFIX=/usr/local, DESTDIR=; make uninstall; make clean

include tests/build.mk
-include $(objects:.o=.d) $(BUILD)/man/generate.d

.SECONDARY:
.PHONY: FORCE all pages install uninstall clean help
