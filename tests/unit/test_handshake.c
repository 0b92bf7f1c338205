/*
 * test_handshake.c - who knows the secret gets in; everybody else is turned away, and told apart.
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

#include "control/control.h"
#include "net/handshake.h"

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

/* Two ends that know the secret, and somebody between them. All is by who speaks: 0 connects. */
struct relay {
    struct pair ends[2];
    struct handshake *handshakes[2];
    enum handshake_state states[2];
    unsigned char said[2][4096];
    size_t said_size[2];
    int from;            /* whose words are carried now, */
    size_t carried, bit; /* and how many were; which one is to be changed */
};

static struct relay relay_open(const char *purpose, const char *hello, const char *answer)
{
    struct relay relay = {.ends = {pair_open(), pair_open()}};
    const char *hellos[] = {hello, answer};
    for (int end = 0; end < 2; end++)
        relay.handshakes[end] = handshake_create(relay.ends[end].fd[0], end == 1, secret, purpose,
                                                 hellos[end], strlen(hellos[end]));
    return relay;
}

/* Carries all from one to the other until both have ended, or nobody says anything; `change` looks
 * at what passes. */
static void relay_run(struct relay *relay, void (*change)(struct relay *, unsigned char *, size_t))
{
    for (int round = 0; round < 10; round++) {
        for (int from = 0; from < 2; from++) {
            if (relay->states[from] == HANDSHAKE_PENDING)
                relay->states[from] = handshake_step(relay->handshakes[from]);
            unsigned char *said = relay->said[from] + relay->said_size[from];
            ssize_t size = recv(relay->ends[from].fd[1], said, 4096 - relay->said_size[from], 0);
            if (size <= 0)
                continue;
            relay->from = from;
            relay->carried = relay->said_size[from];
            relay->said_size[from] += (size_t)size;
            if (change)
                change(relay, said, (size_t)size);
            assert_int_equal(size, send(relay->ends[!from].fd[1], said, (size_t)size, 0));
        }
    }
}

static void relay_close(struct relay *relay)
{
    for (int end = 0; end < 2; end++) {
        handshake_free(relay->handshakes[end]);
        pair_close(&relay->ends[end]);
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
    static const char *const hellos[] = {"a host's name", "another host's"};
    struct relay relay = relay_open("control", hellos[0], hellos[1]);
    relay_run(&relay, NULL);
    for (int end = 0; end < 2; end++) {
        assert_int_equal(HANDSHAKE_DONE, relay.states[end]);
        assert_int_equal(OPENING + CLAIM + strlen(hellos[end]), relay.said_size[end]);
        assert_null(memmem(relay.said[end], relay.said_size[end], "host", 4));
    }
    relay_close(&relay);
}

/* What a stranger hears who connects to an end that has this secret, and claims that it knows
 * it. */
static size_t heard_by_stranger(const unsigned char *known, unsigned char heard[4096])
{
    struct pair pair = pair_open();
    unsigned char said[OPENING + CLAIM + 5] = "cctest\3";
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

/* What who does not know the secret gets to see does not depend on it: where all that is random is
 * the same, two secrets look the same. So there is nothing against which to try guesses. */
static void test_stranger_learns_nothing(void **state)
{
    (void)state;
    static struct randombytes_implementation same = {
        .implementation_name = same_name, .random = same_number, .buf = same_bytes};
    unsigned char heard[2][4096];
    randombytes_set_implementation(&same);
    size_t size = heard_by_stranger(secret, heard[0]);
    assert_int_equal(size, heard_by_stranger(other_secret, heard[1]));
    randombytes_set_implementation(&randombytes_sysrandom_implementation);
    assert_int_equal(OPENING + 1, size); /* the opening, and a no */
    assert_memory_equal(heard[0], heard[1], size);
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
    memcpy(many, "cctest\3\0", 8);
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

static void flip(struct relay *relay, unsigned char *bytes, size_t size)
{
    if (relay->from == 0 && relay->bit / 8 >= relay->carried &&
        relay->bit / 8 < relay->carried + size)
        bytes[relay->bit / 8 - relay->carried] ^= (unsigned char)(1 << relay->bit % 8);
}

/* Any single bit that changes on the way is noticed by somebody. */
static void test_every_bit_counts(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 8 * (OPENING + CLAIM + 3); bit++) {
        struct relay relay = relay_open("control", "abc", "xyz");
        relay.bit = bit;
        relay_run(&relay, flip);
        for (int end = 0; end < 2; end++)
            assert_int_not_equal(HANDSHAKE_DONE, relay.states[end]);
        relay_close(&relay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_hello_is_private),
        cmocka_unit_test(test_stranger_learns_nothing),
        cmocka_unit_test(test_leaves_what_follows),
        cmocka_unit_test(test_other_secret),
        cmocka_unit_test(test_other_purpose),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_reflection),
        cmocka_unit_test(test_every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
