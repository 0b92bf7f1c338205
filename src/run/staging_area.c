/*
 * staging_area.c - the memory of a rank's rings.
 */
#include "run/run.h"

#include "base/log.h"

#define RING_LEAST ((size_t)128 << 10) /* two parts, so that engine and link work at once */
#define RING_MOST  ((size_t)4 << 20)
#define AREA_MOST  ((size_t)256 << 20) /* of a rank, unless its rings are the least */

static size_t ring_bytes(int channels)
{
    size_t bytes = AREA_MOST / (size_t)channels;
    bytes -= bytes % RING_LEAST;
    return bytes < RING_LEAST ? RING_LEAST : bytes > RING_MOST ? RING_MOST : bytes;
}

size_t staging_area_bytes(int channels)
{
    return channels > 0 ? ring_bytes(channels) * (size_t)channels : 0;
}

/* To divide AREA_MOST among more rings may leave a rest. */
size_t staging_area_most(int channels)
{
    size_t least = RING_LEAST * (size_t)channels, most = RING_MOST * (size_t)channels;
    return most < AREA_MOST ? most : least > AREA_MOST ? least : AREA_MOST;
}

enum status staging_area_open(const struct memory *memory, int channels, const struct tick *tick,
                              struct staging_area *area)
{
    *area = (struct staging_area){.region = {.fd = -1}};
    if (channels == 0)
        return STATUS_OK;
    area->kind = memory->kind;
    enum status status =
        memory_find("host")->allocate(staging_area_bytes(channels), tick, &area->region);
    if (status == STATUS_OK && memory->kind->pin) {
        status = memory->kind->pin(area->region.base, area->region.bytes);
        area->is_pinned = status == STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    area->staging = staging_create(memory, area->region.base, ring_bytes(channels), channels);
    return area->staging ? STATUS_OK : fail(STATUS_ERROR, "out of memory for %d rings", channels);
}

void staging_area_forget(struct staging_area *area)
{
    staging_destroy(area->staging);
    *area = (struct staging_area){.region = {.fd = -1}};
}

void staging_area_close(struct staging_area *area)
{
    if (area->is_pinned)
        area->kind->unpin(area->region.base);
    if (area->region.kind)
        area->region.kind->release(&area->region);
    staging_area_forget(area);
}
