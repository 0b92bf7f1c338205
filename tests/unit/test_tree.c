/*
 * test_tree.c - the control plane as a tree: deep ones, with ranks as threads, whose inner ranks die
 * or stop, with ranks as processes, and one of 1,024 ranks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* of cmocka's and ours, ours is meant */

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "control_internal.h"
#include "socket.h"

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define MANY  128
#define SLACK 8 /* seconds, for machines that are busy */
#else
#define MANY  1024
#define SLACK 2
#endif
#define NAP_SECONDS 2.2
#define GUESTS_MOST (LOBBY_POLLS - HOME_ADDRESSES_MOST) /* that a lobby holds */

/* A job; in shared memory where its ranks are processes. */
enum pace { STOP, GO_ON, NAP };

struct job_of_ranks {
    int ranks, fan_out, victim;
    double timeout;
    enum status (*life)(struct control *control, struct job_of_ranks *job);
    struct listeners listeners;
    struct home home;
    _Atomic int running; /* ranks that have been through a first exchange */
    _Atomic int pace;    /* of what follows */
    _Atomic int through; /* exchanges of rank 0 */
    struct outcome {
        pthread_t thread;
        pid_t pid;
        struct log log;
        enum status status;
        int branches_most, sockets_most;
        uint64_t strangers;
        int errors, culprit;
        char message[1024];
    } outcome[];
};

struct seat {
    struct job_of_ranks *job;
    int rank;
};

static struct job_of_ranks *job_create(int ranks, int fan_out, double timeout)
{
    size_t size = sizeof(struct job_of_ranks) + (size_t)ranks * sizeof(struct outcome);
    struct job_of_ranks *job =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(job != MAP_FAILED);
    job->ranks = ranks;
    job->fan_out = fan_out;
    job->timeout = timeout;
    job->victim = -1;
    assert_int_equal(STATUS_OK, home_open(NULL, true, &job->listeners, &job->home));
    return job;
}

static void job_free(struct job_of_ranks *job)
{
    munmap(job, sizeof *job + (size_t)job->ranks * sizeof(struct outcome));
}

static struct membership membership_of(const struct job_of_ranks *job, int rank)
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

static void rank_live(struct job_of_ranks *job, int rank)
{
    struct outcome *outcome = &job->outcome[rank];
    struct membership membership = membership_of(job, rank);
    const struct control_config config = {
        .timeout = job->timeout, .options = "same", .fan_out = job->fan_out};
    struct control *control;
    log_init(&outcome->log, rank, 0);
    log_attach(&outcome->log);
    outcome->culprit = -1;
    outcome->status = control_join(&membership, &config, &control);
    memcpy(outcome->message, outcome->log.message, sizeof outcome->message);
    if (outcome->status != STATUS_OK)
        return;
    outcome->status = job->life(control, job);
    const struct job_error *errors;
    outcome->errors = control_errors(control, &errors);
    if (outcome->errors > 0) {
        outcome->culprit = errors[0].rank;
        memcpy(outcome->message, errors[0].message, sizeof outcome->message);
    }
    outcome->branches_most = atomic_load(&control->branches_most);
    outcome->sockets_most = atomic_load(&control->sockets_most);
    outcome->strangers = control_strangers(control);
    control_close(control);
}

static void *rank_run(void *argument)
{
    struct seat seat = *(struct seat *)argument;
    free(argument);
    rank_live(seat.job, seat.rank);
    return NULL;
}

/* Ranks first .. last - 1 as threads; false: the system allows no more. */
static bool threads_start(struct job_of_ranks *job, int first, int last)
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

static void threads_expect(struct job_of_ranks *job, int first, int last, enum status status)
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
static void job_expect(struct job_of_ranks *job, enum status status)
{
    assert_true(threads_start(job, 0, job->ranks));
    threads_expect(job, 0, job->ranks, status);
}

/* One of each exchange, with shares of different sizes. */
static enum status exchange_all(struct control *control, int round)
{
    int rank = control_rank(control), ranks = control_ranks(control);
    struct blobs blobs;
    char data[64];
    memset(data, rank + round, sizeof data);
    enum status status = control_allgather(control, data, (size_t)(rank * round % 64), &blobs);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < ranks; i++)
        if ((int)blobs.size[i] != i * round % 64 ||
            (blobs.size[i] > 0 && *(char *)blobs.data[i] != (char)(i + round)))
            status = STATUS_WRONG_DATA;
    blobs_free(&blobs);
    int value = rank == 0 ? round : -1;
    if (status == STATUS_OK)
        status = control_broadcast(control, &value, sizeof value);
    if (status == STATUS_OK)
        status = value == round ? control_barrier(control) : STATUS_WRONG_DATA;
    if (status == STATUS_OK)
        status = control_gather(control, &rank, sizeof rank, &blobs);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < blobs.count; i++)
        if (blobs.size[i] != sizeof i || memcmp(blobs.data[i], &i, sizeof i) != 0)
            status = STATUS_WRONG_DATA;
    if (blobs.count != (rank == 0 ? ranks : 0))
        status = STATUS_WRONG_DATA;
    blobs_free(&blobs);
    return status;
}

static enum status exchange_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    enum status status = STATUS_OK;
    for (int round = 0; round < 5 && status == STATUS_OK; round++)
        status = exchange_all(control, round);
    return control_finish(control, status);
}

/* No rank holds the connections of more than it may, and together they hold each once. */
static void check_shape(const struct job_of_ranks *job)
{
    int connections = 0;
    for (int rank = 0; rank < job->ranks; rank++) {
        assert_in_range(job->outcome[rank].branches_most, 0, job->fan_out);
        assert_in_range(job->outcome[rank].sockets_most, 0, job->fan_out + GUESTS_MOST);
        connections += job->outcome[rank].branches_most;
    }
    assert_int_equal(job->ranks - 1, connections);
}

static void test_deep_trees(void **state)
{
    (void)state;
    for (int fan_out = 1; fan_out <= 3; fan_out++)
        for (int ranks = 1; ranks <= 17; ranks++) {
            struct job_of_ranks *job = job_create(ranks, fan_out, 10);
            job->life = exchange_life;
            job_expect(job, STATUS_OK);
            assert_int_equal(0, job->outcome[0].errors);
            check_shape(job);
            job_free(job);
        }
}

static enum status gravest_life(struct control *control, struct job_of_ranks *job)
{
    return control_finish(control,
                          control_rank(control) == job->victim ? STATUS_WRONG_DATA : STATUS_SLOW);
}

static enum status failing_life(struct control *control, struct job_of_ranks *job)
{
    if (control_rank(control) == job->victim)
        return control_fail(control, fail(STATUS_UNAVAILABLE, "there is no such device here"));
    return control_barrier(control);
}

static void test_any_rank_is_heard(void **state)
{
    (void)state;
    for (int victim = 0; victim < 7; victim++) {
        struct job_of_ranks *job = job_create(7, 2, 5);
        job->victim = victim;
        job->life = failing_life;
        job_expect(job, STATUS_UNAVAILABLE);
        assert_int_equal(1, job->outcome[0].errors);
        assert_int_equal(victim, job->outcome[0].culprit);
        job_free(job);
        job = job_create(7, 2, 5);
        job->victim = victim;
        job->life = gravest_life;
        job_expect(job, STATUS_WRONG_DATA);
        job_free(job);
    }
}

static void test_missing_ranks(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(9, 2, 1);
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 7));
    threads_expect(job, 0, 7, STATUS_TIMEOUT);
    assert_non_null(strstr(job->outcome[0].message, "2 of 9 ranks did not join within 1 s: ranks "
                                                    "7, 8"));
    job_free(job);
}

/* ---- what comes to the listeners of all ranks ---- */

/* Where the ranks of this process listen. */
static int listening(struct address *list, int most)
{
    int count = 0;
    for (int fd = 3; fd < 200 && count < most; fd++) {
        struct sockaddr_storage place;
        socklen_t size = sizeof(int);
        int listens = 0;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens)
            continue;
        size = sizeof place;
        if (getsockname(fd, (struct sockaddr *)&place, &size) == 0)
            count += address_of((struct sockaddr *)&place, &list[count]);
    }
    return count;
}

static void test_strangers_at_all_ranks(void **state)
{
    (void)state;
    enum { RANKS = 8, PORTS_MOST = 100 };
    struct job_of_ranks *job = job_create(RANKS, 2, 10);
    struct address list[PORTS_MOST];
    job->life = exchange_life;
    assert_true(threads_start(job, 0, RANKS - 1));
    int each = job->listeners.count, count = 0;
    for (int i = 0; i < 1000 && count < (RANKS - 1) * each; i++, usleep(5000))
        count = listening(list, PORTS_MOST) - (RANKS - 1); /* each lobby keeps a spare */
    count = listening(list, PORTS_MOST);
    for (int i = 0; i < count; i++) {
        char byte;
        int fd = socket_connect(&list[i]);
        struct pollfd set = {.fd = fd, .events = POLLOUT};
        assert_true(fd >= 0 && poll(&set, 1, 5000) > 0);
        assert_int_equal(5, send(fd, "GET /", 5, MSG_NOSIGNAL));
        assert_int_equal(5, send(fd, " HTTP", 5, MSG_NOSIGNAL));
        set.events = POLLIN;
        assert_int_equal(1, poll(&set, 1, 5000));
        assert_true(recv(fd, &byte, 1, 0) <= 0);
        close(fd);
    }
    assert_true(threads_start(job, RANKS - 1, RANKS));
    threads_expect(job, 0, RANKS, STATUS_OK);
    assert_int_equal(count, job->outcome[0].strangers);
    job_free(job);
}

/* A rank of the job, made by hand, which says that it listens at `home`; returns the socket. */
static int guest_join(const struct job_of_ranks *job, int rank, const struct home *home)
{
    struct membership membership = membership_of(job, rank);
    struct hello hello;
    unsigned char bytes[HANDSHAKE_HELLO_MOST];
    hello_fill(&hello, &membership, "same");
    hello.home = *home;
    int fd = socket_connect(&job->home.list[0]);
    struct handshake *handshake = handshake_create(fd, false, membership.secret, "control", bytes,
                                                   hello_encode(&hello, bytes));
    enum handshake_state state;
    while ((state = handshake_step(handshake)) == HANDSHAKE_PENDING) {
        struct pollfd set = {.fd = fd, .events = handshake_events(handshake)};
        poll(&set, 1, 1000);
    }
    assert_int_equal(HANDSHAKE_DONE, state);
    handshake_free(handshake);
    return fd;
}

/* The others are sent to a rank that nobody can reach, and find another place. */
static void unreachable_parent(const struct home *home)
{
    struct job_of_ranks *job = job_create(5, 2, 8);
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 1));
    struct wire wire = {.fd = guest_join(job, 1, home)};
    assert_true(threads_start(job, 2, 5));
    struct frame frame;
    while (wire_take(&wire, &frame) != FRAME_WHOLE || frame.type != FRAME_WELCOME) {
        struct pollfd set = {.fd = wire.fd, .events = POLLIN};
        poll(&set, 1, 100);
        assert_true(wire_fill(&wire));
    }
    wire_close(&wire);
    threads_expect(job, 2, 5, STATUS_TIMEOUT);
    threads_expect(job, 0, 1, STATUS_TIMEOUT);
    assert_int_equal(1, job->outcome[0].culprit);
    assert_int_equal(1, job->outcome[0].errors);
    assert_int_equal(2, job->outcome[0].branches_most);
    job_free(job);
}

static void test_unreachable_parents(void **state)
{
    (void)state;
    struct listeners listeners;
    struct home home;
    assert_int_equal(STATUS_OK, home_open(NULL, true, &listeners, &home));
    unreachable_parent(&home); /* it takes the connection, and says nothing */
    listeners_close(&listeners);
    unreachable_parent(&home);
}

/* ---- ranks that are processes ---- */

static enum status loop_life(struct control *control, struct job_of_ranks *job)
{
    bool leads = control_rank(control) == 0;
    enum status status = exchange_all(control, 1);
    atomic_fetch_add(&job->running, 1);
    for (int round = 0; status == STATUS_OK; round++) {
        int pace = leads ? atomic_load(&job->pace) : 0;
        status = control_broadcast(control, &pace, sizeof pace);
        if (status != STATUS_OK || pace == STOP)
            break;
        if (pace == NAP)
            usleep(NAP_SECONDS * 1e6);
        status = exchange_all(control, round);
        if (leads)
            atomic_fetch_add(&job->through, 1);
        usleep(1000);
    }
    return status == STATUS_OK ? control_finish(control, STATUS_OK) : status;
}

static void processes_start(struct job_of_ranks *job)
{
    fflush(NULL);
    atomic_store(&job->pace, GO_ON);
    job->life = loop_life;
    struct listeners listeners = job->listeners; /* rank 0 reads those that all share */
    for (int rank = 0; rank < job->ranks; rank++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(60);
            if (rank > 0)
                listeners_close(&listeners);
            rank_live(job, rank);
            _exit(0);
        }
        job->outcome[rank].pid = pid;
    }
    listeners_close(&listeners);
}

static void processes_await(struct job_of_ranks *job)
{
    for (int i = 0; i < 2000 && atomic_load(&job->running) < job->ranks; i++)
        usleep(5000);
    for (int rank = 0; atomic_load(&job->running) < job->ranks && rank < job->ranks; rank++)
        print_error("rank %d: %s\n", rank, job->outcome[rank].log.message);
    assert_int_equal(job->ranks, atomic_load(&job->running));
}

/* All but the victim end, with `status`. */
static void processes_expect(struct job_of_ranks *job, enum status status)
{
    for (int rank = 0; rank < job->ranks; rank++) {
        int how;
        if (rank == job->victim)
            continue;
        assert_int_equal(job->outcome[rank].pid, waitpid(job->outcome[rank].pid, &how, 0));
        assert_true(WIFEXITED(how));
        if (job->outcome[rank].status != status)
            print_error("victim %d, rank %d: %s\n", job->victim, rank, job->outcome[rank].message);
        assert_int_equal(status, job->outcome[rank].status);
    }
    if (job->victim >= 0) {
        kill(job->outcome[job->victim].pid, SIGKILL);
        waitpid(job->outcome[job->victim].pid, NULL, 0);
    }
}

enum { FAMILY = 7 }; /* a tree of two children each: three ranks are neither root nor leaf, or so */

/* Until all ranks sleep, or are about to. */
static void nap_begin(struct job_of_ranks *job)
{
    atomic_store(&job->pace, NAP);
    for (int i = 0, through = -1; i < 200 && through != atomic_load(&job->through); i++) {
        through = atomic_load(&job->through);
        usleep(50000);
    }
    atomic_store(&job->pace, GO_ON);
}

/* One job for each victim, all at once; returns when the signal was sent. */
static double strike(struct job_of_ranks *jobs[FAMILY], double timeout, enum pace pace, int signal)
{
    for (int victim = 0; victim < FAMILY; victim++) {
        jobs[victim] = job_create(FAMILY, 2, timeout);
        jobs[victim]->victim = victim;
        processes_start(jobs[victim]);
    }
    for (int victim = 0; victim < FAMILY; victim++)
        processes_await(jobs[victim]);
    for (int victim = 0; victim < FAMILY && pace == NAP; victim++)
        nap_begin(jobs[victim]);
    double began = clock_seconds();
    for (int victim = 0; victim < FAMILY; victim++)
        kill(jobs[victim]->outcome[victim].pid, signal);
    return began;
}

/* The dead one alone is named, wherever it stood, and all others end with the verdict. */
static void test_any_rank_dies(void **state)
{
    (void)state;
    struct job_of_ranks *jobs[FAMILY];
    double began = strike(jobs, 5, GO_ON, SIGKILL);
    for (int victim = 0; victim < FAMILY; victim++)
        processes_expect(jobs[victim], STATUS_TIMEOUT);
    assert_true(clock_seconds() - began < 1 + SLACK);
    for (int victim = 0; victim < FAMILY; victim++) {
        if (victim > 0) {
            assert_int_equal(1, jobs[victim]->outcome[0].errors);
            assert_int_equal(victim, jobs[victim]->outcome[0].culprit);
            assert_non_null(strstr(jobs[victim]->outcome[0].message, "is gone"));
        }
        job_free(jobs[victim]);
    }
}

/* The stopped one alone is silent: those behind it speak to rank 0 themselves. */
static void test_any_rank_is_stopped(void **state)
{
    (void)state;
    struct job_of_ranks *jobs[FAMILY];
    double began = strike(jobs, 2, GO_ON, SIGSTOP);
    for (int victim = 0; victim < FAMILY; victim++)
        processes_expect(jobs[victim], STATUS_TIMEOUT);
    assert_true(clock_seconds() - began < 2 + SLACK);
    for (int victim = 0; victim < FAMILY; victim++) {
        const struct outcome *root = &jobs[victim]->outcome[0];
        if (victim > 0) {
            assert_int_equal(victim, root->culprit);
            assert_non_null(strstr(root->message, "is silent"));
            assert_null(strstr(root->message, "; so "));
        }
        job_free(jobs[victim]);
    }
}

/* One that goes on in time is nobody's fault. Meanwhile the others wake up, and those behind it say
 * on two ways that they are in the next exchange: it counts once. */
static void test_any_rank_pauses(void **state)
{
    (void)state;
    struct job_of_ranks *jobs[FAMILY];
    strike(jobs, 5, NAP, SIGSTOP);
    usleep(2500000);
    for (int victim = 0; victim < FAMILY; victim++) {
        struct job_of_ranks *job = jobs[victim];
        int through = atomic_load(&job->through);
        kill(job->outcome[victim].pid, SIGCONT);
        for (int i = 0; i < 2000 && atomic_load(&job->through) < through + 20; i++)
            usleep(5000);
        assert_true(atomic_load(&job->through) >= through + 20);
        job->victim = -1;
    }
    usleep(500000); /* a verdict would have come by now */
    for (int victim = 0; victim < FAMILY; victim++)
        atomic_store(&jobs[victim]->pace, STOP);
    for (int victim = 0; victim < FAMILY; victim++) {
        processes_expect(jobs[victim], STATUS_OK);
        assert_int_equal(0, jobs[victim]->outcome[0].errors);
        job_free(jobs[victim]);
    }
}

/* ---- many ---- */

static enum status short_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    struct blobs blobs;
    int rank = control_rank(control);
    enum status status = control_allgather(control, &rank, sizeof rank, &blobs);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < blobs.count; i++)
        if (blobs.size[i] != sizeof i || memcmp(blobs.data[i], &i, sizeof i) != 0)
            status = STATUS_WRONG_DATA;
    blobs_free(&blobs);
    if (status == STATUS_OK)
        status = control_barrier(control);
    return control_finish(control, status);
}

static void test_many_ranks(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 10 * MANY) {
        print_message("%d ranks need %d file descriptors\n", MANY, 10 * MANY);
        skip();
    }
    struct job_of_ranks *job = job_create(MANY, 0, 60);
    job->life = short_life;
    double began = clock_seconds();
    job_expect(job, STATUS_OK);
    job->fan_out = CONTROL_FAN_OUT;
    check_shape(job);
    print_message("%d ranks in %.2f s; rank 0 held %d sockets at most, %d of them of ranks\n", MANY,
                  clock_seconds() - began, job->outcome[0].sockets_most,
                  job->outcome[0].branches_most);
    job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_trees),          cmocka_unit_test(test_any_rank_is_heard),
        cmocka_unit_test(test_missing_ranks),       cmocka_unit_test(test_strangers_at_all_ranks),
        cmocka_unit_test(test_unreachable_parents), cmocka_unit_test(test_any_rank_dies),
        cmocka_unit_test(test_any_rank_is_stopped), cmocka_unit_test(test_any_rank_pauses),
        cmocka_unit_test(test_many_ranks),
    };
    if (getenv("ONLY"))
        cmocka_set_test_filter(getenv("ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
