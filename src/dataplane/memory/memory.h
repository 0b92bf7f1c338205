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
#include <string.h>

#include "base/bytes.h"
#include "base/status.h"
#include "base/tick.h"
#include "dataplane/memory/cursor.h"
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/kernel_set.h"
#include "dataplane/memory/profile.h"
#include "host/host.h"

/* ---- The values that ranks begin with, and their combinations.
 *
 * Inputs are a hash of (seed, iteration, rank, element), drawn so that every order of reduction
 * gives bit-identical results, and so that a contribution that is missing, doubled or stale changes
 * the result (design notes in inputs.c, per type and operator).
 * ---- */

struct input_rule;

struct inputs {
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the values are only moved */
    int ranks;                         /* that contribute to a combination */
    uint64_t seed;
    uint64_t iteration;
};

/* Writes source elements [first, first + count) of `rank`. */
void inputs_make(const struct inputs *inputs, int rank, size_t first, size_t count, void *to);

/* How one rank's contribution enters a combination: once if the run was right. */
enum contribution {
    CONTRIBUTION_ONCE,
    CONTRIBUTION_MISSING,
    CONTRIBUTION_DOUBLED,
    CONTRIBUTION_STALE
};

/* The combination of all ranks' source elements [first, first + count), each entering as
 * `how[rank]` says (NULL: all once; stale: with its value of the iteration before; before iteration
 * 0 there is a 2^64-1 that was never run). Returns false where nothing enters at all. Inputs that
 * are only moved have none. */
bool inputs_combine(const struct inputs *inputs, const unsigned char *how, size_t first,
                    size_t count, void *to);

/* Elements [first, first + count) of the source of `rank`, or, if that is negative, the
 * combination of all ranks' elements. */
void inputs_expect(const struct inputs *inputs, int rank, size_t first, size_t count, void *to);

/* How their elements are made, for those who include input_element.h. */
struct input_rule inputs_rule(const struct inputs *inputs);

/* Bits that a wrong element says about its cause, roughly and at least. */
double inputs_bits(const struct inputs *inputs);

/* ---- What is asked about the contents of memory, of the kind that it is of (memory.h). ---- */

struct memory_kind;
struct engine; /* does local operations; each kind of memory has its own */

/* The uses of an engine. */
enum engine_use {
    ENGINE_MOVES,    /* local operations alone */
    ENGINE_CONTENTS, /* and the hooks for contents */
};

/* A kind of memory, as one thread of a rank uses it. */
struct memory {
    const struct memory_kind *kind;
    struct engine *engine;   /* of that kind */
    const struct tick *tick; /* called while a hook takes long; NULL: none */
};

/* Elements in memory, and what belongs there: elements [first, first + count) of the source of
 * `rank`, or, if that is negative, of all ranks' sources, combined. */
struct comparison {
    const struct inputs *inputs;
    int rank;
    size_t first, count;
    const void *at;
};

/* Wrong elements: those that are asked for are, after `skip` of them, each `stride`-th, but no more
 * than `most`. */
struct selection {
    size_t skip, stride, most;
    size_t *at;         /* room for `most`: their numbers in the comparison, from 0, ascending */
    size_t count;       /* of those in `at` */
    size_t wrong, last; /* how many are wrong in all; the number of the last, if there are any */
};

/* Bytes that are not what they were filled with. */
struct damage {
    size_t bytes;
    size_t first; /* offset of the first, if there are any */
};

/* ---- The device that a rank's memory lies on, and the user's choice among several. ---- */

#define MEMORY_DEVICE_TEXT 48

/* A device as one rank sees it. Processes of a host may count its devices in different ways. */
struct memory_device {
    int number;      /* as this process counts them; -1: memory of the host */
    char bus[16];    /* PCI address as the kernel writes it, "0000:3b:00.0"; "": unknown */
    char uuid[40];   /* tells it from other devices, and from other parts of one; "": unknown */
    char name[64];   /* of its model */
    char domain[48]; /* of its NVLinks, with the clique: devices of other hosts with the same one
                        can reach its memory; "": it is in none, or not known */
};

void memory_device_code(struct codec codec, struct memory_device *device);

/* "GPU 0 (0000:3b:00.0)". Returns `text`. */
const char *memory_device_text(const struct memory_device *device, char text[MEMORY_DEVICE_TEXT]);

/* Negative, 0 or positive: an order of the devices of a host, in which 0 means the same one. */
int memory_device_compare(const struct memory_device *a, const struct memory_device *b);

/* Identifies it among the devices of a host (memory_pool.which); never 0. */
uint64_t memory_device_identity(const struct memory_device *device);

/* One entry of a list of devices, "1,0" or "0000:3b:00.0". */
struct device_choice {
    int number;   /* -1: the one at the PCI address */
    char bus[16]; /* "" with a number */
};

int device_choices(const char *list); /* the number of entries; 0: one of them is invalid */
/* Entry `index` of the list, modulo its length. False: an entry of the list is invalid. */
bool device_choice_at(const char *list, int index, struct device_choice *choice);
int device_choice_distinct(const char *list); /* how many entries differ from those before */

/* ---- Moves bytes between the pieces of a message (cursor.h) and contiguous memory. ---- */

/* Puts a piece, whose numbers come from another process, at `offset` of the `size` bytes at `base`.
 * False: it is empty, or not all of it lies there. */
bool piece_place(struct piece *piece, char *base, size_t size, uint64_t offset);

/* Copies `bytes` between the layout at the cursor and contiguous memory, and advances. */
void cursor_gather_runs(struct cursor *from, void *to, size_t bytes);
void cursor_scatter_runs(struct cursor *to, const void *from, size_t bytes);

/* Is that a whole run of 8 to 16 bytes, as in most short messages? */
static inline bool cursor_at_short_run(const struct cursor *cursor, size_t bytes)
{
    return bytes >= sizeof(uint64_t) && bytes <= 2 * sizeof(uint64_t) &&
           cursor->piece->run == bytes && cursor->piece->times == 1 && cursor->offset == 0;
}

/* Copies 8 to 16 bytes: to call a function takes longer. */
static inline void copy_short(char *to, const char *from, size_t bytes)
{
    uint64_t first, last;
    memcpy(&first, from, sizeof first);
    memcpy(&last, from + bytes - sizeof last, sizeof last);
    memcpy(to, &first, sizeof first);
    memcpy(to + bytes - sizeof last, &last, sizeof last);
}

/* The same, fast for short messages. */
static inline void cursor_gather(struct cursor *from, void *to, size_t bytes)
{
    if (cursor_at_short_run(from, bytes))
        copy_short(to, from->piece++->base, bytes);
    else
        cursor_gather_runs(from, to, bytes);
}

static inline void cursor_scatter(struct cursor *to, const void *from, size_t bytes)
{
    if (cursor_at_short_run(to, bytes) && !to->nontemporal)
        copy_short(to->piece++->base, from, bytes);
    else
        cursor_scatter_runs(to, from, bytes);
}

/* Copies `bytes` from layout to layout, except runs that lie in the same place, and advances. */
void cursor_copy(struct cursor *to, struct cursor *from, size_t bytes);

/* to = from (+) with, likewise. */
void cursor_reduce_both(struct cursor *to, struct cursor *from, struct cursor *with, size_t bytes,
                        reduce_function *reduce, size_t element);

/* to = finish(from), a result of `ranks` ranks; whole elements. */
void cursor_finish(struct cursor *to, struct cursor *from, size_t bytes, finish_function *finish,
                   size_t element, int ranks);

/* to = with (+) incoming, for `bytes` bytes (whole elements of `element` bytes); advances both. */
void cursor_reduce(struct cursor *to, struct cursor *with, const void *incoming, size_t bytes,
                   reduce_function *reduce, size_t element);

/* ---- One operation under way: how far it may go, and how far it has gone.
 *
 * The executor makes transfers and raises `limit` as conflicts clear. An engine (a transport, or a
 * memory kind for local operations) moves bytes in ascending order and raises `done`. These two
 * numbers are the whole protocol. All transfers of a rank belong to one thread.
 * ---- */

enum transfer_kind {
    TRANSFER_SEND,        /* from -> the channel */
    TRANSFER_RECV,        /* the channel -> to */
    TRANSFER_RECV_REDUCE, /* to = with (+) the channel's bytes */
    TRANSFER_COPY,        /* local: to = from */
    TRANSFER_REDUCE,      /* local: to = from (+) with */
    TRANSFER_FINISH,      /* local: to = finish(from) */
};

struct transfer {
    /* Set by the executor (or a test) before it is posted; the engine does not change them. */
    enum transfer_kind kind;
    struct layout to, from, with; /* the ones that the kind uses */
    reduce_function *reduce;
    finish_function *finish; /* TRANSFER_FINISH */
    int ranks;               /* TRANSFER_FINISH: number of contributions */
    size_t element;          /* bytes of an element */
    size_t length;           /* bytes, whole elements */
    size_t grain;            /* bytes after which progress is to be reported; at most the length */
    /* Facts of the message's collective, by which an engine may choose a way. */
    bool combines;            /* it reduces: receivers combine messages */
    bool one_way;             /* it has a root: ranks mostly either send or receive */
    struct moved_list *moved; /* where to report that done has grown */
    struct profile *profile;  /* NULL: none */

    size_t limit; /* bytes that may be touched: raised by the executor only, whole elements */
    size_t done;  /* bytes whose memory is free for other operations: raised by the engine only, by
                     transfer_advance() */

    /* The engine's own while the transfer is posted; 0 when it is posted. */
    struct transfer *next;
    size_t issued; /* bytes that the engine has begun to move; done <= issued <= limit */
    struct cursor cursor, with_cursor, from_cursor;

    /* The moved list's own. */
    bool is_moved;
    struct transfer *next_moved;
};

/* The transfers whose `done` has grown since the executor last looked. */
struct moved_list {
    struct transfer *first;
};

/* A grain (--chunk) that depends on the length of the message. */
#define GRAIN_AUTO SIZE_MAX

/* The grain of a message of `length` bytes. `chunk`: bytes; 0: the whole message; GRAIN_AUTO: a
 * quarter of it, so that waiting operations begin early, but at least `least` and at most `most`.
 * */
static inline size_t grain_of(size_t chunk, size_t length, size_t least, size_t most)
{
    const size_t part = length / 4;
    if (chunk != GRAIN_AUTO)
        return chunk > 0 && chunk < length ? chunk : length;
    return part < least ? least : part > most ? most : part;
}

/* A local operation is posted: nothing of it is begun. */
static inline void transfer_start_local(struct transfer *transfer)
{
    transfer->next = NULL;
    transfer->issued = 0;
    cursor_start(&transfer->cursor, transfer->to);
    cursor_start(&transfer->from_cursor, transfer->from);
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_start(&transfer->with_cursor, transfer->with);
}

/* Bytes to move before other transfers have their turn: the grain, within `least` and `most`. */
static inline size_t transfer_turn(const struct transfer *transfer, size_t least, size_t most)
{
    return transfer->grain < least ? least : transfer->grain > most ? most : transfer->grain;
}

/* Places or combines bytes [at, at + count) of a message that is not posted; whole elements. */
static inline void transfer_place(const struct transfer *transfer, size_t at, const char *bytes,
                                  size_t count)
{
    struct cursor to, with;
    cursor_start(&to, transfer->to);
    if (at > 0)
        cursor_advance(&to, at);
    if (transfer->kind == TRANSFER_RECV) {
        cursor_scatter(&to, bytes, count);
        return;
    }
    cursor_start(&with, transfer->with);
    cursor_advance(&with, at);
    cursor_reduce(&to, &with, bytes, count, transfer->reduce, transfer->element);
}

/* The activity of an engine that moves bytes of the transfer. */
static inline enum activity transfer_activity(const struct transfer *transfer)
{
    return transfer->kind == TRANSFER_RECV_REDUCE || transfer->kind == TRANSFER_REDUCE ||
                   transfer->kind == TRANSFER_FINISH
               ? PROFILE_REDUCE
               : PROFILE_COPY;
}

/* Called by engines: `bytes` more are done. */
static inline void transfer_advance(struct transfer *transfer, size_t bytes)
{
    transfer->done += bytes;
    if (!transfer->is_moved) {
        transfer->is_moved = true;
        transfer->next_moved = transfer->moved->first;
        transfer->moved->first = transfer;
    }
}

/* Takes one transfer off the list; NULL when it is empty. */
static inline struct transfer *moved_take(struct moved_list *list)
{
    struct transfer *transfer = list->first;
    if (transfer) {
        list->first = transfer->next_moved;
        transfer->is_moved = false;
    }
    return transfer;
}

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

/* The handle by which a peer maps a region: bytes that travel as they are. */
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

    /* Fills `pools`, which has room for MEMORY_POOLS: what the memory of regions is taken from, and
     * how much of it is left. */
    void (*look)(struct memory_pool *pools);
    /* Bytes of regions' memory that an engine for contents takes; one that only moves: none. */
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

    /* The functions that the engine takes as a transfer's `reduce` and `finish` for this type and
     * operator; NULL: there is none. Only an engine of the kind may call them. */
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

    /* Makes bytes that NICs have written into the region, and the completion of which was polled,
     * visible to whatever the engine starts from now on. Blocks, for microseconds. NULL: they are
     * visible anyway. */
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

/* ---- Copies and reductions into memory that is not read soon.
 *
 * An ordinary store first brings the line that it overwrites into the cache. That is a third of the
 * traffic of a copy, and evicts data that may still be needed. These functions store past the
 * cache. If the target is not in the cache, that is 1.3 to 1.8 times as fast, whether the source is
 * or not. If the target is in the cache, or is read next, it is half as fast or worse (measured by
 * tests/bench/kernels.c on a Zen 4).
 *
 * Both end with a fence: a later release store of the caller publishes the data, as after ordinary
 * stores.
 * ---- */

/* Copies `bytes` bytes, of any alignment. The two ranges do not overlap. */
void nontemporal_copy(void *to, const void *from, size_t bytes);

/* As reduce(to, a, b, elements), on elements of `element` bytes, with the same alignment and
 * aliasing. In place (`to` equal to `a` or `b`) it is only that call, because the lines are in the
 * cache by the time they are stored. */
void nontemporal_reduce(reduce_function *reduce, size_t element, void *to, const void *a,
                        const void *b, size_t elements);

/* ---- Where a copy by the instruction `rep movsb` is slow.
 *
 * The kernel copies by it, and so does memcpy() of many versions of the C library. On AMD's Zen 3
 * and Zen 4 it is some 16 times as slow as usual (3.5 GB/s instead of 57, on a Zen 4) if the
 * target's offset in its page of 4 KiB exceeds that of the source by 1 to 15 bytes; others have
 * found it on a Zen 3, too (lunnova.dev, ryzen-slow-short-rep-mov). Blocks of odd lengths lie so by
 * chance. Of 6, 10, 12 ... ranks one begins at half of the size, which is a multiple of 4096 and a
 * few bytes. Other processors were not measured: those of AMD are taken to have it, others not.
 * ---- */

#define ALIAS_PAGE  4096
#define ALIAS_BYTES 15

/* On any processor: does the target's offset in its page exceed the source's by 1 to 15 bytes? */
static inline bool page_offsets_alias(const void *to, const void *from)
{
    return ((uintptr_t)to - (uintptr_t)from - 1) % ALIAS_PAGE < ALIAS_BYTES;
}

/* Is a copy by `rep movsb` slow here? */
static inline bool page_alias(const void *to, const void *from)
{
#ifdef __x86_64__
    return page_offsets_alias(to, from) && __builtin_cpu_is("amd");
#else
    (void)to;
    (void)from;
    return false;
#endif
}

/* ---- Which kernel combines elements of a type by an operator. ---- */

/* The kernel, in the best set that this machine has. NULL where the operator is not defined for the
 * type (bor on floats). */
reduce_function *reduce_kernel(const struct datatype *type, const struct reduction *reduction);

/* The kernel that finishes the result; NULL unless the reduction finishes. Integers are divided as
 * in C: towards 0. */
finish_function *finish_kernel(const struct datatype *type, const struct reduction *reduction);

/* Why the operator is not defined for the type, and what to choose instead: the end of a sentence.
 * NULL: it is defined. */
const char *reduce_refusal(const struct datatype *type, const struct reduction *reduction);

/* The most ranks for which the result has a meaning: beyond it an average of integers is always
 * 0. */
int reduce_ranks_most(const struct datatype *type, const struct reduction *reduction);

/* For tests and benchmarks: the best set here, and the kernel of a set up to it. */
enum kernel_set kernel_set_best(void);
reduce_function *reduce_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction);
finish_function *finish_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction);

#endif
