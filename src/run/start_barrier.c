/*
 * start_barrier.c - which ranks meet at which node barrier, and the barrier between hosts.
 */
#include "run/run.h"

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * The start barrier of one host: flags in shared memory.
 */
/* Two lines each: cores fetch lines in pairs. */
struct node_barrier_flag {
    _Atomic uint32_t meeting; /* the last one in which it was raised */
} __attribute__((aligned(128)));

static int node_barrier_rounds(int ranks)
{
    int rounds = 0;
    while (rounds < 31 && 1 << rounds < ranks)
        rounds++;
    return rounds;
}

size_t node_barrier_bytes(int ranks)
{
    return ((size_t)node_barrier_rounds(ranks) * (size_t)ranks + 1) *
           sizeof(struct node_barrier_flag);
}

void node_barrier_open(struct node_barrier *node_barrier, void *memory, int rank, int ranks)
{
    *node_barrier = (struct node_barrier){
        .flags = memory, .rank = rank, .ranks = ranks, .rounds = node_barrier_rounds(ranks)};
    node_barrier->round = node_barrier->rounds;
}

static struct node_barrier_flag *node_barrier_flag(const struct node_barrier *node_barrier,
                                                   int rank)
{
    return &node_barrier
                ->flags[(size_t)node_barrier->round * (size_t)node_barrier->ranks + (size_t)rank];
}

/* Raises the flag of this round at the rank that waits for it. */
static void node_barrier_raise(const struct node_barrier *node_barrier)
{
    int other = (int)(((int64_t)node_barrier->rank + ((int64_t)1 << node_barrier->round)) %
                      node_barrier->ranks);
    atomic_store_explicit(&node_barrier_flag(node_barrier, other)->meeting, node_barrier->meeting,
                          memory_order_release);
}

void node_barrier_arrive(struct node_barrier *node_barrier)
{
    node_barrier->meeting++;
    node_barrier->round = 0;
    if (node_barrier->rounds > 0)
        node_barrier_raise(node_barrier);
}

/* By how many meetings this rank's flag is ahead of it: 0 or 1, since a rank can raise it for the
 * next meeting, and for no later one, before this rank has looked; UINT32_MAX: it is not
 * raised yet; others: garbage. */
static uint32_t node_barrier_ahead(const struct node_barrier *node_barrier)
{
    return atomic_load_explicit(&node_barrier_flag(node_barrier, node_barrier->rank)->meeting,
                                memory_order_acquire) -
           node_barrier->meeting;
}

bool node_barrier_is_sound(const struct node_barrier *node_barrier)
{
    return node_barrier->round == node_barrier->rounds || node_barrier_ahead(node_barrier) + 1 <= 2;
}

bool node_barrier_passed(struct node_barrier *node_barrier)
{
    while (node_barrier->round < node_barrier->rounds) {
        if (node_barrier_ahead(node_barrier) > 1)
            return false;
        if (++node_barrier->round < node_barrier->rounds)
            node_barrier_raise(node_barrier);
    }
    return true;
}

int node_barrier_awaited(const struct node_barrier *node_barrier)
{
    int64_t distance = ((int64_t)1 << node_barrier->round) % node_barrier->ranks;
    return (int)((node_barrier->rank - distance + node_barrier->ranks) % node_barrier->ranks);
}

/*
 * The barrier between hosts, and the node barrier of each rank.
 */
#define LINE 128 /* the barrier's first byte in the memory: behind the cookie */

void barrier_offer_code(struct codec codec, struct barrier_offer *offer)
{
    code_u64(codec, &offer->cookie);
    code_int(codec, &offer->pid, 0, INT32_MAX);
    code_int(codec, &offer->fd, -1, INT32_MAX);
}

static void *node_barrier_map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void offer_close(struct barrier_offer *offer)
{
    if (offer->fd >= 0)
        close(offer->fd);
    offer->fd = -1;
}

/* Makes memory with a cookie in front. */
static void node_barrier_make(struct start_barrier *barrier)
{
    struct barrier_offer *offer = &barrier->offer;
    offer->pid = getpid();
    offer->fd = host_create_memory("cctest-barrier");
    if (offer->fd < 0)
        return;
    if (ftruncate(offer->fd, (off_t)barrier->bytes) == 0 &&
        getrandom(&offer->cookie, sizeof offer->cookie, 0) == sizeof offer->cookie)
        barrier->shared = node_barrier_map(offer->fd, barrier->bytes);
    if (barrier->shared)
        memcpy(barrier->shared, &offer->cookie, sizeof offer->cookie);
    else
        offer_close(offer);
}

void start_barrier_open(struct start_barrier *barrier, const struct node_ranks *node)
{
    *barrier = (struct start_barrier){
        .bytes = LINE + node_barrier_bytes(node->count), .offer = {.fd = -1}, .region = {.fd = -1}};
    if (node->place == 0 && node->count > 1)
        node_barrier_make(barrier);
}

/* The first rank's memory may be any file by now: it has to have the size and the cookie. */
void start_barrier_join(struct start_barrier *barrier, const struct node_ranks *node,
                        const struct barrier_offer *offer)
{
    if (node->place == 0 || offer->fd < 0)
        return;
    int fd = host_open_memory((pid_t)offer->pid, offer->fd, O_RDWR, barrier->bytes);
    if (fd < 0)
        return;
    barrier->shared = node_barrier_map(fd, barrier->bytes);
    close(fd);
    if (!barrier->shared || memcmp(barrier->shared, &offer->cookie, sizeof offer->cookie) == 0)
        return;
    munmap(barrier->shared, barrier->bytes);
    barrier->shared = NULL;
}

/* The barrier between the first ranks, of which this is one. */
static enum status start_barrier_schedule(struct start_barrier *barrier,
                                          const struct barrier_ranks *all, const int *firsts,
                                          int lane)
{
    struct problem problem = {
        .collective = collective_find("barrier"), .ranks = all->ranks, .count = 1};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BARRIER, "dissemination"));
    struct builder *b = builder_create(&problem, all->rank);
    if (!b)
        return STATUS_ERROR;
    struct group group = builder_group(b);
    group.size = barrier->node_barriers;
    group.rank = barrier->node_barrier_of[all->rank];
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
    return builder_finish(b, true, &barrier->schedule);
}

/* Numbers the node barriers, lists their first ranks in `firsts`, and finds the members of this
 * rank's. `number`: by node, of its barrier. */
static void start_barrier_count(struct start_barrier *barrier, const struct barrier_ranks *all,
                                int *firsts, int *number)
{
    const struct member *me = &all->members[all->rank];
    int count = 0, place = 0;
    for (int r = 0; r < all->ranks; r++) {
        const struct member *other = &all->members[r];
        bool first = !all->shares[r] || other->local_rank == 0;
        if (r == all->rank)
            place = count;
        if (r == all->rank || (all->shares[all->rank] && all->shares[r] && other->node == me->node))
            barrier->members[count++] = r;
        if (other->local_rank == 0)
            number[other->node] = barrier->node_barriers;
        barrier->node_barrier_of[r] = first ? barrier->node_barriers : number[other->node];
        if (first)
            firsts[barrier->node_barriers++] = r;
    }
    node_barrier_open(&barrier->node_barrier,
                      barrier->shared ? (char *)barrier->shared + LINE : NULL, place, count);
}

static enum status start_barrier_allocate(struct start_barrier *barrier)
{
    const struct memory_kind *host = memory_find("host");
    TRY(memory_open(host, NULL, &barrier->memory));
    return host->allocate(64, NULL, &barrier->region);
}

enum status start_barrier_arrange(struct start_barrier *barrier, const struct barrier_ranks *all,
                                  int lane)
{
    size_t ranks = (size_t)all->ranks;
    int *firsts = new_array(ranks, sizeof *firsts);
    int *number = new_array(ranks, sizeof *number);
    barrier->members = new_array(ranks, sizeof *barrier->members);
    barrier->node_barrier_of = new_array(ranks, sizeof *barrier->node_barrier_of);
    enum status status = STATUS_OK;
    offer_close(&barrier->offer); /* the host's ranks have mapped it */
    start_barrier_count(barrier, all, firsts, number);
    if (barrier->node_barriers > 1 && firsts[barrier->node_barrier_of[all->rank]] == all->rank)
        status = start_barrier_allocate(barrier);
    if (status == STATUS_OK && barrier->region.kind)
        status = start_barrier_schedule(barrier, all, firsts, lane);
    free(firsts);
    free(number);
    return status;
}

enum status start_barrier_link(struct start_barrier *barrier, const struct executor_config *shared)
{
    if (!barrier->schedule)
        return STATUS_OK;
    char *bytes = barrier->region.base;
    struct executor_config config = *shared;
    config.schedule = barrier->schedule;
    config.memory = barrier->memory;
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = bytes + 8 * b;
    config.element = 1;
    config.reduce = reduce_kernel(datatype_find("uint8"), reduction_find("bor"));
    return executor_create(&config, &barrier->execution);
}

void start_barrier_close(struct start_barrier *barrier)
{
    execution_destroy(barrier->execution);
    schedule_free(barrier->schedule);
    if (barrier->region.kind)
        barrier->region.kind->release(&barrier->region);
    memory_close(&barrier->memory);
    if (barrier->shared)
        munmap(barrier->shared, barrier->bytes);
    if (barrier->bytes > 0) /* it was opened */
        offer_close(&barrier->offer);
    free(barrier->members);
    free(barrier->node_barrier_of);
    *barrier = (struct start_barrier){0};
}
