/*
 * memory.h - the kinds of memory for buffers, each with its engine.
 *
 * host: private memory of the process. shared: a memfd, which peers on the same node can map and
 * read in place.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_MEMORY_H
#define CCTEST_DATAPLANE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tick.h"
#include "host/device.h"
#include "host/meter.h"
#include "dataplane/memory/contents.h"
#include "dataplane/memory/memory_device.h"
#include "host/memory_limits.h"
#include "dataplane/memory/transfer.h"

/* A piece of memory that one rank owns. */
struct region {
    const struct memory_kind *kind;
    char *base;      /* aligned to 256 bytes at least; memory that a CPU reads, to 4096 */
    size_t bytes;    /* as asked for */
    int fd;          /* shared: the memfd that backs it, from offset 0; else -1 */
    size_t reserved; /* cuda: bytes of addresses that it takes, if it has a fabric handle; else 0 */
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

/* What a peer needs to map a region: bytes that travel as they are. */
#define MEMORY_HANDLE_MOST 152
struct memory_handle {
    unsigned char bytes[MEMORY_HANDLE_MOST];
};

/* A region of another rank, which engines and kernels of the thread that mapped it reach. */
struct memory_mapping {
    char *base;
    size_t bytes;
    const char *words; /* the way: a few static words */
    bool is_opened;    /* unmap() has to close it; else it is memory of this process */
    size_t reserved;   /* as of the region */
};

struct memory_kind {
    const char *name;
    const char *summary; /* one line for `cctest info` */
    /* Why it cannot be used here, and what to do (one clause); NULL: it may well be. May run before
     * ranks are forked, and leaves nothing that a fork breaks. NULL as a hook: it always can. */
    const char *(*unavailable)(void);
    /* Sets what the environment must say; before ranks are forked, and before other threads begin.
     * NULL: nothing. */
    void (*prepare)(void);
    bool host_reads; /* a CPU may read and write its regions; else only engines and NICs do */

    /* The grain of a message (--chunk auto) is at least and at most so many bytes: within these
     * bounds a step of the engine costs little beside the bytes that it moves. */
    size_t grain_least, grain_most;

    /* How many devices the ranks of a host would take, by what can be told before ranks are forked;
     * `choices`: as in settle(). 0: unknown. NULL as a hook: the kind has no devices. */
    int (*devices_taken)(const char *choices);

    /* Chooses the device of the calling thread, which is a rank, and describes it: the first hook
     * that it calls. `local_rank`: among the ranks of this host, which take the devices in turn, or
     * the entries of the list `choices` (device_choice_at(); NULL: not given). NULL: there is
     * nothing to choose. STATUS_USAGE: a choice is not there. */
    enum status (*settle)(const char *choices, int local_rank, const struct tick *tick,
                          struct memory_device *device);

    /* Makes memory that a CPU reads reachable for the engine, for staging. NULL: it is anyway. */
    enum status (*pin)(void *base, size_t bytes);
    void (*unpin)(void *base);

    /* What the memory of regions is taken from, and how much of it is left: `pools` has room for
     * MEMORY_POOLS. */
    void (*look)(struct memory_pool *pools);
    /* What an engine for contents takes of regions' memory; one that only moves takes none. */
    size_t engine_bytes;

    /* Makes a region of `bytes` bytes (0 is allowed), filled with zeroes, its memory allocated: a
     * lack of memory is STATUS_ERROR here, not a signal later. Calls tick_on() now and then; `tick`
     * may be NULL. */
    enum status (*allocate)(size_t bytes, const struct tick *tick, struct region *region);
    void (*release)(struct region *region);

    /* Local operations. post() accepts a TRANSFER_COPY, TRANSFER_REDUCE or TRANSFER_FINISH.
     * progress() moves each posted one by at most about its grain, and never waits. An engine that
     * works asynchronously (a GPU stream) starts the work in one call and finds it finished in a
     * later one. An engine belongs to one thread. */
    enum status (*engine_open)(enum engine_use use, const struct tick *tick,
                               struct engine **engine);
    void (*engine_post)(struct engine *engine, struct transfer *transfer);
    enum status (*engine_progress)(struct engine *engine);
    /* Is a device still at work on what progress() has begun? NULL: there is none. */
    bool (*engine_busy)(const struct engine *engine);
    void (*engine_close)(struct engine *engine); /* drops what is still posted; NULL is allowed */
    /* The same, but leaves what the device has until the process ends, since to free it might wait
     * for a kernel of another rank that never ends. NULL: engine_close() does. */
    void (*engine_forget)(struct engine *engine);

    /* What the engine takes as a transfer's `reduce` and `finish` for this type and operator; NULL:
     * there is none. Only an engine of the kind may call it. */
    reduce_function *(*reduce)(const struct datatype *type, const struct reduction *reduction);
    finish_function *(*finish)(const struct datatype *type, const struct reduction *reduction);

    /* Does a short local operation at once, without an engine. NULL if the engine works
     * asynchronously. */
    void (*engine_now)(const struct transfer *transfer);

    /* Contents: a hook is done when it returns, and nothing else in this process touches those
     * bytes meanwhile. Addresses lie in one region of the kind, those of elements aligned to the
     * element; `to` of read() and `from` of write() lie in memory that a CPU reads. The long ones
     * call tick_on(). Once that says that the job has ended, a hook may end early, with any
     * result. */
    enum status (*fill)(const struct memory *memory, void *to, unsigned char byte, size_t bytes);
    /* Source elements [first, first + count) of `rank`. */
    enum status (*make)(const struct memory *memory, const struct inputs *inputs, int rank,
                        size_t first, size_t count, void *to);
    /* How many elements are wrong? And which? */
    enum status (*compare)(const struct memory *memory, const struct comparison *comparison,
                           size_t *wrong);
    enum status (*select)(const struct memory *memory, const struct comparison *comparison,
                          struct selection *selection);
    enum status (*scan)(const struct memory *memory, const void *at, unsigned char byte,
                        size_t bytes, struct damage *damage);
    /* A few bytes: each call may take some 10 us. */
    enum status (*read)(const struct memory *memory, const void *at, size_t bytes, void *to);
    enum status (*write)(const struct memory *memory, const void *from, size_t bytes, void *at);

    /* A handle of a whole region. STATUS_UNAVAILABLE: there is none in this way here: writes why
     * into `reason` (MEMORY_REASON_MOST bytes; one clause), and records no failure. NULL: the kind
     * has none in any way. */
    enum status (*share)(const struct region *region, enum share_way way, struct shared *shared,
                         char *reason);

    /* For the engines of other ranks: those of this host, and those with the same
     * memory_device.domain. All NULL: they reach none of the kind's regions.
     * lend(): the handle of a whole region, which a peer may map until it is released.
     * map(): maps the region that a peer has lent. STATUS_UNAVAILABLE: it cannot be mapped here:
     *   writes why into `reason` (MEMORY_REASON_MOST bytes; one clause), and records no failure.
     * unmap(): nothing uses the mapping any more. */
    enum status (*lend)(const struct region *region, struct memory_handle *handle);
    enum status (*map)(const struct memory_handle *handle, struct memory_mapping *mapping,
                       char *reason);
    void (*unmap)(struct memory_mapping *mapping);

    /* What NICs have written into the region, and the completion of which was polled, is seen by
     * whatever the engine starts from now on. Blocks, for microseconds. NULL: that is so anyway. */
    enum status (*flush)(const struct region *region);

    /* The devices that the memory belongs to, such as GPUs. NULL: it belongs to none.
     * devices(): adds all that this machine has, usable or not; for a process without ranks, since
     *   it may initialize what does not survive a fork.
     * rank_devices(): adds those of a rank whose settle() has chosen `device`, in any thread.
     * device_meter(): the meter of one, by its name; in any thread. NULL: it has no counters. */
    void (*devices)(struct device_list *list);
    void (*rank_devices)(const struct memory_device *device, struct device_list *list);
    struct meter *(*device_meter)(const char *device);
};

/* Opens the engine of a kind for this thread, for contents; `tick` may be NULL. On success the
 * caller calls memory_close(), which allows all zero. */
enum status memory_open(const struct memory_kind *kind, const struct tick *tick,
                        struct memory *memory);
void memory_close(struct memory *memory);
void memory_forget(struct memory *memory); /* the same by engine_forget() */

/* Bytes that memory_place() maps: whole pages, at least one; from 128 KiB on whole huge pages. */
size_t memory_mapped(size_t bytes);

/* Maps a region of a file, or private memory if fd is -1. `protection`: as of mmap(). NULL: it
 * failed, errno says why. */
char *memory_place(size_t bytes, int fd, int protection);
void memory_unplace(char *base, size_t bytes); /* unmaps it */

extern const struct memory_kind memory_cuda;

/* Ended by NULL; the first is the default. */
extern const struct memory_kind *const memory_kinds[];
const struct memory_kind *memory_find(const char *name); /* NULL if unknown */

#endif
