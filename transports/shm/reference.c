/*
 * reference.c - which bytes of a message go by reference, and how they are described.
 */
#include "transports/shm/internal.h"

/* The rules of --copy auto, by where the sender's bytes lie. To read private memory costs a system
 * call, and more for every run. Slots between far cores cost twice as much as between near ones. */
enum shm_source { SHM_PRIVATE_NEAR, SHM_PRIVATE_FAR, SHM_SHARED };
static const struct {
    size_t bcopy_most;      /* messages up to here go through slots */
    size_t reference_least; /* a reference covers at least so many bytes, */
    size_t run_least;       /* in runs of at least so many */
} shm_auto[] = {
    [SHM_PRIVATE_NEAR] = {.bcopy_most = 64 << 10, .reference_least = 8 << 10, .run_least = 1 << 10},
    [SHM_PRIVATE_FAR] = {.bcopy_most = 32 << 10, .reference_least = 8 << 10, .run_least = 1 << 10},
    [SHM_SHARED] = {.bcopy_most = SHM_BCOPY_MOST, .reference_least = 4 << 10, .run_least = 1},
};

#define HELP_MOST ((size_t)4 << 20) /* messages that an idle sender helps to copy */

/* Where `address` lies in the regions of this rank. False: in none that its peers know. */
static bool shm_locate(const struct shm_address *own, uint64_t address,
                       struct shm_reference *reference)
{
    for (int i = 0; i < own->region_count; i++) {
        if (address - own->regions[i].base >= own->regions[i].bytes)
            continue;
        reference->region = (uint64_t)i;
        reference->offset = address - own->regions[i].base;
        return true;
    }
    return false;
}

/* Makes a reference to at most `most` bytes at the cursor, one strided piece. Returns how many; 0:
 * they lie in no region that the peers know. */
static size_t shm_describe(const struct shm_address *own, const struct cursor *cursor, size_t most,
                           struct shm_reference *reference)
{
    const struct piece *piece = cursor->piece;
    size_t run, times = 1;
    const char *address = cursor_peek(cursor, most, &run);
    if (cursor->offset == 0 && run == piece->run) {
        size_t left = piece->times - cursor->time;
        times = most / run < left ? most / run : left;
    }
    *reference = (struct shm_reference){.run = run, .stride = piece->stride, .times = times};
    return shm_locate(own, (uintptr_t)address, reference) ? run * times : 0;
}

/* Is this channel the only active one, and a sending one? */
static bool shm_only_sends(const struct shm_channel *channel)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)channel->base.endpoint;
    return endpoint->active[true].first == channel && !channel->next_active &&
           !endpoint->active[false].first;
}

/* Does --copy auto send `bytes` bytes of a message by one reference? */
static bool shm_auto_refers(const struct path_query *query, size_t bytes)
{
    enum shm_source source = query->shared                       ? SHM_SHARED
                             : query->is_far || !query->has_core ? SHM_PRIVATE_FAR
                                                                 : SHM_PRIVATE_NEAR;
    /* A system call cannot combine what it reads. To copy it twice is faster if both ranks have a
     * core, or if the sender has little else to do. */
    if (source != SHM_SHARED && query->combines && (query->has_core || query->one_way))
        return false;
    /* Slots use both cores, where the sender's would be idle while the other one reads. But bytes
     * that do not stay in the cache on their way go through memory twice. */
    if (source == SHM_PRIVATE_NEAR && query->bytes <= HELP_MOST && query->only_sends)
        return false;
    return query->bytes > shm_auto[source].bcopy_most &&
           bytes >= shm_auto[source].reference_least && query->run >= shm_auto[source].run_least;
}

enum path shm_path_of(const struct path_query *query)
{
    switch (query->copy) {
    case COPY_BCOPY:
        return PATH_BCOPY;
    case COPY_ZCOPY:
        return PATH_ZCOPY;
    case COPY_LL:
        return PATH_LL;
    case COPY_AUTO:
        break;
    }
    if (query->bytes <= SHM_LINE_BYTES)
        return PATH_LINE;
    return shm_auto_refers(query, query->bytes) ? PATH_ZCOPY : PATH_BCOPY;
}

size_t shm_refer(const struct shm_channel *channel, const struct transfer *transfer, size_t most,
                 struct shm_reference *reference)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)channel->base.endpoint;
    enum copy_policy policy = endpoint->base.config.copy;
    if (policy == COPY_BCOPY ||
        (policy == COPY_AUTO && transfer->length <= shm_auto[SHM_SHARED].bcopy_most))
        return 0;
    size_t bytes = shm_describe(&endpoint->address, &transfer->cursor, most, reference);
    bool shared = bytes > 0 && endpoint->address.regions[reference->region].fd >= 0;
    if (bytes == 0 || (!shared && !channel->peer->it_reads))
        return 0;
    const struct path_query query = {
        .bytes = transfer->length,
        .run = reference->run,
        .shared = shared,
        .combines = transfer->combines,
        .one_way = transfer->one_way,
        .has_core = channel->peer->distance != SHM_CORELESS,
        .is_far = shm_is_far(channel->peer->distance),
        .only_sends = shm_only_sends(channel),
    };
    return policy == COPY_AUTO && !shm_auto_refers(&query, bytes) ? 0 : bytes;
}
