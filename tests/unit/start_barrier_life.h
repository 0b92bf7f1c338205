/*
 * start_barrier_life.h - one rank of test_start_barrier.c, from joining to the last meeting: what
 * is special about it, what all ranks see, and what it requires.
 */
#ifndef CCTEST_TEST_START_BARRIER_LIFE_H
#define CCTEST_TEST_START_BARRIER_LIFE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* of cmocka's and ours, ours is meant */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "controlplane/control/control.h"
#include "base/net/net.h"
#include "run/run.h"

#define RANKS_MOST 8
#define MEETINGS   100

/* The trouble of a rank. */
enum trouble {
    NONE,
    APART,   /* it sees no other process: it cannot map the barrier of another */
    FOREIGN, /* it numbers processes on its own: its number is that of another process */
    POOR,    /* it can open nothing more: it cannot make a barrier */
    LATE,    /* it comes to the last meeting when all others have shown which rank they wait for */
};

struct scenario {
    int ranks;
    int host[RANKS_MOST];
    int lane; /* of the barrier between hosts; the links have one for all else */
    enum trouble trouble;
    int troubled; /* the rank that has it */
    /* Expected: the first of the ranks that meet at each rank's barrier. */
    int first[RANKS_MOST];
    int awaits
        [RANKS_MOST]; /* expected: the rank that each waits for while the late one is missing */
};

/* The state that all processes see. */
struct board {
    _Atomic long entered[RANKS_MOST]; /* the meeting that each rank has come to */
    _Atomic int awaits[RANKS_MOST];   /* 1 + the rank that its progress names in the last meeting */
    _Atomic size_t bytes[RANKS_MOST]; /* of the memory of its host's barrier */
    char failed[RANKS_MOST][256];     /* the failed condition; "": none */
};

struct life {
    const struct scenario *scenario;
    struct board *board;
    struct membership membership;
    struct job job;
    struct runner runner;
    struct barrier_offer offer; /* of this host's first rank */
    bool shares[RANKS_MOST];
    _Atomic bool watched;
};

static bool has_trouble(const struct scenario *scenario, int rank, enum trouble trouble)
{
    return scenario->trouble == trouble && scenario->troubled == rank;
}

static char nowhere[] = "/tmp/cctest-start-XXXXXX"; /* an empty directory */

#define require(life, condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            snprintf((life)->board->failed[(life)->membership.rank],                               \
                     sizeof(life)->board->failed[0], "line %d: not so: %s %s", __LINE__,           \
                     #condition, log_current()->failure.text);                                     \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static bool offer_decode(void *argument, int rank, struct reader *reader)
{
    struct life *life = argument;
    struct barrier_offer offer;
    barrier_offer_code(codec_from(reader), &offer);
    if (rank == life->runner.node.ranks[0])
        life->offer = offer;
    return true;
}

static bool shares_decode(void *argument, int rank, struct reader *reader)
{
    struct life *life = argument;
    life->shares[rank] = read_u32(reader) == 1;
    return true;
}

/* Opens and joins the barrier, in the way in which this rank is placed. */
static bool life_join(struct life *life)
{
    const struct scenario *scenario = life->scenario;
    struct runner *runner = &life->runner;
    struct bytes share = {0};
    struct rlimit limit, full;
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), next = dup(root);
    require(life, root >= 0 && next >= 0 && close(next) == 0);
    require(life, getrlimit(RLIMIT_NOFILE, &limit) == 0);
    full = limit;
    full.rlim_cur = (rlim_t)next; /* what would be opened next */
    if (has_trouble(scenario, runner->rank, APART))
        require(life, chroot(nowhere) == 0);
    if (has_trouble(scenario, runner->rank, POOR))
        require(life, setrlimit(RLIMIT_NOFILE, &full) == 0);
    start_barrier_open(&runner->start_barrier, &runner->node);
    barrier_offer_code(codec_to(&share), &runner->start_barrier.offer);
    require(life, exchange_decode(runner->control, EXCHANGE_ALLGATHER, &share, "offer",
                                  offer_decode, life) == STATUS_OK);
    start_barrier_join(&runner->start_barrier, &runner->node, &life->offer);
    require(life, setrlimit(RLIMIT_NOFILE, &limit) == 0);
    require(life, fchdir(root) == 0 && chroot(".") == 0 && close(root) == 0);
    return true;
}

static bool life_open(struct life *life)
{
    struct runner *runner = &life->runner;
    struct bytes share = {0};
    node_ranks_find(control_members(runner->control), runner->ranks, runner->rank, &runner->node);
    if (!life_join(life))
        return false;
    bytes_put_u32(&share, runner->start_barrier.shared != NULL);
    require(life, exchange_decode(runner->control, EXCHANGE_ALLGATHER, &share, "share",
                                  shares_decode, life) == STATUS_OK);
    const struct barrier_ranks all = {.ranks = runner->ranks,
                                      .rank = runner->rank,
                                      .members = control_members(runner->control),
                                      .shares = life->shares};
    require(life,
            start_barrier_arrange(&runner->start_barrier, &all, life->scenario->lane) == STATUS_OK);
    return true;
}

/* Are the expected ranks at this rank's barrier, in their order? */
static bool life_look(struct life *life)
{
    const struct scenario *scenario = life->scenario;
    const struct start_barrier *barrier = &life->runner.start_barrier;
    int rank = life->runner.rank, count = 0, barriers = 0;
    life->board->bytes[rank] = barrier->bytes;
    for (int r = 0; r < scenario->ranks; r++) {
        barriers += scenario->first[r] == r;
        if (scenario->first[r] != scenario->first[rank])
            continue;
        require(life, barrier->members[count] == r);
        if (r == rank)
            require(life, barrier->node_barrier.rank == count);
        count++;
    }
    require(life, barrier->node_barrier.ranks == count);
    require(life, barrier->node_barriers == barriers);
    require(life, !barrier->schedule == (barriers == 1 || scenario->first[rank] != rank));
    require(life, !barrier->region.kind == !barrier->schedule); /* none where it is not needed */
    return true;
}

static bool link_offers_decode(void *links, int rank, struct reader *reader)
{
    return links_decode_offers(links, rank, reader);
}

static bool life_link(struct life *life)
{
    struct runner *runner = &life->runner;
    const struct schedule *schedule = runner->start_barrier.schedule;
    const struct transport_config config = {.rank = runner->rank,
                                            .ranks = runner->ranks,
                                            .local_ranks = runner->ranks,
                                            .has_core = true,
                                            .regions = &runner->start_barrier.region,
                                            .region_count = 1,
                                            .secret = life->membership.secret,
                                            .timeout = 10};
    unsigned char wishes[RANKS_MOST] = {0}, here[RANKS_MOST], back[RANKS_MOST];
    int peers[RANKS_MOST];
    for (size_t i = 0; schedule && i < schedule->count; i++)
        if (operation_travels(schedule->operations[i].kind))
            wishes[schedule->operations[i].peer] =
                life->scenario->lane ? LINKS_ONE_MORE : LINKS_WISHED;
    struct bytes share = {0};
    struct transport_choice allowed[TRANSPORTS_MOST + 1] = {{.transport = NULL}};
    for (int i = 0; transports[i]; i++)
        allowed[i].transport = transports[i];
    require(life, links_open(allowed, &config, &runner->links) == STATUS_OK);
    links_wish(runner->links, wishes, 1);
    links_encode_offers(runner->links, &share);
    require(life, exchange_decode(runner->control, EXCHANGE_ALLGATHER, &share, "address",
                                  link_offers_decode, runner->links) == STATUS_OK);
    links_attach(runner->links);
    int count = links_encode_reach(runner->links, peers, here);
    require(life, exchange_with_peers(runner->control, peers, count, here, 1, back, "connection") ==
                      STATUS_OK);
    links_decode_reach(runner->links, peers, count, back);
    require(life, links_choose(runner->links, control_members(runner->control)) == STATUS_OK);
    require(life, links_connect(runner->links, control_members(runner->control)) == STATUS_OK);
    require(life, memory_open(life->job.memory, NULL, &runner->memory) == STATUS_OK);
    struct executor_config shared = runner_executor_config(runner);
    require(life, start_barrier_link(&runner->start_barrier, &shared) == STATUS_OK);
    return true;
}

/* Reads the progress, as the control plane's helper thread does. */
static void *life_watch(void *argument)
{
    const struct life *life = argument;
    const struct progress *progress = life->runner.progress;
    int rank = life->runner.rank;
    while (!life->watched) {
        usleep(500);
        if (life->board->entered[rank] == MEETINGS && progress->operation >= 0)
            life->board->awaits[rank] = 1 + progress->peer;
    }
    return NULL;
}

/* The late one: waits until the others have named the rank that they wait for. */
static bool life_dawdle(struct life *life)
{
    const struct scenario *scenario = life->scenario;
    for (int r = 0, looks = 0; r < scenario->ranks; r++) {
        while (r != scenario->troubled && life->board->awaits[r] != 1 + scenario->awaits[r]) {
            usleep(1000);
            require(life, ++looks < 5000);
        }
    }
    return true;
}

/* No rank goes on before all have come. */
static bool life_meet(struct life *life)
{
    struct runner *runner = &life->runner;
    uint64_t random = (uint64_t)runner->rank, released;
    for (long meeting = 1; meeting <= MEETINGS; meeting++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        if ((random >> 40) % 8 == 0)
            usleep((unsigned)(random >> 50) % 300);
        if (meeting == MEETINGS && has_trouble(life->scenario, runner->rank, LATE) &&
            !life_dawdle(life))
            return false;
        life->board->entered[runner->rank] = meeting;
        require(life, runner_synchronize(runner, &released) == STATUS_OK);
        for (int r = 0; r < runner->ranks; r++)
            require(life,
                    life->board->entered[r] == meeting || life->board->entered[r] == meeting + 1);
    }
    require(life, runner->progress->operation == -1);
    return true;
}

static bool life_meet_watched(struct life *life)
{
    pthread_t thread;
    require(life, pthread_create(&thread, NULL, life_watch, life) == 0);
    bool well = life_meet(life);
    life->watched = true;
    pthread_join(thread, NULL);
    return well;
}

/* Each meeting's bytes are counted, and counted apart. */
static bool life_count(struct life *life)
{
    struct runner *runner = &life->runner;
    const struct schedule *schedule = runner->start_barrier.schedule;
    uint64_t apart = 0, all = 0, expected = 0;
    struct endpoint *endpoint;
    for (size_t i = 0; schedule && i < schedule->count; i++)
        expected += operation_travels(schedule->operations[i].kind) &&
                    schedule->operations[i].kind != OPERATION_SEND;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++) {
        for (int path = 0; path < PATHS; path++) {
            apart += runner->start_traffic[i].received[path];
            all += endpoint->traffic.received[path];
        }
    }
    require(life, apart == expected * MEETINGS && all == apart);
    return true;
}

/* In a process of its own. */
static bool life_run(struct life *life)
{
    struct runner *runner = &life->runner;
    const struct control_config config = {.timeout = 10, .options = "same"};
    char name[64];
    snprintf(name, sizeof name, "host-%d", life->scenario->host[life->membership.rank]);
    require(life, unshare(CLONE_NEWUTS) == 0 && sethostname(name, strlen(name)) == 0);
    require(life, control_join(&life->membership, &config, &runner->control) == STATUS_OK);
    runner->job = &life->job;
    runner->progress = control_progress(runner->control);
    runner->rank = control_rank(runner->control);
    runner->ranks = control_ranks(runner->control);
    runner->spins = 10;
    bool well = life_open(life) && life_look(life) && life_link(life) && life_meet_watched(life) &&
                life_count(life);
    if (!well) {
        control_fail(runner->control, fail(STATUS_ERROR, "the test has failed"));
        return false;
    }
    require(life, control_finish(runner->control, STATUS_OK) == STATUS_OK);
    links_close(runner->links);
    start_barrier_close(&runner->start_barrier);
    node_ranks_free(&runner->node);
    memory_close(&runner->memory);
    control_close(runner->control);
    return true;
}

#endif
