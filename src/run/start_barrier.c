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
#include "schedule/builder.h"

#define LINE 128 /* the gate's first byte in the memory: behind the cookie */

/* Where the first rank of a host has made memory for its gate. */
struct invitation {
    uint64_t cookie; /* stands at the memory's beginning */
    int32_t pid, fd; /* fd -1: it made none */
};

static const struct invitation *invitation_of(const struct blobs *blobs, int rank)
{
    return blobs->size[rank] == sizeof(struct invitation) ? blobs->data[rank] : NULL;
}

/* The first rank of `rank`'s host. */
static int first_of_host(const struct member *members, int rank)
{
    int first = 0;
    while (members[first].node != members[rank].node)
        first++;
    return first;
}

static void *gate_map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The first rank's part: memory with a cookie in front. No memory is no failure: everybody then
 * meets nobody. */
static void gate_make(struct start *start, struct invitation *invitation)
{
    *invitation = (struct invitation){.pid = getpid()};
    invitation->fd = memfd_create("cctest-gate", MFD_CLOEXEC);
    if (invitation->fd < 0)
        return;
    if (ftruncate(invitation->fd, (off_t)start->bytes) == 0 &&
        getrandom(&invitation->cookie, sizeof invitation->cookie, 0) == sizeof invitation->cookie)
        start->memory = gate_map(invitation->fd, start->bytes);
    if (start->memory) {
        memcpy(start->memory, &invitation->cookie, sizeof invitation->cookie);
        return;
    }
    close(invitation->fd);
    invitation->fd = -1;
}

/* The others' part. */
static void gate_join(struct start *start, const struct invitation *invitation)
{
    int fd = invitation->fd < 0
                 ? -1
                 : host_open_descriptor((pid_t)invitation->pid, invitation->fd, O_RDWR);
    struct stat file;
    if (fd < 0)
        return;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == (off_t)start->bytes)
        start->memory = gate_map(fd, start->bytes);
    close(fd);
    if (!start->memory ||
        memcmp(start->memory, &invitation->cookie, sizeof invitation->cookie) == 0)
        return;
    munmap(start->memory, start->bytes);
    start->memory = NULL;
}

/* The barrier between the `gates` first ranks, of which this is number `place`. */
static enum status start_schedule(struct start *start, const int *firsts, int place, int ranks,
                                  int rank, int lane)
{
    struct problem problem = {.collective = collective_find("barrier"), .ranks = ranks, .count = 1};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BARRIER, "dissemination"));
    struct builder *b = builder_create(&problem, rank);
    if (!b)
        return STATUS_ERROR;
    struct group group = builder_group(b);
    group.size = start->gates;
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
    return builder_finish(b, &start->schedule);
}

/* Who meets where, from what each rank said: has it its host's gate? */
static enum status start_arrange(struct start *start, struct control *control,
                                 const struct blobs *at_gate, int lane)
{
    const struct member *members = control_members(control);
    int ranks = control_ranks(control), rank = control_rank(control);
    int count = 0, me = 0, place = 0;
    int *firsts = malloc((size_t)ranks * sizeof *firsts);
    int *gate_of_node = malloc((size_t)ranks * sizeof *gate_of_node);
    start->members = malloc((size_t)ranks * sizeof *start->members);
    start->gate_of = malloc((size_t)ranks * sizeof *start->gate_of);
    if (!firsts || !gate_of_node || !start->members || !start->gate_of) {
        free(firsts);
        free(gate_of_node);
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    }
    bool alone = !start->memory, first = alone || members[rank].local_rank == 0;
    for (int r = 0; r < ranks; r++) {
        bool other_alone =
            r == rank ? alone : at_gate->size[r] != 1 || !*(const char *)at_gate->data[r];
        if (r == rank) {
            place = start->gates;
            me = count;
        }
        if (r == rank || (!alone && !other_alone && members[r].node == members[rank].node))
            start->members[count++] = r;
        if (members[r].local_rank == 0)
            gate_of_node[members[r].node] = start->gates;
        start->gate_of[r] = other_alone ? start->gates : gate_of_node[members[r].node];
        if (other_alone || members[r].local_rank == 0)
            firsts[start->gates++] = r;
    }
    free(gate_of_node);
    gate_open(&start->gate, start->memory ? (char *)start->memory + LINE : NULL, me, count);
    enum status status = STATUS_OK;
    if (start->gates > 1 && first)
        status = start_schedule(start, firsts, place, ranks, rank, lane);
    free(firsts);
    return status;
}

enum status start_open(struct start *start, struct control *control, const struct memory_kind *kind,
                       int lane)
{
    const struct member *members = control_members(control);
    int ranks = control_ranks(control), rank = control_rank(control), local = 0;
    for (int r = 0; r < ranks; r++)
        local += members[r].node == members[rank].node;
    *start = (struct start){.bytes = LINE + gate_bytes(local), .region = {.fd = -1}};
    struct invitation invitation = {.fd = -1};
    bool leads = members[rank].local_rank == 0;
    if (leads && local > 1)
        gate_make(start, &invitation);
    struct blobs blobs;
    enum status status = control_allgather(control, &invitation, sizeof invitation, &blobs);
    if (status == STATUS_OK) {
        const struct invitation *mine = invitation_of(&blobs, first_of_host(members, rank));
        if (!leads && mine)
            gate_join(start, mine);
        blobs_free(&blobs);
        char there = start->memory != NULL;
        status = control_allgather(control, &there, sizeof there, &blobs);
    }
    if (invitation.fd >= 0)
        close(invitation.fd);
    if (status == STATUS_OK) {
        status = start_arrange(start, control, &blobs, lane);
        blobs_free(&blobs);
    }
    if (status == STATUS_OK && start->schedule)
        status = kind->allocate(64, NULL, &start->region);
    return status;
}

enum status start_link(struct start *start, const struct plan_config *shared)
{
    if (!start->schedule)
        return STATUS_OK;
    char *bytes = start->region.base;
    struct plan_config config = *shared;
    config.schedule = start->schedule;
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = bytes + 8 * b;
    config.element = 1;
    config.reduce = reduce_kernel(datatype_find("uint8"), reduction_find("bor"));
    return plan_create(&config, &start->plan);
}

void start_close(struct start *start)
{
    plan_destroy(start->plan);
    schedule_free(start->schedule);
    if (start->region.kind)
        start->region.kind->release(&start->region);
    if (start->memory)
        munmap(start->memory, start->bytes);
    free(start->members);
    free(start->gate_of);
    *start = (struct start){.region = {.fd = -1}};
}
