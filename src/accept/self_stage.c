/*
 * self_stage.c - each host by itself: its memory and its cores, its GPUs, and its NICs.
 */
#include "accept/internal.h"


enum status self_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    static const struct host_metric cpu[] = {
        {"self.copy", "copy by all cores", "GB/s", "copy", "GBps", 1, false, 0.1},
        {"self.sum", "sum by all cores", "GB/s", "sum", "GBps", 1, false, 0.1},
        {"self.core", "the slowest core", "million steps/s", "core", "Msteps", 1, false, 0.1},
    };
    static const struct host_metric gpu[] = {
        {"self.gpu.copy", "copy inside a GPU", "GB/s", "gpu-copy", "GBps", 1, false, 0.1},
        {"self.gpu.host_to_device", "copy from host to GPU", "GB/s", "host-to-device", "GBps", 1,
         false, 0.1},
        {"self.gpu.device_to_host", "copy from GPU to host", "GB/s", "device-to-host", "GBps", 1,
         false, 0.1},
    };
    static const struct host_metric nic[] = {
        {"self.loop", "loop through a NIC", "GB/s", "sendrecv", "busbw_GBps", 1, false, 0.1},
    };
    static const struct host_look looks[] = {
        {WORK_CPU, RANKS_ALONE, "its memory and cores cannot be measured", 20, cpu, 3},
        {WORK_GPUS, RANKS_ALONE, "its GPUs cannot be measured", 20, gpu, 3},
        {"sendrecv --np 2 --ranks-as threads -a uni -b 1M -e 1M -n auto --budget 0.3 -w 2 -c 1 "
         "--timeout 5",
         RANKS_ON_NIC, "a loop through it fails", 20, nic, 1},
    };
    return host_stage_run(acceptance, STAGE_SELF, looks, sizeof looks / sizeof looks[0], result);
}
