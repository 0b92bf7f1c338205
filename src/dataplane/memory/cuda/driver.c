/*
 * driver.c - looks for the driver's device file and library.
 */
#include "dataplane/memory/cuda/internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

const char *cuda_driver_missing(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        dlclose(library);
        return NULL;
    }
    return access("/dev/nvidiactl", F_OK) != 0
               ? "there is no NVIDIA driver (no /dev/nvidiactl): install it, or give the container "
                 "its GPUs"
               : "the library of the NVIDIA driver cannot be loaded (libcuda.so.1): install it, or "
                 "give the container its driver's libraries";
}

int cuda_driver_devices(void)
{
    return nvidia_visible("", getenv("CUDA_VISIBLE_DEVICES"));
}
