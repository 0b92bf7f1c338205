/*
 * test_interchange.c - schedules go to a file and come back: every algorithm as cctest's JSON and,
 * where it can say it, as MSCCL's XML. What comes back is what went, it is proven, and it serves
 * other sizes.
 *
 * The trials are those of sweep.h, of which one in TRIALS_STRIDE is taken.
 * tier: check; load: cpu1
 */
#include "tests/unit/sweep.h"
#include "tests/unit/schedule_copy.h"

#include <jansson.h>
#include <stdlib.h>

#include "collective/formats/formats.h"
#include "dataplane/memory/datatype.h"

#define TRIALS_STRIDE (SANITIZED ? 211 : 23)

static const int rank_counts[] = {2, 3, 5, 8};

/* Counts of trials. */
static long served, other_sizes, as_xml;
static char at[TRIAL_TEXT]; /* the trial at hand */

/* The element of a message that stands at `index`, as a number. */
static size_t element_at(const struct message *message, size_t index)
{
    const struct span *span = message->spans;
    while (index >= span->run * span->times) {
        index -= span->run * span->times;
        span++;
    }
    return (size_t)span->buffer << 40 | span_element(span, index);
}

static bool messages_equal(const struct message *a, const struct message *b)
{
    size_t length = message_length(*a);
    bool equal = length == message_length(*b);
    for (size_t i = 0; i < length && equal; i++)
        equal = element_at(a, i) == element_at(b, i);
    return equal;
}

static bool schedules_equal(const struct schedule *a, const struct schedule *b)
{
    bool equal = a->count == b->count && a->lanes >= b->lanes && a->steps == b->steps;
    for (size_t i = 0; i < a->count && equal; i++) {
        const struct operation *x = &a->operations[i], *y = &b->operations[i];
        int before = a->epochs[x->epoch].previous, other = b->epochs[y->epoch].previous;
        equal = x->kind == y->kind && x->peer == y->peer && x->lane == y->lane &&
                x->step == y->step && (before < 0) == (other < 0) &&
                messages_equal(&x->to, &y->to) && messages_equal(&x->from, &y->from) &&
                messages_equal(&x->with, &y->with);
    }
    return equal;
}

/* At sizes that the parts divide badly, and by two channels. */
static void expect_other_sizes(struct file_plan *plan, const struct trial *trial)
{
    struct problem problem = trial->problem;
    size_t parts = plan->problem.count;
    const size_t counts[] = {1, parts + 1, 3 * parts + 2, 3 * parts};
    char why[FILE_WHY_MOST];
    if (problem.collective->counted || !problem.collective->sized)
        return;
    for (int i = 0; i < 8; i++) {
        problem.count = counts[i / 2];
        if (file_plan_refuses(plan, &problem, 1 + i % 2, why))
            fail_msg("%s: %s", at, why);
        expect_right(plan, &problem, 1 + i % 2);
        other_sizes++;
    }
}

static char *program_json(const struct trial *trial, const struct program *program)
{
    const struct planned planned = {trial->choice, trial->problem, "float",
                                    collective_bytes(&trial->problem, sizeof(float)),
                                    trial->channels};
    json_t *plan = json_object_of(planned_fields, &planned, NULL);
    for (int r = 0; r < program->ranks; r++)
        json_array_append_new(json_object_get(plan, "schedules"),
                              json_object_of(schedule_fields, program->schedules[r], NULL));
    json_t *document = json_pack("{s:[o]}", "plans", plan);
    char *text = json_dumps(document, 0);
    assert_non_null(text);
    json_decref(document);
    return text;
}

static void expect_json(const struct trial *trial, const struct program *program)
{
    char *text = program_json(trial, program);
    struct copy copy = copy_read(json_read, text, -1);
    struct program back;
    if (copy.status != STATUS_OK || !file_builds(&copy.plans[0], &trial->problem, 1, &back))
        fail_msg("%s", test_log.failure.text);
    assert_int_equal(copy.count, 1);
    for (int r = 0; r < program->ranks; r++)
        assert_true(schedules_equal(program->schedules[r], back.schedules[r]));
    program_free(&back);
    expect_other_sizes(&copy.plans[0], trial);
    copy_free(&copy);
    free(text);
}

/* In XML the order of operations may be another one. */
static void expect_xml(const struct trial *trial, const struct program *program)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    log_init(&test_log, -1, 0);
    enum status status =
        msccl_write(out, "test", (const struct schedule *const *)program->schedules);
    assert_int_equal(fclose(out), 0);
    if (status == STATUS_OK) {
        struct copy copy = copy_read(msccl_plan_read, text, -1);
        expect_copy(&copy);
        expect_other_sizes(&copy.plans[0], trial);
        copy_free(&copy);
        as_xml++;
    } else {
        assert_non_null(strstr(test_log.failure.text, "MSCCL"));
    }
    free(text);
}

static bool try(void *context, const struct trial *planned, long number)
{
    struct trial trial = *planned;
    char why[TRIAL_WHY];
    (void)context;
    if (number % TRIALS_STRIDE != 0 || trial_refused(&trial, why) != SERVED)
        return true;
    struct counts *counts = problem_counts(&trial.problem, &trial.choice, &trial.spec);
    struct program program;
    trial_text(&trial, at);
    log_attach(&test_log);
    if (trial.problem.count > 0) {
        if (!trial_build(&trial, &program, why))
            fail_msg("%s: %s", at, why);
        expect_json(&trial, &program);
        expect_xml(&trial, &program);
        program_free(&program);
        served++;
    }
    counts_free(counts);
    return true;
}

static void test_all_algorithms(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof rank_counts / sizeof rank_counts[0]; n++)
        for (int c = 0; collectives[c]; c++)
            for (int a = 0; algorithms[a]; a++) {
                const struct unit unit = {.algorithm = algorithms[a],
                                          .collective = collectives[c],
                                          .ranks = rank_counts[n]};
                if (algorithm_serves(algorithms[a], collectives[c]->id) && !algorithms[a]->vendor)
                    sweep_unit(&unit, try, NULL);
            }
    print_message("%ld schedules, %ld in XML, %ld other sizes\n", served, as_xml, other_sizes);
    assert_true(served > 500 / (SANITIZED ? 10 : 1) && as_xml > 100 / (SANITIZED ? 10 : 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_algorithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
