/*
 * cpu_measure.h - how fast this host's CPUs are: all of them together at its memory, and the slowest
 * core.
 */
#ifndef CCTEST_ACCEPT_CPU_MEASURE_H
#define CCTEST_ACCEPT_CPU_MEASURE_H

#include "base/status.h"

/* Measures for about `seconds` in all, with a thread bound to each CPU that this process may have, and
 * writes JSON with a line for each of "copy", "sum" (GB/s of all threads together: bytes that were
 * written) and "core" (millions of steps a second of the slowest CPU) to `fd`. */
enum status cpu_measure(double seconds, int fd);

#endif
