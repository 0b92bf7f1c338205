/*
 * start_barrier.c - who meets at which gate, and the barrier between the gates.
 */
#include "run/start_barrier.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "memory/reduce.h"
#include "schedule/algorithm.h"

#define LINE 128 /* the gate's first byte in the memory: behind the cookie */

/* Where the first rank of a host has made memory for its gate. */
struct barrier_offer {
    uint64_t cookie; /* stands at the memory's beginning */
    int32_t pid, fd; /* fd -1: it made none */
};

static const struct barrier_offer *barrier_offer_of(const struct blobs *blobs, int rank)
{
    return blobs->size[rank] == sizeof(struct barrier_offer) ? blobs->data[rank] : NULL;
}

/* The first rank of `rank`'s host. */
static int first_of_host(const struct member *members, int rank)
{
    int first = 0;
    while (members[first].node != members[rank].node)
        first++;
    return first;
}

static void *node_barrier_map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The first rank's part: memory with a cookie in front. No memory is no failure: everybody then
 * meets nobody. */
static void node_barrier_make(struct start_barrier *barrier, struct barrier_offer *offer)
{
    *offer = (struct barrier_offer){.pid = getpid()};
    offer->fd = memfd_create("cctest-gate", MFD_CLOEXEC);
    if (offer->fd < 0)
        return;
    if (ftruncate(offer->fd, (off_t)barrier->bytes) == 0 &&
        getrandom(&offer->cookie, sizeof offer->cookie, 0) == sizeof offer->cookie)
        barrier->memory = node_barrier_map(offer->fd, barrier->bytes);
    if (barrier->memory) {
        memcpy(barrier->memory, &offer->cookie, sizeof offer->cookie);
        return;
    }
    close(offer->fd);
    offer->fd = -1;
}

/* The others' part. */
static void node_barrier_join(struct start_barrier *barrier, const struct barrier_offer *offer)
{
    int fd = offer->fd < 0 ? -1 : host_open_descriptor((pid_t)offer->pid, offer->fd, O_RDWR);
    struct stat file;
    if (fd < 0)
        return;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == (off_t)barrier->bytes)
        barrier->memory = node_barrier_map(fd, barrier->bytes);
    close(fd);
    if (!barrier->memory || memcmp(barrier->memory, &offer->cookie, sizeof offer->cookie) == 0)
        return;
    munmap(barrier->memory, barrier->bytes);
    barrier->memory = NULL;
}

/* The barrier between the `gates` first ranks, of which this is number `place`. */
static enum status start_barrier_schedule(struct start_barrier *barrier, const int *firsts,
                                          int place, int ranks, int rank, int lane)
{
    struct problem problem = {.collective = collective_find("barrier"), .ranks = ranks, .count = 1};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BARRIER, "dissemination"));
    struct builder *b = builder_create(&problem, rank);
    if (!b)
        return STATUS_ERROR;
    struct group group = builder_group(b);
    group.size = barrier->gates;
    group.rank = place;
    group.ranks = firsts;
    group.lane = lane;
    struct call call = {
        .problem = &problem,
        .group = &group,
        .source = builder_view(b, BUFFER_SOURCE),
        .destination = builder_view(b, BUFFER_DESTINATION),
        .choice = &choice,
        .channels = 1,
    };
    choice.algorithm->write(b, &call);
    return builder_finish(b, &barrier->schedule);
}

/* Who meets where, from what each rank said: has it its host's gate? */
static enum status start_barrier_arrange(struct start_barrier *barrier, struct control *control,
                                         const struct blobs *at_node_barrier, int lane)
{
    const struct member *members = control_members(control);
    int ranks = control_ranks(control), rank = control_rank(control);
    int count = 0, me = 0, place = 0;
    int *firsts = malloc((size_t)ranks * sizeof *firsts);
    int *node_barrier_of_node = malloc((size_t)ranks * sizeof *node_barrier_of_node);
    barrier->members = malloc((size_t)ranks * sizeof *barrier->members);
    barrier->node_barrier_of = malloc((size_t)ranks * sizeof *barrier->node_barrier_of);
    if (!firsts || !node_barrier_of_node || !barrier->members || !barrier->node_barrier_of) {
        free(firsts);
        free(node_barrier_of_node);
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    }
    bool alone = !barrier->memory, first = alone || members[rank].local_rank == 0;
    for (int r = 0; r < ranks; r++) {
        bool other_alone =
            r == rank ? alone
                      : at_node_barrier->size[r] != 1 || !*(const char *)at_node_barrier->data[r];
        if (r == rank) {
            place = barrier->gates;
            me = count;
        }
        if (r == rank || (!alone && !other_alone && members[r].node == members[rank].node))
            barrier->members[count++] = r;
        if (members[r].local_rank == 0)
            node_barrier_of_node[members[r].node] = barrier->gates;
        barrier->node_barrier_of[r] =
            other_alone ? barrier->gates : node_barrier_of_node[members[r].node];
        if (other_alone || members[r].local_rank == 0)
            firsts[barrier->gates++] = r;
    }
    free(node_barrier_of_node);
    node_barrier_open(&barrier->node_barrier,
                      barrier->memory ? (char *)barrier->memory + LINE : NULL, me, count);
    enum status status = STATUS_OK;
    if (barrier->gates > 1 && first)
        status = start_barrier_schedule(barrier, firsts, place, ranks, rank, lane);
    free(firsts);
    return status;
}

enum status start_barrier_open(struct start_barrier *barrier, struct control *control,
                               const struct memory_kind *kind, int lane)
{
    const struct member *members = control_members(control);
    int ranks = control_ranks(control), rank = control_rank(control), local = 0;
    for (int r = 0; r < ranks; r++)
        local += members[r].node == members[rank].node;
    *barrier =
        (struct start_barrier){.bytes = LINE + node_barrier_bytes(local), .region = {.fd = -1}};
    struct barrier_offer offer = {.fd = -1};
    bool leads = members[rank].local_rank == 0;
    if (leads && local > 1)
        node_barrier_make(barrier, &offer);
    struct blobs blobs;
    enum status status = control_allgather(control, &offer, sizeof offer, &blobs);
    if (status == STATUS_OK) {
        const struct barrier_offer *mine = barrier_offer_of(&blobs, first_of_host(members, rank));
        if (!leads && mine)
            node_barrier_join(barrier, mine);
        blobs_free(&blobs);
        char there = barrier->memory != NULL;
        status = control_allgather(control, &there, sizeof there, &blobs);
    }
    if (offer.fd >= 0)
        close(offer.fd);
    if (status == STATUS_OK) {
        status = start_barrier_arrange(barrier, control, &blobs, lane);
        blobs_free(&blobs);
    }
    if (status == STATUS_OK && barrier->schedule)
        status = kind->allocate(64, NULL, &barrier->region);
    return status;
}

enum status start_barrier_link(struct start_barrier *barrier, const struct executor_config *shared)
{
    if (!barrier->schedule)
        return STATUS_OK;
    char *bytes = barrier->region.base;
    struct executor_config config = *shared;
    config.schedule = barrier->schedule;
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = bytes + 8 * b;
    config.element = 1;
    config.reduce = reduce_kernel(datatype_find("uint8"), reduction_find("bor"));
    return executor_create(&config, &barrier->executor);
}

void start_barrier_close(struct start_barrier *barrier)
{
    executor_destroy(barrier->executor);
    schedule_free(barrier->schedule);
    if (barrier->region.kind)
        barrier->region.kind->release(&barrier->region);
    if (barrier->memory)
        munmap(barrier->memory, barrier->bytes);
    free(barrier->members);
    free(barrier->node_barrier_of);
    *barrier = (struct start_barrier){.region = {.fd = -1}};
}
