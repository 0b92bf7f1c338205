/*
 * nearness.h - which of several PCI devices are nearest to the cores of a thread.
 */
#ifndef CCTEST_HOST_NEARNESS_H
#define CCTEST_HOST_NEARNESS_H

#include <sched.h>
#include <stdint.h>

#define NEARNESS_UNKNOWN UINT64_MAX

/* Fills `distances` for the PCI addresses ("0000:3b:00.0") of `count` devices, from `cpus` (NULL:
 * those that the calling thread may run on). Less is nearer, equal is equally near. A device that
 * hwloc does not know, as one without an address (""), is NEARNESS_UNKNOWN. Loads the topology,
 * which takes some 10 ms. */
void nearness_distances(const char *const *buses, int count, const cpu_set_t *cpus,
                        uint64_t *distances);

/* Fills `order` with 0 .. count - 1, the nearest first; ties keep their order. */
void nearness_order(const uint64_t *distances, int count, int *order);

#endif
