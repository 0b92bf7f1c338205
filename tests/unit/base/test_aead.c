/*
 * test_aead.c - sealed frames behind the handshake, with a man in the middle: a frame that is
 * changed, repeated, moved or redirected is never accepted.
 * tier: check; load: cpu1
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/control/control.h"
#include "base/net/net.h"

enum { MOST = 65536, TEXT = 8, FRAME = 4 + 5 + TEXT + 16 };

/* Two ranks after a handshake that the man in the middle carried unchanged. */
struct meeting {
    int between[2]; /* its sockets to each of them */
    struct wire wires[2];
};

static bool carry(int from, int to)
{
    unsigned char bytes[MOST];
    ssize_t size = recv(from, bytes, sizeof bytes, 0);
    if (size > 0)
        assert_int_equal(size, send(to, bytes, (size_t)size, 0));
    return size > 0;
}

static void meeting_open(struct meeting *meeting)
{
    static const unsigned char secret[SECRET_BYTES] = "one secret";
    struct handshake *handshakes[2];
    enum handshake_state states[2] = {HANDSHAKE_PENDING, HANDSHAKE_PENDING};
    int fd[2];
    for (int end = 0; end < 2; end++) {
        int pair[2];
        assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
        fd[end] = pair[0];
        meeting->between[end] = pair[1];
        handshakes[end] = handshake_create(pair[0], end == 1, secret, "control", "hello", 5);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (int end = 0; end < 2; end++) {
            if (states[end] == HANDSHAKE_PENDING)
                states[end] = handshake_step(handshakes[end]);
            moved |= carry(meeting->between[end], meeting->between[!end]);
        }
    }
    for (int end = 0; end < 2; end++) {
        assert_int_equal(HANDSHAKE_DONE, states[end]);
        meeting->wires[end] = (struct wire){0};
        wire_connect(&meeting->wires[end], fd[end], handshake_keys(handshakes[end]));
        handshake_free(handshakes[end]);
    }
}

static void meeting_close(struct meeting *meeting)
{
    for (int end = 0; end < 2; end++) {
        wire_close(&meeting->wires[end]);
        close(meeting->between[end]);
    }
}

/* One end says as many things, each TEXT bytes, which come out in `said`. */
static void say_frames(struct meeting *meeting, int end, int count, unsigned char *said)
{
    for (int i = 0; i < count; i++) {
        char text[TEXT + 1];
        snprintf(text, sizeof text, "word %3d", i % 1000);
        assert_true(wire_put(&meeting->wires[end], end, FRAME_SHARE, text, TEXT));
    }
    assert_true(wire_flush(&meeting->wires[end]) && !wire_pending(&meeting->wires[end]));
    assert_int_equal(count * FRAME, recv(meeting->between[end], said, MOST, 0));
}

/* The other end gets these bytes: how many frames it takes, and what comes after them. */
static enum frame_state hear(struct meeting *meeting, int end, const void *bytes, size_t size,
                             int *taken)
{
    struct frame frame;
    enum frame_state state;
    assert_int_equal(size, send(meeting->between[end], bytes, size, 0));
    assert_true(wire_fill(&meeting->wires[end]));
    for (*taken = 0; (state = wire_take(&meeting->wires[end], &frame)) == FRAME_WHOLE; ++*taken) {
        char text[TEXT + 1];
        snprintf(text, sizeof text, "word %3d", *taken % 1000);
        assert_int_equal(FRAME_SHARE, frame.type);
        assert_int_equal(!end, frame.rank);
        assert_int_equal(TEXT, frame.size);
        assert_memory_equal(text, frame.data, TEXT);
    }
    return state;
}

static void test_whole(void **state)
{
    (void)state;
    enum { MANY = 300 };
    struct meeting meeting;
    unsigned char said[MOST];
    int taken;
    meeting_open(&meeting);
    for (int end = 0; end < 2; end++) {
        say_frames(&meeting, end, MANY, said);
        assert_null(memmem(said, (size_t)MANY * FRAME, "word", 4));
        assert_int_equal(FRAME_PART, hear(&meeting, !end, said, (size_t)MANY * FRAME, &taken));
        assert_int_equal(MANY, taken);
    }
    meeting_close(&meeting);
}

/* A relay that carried the handshake cannot send in the name of either end. */
static void test_words_of_a_relay(void **state)
{
    (void)state;
    static const char verdict[] = "\x0c\0\0\0\0\0\0\0\x08\x03\0\0\0\0\0\0\0\0\0\0\0";
    struct aead_keys zero = {0};
    for (int encrypted = 0; encrypted < 2; encrypted++) {
        struct meeting meeting;
        unsigned char words[100] = {0};
        size_t size = sizeof verdict - 1;
        int taken;
        memcpy(words, verdict, size);
        if (encrypted)
            aead_encrypt(&zero.out, words + 4, size - 4);
        meeting_open(&meeting);
        assert_int_equal(FRAME_FORGED, hear(&meeting, 0, words, size + AEAD_TAG_BYTES, &taken));
        assert_int_equal(0, taken);
        meeting_close(&meeting);
    }
}

static void test_flipped_bits(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 8 * FRAME; bit++) {
        struct meeting meeting;
        unsigned char said[MOST];
        int taken;
        meeting_open(&meeting);
        say_frames(&meeting, 0, 2, said);
        said[FRAME + bit / 8] ^= (unsigned char)(1 << bit % 8);
        enum frame_state last = hear(&meeting, 1, said, 2 * FRAME, &taken);
        assert_int_equal(1, taken);
        /* One that seems to be longer may wait for the rest. */
        assert_true(last == FRAME_FORGED || (last == FRAME_PART && bit / 8 < 4));
        meeting_close(&meeting);
    }
}

/* The frames 0 .. 3 of the one end, in that order: how many are taken, before one is refused. */
static void carried(const char *order, int expected)
{
    struct meeting meeting;
    unsigned char said[MOST], words[MOST];
    size_t count = strlen(order);
    int taken;
    meeting_open(&meeting);
    say_frames(&meeting, 0, 4, said);
    for (size_t i = 0; i < count; i++)
        memcpy(words + i * FRAME, said + (order[i] - '0') * FRAME, FRAME);
    assert_int_equal(FRAME_FORGED, hear(&meeting, 1, words, count * FRAME, &taken));
    assert_int_equal(expected, taken);
    /* And it goes on refusing. */
    assert_int_equal(FRAME_FORGED, hear(&meeting, 1, said + expected * FRAME, FRAME, &taken));
    assert_int_equal(0, taken);
    meeting_close(&meeting);
}

static void test_repeated_and_moved(void **state)
{
    (void)state;
    carried("00", 1);
    carried("0120", 3);
    carried("1", 0);
    carried("102", 0);
    carried("013", 2);
}

/* Frames of one end are not for itself, nor for another connection of the two. */
static void test_other_ways(void **state)
{
    (void)state;
    struct meeting meeting, other;
    unsigned char said[MOST];
    int taken;
    meeting_open(&meeting);
    meeting_open(&other);
    say_frames(&meeting, 0, 1, said);
    assert_int_equal(FRAME_FORGED, hear(&meeting, 0, said, FRAME, &taken));
    assert_int_equal(FRAME_FORGED, hear(&other, 1, said, FRAME, &taken));
    assert_int_equal(FRAME_PART, hear(&meeting, 1, said, FRAME, &taken));
    assert_int_equal(1, taken);
    meeting_close(&meeting);
    meeting_close(&other);
}

/* A frame that was put before there was a connection goes over it; one that had begun to leave over
 * another does not. */
static void test_another_way(void **state)
{
    (void)state;
    struct meeting first, second;
    unsigned char said[MOST];
    struct wire wire = {.fd = -1};
    int taken;
    meeting_open(&first);
    meeting_open(&second);
    assert_true(wire_put(&wire, 0, FRAME_SHARE, "word   0", TEXT));
    wire_connect(&wire, first.wires[0].fd, &first.wires[0].keys);
    assert_true(wire_flush(&wire) && !wire_pending(&wire));
    assert_int_equal(FRAME, recv(first.between[0], said, sizeof said, 0));
    assert_int_equal(FRAME_PART, hear(&first, 1, said, FRAME, &taken));
    assert_int_equal(1, taken);

    static char large[1 << 24];
    assert_true(wire_put(&wire, 0, FRAME_SHARE, large, sizeof large));
    assert_true(wire_flush(&wire) && wire_pending(&wire));
    assert_true(wire_put(&wire, 0, FRAME_SHARE, "word   0", TEXT));
    wire_connect(&wire, second.wires[0].fd, &second.wires[0].keys);
    assert_true(wire_flush(&wire) && !wire_pending(&wire));
    assert_int_equal(FRAME, recv(second.between[0], said, sizeof said, 0));
    assert_int_equal(FRAME_PART, hear(&second, 1, said, FRAME, &taken));
    assert_int_equal(1, taken);
    bytes_free(&wire.out);
    meeting_close(&first);
    meeting_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),        cmocka_unit_test(test_words_of_a_relay),
        cmocka_unit_test(test_flipped_bits), cmocka_unit_test(test_repeated_and_moved),
        cmocka_unit_test(test_other_ways),   cmocka_unit_test(test_another_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
