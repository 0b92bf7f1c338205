/*
 * segment.c - the memfd that one rank owns and its peers write into.
 *
 * It grows at its end and never moves, so addresses in it stay valid. Ranks that are threads of one
 * process use the owner's mapping, so that each byte has one address, which ThreadSanitizer needs.
 * Therefore the last user unmaps it, not the owner.
 */
#include "transports/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

#define PAGE ((size_t)4096)

/* The segments of this process, with their uses. Not in the segments themselves, where a peer may
 * write anything. */
static pthread_mutex_t segments_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shm_segment *segments;

enum status shm_mapping_add(struct shm_mapping **list, void *address, size_t bytes)
{
    struct shm_mapping *mapping = malloc(sizeof(*mapping));
    if (!mapping)
        return fail(STATUS_ERROR, "out of memory for a list of shared memory");
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
    struct shm_segment *segment = calloc(1, sizeof(*segment));
    if (!segment)
        return fail(STATUS_ERROR, "out of memory for a segment of the shm transport");
    enum status status;
    segment->offered = calloc((size_t)ranks, sizeof(*segment->offered));
    if (!segment->offered) {
        status = fail(STATUS_ERROR, "out of memory for a segment of the shm transport");
        goto free_segment;
    }
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
