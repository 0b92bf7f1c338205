/*
 * card.c - memory of a card, as the provider's NICs reach it.
 */
#include "card.h"

#include <stdatomic.h>

#include "../unit/card_memory.h"
#include "provider.h"

static _Atomic size_t flushes;

char *card_view(const void *address)
{
    return card_byte(address);
}

size_t card_flushes(void)
{
    return flushes;
}

static enum status nic_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    (void)tick;
    enum status status = card_allocate(&memory_card, bytes, region);
    if (status != STATUS_OK)
        return status;
    pthread_mutex_lock(&card_lock);
    provider_device_memory(region->base, bytes, card_find(region->base)->file, CARD_LEAD);
    pthread_mutex_unlock(&card_lock);
    return STATUS_OK;
}

static void nic_release(struct region *region)
{
    provider_device_memory(region->base, region->bytes, -1, 0);
    card_release(region);
}

static enum status nic_share(const struct region *region, enum share_way way, struct shared *shared,
                             char *reason)
{
    (void)way, (void)reason;
    pthread_mutex_lock(&card_lock);
    *shared = (struct shared){.fd = dup(card_find(region->base)->file), .offset = CARD_LEAD};
    pthread_mutex_unlock(&card_lock);
    return STATUS_OK;
}

static enum status nic_flush(const struct region *region)
{
    flushes++;
    provider_flush(region->base, region->bytes);
    return STATUS_OK;
}

const struct memory_kind memory_card = {
    .name = "card",
    .summary = "memory that no CPU reads",
    CARD_HOOKS,
    .release = nic_release,
    .allocate = nic_allocate,
    .share = nic_share,
    .flush = nic_flush,
};
