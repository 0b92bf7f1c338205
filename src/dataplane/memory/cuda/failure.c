/*
 * failure.c - what an error of the runtime means, and what to do.
 */
#include "dataplane/memory/cuda/cuda.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/host.h"

#if CUDART_VERSION / 1000 == 12
#define DRIVER_REMEDY "install driver 525 or newer"
#elif CUDART_VERSION / 1000 == 13
#define DRIVER_REMEDY                                                                              \
    "install driver 580 or newer, or build cctest with CUDA 12, which takes driver 525 "           \
    "(make CUDA=PATH)"
#else
#define DRIVER_REMEDY "install a newer one"
#endif

#define XID_US UINT64_C(60000000) /* an Xid that is older has another cause */

const char *cuda_lack(cudaError_t error)
{
    switch (error) {
    case cudaErrorInsufficientDriver:
        return "the NVIDIA driver is older than this cctest's CUDA, or there is "
               "none: " DRIVER_REMEDY;
    case cudaErrorNoDevice:
        return "there is none, or CUDA_VISIBLE_DEVICES hides it";
    case cudaErrorSystemNotReady:
        return "its system is not ready: on a machine with NVSwitch, start nvidia-fabricmanager";
    case cudaErrorSystemDriverMismatch:
        return "the driver's library and its kernel module differ in version: load the module that "
               "was installed last, or restart the machine";
    case cudaErrorCompatNotSupportedOnDevice:
        return "CUDA's forward compatibility package does not support it: install a newer driver";
    case cudaErrorStubLibrary:
        return "libcuda.so.1 is the stub of a CUDA toolkit: take its folder out of LD_LIBRARY_PATH";
    case cudaErrorInitializationError:
        return "its driver does not start: look at the kernel's log (dmesg)";
    default:
        return NULL;
    }
}

/* Why the thread's GPU cannot be used. NULL: the error is about something else. */
static const char *device_lack(cudaError_t error)
{
    switch (error) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction: /* attributes were asked for where there is no code */
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
        return "this cctest has no kernels for it: build it with CUDA_ARCHS='...'";
    case cudaErrorDevicesUnavailable:
        return "another process has it for itself (nvidia-smi shows the compute mode); ranks of "
               "one process can share it (--ranks-as threads)";
    default:
        return NULL;
    }
}

enum status cuda_failed(cudaError_t error, const char *what)
{
    const struct memory_device *device = cuda_current();
    const char *lack = cuda_lack(error);
    char gpu[MEMORY_DEVICE_TEXT];
    if (lack)
        return fail(STATUS_UNAVAILABLE, "no GPU can be used: %s", lack);
    if (device->number < 0)
        return fail(STATUS_ERROR, "%s: CUDA says: %s (%s)", what, cudaGetErrorString(error),
                    cudaGetErrorName(error));
    memory_device_text(device, gpu);
    lack = device_lack(error);
    if (lack)
        return fail(STATUS_UNAVAILABLE, "%s, %s, cannot be used: %s", gpu, device->name, lack);
    char xid[24] = "";
    uint64_t now = clock_ns() / 1000;
    int number = xid_newest("/dev/kmsg", device->bus, now > XID_US ? now - XID_US : 0);
    if (number)
        snprintf(xid, sizeof xid, ", Xid %d", number);
    return fail(STATUS_ERROR, "%s: %s says: %s (%s%s)", what, gpu, cudaGetErrorString(error),
                cudaGetErrorName(error), xid);
}

enum status cuda_pin_failed(cudaError_t error, size_t bytes, const char *use)
{
    if (error != cudaErrorMemoryAllocation)
        return cuda_failed(error, "cannot pin memory");
    return fail(STATUS_ERROR, "cannot pin %zu bytes of this host's memory, %s", bytes, use);
}
