/*
 * test_control_maxima.c - maxima of many words: in pieces, so that no buffer grows with the words
 * or keeps what it grew to; and when a relay sends on what it holds.
 * tier: check; load: wait
 */
#include "tests/unit/jobs.h"

#include <sys/socket.h>

#include "controlplane/control/control.h"
#include "controlplane/control/internal.h"

#define RANKS 5

/* ---- pieces ---- */

/* A rank, and how many there are. */
struct place {
    int rank, ranks;
};

static void place_lay(const void *argument, size_t first, size_t count, uint64_t *to)
{
    const struct place *place = argument;
    for (size_t i = 0; i < count; i++)
        to[i] = word_write(place->rank, (int)((first + i) % 1000), place->ranks, 0);
}

static enum status many_life(struct control *control, struct job_of_ranks *job)
{
    static const size_t counts[] = {0, 1, CONTROL_WORDS_MOST - 1, CONTROL_WORDS_MOST,
                                    2 * CONTROL_WORDS_MOST + 7};
    int rank = control_rank(control), ranks = job->ranks;
    const struct place place = {rank, ranks};
    enum status status = STATUS_OK;
    uint64_t *words = rank == 0 ? calloc(3 * CONTROL_WORDS_MOST, sizeof *words) : NULL;
    assert_true(words || rank > 0);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && status == STATUS_OK; c++) {
        status = exchange_maximum(control, place_lay, &place, counts[c], "test", words);
        for (size_t i = 0; i < counts[c] && rank == 0 && status == STATUS_OK; i++)
            if (words[i] >> 40 != (uint64_t)ranks - 1) /* one rank has that in each place */
                status = STATUS_WRONG_DATA;
    }
    free(words);
    return control_finish(control, status);
}

/* Each word becomes the greatest in its place, also at the edges of a piece. */
static void test_pieces(void **state)
{
    (void)state;
    for (int fan_out = 1; fan_out <= RANKS; fan_out += 2) {
        struct job_of_ranks *job = job_create(RANKS, fan_out, 20);
        job->life = many_life;
        job_expect(job, STATUS_OK);
        job_free(job);
    }
}

/* The message of a relay that holds words of these ranks. */
static bool decodes(const uint32_t *ranks, uint32_t count, size_t behind)
{
    struct bytes bytes = {0};
    struct maxima_message message;
    bytes_put_u32(&bytes, 7);
    bytes_put_u32(&bytes, count);
    for (uint32_t i = 0; i < count; i++)
        bytes_put_u32(&bytes, ranks[i]);
    bytes_put(&bytes, "0123456789abcdef", behind);
    bool decoded = maxima_decode(bytes.data, bytes.size, RANKS, &message);
    bytes_free(&bytes);
    return decoded;
}

/* Each rank is named once, in ascending order, and none that is not there. */
static void test_message(void **state)
{
    (void)state;
    assert_true(decodes((const uint32_t[]){0, 1, 2, 3, 4}, RANKS, 16));
    assert_true(decodes((const uint32_t[]){4}, 1, 0));
    assert_false(decodes((const uint32_t[]){1, 1}, 2, 16));
    assert_false(decodes((const uint32_t[]){2, 1}, 2, 16));
    assert_false(decodes((const uint32_t[]){RANKS}, 1, 16));
    assert_false(decodes((const uint32_t[]){0, 1, 2, 3, 4, 5}, RANKS + 1, 16));
    assert_false(decodes(NULL, 0, 16));
    assert_false(decodes((const uint32_t[]){1}, 1, 15));
}

static enum status too_many_life(struct control *control, struct job_of_ranks *job)
{
    uint64_t word = 0;
    (void)job;
    return control_fail(control, control_maximum(control, &word, CONTROL_WORDS_MOST + 1, "test"));
}

/* The sentence is not about memory, of which there is enough, and no word is read. */
static void test_too_many(void **state)
{
    (void)state;
    struct job_of_ranks *job = job_create(1, 0, 5);
    job->life = too_many_life;
    job_expect(job, STATUS_ERROR);
    assert_string_equal("32769 test words are more than one exchange may have (32768)",
                        job->outcome[0].message);
    job_free(job);
}

/* ---- buffers ---- */

/* A large frame is sent and taken; both ends then hold little. */
static void test_buffers(void **state)
{
    (void)state;
    enum { LARGE = 3 << 20 };
    struct wire from = {.fd = -1}, to = {.fd = -1};
    struct frame frame;
    const struct aead_keys keys = {0};
    int sockets[2];
    char *data = calloc(1, LARGE);
    enum frame_state state_of = FRAME_PART;
    assert_non_null(data);
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets));
    wire_connect(&from, sockets[0], &keys);
    wire_connect(&to, sockets[1], &keys);
    assert_true(wire_put(&from, 1, FRAME_SHARE, data, LARGE));
    while (state_of == FRAME_PART) {
        assert_true(wire_flush(&from));
        assert_true(wire_fill(&to));
        state_of = wire_take(&to, &frame);
    }
    assert_int_equal(FRAME_WHOLE, state_of);
    assert_int_equal(LARGE, frame.size);
    assert_int_equal(FRAME_PART, wire_take(&to, &frame));
    assert_true(from.out.capacity <= 1 << 18);
    assert_true(to.in.capacity <= 1 << 18);
    wire_close(&from);
    wire_close(&to);
    free(data);
}

/* ---- a relay ---- */

static void maxima_come(struct relay *relay, double now, uint32_t number, int rank)
{
    static const uint64_t words[2] = {1, 2};
    struct bytes bytes = {0};
    relay->control->helper.now = now;
    maxima_encode(number, rank, words, 2, &bytes);
    assert_true(relay_take_maxima(relay, bytes.data, bytes.size));
    bytes_free(&bytes);
}

/* Words that do not fit to those that it holds wait as long as any: from when they came. */
static void test_waits(void **state)
{
    (void)state;
    struct control control = {.membership = {.rank = 1, .ranks = RANKS}, .heartbeat = 0.5};
    struct relay relay = {.control = &control, .uplink = UPLINK_ISOLATED}; /* it sends nothing */
    relay.behind = calloc(RANKS, sizeof *relay.behind);
    assert_non_null(relay.behind);
    maxima_open(&relay.maxima, RANKS);
    maxima_come(&relay, 1, 0, 2);
    maxima_come(&relay, 1.4, 1, 3);
    assert_int_equal(1, relay.maxima.number);
    control.helper.now = 1.8; /* longer since the first came, but not since this one */
    relay_tend_maxima(&relay);
    assert_int_equal(1, relay.maxima.held);
    control.helper.now = 2;
    relay_tend_maxima(&relay);
    assert_int_equal(0, relay.maxima.held);
    maxima_close(&relay.maxima);
    free(relay.behind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message),  cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_waits),
    };
    return cmocka_run_group_tests_name("control, maxima", tests, NULL, NULL);
}
