/*
 * jobs.h - for the tests of the control plane: a job whose ranks are threads of this process or
 * children of it, and the outcome of each.
 */
#ifndef CCTEST_TEST_JOBS_H
#define CCTEST_TEST_JOBS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* of cmocka's and ours, ours is meant */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "controlplane/control/control.h"
#include "controlplane/control/internal.h"

/* In shared memory, for ranks that are processes. */
struct job_of_ranks {
    int ranks, fan_out, victim;
    double timeout;
    enum status (*life)(struct control *control, struct job_of_ranks *job);
    struct listeners listeners;
    struct address_list home;
    _Atomic int running; /* ranks that have been through a first exchange */
    _Atomic int pace;    /* of what follows */
    _Atomic int through; /* exchanges of rank 0 */
    struct outcome {
        pthread_t thread;
        pid_t pid;
        struct log log;
        enum status status;
        int child_links_most, sockets_most;
        uint64_t rejected;
        int errors, bottleneck;
        char message[1024];
    } outcome[];
};

struct seat {
    struct job_of_ranks *job;
    int rank;
};

static inline struct job_of_ranks *job_create(int ranks, int fan_out, double timeout)
{
    size_t size = sizeof(struct job_of_ranks) + (size_t)ranks * sizeof(struct outcome);
    struct job_of_ranks *job =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(job != MAP_FAILED);
    job->ranks = ranks;
    job->fan_out = fan_out;
    job->timeout = timeout;
    job->victim = -1;
    assert_int_equal(STATUS_OK, addresses_listen(NULL, true, &job->listeners, &job->home));
    return job;
}

static inline void job_free(struct job_of_ranks *job)
{
    munmap(job, sizeof *job + (size_t)job->ranks * sizeof(struct outcome));
}

static inline struct membership membership_of(const struct job_of_ranks *job, int rank)
{
    struct membership membership = {.rank = rank,
                                    .ranks = job->ranks,
                                    .root_home = job->home,
                                    .root_host = "localhost",
                                    .secret = "secret",
                                    .has_secret = true,
                                    .bootstrap = "test"};
    if (rank == 0)
        membership.listeners = job->listeners;
    return membership;
}

static inline void rank_live(struct job_of_ranks *job, int rank)
{
    struct outcome *outcome = &job->outcome[rank];
    struct membership membership = membership_of(job, rank);
    const struct control_config config = {
        .timeout = job->timeout, .options = "same", .fan_out = job->fan_out};
    struct control *control;
    log_init(&outcome->log, rank, 0);
    log_attach(&outcome->log);
    outcome->bottleneck = -1;
    outcome->status = control_join(&membership, &config, &control);
    memcpy(outcome->message, outcome->log.failure.text, sizeof outcome->message);
    if (outcome->status == STATUS_OK)
        outcome->status = job->life(control, job);
    if (!control)
        return;
    const struct job_error *errors;
    outcome->errors = control_errors(control, &errors);
    if (outcome->errors > 0) {
        outcome->bottleneck = errors[0].rank;
        memcpy(outcome->message, errors[0].message, sizeof outcome->message);
    }
    outcome->child_links_most = atomic_load(&control->helper.child_links_most);
    outcome->sockets_most = atomic_load(&control->helper.sockets_most);
    outcome->rejected = control_rejected(control);
    control_close(control);
}

static inline void *rank_run(void *argument)
{
    struct seat seat = *(struct seat *)argument;
    free(argument);
    rank_live(seat.job, seat.rank);
    return NULL;
}

/* Ranks first .. last - 1 as threads; false: the system allows no more. */
static inline bool threads_start(struct job_of_ranks *job, int first, int last)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    bool all = true;
    for (int rank = first; rank < last && all; rank++) {
        struct seat *seat = malloc(sizeof *seat);
        *seat = (struct seat){job, rank};
        all = pthread_create(&job->outcome[rank].thread, &small, rank_run, seat) == 0;
    }
    pthread_attr_destroy(&small);
    return all;
}

static inline void threads_expect(struct job_of_ranks *job, int first, int last, enum status status)
{
    for (int rank = first; rank < last; rank++)
        pthread_join(job->outcome[rank].thread, NULL);
    for (int rank = first; rank < last; rank++)
        if (job->outcome[rank].status != status)
            print_error("rank %d of %d: %s\n", rank, job->ranks, job->outcome[rank].message);
    for (int rank = first; rank < last; rank++)
        assert_int_equal(status, job->outcome[rank].status);
}

/* A whole job as threads. */
static inline void job_expect(struct job_of_ranks *job, enum status status)
{
    assert_true(threads_start(job, 0, job->ranks));
    threads_expect(job, 0, job->ranks, status);
}

static inline enum status data_exchange(struct control *control, enum exchange kind,
                                        const void *data, size_t size, struct blobs *blobs)
{
    struct bytes share = {0};
    bytes_put(&share, data, size);
    return control_exchange(control, kind, &share, "test", blobs);
}

/* Goes on when all ranks are here. */
static inline enum status all_meet(struct control *control)
{
    struct blobs none;
    enum status status = data_exchange(control, EXCHANGE_ALLGATHER, NULL, 0, &none);
    blobs_free(&none);
    return status;
}

/* The victim fails, while the others wait for it. */
static inline enum status failing_life(struct control *control, struct job_of_ranks *job)
{
    if (control_rank(control) == job->victim)
        return control_fail(control, fail(STATUS_UNAVAILABLE, "there is no such device here"));
    return all_meet(control);
}

/* Do these two exchange parcels in this round? In some rounds few do, or none. */
static inline bool ranks_are_peers(int one, int other, int ranks, int round)
{
    int apart = (one - other + ranks) % ranks;
    int least = apart < ranks - apart ? apart : ranks - apart;
    return (least == 1 || least == 1 + round % 5) && (round % 3 || (one + other) % 2) &&
           round % 7 != 6;
}

static inline void parcel_write(char *parcel, size_t each, int from, int to, int round)
{
    for (size_t i = 0; i < each; i++)
        parcel[i] = (char)(17 * from + 5 * to + round + (int)i);
}

/* An exchange with some peers, in any order. Each peer's parcel comes, and is the one for this
 * rank. */
static inline enum status exchange_parcels(struct control *control, int round)
{
    enum { EACH_MOST = 50, PEERS_MOST = 8 };
    int rank = control_rank(control), ranks = control_ranks(control), peers[PEERS_MOST], count = 0;
    char mine[PEERS_MOST * EACH_MOST], theirs[PEERS_MOST * EACH_MOST], expected[EACH_MOST];
    size_t each = (size_t)(round * 11 % EACH_MOST);
    for (int i = 0; i < ranks; i++) {
        int peer = (rank + i * (ranks > 3 ? ranks - 1 : 1)) % ranks; /* not in ascending order */
        if (!ranks_are_peers(rank, peer, ranks, round))
            continue;
        parcel_write(mine + (size_t)count * each, each, rank, peer, round);
        peers[count++] = peer;
    }
    enum status status = exchange_with_peers(control, peers, count, mine, each, theirs, "test");
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        parcel_write(expected, each, peers[i], rank, round);
        if (memcmp(theirs + (size_t)i * each, expected, each) != 0)
            status = STATUS_WRONG_DATA;
    }
    return status;
}

/* The word of a rank at a place: each place has another greatest rank. */
static inline uint64_t word_write(int rank, int place, int ranks, int round)
{
    return (uint64_t)((rank + place * 7 + round) % ranks) << 40 | (uint64_t)rank;
}

/* Rank 0 gets the greatest of all ranks' words, the others keep theirs. */
static inline enum status exchange_maxima(struct control *control, int round)
{
    enum { WORDS = 40 };
    int rank = control_rank(control), ranks = control_ranks(control);
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = word_write(rank, i, ranks, round);
    enum status status = control_maximum(control, words, WORDS, "test");
    for (int i = 0; i < WORDS && status == STATUS_OK; i++) {
        uint64_t expected = word_write(rank, i, ranks, round);
        for (int r = 0; rank == 0 && r < ranks; r++) {
            uint64_t other = word_write(r, i, ranks, round);
            expected = other > expected ? other : expected;
        }
        if (words[i] != expected)
            status = STATUS_WRONG_DATA;
    }
    return status;
}

/* One of each exchange, with shares of different sizes. */
static inline enum status exchange_all(struct control *control, int round)
{
    int rank = control_rank(control), ranks = control_ranks(control);
    struct blobs blobs;
    char data[64];
    memset(data, rank + round, sizeof data);
    enum status status =
        data_exchange(control, EXCHANGE_ALLGATHER, data, (size_t)(rank * round % 64), &blobs);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < ranks; i++)
        if ((int)blobs.size[i] != i * round % 64 ||
            (blobs.size[i] > 0 && *(char *)blobs.data[i] != (char)(i + round)))
            status = STATUS_WRONG_DATA;
    blobs_free(&blobs);
    if (status == STATUS_OK)
        status = data_exchange(control, EXCHANGE_GATHER, &rank, sizeof rank, &blobs);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < blobs.count; i++)
        if (blobs.size[i] != sizeof i || memcmp(blobs.data[i], &i, sizeof i) != 0)
            status = STATUS_WRONG_DATA;
    if (blobs.count != (rank == 0 ? ranks : 0))
        status = STATUS_WRONG_DATA;
    blobs_free(&blobs);
    if (status == STATUS_OK)
        status = exchange_parcels(control, round);
    return status == STATUS_OK ? exchange_maxima(control, round) : status;
}

static inline enum status exchange_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    enum status status = STATUS_OK;
    for (int round = 0; round < 5 && status == STATUS_OK; round++)
        status = exchange_all(control, round);
    return control_finish(control, status);
}

#endif
