/*
 * absent.c - in place of a GPU that runs plans, in a cctest that was built without CUDA.
 */
#include <stdio.h>

#include "dataplane/execute/execute.h"

static enum status absent_open(const struct machine_config *config, struct device_machine **machine,
                               char *reason)
{
    (void)config;
    *machine = NULL;
    snprintf(reason, MEMORY_REASON_MOST, "this cctest was built without CUDA");
    return STATUS_UNAVAILABLE;
}

const struct machine_hooks device_machine_cuda = {.kind = &memory_cuda, .open = absent_open};
