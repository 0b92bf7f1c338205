/*
 * rank_place.h - where ranks are: on the parts of their host, and how near to its NICs. How far a
 * ring goes from one rank to the next.
 */
#ifndef CCTEST_RUN_SESSION_RANK_PLACE_H
#define CCTEST_RUN_SESSION_RANK_PLACE_H

#include <sched.h>
#include <stdbool.h>

#include "host/host_place.h"

struct rank_place {
    struct host_place place;
    uint32_t nic; /* the level that it shares with the nearest NIC; 0: this host shows no NIC */
};

/* Of a rank among CPUs, by the arguments of cpu_place_find(). `sysfs`: "/sys". */
struct rank_place rank_place_of_cpus(const char *sysfs, const cpu_set_t *masks, int count, int me,
                                     bool binds);

/* Of a rank whose buffers a GPU has: the GPU, the GPUs that are joined by NVLinks (`nvlinked`, see
 * gpu_nvlinked()), its PCIe switch, its port of the host bridge, the host bridge, the NUMA node. */
struct rank_place rank_place_of_gpu(const char *sysfs, const char *bus, uint32_t nvlinked);

void rank_place_encode(const struct rank_place *place, struct bytes *share);
bool rank_place_decode(struct rank_place *place, struct reader *reader); /* false: invalid */

/* Of a ring: how much is left on the way between two ranks. */
uint32_t rank_places_distance(const struct rank_place *a, const struct rank_place *b,
                              bool of_one_host);

#endif
