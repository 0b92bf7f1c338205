/*
 * node_stage.c - each host by itself: allreduce and alltoall among its agents, checked.
 */
#include "accept/internal.h"


enum status node_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    static const struct host_metric metrics[] = {
        {"node.allreduce.latency", "allreduce of 1K among its agents", "us", "allreduce",
         "time_us.p50", 1 << 10, true, 0.3},
        {"node.allreduce.busbw", "allreduce of 1M", "GB/s", "allreduce", "busbw_GBps", 1 << 20,
         false, 0.15},
        {"node.alltoall.busbw", "alltoall of 1M", "GB/s", "alltoall", "busbw_GBps", 1 << 20, false,
         0.15},
    };
    static const struct host_look look = {
        "allreduce,alltoall -b 1K -e 1M -f 1024 -n auto --budget 0.5 -w 3 -c 1 --timeout 10",
        RANKS_OF_AGENTS,
        "collectives among its own agents fail",
        30,
        metrics,
        3};
    return host_stage_run(acceptance, STAGE_NODE, &look, 1, result);
}
