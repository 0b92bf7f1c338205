/*
 * test_tree_guests.c - what comes to the listeners of all ranks: strangers, and ranks of the job,
 * made by hand, that do what no rank should, or never arrive.
 */
#include "guests.h"

#include <limits.h>
#include <unistd.h>

#include "host.h"

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

/* ---- strangers ---- */

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
    hello_fill(&hello, &membership, "same");
    hello.home = *home;
    return guest_call(job, &hello);
}

/* What rank 0 says first to one that has come: where it belongs. */
static int guest_parent(int fd)
{
    struct wire wire = {.fd = fd};
    struct frame frame;
    struct redirect redirect;
    guest_await(&wire, FRAME_REDIRECT, &frame);
    assert_true(redirect_decode(frame.data, frame.size, INT_MAX, &redirect));
    bytes_free(&wire.in);
    return redirect.parent;
}

/* Of those that were sent elsewhere and are not heard there, rank 0 says who and where they are. */
static void test_strayed_ranks(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(4, 1, 1);
    char host[80], words[400];
    job->life = exchange_life;
    assert_true(threads_start(job, 0, 1));
    int first = guest_join(job, 1, &job->home);
    assert_int_equal(0, guest_parent(first));
    int second = guest_join(job, 2, &job->home);
    assert_int_equal(1, guest_parent(second));
    close(second);
    threads_expect(job, 0, 1, STATUS_TIMEOUT);
    host_name(host, sizeof host);
    snprintf(words, sizeof words, "2 of 4 ranks did not join within 1 s: ranks 2, 3; were they ");
    assert_non_null(strstr(job->outcome[0].message, words));
    snprintf(words, sizeof words,
             "not arrived there: rank 2 (host %s, pid %d) to rank 1 (host %s, pid %d)", host,
             (int)getpid(), host, (int)getpid());
    assert_non_null(strstr(job->outcome[0].message, words));
    close(first);
    job_free(job);
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
    guest_await(&wire, FRAME_WELCOME, &frame);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_ranks),
        cmocka_unit_test(test_strayed_ranks),
        cmocka_unit_test(test_strangers_at_all_ranks),
        cmocka_unit_test(test_unreachable_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
