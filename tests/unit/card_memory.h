/*
 * card_memory.h - a kind of memory for tests that stands in for a GPU's: no CPU reads it at its
 * addresses, which are not mapped for access, so that whoever does is ended by a signal. Only its
 * hooks do, and card_byte(). Its engine is asynchronous: what is posted, and what may go on, is
 * begun in one call of progress() and found done in a later one, at random.
 *
 * A region lies in a memfd, behind a page that is not its own. At its address is nothing but
 * reserved address space.
 */
#ifndef CCTEST_TEST_CARD_MEMORY_H
#define CCTEST_TEST_CARD_MEMORY_H

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataplane/memory/internal.h"
#include "dataplane/memory/memory.h"

#define CARD_LEAD 4096 /* bytes of the memfd in front of the region */
#define CARDS     128

struct card {
    char *base, *view; /* of the region: where it seems to be, and where its bytes are */
    size_t bytes;
    int file;
};

static pthread_mutex_t card_lock = PTHREAD_MUTEX_INITIALIZER;
static struct card cards[CARDS];

/* The card that holds the address; NULL: none. The lock is held. */
static inline struct card *card_find(const char *address)
{
    for (int i = 0; i < CARDS; i++)
        if (cards[i].base && address >= cards[i].base && address < cards[i].base + cards[i].bytes)
            return &cards[i];
    return NULL;
}

/* Where a test reads and writes what lies at this address of a card's region. For other memory it
 * is the address itself. */
static inline char *card_byte(const void *address)
{
    pthread_mutex_lock(&card_lock);
    const struct card *card = card_find(address);
    char *view =
        card ? card->view + ((const char *)address - card->base) : (char *)(uintptr_t)address;
    pthread_mutex_unlock(&card_lock);
    return view;
}

/* A region of this kind, which has the hooks below. */
static inline enum status card_allocate(const struct memory_kind *kind, size_t bytes,
                                        struct region *region)
{
    struct card card = {.bytes = bytes, .file = memfd_create("card", MFD_CLOEXEC)};
    if (card.file < 0 || ftruncate(card.file, (off_t)(CARD_LEAD + bytes)) != 0)
        abort();
    char *view = mmap(NULL, CARD_LEAD + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, card.file, 0);
    card.base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (view == MAP_FAILED || card.base == MAP_FAILED)
        abort();
    card.view = view + CARD_LEAD;
    pthread_mutex_lock(&card_lock);
    int i = 0;
    while (i < CARDS && cards[i].base)
        i++;
    if (i == CARDS)
        abort();
    cards[i] = card;
    pthread_mutex_unlock(&card_lock);
    *region = (struct region){.kind = kind, .base = card.base, .bytes = bytes, .fd = -1};
    return STATUS_OK;
}

static inline void card_release(struct region *region)
{
    pthread_mutex_lock(&card_lock);
    struct card *card = card_find(region->base);
    munmap(card->base, card->bytes);
    munmap(card->view - CARD_LEAD, card->bytes + CARD_LEAD);
    close(card->file);
    *card = (struct card){.base = NULL};
    pthread_mutex_unlock(&card_lock);
    *region = (struct region){.fd = -1};
}

static inline enum status card_fill(const struct memory *memory, void *to, unsigned char byte,
                                    size_t bytes)
{
    return memory_host.fill(memory, card_byte(to), byte, bytes);
}

static inline enum status card_make(const struct memory *memory, const struct inputs *inputs,
                                    int rank, size_t first, size_t count, void *to)
{
    return memory_host.make(memory, inputs, rank, first, count, card_byte(to));
}

static inline enum status card_compare(const struct memory *memory,
                                       const struct comparison *comparison, size_t *wrong)
{
    struct comparison there = *comparison;
    there.at = card_byte(there.at);
    return memory_host.compare(memory, &there, wrong);
}

static inline enum status card_select(const struct memory *memory,
                                      const struct comparison *comparison,
                                      struct selection *selection)
{
    struct comparison there = *comparison;
    there.at = card_byte(there.at);
    return memory_host.select(memory, &there, selection);
}

static inline enum status card_scan(const struct memory *memory, const void *at, unsigned char byte,
                                    size_t bytes, struct damage *damage)
{
    return memory_host.scan(memory, card_byte(at), byte, bytes, damage);
}

static inline enum status card_read(const struct memory *memory, const void *at, size_t bytes,
                                    void *to)
{
    return memory_host.read(memory, card_byte(at), bytes, to);
}

static inline enum status card_write(const struct memory *memory, const void *from, size_t bytes,
                                     void *at)
{
    return memory_host.write(memory, from, bytes, card_byte(at));
}

/* A local operation: its double, on the card's bytes, is the CPU engine's. */
struct card_work {
    struct transfer *transfer, twin;
    struct piece *pieces; /* of the twin's layouts */
    bool is_begun;
    struct card_work *next;
};

/* The card's engine, behind the name that all engines have. */
struct card_engine {
    struct engine *cpu;
    struct card_work *first;
    struct moved_list moved;
    uint64_t random;
};

static inline enum status card_engine_open(enum engine_use use, const struct tick *tick,
                                           struct engine **engine)
{
    struct card_engine *card = calloc(1, sizeof *card);
    *engine = (struct engine *)(void *)card;
    card->random = (uintptr_t)card;
    return memory_host.engine_open(use, tick, &card->cpu);
}

static inline struct layout card_layout(struct layout layout, struct piece **room)
{
    struct layout there = {.pieces = *room, .count = layout.count};
    for (size_t i = 0; i < layout.count; i++) {
        **room = layout.pieces[i];
        (*room)++->base = card_byte(layout.pieces[i].base);
    }
    return there;
}

static inline void card_engine_post(struct engine *engine, struct transfer *transfer)
{
    struct card_engine *card = (struct card_engine *)(void *)engine;
    if (transfer->length == 0)
        return;
    bool reduces = transfer->kind == TRANSFER_REDUCE;
    struct card_work *work = calloc(1, sizeof *work);
    struct piece *room =
        malloc((transfer->to.count + transfer->from.count + transfer->with.count) * sizeof *room);
    if (!work || !room)
        abort();
    *work = (struct card_work){
        .transfer = transfer, .twin = *transfer, .pieces = room, .next = card->first};
    work->twin.limit = 0;
    work->twin.moved = &card->moved;
    work->twin.to = card_layout(transfer->to, &room);
    work->twin.from = card_layout(transfer->from, &room);
    if (reduces)
        work->twin.with = card_layout(transfer->with, &room);
    card->first = work;
    transfer->issued = 0;
    memory_host.engine_post(card->cpu, &work->twin);
}

static inline enum status card_engine_progress(struct engine *engine)
{
    struct card_engine *card = (struct card_engine *)(void *)engine;
    enum status status =
        memory_host.engine_progress(card->cpu); /* what was begun in earlier calls */
    while (moved_take(&card->moved))
        continue;
    for (struct card_work **link = &card->first; *link;) {
        struct card_work *work = *link;
        struct transfer *transfer = work->transfer;
        card->random = card->random * 6364136223846793005u + 1442695040888963407u;
        if (card->random >> 63) {
            if (work->twin.done > transfer->done)
                transfer_advance(transfer, work->twin.done - transfer->done);
            work->twin.limit = transfer->issued = transfer->limit;
        }
        if (transfer->done == transfer->length) {
            *link = work->next;
            free(work->pieces);
            free(work);
        } else {
            link = &work->next;
        }
    }
    return status;
}

static inline void card_engine_close(struct engine *engine)
{
    struct card_engine *card = (struct card_engine *)(void *)engine;
    memory_host.engine_close(card->cpu);
    while (card->first) {
        struct card_work *work = card->first;
        card->first = work->next;
        free(work->pieces);
        free(work);
    }
    free(card);
}

/* The hooks of a kind of such memory, besides allocate(). */
#define CARD_HOOKS                                                                                 \
    .grain_least = 64, .grain_most = 1024, .engine_open = card_engine_open,                        \
    .engine_post = card_engine_post, .engine_progress = card_engine_progress,                      \
    .engine_close = card_engine_close, .fill = card_fill, .make = card_make,                       \
    .compare = card_compare, .select = card_select, .scan = card_scan, .read = card_read,          \
    .write = card_write

/* Defines a whole kind of such memory. */
#define CARD_KIND(kind)                                                                            \
    static enum status kind##_take(size_t bytes, const struct tick *tick, struct region *region);  \
    static const struct memory_kind kind = {                                                       \
        .name = #kind, .allocate = kind##_take, .release = card_release, CARD_HOOKS};              \
    static enum status kind##_take(size_t bytes, const struct tick *tick, struct region *region)   \
    {                                                                                              \
        (void)tick;                                                                                \
        return card_allocate(&kind, bytes, region);                                                \
    }

#endif
