/*
 * edac.c - errors of the host's memory, and how often its CPUs were too hot.
 */
#include "host/host.h"


#define EDAC "%s/devices/system/edac/mc"
#define CPU  "%s/devices/system/cpu"

bool memory_errors_read(const char *sysfs, struct memory_errors *errors)
{
    char **names;
    uint64_t number;
    bool counts = false;
    int count = sysfs_names(&names, EDAC, sysfs);
    *errors = (struct memory_errors){0};
    for (int i = 0; i < count; i++) {
        if (sysfs_number(&number, EDAC "/%s/ce_count", sysfs, names[i])) {
            errors->corrected += number;
            counts = true;
        }
        if (sysfs_number(&number, EDAC "/%s/ue_count", sysfs, names[i]))
            errors->uncorrected += number;
    }
    sysfs_names_free(names, count);
    return counts;
}

bool cpu_throttles_read(const char *sysfs, uint64_t *throttles)
{
    char **names;
    bool counts = false;
    int count = sysfs_names(&names, CPU, sysfs);
    *throttles = 0;
    for (int i = 0; i < count; i++) {
        uint64_t number;
        if (!sysfs_number(&number, CPU "/%s/thermal_throttle/core_throttle_count", sysfs, names[i]))
            continue;
        *throttles += number;
        counts = true;
    }
    sysfs_names_free(names, count);
    return counts;
}
