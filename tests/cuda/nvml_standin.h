/*
 * nvml_standin.h - an NVML in this process, for tests, without a GPU.
 *
 * It defines the functions of src/host/nvml/nvml.h, and is linked in the place of nvml.o. As a
 * shared library (libnvidia-ml.so.1) it is what nvml.o loads. Its GPUs have the PCI addresses of
 * those of the CUDA runtime for tests (runtime.h): 0000:1a:00.0, 0000:22:00.0 ... They are alike,
 * with 4 NVLinks to a switch.
 * A call before nvml_load(), or in a process that was forked after it, an unknown handle, a wait,
 * and event sets that are left at exit(0) (unless a call hangs), end the process after a sentence
 * on stderr.
 *
 * NVML_STANDIN="key=value,key=value...", read by nvml_load(), or nvml_standin_configure():
 *
 *   library=yes|no|fails   no: there is no libnvidia-ml; fails: it cannot be used (yes)
 *   devices=N              (2)
 *   driver=VERSION         (580.65.06)
 *   differs=GPU:WHAT       another product, memory, clocks, ecc, width (x8), links (1 is down) or
 *                          rows (a remapping is pending)
 *   grow=GPU:FIELD:STEP+...  at each reading of it, this field (of all NVLinks) has grown by STEP
 *   xid=GPU:NUMBER+...     an Xid event comes at the second look for one
 *   down=GPU:LINK          at the second look, this NVLink is down
 *   lost=GPU:N             from the N-th reading of fields on, the GPU is lost
 *   gone=GPU:N             from the NVLinks of the N-th reading on it is lost, and only the fields
 *                          say so
 *   mig=GPU                it has two parts
 *   clique=GPU:N           of its NVLink domain it is in this clique (7)
 *   alone=GPU              its NVLink domain is its host's alone
 *   without=NAME+NAME...   functions that are not supported, and fields by their numbers
 *   hang=GPU:N:NAME+...    the N-th call of this function for this GPU never returns (GPU 0, for
 *                          functions that are not called for one)
 */
#ifndef CCTEST_TEST_CUDA_NVML_STANDIN_H
#define CCTEST_TEST_CUDA_NVML_STANDIN_H

/* Begins anew; NULL: as NVML_STANDIN says. No event set may be left. */
void nvml_standin_configure(const char *text);

#endif
