/*
 * device.c - the devices: their attributes, addresses and peers, the versions, names of errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "standin.h"

#define BUS_ID_BYTES 13
/* cudaDevAttrMpsEnabled, which headers before CUDA 12.3 do not name. */
#define DEVICE_ATTRIBUTE_MPS ((enum cudaDeviceAttr)133)

static bool device_is(int device)
{
    return device >= 0 && device < standin.config.devices;
}

static int device_bus(int device)
{
    return 0x1a + 8 * standin.cards[device].number;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    standin_lock();
    long driver = standin.pid ? standin.config.driver : DRIVER_NEW;
    if (!standin.pid) {
        struct standin_config config;
        standin_parse(&config, getenv("CUDA_STANDIN"));
        driver = config.driver;
    }
    standin_unlock();
    *version = driver == DRIVER_NONE ? 0 : driver == DRIVER_OLD ? 11040 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = standin_enter(CALL_cudaGetDeviceCount);
    if (error != cudaSuccess)
        return error;
    *count = (int)standin.config.devices;
    return standin_leave(cudaSuccess);
}

static const struct {
    enum cudaDeviceAttr attribute;
    int value;
} attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, INT32_MAX},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, STANDIN_SHARED},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, STANDIN_SHARED_MOST},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxPitch, INT32_MAX},
    {cudaDevAttrClockRate, 1000000},
    {cudaDevAttrIntegrated, 0},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrComputeMode, 0},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrEccEnabled, 1},
    {cudaDevAttrPciDeviceId, 0},
    {cudaDevAttrMemoryClockRate, 1000000},
    {cudaDevAttrGlobalMemoryBusWidth, 64},
    {cudaDevAttrL2CacheSize, 1 << 20},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrAsyncEngineCount, 2},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrPciDomainId, 0},
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrManagedMemory, 0},
    {cudaDevAttrPageableMemoryAccess, 0},
    {cudaDevAttrConcurrentManagedAccess, 0},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrGPUDirectRDMASupported, 1},
};

/* An attribute of a device that is there. False: there is no such attribute. */
static bool attribute_find(enum cudaDeviceAttr attribute, int device, int *value)
{
    const struct standin_config *config = &standin.config;
    switch (attribute) {
    case cudaDevAttrPciBusId:
        *value = device_bus(device);
        return true;
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions:
        *value = config->flush ? cudaFlushGPUDirectRDMAWritesOptionHost : 0;
        return true;
    case cudaDevAttrGPUDirectRDMAWritesOrdering:
        *value = 100 * (int)config->ordering; /* cudaGPUDirectRDMAWritesOrderingOwner ... */
        return true;
    case cudaDevAttrMultiProcessorCount:
        *value = (int)config->sms;
        return true;
    case cudaDevAttrCooperativeLaunch:
        *value = (int)config->cooperative;
        return true;
    default:
        break;
    }
    if (attribute == DEVICE_ATTRIBUTE_MPS) {
        *value = (int)config->mps;
        return true;
    }
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return true;
        }
    return false;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceGetAttribute);
    if (error != cudaSuccess)
        return error;
    if (!device_is(device))
        error = cudaErrorInvalidDevice;
    else if (!attribute_find(attribute, device, value))
        error = cudaErrorInvalidValue;
    return standin_leave(error);
}

static void device_bus_id(char *id, int device)
{
    snprintf(id, BUS_ID_BYTES, "0000:%02X:00.0", (unsigned)device_bus(device) & 0xff);
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceGetPCIBusId);
    if (error != cudaSuccess)
        return error;
    if (!device_is(device))
        return standin_leave(cudaErrorInvalidDevice);
    if (bytes < BUS_ID_BYTES)
        return standin_leave(cudaErrorInvalidValue);
    device_bus_id(id, device);
    return standin_leave(cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    cudaError_t error = standin_enter(CALL_cudaGetDeviceProperties);
    if (error != cudaSuccess)
        return error;
    if (!device_is(device))
        return standin_leave(cudaErrorInvalidDevice);
    const struct standin_card *card = &standin.cards[device];
    *properties = (struct cudaDeviceProp){.totalGlobalMem = (size_t)standin.config.memory};
    snprintf(properties->name, sizeof properties->name, "Stand-in%s", card->part ? " MIG" : "");
    properties->uuid.bytes[0] = (char)(0xa0 + card->number);
    properties->uuid.bytes[15] = (char)card->part;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceGetByPCIBusId);
    if (error != cudaSuccess)
        return error;
    for (int i = 0; i < standin.config.devices; i++) {
        char own[BUS_ID_BYTES];
        device_bus_id(own, i);
        if (strcasecmp(own, id) == 0) {
            *device = i;
            return standin_leave(cudaSuccess);
        }
    }
    return standin_leave(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceCanAccessPeer);
    if (error != cudaSuccess)
        return error;
    if (!device_is(device) || !device_is(peer))
        return standin_leave(cudaErrorInvalidDevice);
    *can = device != peer && standin_cards_reach(device, peer);
    return standin_leave(cudaSuccess);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceEnablePeerAccess);
    if (error != cudaSuccess)
        return error;
    int device = standin_device();
    if (flags != cudaPeerAccessDefault)
        error = cudaErrorInvalidValue;
    else if (!device_is(peer) || peer == device)
        error = cudaErrorInvalidDevice;
    else if (!standin_cards_reach(device, peer))
        error = cudaErrorPeerAccessUnsupported;
    else if (standin.peers[device][peer])
        error = cudaErrorPeerAccessAlreadyEnabled;
    else
        standin.peers[device][peer] = true;
    standin_memory_protect();
    return standin_leave(error);
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    cudaError_t error = standin_enter(CALL_cudaMemGetInfo);
    if (error != cudaSuccess)
        return error;
    *total = (size_t)standin.config.memory;
    *left = *total - standin.used[standin_device()];
    return standin_leave(cudaSuccess);
}

#define NAMED(error)                                                                               \
    {                                                                                              \
        error, #error                                                                              \
    }
static const struct {
    cudaError_t error;
    const char *name;
} error_names[] = {
    NAMED(cudaSuccess),
    NAMED(cudaErrorInvalidValue),
    NAMED(cudaErrorMemoryAllocation),
    NAMED(cudaErrorInitializationError),
    NAMED(cudaErrorInvalidConfiguration),
    NAMED(cudaErrorInvalidPitchValue),
    NAMED(cudaErrorInvalidDevicePointer),
    NAMED(cudaErrorInvalidMemcpyDirection),
    NAMED(cudaErrorStubLibrary),
    NAMED(cudaErrorInsufficientDriver),
    NAMED(cudaErrorCallRequiresNewerDriver),
    NAMED(cudaErrorDevicesUnavailable),
    NAMED(cudaErrorInvalidDeviceFunction),
    NAMED(cudaErrorNoDevice),
    NAMED(cudaErrorInvalidDevice),
    NAMED(cudaErrorDeviceUninitialized),
    NAMED(cudaErrorMapBufferObjectFailed),
    NAMED(cudaErrorNoKernelImageForDevice),
    NAMED(cudaErrorECCUncorrectable),
    NAMED(cudaErrorPeerAccessUnsupported),
    NAMED(cudaErrorInvalidPtx),
    NAMED(cudaErrorNvlinkUncorrectable),
    NAMED(cudaErrorJitCompilerNotFound),
    NAMED(cudaErrorUnsupportedPtxVersion),
    NAMED(cudaErrorJitCompilationDisabled),
    NAMED(cudaErrorOperatingSystem),
    NAMED(cudaErrorInvalidResourceHandle),
    NAMED(cudaErrorNotReady),
    NAMED(cudaErrorIllegalAddress),
    NAMED(cudaErrorLaunchOutOfResources),
    NAMED(cudaErrorPeerAccessAlreadyEnabled),
    NAMED(cudaErrorPeerAccessNotEnabled),
    NAMED(cudaErrorHostMemoryAlreadyRegistered),
    NAMED(cudaErrorHostMemoryNotRegistered),
    NAMED(cudaErrorMisalignedAddress),
    NAMED(cudaErrorLaunchFailure),
    NAMED(cudaErrorCooperativeLaunchTooLarge),
    NAMED(cudaErrorNotPermitted),
    NAMED(cudaErrorIllegalState),
    NAMED(cudaErrorStreamCaptureUnsupported),
    NAMED(cudaErrorNotSupported),
    NAMED(cudaErrorSystemNotReady),
    NAMED(cudaErrorSystemDriverMismatch),
    NAMED(cudaErrorUnknown),
};

bool standin_error_find(const char *name, cudaError_t *error)
{
    for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++)
        if (strcmp(error_names[i].name, name) == 0) {
            *error = error_names[i].error;
            return true;
        }
    return false;
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++)
        if (error_names[i].error == error)
            return error_names[i].name;
    return "unrecognized error code";
}

/* The stand-in has no sentences but the names. */
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : cudaGetErrorName(error);
}
