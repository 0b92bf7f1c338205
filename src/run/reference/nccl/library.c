/*
 * library.c - loads NCCL at run time, so that the binary starts without it.
 */

#include "run/reference/nccl/internal.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define NCCL_LIBRARY "libnccl.so.2"

void nccl_version_text(int version, char *text, size_t size)
{
    if (version < 10000) /* before 2.9 */
        snprintf(text, size, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    else
        snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

/* Finds all calls; returns the name of one that is missing, or NULL. */
static const char *calls_find(void *library, struct nccl_api *api)
{
    void *found;
#define NCCL_FIND(result, name, parameters)                                                        \
    found = dlsym(library, "nccl" #name);                                                          \
    if (!found)                                                                                    \
        return "nccl" #name;                                                                       \
    memcpy(&api->name, &found, sizeof found);
    NCCL_CALLS(NCCL_FIND)
#undef NCCL_FIND
    return NULL;
}

const char *nccl_load(struct nccl_api *api, int *version, char why[VENDOR_WHY_MOST])
{
    void *library = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    *version = 0;
    if (!library) {
        snprintf(why, VENDOR_WHY_MOST,
                 "its library cannot be loaded (%.120s): install the package libnccl2 (pip: "
                 "nvidia-nccl-cu12 or -cu13), and name its folder in LD_LIBRARY_PATH",
                 dlerror());
        return why;
    }
    int (*get_version)(int *) = NULL;
    void *found = dlsym(library, "ncclGetVersion");
    memcpy(&get_version, &found, sizeof found);
    if (!get_version || get_version(version) != NCCL_SUCCESS || *version < NCCL_OLDEST) {
        char text[32];
        nccl_version_text(*version, text, sizeof text);
        snprintf(why, VENDOR_WHY_MOST, "%s is NCCL %s: install 2.14 or newer", NCCL_LIBRARY, text);
        return why;
    }
    const char *missing = calls_find(library, api);
    if (missing)
        snprintf(why, VENDOR_WHY_MOST, "%s has no %s: install NVIDIA's", NCCL_LIBRARY, missing);
    return missing ? why : NULL;
}

/* vendor->unavailable and vendor->version. */
static const char *nccl_unavailable(char why[VENDOR_WHY_MOST])
{
    struct nccl_api api;
    int version;
    return nccl_load(&api, &version, why);
}

static void nccl_version(char *text, size_t size)
{
    struct nccl_api api;
    int version;
    char why[VENDOR_WHY_MOST];
    text[0] = '\0';
    if (!nccl_load(&api, &version, why))
        nccl_version_text(version, text, size);
}

/*
 * NVIDIA's library of collectives, as a vendor's.
 */
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
