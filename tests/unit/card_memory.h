/*
 * card_memory.h - a kind of memory for tests that stands in for a GPU's: no CPU reads it at its addresses,
 * which are not mapped for access, so that whoever does is ended by a signal. Only its hooks do, and
 * card_byte(). It has no engine.
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

#include "memory/cpu_contents.h"
#include "memory/memory.h"

#define CARD_LEAD 4096 /* bytes of the memfd in front of the region */
#define CARDS     64

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

static inline enum status card_allocate(size_t bytes, const struct tick *tick,
                                        struct region *region)
{
    (void)tick;
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
    *region = (struct region){.base = card.base, .bytes = bytes, .fd = -1};
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
    return cpu_fill(memory, card_byte(to), byte, bytes);
}

static inline enum status card_make(const struct memory *memory, const struct inputs *inputs,
                                    int rank, size_t first, size_t count, void *to)
{
    return cpu_make(memory, inputs, rank, first, count, card_byte(to));
}

static inline enum status card_compare(const struct memory *memory,
                                       const struct comparison *comparison, size_t *wrong)
{
    struct comparison there = *comparison;
    there.at = card_byte(there.at);
    return cpu_compare(memory, &there, wrong);
}

static inline enum status card_select(const struct memory *memory,
                                      const struct comparison *comparison,
                                      struct selection *selection)
{
    struct comparison there = *comparison;
    there.at = card_byte(there.at);
    return cpu_select(memory, &there, selection);
}

static inline enum status card_scan(const struct memory *memory, const void *at, unsigned char byte,
                                    size_t bytes, struct damage *damage)
{
    return cpu_scan(memory, card_byte(at), byte, bytes, damage);
}

static inline enum status card_read(const struct memory *memory, const void *at, size_t bytes,
                                    void *to)
{
    return cpu_read(memory, card_byte(at), bytes, to);
}

static inline enum status card_write(const struct memory *memory, const void *from, size_t bytes,
                                     void *at)
{
    return cpu_write(memory, from, bytes, card_byte(at));
}

/* What a kind has of it. Its allocate(), by card_allocate(), sets the region's kind. */
#define CARD_HOOKS                                                                                 \
    .fill = card_fill, .make = card_make, .compare = card_compare, .select = card_select,          \
    .scan = card_scan, .read = card_read, .write = card_write

#endif
