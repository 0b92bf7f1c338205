/*
 * communicator.c - ids, and communicators from their beginning to their end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

#define BYTES                                                                                      \
    (sizeof(struct meeting) + RANKS_MOST * SLOT_BYTES + RANKS_MOST * RANKS_MOST * PAIR_BYTES)
#define ID_MAGIC 0x1d1d1d1d

/* Where the ranks meet: a file of the process that made the id. */
struct place {
    int magic, pid, fd;
};

static _Atomic int alive;                /* communicators of this process */
static _Atomic bool is_exiting, is_late; /* the process; one of its calls */

static void nap(void)
{
    const struct timespec time = {.tv_nsec = 20000};
    nanosleep(&time, NULL);
}

char *slot_of(const struct communicator *communicator, int rank)
{
    return (char *)(communicator->meeting + 1) + (size_t)rank * SLOT_BYTES;
}

char *pair_of(const struct communicator *communicator, int from, int to)
{
    return slot_of(communicator, RANKS_MOST) + (size_t)(from * RANKS_MOST + to) * PAIR_BYTES;
}

bool await(const struct communicator *communicator, const _Atomic uint64_t *at, uint64_t value)
{
    while (atomic_load(at) < value) {
        if (atomic_load(&communicator->aborted))
            return false;
        nap();
    }
    return true;
}

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
    struct settings settings;
    settings_read(&settings);
    *version = (int)settings.version;
    return SUCCESS;
}

int ncclGetUniqueId(struct nccl_unique_id *id);
int ncclGetUniqueId(struct nccl_unique_id *id)
{
    struct place place = {ID_MAGIC, getpid(), memfd_create("nccl stand-in", MFD_CLOEXEC)};
    if (place.fd < 0 || ftruncate(place.fd, (off_t)BYTES) != 0)
        return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    memcpy(id, &place, sizeof place);
    return SUCCESS;
}

void exit_await(void)
{
    atomic_store(&is_late, true);
    while (!atomic_load(&is_exiting))
        nap();
}

static void check_exit(int status, void *argument)
{
    const struct timespec time = {.tv_nsec = 200000000};
    (void)argument;
    atomic_store(&is_exiting, true);
    if (atomic_load(&is_late))
        nanosleep(&time, NULL); /* in which the call returns, and its caller goes on */
    if (status == 0 && atomic_load(&alive) > 0)
        violation("%d communicators are left at the end", atomic_load(&alive));
}

/* As NCCL does it: by default no two ranks share a GPU, which it knows by its PCI address, and from
 * 2.30 on by its UUID. */
static bool gpus_differ(const struct communicator *communicator)
{
    const char *set = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    const struct meeting *meeting = communicator->meeting;
    bool by_uuid = communicator->settings.version >= 23000;
    int rank = communicator->rank;
    if (by_uuid && set && strcmp(set, "1") == 0)
        return true;
    for (int r = 0; r < communicator->ranks; r++)
        if (r != rank && (by_uuid ? memcmp(&meeting->of[r].uuid, &meeting->of[rank].uuid,
                                           sizeof meeting->of[r].uuid)
                                  : strcmp(meeting->of[r].bus, meeting->of[rank].bus)) == 0)
            return false;
    return true;
}

static int communicator_join(struct communicator *communicator)
{
    struct meeting *meeting = communicator->meeting;
    int rank = communicator->rank, none = 0;
    if (atomic_exchange(&meeting->of[rank].there, 1))
        violation("rank %d joins twice", rank);
    if (!atomic_compare_exchange_strong(&meeting->ranks, &none, communicator->ranks) &&
        none != communicator->ranks)
        violation("rank %d counts %d ranks, another %d", rank, communicator->ranks, none);
    struct cudaDeviceProp about;
    if (cudaGetDevice(&communicator->device) != cudaSuccess ||
        cudaDeviceGetPCIBusId(meeting->of[rank].bus, 32, communicator->device) != cudaSuccess ||
        cudaGetDeviceProperties(&about, communicator->device) != cudaSuccess)
        return SYSTEM_ERROR;
    meeting->of[rank].uuid = about.uuid;
    if (!work_load())
        return SYSTEM_ERROR;
    bool is_stuck = communicator->settings.stuck && communicator->settings.rank == rank;
    atomic_fetch_add(&meeting->joined, 1);
    while (is_stuck || atomic_load(&meeting->joined) < communicator->ranks)
        nap();
    return gpus_differ(communicator) ? SUCCESS
                                     : told("Multiple Ranks are using the same GPU/Partition.");
}

static struct meeting *meeting_map(const struct nccl_unique_id *id)
{
    struct place place;
    char path[64];
    memcpy(&place, id, sizeof place);
    if (place.magic != ID_MAGIC)
        violation("an id that ncclGetUniqueId() did not make");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place.pid, place.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, struct nccl_unique_id id, int rank,
                           struct nccl_config *config);
int ncclCommInitRankConfig(struct ncclComm **comm, int ranks, struct nccl_unique_id id, int rank,
                           struct nccl_config *config)
{
    struct communicator *communicator = calloc(1, sizeof *communicator);
    if (!communicator)
        return SYSTEM_ERROR;
    if (config->size < sizeof *config || config->magic != NCCL_MAGIC || config->version < 21400 ||
        (config->blocking != 0 && config->blocking != 1))
        violation("a config that is not initialized");
    if (ranks < 1 || ranks > RANKS_MOST || rank < 0 || rank >= ranks)
        violation("rank %d of %d", rank, ranks);
    settings_read(&communicator->settings);
    communicator->rank = rank;
    communicator->ranks = ranks;
    communicator->settings.blocking &= config->blocking;
    communicator->meeting = meeting_map(&id);
    if (!communicator->meeting)
        return SYSTEM_ERROR;
    if (atomic_fetch_add(&alive, 1) == 0)
        on_exit(check_exit, NULL);
    *comm = (struct ncclComm *)(void *)communicator;
    communicator->polls = communicator->settings.blocking ? 0 : 3;
    int result = communicator_join(communicator);
    return result == SUCCESS && communicator->polls > 0 ? IN_PROGRESS : result;
}

int ncclCommGetAsyncError(struct ncclComm *comm, int *error);
int ncclCommGetAsyncError(struct ncclComm *comm, int *error)
{
    struct communicator *communicator = (struct communicator *)(void *)comm;
    if (communicator->polls > 0 && --communicator->polls == 0 && communicator->pending) {
        struct work *work = communicator->pending;
        communicator->pending = NULL;
        work_launch(work);
    }
    *error = atomic_load(&communicator->lost) ? REMOTE_ERROR
             : communicator->polls > 0        ? IN_PROGRESS
                                              : SUCCESS;
    return SUCCESS;
}

int ncclCommAbort(struct ncclComm *comm);
int ncclCommAbort(struct ncclComm *comm)
{
    struct communicator *communicator = (struct communicator *)(void *)comm;
    if (!communicator)
        return SUCCESS;
    if (atomic_exchange(&communicator->aborted, true))
        violation("a communicator is aborted twice");
    while (atomic_load(&communicator->running) > 0)
        nap();
    free(communicator->pending);
    for (struct work *work = communicator->works, *next; work; work = next) {
        next = work->next;
        free(work);
    }
    munmap(communicator->meeting, BYTES);
    free(communicator);
    atomic_fetch_sub(&alive, 1);
    return SUCCESS;
}
