/*
 * test_view.c - compares messages and views with lists of their elements. Checks that packed
 * scratch keeps the order of its elements.
 * tier: check; load: cpu1
 */
#include "collective/schedule/internal.h"
#include "collective/schedule/schedule.h"
#include "tests/unit/schedules.h"

#include <stdlib.h>

#define ELEMENTS 4096 /* of every buffer, and at most in a list */
#define TRIALS   3000

/* The elements of a message, one by one: buffer * ELEMENTS + offset. */
struct elements {
    size_t count;
    uint32_t at[ELEMENTS];
};

static void elements_add(struct elements *list, struct message message)
{
    for (size_t s = 0; s < message.count; s++)
        for (size_t t = 0; t < message.spans[s].times; t++)
            for (size_t i = 0; i < message.spans[s].run; i++) {
                const struct span *span = &message.spans[s];
                assert_true(list->count < ELEMENTS);
                list->at[list->count++] =
                    (uint32_t)(span->buffer * ELEMENTS + span->offset + t * span->stride + i);
            }
}

static struct elements elements_of(struct message message)
{
    struct elements list = {.count = 0};
    elements_add(&list, message);
    assert_int_equal(list.count, message_length(message));
    return list;
}

static void check_elements(struct message message, const struct elements *list, size_t first,
                           size_t length)
{
    struct elements own = elements_of(message);
    assert_int_equal(own.count, length);
    assert_memory_equal(own.at, list->at + first, length * sizeof *own.at);
}

static size_t below(size_t most)
{
    return (size_t)rand() % most;
}

/* Empty, contiguous and strided spans, also ones whose stride is their run; up to 15 spans. */
static struct message message_draw(struct builder *b)
{
    size_t count = below(16);
    struct span *spans = builder_draft(b, (count + 1) * sizeof *spans);
    for (size_t i = 0; i < count; i++) {
        size_t run = below(6), stride = run + below(4);
        spans[i] = (struct span){.buffer = (enum buffer)below(3),
                                 .offset = below(500),
                                 .run = run,
                                 .stride = stride,
                                 .times = below(3) ? 1 : below(6)};
    }
    return (struct message){.spans = spans, .count = count};
}

static struct builder *builder_new(void)
{
    struct problem problem = {
        .collective = collective_of(COLLECTIVE_ALLTOALL), .ranks = 4, .count = ELEMENTS / 4};
    struct builder *b = builder_create(&problem, 0);
    assert_non_null(b);
    return b;
}

static void builder_drop(struct builder *b)
{
    struct schedule *schedule;
    assert_int_equal(builder_finish(b, true, &schedule), STATUS_OK);
    schedule_free(schedule);
}

static void parts_are_parts(void **state)
{
    struct builder *b = builder_new();
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct message message = message_draw(b);
        struct elements list = elements_of(message);
        size_t first = below(list.count + 1), length = below(list.count - first + 1);
        check_elements(message_part(b, message, first, length), &list, first, length);
        check_elements(message_part(b, message, 0, list.count), &list, 0, list.count);
        assert_int_equal(message_length(message_part(b, message, first, 0)), 0);
    }
    builder_drop(b);
}

static void joined_stands_in_order(void **state)
{
    struct builder *b = builder_new();
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct message messages[5];
        struct elements list = {.count = 0};
        int count = 1 + (int)below(5);
        for (int i = 0; i < count; i++) {
            messages[i] = message_draw(b);
            elements_add(&list, messages[i]);
        }
        check_elements(message_join(b, messages, count), &list, 0, list.count);
    }
    builder_drop(b);
}

static struct view view_draw(struct builder *b, int blocks)
{
    struct message *messages = message_array(b, blocks);
    for (int i = 0; i < blocks; i++)
        messages[i] = message_draw(b);
    return (struct view){messages, blocks};
}

/* The slice rule: count / blocks each, the first count mod blocks one more. */
static void cut_by_the_slice_rule(void **state)
{
    struct builder *b = builder_new();
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct view view = view_draw(b, 1 + (int)below(4));
        struct elements list = elements_of(view_all(b, &view));
        int blocks = 1 + (int)below(9);
        struct view cut = view_cut(b, &view, blocks);
        size_t at = 0, base = list.count / (size_t)blocks, extra = list.count % (size_t)blocks;
        assert_int_equal(cut.blocks, blocks);
        for (int i = 0; i < blocks; i++) {
            size_t length = base + ((size_t)i < extra);
            check_elements(view_block(&cut, i), &list, at, length);
            at += length;
        }
        assert_int_equal(at, list.count);
    }
    builder_drop(b);
}

/* The slices of a block are its elements, in order. Those of a long block begin at multiples of 128
 * elements, and none is longer than another by more than 128. A shorter block is cut as evenly as
 * can be. Longer slices come first. */
static void check_slices(size_t length, int channels)
{
    bool is_long = length >= 128 * (size_t)channels;
    size_t at = 0, least = SIZE_MAX, most = 0;
    for (int c = 0; c < channels; c++) {
        struct slice slice = channel_slice(length, c, channels);
        size_t whole = is_long ? slice.length / 128 : slice.length;
        size_t before = c == 0 ? SIZE_MAX : channel_slice(length, c - 1, channels).length;
        assert_int_equal(slice.first, at);
        assert_true(!is_long || slice.first % 128 == 0);
        assert_true(whole <= (is_long ? before / 128 : before));
        at += slice.length;
        least = slice.length < least ? slice.length : least;
        most = slice.length > most ? slice.length : most;
    }
    assert_int_equal(at, length);
    assert_in_range(most - least, 0, is_long ? 128 : 1);
}

static const int channel_counts[] = {1, 2, 3, 7, 64};
#define CHANNEL_COUNTS (sizeof channel_counts / sizeof *channel_counts)

static void slices_are_even_and_begin_at_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHANNEL_COUNTS; i++) {
        int channels = channel_counts[i];
        size_t border = 128 * (size_t)channels;
        for (size_t length = 0; length <= border + 1000; length++)
            check_slices(length, channels);
        for (size_t length = 2 * border - 2; length <= 2 * border + 2; length++)
            check_slices(length, channels);
        check_slices((size_t)1 << 40, channels);
        check_slices(((size_t)1 << 40) + 1, channels);
    }
}

/* Examples: the length of a block, and that of the first of its two slices. */
static void slices_of_two_channels(void **state)
{
    static const struct {
        size_t length, first;
    } rows[] = {{0, 0},     {1, 1},     {3, 2},     {255, 128}, {256, 128},
                {257, 128}, {383, 128}, {384, 256}, {511, 256}, {512, 256}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(channel_slice(rows[i].length, 0, 2).length, rows[i].first);
        assert_int_equal(channel_slice(rows[i].length, 1, 2).first, rows[i].first);
        assert_int_equal(channel_slice(rows[i].length, 1, 2).length,
                         rows[i].length - rows[i].first);
    }
}

/* Strided blocks, too, some short and some long. */
static void channels_take_their_slices(void **state)
{
    struct builder *b = builder_new();
    (void)state;
    for (int trial = 0; trial < TRIALS / 10; trial++) {
        struct span spans[3];
        struct message messages[3];
        for (int i = 0; i < 3; i++) {
            spans[i] = (struct span){.run = 1 + below(40), .times = 1 + below(30)};
            spans[i].stride = spans[i].run + below(40);
            messages[i] = (struct message){&spans[i], 1};
        }
        struct view view = {messages, 3};
        int channels = channel_counts[below(CHANNEL_COUNTS)];
        for (int c = 0; c < channels; c++) {
            struct view taken = view_channel(b, &view, c, channels);
            assert_int_equal(taken.blocks, 3);
            for (int i = 0; i < 3; i++) {
                struct elements list = elements_of(messages[i]);
                struct slice slice = channel_slice(list.count, c, channels);
                check_elements(view_block(&taken, i), &list, slice.first, slice.length);
            }
        }
    }
    builder_drop(b);
}

static void blocks_are_chosen(void **state)
{
    struct builder *b = builder_new();
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        int blocks = 1 + (int)below(8), count = (int)below(10), which[10];
        struct view view = view_draw(b, blocks);
        for (int i = 0; i < count; i++)
            which[i] = (int)below(40) - 20;
        struct view chosen = view_select(b, &view, which, count);
        assert_int_equal(chosen.blocks, count);
        for (int i = 0; i < count; i++) {
            int index = ((which[i] % blocks) + blocks) % blocks;
            struct elements list = elements_of(view.messages[index]);
            check_elements(view_block(&chosen, i), &list, 0, list.count);
        }
        /* first, first + step, ... */
        int first = (int)below(40) - 20, step = (int)below(10) - 5, many = (int)below(5);
        struct elements list = {.count = 0};
        for (int i = 0; i < many; i++)
            elements_add(&list, view_block(&view, first + i * step));
        check_elements(view_blocks(b, &view, first, step, many), &list, 0, list.count);
    }
    builder_drop(b);
}

static void bundles_hold_each(void **state)
{
    struct builder *b = builder_new();
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        int each = 1 + (int)below(3), count = 1 + (int)below(3);
        struct view view = view_draw(b, each * count);
        struct view bundles = view_bundle(b, &view, each);
        assert_int_equal(bundles.blocks, count);
        for (int i = 0; i < count; i++) {
            struct elements list = {.count = 0};
            for (int j = 0; j < each; j++)
                elements_add(&list, view.messages[i * each + j]);
            check_elements(view_block(&bundles, i), &list, 0, list.count);
        }
    }
    builder_drop(b);
}

/* Scratch. */

#define PEER 1

/* One rank receives into all `messages`; its schedule. */
static struct schedule *scratch_receive(const struct message *messages, size_t count, size_t room)
{
    struct builder *b = builder_new();
    struct group g = builder_group(b);
    struct schedule *schedule;
    view_scratch_block(b, room);
    for (size_t i = 0; i < count; i++)
        put_recv(b, &g, PEER, messages[i]);
    assert_int_equal(builder_finish(b, true, &schedule), STATUS_OK);
    return schedule;
}

static struct span scratch_span(size_t offset, size_t run, size_t stride, size_t times)
{
    return (struct span){BUFFER_SCRATCH, offset, run, stride, times};
}

static void untouched_scratch_takes_no_room(void **state)
{
    (void)state;
    struct schedule *schedule = scratch_receive(NULL, 0, 1000);
    assert_int_equal(schedule->extent[BUFFER_SCRATCH], 0);
    schedule_free(schedule);

    const struct span ends[] = {scratch_span(0, 3, 3, 1), scratch_span(990, 10, 10, 1)};
    schedule = scratch_receive(&(struct message){ends, 2}, 1, 1000);
    assert_int_equal(schedule->extent[BUFFER_SCRATCH], 13);
    schedule_free(schedule);

    /* All that lies between the runs of a span stays with it; a span may lie in the gaps. */
    const struct span comb = scratch_span(100, 2, 10, 5), tooth = scratch_span(114, 3, 3, 1);
    const struct message both[] = {{&comb, 1}, {&tooth, 1}};
    schedule = scratch_receive(both, 2, 1000);
    assert_int_equal(schedule->extent[BUFFER_SCRATCH], 42);
    assert_int_equal(schedule->operations[0].to.spans[0].offset, 0);
    assert_int_equal(schedule->operations[0].to.spans[0].stride, 10);
    assert_int_equal(schedule->operations[1].to.spans[0].offset, 14);
    schedule_free(schedule);
}

/* Whatever is touched: elements keep their order, those that were one are one, those that were two
 * are two, those within one span their distance, and there is no more room than what is touched
 * and what lies between the runs. */
static void relations_are_kept(void **state)
{
    static int moved_to[ELEMENTS];
    (void)state;
    srand(1);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct span spans[8];
        struct message messages[8];
        bool covered[ELEMENTS] = {false};
        size_t count = 1 + below(8), room = 0;
        for (size_t i = 0; i < count; i++) {
            size_t run = 1 + below(8), times = 1 + below(4);
            spans[i] = scratch_span(below(300), run, run + below(10), times);
            messages[i] = (struct message){&spans[i], 1};
            size_t end = spans[i].offset + (times - 1) * spans[i].stride + run;
            memset(covered + spans[i].offset, true, end - spans[i].offset);
        }
        for (size_t at = 0; at < ELEMENTS; at++)
            room += covered[at];
        struct schedule *schedule = scratch_receive(messages, count, 1000);
        assert_int_equal(schedule->extent[BUFFER_SCRATCH], room);
        for (size_t at = 0; at < ELEMENTS; at++)
            moved_to[at] = -1;
        for (size_t i = 0; i < count; i++) {
            struct elements before = elements_of(messages[i]);
            struct elements after = elements_of(schedule->operations[i].to);
            assert_int_equal(before.count, after.count);
            for (size_t e = 0; e < before.count; e++) {
                int *to = &moved_to[before.at[e] - BUFFER_SCRATCH * ELEMENTS];
                int now = (int)after.at[e] - BUFFER_SCRATCH * ELEMENTS;
                assert_in_range(now, 0, (int)room - 1);
                assert_true(*to == -1 || *to == now);
                *to = now;
                assert_int_equal(before.at[e] - before.at[0], after.at[e] - after.at[0]);
            }
        }
        int last = -1;
        for (size_t at = 0; at < ELEMENTS; at++)
            if (moved_to[at] >= 0) {
                assert_true(moved_to[at] > last);
                last = moved_to[at];
            }
        schedule_free(schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_parts),
        cmocka_unit_test(joined_stands_in_order),
        cmocka_unit_test(cut_by_the_slice_rule),
        cmocka_unit_test(slices_are_even_and_begin_at_units),
        cmocka_unit_test(slices_of_two_channels),
        cmocka_unit_test(channels_take_their_slices),
        cmocka_unit_test(blocks_are_chosen),
        cmocka_unit_test(bundles_hold_each),
        cmocka_unit_test(untouched_scratch_takes_no_room),
        cmocka_unit_test(relations_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
