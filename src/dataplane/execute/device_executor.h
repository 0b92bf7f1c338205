/*
 * device_executor.h - the device executor: runs a schedule inside the devices of a group, without
 * the host in the loop.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_DEVICE_EXECUTOR_H
#define CCTEST_DATAPLANE_EXECUTE_DEVICE_EXECUTOR_H

#include "dataplane/execute/device_group.h"
#include "dataplane/execute/execution.h"

struct device_executor_config {
    struct device_group *group;      /* which has settled and refuses nothing */
    const struct schedule *schedule; /* must outlive the executor; all its peers are reached */
    /* By rank: the schedules of its peers, which need not be built to run. Only now. */
    const struct schedule *const *peers;
    char *buffer[BUFFERS]; /* addresses of source, destination, scratch */
    int set;               /* of buffers, the same at all ranks */
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: it combines nothing */
    struct profile *profile;           /* NULL: no profile */
};

/* It runs after the next device_group_load(). */
enum status device_executor_create(const struct device_executor_config *config,
                                   struct execution **execution);

/* Have all blocks of the last run begun? */
bool device_executor_has_begun(const struct execution *execution);

#endif
