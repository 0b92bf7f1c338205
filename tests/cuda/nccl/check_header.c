/*
 * check_header.c - api.h and the stand-in declare what NVIDIA's nccl.h declares, where that is. It
 * is compiled, and not run.
 */
#if __has_include(<nccl.h>)
#include <nccl.h>
#undef NCCL_VERSION

#include "standin.h"

#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a)
SAME(ncclSuccess, SUCCESS);
SAME(ncclSystemError, SYSTEM_ERROR);
SAME(ncclInvalidUsage, INVALID_USAGE);
SAME(ncclRemoteError, REMOTE_ERROR);
SAME(ncclInProgress, IN_PROGRESS);
SAME(ncclSuccess, NCCL_SUCCESS);
SAME(ncclInProgress, NCCL_IN_PROGRESS);
SAME(sizeof(ncclUniqueId), sizeof(struct nccl_unique_id));
SAME(offsetof(ncclConfig_t, magic), offsetof(struct nccl_config, magic));
SAME(offsetof(ncclConfig_t, version), offsetof(struct nccl_config, version));
SAME(offsetof(ncclConfig_t, blocking), offsetof(struct nccl_config, blocking));
/* The numbers of combine.c. */
SAME(ncclInt8, 0);
SAME(ncclUint8, 1);
SAME(ncclInt32, 2);
SAME(ncclUint32, 3);
SAME(ncclInt64, 4);
SAME(ncclUint64, 5);
SAME(ncclFloat16, 6);
SAME(ncclFloat32, 7);
SAME(ncclFloat64, 8);
SAME(ncclBfloat16, 9);
SAME(ncclSum, 0);
SAME(ncclProd, 1);
SAME(ncclMax, 2);
SAME(ncclMin, 3);
SAME(ncclAvg, 4);

/* Each call of nccl.h with the parameters that run/reference/nccl/internal.h gives it. */
static void parameters_agree(struct ncclComm *comm, cudaStream_t stream, const void *from, void *to)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclResult_t error;
    int version;
    size_t count = 1;
    ncclGetVersion(&version);
    ncclGetUniqueId(&id);
    ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    ncclCommGetAsyncError(comm, &error);
    ncclGetErrorString(error);
    ncclGetLastError(comm);
    ncclAllReduce(from, to, count, ncclFloat, ncclSum, comm, stream);
    ncclBroadcast(from, to, count, ncclFloat, 0, comm, stream);
    ncclReduce(from, to, count, ncclFloat, ncclSum, 0, comm, stream);
    ncclAllGather(from, to, count, ncclFloat, comm, stream);
    ncclReduceScatter(from, to, count, ncclFloat, ncclSum, comm, stream);
    ncclGroupStart();
    ncclSend(from, count, ncclFloat, 0, comm, stream);
    ncclRecv(to, count, ncclFloat, 0, comm, stream);
    ncclGroupEnd();
    ncclCommAbort(comm);
}

void (*const used)(struct ncclComm *, cudaStream_t, const void *, void *);
void (*const used)(struct ncclComm *, cudaStream_t, const void *, void *) = parameters_agree;
#else
typedef int nothing_to_compare;
#endif
