/*
 * test_basis.c - the basis (tests/basis.def) has every combination of properties that an operation
 * of the catalogue has, and no row too many.
 *
 * tier: check; load: cpu1; sanitizers: none
 *
 * The schedules are those of every algorithm for 2 to 9 ranks, in all groups of sweep.h, with the
 * options at their standard values, and with every other value of each option, one option at a
 * time. Counts, roots, places and channels are those of sweep.h, each with and without an operator
 * that finishes. A combination has these properties of an operation:
 *
 *   kind       copy, reduce, send, recv, recv_reduce, finish (avg's last step)
 *   pieces     each of its messages is one run of elements; or one is of several runs, which a
 *              transport gathers and scatters. Operations of no elements vanish
 *   memory     the user's buffers, scratch, or both. In place or not is no property: each trial has
 *              both
 *   combining  into one of its operands, or elsewhere
 *   in flight  transfers that may be open at the same time, since no fence stands between them, in
 *              the direction with more of them: none, one, several of different peers or lanes, or
 *              several behind each other, between the same ranks on the same lane
 *   both ways  sends and receives may be open at the same time
 *   lanes      its rank and peer use one lane, or several, in each of the user's channels
 *   fence      it waits for a fence, or for none
 *   waits      other operations hold elements of it back (streaming), or none does
 *
 * A transport sees pieces, memory, transfers and lanes; the executor also fences and waits; kernels
 * see combining. A sanitizer or a stand-in sees their code, which branches on the same things. How
 * many peers, pieces or lanes beyond several is left to the catalogue's own tests.
 */
#include "tests/unit/sweep.h"

#define RANKS_FROM  2
#define RANKS_TO    9
#define BASIS_MOST  64
#define TUPLES_MOST 4096
#define TOLD_MOST   10 /* missing combinations that are printed */

static const struct basis_row {
    const char *collective, *algorithm;
} basis[] = {
#define BASIS(collective, algorithm) {collective, algorithm},
#include "tests/basis.def"
#undef BASIS
};
#define BASIS_ROWS ((int)(sizeof(basis) / sizeof(*basis)))

enum flight { FLIGHT_NONE, FLIGHT_ONE, FLIGHT_SEVERAL, FLIGHT_QUEUED };
enum memory { MEMORY_USER = 1, MEMORY_SCRATCH = 2, MEMORY_BOTH = 3 };
enum combining { COMBINING_NOT, COMBINING_FROM, COMBINING_WITH };

/* The properties of an operation. */
struct tuple {
    enum operation_kind kind;
    bool pieces;
    enum memory memory;
    enum combining combining;
    enum flight flight;
    bool both_ways, lanes, fence, waits;
};

/* Where a tuple was seen. */
struct entry {
    bool used;
    struct tuple tuple;
    uint64_t rows;          /* bit i: by row i of the basis */
    char first[TRIAL_TEXT]; /* the first trial that has it */
};

struct survey {
    struct entry entries[TUPLES_MOST];
    int tuples;
    long trials, schedules;
};

static bool tuples_equal(const struct tuple *a, const struct tuple *b)
{
    return a->kind == b->kind && a->pieces == b->pieces && a->memory == b->memory &&
           a->combining == b->combining && a->flight == b->flight && a->both_ways == b->both_ways &&
           a->lanes == b->lanes && a->fence == b->fence && a->waits == b->waits;
}

static size_t tuple_hash(const struct tuple *tuple)
{
    size_t x = (size_t)tuple->kind;

    x = x << 1 | tuple->pieces;
    x = x << 2 | (size_t)tuple->memory;
    x = x << 2 | (size_t)tuple->combining;
    x = x << 2 | (size_t)tuple->flight;
    x = x << 4 |
        (size_t)(tuple->both_ways << 3 | tuple->lanes << 2 | tuple->fence << 1 | tuple->waits);
    return x * 0x9e3779b97f4a7c15u >> 32;
}

static void tuple_text(const struct tuple *tuple, char text[TRIAL_WHY])
{
    static const char *const memories[] = {"no memory", "the user's buffers", "scratch",
                                           "the user's buffers and scratch"};
    static const char *const combinings[] = {"", ", into what it reads",
                                             ", into what it combines with"};
    static const char *const flights[] = {"no transfer", "one transfer each way",
                                          "several transfers", "several transfers on its lane"};

    snprintf(text, TRIAL_WHY, "%s of %s in %s%s; open at once: %s%s; %s; %s, %s",
             operation_names[tuple->kind], tuple->pieces ? "pieces" : "one piece",
             memories[tuple->memory], combinings[tuple->combining], flights[tuple->flight],
             tuple->both_ways ? ", sends and receives" : "",
             tuple->lanes ? "several lanes to its peer" : "at most one lane to its peer",
             tuple->fence ? "behind a fence" : "no fence before",
             tuple->waits ? "waits for others" : "waits for none");
}

/* The properties of an operation's messages. */

static void message_add(struct tuple *tuple, struct message message)
{
    tuple->pieces |= message.count > 1 || (message.count && message.spans[0].times > 1);
    for (size_t i = 0; i < message.count; i++)
        tuple->memory |= message.spans[i].buffer == BUFFER_SCRATCH ? MEMORY_SCRATCH : MEMORY_USER;
}

static bool messages_equal(struct message a, struct message b)
{
    if (a.count != b.count || !a.count)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        const struct span *s = &a.spans[i], *t = &b.spans[i];

        if (s->buffer != t->buffer || s->offset != t->offset || s->run != t->run ||
            s->stride != t->stride || s->times != t->times)
            return false;
    }
    return true;
}

/* Are two operations transfers between the same ranks in the same direction? */
static bool goes_along(const struct operation *a, const struct operation *b)
{
    return operation_travels(a->kind) && operation_travels(b->kind) && a->peer == b->peer &&
           (a->kind == OPERATION_SEND) == (b->kind == OPERATION_SEND);
}

static void flight_add(struct tuple *tuple, const struct schedule *schedule,
                       const struct operation *operation)
{
    const struct epoch *epoch = &schedule->epochs[operation->epoch];
    int sends = 0, receives = 0, queued = 0;

    for (uint32_t i = 0; i < epoch->operations; i++) {
        const struct operation *other = &schedule->operations[epoch->members[i]];

        sends += other->kind == OPERATION_SEND;
        receives += operation_travels(other->kind) && other->kind != OPERATION_SEND;
        queued += goes_along(operation, other) && other->lane == operation->lane;
    }
    int most = sends > receives ? sends : receives;
    tuple->flight = queued > 1 ? FLIGHT_QUEUED
                    : most > 1 ? FLIGHT_SEVERAL
                    : most     ? FLIGHT_ONE
                               : FLIGHT_NONE;
    tuple->both_ways = sends && receives;
    tuple->fence = epoch->previous >= 0;
}

static struct tuple tuple_of(const struct schedule *schedule, const struct operation *operation)
{
    struct tuple tuple = {.kind = operation->kind, .waits = operation->wait_count > 0};

    message_add(&tuple, operation->to);
    message_add(&tuple, operation->from);
    message_add(&tuple, operation->with);
    tuple.combining = messages_equal(operation->to, operation->from)   ? COMBINING_FROM
                      : messages_equal(operation->to, operation->with) ? COMBINING_WITH
                                                                       : COMBINING_NOT;
    flight_add(&tuple, schedule, operation);
    for (size_t i = 0; i < schedule->count && !tuple.lanes; i++) {
        const struct operation *other = &schedule->operations[i];

        tuple.lanes = goes_along(operation, other) && other->channel == operation->channel &&
                      other->lane != operation->lane;
    }
    return tuple;
}

/* The survey of all trials. */

static void survey_add(struct survey *survey, const struct tuple *tuple, uint64_t rows,
                       const struct trial *trial)
{
    size_t at = tuple_hash(tuple) % TUPLES_MOST;

    while (survey->entries[at].used && !tuples_equal(&survey->entries[at].tuple, tuple))
        at = (at + 1) % TUPLES_MOST;
    struct entry *entry = &survey->entries[at];
    if (!entry->used) {
        assert_true(++survey->tuples < TUPLES_MOST);
        entry->used = true;
        entry->tuple = *tuple;
        trial_text(trial, entry->first);
    }
    entry->rows |= rows;
}

/* The algorithm, and its options that are not the standard ones: "hier:intra=nb". */
static void choice_text(const struct choice *choice, char *text, size_t size)
{
    const struct algorithm *algorithm = choice->algorithm;
    struct choice standard = choice_of(algorithm);
    size_t used = (size_t)snprintf(text, size, "%s", algorithm->name);

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        long value = choice->options[i];

        if (option->kind == OPTION_GROUPS || used >= size)
            continue;
        if (option->kind == OPTION_PART) {
            if (choice->parts[i].algorithm != standard.parts[i].algorithm)
                used += (size_t)snprintf(text + used, size - used, ":%s=%s", option->name,
                                         choice->parts[i].algorithm->name);
        } else if (value != standard.options[i]) {
            used +=
                (size_t)(option->kind == OPTION_WORD
                             ? snprintf(text + used, size - used, ":%s=%s", option->name,
                                        option->words[value])
                             : snprintf(text + used, size - used, ":%s=%ld", option->name, value));
        }
    }
}

static uint64_t rows_of(const struct trial *trial)
{
    char text[256];
    uint64_t rows = 0;

    choice_text(&trial->choice, text, sizeof(text));
    for (int i = 0; i < BASIS_ROWS; i++)
        if (strcmp(basis[i].collective, trial->problem.collective->name) == 0 &&
            strcmp(basis[i].algorithm, text) == 0)
            rows |= (uint64_t)1 << i;
    return rows;
}

static bool visit(void *context, const struct trial *planned, long number)
{
    struct survey *survey = context;
    struct trial trial = *planned;
    char why[TRIAL_WHY];

    (void)number;
    if (trial_refused(&trial, why) != SERVED)
        return true;
    struct counts *counts = problem_counts(&trial.problem, &trial.choice, &trial.spec);
    uint64_t rows = rows_of(&trial);
    for (int finishes = 0; finishes <= trial.problem.collective->reduces; finishes++) {
        struct program program;

        trial.problem.finishes = finishes;
        if (!trial_build(&trial, &program, why))
            fail_msg("%s", why);
        for (int r = 0; r < program.ranks; r++)
            for (size_t i = 0; i < program.schedules[r]->count; i++) {
                struct tuple tuple =
                    tuple_of(program.schedules[r], &program.schedules[r]->operations[i]);

                survey_add(survey, &tuple, rows, &trial);
            }
        survey->schedules += program.ranks;
        program_free(&program);
    }
    survey->trials++;
    counts_free(counts);
    return true;
}

/* The standard options, then every other value of each, one option at a time. */
static void visit_options(struct sweep *sweep)
{
    struct choice *choice = &sweep->trial.choice;
    const struct algorithm *algorithm = sweep->unit.algorithm;
    int p = sweep->unit.ranks;

    choice_set(choice, p, 0);
    sweep_data(sweep, true);
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        int values = option_set(choice, i, p, 0);

        for (int value = 1; value < values; value++) {
            option_set(choice, i, p, value);
            sweep_data(sweep, false);
        }
        option_set(choice, i, p, 0);
    }
}

static void visit_algorithm(struct survey *survey, const struct unit *unit)
{
    int group[RANKS_MOST];
    struct sweep sweep = {
        .unit = *unit,
        .visit = visit,
        .context = survey,
        .trial = {.choice = choice_of(unit->algorithm),
                  .problem = {.collective = unit->collective, .ranks = unit->ranks}},
    };

    if (!unit->algorithm->grouped)
        visit_options(&sweep);
    for (int nth = 0; unit->algorithm->grouped && shape_plan(unit->ranks, nth, group); nth++) {
        struct shape *shape = shape_create(group, unit->ranks);

        assert_non_null(shape);
        sweep_group(&sweep, shape);
        visit_options(&sweep);
        shape_free(shape);
    }
}

static void visit_all(struct survey *survey)
{
    for (int c = 0; collectives[c]; c++)
        for (int a = 0; algorithms[a]; a++) {
            struct unit unit = {.algorithm = algorithms[a], .collective = collectives[c]};

            if (!algorithm_serves(algorithms[a], collectives[c]->id) || algorithms[a]->vendor)
                continue;
            for (unit.ranks = RANKS_FROM; unit.ranks <= RANKS_TO; unit.ranks++)
                visit_algorithm(survey, &unit);
        }
}

/* Combinations that no row of the basis has. */
static int missing_told(const struct survey *survey)
{
    int missing = 0;

    for (int i = 0; i < TUPLES_MOST; i++) {
        const struct entry *entry = &survey->entries[i];
        char text[TRIAL_WHY];

        if (!entry->used || entry->rows)
            continue;
        tuple_text(&entry->tuple, text);
        if (missing++ < TOLD_MOST)
            print_message("NOT IN THE BASIS: %s\n    first: %s\n", text, entry->first);
    }
    return missing;
}

/* Rows that are no algorithm, and rows without which the others have every collective and
 * combination. */
static int needless_told(const struct survey *survey)
{
    uint64_t seen = 0, needed = 0;
    int needless = 0;

    for (int i = 0; i < TUPLES_MOST; i++) {
        uint64_t rows = survey->entries[i].rows;

        seen |= rows;
        if (rows && !(rows & (rows - 1)))
            needed |= rows;
    }
    for (int i = 0; i < BASIS_ROWS; i++) {
        int of_collective = 0;

        for (int j = 0; j < BASIS_ROWS; j++)
            of_collective += strcmp(basis[i].collective, basis[j].collective) == 0;
        if ((seen >> i & 1) && ((needed >> i & 1) || of_collective == 1))
            continue;
        print_message("NEEDLESS IN THE BASIS: %s %s: %s\n", basis[i].collective, basis[i].algorithm,
                      seen >> i & 1 ? "other rows have all that it has" : "no trial is called so");
        needless++;
    }
    return needless;
}

static int absent_told(void)
{
    int absent = 0;

    for (int c = 0; collectives[c]; c++) {
        bool found = false;

        for (int i = 0; i < BASIS_ROWS; i++)
            found |= strcmp(basis[i].collective, collectives[c]->name) == 0;
        if (!found)
            print_message("NOT IN THE BASIS: the collective %s\n", collectives[c]->name);
        absent += !found;
    }
    return absent;
}

static void basis_is_enough(void **state)
{
    static struct survey survey;

    (void)state;
    assert_true(BASIS_ROWS <= BASIS_MOST);
    if (SANITIZED)
        skip(); /* sweep.h makes fewer trials then; the combinations are those of the plain build */
    visit_all(&survey);
    int missing = missing_told(&survey) + absent_told(), needless = needless_told(&survey);
    print_message("coverage: %d combinations of properties in %ld schedules of %ld trials, %d rows "
                  "of the basis, %d missing, %d needless\n",
                  survey.tuples, survey.schedules, survey.trials, BASIS_ROWS, missing, needless);
    assert_true(survey.tuples > 0);
    assert_int_equal(missing + needless, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(basis_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
