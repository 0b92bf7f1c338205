/*
 * test_acceptor.c - a connection that does not prove itself does not stay: not beyond its seconds,
 * and not beyond a moment where others wait.
 * tier: check; load: cpu1
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/net/net.h"

#define SECONDS 10

static const unsigned char secret[SECRET_BYTES] = "one secret";

static const char *admit_none(void *argument, int fd, const struct handshake *handshake)
{
    (void)argument, (void)fd, (void)handshake;
    return "came without being asked";
}

struct door {
    struct listeners listeners;
    struct address_list list;
    _Atomic uint64_t rejected;
    struct acceptor acceptor;
};

static void door_open(struct door *door, int most)
{
    *door = (struct door){0};
    assert_int_equal(STATUS_OK, addresses_listen(NULL, true, &door->listeners, &door->list));
    door->acceptor = (struct acceptor){.listeners = &door->listeners,
                                       .secret = secret,
                                       .purpose = "control",
                                       .seconds = SECONDS,
                                       .most = most,
                                       .spare = -1,
                                       .admit = admit_none,
                                       .rejected = &door->rejected};
    acceptor_open(&door->acceptor, 0);
}

static void door_close(struct door *door)
{
    acceptor_close(&door->acceptor);
    listeners_close(&door->listeners);
}

static int stranger_come(const struct door *door)
{
    struct sockaddr_storage there;
    socklen_t size = address_socket(&door->list.list[0], &there);
    int fd = socket(there.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&there, size));
    return fd;
}

/* Serves at the time `now`; returns how many connections are pending. */
static int pending_at(struct door *door, double now)
{
    struct pollfd set[ADDRESSES_MOST + 4];
    int count = acceptor_watch(&door->acceptor, set, now);
    poll(set, (nfds_t)count, 0);
    acceptor_serve(&door->acceptor, set, now);
    return door->acceptor.count;
}

/* Was the connection closed at the other end, after an opening at most? */
static bool is_dropped(int fd)
{
    char heard[4096];
    ssize_t size;
    while ((size = recv(fd, heard, sizeof heard, MSG_DONTWAIT)) > 0)
        ;
    return size == 0;
}

static void silence_ends(void **state)
{
    (void)state;
    struct door door;
    door_open(&door, 4);
    int stranger = stranger_come(&door);
    assert_int_equal(1, pending_at(&door, 100));
    assert_int_equal(1, pending_at(&door, 100 + SECONDS - 0.01));
    assert_false(is_dropped(stranger));
    assert_int_equal(0, pending_at(&door, 100 + SECONDS));
    assert_true(is_dropped(stranger));
    assert_int_equal(1, door.rejected);
    assert_non_null(strstr(door.acceptor.last_rejected, "did not answer"));
    close(stranger);
    door_close(&door);
}

/* Its time does not begin anew with each byte. */
static void slow_words_end(void **state)
{
    (void)state;
    struct door door;
    door_open(&door, 4);
    int stranger = stranger_come(&door);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(1, pending_at(&door, 100 + i * SECONDS / 8.0));
        assert_int_equal(1, send(stranger, &"cctest\4"[i], 1, 0));
    }
    assert_int_equal(0, pending_at(&door, 100 + SECONDS));
    assert_true(is_dropped(stranger));
    close(stranger);
    door_close(&door);
}

/* In a full table the oldest makes room, unless it is young itself. */
static void oldest_yields(void **state)
{
    (void)state;
    struct door door;
    door_open(&door, 1);
    int first = stranger_come(&door), second = -1;
    assert_int_equal(1, pending_at(&door, 100));
    second = stranger_come(&door);
    assert_int_equal(1, pending_at(&door, 100.05));
    assert_false(is_dropped(first));
    assert_int_equal(1, pending_at(&door, 100.2));
    assert_true(is_dropped(first));
    assert_false(is_dropped(second));
    assert_int_equal(1, door.rejected);
    close(first);
    close(second);
    door_close(&door);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_ends),
        cmocka_unit_test(slow_words_end),
        cmocka_unit_test(oldest_yields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
