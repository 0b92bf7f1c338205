/*
 * local.h - a kind of memory by itself, for programs that hash or time what its hooks do: regions
 * of one length, and local operations that are posted and waited for.
 */
#ifndef CCTEST_TEST_CUDA_CHECK_LOCAL_H
#define CCTEST_TEST_CUDA_CHECK_LOCAL_H

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "dataplane/memory/memory.h"

#define LOCAL_REGIONS 3

struct local {
    struct memory memory;
    struct region regions[LOCAL_REGIONS]; /* unused ones have no base */
};

/* Ends the program if a hook has failed, which it has said. */
static inline void must(enum status status)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "%s\n", log_current()->failure.text);
    exit(status == STATUS_UNAVAILABLE ? 77 : 1);
}

/* The kind of this name; ends the program with status 77 if it cannot be used. */
static inline const struct memory_kind *local_kind(const char *name)
{
    const struct memory_kind *kind = memory_find(name);
    const char *why = !kind               ? "no kind of memory has this name"
                      : kind->unavailable ? kind->unavailable()
                                          : NULL;
    if (!why)
        return kind;
    fprintf(stderr, "not here: %s memory: %s\n", name, why);
    exit(77);
}

static inline void local_open(struct local *local, const struct memory_kind *kind, int local_rank,
                              int regions, size_t bytes)
{
    *local = (struct local){.memory = {.kind = NULL}};
    struct memory_device device;
    if (kind->settle)
        must(kind->settle(NULL, local_rank, NULL, &device));
    must(memory_open(kind, NULL, &local->memory));
    for (int i = 0; i < regions; i++)
        must(kind->allocate(bytes, NULL, &local->regions[i]));
}

static inline void local_close(struct local *local)
{
    const struct memory_kind *kind = local->memory.kind;
    for (int i = 0; i < LOCAL_REGIONS; i++)
        if (local->regions[i].base)
            kind->release(&local->regions[i]);
    memory_close(&local->memory);
}

static inline struct piece local_piece(char *base, size_t bytes)
{
    return (struct piece){.base = base, .run = bytes, .stride = bytes, .times = 1};
}

/* Does one local operation on `bytes` bytes: `like` says kind, function, ranks and element. `with`
 * may be NULL. */
static inline void local_do(struct local *local, const struct transfer *like, char *to, char *from,
                            char *with, size_t bytes)
{
    const struct memory_kind *kind = local->memory.kind;
    const struct piece pieces[] = {local_piece(to, bytes), local_piece(from, bytes),
                                   local_piece(with, bytes)};
    struct moved_list moved = {NULL};
    struct transfer transfer = *like;
    transfer.to = (struct layout){.pieces = &pieces[0], .count = 1};
    transfer.from = (struct layout){.pieces = &pieces[1], .count = 1};
    transfer.with = (struct layout){.pieces = &pieces[2], .count = with ? 1 : 0};
    transfer.length = transfer.limit = transfer.grain = bytes;
    transfer.moved = &moved;
    kind->engine_post(local->memory.engine, &transfer);
    while (transfer.done < bytes)
        must(kind->engine_progress(local->memory.engine));
}

#endif
