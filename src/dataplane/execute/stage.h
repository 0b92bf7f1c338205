/*
 * stage.h - messages in memory that a link does not reach, by way of rings in memory that it does.
 *
 * Each such channel has a ring. To send, the engine of the memory copies into the ring, and the
 * link sends out of it. To receive, the link receives into the ring, and the engine copies or
 * combines out of it. The two take turns by parts of the ring, at least two of which are under
 * way. The transport sees messages of a strided layout, and knows nothing of it.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_STAGE_H
#define CCTEST_DATAPLANE_EXECUTE_STAGE_H

#include "dataplane/memory/memory.h"
#include "dataplane/transport/transport.h"

struct staging; /* the rings of one rank */

/* Rings for at most `channels` channels, of `bytes` bytes each, one behind the other in the memory
 * at `base`, which a CPU reads, which the engine of `memory` reaches, and which lies in a region
 * of the links. `base` is aligned to the elements, and `bytes` a multiple of their size. Both
 * memories outlive the staging. NULL: out of memory. */
struct staging *staging_create(const struct memory *memory, char *base, size_t bytes, int channels);
void staging_destroy(struct staging *staging); /* NULL is allowed */

/* A message that goes through a ring. */
struct staged_message {
    struct transfer *transfer;   /* the executor's: its limit is read, its `done` is raised */
    struct transfer link, local; /* between link and ring; between ring and memory */
    struct piece pieces[3];      /* of the ring: up to its end, whole rounds, the rest */
    struct stage_ring *ring;
    size_t begin;                /* bytes of the ring's messages before this one */
    size_t counted;              /* bytes of it that the endpoint's traffic counts as copied */
    struct staged_message *next; /* in the ring's order */
};

/* Finds the ring of the channel, which it may be the first to use. STATUS_ERROR if all rings are
 * taken. */
enum status stage_prepare(struct staging *staging, const struct channel *channel,
                          struct staged_message *message);

/* In place of channel_post(). */
void stage_post(struct staged_message *message, struct channel *channel, struct transfer *transfer);

/* Passes on what links and engine have done since the last call, both ways. */
void staging_progress(struct staging *staging);

/* Is a message under way, so that the engine must progress? */
bool staging_is_active(const struct staging *staging);

#endif
