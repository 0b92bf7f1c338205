/*
 * card.c - a kind of memory for tests that stands in for a GPU's.
 *
 * A region lies in a memfd, behind a page that is not its own. At its address is nothing but
 * reserved address space.
 */
#include "card.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "provider.h"

#define LEAD  4096 /* bytes of the memfd in front of the region */
#define CARDS 64

struct card {
    char *base, *view;
    size_t bytes;
    int file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct card cards[CARDS];
static _Atomic size_t flushes;

/* The card that holds the address; NULL: none. The lock is held. */
static struct card *card_find(const char *address)
{
    for (int i = 0; i < CARDS; i++)
        if (cards[i].base && address >= cards[i].base && address < cards[i].base + cards[i].bytes)
            return &cards[i];
    return NULL;
}

char *card_view(const void *address)
{
    pthread_mutex_lock(&lock);
    const struct card *card = card_find(address);
    char *view =
        card ? card->view + ((const char *)address - card->base) : (char *)(uintptr_t)address;
    pthread_mutex_unlock(&lock);
    return view;
}

size_t card_flushes(void)
{
    return flushes;
}

static enum status card_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    (void)tick;
    struct card card = {.bytes = bytes, .file = memfd_create("card", MFD_CLOEXEC)};
    if (card.file < 0 || ftruncate(card.file, (off_t)(LEAD + bytes)) != 0)
        return fail(STATUS_ERROR, "no memfd for a card");
    char *view = mmap(NULL, LEAD + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, card.file, 0);
    card.base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (view == MAP_FAILED || card.base == MAP_FAILED)
        return fail(STATUS_ERROR, "no address space for a card");
    card.view = view + LEAD;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < CARDS && cards[i].base)
        i++;
    if (i == CARDS)
        abort();
    cards[i] = card;
    pthread_mutex_unlock(&lock);
    provider_device_memory(card.base, bytes, card.file, LEAD);
    *region = (struct region){.kind = &memory_card, .base = card.base, .bytes = bytes, .fd = -1};
    return STATUS_OK;
}

static void card_release(struct region *region)
{
    provider_device_memory(region->base, region->bytes, -1, 0);
    pthread_mutex_lock(&lock);
    struct card *card = card_find(region->base);
    munmap(card->base, card->bytes);
    munmap(card->view - LEAD, card->bytes + LEAD);
    close(card->file);
    *card = (struct card){.base = NULL};
    pthread_mutex_unlock(&lock);
    *region = (struct region){.fd = -1};
}

static enum status card_share(const struct region *region, enum share_way way,
                              struct shared *shared, char *reason)
{
    (void)way, (void)reason;
    pthread_mutex_lock(&lock);
    *shared = (struct shared){.fd = dup(card_find(region->base)->file), .offset = LEAD};
    pthread_mutex_unlock(&lock);
    return STATUS_OK;
}

static enum status card_flush(const struct region *region)
{
    flushes++;
    provider_flush(region->base, region->bytes);
    return STATUS_OK;
}

const struct memory_kind memory_card = {
    .name = "card",
    .summary = "memory that no CPU reads",
    .allocate = card_allocate,
    .release = card_release,
    .share = card_share,
    .flush = card_flush,
};
