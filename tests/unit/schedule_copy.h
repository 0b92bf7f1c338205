/*
 * schedule_copy.h - a file of schedules that a test has read, and what it makes for a problem.
 */
#ifndef CCTEST_TEST_SCHEDULE_COPY_H
#define CCTEST_TEST_SCHEDULE_COPY_H

#include "schedules.h"

#include <stdlib.h>

#include "collective/formats/formats.h"
#include "collective/formats/internal.h"

/* A file that was read. */
struct copy {
    struct arena *arena;
    struct file_plan *plans;
    size_t count;
    enum status status;
};

static struct log test_log;

typedef enum status reader(const char *path, const char *text, size_t size, struct arena *arena,
                           struct file_plan **plans, size_t *count);

static inline enum status json_read(const char *path, const char *text, size_t size,
                                    struct arena *arena, struct file_plan **plans, size_t *count)
{
    (void)size;
    return json_plans_read(path, text, arena, plans, count);
}

/* Reads and, if that is right, proves. */
static inline struct copy copy_read(reader *read, const char *text, int in_place)
{
    struct copy copy = {.arena = arena_create()};
    assert_non_null(copy.arena);
    log_init(&test_log, -1, 0);
    log_attach(&test_log);
    copy.status = read("x", text, strlen(text), copy.arena, &copy.plans, &copy.count);
    if (copy.status == STATUS_OK)
        copy.status =
            file_plan_prove(&copy.plans[0], in_place < 0 ? copy.plans[0].in_place : in_place != 0);
    return copy;
}

static inline void expect_copy(const struct copy *copy)
{
    if (copy->status != STATUS_OK)
        fail_msg("%s", test_log.failure.text);
}

static inline void copy_free(struct copy *copy)
{
    for (size_t i = 0; i < copy->count; i++)
        file_plan_free(&copy->plans[i]);
    arena_free(copy->arena);
}

/* Builds the schedules of a file for a problem. */
static inline bool file_builds(struct file_plan *plan, const struct problem *problem, int channels,
                               struct program *program)
{
    struct choice choice = file_plan_choice(plan);
    program->ranks = 0;
    for (int r = 0; r < problem->ranks; r++) {
        if (schedule_build(&choice, problem, r, channels, true, &program->schedules[r]) !=
            STATUS_OK)
            return false;
        program->ranks++;
    }
    return true;
}

static inline void expect_right(struct file_plan *plan, const struct problem *problem, int channels)
{
    struct program program;
    struct verification verification;
    char why[512] = "";
    if (!file_builds(plan, problem, channels, &program))
        fail_msg("%s", test_log.failure.text);
    verify(PROGRAM(&program), !problem->collective->sized, &verification);
    if (!verification.right)
        fail_msg("count %zu, %d channels: %s", problem->count, channels, verification.error);
    if (problem->ranks <= 5 && !shake(PROGRAM(&program), problem->count, why, sizeof why))
        fail_msg("count %zu, %d channels: %s", problem->count, channels, why);
    verification_free(&verification);
    program_free(&program);
}

#endif
