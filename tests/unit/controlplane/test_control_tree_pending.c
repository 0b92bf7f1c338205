/*
 * test_control_tree_pending.c - what connects to the listeners of all ranks: foreign processes, and
 * ranks of the job, made by hand, that never arrive, are unreachable, or do not forward frames.
 * tier: check; load: wait
 */
#include "tests/unit/pending.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "base/host.h"

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

/* ---- rejected connections ---- */

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

static uint64_t rejected_by_all(const struct job_of_ranks *job)
{
    uint64_t sum = 0;
    for (int rank = 0; rank < job->ranks; rank++)
        sum += job->outcome[rank].rejected;
    return sum;
}

static void test_rejected_at_all_ranks(void **state)
{
    (void)state;
    enum { RANKS = 8, PORTS_MOST = 100 };
    struct job_of_ranks *job = job_create(RANKS, 2, 10);
    struct address list[PORTS_MOST];
    job->life = exchange_life;
    assert_true(threads_start(job, 0, RANKS - 1));
    int each = job->listeners.count, count = 0;
    for (int i = 0; i < 1000 && count < (RANKS - 1) * each; i++, usleep(5000))
        count = listening(list, PORTS_MOST) - (RANKS - 1); /* each rank acceptor keeps a spare */
    count = listening(list, PORTS_MOST);
    for (int i = 0; i < count; i++) {
        char byte;
        int fd = socket_connect(&list[i], 0);
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
    assert_int_equal(count, rejected_by_all(job));
    job_free(job);
}

/* A rank of the job, made by hand, calls one of the others. */
static struct wire pending_arrive(const struct job_of_ranks *job, int rank, const char *options,
                                  enum join_reason reason, const struct address_list *home,
                                  const struct address *where)
{
    struct membership membership = membership_of(job, rank);
    struct join_request request;
    join_request_fill(&request, &membership, options);
    request.home = *home;
    request.reason = reason;
    return pending_call(job, &request, where);
}

/* It calls rank 0, and says that it listens at `home`. */
static struct wire pending_join(const struct job_of_ranks *job, int rank,
                                const struct address_list *home)
{
    return pending_arrive(job, rank, "same", JOIN_FIRST, home, &job->home.list[0]);
}

static bool is_home(const struct address_list *home, const struct address *address)
{
    for (int i = 0; i < home->count; i++)
        if (home->list[i].port == address->port)
            return true;
    return false;
}

/* A process that knows the secret, but has no place below a rank, is rejected there. */
static void test_wrong_ranks_below(void **state)
{
    (void)state;
    static const struct {
        int rank;
        const char *options;
    } wrong[] = {{0, "same"}, {1, "same"}, {3, "same"}, {-1, "same"}, {2, "others"}};
    enum { WRONG = sizeof wrong / sizeof wrong[0], PORTS_MOST = 100 };
    struct job_of_ranks *job = job_create(3, 1, 10);
    struct address list[PORTS_MOST];
    const struct address *below = NULL;
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 2));
    for (int i = 0; i < 1000 && !below; i++, usleep(5000))
        for (int j = listening(list, PORTS_MOST) - 1; j >= 0; j--)
            if (!is_home(&job->home, &list[j]))
                below = &list[j];
    assert_non_null(below);
    for (size_t i = 0; i < WRONG; i++) {
        char byte;
        struct wire wire =
            pending_arrive(job, wrong[i].rank, wrong[i].options, JOIN_FIRST, &job->home, below);
        struct pollfd set = {.fd = wire.fd, .events = POLLIN};
        assert_int_equal(1, poll(&set, 1, 5000));
        assert_true(recv(wire.fd, &byte, 1, 0) <= 0);
        wire_close(&wire);
    }
    assert_true(threads_start(job, 2, 3));
    threads_expect(job, 0, 3, STATUS_OK);
    assert_int_equal(WRONG, rejected_by_all(job));
    job_free(job);
}

/* The parent of a rank that has come: rank 0 says first where it belongs. */
static int pending_parent(struct wire *wire)
{
    struct frame frame;
    struct redirect redirect;
    pending_await(wire, FRAME_REDIRECT, &frame);
    assert_true(redirect_decode(frame.data, frame.size, INT_MAX, &redirect));
    return redirect.parent;
}

/* Rank 0 names the ranks that did not arrive at their parents, and their hosts. */
static void test_strayed_ranks(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(4, 1, 1);
    char host[80], words[400];
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 1));
    struct wire first = pending_join(job, 1, &job->home);
    assert_int_equal(0, pending_parent(&first));
    struct wire second = pending_join(job, 2, &job->home);
    assert_int_equal(1, pending_parent(&second));
    wire_close(&second);
    threads_expect(job, 0, 1, STATUS_TIMEOUT);
    host_name(host, sizeof host);
    snprintf(words, sizeof words, "2 of 4 ranks did not join within 1 s: ranks 2, 3; were they ");
    assert_non_null(strstr(job->outcome[0].message, words));
    snprintf(words, sizeof words,
             "not arrived there: rank 2 (host %s, pid %d) to rank 1 (host %s, pid %d)", host,
             (int)getpid(), host, (int)getpid());
    assert_non_null(strstr(job->outcome[0].message, words));
    wire_close(&first);
    job_free(job);
}

/* A rank that calls again gives its place back, and gets another, though not below itself. */
static void test_places(void **state)
{
    (void)state;
    static const struct {
        int rank, parent;
        enum join_reason reason;
    } comes[] = {{1, 0, JOIN_FIRST}, {2, 0, JOIN_FIRST}, {3, 1, JOIN_FIRST},
                 {4, 1, JOIN_FIRST}, {5, 2, JOIN_FIRST}, {3, 1, JOIN_FIRST},
                 {6, 2, JOIN_FIRST}, {7, 3, JOIN_FIRST}, {3, 4, JOIN_AGAIN}};
    enum { COMES = sizeof comes / sizeof comes[0] };
    struct job_of_ranks *job = job_create(9, 2, 5);
    struct wire wires[COMES];
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 1));
    for (int i = 0; i < COMES; i++) {
        wires[i] = pending_arrive(job, comes[i].rank, "same", comes[i].reason, &job->home,
                                  &job->home.list[0]);
        assert_int_equal(comes[i].parent, pending_parent(&wires[i]));
    }
    for (int i = 0; i < COMES; i++)
        wire_close(&wires[i]);
    threads_expect(job, 0, 1, STATUS_TIMEOUT);
    job_free(job);
}

/* A rank that calls again before it knows that it was accepted is still one process, also when all
 * have joined already. Another process that claims the same rank is not. */
static void test_calls_again(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(3, 2, 8);
    struct wire calls[3];
    struct frame frame;
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 1));
    for (int i = 0; i < 3; i++) {
        calls[i] = pending_join(job, 1, &job->home);
        assert_int_equal(0, pending_parent(&calls[i]));
        if (i == 1)
            assert_true(threads_start(job, 2, 3));
        if (i > 0)
            pending_await(&calls[i], FRAME_WELCOME, &frame);
    }
    struct address_list other = job->home;
    other.list[0].port++;
    struct wire wire = pending_join(job, 1, &other);
    pending_await(&wire, FRAME_REFUSED, &frame);
    wire_close(&wire);
    for (int i = 0; i < 3; i++)
        wire_close(&calls[i]);
    threads_expect(job, 2, 3, STATUS_TIMEOUT);
    threads_expect(job, 0, 1, STATUS_TIMEOUT);
    assert_int_equal(1, job->outcome[0].bottleneck);
    job_free(job);
}

/* The others are sent to a rank that they cannot reach, and find another place. */
static void unreachable_parent(const struct address_list *home)
{
    struct job_of_ranks *job = job_create(5, 2, 8);
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 1));
    struct wire wire = pending_join(job, 1, home);
    assert_true(threads_start(job, 2, 5));
    struct frame frame;
    pending_await(&wire, FRAME_WELCOME, &frame);
    wire_close(&wire);
    threads_expect(job, 2, 5, STATUS_TIMEOUT);
    threads_expect(job, 0, 1, STATUS_TIMEOUT);
    assert_int_equal(1, job->outcome[0].bottleneck);
    assert_int_equal(1, job->outcome[0].errors);
    assert_int_equal(2, job->outcome[0].child_links_most);
    job_free(job);
}

static void test_unreachable_parents(void **state)
{
    (void)state;
    struct listeners listeners;
    struct address_list home;
    assert_int_equal(STATUS_OK, addresses_listen(NULL, true, &listeners, &home));
    unreachable_parent(&home); /* it accepts connections, and sends nothing */
    listeners_close(&listeners);
    unreachable_parent(&home);
}

/* ---- a parent that does not forward frames ---- */

/* Forwards the frames of `from`; was a WELCOME among them? */
static bool carry(struct wire *from, struct wire *to)
{
    struct frame frame;
    bool welcome = false;
    struct pollfd set = {.fd = from->fd, .events = POLLIN};
    poll(&set, 1, 1);
    wire_fill(from);
    while (wire_take(from, &frame) == FRAME_WHOLE) {
        wire_put(to, frame.rank, frame.type, frame.data, frame.size);
        welcome |= frame.type == FRAME_WELCOME;
    }
    wire_flush(to);
    return welcome;
}

/* Rank 2 joins through rank 1, which from then on only says `type`: to rank 2 again and again that
 * it lives, or once that it is alone, or to rank 0, when rank 2 speaks there itself, that it is
 * lost. */
static struct job_of_ranks *deaf_parent(enum status (*life)(struct control *,
                                                            struct job_of_ranks *),
                                        int type, enum status status)
{
    struct job_of_ranks *job = job_create(3, 1, 2);
    struct listeners listeners;
    struct address_list home;
    struct bytes last_word = {0};
    job->victim = 2;
    job->life = life;
    assert_int_equal(STATUS_OK, addresses_listen(NULL, true, &listeners, &home));
    assert_true(threads_start(job, 0, 1));
    struct wire up = pending_join(job, 1, &home);
    assert_int_equal(0, pending_parent(&up));
    assert_true(threads_start(job, 2, 3));
    struct wire below = pending_answer(job, &listeners, 1);
    while (!carry(&up, &below))
        carry(&below, &up);
    notice_encode(&(struct notice){.status = STATUS_TIMEOUT, .text = "it is cut off"}, &last_word);
    for (int i = 0; i < 200; i++, usleep(10000)) {
        if (type == FRAME_HEARTBEAT)
            wire_put(&below, 1, type, NULL, 0);
        else if (type == FRAME_LOST && i == 160)
            wire_put(&up, 2, type, NULL, 0);
        else if (type == FRAME_ISOLATED && i == 0)
            wire_put(&below, 1, type, last_word.data, last_word.size);
        wire_flush(&below);
        wire_flush(&up);
    }
    threads_expect(job, 2, 3, status);
    threads_expect(job, 0, 1, status);
    bytes_free(&last_word);
    wire_close(&below);
    wire_close(&up);
    listeners_close(&listeners);
    return job;
}

static enum status waiting_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    return all_meet(control);
}

/* A parent that lost rank 0 takes no child with it, whatever it sends. */
static void test_deaf_parent(void **state)
{
    (void)state;
    static const int types[] = {FRAME_HEARTBEAT, FRAME_ISOLATED, FRAME_LOST};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct job_of_ranks *job = deaf_parent(waiting_life, types[i], STATUS_TIMEOUT);
        assert_int_equal(1, job->outcome[0].bottleneck);
        assert_non_null(strstr(job->outcome[0].message, "sent no heartbeat"));
        assert_null(strstr(job->outcome[0].message, "; also silent"));
        job_free(job);
    }
}

/* A failure that a parent does not forward is sent again. */
static void test_failure_behind_a_deaf_parent(void **state)
{
    (void)state;
    struct job_of_ranks *job = deaf_parent(failing_life, FRAME_HEARTBEAT, STATUS_UNAVAILABLE);
    assert_int_equal(2, job->outcome[0].bottleneck);
    job_free(job);
}

static enum status patient_life(struct control *control, struct job_of_ranks *job)
{
    usleep(500000);
    return exchange_life(control, job);
}

/* A rank that connects to rank 0 because its parent is silent, and closes the connection before it
 * knows that it was accepted, is not lost. */
static void test_hung_up(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(3, 1, 10);
    job->life = patient_life;
    assert_true(threads_start(job, 0, 3));
    usleep(250000);
    for (int i = 0; i < 3; i++) {
        struct wire wire =
            pending_arrive(job, 2, "same", JOIN_ORPHANED, &job->home, &job->home.list[0]);
        wire_close(&wire);
    }
    threads_expect(job, 0, 3, STATUS_OK);
    job_free(job);
}

/* Rank 1 calls, and dies before it knows that it was accepted, perhaps when the job runs already.
 * No supervisor says so. */
static void test_dies_as_it_calls(void **state)
{
    (void)state;
    for (int begun = 0; begun < 2; begun++) {
        struct job_of_ranks *job = job_create(2, 1, 60);
        struct join_request request;
        struct membership membership = membership_of(job, 1);
        struct wire first = {.fd = -1};
        struct frame frame;
        struct timespec began, ended;
        job->life = exchange_life;
        assert_true(threads_start(job, 0, 1));
        if (begun) {
            first = pending_join(job, 1, &job->home);
            pending_await(&first, FRAME_WELCOME, &frame);
        }
        join_request_fill(&request, &membership, "same");
        if (begun)
            request.home = job->home;
        struct wire wire = shake_hands(job, socket_connect(&job->home.list[0], 0), false, &request);
        pending_await(&wire, FRAME_REDIRECT, &frame);
        wire_close(&wire);
        clock_gettime(CLOCK_MONOTONIC, &began);
        threads_expect(job, 0, 1, STATUS_TIMEOUT);
        clock_gettime(CLOCK_MONOTONIC, &ended);
        assert_in_range(ended.tv_sec - began.tv_sec, 4, 60);
        assert_int_equal(1, job->outcome[0].bottleneck);
        assert_non_null(strstr(job->outcome[0].message,
                               begun ? "is gone" : ") was lost when 1 of 2 ranks had joined"));
        wire_close(&first);
        job_free(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_ranks),
        cmocka_unit_test(test_strayed_ranks),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_calls_again),
        cmocka_unit_test(test_rejected_at_all_ranks),
        cmocka_unit_test(test_wrong_ranks_below),
        cmocka_unit_test(test_unreachable_parents),
        cmocka_unit_test(test_deaf_parent),
        cmocka_unit_test(test_failure_behind_a_deaf_parent),
        cmocka_unit_test(test_hung_up),
        cmocka_unit_test(test_dies_as_it_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
