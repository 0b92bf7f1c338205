/*
 * check_header.c - is compiled with our cuda_runtime_api.h and, where there is a toolkit, with
 * NVIDIA's, of CUDA 12 or newer: constants and layouts are the same. The prototypes are compared by
 * compiling the stand-in with NVIDIA's.
 */
#include <cuda_runtime_api.h>
#include <stddef.h>

#include "dataplane/memory/cuda/internal.h"

/* The header of the same toolkit. */
#if defined(__CUDA_RUNTIME_API_H__) && __has_include(<cuda.h>)
#include <cuda.h>
#endif

#define IS(name, value) _Static_assert((long)(name) == (value), #name)

IS(cudaSuccess, 0);
IS(cudaErrorInvalidValue, 1);
IS(cudaErrorMemoryAllocation, 2);
IS(cudaErrorInitializationError, 3);
IS(cudaErrorInvalidConfiguration, 9);
IS(cudaErrorInvalidPitchValue, 12);
IS(cudaErrorInvalidDevicePointer, 17);
IS(cudaErrorInvalidMemcpyDirection, 21);
IS(cudaErrorStubLibrary, 34);
IS(cudaErrorInsufficientDriver, 35);
IS(cudaErrorCallRequiresNewerDriver, 36);
IS(cudaErrorDevicesUnavailable, 46);
IS(cudaErrorInvalidDeviceFunction, 98);
IS(cudaErrorNoDevice, 100);
IS(cudaErrorInvalidDevice, 101);
IS(cudaErrorDeviceUninitialized, 201);
IS(cudaErrorMapBufferObjectFailed, 205);
IS(cudaErrorNoKernelImageForDevice, 209);
IS(cudaErrorECCUncorrectable, 214);
IS(cudaErrorPeerAccessUnsupported, 217);
IS(cudaErrorNvlinkUncorrectable, 220);
IS(cudaErrorInvalidPtx, 218);
IS(cudaErrorJitCompilerNotFound, 221);
IS(cudaErrorUnsupportedPtxVersion, 222);
IS(cudaErrorJitCompilationDisabled, 223);
IS(cudaErrorOperatingSystem, 304);
IS(cudaErrorInvalidResourceHandle, 400);
IS(cudaErrorIllegalState, 401);
IS(cudaErrorNotReady, 600);
IS(cudaErrorIllegalAddress, 700);
IS(cudaErrorLaunchOutOfResources, 701);
IS(cudaErrorPeerAccessAlreadyEnabled, 704);
IS(cudaErrorPeerAccessNotEnabled, 705);
IS(cudaErrorHostMemoryAlreadyRegistered, 712);
IS(cudaErrorHostMemoryNotRegistered, 713);
IS(cudaErrorMisalignedAddress, 716);
IS(cudaErrorLaunchFailure, 719);
IS(cudaErrorCooperativeLaunchTooLarge, 720);
IS(cudaErrorNotPermitted, 800);
IS(cudaErrorNotSupported, 801);
IS(cudaErrorSystemNotReady, 802);
IS(cudaErrorSystemDriverMismatch, 803);
IS(cudaErrorCompatNotSupportedOnDevice, 804);
IS(cudaErrorStreamCaptureUnsupported, 900);
IS(cudaErrorUnknown, 999);
IS(cudaMemcpyHostToHost, 0);
IS(cudaMemcpyHostToDevice, 1);
IS(cudaMemcpyDeviceToHost, 2);
IS(cudaMemcpyDeviceToDevice, 3);
IS(cudaMemcpyDefault, 4);
IS(cudaMemoryTypeUnregistered, 0);
IS(cudaMemoryTypeHost, 1);
IS(cudaMemoryTypeDevice, 2);
IS(cudaMemoryTypeManaged, 3);
IS(cudaDevAttrMaxThreadsPerBlock, 1);
IS(cudaDevAttrMaxBlockDimX, 2);
IS(cudaDevAttrMaxBlockDimY, 3);
IS(cudaDevAttrMaxBlockDimZ, 4);
IS(cudaDevAttrMaxGridDimX, 5);
IS(cudaDevAttrMaxGridDimY, 6);
IS(cudaDevAttrMaxGridDimZ, 7);
IS(cudaDevAttrMaxSharedMemoryPerBlock, 8);
IS(cudaDevAttrWarpSize, 10);
IS(cudaDevAttrMaxPitch, 11);
IS(cudaDevAttrClockRate, 13);
IS(cudaDevAttrMultiProcessorCount, 16);
IS(cudaDevAttrIntegrated, 18);
IS(cudaDevAttrCanMapHostMemory, 19);
IS(cudaDevAttrComputeMode, 20);
IS(cudaDevAttrConcurrentKernels, 31);
IS(cudaDevAttrEccEnabled, 32);
IS(cudaDevAttrPciBusId, 33);
IS(cudaDevAttrPciDeviceId, 34);
IS(cudaDevAttrMemoryClockRate, 36);
IS(cudaDevAttrGlobalMemoryBusWidth, 37);
IS(cudaDevAttrL2CacheSize, 38);
IS(cudaDevAttrMaxThreadsPerMultiProcessor, 39);
IS(cudaDevAttrAsyncEngineCount, 40);
IS(cudaDevAttrUnifiedAddressing, 41);
IS(cudaDevAttrPciDomainId, 50);
IS(cudaDevAttrComputeCapabilityMajor, 75);
IS(cudaDevAttrComputeCapabilityMinor, 76);
IS(cudaDevAttrStreamPrioritiesSupported, 78);
IS(cudaDevAttrManagedMemory, 83);
IS(cudaDevAttrPageableMemoryAccess, 88);
IS(cudaDevAttrConcurrentManagedAccess, 89);
IS(cudaDevAttrCanUseHostPointerForRegisteredMem, 91);
IS(cudaDevAttrCooperativeLaunch, 95);
IS(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97);
IS(cudaDevAttrCanFlushRemoteWrites, 98);
IS(cudaDevAttrHostRegisterSupported, 99);
IS(cudaDevAttrMaxBlocksPerMultiprocessor, 106);
IS(cudaDevAttrGPUDirectRDMASupported, 116);
IS(cudaDevAttrGPUDirectRDMAFlushWritesOptions, 117);
IS(cudaDevAttrGPUDirectRDMAWritesOrdering, 118);
IS(cudaDevAttrIpcEventSupport, 125);
#if CUDART_VERSION >= 12030
IS(cudaDevAttrMpsEnabled, 133);
#endif
IS(cudaFuncAttributeMaxDynamicSharedMemorySize, 8);
IS(cudaFlushGPUDirectRDMAWritesOptionHost, 1);
IS(cudaFlushGPUDirectRDMAWritesOptionMemOps, 2);
IS(cudaGPUDirectRDMAWritesOrderingNone, 0);
IS(cudaGPUDirectRDMAWritesOrderingOwner, 100);
IS(cudaGPUDirectRDMAWritesOrderingAllDevices, 200);
IS(cudaFlushGPUDirectRDMAWritesToOwner, 100);
IS(cudaFlushGPUDirectRDMAWritesToAllDevices, 200);
IS(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, 0);
IS(cudaDriverEntryPointSuccess, 0);
IS(cudaDriverEntryPointSymbolNotFound, 1);
IS(cudaDriverEntryPointVersionNotSufficent, 2);
IS(cudaEnableDefault, 0);
IS(cudaInvalidDeviceId, -2);
IS(cudaHostAllocDefault, 0x00);
IS(cudaHostAllocPortable, 0x01);
IS(cudaHostAllocMapped, 0x02);
IS(cudaHostAllocWriteCombined, 0x04);
IS(cudaHostRegisterDefault, 0x00);
IS(cudaHostRegisterPortable, 0x01);
IS(cudaHostRegisterMapped, 0x02);
IS(cudaHostRegisterIoMemory, 0x04);
IS(cudaHostRegisterReadOnly, 0x08);
IS(cudaStreamDefault, 0x00);
IS(cudaStreamNonBlocking, 0x01);
IS(cudaStreamCaptureModeThreadLocal, 1);
IS(cudaEventRecordDefault, 0x00);
IS(cudaEventRecordExternal, 0x01);
IS(cudaEventDefault, 0x00);
IS(cudaEventBlockingSync, 0x01);
IS(cudaEventDisableTiming, 0x02);
IS(cudaEventInterprocess, 0x04);
IS(cudaPeerAccessDefault, 0x00);
IS(cudaIpcMemLazyEnablePeerAccess, 0x01);
IS(CUDA_IPC_HANDLE_SIZE, 64);
IS(offsetof(struct cudaPointerAttributes, type), 0);
IS(offsetof(struct cudaPointerAttributes, device), 4);
IS(offsetof(struct cudaPointerAttributes, devicePointer), 8);
IS(offsetof(struct cudaPointerAttributes, hostPointer), 16);
IS(sizeof(struct cudaPointerAttributes), CUDART_VERSION >= 13000 ? 88 : 24);
IS(offsetof(struct cudaFuncAttributes, sharedSizeBytes), 0);
IS(offsetof(struct cudaFuncAttributes, constSizeBytes), 8);
IS(offsetof(struct cudaFuncAttributes, localSizeBytes), 16);
IS(offsetof(struct cudaFuncAttributes, maxThreadsPerBlock), 24);
IS(offsetof(struct cudaFuncAttributes, numRegs), 28);
IS(offsetof(struct cudaFuncAttributes, ptxVersion), 32);
IS(offsetof(struct cudaFuncAttributes, binaryVersion), 36);
IS(offsetof(struct cudaFuncAttributes, cacheModeCA), 40);
IS(offsetof(struct cudaFuncAttributes, maxDynamicSharedSizeBytes), 44);
IS(offsetof(struct cudaFuncAttributes, preferredShmemCarveout), 48);
IS(offsetof(struct cudaFuncAttributes, clusterDimMustBeSet), 52);
IS(offsetof(struct cudaFuncAttributes, requiredClusterWidth), 56);
IS(offsetof(struct cudaFuncAttributes, requiredClusterHeight), 60);
IS(offsetof(struct cudaFuncAttributes, requiredClusterDepth), 64);
IS(offsetof(struct cudaFuncAttributes, clusterSchedulingPolicyPreference), 68);
IS(offsetof(struct cudaFuncAttributes, nonPortableClusterSizeAllowed), 72);
IS(sizeof(struct cudaFuncAttributes), 144);
IS(offsetof(struct cudaDeviceProp, name), 0);
IS(offsetof(struct cudaDeviceProp, uuid), 256);
IS(offsetof(struct cudaDeviceProp, totalGlobalMem), 288);
IS(sizeof(dim3), 12);
IS(sizeof(uint3), 12);
IS(sizeof(cudaIpcMemHandle_t), 64);

/* Memory with fabric handles, which only the driver's header has. */
#if defined(CUDA_VERSION) && CUDA_VERSION >= 12040
IS(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, FABRIC_ATTRIBUTE_RDMA);
IS(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, FABRIC_ATTRIBUTE_HANDLES);
IS(CU_MEM_HANDLE_TYPE_FABRIC, FABRIC_HANDLE_TYPE);
IS(sizeof(CUmemFabricHandle), FABRIC_HANDLE_BYTES);
IS(CU_MEM_ALLOCATION_TYPE_PINNED, FABRIC_PINNED);
IS(CU_MEM_LOCATION_TYPE_DEVICE, FABRIC_ON_DEVICE);
IS(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, FABRIC_READ_WRITE);
IS(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, FABRIC_GRANULARITY);
IS(sizeof(CUmemLocation), sizeof(struct fabric_location));
IS(offsetof(CUmemLocation, type), offsetof(struct fabric_location, type));
IS(offsetof(CUmemLocation, id), offsetof(struct fabric_location, device));
IS(sizeof(CUmemAllocationProp), sizeof(struct fabric_properties));
#define SAME(name, own)                                                                            \
    IS(offsetof(CUmemAllocationProp, name), offsetof(struct fabric_properties, own))
SAME(type, type);
SAME(requestedHandleTypes, handle_types);
SAME(location, location);
SAME(win32HandleMetaData, unused);
SAME(allocFlags.compressionType, compression);
SAME(allocFlags.gpuDirectRDMACapable, rdma);
SAME(allocFlags.usage, usage);
SAME(allocFlags.reserved, reserved);
IS(sizeof(CUmemAccessDesc), sizeof(struct fabric_access));
IS(offsetof(CUmemAccessDesc, location), offsetof(struct fabric_access, location));
IS(offsetof(CUmemAccessDesc, flags), offsetof(struct fabric_access, flags));
IS(sizeof(CUmemGenericAllocationHandle), sizeof(unsigned long long));
IS(sizeof(CUdeviceptr), sizeof(unsigned long long));
IS(sizeof(CUresult), sizeof(int));
IS(CUDA_ERROR_NOT_PERMITTED, cudaErrorNotPermitted);
IS(CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported);
#endif
