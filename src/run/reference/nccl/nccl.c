/*
 * nccl.c - NVIDIA's library of collectives, as a vendor's.
 */
#include "run/reference/nccl/internal.h"

#include <cuda_runtime_api.h>

const struct vendor vendor_nccl = {
    .name = "nccl",
    .title = "NCCL",
    .memory = &memory_cuda,
    .unavailable = nccl_unavailable,
    .version = nccl_version,
    .refuses = nccl_refuses,
    .open = nccl_open,
    .prepare = nccl_prepare,
    .close = nccl_close,
};
