/*
 * test_control.c - the control plane with ranks as threads, and what it does with a peer that knows
 * the secret and sends nonsense.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* of cmocka's and ours, ours is meant */

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap_internal.h"
#include "clock.h"
#include "frame.h"
#include "hello.h"
#include "log.h"
#include "socket.h"

#define RANKS 4

/* Where rank 0 listens. */
struct place {
    struct home home;
    struct listeners listeners;
};

static struct place place_open(void)
{
    struct place place;
    assert_int_equal(STATUS_OK, home_open(NULL, true, &place.listeners, &place.home));
    return place;
}

struct rank {
    pthread_t thread;
    struct log log;
    struct membership membership;
    double timeout;
    enum status (*life)(struct control *control);
    enum status status;
    int errors; /* at rank 0 */
};

static void *rank_run(void *argument)
{
    struct rank *rank = argument;
    log_attach(&rank->log);
    const struct control_config config = {.timeout = rank->timeout, .options = "same"};
    struct control *control;
    rank->status = control_join(&rank->membership, &config, &control);
    if (rank->status == STATUS_OK) {
        rank->status = rank->life(control);
        const struct job_error *errors;
        rank->errors = control_errors(control, &errors);
        control_close(control);
    }
    return NULL;
}

static struct membership membership_make(int rank, const struct place *place)
{
    return (struct membership){.rank = rank,
                               .ranks = RANKS,
                               .root_home = place->home,
                               .root_host = "localhost",
                               .listeners =
                                   rank == 0 ? place->listeners : (struct listeners){.count = 0},
                               .secret = "secret",
                               .has_secret = true,
                               .bootstrap = "test"};
}

static void rank_start(struct rank *rank, int number, const struct place *place, double timeout,
                       enum status (*life)(struct control *control))
{
    *rank = (struct rank){
        .membership = membership_make(number, place), .timeout = timeout, .life = life};
    log_init(&rank->log, number, 0);
    assert_int_equal(0, pthread_create(&rank->thread, NULL, rank_run, rank));
}

/* Starts ranks 0 .. count - 1 of RANKS. */
static struct place ranks_start_for(struct rank *ranks, int count, double timeout,
                                    enum status (*life)(struct control *control))
{
    struct place place = place_open();
    for (int i = 0; i < count; i++)
        rank_start(&ranks[i], i, &place, timeout, life);
    return place;
}

static struct place ranks_start(struct rank *ranks, int count,
                                enum status (*life)(struct control *control))
{
    return ranks_start_for(ranks, count, 1, life);
}

static void ranks_expect(struct rank *ranks, int count, enum status status)
{
    for (int i = 0; i < count; i++)
        pthread_join(ranks[i].thread, NULL);
    for (int i = 0; i < count; i++)
        assert_int_equal(status, ranks[i].status);
}

static enum status exchange_life(struct control *control)
{
    int rank = control_rank(control);
    for (int round = 0; round < 50; round++) {
        struct blobs blobs;
        char data[64];
        memset(data, rank + round, sizeof data);
        enum status status = control_allgather(control, data, (size_t)(rank * round % 64), &blobs);
        if (status != STATUS_OK)
            return status;
        for (int i = 0; i < RANKS; i++)
            if ((int)blobs.size[i] != i * round % 64 ||
                (blobs.size[i] > 0 && *(char *)blobs.data[i] != (char)(i + round)))
                status = STATUS_WRONG_DATA;
        blobs_free(&blobs);
        int value = rank == 0 ? round : -1;
        if (control_broadcast(control, &value, sizeof value) != STATUS_OK || value != round ||
            control_barrier(control) != STATUS_OK)
            status = STATUS_WRONG_DATA;
        if (control_gather(control, &rank, sizeof rank, &blobs) != STATUS_OK ||
            blobs.count != (rank == 0 ? RANKS : 0))
            status = STATUS_WRONG_DATA;
        blobs_free(&blobs);
        if (status != STATUS_OK)
            return control_finish(control, status);
    }
    return control_finish(control, STATUS_OK);
}

static void test_exchanges(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    ranks_start(ranks, RANKS, exchange_life);
    ranks_expect(ranks, RANKS, STATUS_OK);
    assert_int_equal(0, ranks[0].errors);
}

static enum status finish_life(struct control *control)
{
    static const enum status own[RANKS] = {STATUS_OK, STATUS_SLOW, STATUS_WRONG_DATA, STATUS_OK};
    return control_finish(control, own[control_rank(control)]);
}

static void test_gravest_for_all(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    ranks_start(ranks, RANKS, finish_life);
    ranks_expect(ranks, RANKS, STATUS_WRONG_DATA);
}

static enum status failing_life(struct control *control)
{
    if (control_rank(control) == 2)
        return control_fail(control, fail(STATUS_UNAVAILABLE, "there is no such device here"));
    return control_barrier(control);
}

static void test_failure_reaches_all(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    ranks_start(ranks, RANKS, failing_life);
    ranks_expect(ranks, RANKS, STATUS_UNAVAILABLE);
    assert_int_equal(1, ranks[0].errors);
}

static enum status absent_life(struct control *control)
{
    while (control_rank(control) == 3 && !control_ended(control))
        usleep(1000);
    return control_barrier(control);
}

static void test_deadline(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    double began = clock_seconds();
    ranks_start(ranks, RANKS, absent_life);
    ranks_expect(ranks, RANKS, STATUS_TIMEOUT);
    double took = clock_seconds() - began;
    assert_int_equal(RANKS, ranks[0].errors);
    assert_true(took > 1 && took < 1.5);
}

/* Progresses all the time, without a word on the control plane but its pulse. */
static enum status busy_life(struct control *control)
{
    struct pulse *pulse = control_pulse(control);
    for (double end = clock_seconds() + 1.5; clock_seconds() < end; usleep(1000))
        atomic_fetch_add(&pulse->progress, 1);
    return control_finish(control, STATUS_OK);
}

/* A deadline that is shorter than anything else here ends no healthy job. */
static void test_short_deadline(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    ranks_start_for(ranks, RANKS, 0.25, busy_life);
    ranks_expect(ranks, RANKS, STATUS_OK);
}

static void test_missing_rank(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    ranks_start(ranks, RANKS - 1, exchange_life);
    ranks_expect(ranks, RANKS - 1, STATUS_TIMEOUT);
    assert_non_null(strstr(ranks[0].log.message, "1 of 4 ranks did not join within 1 s: rank 3"));
}

static void shake_hands(int fd, bool accepts, const struct hello *hello)
{
    static const unsigned char secret[SECRET_BYTES] = "secret";
    unsigned char bytes[HANDSHAKE_HELLO_MOST];
    size_t size = hello_encode(hello, bytes);
    struct handshake *handshake = handshake_create(fd, accepts, secret, "control", bytes, size);
    enum handshake_state state;
    while ((state = handshake_step(handshake)) == HANDSHAKE_PENDING) {
        struct pollfd set = {.fd = fd, .events = handshake_events(handshake)};
        poll(&set, 1, 1000);
    }
    assert_int_equal(HANDSHAKE_DONE, state);
    handshake_free(handshake);
}

/* A rank 0 that proves itself and is never heard again: who has called it ends by itself. */
static void test_mute_root(void **state)
{
    (void)state;
    struct rank ranks[2];
    struct pollfd set[HOME_ADDRESSES_MOST];
    struct place place = place_open();
    struct membership membership = membership_make(0, &place);
    struct hello hello;
    int fd = -1;
    hello_fill(&hello, &membership, "same");
    rank_start(&ranks[1], 1, &place, 1, exchange_life);
    for (int i = 0; i < place.listeners.count; i++)
        set[i] = (struct pollfd){.fd = place.listeners.fd[i], .events = POLLIN};
    assert_true(poll(set, (nfds_t)place.listeners.count, 5000) > 0);
    for (int i = 0; fd < 0; i++)
        if (set[i].revents)
            fd = accept4(set[i].fd, NULL, NULL, SOCK_NONBLOCK);
    shake_hands(fd, true, &hello);
    ranks_expect(ranks + 1, 1, STATUS_TIMEOUT);
    assert_non_null(strstr(ranks[1].log.message, "it answered, and has been silent for 1"));
    assert_non_null(strstr(ranks[1].log.message, "before all ranks had joined"));
    close(fd);
    listeners_close(&place.listeners);
}

/* Connects as rank 3 would and proves itself; returns the socket. */
static int join_as_guest(const struct place *place, const char *options, const char *version)
{
    struct membership membership = membership_make(3, place);
    struct hello hello;
    hello_fill(&hello, &membership, options);
    snprintf(hello.version, sizeof hello.version, "%s", version);
    int fd = socket_connect(&place->home.list[0]);
    shake_hands(fd, false, &hello);
    return fd;
}

/* A guest that is one of the job, and then sends `bytes`. */
static void misbehave(const void *bytes, size_t size)
{
    struct rank ranks[RANKS];
    struct place place = ranks_start(ranks, RANKS - 1, exchange_life);
    int fd = join_as_guest(&place, "same", CCTEST_VERSION);
    struct wire wire = {.fd = fd};
    struct frame frame;
    while (wire_take(&wire, &frame) != FRAME_WHOLE || frame.type != FRAME_WELCOME) {
        struct pollfd set = {.fd = fd, .events = POLLIN};
        poll(&set, 1, 100);
        assert_true(wire_fill(&wire));
    }
    assert_int_equal(size, write(fd, bytes, size));
    ranks_expect(ranks, RANKS - 1, STATUS_ERROR);
    assert_int_equal(1, ranks[0].errors);
    wire_close(&wire);
}

static void test_nonsense_from_a_member(void **state)
{
    (void)state;
    misbehave("\377\377\377\377\3\0\0\0\1", 9);            /* a frame that is too long */
    misbehave("\0\0\0\0\3\0\0\0\143", 9);                  /* of no type */
    misbehave("\0\0\0\0\4\0\0\0\3", 9);                    /* from no rank */
    misbehave("\0\0\0\0\377\377\377\377\3", 9);            /* likewise */
    misbehave("\0\0\0\0\0\0\0\0\3", 9);                    /* in the name of rank 0 */
    misbehave("\3\0\0\0\3\0\0\0\3abc", 12);                /* a pulse that is too short */
    misbehave("\10\0\0\0\3\0\0\0\4\11\0\0\0\0\0\0\0", 17); /* a share of no exchange */
    misbehave("\14\0\0\0\3\0\0\0\6\1\0\0\0\0\0\0\0\377\377\0\0", 21); /* its text is elsewhere */
    misbehave("\0\0\0\0\3\0\0\0\2", 9);                               /* what only rank 0 says */
    misbehave("\0\0\0\0\3\0\0\0\11", 9);                              /* a goodbye before the end */
}

static void refused(const char *options, const char *version, const char *words)
{
    struct rank ranks[RANKS];
    struct place place = ranks_start(ranks, 1, exchange_life);
    int fd = join_as_guest(&place, options, version);
    pthread_join(ranks[0].thread, NULL);
    assert_int_not_equal(STATUS_OK, ranks[0].status);
    if (!strstr(ranks[0].log.message, words))
        print_error("'%s' does not say '%s'\n", ranks[0].log.message, words);
    assert_non_null(strstr(ranks[0].log.message, words));
    struct wire wire = {.fd = fd};
    struct frame frame;
    wire_fill(&wire);
    assert_int_equal(FRAME_WHOLE, wire_take(&wire, &frame));
    assert_int_equal(FRAME_REFUSED, frame.type);
    wire_close(&wire);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("same", "9.9", "runs cctest 9.9, rank 0 runs " CCTEST_VERSION);
    refused("different", CCTEST_VERSION, "other options than rank 0: 'different' there, 'same'");
}

/* Strangers that hang up, talk nonsense, stop in the middle, or say nothing at all, more of them
 * than the lobby holds: the ranks that come behind them join. */
static void test_flood_of_strangers(void **state)
{
    (void)state;
    enum { STRANGERS = 1000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct rank ranks[RANKS];
    int strangers[STRANGERS], count = 0;
    struct place place = place_open();
    rank_start(&ranks[0], 0, &place, 10, exchange_life);
    for (int i = 0; i < STRANGERS && (strangers[count] = socket_connect(&place.home.list[0])) >= 0;
         i++) {
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
    for (int i = 1; i < RANKS; i++)
        rank_start(&ranks[i], i, &place, 10, exchange_life);
    ranks_expect(ranks, RANKS, STATUS_OK);
    while (count > 0)
        close(strangers[--count]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_gravest_for_all),
        cmocka_unit_test(test_failure_reaches_all),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_short_deadline),
        cmocka_unit_test(test_missing_rank),
        cmocka_unit_test(test_mute_root),
        cmocka_unit_test(test_nonsense_from_a_member),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_flood_of_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
