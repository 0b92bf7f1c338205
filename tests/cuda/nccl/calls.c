/*
 * calls.c - the calls that move data: each is checked, then becomes work in the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#define DATA struct ncclComm *comm, cudaStream_t stream

int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction, DATA);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, DATA);
int ncclReduce(const void *from, void *to, size_t count, int type, int reduction, int root, DATA);
int ncclAllGather(const void *from, void *to, size_t each, int type, DATA);
int ncclReduceScatter(const void *from, void *to, size_t each, int type, int reduction, DATA);
int ncclSend(const void *from, size_t count, int type, int peer, DATA);
int ncclRecv(void *to, size_t count, int type, int peer, DATA);
int ncclGroupStart(void);
int ncclGroupEnd(void);

static __thread int depth; /* of groups */
static __thread struct work *group;

static void memory_check(const struct communicator *communicator, const void *at, size_t bytes,
                         const char *what)
{
    struct cudaPointerAttributes about;
    if (bytes == 0)
        return;
    for (size_t offset = 0; offset<bytes; offset += bytes> 1 ? bytes - 1 : 1)
        if (cudaPointerGetAttributes(&about, (const char *)at + offset) != cudaSuccess ||
            about.type != cudaMemoryTypeDevice || about.device != communicator->device)
            violation("%s: the %s is no memory of GPU %d",
                      offset ? "at its end" : "at its beginning", what, communicator->device);
}

static void overlap_check(const char *from, size_t from_bytes, const char *to, size_t to_bytes,
                          const char *in_place)
{
    if (from_bytes > 0 && to_bytes > 0 && from < to + to_bytes && to < from + from_bytes &&
        from != in_place)
        violation("source and destination overlap, and not in place");
}

/* The next work that is entered is the N-th of the rank that the faults are for; else -1. */
static long next_number(const struct communicator *communicator)
{
    return communicator->settings.rank == communicator->rank ? (long)communicator->calls + 1 : -1;
}

static struct work *work_make(struct ncclComm *comm, cudaStream_t stream, enum kind kind)
{
    struct communicator *communicator = (struct communicator *)(void *)comm;
    int device = -1;
    if (!communicator || !stream)
        violation("a collective without a communicator or a stream");
    if (atomic_load(&communicator->aborted))
        violation("a collective of an aborted communicator");
    if (communicator->polls > 0)
        violation("a collective while the communicator is in progress");
    if (cudaGetDevice(&device) != cudaSuccess || device != communicator->device)
        violation("a collective of GPU %d by a thread on GPU %d", communicator->device, device);
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        abort();
    if (next_number(communicator) == communicator->settings.late)
        exit_await();
    work->communicator = communicator;
    work->stream = stream;
    work->terms.kind = kind;
    return work;
}

/* Gives the work its faults, and launches it. */
static int work_enter(struct work *work)
{
    struct communicator *communicator = work->communicator;
    const struct settings *settings = &communicator->settings;
    long number = next_number(communicator);
    communicator->calls++;
    if (number == settings->fail || number == settings->late) {
        free(work);
        told("the stand-in was told to fail");
        return SYSTEM_ERROR;
    }
    work->is_wrong = number == settings->wrong;
    work->hangs = number == settings->hang || number == settings->lost;
    if (number == settings->lost)
        atomic_store(&communicator->lost, true);
    if (settings->blocking) {
        work_launch(work);
        return SUCCESS;
    }
    communicator->pending = work;
    communicator->polls = 3;
    return IN_PROGRESS;
}

/* A collective that all ranks call. `from_count`, `to_count`: elements of this rank's buffers. */
static int collective_enter(struct work *work, const void *from, size_t from_count, void *to,
                            size_t to_count, const char *in_place)
{
    struct communicator *communicator = work->communicator;
    const struct terms *terms = &work->terms;
    size_t size = type_size(terms->type);
    if (size == 0 || terms->reduction < 0 || terms->reduction > 4 || terms->root < 0 ||
        terms->root >= communicator->ranks)
        violation("type %d, operator %d, root %d", terms->type, terms->reduction, terms->root);
    if ((terms->type > 9 && communicator->settings.version < 22400))
        violation("type %d before 2.24", terms->type);
    if (depth > 0)
        violation("a collective in a group of sends and receives");
    if (terms->count == 0) {
        free(work);
        return SUCCESS;
    }
    memory_check(communicator, from, from_count * size, "source");
    memory_check(communicator, to, to_count * size, "destination");
    overlap_check(from, from_count * size, to, to_count * size, in_place);
    if (from_count * size > SLOT_BYTES)
        violation("%zu bytes are too many for the stand-in", from_count * size);
    bool *is_connected =
        &communicator->is_connected[terms->kind][terms->root][terms->count * size > CONNECT_BYTES];
    work->connects = !*is_connected;
    *is_connected = true;
    work->from = from;
    work->to = to;
    work->number = ++communicator->collectives;
    return work_enter(work);
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction, DATA)
{
    struct work *work = work_make(comm, stream, ALL_REDUCE);
    work->terms = (struct terms){ALL_REDUCE, type, reduction, 0, count};
    return collective_enter(work, from, count, to, count, to);
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, DATA)
{
    struct work *work = work_make(comm, stream, BROADCAST);
    work->terms = (struct terms){BROADCAST, type, 0, root, count};
    return collective_enter(work, from, work->communicator->rank == root ? count : 0, to, count,
                            to);
}

int ncclReduce(const void *from, void *to, size_t count, int type, int reduction, int root, DATA)
{
    struct work *work = work_make(comm, stream, REDUCE);
    work->terms = (struct terms){REDUCE, type, reduction, root, count};
    return collective_enter(work, from, count, to, work->communicator->rank == root ? count : 0,
                            to);
}

int ncclAllGather(const void *from, void *to, size_t each, int type, DATA)
{
    struct work *work = work_make(comm, stream, ALL_GATHER);
    size_t own = (size_t)work->communicator->rank * each * type_size(type);
    work->terms = (struct terms){ALL_GATHER, type, 0, 0, each};
    return collective_enter(work, from, each, to, each * (size_t)work->communicator->ranks,
                            (const char *)to + own);
}

int ncclReduceScatter(const void *from, void *to, size_t each, int type, int reduction, DATA)
{
    struct work *work = work_make(comm, stream, REDUCE_SCATTER);
    size_t own = (size_t)work->communicator->rank * each * type_size(type);
    work->terms = (struct terms){REDUCE_SCATTER, type, reduction, 0, each};
    return collective_enter(work, from, each * (size_t)work->communicator->ranks, to, each,
                            (const char *)to - own);
}

/* Groups. */

static int part_add(struct ncclComm *comm, cudaStream_t stream, struct standin_part part,
                    size_t count)
{
    if (depth == 0)
        violation("a send or a receive outside of a group");
    if (!group)
        group = work_make(comm, stream, GROUP);
    struct communicator *communicator = group->communicator;
    if ((struct communicator *)(void *)comm != communicator || stream != group->stream)
        violation("a group of several communicators or streams");
    part.bytes = count * type_size(part.type);
    if (type_size(part.type) == 0 || part.peer < 0 || part.peer >= communicator->ranks ||
        part.bytes > PAIR_BYTES || group->part_count == GROUP_MOST)
        violation("a message of type %d, peer %d, %zu bytes", part.type, part.peer, part.bytes);
    memory_check(communicator, part.at, part.bytes, part.sends ? "source" : "destination");
    for (int i = 0; i < group->part_count; i++)
        if (!part.sends || !group->parts[i].sends)
            overlap_check(part.at, part.bytes, group->parts[i].at, group->parts[i].bytes, NULL);
    uint64_t *before = part.sends ? communicator->sent : communicator->received;
    group->connects |= before[part.peer] == 0;
    group->messages[group->part_count] = ++before[part.peer];
    group->parts[group->part_count++] = part;
    return SUCCESS;
}

int ncclSend(const void *from, size_t count, int type, int peer, DATA)
{
    char *at;
    memcpy(&at, &from, sizeof at);
    return part_add(comm, stream,
                    (struct standin_part){.sends = true, .peer = peer, .type = type, .at = at},
                    count);
}

int ncclRecv(void *to, size_t count, int type, int peer, DATA)
{
    return part_add(comm, stream, (struct standin_part){.peer = peer, .type = type, .at = to},
                    count);
}

int ncclGroupStart(void)
{
    depth++;
    return SUCCESS;
}

int ncclGroupEnd(void)
{
    struct work *work = group;
    if (depth-- == 0)
        violation("ncclGroupEnd() without a group");
    if (depth > 0 || !work)
        return SUCCESS;
    group = NULL;
    return work_enter(work);
}
