/*
 * test_exchange_peers.c - exchanges between peers over the control plane, with ranks as threads or
 * processes, and with a member that sends invalid parcels.
 * tier: check; load: wait
 */
#include "tests/unit/pending.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controlplane/control/control.h"
#include "controlplane/control/internal.h"

#define RANKS 4

static enum status rounds_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    enum status status = STATUS_OK;
    for (int round = 0; round < 15 && status == STATUS_OK; round++)
        status = exchange_parcels(control, round);
    return status == STATUS_OK ? control_finish(control, status) : status;
}

/* Every parcel arrives at its peer, in trees of all shapes; some ranks have none, and some rounds
 * none at all. */
static void test_trees(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 5, 7, 13};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int fan_out = 1; fan_out <= 4; fan_out++) {
            struct job_of_ranks *job = job_create(counts[i], fan_out, 10);
            job->life = rounds_life;
            job_expect(job, STATUS_OK);
            job_free(job);
        }
}

/* Exchanges one byte with each. */
static enum status exchange_bytes(struct control *control, const int *peers, int count)
{
    const char mine[RANKS] = "abc";
    char theirs[RANKS];
    return exchange_with_peers(control, peers, count, mine, 1, theirs, "test");
}

static enum status one_end(struct control *control, enum status status)
{
    return status == STATUS_OK ? control_finish(control, status) : control_fail(control, status);
}

/* Rank 2 sends to rank 1, which does not send to rank 2 (but to rank 0, which sends to it). */
static enum status one_sided_life(struct control *control, struct job_of_ranks *job)
{
    static const int to_root = 0, to_one = 1;
    int rank = control_rank(control);
    bool sends = rank < 2 || rank == job->victim;
    return one_end(control, exchange_bytes(control, rank == 1 ? &to_root : &to_one, sends));
}

static void test_not_mutual(void **state)
{
    (void)state;
    for (int victim = 2; victim < RANKS; victim++) {
        char words[100];
        struct job_of_ranks *job = job_create(RANKS, 1, 5);
        job->victim = victim;
        job->life = one_sided_life;
        job_expect(job, STATUS_ERROR);
        snprintf(words, sizeof words, "rank 1 sent no test data to rank %d, which sent it some",
                 victim);
        assert_non_null(strstr(job->outcome[victim].log.failure.text, words));
        assert_int_equal(1, job->outcome[victim].log.failure.peer);
        snprintf(words, sizeof words, "rank %d sent test data to rank 1, which sent it none",
                 victim);
        assert_non_null(strstr(job->outcome[1].log.failure.text, words));
        job_free(job);
    }
}

/* The ranks in pairs, with parcels of different sizes, or of too many bytes. */
static enum status sized_life(struct control *control, struct job_of_ranks *job)
{
    int rank = control_rank(control), peer = rank ^ 1;
    size_t each = job->victim == 0 ? 8 + (size_t)(rank / 2) : FRAME_MOST;
    char *bytes = calloc(2, each);
    assert_non_null(bytes);
    enum status status = exchange_with_peers(control, &peer, 1, bytes, each, bytes + each, "test");
    free(bytes);
    return one_end(control, status);
}

static void test_sizes(void **state)
{
    (void)state;
    static const char *const words[] = {
        "it exchanges 9 bytes with each of its peers, and rank 0 exchanges 8",
        "bytes of test data for each of 1 peers are more than the control plane carries at once"};
    for (int large = 0; large < 2; large++) {
        struct job_of_ranks *job = job_create(RANKS, 0, 5);
        job->victim = large;
        job->life = sized_life;
        job_expect(job, STATUS_ERROR);
        assert_non_null(strstr(job->outcome[0].message, words[large]));
        job_free(job);
    }
}

/* ---- a member made by hand ---- */

/* Ranks 0 and 1 exchange with each other, and rank 3 with rank 1 or none. */
static enum status ring_of_two_life(struct control *control, struct job_of_ranks *job)
{
    static const int peers[3][2] = {{1}, {0, 3}, {0}};
    int rank = control_rank(control), count = rank == 1 && job->victim == 3 ? 2 : rank < 2;
    return one_end(control, exchange_bytes(control, peers[rank], count));
}

static struct wire join_by_hand(const struct job_of_ranks *job, int rank)
{
    struct membership membership = membership_of(job, rank);
    struct join_request request;
    struct frame frame;
    join_request_fill(&request, &membership, "same");
    struct wire wire = pending_call(job, &request, &job->home.list[0]);
    pending_await(&wire, FRAME_WELCOME, &frame);
    return wire;
}

static void share_put(struct wire *wire, int rank, const void *data, size_t size)
{
    struct bytes bytes = {0};
    const struct share share = {EXCHANGE_PEERS, 0, data, size};
    share_encode(&share, &bytes);
    assert_true(wire_put(wire, rank, FRAME_SHARE, bytes.data, bytes.size));
    assert_true(wire_flush(wire) && !wire_pending(wire));
    bytes_free(&bytes);
}

/* Nothing comes to a rank but what is for it: one byte, whose sender is rank 1. */
static void test_nothing_else_comes(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(RANKS, 0, 5);
    struct frame frame;
    struct share share;
    struct blobs blobs;
    struct parcels parcels;
    struct parcel parcel;
    int to;
    job->victim = 3;
    job->life = ring_of_two_life;
    assert_true(threads_start(job, 0, RANKS - 1));
    struct wire wire = join_by_hand(job, 3);
    share_put(&wire, 3, "\1\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0x", 17);
    do
        pending_hear(&wire, &frame);
    while (frame.type == FRAME_HEARTBEAT);
    assert_int_equal(FRAME_DELIVERY, frame.type);
    assert_true(delivery_decode(frame.data, frame.size, RANKS, &to, &share));
    assert_int_equal(3, to);
    assert_int_equal(EXCHANGE_PEERS, share.kind);
    assert_true(blobs_decode(share.data, share.size, 1, &blobs));
    assert_true(parcels_decode(blobs.data[0], blobs.size[0], 3, RANKS, &parcels));
    assert_int_equal(1, parcels.count);
    assert_true(parcels_take(&parcels, &parcel));
    assert_int_equal('b', *parcel.data);
    assert_int_equal(1, parcel.peer);
    assert_false(parcels_take(&parcels, &parcel));
    blobs_free(&blobs);
    assert_true(wire_put(&wire, 3, FRAME_GOODBYE, "", 0) && wire_flush(&wire));
    threads_expect(job, 0, RANKS - 1, STATUS_TIMEOUT);
    wire_close(&wire);
    job_free(job);
}

static void test_invalid_parcels(void **state)
{
    (void)state;
    /* The size of a parcel, then a run's first peer, its length, whether all get the same. */
#define RUN(first, count, alike) first "\0\0\0" count "\0\0\0" alike "\0\0\0"
#define PARCELS(text)                                                                              \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        const char *bytes;
        size_t size;
    } invalid[] = {
        PARCELS("\1\0\0"),                                    /* a size that is cut off */
        PARCELS("\1\0\0\0"),                                  /* no parcel behind it */
        PARCELS("\1\0\0\0" RUN("\4", "\1", "\0") "x"),        /* to no rank */
        PARCELS("\1\0\0\0\377\377\377\377\1\0\0\0\0\0\0\0x"), /* likewise */
        PARCELS("\1\0\0\0" RUN("\3", "\1", "\0") "x"),        /* to itself */
        PARCELS("\1\0\0\0" RUN("\2", "\2", "\1") "x"),        /* among others */
        PARCELS("\1\0\0\0\1\0\0\0\377\377\377\377\1\0\0\0x"), /* to too many */
        PARCELS("\1\0\0\0\1\0\0\0\377\377\377\377\0\0\0\0x"), /* likewise */
        PARCELS("\1\0\0\0" RUN("\1", "\0", "\0")),            /* to none */
        PARCELS("\1\0\0\0" RUN("\1", "\1", "\2") "x"),        /* alike or not? */
        PARCELS("\1\0\0\0" RUN("\1", "\1", "\0") "x" RUN("\1", "\1", "\0") "x"), /* twice to one */
        PARCELS("\1\0\0\0" RUN("\1", "\1", "\0") "x" RUN("\0", "\1", "\0") "x"), /* not ascending */
        PARCELS("\1\0\0\0" RUN("\0", "\1", "\0") "x" RUN("\1", "\1", "\0")),     /* cut off */
        PARCELS("\1\0\0\0" RUN("\0", "\2", "\0") "x"),                           /* likewise */
        PARCELS("\377\377\377\377" RUN("\1", "\1", "\0") "x"), /* longer than all that came */
    };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
        struct job_of_ranks *job = job_create(RANKS, 0, 5);
        job->life = ring_of_two_life;
        assert_true(threads_start(job, 0, RANKS - 1));
        struct wire wire = join_by_hand(job, 3);
        share_put(&wire, 3, invalid[i].bytes, invalid[i].size);
        threads_expect(job, 0, RANKS - 1, STATUS_ERROR);
        assert_string_equal("it sent an invalid control message to rank 0",
                            job->outcome[0].message);
        wire_close(&wire);
        job_free(job);
    }
}

/* A rank 0 made by hand, which all of two ranks have joined and which waits for the share of rank
 * 1. */
static struct wire lead_by_hand(struct job_of_ranks *job)
{
    static const struct member members[2] = {{.host = "h"}, {.host = "h", .local_rank = 1}};
    static const struct redirect stay = {0};
    struct membership membership = membership_of(job, 0);
    struct join_request request;
    struct bytes bytes = {0};
    struct frame frame;
    join_request_fill(&request, &membership, "same");
    job->life = ring_of_two_life;
    assert_true(threads_start(job, 1, 2));
    struct wire wire = shake_hands(job, pending_accept(&job->listeners), true, &request);
    redirect_encode(&stay, &bytes);
    assert_true(wire_put(&wire, 0, FRAME_REDIRECT, bytes.data, bytes.size));
    bytes.size = 0;
    members_encode(members, 2, &bytes);
    assert_true(wire_put(&wire, 0, FRAME_WELCOME, bytes.data, bytes.size));
    assert_true(wire_flush(&wire));
    bytes_free(&bytes);
    pending_await(&wire, FRAME_SHARE, &frame);
    return wire;
}

static void deliver_by_hand(struct wire *wire, int to, const char *parcels, size_t size)
{
    struct bytes result = {0}, bytes = {0};
    bytes_put_u32(&result, 1);
    blobs_encode_next(parcels, size, &result);
    const struct share share = {EXCHANGE_PEERS, 0, result.data, result.size};
    delivery_encode(to, &share, &bytes);
    assert_true(wire_put(wire, 0, FRAME_DELIVERY, bytes.data, bytes.size) && wire_flush(wire));
    bytes_free(&result);
    bytes_free(&bytes);
}

/* Parcels from rank 0 that are not what rank 1 waits for. */
static void test_invalid_deliveries(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } invalid[] = {
        {"\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0ab", 18, "rank 0 delivered invalid test data"},
        {"\1\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0a", 17, "rank 0 delivered invalid test data"},
        {"", 0, "rank 0 sent no test data to rank 1"},
    };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
        struct job_of_ranks *job = job_create(2, 0, 5);
        struct wire wire = lead_by_hand(job);
        struct frame frame;
        struct failure failure;
        struct bytes verdict = {0};
        deliver_by_hand(&wire, 1, invalid[i].bytes, invalid[i].size);
        pending_await(&wire, FRAME_FAILED, &frame);
        assert_true(failure_decode(frame.data, frame.size, 1, 2, &failure));
        assert_non_null(strstr(failure.text, invalid[i].words));
        notice_encode(&(struct notice){.status = failure.status, .text = "it ends"}, &verdict);
        assert_true(wire_put(&wire, 0, FRAME_VERDICT, verdict.data, verdict.size));
        assert_true(wire_flush(&wire));
        threads_expect(job, 1, 2, STATUS_ERROR);
        bytes_free(&verdict);
        wire_close(&wire);
        listeners_close(&job->listeners);
        job_free(job);
    }
}

/* A delivery to a rank that is none of the job's breaks the connection. */
static void test_delivery_to_no_rank(void **state)
{
    (void)state;
    static const int nobody[] = {0, 2, -1};
    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
        struct job_of_ranks *job = job_create(2, 0, 5);
        struct wire wire = lead_by_hand(job);
        deliver_by_hand(&wire, nobody[i], "", 0);
        threads_expect(job, 1, 2, STATUS_TIMEOUT);
        wire_close(&wire);
        listeners_close(&job->listeners);
        job_free(job);
    }
}

/* ---- a death ---- */

/* All but the victim exchange; it is killed when the others wait for it. `pace` gets a bit for each
 * rank that knows of the death. */
static enum status dying_life(struct control *control, struct job_of_ranks *job)
{
    int rank = control_rank(control), peer = job->victim;
    enum status status = exchange_parcels(control, 1);
    atomic_fetch_add(&job->running, 1);
    while (rank == peer)
        pause();
    if (status == STATUS_OK)
        status = exchange_bytes(control, &peer, 1);
    if (control_lost(control, peer))
        atomic_fetch_or(&job->pace, 1 << rank);
    for (int other = 0; other < RANKS; other++)
        if (other != peer && control_lost(control, other))
            atomic_fetch_or(&job->pace, 1 << RANKS);
    return status;
}

/* Rank 0 knows that the victim is dead, and so does its parent: in a chain, one rank at most. */
static void check_confirmers(const struct job_of_ranks *job)
{
    int confirmers = atomic_load(&job->pace);
    assert_true(confirmers & 1);
    assert_in_range(__builtin_popcount((unsigned)confirmers), 1, 2);
    assert_true(confirmers < 1 << RANKS);
}

static void test_death(void **state)
{
    (void)state;
    for (int victim = 1; victim < RANKS; victim++) {
        struct job_of_ranks *job = job_create(RANKS, 1, 5);
        pid_t pid[RANKS];
        job->victim = victim;
        job->life = dying_life;
        fflush(NULL);
        for (int rank = 0; rank < RANKS; rank++) {
            pid[rank] = fork();
            assert_true(pid[rank] >= 0);
            if (pid[rank] == 0) {
                alarm(60);
                rank_live(job, rank);
                _exit(0);
            }
        }
        struct listeners own = job->listeners; /* rank 0 has yet to take the shared ones */
        listeners_close(&own);
        for (int i = 0; i < 2000 && atomic_load(&job->running) < RANKS; i++)
            usleep(5000);
        usleep(100000);
        kill(pid[victim], SIGKILL);
        for (int rank = 0; rank < RANKS; rank++) {
            assert_int_equal(pid[rank], waitpid(pid[rank], NULL, 0));
            if (rank != victim)
                assert_int_equal(STATUS_TIMEOUT, job->outcome[rank].status);
        }
        assert_int_equal(victim, job->outcome[0].bottleneck);
        assert_non_null(strstr(job->outcome[0].message, "is gone"));
        check_confirmers(job);
        job_free(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_not_mutual),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_nothing_else_comes),
        cmocka_unit_test(test_invalid_parcels),
        cmocka_unit_test(test_invalid_deliveries),
        cmocka_unit_test(test_delivery_to_no_rank),
        cmocka_unit_test(test_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
