/*
 * edac.h - errors of the host's memory, and how often its CPUs were too hot, since it started.
 */
#ifndef CCTEST_HOST_EDAC_H
#define CCTEST_HOST_EDAC_H

#include <stdbool.h>
#include <stdint.h>

struct memory_errors {
    uint64_t corrected, uncorrected; /* of all memory controllers */
};

/* False: the kernel has no driver for them (EDAC). `sysfs`: "/sys", but in tests. */
bool memory_errors_read(const char *sysfs, struct memory_errors *errors);

/* How often cores have slowed down for heat; false: the CPUs do not count it. */
bool cpu_throttles_read(const char *sysfs, uint64_t *throttles);

#endif
