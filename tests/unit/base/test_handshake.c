/*
 * test_handshake.c - an end that knows the secret is accepted. Any other is refused, with the
 * reason.
 * tier: check; load: cpu1
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/control/control.h"
#include "base/net/net.h"

static const unsigned char secret[SECRET_BYTES] = "one secret";
static const unsigned char other_secret[SECRET_BYTES] = "another secret";

enum { OPENING = 40, CLAIM = 35 }; /* bytes; of a claim without its hello */

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

/* Two ends that know the secret, and a man in the middle. The index is the sending end: 0
 * connects. */
struct middle {
    struct pair ends[2];
    struct handshake *handshakes[2];
    enum handshake_state states[2];
    unsigned char said[2][4096];
    size_t said_size[2];
    int from;            /* the end whose bytes are carried now */
    size_t carried, bit; /* its bytes before these; the bit to be changed */
};

static struct middle middle_open(const char *purpose, const char *hello, const char *answer)
{
    struct middle middle = {.ends = {pair_open(), pair_open()}};
    const char *hellos[] = {hello, answer};
    for (int end = 0; end < 2; end++)
        middle.handshakes[end] = handshake_create(middle.ends[end].fd[0], end == 1, secret, purpose,
                                                  hellos[end], strlen(hellos[end]));
    return middle;
}

/* Carries all bytes between the ends until both have ended, or neither sends. `change` may change
 * them. */
static void middle_run(struct middle *middle,
                       void (*change)(struct middle *, unsigned char *, size_t))
{
    for (int round = 0; round < 10; round++) {
        for (int from = 0; from < 2; from++) {
            if (middle->states[from] == HANDSHAKE_PENDING)
                middle->states[from] = handshake_step(middle->handshakes[from]);
            unsigned char *said = middle->said[from] + middle->said_size[from];
            ssize_t size = recv(middle->ends[from].fd[1], said, 4096 - middle->said_size[from], 0);
            if (size <= 0)
                continue;
            middle->from = from;
            middle->carried = middle->said_size[from];
            middle->said_size[from] += (size_t)size;
            if (change)
                change(middle, said, (size_t)size);
            assert_int_equal(size, send(middle->ends[!from].fd[1], said, (size_t)size, 0));
        }
    }
}

static void middle_close(struct middle *middle)
{
    for (int end = 0; end < 2; end++) {
        handshake_free(middle->handshakes[end]);
        pair_close(&middle->ends[end]);
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

/* A stranger who only listens learns nothing of a rank: not its host, not its options. */
static void test_hello_is_private(void **state)
{
    (void)state;
    static const char *const hellos[] = {"a host's name", "another host's"};
    struct middle middle = middle_open("control", hellos[0], hellos[1]);
    middle_run(&middle, NULL);
    for (int end = 0; end < 2; end++) {
        assert_int_equal(HANDSHAKE_DONE, middle.states[end]);
        assert_int_equal(OPENING + CLAIM + strlen(hellos[end]), middle.said_size[end]);
        assert_null(memmem(middle.said[end], middle.said_size[end], "host", 4));
    }
    middle_close(&middle);
}

/* The answer to a client that connects to an end with this secret and falsely claims to know it. */
static size_t refusal_read(const unsigned char *known, unsigned char heard[4096])
{
    struct pair pair = pair_open();
    unsigned char said[OPENING + CLAIM + 5] = "cctest\4";
    memcpy(said + OPENING, "P\5", 3);
    struct handshake *handshake = handshake_create(pair.fd[1], true, known, "control", "hello", 5);
    assert_int_equal(sizeof said, send(pair.fd[0], said, sizeof said, 0));
    assert_int_equal(HANDSHAKE_REFUSED, handshake_step(handshake));
    ssize_t size = recv(pair.fd[0], heard, 4096, 0);
    handshake_free(handshake);
    pair_close(&pair);
    return (size_t)size;
}

static const char *same_name(void)
{
    return "the same";
}

static uint32_t same_number(void)
{
    return 7;
}

static void same_bytes(void *bytes, size_t size)
{
    memset(bytes, 7, size);
}

/* The answer to a client without the secret does not depend on the secret: with the same random
 * numbers, two secrets give the same answer. So the client cannot test guesses against it. */
static void test_refusal_reveals_nothing(void **state)
{
    (void)state;
    static struct randombytes_implementation same = {
        .implementation_name = same_name, .random = same_number, .buf = same_bytes};
    unsigned char heard[2][4096];
    randombytes_set_implementation(&same);
    size_t size = refusal_read(secret, heard[0]);
    assert_int_equal(size, refusal_read(other_secret, heard[1]));
    randombytes_set_implementation(&randombytes_sysrandom_implementation);
    assert_int_equal(OPENING + 1, size); /* the opening, and a no */
    assert_memory_equal(heard[0], heard[1], size);
}

/* Bytes that the caller sends right behind the handshake are left for the caller. */
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

/* All of the secret enters the proof. */
static void test_every_byte_of_the_secret(void **state)
{
    (void)state;
    for (int i = 0; i < SECRET_BYTES; i++) {
        unsigned char nearly[SECRET_BYTES];
        memcpy(nearly, secret, SECRET_BYTES);
        nearly[i] ^= 1;
        refuse(nearly, "control");
    }
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
    memcpy(many, "cctest\4\0", 8);
    memcpy(many + OPENING, "P\377\377", 3);
    assert_int_equal(HANDSHAKE_REFUSED, feed(many, OPENING + 3, false, reason));
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

static void flip(struct middle *middle, unsigned char *bytes, size_t size)
{
    if (middle->from == 0 && middle->bit / 8 >= middle->carried &&
        middle->bit / 8 < middle->carried + size)
        bytes[middle->bit / 8 - middle->carried] ^= (unsigned char)(1 << middle->bit % 8);
}

/* One of the ends notices any single bit that changes on the way. */
static void test_every_bit_counts(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 8 * (OPENING + CLAIM + 3); bit++) {
        struct middle middle = middle_open("control", "abc", "xyz");
        middle.bit = bit;
        middle_run(&middle, flip);
        for (int end = 0; end < 2; end++)
            assert_int_not_equal(HANDSHAKE_DONE, middle.states[end]);
        middle_close(&middle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_hello_is_private),
        cmocka_unit_test(test_refusal_reveals_nothing),
        cmocka_unit_test(test_leaves_what_follows),
        cmocka_unit_test(test_other_secret),
        cmocka_unit_test(test_every_byte_of_the_secret),
        cmocka_unit_test(test_other_purpose),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_reflection),
        cmocka_unit_test(test_every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
