/*
 * self_stage.c - each host by itself, without links: its memory and its cores.
 */
#include "accept/self_stage.h"

#include "accept/host_stage.h"
#include "accept/host_work.h"

enum status self_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    static const struct host_metric metrics[] = {
        {"self.copy", "copy by all cores", "GB/s", "copy", "GBps", 1, false, 0.1},
        {"self.sum", "sum by all cores", "GB/s", "sum", "GBps", 1, false, 0.1},
        {"self.core", "the slowest core", "million steps/s", "core", "Msteps", 1, false, 0.1},
    };
    const struct host_stage stage = {
        .stage = STAGE_SELF,
        .command = WORK_SELF,
        .alone = true,
        .fails = "its memory and cores cannot be measured",
        .seconds = 20,
        .metrics = metrics,
        .metric_count = (int)(sizeof metrics / sizeof metrics[0]),
    };
    return host_stage_run(acceptance, &stage, result);
}
