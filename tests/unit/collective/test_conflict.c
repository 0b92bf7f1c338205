/*
 * test_conflict.c - waits are exact: on random programs, every two touches of one element of which
 * one writes are ordered by the waits, directly or through others, and every wait is between such
 * touches.
 * tier: check; load: cpu1
 */
#include "tests/unit/order_graph.h"

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

#define COUNT  8 /* elements of a block */
#define RANKS  3
#define LENGTH 6 /* of every message here */
#define PIECES 3

/* A message of one to three spans, some of them strided, that has no element twice. */
static struct message random_message(uint64_t *state, struct span spans[PIECES], bool writes)
{
    size_t extent[BUFFERS] = {COUNT, RANKS * COUNT, COUNT};
    size_t left = LENGTH, count = 0;
    enum buffer buffer = (enum buffer)draw(state, BUFFERS);

    if (writes && buffer == BUFFER_SOURCE)
        buffer = BUFFER_DESTINATION;
    size_t least = 0; /* spans of a buffer ascend, so they do not overlap */
    while (left > 0) {
        size_t room = extent[buffer] - least, most = left < 3 ? left : 3;
        size_t run = count == PIECES - 1 ? left : 1 + draw(state, (unsigned)most);
        size_t stride = run + draw(state, 2);
        size_t times = count < PIECES - 1 && 2 * run <= left && stride + run + left <= room
                           ? 1 + draw(state, 2)
                           : 1;
        size_t used = (times - 1) * stride + run;
        size_t slack = room - used - (left - run * times);

        spans[count] = (struct span){.buffer = buffer,
                                     .offset = least + draw(state, (unsigned)slack / 2 + 1),
                                     .run = run,
                                     .stride = stride,
                                     .times = times};
        least = spans[count].offset + used;
        left -= run * times;
        count++;
    }
    return (struct message){spans, count};
}

/* The places that a message's elements have in memory: source and destination share one. */
static void message_places(const struct schedule *schedule, struct message message,
                           size_t at[LENGTH])
{
    size_t i = 0;

    for (size_t s = 0; s < message.count; s++)
        for (size_t t = 0; t < message.spans[s].times; t++)
            for (size_t k = 0; k < message.spans[s].run; k++, i++)
                at[i] = (size_t)schedule->storage[message.spans[s].buffer] * 1000 +
                        schedule->base[message.spans[s].buffer] + message.spans[s].offset +
                        t * message.spans[s].stride + k;
    for (; i < LENGTH; i++)
        at[i] = SIZE_MAX - i; /* nowhere */
}

static bool apart(const size_t a[LENGTH], const size_t b[LENGTH])
{
    for (int i = 0; i < LENGTH; i++)
        for (int j = 0; j < LENGTH; j++)
            if (a[i] == b[j])
                return false;
    return true;
}

static struct message message_scale(struct message message, struct span *spans, size_t scale)
{
    for (size_t s = 0; s < message.count; s++) {
        spans[s] = message.spans[s];
        spans[s].offset *= scale;
        spans[s].run *= scale;
        spans[s].stride *= scale;
    }
    return (struct message){spans, message.count};
}

/* Allgather in place, where the source lies inside the destination, so that buffers overlap. The
 * other rank's program is of no interest. Each element stands for `scale` of them. */
static struct schedule *random_program(uint64_t seed, unsigned operations, size_t scale)
{
    struct problem problem = {.collective = collective_of(COLLECTIVE_ALLGATHER),
                              .ranks = RANKS,
                              .count = COUNT * scale,
                              .in_place = true};
    struct builder *b = builder_create(&problem, 1);
    struct group g = builder_group(b);
    struct schedule *schedule, where = {.base = {COUNT, 0, 0}, .storage = {1, 1, 2}};

    view_scratch_block(b, COUNT * scale);
    for (unsigned n = 0; n < operations; n++) {
        struct span spans[3][PIECES], scaled[3][PIECES];
        size_t at[3][LENGTH];
        struct message to = random_message(&seed, spans[0], true);
        struct message from = random_message(&seed, spans[1], false);
        struct message with = draw(&seed, 3) ? random_message(&seed, spans[2], false) : to;
        unsigned kind = draw(&seed, 5);

        message_places(&where, to, at[0]);
        message_places(&where, from, at[1]);
        message_places(&where, with, at[2]);
        if (!apart(at[0], at[1]) || (with.spans != to.spans && !apart(at[0], at[2])))
            continue;
        to = message_scale(to, scaled[0], scale);
        from = message_scale(from, scaled[1], scale);
        with = message_scale(with, scaled[2], scale);
        if (kind == 0)
            put_copy(b, &g, to, from);
        else if (kind == 1)
            put_send(b, &g, 0, from);
        else if (kind == 2)
            put_recv(b, &g, 2, to);
        else if (kind == 3)
            put_recv_reduce(b, &g, 2, to, with);
        else
            put_reduce(b, &g, to, from, with);
    }
    assert_int_equal(builder_finish(b, true, &schedule), STATUS_OK);
    return schedule;
}

static bool touch(const size_t places[3][LENGTH], size_t element, size_t place, bool *writes)
{
    *writes = places[0][element] == place;
    return *writes || places[1][element] == place || places[2][element] == place;
}

/* Do the two elements touch one place, and one of them writes it? */
static bool conflict(const size_t a[3][LENGTH], size_t i, const size_t b[3][LENGTH], size_t j)
{
    for (int m = 0; m < 3; m++) {
        size_t place = a[m][i];
        bool a_writes, b_writes;

        if (place < SIZE_MAX - LENGTH && touch(b, j, place, &b_writes) &&
            touch(a, i, place, &a_writes) && (a_writes || b_writes))
            return true;
    }
    return false;
}

static int check_random_program(struct schedule *schedule)
{
    static size_t at[OPERATIONS_MOST][3][LENGTH];
    static struct places places;
    struct program program = {.ranks = 1, .schedules = {schedule}};
    struct graph graph;
    int conflicts = 0;

    graph_open(&graph, places_number(&places, &program));
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];

        message_places(schedule, operation->to, at[i][0]);
        message_places(schedule, operation->from, at[i][1]);
        message_places(schedule, operation->with, at[i][2]);
        add_ascent(&graph, operation, places.of[0][i]);
        add_waits(&graph, &places, 0, operation, places.of[0][i]);
        for (size_t w = 0; w < operation->wait_count; w++) {
            const struct wait *wait = &operation->waits[w];

            for (size_t k = 0; k < wait->length; k++)
                assert_true(conflict(at[wait->operation], wait->past + k, at[i], wait->at + k));
        }
        for (size_t j = 0; j < i; j++)
            for (size_t x = 0; x < LENGTH; x++)
                for (size_t y = 0; y < LENGTH; y++)
                    if (conflict(at[j], x, at[i], y)) {
                        conflicts++;
                        assert_true(graph_orders(&graph, places.of[0][j] + (uint32_t)x,
                                                 places.of[0][i] + (uint32_t)y, 0, 0));
                    }
    }
    graph_close(&graph);
    return conflicts;
}

static void waits_are_exact(void **state)
{
    int conflicts = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct schedule *schedule = random_program(seed, 40, 1);

        conflicts += check_random_program(schedule);
        schedule_free(schedule);
    }
    print_message("    300 random programs with %d conflicting touches\n", conflicts);
    assert_true(conflicts > 10000);
}

/* Ends that are far apart are found in another way than those that are near each other. */
static void waits_scale(void **state)
{
    const size_t scale = 1000;
    size_t waits = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct schedule *near = random_program(seed, 40, 1), *far = random_program(seed, 40, scale);

        assert_int_equal(near->count, far->count);
        for (size_t i = 0; i < near->count; i++) {
            const struct operation *a = &near->operations[i], *b = &far->operations[i];

            assert_int_equal(a->wait_count, b->wait_count);
            for (size_t w = 0; w < a->wait_count; w++, waits++) {
                assert_int_equal(a->waits[w].operation, b->waits[w].operation);
                assert_int_equal(a->waits[w].at * scale, b->waits[w].at);
                assert_int_equal(a->waits[w].past * scale, b->waits[w].past);
                assert_int_equal(a->waits[w].length * scale, b->waits[w].length);
            }
        }
        schedule_free(near);
        schedule_free(far);
    }
    assert_true(waits > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_exact),
        cmocka_unit_test(waits_scale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
