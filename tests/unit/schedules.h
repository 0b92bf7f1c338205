/*
 * schedules.h - base of the tests of schedules: the schedules of all ranks, from an algorithm or
 * written by hand, and ways to break them.
 */
#ifndef CCTEST_TEST_SCHEDULES_H
#define CCTEST_TEST_SCHEDULES_H

#include "base/arena.h"
#include "base/log.h"
#include "collective/prove/prove.h"
#include "collective/schedule/schedule.h"
#include "shake.h"
#include "problems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* last: its fail() is not that of log.h */

#define RANKS_MOST 257

struct program {
    int ranks;
    struct schedule *schedules[RANKS_MOST];
};

#define PROGRAM(program) (const struct schedule *const *)(program)->schedules, (program)->ranks

static inline void program_free(struct program *program)
{
    for (int r = 0; r < program->ranks; r++)
        schedule_free(program->schedules[r]);
    program->ranks = 0;
}

/* All ranks' schedules of an algorithm with the standard options. */
static inline void program_build(struct program *program, enum collective_id collective,
                                 const char *algorithm, int ranks, size_t count, bool in_place,
                                 int channels)
{
    struct choice choice;
    struct problem problem = {.collective = collective_of(collective),
                              .ranks = ranks,
                              .count = count,
                              .in_place = in_place};

    assert_non_null(algorithm_find(collective, algorithm));
    choice = choice_of(algorithm_find(collective, algorithm));
    program->ranks = ranks;
    for (int r = 0; r < ranks; r++)
        assert_int_equal(
            schedule_build(&choice, &problem, r, channels, true, &program->schedules[r]),
            STATUS_OK);
}

/* A row of a test's table of programs. */
struct schedule_sample {
    enum collective_id collective;
    const char *algorithm;
    int ranks;
    size_t count;
    bool in_place;
    int channels;
};

static inline void sample_build(struct program *program, const struct schedule_sample *sample)
{
    program_build(program, sample->collective, sample->algorithm, sample->ranks, sample->count,
                  sample->in_place, sample->channels);
}

/* A hand-written program: called for each rank. */
struct page {
    struct builder *b;
    struct group g;
    struct view source, destination; /* with one block for each rank, or as wanted: see blocks */
    int p, r;
    int variant; /* which way to break it; 0: right */
};
typedef void page_writer(const struct page *page);

static inline void program_write(struct program *program, enum collective_id collective, int ranks,
                                 size_t count, bool in_place, page_writer *writer, int variant)
{
    struct problem problem = {.collective = collective_of(collective),
                              .ranks = ranks,
                              .count = count,
                              .in_place = in_place};

    program->ranks = ranks;
    for (int r = 0; r < ranks; r++) {
        struct builder *b = builder_create(&problem, r);

        assert_non_null(b);
        struct page page = {.b = b,
                            .g = builder_group(b),
                            .source = builder_view(b, BUFFER_SOURCE),
                            .destination = builder_view(b, BUFFER_DESTINATION),
                            .p = ranks,
                            .r = r,
                            .variant = variant};
        writer(&page);
        assert_int_equal(builder_finish(b, true, &program->schedules[r]), STATUS_OK);
    }
}

/* The operations of a rank, to be changed. They and what hangs on them live as long as the
 * schedule. */
static inline struct operation *program_open(struct program *program, int rank)
{
    struct schedule *schedule = program->schedules[rank];
    size_t bytes = schedule->count * sizeof(struct operation);
    struct operation *operations = arena_take(schedule->memory, bytes);

    assert_non_null(operations);
    memcpy(operations, schedule->operations, bytes);
    schedule->operations = operations;
    return operations;
}

/* The spans of a message of an opened operation, to be changed. */
static inline struct span *message_open(struct program *program, int rank, struct message *message)
{
    size_t bytes = message->count * sizeof(struct span);
    struct span *spans = arena_take(program->schedules[rank]->memory, bytes);

    assert_non_null(spans);
    memcpy(spans, message->spans, bytes);
    message->spans = spans;
    return spans;
}

/* The `index`th operation of a kind in a rank's program. */
static inline size_t operation_nth(const struct program *program, int rank,
                                   enum operation_kind kind, int index)
{
    const struct schedule *schedule = program->schedules[rank];

    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->operations[i].kind == kind && index-- == 0)
            return i;
    fail_msg("rank %d has too few operations of kind %s", rank, operation_names[kind]);
    return 0;
}

/* The verifier says yes. */
static inline void assert_right(const struct program *program)
{
    struct verification verification;

    verify(PROGRAM(program), false, &verification);
    if (!verification.right)
        fail_msg("%s", verification.error);
    verification_free(&verification);
}

/* The verifier says no, in a sentence that contains `words`. */
static inline void assert_wrong(const struct program *program, const char *words)
{
    struct verification verification;

    verify(PROGRAM(program), false, &verification);
    if (verification.right || !strstr(verification.error, words))
        fail_msg("said \"%s\" instead of \"%s\"", verification.right ? "right" : verification.error,
                 words);
    print_message("    %s\n", verification.error);
    verification_free(&verification);
}

/* The shaker says yes to seeds 0 .. seeds - 1. */
static inline void assert_firm(const struct program *program, int seeds)
{
    char error[512];

    for (int seed = 0; seed < seeds; seed++)
        if (!shake(PROGRAM(program), (uint64_t)seed, error, sizeof(error)))
            fail_msg("seed %d: %s", seed, error);
}

/* The first of `seeds` seeds that the shaker says no to, or -1. */
static inline int program_shatters(const struct program *program, int seeds, char *error,
                                   size_t size)
{
    for (int seed = 0; seed < seeds; seed++)
        if (!shake(PROGRAM(program), (uint64_t)seed, error, size))
            return seed;
    return -1;
}

#endif
