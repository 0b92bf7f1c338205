/*
 * pair.h - a world of two ranks that are processes: rank 1 is a child of rank 0, and can be killed.
 */
#ifndef CCTEST_TEST_PAIR_H
#define CCTEST_TEST_PAIR_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

#include "../unit/child.h" /* after world.h, for cmocka's fail() */

struct pair {
    struct world world; /* first: a rank's world is its pair. Its body is run by both */
    const void *argument;
    struct transfer transfer; /* for the bodies: one that may still be posted when they end */
    struct piece piece;
    struct peer_exchange exchange; /* over the line */
    int line;                      /* to the other process */
    pid_t other;                   /* at rank 0: rank 1; 0: it has been killed */
};

static inline struct pair *pair_of(const struct rank *me)
{
    return (struct pair *)(void *)me->world;
}

/* As peer_exchange.call: the other rank is the only peer. */
static inline enum status pair_exchange(void *argument, const int *peers, int count,
                                        const void *mine, size_t each, void *theirs)
{
    const struct pair *pair = argument;
    ssize_t size = (ssize_t)each;
    if (count == 0)
        return STATUS_OK;
    if (write(pair->line, mine, each) == size &&
        recv(pair->line, theirs, each, MSG_WAITALL) == size)
        return STATUS_OK;
    return fail_peer(REASON_PEER_LOST, peers[0], "rank %d exchanges nothing", peers[0]);
}

static inline bool pair_lost(void *argument, int peer)
{
    const struct pair *pair = argument;
    return peer == 1 && pair->other == 0;
}

static inline void pair_begin(struct rank *me, struct world *world, int number)
{
    int line = pair_of(me)->line, peer = !number;
    char blob[TRANSPORT_ADDRESS_MOST];
    pair_of(me)->exchange =
        (struct peer_exchange){.call = pair_exchange, .lost = pair_lost, .argument = pair_of(me)};
    world->config.exchange = &pair_of(me)->exchange;
    me->number = number;
    me->region.fd = -1;
    me->deadline = clock_seconds() + world_seconds();
    log_init(&me->log, number, 0);
    log_attach(&me->log);
    rank_open(me);
    require(me, !world->failed);
    require(me, write(line, world->blob[number], sizeof(blob)) == (ssize_t)sizeof(blob));
    require(me, recv(line, blob, sizeof(blob), MSG_WAITALL) == (ssize_t)sizeof(blob));
    memcpy(world->blob[peer], blob, sizeof(blob));
    world->blob_size[peer] = world->blob_size[number];
    rank_attach(me);
    if (!world->refused[0])
        require(me, rank_connect(me, &peer, 1, world->lanes) == STATUS_OK);
    rank_settle(me);
}

/* Meets the other rank. False: that one has failed. */
static inline bool pair_meet(struct rank *me)
{
    char word = 'm';
    int line = pair_of(me)->line;
    return write(line, &word, 1) == 1 && recv(line, &word, 1, MSG_WAITALL) == 1;
}

/* Called by rank 0: kills rank 1. */
static inline void pair_kill(struct pair *pair)
{
    if (pair->other > 0) {
        kill(pair->other, SIGKILL);
        waitpid(pair->other, NULL, 0);
    }
    pair->other = 0;
}

/* Rank 1 stays alive when its body is done, and does nothing more. */
static inline void pair_live(struct pair *pair, int number)
{
    struct world *world = &pair->world;
    struct rank *me = &world->rank[number];
    me->world = world;
    pair_begin(me, world, number);
    if (!world->failed && !world->refused[0])
        world->body(me);
    while (number == 1 && !world->failed)
        pause();
}

/* Runs the body in both. */
static inline void pair_do(struct pair *pair)
{
    int lines[2];
    struct world *world = &pair->world;
    struct rank *me = &world->rank[0];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines) != 0)
        abort();
    pthread_mutex_init(&world->lock, NULL);
    pair->other = fork();
    if (pair->other < 0)
        abort();
    int number = pair->other == 0;
    pair->line = lines[number];
    close(lines[!number]);
    if (number == 1) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pair_live(pair, 1);
        fprintf(stderr, "%s\n", world->message);
        _exit(1);
    }
    pair_live(pair, 0);
    pair_kill(pair);
    world->transport->close(me->endpoint);
    rank_release(me);
    log_attach(NULL);
    close(pair->line);
    pthread_mutex_destroy(&world->lock);
}

enum { PAIR_DONE, PAIR_FAILED, PAIR_REFUSED };

static inline int pair_work(void *pair)
{
    const struct world *world = &((struct pair *)pair)->world;
    pair_do(pair);
    fputs(world->failed ? world->message : world->refused, stderr);
    return world->failed ? PAIR_FAILED : world->refused[0] ? PAIR_REFUSED : PAIR_DONE;
}

/* The same, and asserts that nothing failed. False: the transport refuses this configuration. Where
 * a library keeps the memory that does not survive a fork, both ranks are children. */
static inline bool pair_run(struct pair *pair)
{
    struct world *world = &pair->world;
    if (world->memory->host_reads) {
        pair_do(pair);
        if (world->failed)
            fail_msg("%s", world->message);
        return !world->refused[0];
    }
    const struct child *child = child_run(pair_work, pair);
    if (child->status == PAIR_REFUSED << 8)
        snprintf(world->refused, sizeof(world->refused), "%.200s", child->err);
    else if (child->status != 0)
        fail_msg("status %d: %s", child->status, child->err);
    return child->status == 0;
}

#endif
