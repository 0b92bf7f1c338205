/*
 * test_control.c - the control plane with ranks as threads, and with a peer that knows the secret
 * and sends invalid frames.
 * tier: check; load: wait
 */
#include "tests/unit/pending.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "controlplane/control/control.h"
#include "collective/schedule/schedule.h"

#define RANKS 4

/* A whole job of RANKS with a deadline of `timeout` seconds. */
static struct job_of_ranks *job_live(double timeout,
                                     enum status (*life)(struct control *, struct job_of_ranks *),
                                     enum status status)
{
    struct job_of_ranks *job = job_create(RANKS, 0, timeout);
    job->life = life;
    job_expect(job, status);
    return job;
}

static enum status many_exchanges_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    enum status status = STATUS_OK;
    for (int round = 0; round < 50 && status == STATUS_OK; round++)
        status = exchange_all(control, round);
    return control_finish(control, status);
}

static void test_exchanges(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_live(1, many_exchanges_life, STATUS_OK);
    assert_int_equal(0, job->outcome[0].errors);
    job_free(job);
}

static enum status finish_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    static const enum status own[RANKS] = {STATUS_OK, STATUS_SLOW, STATUS_WRONG_DATA, STATUS_OK};
    return control_finish(control, own[control_rank(control)]);
}

static void test_worst_for_all(void **state)
{
    (void)state;
    job_free(job_live(1, finish_life, STATUS_WRONG_DATA));
}

static void test_failure_reaches_all(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(RANKS, 0, 1);
    job->victim = 2;
    job->life = failing_life;
    job_expect(job, STATUS_UNAVAILABLE);
    assert_int_equal(1, job->outcome[0].errors);
    job_free(job);
}

/* After the failure each rank but the victim adds bytes of its own. Rank 0 has all of them, from
 * wherever in the tree, and does not wait for a rank that it does not ask. */
static enum status postmortem_life(struct control *control, struct job_of_ranks *job)
{
    enum status status = failing_life(control, job);
    int rank = control_rank(control), ranks = control_ranks(control);
    struct bytes share = {0};
    struct blobs blobs;
    bool from[32] = {false};
    if (rank > 0) {
        for (int i = 0; i < rank && rank != job->victim; i++)
            bytes_put_u32(&share, (uint32_t)rank);
        if (rank != job->victim)
            control_send_postmortem(control, &share);
        return status;
    }
    for (int r = 0; r < ranks; r++)
        from[r] = r != job->victim;
    double began = clock_seconds();
    control_gather_postmortems(control, from, 50, &blobs);
    if (clock_seconds() - began > 25 || blobs.count != ranks)
        status = STATUS_ERROR;
    for (int r = 1; r < blobs.count; r++)
        if (blobs.size[r] != (r == job->victim ? 0 : 4 * (size_t)r) ||
            (blobs.size[r] > 0 && *(unsigned char *)blobs.data[r] != r))
            status = STATUS_ERROR;
    blobs_free(&blobs);
    from[job->victim] = true;
    began = clock_seconds();
    control_gather_postmortems(control, from, 0.1, &blobs);
    if (clock_seconds() - began > 10 || blobs.count != 0)
        status = STATUS_ERROR;
    return status;
}

static void test_postmortems(void **state)
{
    (void)state;
    for (int fan_out = 1; fan_out <= 4; fan_out++) {
        struct job_of_ranks *job = job_create(14, fan_out, 5);
        job->victim = 3;
        job->life = postmortem_life;
        job_expect(job, STATUS_UNAVAILABLE);
        job_free(job);
    }
}

static enum status absent_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    while (control_rank(control) == 3 && !control_ended(control))
        usleep(1000);
    return all_meet(control);
}

static void test_deadline(void **state)
{
    (void)state;
    double began = clock_seconds();
    struct job_of_ranks *job = job_live(1, absent_life, STATUS_TIMEOUT);
    double took = clock_seconds() - began;
    assert_int_equal(RANKS, job->outcome[0].errors);
    assert_true(took > 1 && took < 10);
    job_free(job);
}

/* Progresses all the time, without a word on the control plane but its pulse. */
static enum status busy_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    struct progress *progress = control_progress(control);
    for (double end = clock_seconds() + 1.5; clock_seconds() < end; usleep(1000))
        atomic_fetch_add(&progress->progress, 1);
    return control_finish(control, STATUS_OK);
}

/* A deadline that is shorter than anything else here ends no healthy job. */
static void test_short_deadline(void **state)
{
    (void)state;
    job_free(job_live(0.25, busy_life, STATUS_OK));
}

static void say_wait_for_3(struct progress *progress)
{
    atomic_store(&progress->kind, OPERATION_RECV);
    atomic_store(&progress->peer, 3);
    atomic_store(&progress->operation, 0);
}

/* Rank 1 waits for rank 3, and may not say that it has done so for too long while another
 * progresses; then its words are heard before the verdict. */
static enum status patient_life(struct control *control, struct job_of_ranks *job)
{
    struct progress *progress = control_progress(control);
    double end = clock_seconds() + 4 * job->timeout;
    for (; control_rank(control) == 2 && clock_seconds() < end; usleep(1000))
        atomic_fetch_add(&progress->progress, 1);
    if (control_rank(control) != 1)
        return all_meet(control);
    say_wait_for_3(progress);
    while (!control_is_late(control) && !control_ended(control))
        usleep(1000);
    if (clock_seconds() < end)
        return control_fail(control, fail(STATUS_ERROR, "the others were not waited for"));
    return control_fail(control, fail(STATUS_TIMEOUT, "rank 3 has not connected"));
}

static void test_late(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_live(0.25, patient_life, STATUS_TIMEOUT);
    assert_string_equal("rank 3 has not connected", job->outcome[0].message);
    job_free(job);
}

/* No rank progresses. On a busy machine rank 1 takes its time until it says what it waits for: with
 * a deadline of 8 s it has 0.8. */
static enum status slow_to_say_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    if (control_rank(control) != 1)
        return all_meet(control);
    say_wait_for_3(control_progress(control));
    while (!control_is_late(control) && !control_ended(control))
        usleep(1000);
    usleep(300000);
    return control_fail(control, fail(STATUS_TIMEOUT, "rank 3 has not connected"));
}

static void test_slow_to_say(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_live(8, slow_to_say_life, STATUS_TIMEOUT);
    assert_string_equal("rank 3 has not connected", job->outcome[0].message);
    job_free(job);
}

static void test_missing_rank(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(RANKS, 0, 1);
    job->life = many_exchanges_life;
    assert_true(threads_start(job, 0, RANKS - 1));
    threads_expect(job, 0, RANKS - 1, STATUS_TIMEOUT);
    assert_non_null(
        strstr(job->outcome[0].message, "1 of 4 ranks did not join within 1 s: rank 3"));
    job_free(job);
}

/* A rank 0 that authenticates and then sends nothing: the rank that called it ends by itself. */
static void test_mute_root(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(2, 0, 1);
    struct membership membership = membership_of(job, 0);
    struct join_request request;
    join_request_fill(&request, &membership, "same");
    job->life = many_exchanges_life;
    assert_true(threads_start(job, 1, 2));
    struct wire wire = shake_hands(job, pending_accept(&job->listeners), true, &request);
    threads_expect(job, 1, 2, STATUS_TIMEOUT);
    assert_non_null(strstr(job->outcome[1].message, "it answered, and has been silent for 1"));
    assert_non_null(strstr(job->outcome[1].message, "before all ranks had joined"));
    wire_close(&wire);
    listeners_close(&job->listeners);
    job_free(job);
}

/* Connects as rank 3 would, and authenticates. */
static struct wire join_as_pending(const struct job_of_ranks *job, const char *options,
                                   const char *version)
{
    struct membership membership = membership_of(job, 3);
    struct join_request request;
    join_request_fill(&request, &membership, options);
    snprintf(request.version, sizeof request.version, "%s", version);
    return pending_call(job, &request, &job->home.list[0]);
}

struct sent_frame {
    int rank, type;
    const char *data;
    size_t size;
};

/* A job in which one member sends these `count` frames, then `raw` bytes, and closes its
 * connection: all other ranks end with `status`. */
static struct job_of_ranks *send_as_member(const struct sent_frame *frames, int count,
                                           const void *raw, size_t size, enum status status)
{
    struct job_of_ranks *job = job_create(RANKS, 0, 1);
    job->life = many_exchanges_life;
    assert_true(threads_start(job, 0, RANKS - 1));
    struct wire wire = join_as_pending(job, "same", CCTEST_VERSION);
    struct frame frame;
    pending_await(&wire, FRAME_WELCOME, &frame);
    for (int i = 0; i < count; i++)
        assert_true(
            wire_put(&wire, frames[i].rank, frames[i].type, frames[i].data, frames[i].size));
    assert_true(wire_flush(&wire) && !wire_pending(&wire));
    assert_int_equal(size, write(wire.fd, raw, size));
    shutdown(wire.fd, SHUT_WR); /* not close(): unread bytes would reset the connection */
    threads_expect(job, 0, RANKS - 1, status);
    assert_int_equal(1, job->outcome[0].errors);
    wire_close(&wire);
    return job;
}

static void test_invalid_frames_of_a_member(void **state)
{
    static const char large[POSTMORTEM_MOST + 1];
    (void)state;
    static const struct sent_frame invalid[] = {
        {3, 99, "", 0},                                        /* of no type */
        {4, FRAME_HEARTBEAT, "", 0},                           /* from no rank */
        {-1, FRAME_HEARTBEAT, "", 0},                          /* likewise */
        {0, FRAME_HEARTBEAT, "", 0},                           /* in the name of rank 0 */
        {3, FRAME_HEARTBEAT, "abc", 3},                        /* a pulse that is too short */
        {3, FRAME_SHARE, "\11\0\0\0\0\0\0\0", 8},              /* a share of no exchange */
        {3, FRAME_SHARE, "\3\0\0\0\0\0\0\0", 8},               /* a maximum is none */
        {3, FRAME_MAXIMA, "\0\0\0\0\0\0\0\0", 8},              /* of no rank */
        {3, FRAME_MAXIMA, "\0\0\0\0\1\0\0\0\4\0\0\0", 12},     /* of a rank that is not there */
        {3, FRAME_MAXIMA, "\0\0\0\0\1\0\0\0\3\0\0\0x", 13},    /* a part of a word */
        {3, FRAME_FAILED, "\1\0\0\0\0\0\0\0\377\377\0\0", 12}, /* its text is elsewhere */
        {3, FRAME_REFUSED, "", 0},                             /* only rank 0 sends it */
        {3, FRAME_POSTMORTEM, large, sizeof large},
    };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        job_free(send_as_member(&invalid[i], 1, "", 0, STATUS_ERROR));
}

/* Data on a member's connection that fails authentication is not the member's fault, and has no
 * effect: the connection counts as broken. */
static void test_forged_frames(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } forged[] = {
        {"\0\0\0\0\3\0\0\0\3", 9},         /* a part of a frame */
        {"\377\377\377\377\3\0\0\0\3", 9}, /* of one that is too long */
        {"\0\0\0\0\3\0\0\0\7"              /* one that is not encrypted: FINISHED */
         "0123456789abcdef",
         25},
    };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        struct job_of_ranks *job =
            send_as_member(NULL, 0, forged[i].bytes, forged[i].size, STATUS_TIMEOUT);
        assert_int_equal(3, job->outcome[0].bottleneck);
        assert_null(strstr(job->outcome[0].message, "invalid"));
        job_free(job);
    }
}

/* A rank that was isolated while rank 0 was stopped says GOODBYE; that is valid. */
static void test_goodbye_before_the_end(void **state)
{
    (void)state;
    const struct sent_frame goodbye = {3, FRAME_GOODBYE, "", 0};
    job_free(send_as_member(&goodbye, 1, "", 0, STATUS_TIMEOUT));
}

static void refused(const char *options, const char *version, const char *words)
{
    struct job_of_ranks *job = job_create(RANKS, 0, 1);
    const struct outcome *root = &job->outcome[0];
    job->life = many_exchanges_life;
    assert_true(threads_start(job, 0, 1));
    struct wire wire = join_as_pending(job, options, version);
    pthread_join(root->thread, NULL);
    assert_int_not_equal(STATUS_OK, root->status);
    if (!strstr(root->message, words))
        print_error("'%s' does not say '%s'\n", root->message, words);
    assert_non_null(strstr(root->message, words));
    struct frame frame;
    wire_fill(&wire);
    assert_int_equal(FRAME_WHOLE, wire_take(&wire, &frame));
    assert_int_equal(FRAME_REFUSED, frame.type);
    wire_close(&wire);
    job_free(job);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("same", "9.9", "runs cctest 9.9, rank 0 runs " CCTEST_VERSION);
    refused("different", CCTEST_VERSION, "other options than rank 0: 'different' there, 'same'");
}

/* Foreign connections that close, send invalid data, stop in the middle, or send nothing, more of
 * them than the acceptor holds: the ranks that connect after them join. */
static void test_flood_of_connections(void **state)
{
    (void)state;
    enum { STRANGERS = 1000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    int strangers[STRANGERS], count = 0;
    struct job_of_ranks *job = job_create(RANKS, 0, 10);
    job->life = many_exchanges_life;
    assert_true(threads_start(job, 0, 1));
    for (int i = 0;
         i < STRANGERS && (strangers[count] = socket_connect(&job->home.list[0], 0)) >= 0; i++) {
        static const char *const words[] = {"", "GET / HTTP/1.0\r\n\r\n", "cct", "cctest\1"};
        struct pollfd set = {.fd = strangers[count], .events = POLLOUT};
        const char *said = words[i < 100 ? i % 4 : 0];
        if (*said && poll(&set, 1, 100) > 0)
            send(strangers[count], said, strlen(said), MSG_NOSIGNAL);
        if (i < 100 && i % 10 == 9)
            close(strangers[count]);
        else
            count++;
    }
    assert_true(count > 500);
    assert_true(threads_start(job, 1, RANKS));
    threads_expect(job, 0, RANKS, STATUS_OK);
    while (count > 0)
        close(strangers[--count]);
    job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_worst_for_all),
        cmocka_unit_test(test_failure_reaches_all),
        cmocka_unit_test(test_postmortems),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_short_deadline),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_slow_to_say),
        cmocka_unit_test(test_missing_rank),
        cmocka_unit_test(test_mute_root),
        cmocka_unit_test(test_invalid_frames_of_a_member),
        cmocka_unit_test(test_forged_frames),
        cmocka_unit_test(test_goodbye_before_the_end),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_flood_of_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
