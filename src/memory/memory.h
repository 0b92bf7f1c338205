/*
 * memory.h - the kinds of memory for buffers, each with its engine.
 *
 * host: private memory of the process. shared: a memfd, which peers on the same node can map and
 * read in place.
 */
#ifndef CCTEST_MEMORY_MEMORY_H
#define CCTEST_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tick.h"
#include "memory/transfer.h"

struct engine; /* does local operations; each kind of memory has its own */

/* A piece of memory that one rank owns. */
struct region {
    const struct memory_kind *kind;
    char *base;   /* aligned to 4096 bytes at least */
    size_t bytes; /* as asked for */
    int fd;       /* shared: the memfd that backs it, from offset 0; else -1 */
};

/* How others than the owner's CPU reach a region. */
enum share_way {
    SHARE_DMABUF, /* a dmabuf, which drivers of other devices import */
};

struct shared {
    int fd;          /* owned by the caller */
    uint64_t offset; /* where the region begins in it; modulo a page it is region->base */
};

#define MEMORY_REASON_MOST 256

struct memory_kind {
    const char *name;
    const char *summary; /* one line for `cctest info` */
    bool host_reads;     /* a CPU may read and write its regions; else only engines and NICs do */

    /* Makes a region of `bytes` bytes (0 is allowed), filled with zeroes, its memory allocated: a
     * lack of memory is STATUS_ERROR here, not a signal later. Calls tick_on() now and then; `tick`
     * may be NULL. */
    enum status (*allocate)(size_t bytes, const struct tick *tick, struct region *region);
    void (*release)(struct region *region);

    /* Local operations. post() accepts a TRANSFER_COPY, TRANSFER_REDUCE or TRANSFER_FINISH.
     * progress() moves each posted one by at most about its grain, and never waits. An engine that
     * works asynchronously (a GPU stream) starts the work in one call and finds it finished in a
     * later one. An engine belongs to one thread. */
    enum status (*engine_open)(struct engine **engine);
    void (*engine_post)(struct engine *engine, struct transfer *transfer);
    enum status (*engine_progress)(struct engine *engine);
    void (*engine_close)(struct engine *engine); /* drops what is still posted; NULL is allowed */

    /* Does a short local operation at once, without an engine. NULL if the engine works
     * asynchronously. */
    void (*engine_now)(const struct transfer *transfer);

    /* A handle of a whole region. STATUS_UNAVAILABLE: there is none in this way here: writes why into
     * `reason` (MEMORY_REASON_MOST bytes; one clause), and records no failure. NULL: the kind has
     * none in any way. */
    enum status (*share)(const struct region *region, enum share_way way, struct shared *shared,
                         char *reason);

    /* What NICs have written into the region, and the completion of which was polled, is seen by
     * whatever the engine starts from now on. Blocks, for microseconds. NULL: that is so anyway. */
    enum status (*flush)(const struct region *region);
};

/* Maps a region of a file, or private memory if fd is -1: whole pages, from 128 KiB on whole huge
 * pages. `protection`: as of mmap(). NULL: it failed, errno says why. */
char *memory_place(size_t bytes, int fd, int protection);
void memory_unplace(char *base, size_t bytes); /* unmaps it */

/* Ended by NULL; the first is the default. */
extern const struct memory_kind *const memory_kinds[];
const struct memory_kind *memory_find(const char *name); /* NULL if unknown */

#endif
