/*
 * work.c - the kernels of the stand-in: they move what lies in device memory, when their stream has
 * come to them.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dataplane/memory/cuda/work.h"
#include "standin.h"

/* Elements of the source of each rank. */
static size_t source_count(const struct work *work)
{
    const struct terms *terms = &work->terms;
    bool root = work->communicator->rank == terms->root;
    size_t ranks = (size_t)work->communicator->ranks;
    return terms->kind == BROADCAST && !root ? 0
           : terms->kind == REDUCE_SCATTER   ? terms->count * ranks
                                             : terms->count;
}

/* Writes this rank's result. */
static void result_write(const struct work *work)
{
    const struct communicator *communicator = work->communicator;
    const struct terms *terms = &work->terms;
    size_t bytes = terms->count * type_size(terms->type);
    switch (terms->kind) {
    case BROADCAST:
        memcpy(work->to, slot_of(communicator, terms->root), bytes);
        return;
    case ALL_GATHER:
        for (int r = 0; r < communicator->ranks; r++)
            memcpy(work->to + (size_t)r * bytes, slot_of(communicator, r), bytes);
        return;
    case REDUCE_SCATTER:
        combine(communicator, terms, (size_t)communicator->rank * terms->count, terms->count,
                work->to);
        return;
    default:
        if (terms->kind == ALL_REDUCE || communicator->rank == terms->root)
            combine(communicator, terms, 0, terms->count, work->to);
    }
}

static void terms_compare(const struct communicator *communicator, const struct terms *mine)
{
    for (int r = 0; r < communicator->ranks; r++) {
        const struct terms *other = &communicator->meeting->of[r].terms;
        if (other->kind != mine->kind || other->count != mine->count || other->type != mine->type ||
            other->reduction != mine->reduction || other->root != mine->root)
            violation("ranks %d and %d call different collectives", communicator->rank, r);
    }
}

/* All ranks put their sources where all see them, then each takes what it needs. */
static void collective_run(const struct work *work)
{
    const struct communicator *communicator = work->communicator;
    struct meeting *meeting = communicator->meeting;
    int rank = communicator->rank;
    for (int r = 0; r < communicator->ranks; r++)
        if (!await(communicator, &meeting->of[r].left, work->number - 1))
            return;
    meeting->of[rank].terms = work->terms;
    memcpy(slot_of(communicator, rank), work->from,
           source_count(work) * type_size(work->terms.type));
    atomic_store(&meeting->of[rank].entered, work->number);
    for (int r = 0; r < communicator->ranks; r++)
        if (!await(communicator, &meeting->of[r].entered, work->number))
            return;
    terms_compare(communicator, &work->terms);
    result_write(work);
    atomic_store(&meeting->of[rank].left, work->number);
}

static bool part_run(const struct work *work, int index)
{
    const struct communicator *communicator = work->communicator;
    const struct standin_part *part = &work->parts[index];
    int from = part->sends ? communicator->rank : part->peer;
    int to = part->sends ? part->peer : communicator->rank;
    uint64_t number = work->messages[index];
    struct meeting *meeting = communicator->meeting;
    char *data = pair_of(communicator, from, to);
    if (part->sends) {
        if (!await(communicator, &meeting->pairs[from][to].taken, number - 1))
            return false;
        memcpy(data, part->at, part->bytes);
        meeting->pairs[from][to].bytes = part->bytes;
        meeting->pairs[from][to].type = part->type;
        atomic_store(&meeting->pairs[from][to].sent, number);
        return true;
    }
    if (!await(communicator, &meeting->pairs[from][to].sent, number))
        return false;
    if (meeting->pairs[from][to].bytes != part->bytes ||
        meeting->pairs[from][to].type != part->type)
        violation("rank %d sends %zu bytes, rank %d receives %zu", from,
                  (size_t)meeting->pairs[from][to].bytes, to, part->bytes);
    memcpy(part->at, data, part->bytes);
    atomic_store(&meeting->pairs[from][to].taken, number);
    return true;
}

/* Sends first: each has room of its own. */
static void group_run(const struct work *work)
{
    for (int sends = 1; sends >= 0; sends--)
        for (int i = 0; i < work->part_count; i++)
            if (work->parts[i].sends == sends && !part_run(work, i))
                return;
}

/* Flips a bit of the last element that it wrote. */
static void work_spoil(const struct work *work)
{
    char *at = NULL;
    const struct communicator *communicator = work->communicator;
    size_t bytes = work->terms.count * type_size(work->terms.type);
    if (work->terms.kind == ALL_GATHER)
        bytes *= (size_t)communicator->ranks;
    if (work->terms.kind != GROUP &&
        (work->terms.kind != REDUCE || communicator->rank == work->terms.root))
        at = work->to + bytes - 1;
    for (int i = 0; i < work->part_count; i++)
        if (!work->parts[i].sends)
            at = work->parts[i].at + work->parts[i].bytes - 1;
    if (at)
        *at ^= 0x10;
}

static void kernel(struct device_work argument)
{
    struct work *work = (struct work *)(void *)argument.at;
    struct communicator *communicator = work->communicator;
    _Atomic uint64_t never = 0;
    if (work->hangs)
        await(communicator, &never, 1);
    else if (work->terms.kind == GROUP)
        group_run(work);
    else
        collective_run(work);
    if (work->is_wrong)
        work_spoil(work);
    atomic_fetch_sub(&communicator->running, 1);
}

bool work_load(void)
{
    struct cudaFuncAttributes about;
    return cudaFuncGetAttributes(&about, (const void *)(uintptr_t)kernel) == cudaSuccess;
}

static void work_connect(const struct work *work)
{
    long ms = work->communicator->settings.connect;
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (work->connects)
        nanosleep(&time, NULL);
}

/* The runtime finds the memory that a kernel uses by the addresses in its argument. */
void work_launch(struct work *work)
{
    struct device_work argument = {.at = (char *)work};
    void *arguments[] = {&argument};
    argument.runs[0] = (struct device_run){.to = work->to, .from = work->from};
    for (int i = 0; i < work->part_count && i + 1 < DEVICE_RUNS; i++)
        argument.runs[i + 1].to = work->parts[i].at;
    work_connect(work);
    work->next = work->communicator->works;
    work->communicator->works = work;
    atomic_fetch_add(&work->communicator->running, 1);
    if (cudaLaunchKernel((const void *)(uintptr_t)kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                         arguments, 0, work->stream) != cudaSuccess)
        violation("the kernel cannot be launched");
}
