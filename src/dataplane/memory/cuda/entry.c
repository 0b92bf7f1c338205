/*
 * entry.c - finds functions of the CUDA driver.
 */
#include "dataplane/memory/cuda/internal.h"

#include <cuda_runtime_api.h>
#include <string.h>

bool cuda_entry_find(const char *name, unsigned version, void *function)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
    (void)version;
    cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess)
        found = NULL;
    cudaGetLastError(); /* it is no failure of a call that follows */
    memcpy(function, &found, sizeof found);
    return found != NULL;
}
