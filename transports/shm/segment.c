/*
 * segment.c - the memfd that one rank owns and its peers write into, and the sizes of its rings.
 *
 * It grows at its end and never moves, so addresses in it stay valid. Ranks that are threads of one
 * process use the owner's mapping, so that each byte has one address, which ThreadSanitizer needs.
 * Therefore the last user unmaps it, not the owner.
 */
#include "transports/shm/internal.h"

#include "base/list.h"
#include "base/log.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

/* The segments of this process, with their uses. Not in the segments themselves, where a peer may
 * write anything. */
static pthread_mutex_t segments_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shm_segment *segments;

enum status shm_mapping_add(struct shm_mapping **list, void *address, size_t bytes)
{
    struct shm_mapping *mapping = new_array(1, sizeof(*mapping));
    *mapping = (struct shm_mapping){.address = address, .bytes = bytes, .next = *list};
    *list = mapping;
    return STATUS_OK;
}

void shm_mappings_drop(struct shm_mapping **list)
{
    for (struct shm_mapping *mapping; (mapping = *list);) {
        *list = mapping->next;
        munmap(mapping->address, mapping->bytes);
        free(mapping);
    }
}

enum status shm_segment_grow(struct shm_segment *segment, size_t bytes, void **block,
                             uint64_t *offset)
{
    int error;
    do
        error = fallocate(segment->fd, 0, (off_t)segment->bytes, (off_t)bytes) ? errno : 0;
    while (error == EINTR);
    void *address = MAP_FAILED;
    if (!error) {
        address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment->fd,
                       (off_t)segment->bytes);
        error = address == MAP_FAILED ? errno : 0;
    }
    if (error) {
        return fail(STATUS_ERROR,
                    "cannot allocate %zu KiB of shared memory for the shm transport: %s; use fewer "
                    "ranks or channels, or another transport (-x tcp)%s",
                    bytes >> 10, strerror(error),
                    error == EFBIG ? ", or raise the limit of file sizes (ulimit -f)" : "");
    }
    *block = address;
    *offset = segment->bytes;
    segment->bytes += bytes;
    enum status status = shm_mapping_add(&segment->blocks, address, bytes);
    if (status)
        munmap(address, bytes);
    return status;
}

enum status shm_segment_create(int ranks, uint64_t cookie, struct shm_segment **created)
{
    struct shm_segment *segment = new_array(1, sizeof(*segment));
    enum status status;
    segment->offered = new_array((size_t)ranks, sizeof(*segment->offered));
    segment->fd = host_create_memory("cctest-shm");
    if (segment->fd < 0) {
        status =
            fail(STATUS_ERROR, "cannot create shared memory (memfd_create): %s", strerror(errno));
        goto free_segment;
    }
    size_t bytes = sizeof(struct shm_header) + (size_t)ranks * sizeof(struct shm_connect_slot);
    segment->header_bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *header;
    uint64_t offset;
    status = shm_segment_grow(segment, segment->header_bytes, &header, &offset);
    if (status)
        goto close_segment;
    segment->header = header;
    segment->header->cookie = segment->cookie = cookie;
    segment->users = 1;
    pthread_mutex_lock(&segments_lock);
    segment->next = segments;
    segments = segment;
    pthread_mutex_unlock(&segments_lock);
    *created = segment;
    return STATUS_OK;

close_segment:
    close(segment->fd);
free_segment:
    free(segment->offered);
    free(segment);
    return status;
}

struct shm_segment *shm_segment_share(uint64_t cookie)
{
    pthread_mutex_lock(&segments_lock);
    struct shm_segment *segment = segments;
    while (segment && segment->cookie != cookie)
        segment = segment->next;
    if (segment)
        segment->users++;
    pthread_mutex_unlock(&segments_lock);
    return segment;
}

void shm_segment_drop(struct shm_segment *segment)
{
    pthread_mutex_lock(&segments_lock);
    bool last = --segment->users == 0;
    struct shm_segment **link = &segments;
    while (last && *link != segment)
        link = &(*link)->next;
    if (last)
        *link = segment->next;
    pthread_mutex_unlock(&segments_lock);
    if (!last)
        return;
    shm_mappings_drop(&segment->blocks); /* including the header */
    close(segment->fd);
    free(segment->offered);
    free(segment);
}

/*
 * The sizes of the rings of a channel.
 *
 * The more channels share the segment, the smaller are the rings, so that the segment is bounded.
 */
/* The sizes of rings where there is room, and the least to which they shrink. */
static const struct shm_geometry shm_wanted = {.cells = {16, 8, 8}, .slot_bytes = 16 << 10};
static const struct shm_geometry shm_least = {.cells = {4, 2, 2}, .slot_bytes = 256};

/* With --copy ll: the region of an epoch and that of the next one. */
static const struct shm_geometry shm_wanted_ll = {.cells = {[SHM_LL] = 2}, .slot_bytes = 16 << 10};

/* A ring for long messages is larger than the second-level cache. When a slot is written again, its
 * lines have left the caches of the two cores for the one that they share. Slots of a smaller ring
 * would be fetched out of the other core's cache, at a quarter of the speed. */
#define RING_CACHES 2
#define LONG_MOST   512

/* Sizes that the user sets may exceed the usual budget, and so may the least rings of very many
 * channels. But all ranks of a host together take at most 1/MEMORY_PART of the memory that is
 * left. */
#define MEMORY_PART 4

size_t shm_payload(enum shm_ring_kind kind, const struct shm_geometry *geometry)
{
    size_t bytes = geometry->slot_bytes;
    if (kind == SHM_LINES)
        return sizeof(((struct shm_cell *)0)->data);
    return kind == SHM_SHORT && bytes > SHM_SHORT_BYTES ? SHM_SHORT_BYTES : bytes;
}

_Static_assert(SHM_SHORT_BYTES <= SHM_BCOPY_MOST, "an eager message never goes by reference");

size_t shm_cell_stride(enum shm_ring_kind kind, const struct shm_geometry *geometry)
{
    if (kind == SHM_LL)
        return 2 * shm_payload(kind, geometry); /* half of a word is its flag */
    return sizeof(struct shm_cell) + (kind == SHM_LINES ? 0 : shm_payload(kind, geometry));
}

size_t shm_geometry_bytes(const struct shm_geometry *geometry)
{
    size_t bytes = SHM_RINGS * SHM_CACHE_LINE;
    for (int kind = 0; kind < SHM_RINGS; kind++)
        bytes += geometry->cells[kind] * shm_cell_stride((enum shm_ring_kind)kind, geometry);
    return bytes;
}

size_t shm_block_bytes(const struct shm_geometry *geometry, int lanes)
{
    return ((size_t)lanes * shm_geometry_bytes(geometry) + PAGE - 1) / PAGE * PAGE;
}

/* Shrinks one size that the user did not set: first the one that costs least speed. False: all are
 * at their least. */
static bool shm_geometry_shrink(const struct transport_config *config,
                                struct shm_geometry *geometry)
{
    uint32_t *cells = geometry->cells, *slot_bytes = &geometry->slot_bytes;
    for (int hard = 0; hard < 2; hard++) { /* first pass: none down to its least */
        for (int kind = SHM_LONG; kind >= SHM_SHORT && !config->slots; kind--) {
            if (cells[kind] > shm_least.cells[kind] << !hard) {
                cells[kind] /= 2;
                return true;
            }
        }
        if (!config->slot_bytes && *slot_bytes > shm_least.slot_bytes << !hard) {
            *slot_bytes /= 2;
            return true;
        }
        if (cells[SHM_LINES] > shm_least.cells[SHM_LINES]) {
            cells[SHM_LINES] /= 2;
            return true;
        }
    }
    return false;
}

static size_t shm_local_ranks(const struct transport_config *config)
{
    return config->local_ranks > 1 ? (size_t)config->local_ranks : 2;
}

/* The most bytes that one of these ranks may have. */
static size_t shm_share(const struct transport_config *config)
{
    return memory_available() / MEMORY_PART / shm_local_ranks(config);
}

/* Fails if the rings do not fit, after all shrinking. The kernel would not refuse the memory, but
 * kill a rank. */
static enum status shm_geometry_check(const struct transport_config *config, size_t channels,
                                      const struct shm_geometry *geometry)
{
    size_t ranks = shm_local_ranks(config), most = shm_share(config);
    size_t wanted = channels * shm_geometry_bytes(geometry);
    if (wanted <= most)
        return STATUS_OK;
    if (!config->slots && !config->slot_bytes)
        return fail_option(
            STATUS_ERROR, "channels",
            "%zu channels would take at least %zu KiB of shared memory on a rank, which "
            "may have %zu KiB (1/%d of what is available for the %zu ranks here): "
            "use fewer --channels or ranks, or another transport (-x tcp)",
            channels, wanted >> 10, most >> 10, MEMORY_PART, ranks);
    return fail_option(
        STATUS_USAGE, "slots slot-size",
        "%u slots of %u bytes for each lane, %zu in all, would take %zu MiB of shared memory "
        "on a rank, which may have %zu MiB (1/%d of what is available for the %zu ranks here): "
        "give fewer --slots or a smaller --slot-size",
        geometry->cells[SHM_LONG] + geometry->cells[SHM_LL], geometry->slot_bytes, channels,
        wanted >> 20, most >> 20, MEMORY_PART, ranks);
}

/* The sizes for which there may not be room. */
static struct shm_geometry shm_geometry_want(const struct transport_config *config)
{
    struct shm_geometry geometry = config->copy == COPY_LL ? shm_wanted_ll : shm_wanted;
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t ring = RING_CACHES * (cache > 0 ? (size_t)cache : (size_t)1 << 20);
    while (geometry.cells[SHM_LONG] > 0 && geometry.cells[SHM_LONG] < LONG_MOST &&
           geometry.cells[SHM_LONG] * (size_t)geometry.slot_bytes < ring)
        geometry.cells[SHM_LONG] *= 2;
    if (config->slot_bytes) {
        size_t lines = (config->slot_bytes + SHM_CACHE_LINE - 1) / SHM_CACHE_LINE;
        geometry.slot_bytes = (uint32_t)(lines * SHM_CACHE_LINE);
    }
    if (config->slots && config->copy != COPY_LL)
        geometry.cells[SHM_SHORT] = geometry.cells[SHM_LONG] = (uint32_t)config->slots;
    return geometry;
}

enum status shm_geometry_choose(const struct transport_config *config, size_t channels, size_t room,
                                struct shm_geometry *geometry)
{
    if (config->slot_bytes > SHM_SLOT_MOST)
        return fail(STATUS_USAGE, "a slot of the shm transport has at most %zu MiB",
                    SHM_SLOT_MOST >> 20);
    *geometry = shm_geometry_want(config);
    size_t most = shm_share(config);
    room = room < most ? room : most;
    while (channels * shm_geometry_bytes(geometry) > room && shm_geometry_shrink(config, geometry))
        continue;
    return shm_geometry_check(config, channels, geometry);
}

bool shm_offer_fits(const struct shm_offer *offer, enum copy_policy copy, uint64_t segment_bytes)
{
    /* Slots are whole cache lines. SHM_SLOT_MOST keeps the products below from overflow. */
    const struct shm_geometry *geometry = &offer->geometry;
    uint32_t slot = geometry->slot_bytes;
    if (slot == 0 || slot % SHM_CACHE_LINE || slot > SHM_SLOT_MOST || offer->lanes < 1 ||
        offer->lanes > INT32_MAX || offer->offset > segment_bytes || offer->offset % PAGE)
        return false;
    for (int kind = 0; kind < SHM_LL; kind++) {
        if ((geometry->cells[kind] > 0) == (copy == COPY_LL))
            return false;
    }
    if (geometry->cells[SHM_LL] != (copy == COPY_LL ? shm_wanted_ll.cells[SHM_LL] : 0))
        return false;
    size_t most = (size_t)(segment_bytes - offer->offset);
    return shm_geometry_bytes(geometry) <= most / offer->lanes &&
           shm_block_bytes(geometry, (int)offer->lanes) <= most;
}
