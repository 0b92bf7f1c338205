/*
 * calls.h - the functions that count and fail, each with the error that fail= gives. Those before
 * cudaDeviceEnablePeerAccess do not use the thread's device.
 */
#ifndef CCTEST_TEST_CUDA_CALLS_H
#define CCTEST_TEST_CUDA_CALLS_H

#define STANDIN_CALLS(CALL)                                                                        \
    CALL(cudaGetDeviceCount, cudaErrorSystemNotReady)                                              \
    CALL(cudaGetDevice, cudaErrorDevicesUnavailable)                                               \
    CALL(cudaSetDevice, cudaErrorDevicesUnavailable)                                               \
    CALL(cudaDeviceGetAttribute, cudaErrorInvalidValue)                                            \
    CALL(cudaGetDeviceProperties, cudaErrorInvalidDevice)                                          \
    CALL(cudaDeviceGetPCIBusId, cudaErrorInvalidDevice)                                            \
    CALL(cudaDeviceGetByPCIBusId, cudaErrorInvalidDevice)                                          \
    CALL(cudaDeviceCanAccessPeer, cudaErrorInvalidDevice)                                          \
    CALL(cudaGetDriverEntryPointByVersion, cudaErrorInvalidValue)                                  \
    CALL(cudaDeviceEnablePeerAccess, cudaErrorPeerAccessUnsupported)                               \
    CALL(cudaDeviceSynchronize, cudaErrorLaunchFailure)                                            \
    CALL(cudaDeviceFlushGPUDirectRDMAWrites, cudaErrorNotSupported)                                \
    CALL(cuMemGetHandleForAddressRange, cudaErrorNotSupported)                                     \
    CALL(cuMemGetAllocationGranularity, cudaErrorInvalidValue)                                     \
    CALL(cuMemCreate, cudaErrorMemoryAllocation)                                                   \
    CALL(cuMemRelease, cudaErrorInvalidValue)                                                      \
    CALL(cuMemAddressReserve, cudaErrorMemoryAllocation)                                           \
    CALL(cuMemAddressFree, cudaErrorInvalidValue)                                                  \
    CALL(cuMemMap, cudaErrorInvalidValue)                                                          \
    CALL(cuMemUnmap, cudaErrorInvalidValue)                                                        \
    CALL(cuMemSetAccess, cudaErrorInvalidDevice)                                                   \
    CALL(cuMemRetainAllocationHandle, cudaErrorInvalidValue)                                       \
    CALL(cuMemExportToShareableHandle, cudaErrorNotSupported)                                      \
    CALL(cuMemImportFromShareableHandle, cudaErrorNotSupported)                                    \
    CALL(cudaMemGetInfo, cudaErrorUnknown)                                                         \
    CALL(cudaMalloc, cudaErrorMemoryAllocation)                                                    \
    CALL(cudaFree, cudaErrorLaunchFailure)                                                         \
    CALL(cudaHostAlloc, cudaErrorMemoryAllocation)                                                 \
    CALL(cudaFreeHost, cudaErrorLaunchFailure)                                                     \
    CALL(cudaHostRegister, cudaErrorMemoryAllocation)                                              \
    CALL(cudaHostUnregister, cudaErrorHostMemoryNotRegistered)                                     \
    CALL(cudaHostGetDevicePointer, cudaErrorInvalidValue)                                          \
    CALL(cudaPointerGetAttributes, cudaErrorInvalidValue)                                          \
    CALL(cudaIpcGetMemHandle, cudaErrorNotSupported)                                               \
    CALL(cudaIpcOpenMemHandle, cudaErrorMapBufferObjectFailed)                                     \
    CALL(cudaIpcCloseMemHandle, cudaErrorMapBufferObjectFailed)                                    \
    CALL(cudaMemsetAsync, cudaErrorLaunchFailure)                                                  \
    CALL(cudaMemcpyAsync, cudaErrorLaunchFailure)                                                  \
    CALL(cudaMemcpy2DAsync, cudaErrorLaunchFailure)                                                \
    CALL(cudaStreamCreateWithFlags, cudaErrorMemoryAllocation)                                     \
    CALL(cudaStreamCreateWithPriority, cudaErrorMemoryAllocation)                                  \
    CALL(cudaStreamDestroy, cudaErrorLaunchFailure)                                                \
    CALL(cudaStreamQuery, cudaErrorLaunchFailure)                                                  \
    CALL(cudaStreamSynchronize, cudaErrorLaunchFailure)                                            \
    CALL(cudaStreamWaitEvent, cudaErrorLaunchFailure)                                              \
    CALL(cudaEventCreateWithFlags, cudaErrorMemoryAllocation)                                      \
    CALL(cudaEventRecord, cudaErrorLaunchFailure)                                                  \
    CALL(cudaEventRecordWithFlags, cudaErrorLaunchFailure)                                         \
    CALL(cudaEventQuery, cudaErrorLaunchFailure)                                                   \
    CALL(cudaEventSynchronize, cudaErrorLaunchFailure)                                             \
    CALL(cudaEventElapsedTime, cudaErrorLaunchFailure)                                             \
    CALL(cudaEventDestroy, cudaErrorLaunchFailure)                                                 \
    CALL(cudaFuncGetAttributes, cudaErrorNoKernelImageForDevice)                                   \
    CALL(cudaFuncSetAttribute, cudaErrorInvalidValue)                                              \
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, cudaErrorInvalidDeviceFunction)            \
    CALL(cudaLaunchKernel, cudaErrorLaunchOutOfResources)                                          \
    CALL(cudaLaunchCooperativeKernel, cudaErrorLaunchOutOfResources)                               \
    CALL(cudaStreamBeginCapture, cudaErrorIllegalState)                                            \
    CALL(cudaStreamEndCapture, cudaErrorIllegalState)                                              \
    CALL(cudaGraphInstantiate, cudaErrorMemoryAllocation)                                          \
    CALL(cudaGraphUpload, cudaErrorMemoryAllocation)                                               \
    CALL(cudaGraphLaunch, cudaErrorLaunchFailure)                                                  \
    CALL(cudaGraphExecDestroy, cudaErrorInvalidValue)                                              \
    CALL(cudaGraphDestroy, cudaErrorInvalidValue)

#define STANDIN_NUMBER(name, error) CALL_##name,
enum standin_call { STANDIN_CALLS(STANDIN_NUMBER) STANDIN_CALL_COUNT };
#undef STANDIN_NUMBER

#endif
