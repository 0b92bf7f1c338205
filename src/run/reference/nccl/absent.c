/*
 * absent.c - in place of NCCL, in a cctest that was built without CUDA.
 */
#include <stddef.h>
#include <stdio.h>

#include "run/reference/nccl/refusal.h"

static const char *nccl_left_out(char why[VENDOR_WHY_MOST])
{
    snprintf(why, VENDOR_WHY_MOST,
             "this cctest was built without CUDA: build it where there is a toolkit "
             "(scripts/setup --cuda)");
    return why;
}

static void nccl_no_version(char *text, size_t size)
{
    snprintf(text, size, "%s", "");
}

const struct vendor vendor_nccl = {
    .name = "nccl",
    .title = "NCCL",
    .memory = &memory_cuda,
    .unavailable = nccl_left_out,
    .version = nccl_no_version,
    .refuses = nccl_refuses,
};
