/*
 * test_handshake.c - who knows the secret gets in; everybody else is turned away, and told apart.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "handshake.h"

static const unsigned char secret[SECRET_BYTES] = "one secret";
static const unsigned char other_secret[SECRET_BYTES] = "another secret";

struct pair {
    int fd[2];
};

static struct pair pair_open(void)
{
    struct pair pair;
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.fd));
    return pair;
}

static void pair_close(struct pair *pair)
{
    close(pair->fd[0]);
    close(pair->fd[1]);
}

/* Steps both until neither is pending, or `rounds` are over. */
static void run(struct handshake *a, struct handshake *b, enum handshake_state *of_a,
                enum handshake_state *of_b)
{
    *of_a = *of_b = HANDSHAKE_PENDING;
    for (int round = 0; round < 20; round++) {
        if (*of_a == HANDSHAKE_PENDING)
            *of_a = handshake_step(a);
        if (*of_b == HANDSHAKE_PENDING)
            *of_b = handshake_step(b);
    }
}

static void test_agree(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    char large[HANDSHAKE_HELLO_MOST];
    memset(large, 'x', sizeof large);
    struct handshake *a = handshake_create(pair.fd[0], false, secret, "control", "hello", 5);
    struct handshake *b =
        handshake_create(pair.fd[1], true, secret, "control", large, sizeof large);
    enum handshake_state of_a, of_b;
    run(a, b, &of_a, &of_b);
    assert_int_equal(HANDSHAKE_DONE, of_a);
    assert_int_equal(HANDSHAKE_DONE, of_b);
    size_t size;
    assert_memory_equal("hello", handshake_hello(b, &size), 5);
    assert_int_equal(5, size);
    assert_memory_equal(large, handshake_hello(a, &size), sizeof large);
    assert_int_equal(sizeof large, size);
    handshake_free(a);
    handshake_free(b);
    pair_close(&pair);
}

/* Who only listens learns nothing of a rank: not its host, not its options. */
static void test_hello_is_private(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    struct handshake *handshake =
        handshake_create(pair.fd[0], false, secret, "control", "a host's name", 13);
    assert_int_equal(HANDSHAKE_PENDING, handshake_step(handshake));
    char seen[4096];
    ssize_t size = recv(pair.fd[1], seen, sizeof seen, 0);
    assert_int_equal(42 + 13, size);
    assert_null(memmem(seen, (size_t)size, "host", 4));
    handshake_free(handshake);
    pair_close(&pair);
}

/* What the caller sends right behind the handshake is left for the caller. */
static void test_leaves_what_follows(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    struct handshake *a = handshake_create(pair.fd[0], false, secret, "data", NULL, 0);
    struct handshake *b = handshake_create(pair.fd[1], true, secret, "data", NULL, 0);
    enum handshake_state of_b = HANDSHAKE_PENDING;
    for (int round = 0; round < 5 && of_b == HANDSHAKE_PENDING; round++) {
        assert_int_equal(HANDSHAKE_PENDING, handshake_step(a));
        of_b = handshake_step(b);
    }
    assert_int_equal(HANDSHAKE_DONE, of_b);
    assert_int_equal(4, send(pair.fd[1], "next", 4, 0));
    assert_int_equal(HANDSHAKE_DONE, handshake_step(a));
    char next[8];
    assert_int_equal(4, recv(pair.fd[0], next, sizeof next, 0));
    assert_memory_equal("next", next, 4);
    handshake_free(a);
    handshake_free(b);
    pair_close(&pair);
}

static void refuse(const unsigned char *secret_b, const char *purpose_b)
{
    struct pair pair = pair_open();
    struct handshake *a = handshake_create(pair.fd[0], false, secret, "control", "a", 1);
    struct handshake *b = handshake_create(pair.fd[1], true, secret_b, purpose_b, "b", 1);
    enum handshake_state of_a, of_b;
    run(a, b, &of_a, &of_b);
    assert_int_equal(HANDSHAKE_REFUSED, of_a);
    assert_int_equal(HANDSHAKE_REFUSED, of_b);
    assert_string_equal("does not know this job's secret", handshake_reason(a));
    assert_string_equal("does not know this job's secret", handshake_reason(b));
    assert_false(handshake_lost(a));
    handshake_free(a);
    handshake_free(b);
    pair_close(&pair);
}

static void test_other_secret(void **state)
{
    (void)state;
    refuse(other_secret, "control");
}

static void test_other_purpose(void **state)
{
    (void)state;
    refuse(secret, "data");
}

/* Feeds raw bytes to an accepting end; returns how it ended, and its reason. */
static enum handshake_state feed(const void *bytes, size_t size, bool then_close, char reason[64])
{
    struct pair pair = pair_open();
    struct handshake *handshake = handshake_create(pair.fd[1], true, secret, "control", "b", 1);
    enum handshake_state state = HANDSHAKE_PENDING;
    for (size_t at = 0; at < size && state == HANDSHAKE_PENDING; at++) {
        assert_int_equal(1, send(pair.fd[0], (const char *)bytes + at, 1, 0));
        state = handshake_step(handshake);
    }
    if (then_close) {
        shutdown(pair.fd[0], SHUT_WR);
        state = handshake_step(handshake);
    }
    strcpy(reason, state == HANDSHAKE_REFUSED ? handshake_reason(handshake) : "");
    handshake_free(handshake);
    pair_close(&pair);
    return state;
}

static void test_strangers(void **state)
{
    (void)state;
    char reason[64];
    char many[4000];
    memset(many, 'z', sizeof many);
    assert_int_equal(HANDSHAKE_REFUSED, feed("GET / HTTP/1.0\r\n\r\n", 18, false, reason));
    assert_string_equal("did not speak cctest", reason);
    assert_int_equal(HANDSHAKE_REFUSED, feed(many, sizeof many, false, reason));
    assert_int_equal(HANDSHAKE_REFUSED, feed("cctest\7\0", 8, false, reason));
    assert_string_equal("is another version of cctest's protocol", reason);
    assert_int_equal(HANDSHAKE_PENDING, feed("cct", 3, false, reason));
    assert_int_equal(HANDSHAKE_REFUSED, feed("cct", 3, true, reason));
    assert_string_equal("closed the connection", reason);
    /* A hello that would not fit. */
    memcpy(many, "cctest\1\0", 8);
    memset(many + 8, 255, 34);
    assert_int_equal(HANDSHAKE_REFUSED, feed(many, 42, false, reason));
    assert_string_equal("did not speak cctest", reason);
}

/* Both ends connect to each other through a mirror: an end's own words are no proof. */
static void test_reflection(void **state)
{
    (void)state;
    struct pair pair = pair_open();
    struct handshake *handshake = handshake_create(pair.fd[0], false, secret, "control", "a", 1);
    enum handshake_state result = HANDSHAKE_PENDING;
    for (int round = 0; round < 10 && result == HANDSHAKE_PENDING; round++) {
        char echo[4096];
        result = handshake_step(handshake);
        ssize_t size = recv(pair.fd[1], echo, sizeof echo, 0);
        if (size > 0)
            assert_int_equal(size, send(pair.fd[1], echo, (size_t)size, 0));
    }
    assert_int_equal(HANDSHAKE_REFUSED, result);
    handshake_free(handshake);
    pair_close(&pair);
}

/* Any single bit that changes on the way is noticed by somebody. */
static void test_every_bit_counts(void **state)
{
    (void)state;
    const size_t opening = 42 + 3;
    for (size_t bit = 0; bit < 8 * opening; bit++) {
        struct pair left = pair_open(), right = pair_open();
        struct handshake *a = handshake_create(left.fd[0], false, secret, "control", "abc", 3);
        struct handshake *b = handshake_create(right.fd[0], true, secret, "control", "xyz", 3);
        enum handshake_state of_a = HANDSHAKE_PENDING, of_b = HANDSHAKE_PENDING;
        size_t carried = 0;
        for (int round = 0; round < 10; round++) {
            char bytes[4096];
            of_a = of_a == HANDSHAKE_PENDING ? handshake_step(a) : of_a;
            ssize_t size = recv(left.fd[1], bytes, sizeof bytes, 0);
            if (size > 0 && bit / 8 >= carried && bit / 8 < carried + (size_t)size)
                bytes[bit / 8 - carried] ^= (char)(1 << bit % 8);
            carried += size > 0 ? (size_t)size : 0;
            if (size > 0)
                assert_int_equal(size, send(right.fd[1], bytes, (size_t)size, 0));
            of_b = of_b == HANDSHAKE_PENDING ? handshake_step(b) : of_b;
            size = recv(right.fd[1], bytes, sizeof bytes, 0);
            if (size > 0)
                assert_int_equal(size, send(left.fd[1], bytes, (size_t)size, 0));
        }
        assert_int_not_equal(HANDSHAKE_DONE, of_a);
        assert_int_not_equal(HANDSHAKE_DONE, of_b);
        handshake_free(a);
        handshake_free(b);
        pair_close(&left);
        pair_close(&right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_hello_is_private),
        cmocka_unit_test(test_leaves_what_follows),
        cmocka_unit_test(test_other_secret),
        cmocka_unit_test(test_other_purpose),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_reflection),
        cmocka_unit_test(test_every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
