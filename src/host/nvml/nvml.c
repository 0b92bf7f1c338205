/*
 * nvml.c - loads NVML, and forwards each call to it.
 */
#pragma GCC visibility push(hidden)
#include "host/nvml/nvml.h"
#pragma GCC visibility pop

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The loaded symbols, written once, before the first of these functions is called. */
#define MEMBER(function, parameters, arguments) __typeof__(function) *function;
static struct {
    NVML_FUNCTIONS(MEMBER)
    __typeof__(nvmlErrorString) *nvmlErrorString;
} library;

#define FORWARD(function, parameters, arguments)                                                   \
    nvmlReturn_t function parameters                                                               \
    {                                                                                              \
        return library.function ? library.function arguments : NVML_ERROR_FUNCTION_NOT_FOUND;      \
    }
NVML_FUNCTIONS(FORWARD)

const char *nvmlErrorString(nvmlReturn_t result)
{
    return library.nvmlErrorString ? library.nvmlErrorString(result) : "unknown error";
}

static char why[320];

#define SYMBOL(function, parameters, arguments) {#function, (void **)&library.function},

static void library_load(void)
{
    const struct {
        const char *name;
        void **where;
    } symbols[] = {
        NVML_FUNCTIONS(SYMBOL){"nvmlErrorString", (void **)&library.nvmlErrorString},
    };
    void *handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, sizeof why,
                 "libnvidia-ml.so.1 cannot be loaded (%.120s): install the NVIDIA driver's "
                 "libraries, or give the container its utility capability "
                 "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                 dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        *symbols[i].where = dlsym(handle, symbols[i].name);
    nvmlReturn_t result = nvmlInit_v2();
    if (result != NVML_SUCCESS)
        snprintf(why, sizeof why, "NVML says: %.160s: look at nvidia-smi and the kernel log",
                 nvmlErrorString(result));
}

const char *nvml_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, library_load);
    return why[0] ? why : NULL;
}
