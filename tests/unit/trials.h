/*
 * trials.h - a trial of the tests of all algorithms: an algorithm with its options, its problem and
 * the channels. A trial can be named, built and proved. It never fails the test but writes a
 * sentence, since it may run in another process.
 */
#ifndef CCTEST_TEST_TRIALS_H
#define CCTEST_TEST_TRIALS_H

#include "schedules.h"

#include <assert.h>
#include <sys/time.h>

struct trial {
    struct choice choice;
    struct problem problem;
    int channels;
    struct counts_spec spec; /* forms with counts: of these, drawn when the trial begins */
};

#define TRIAL_TEXT 640 /* bytes */
#define TRIAL_WHY  768

/* SIGPROF ends this process after so many further seconds of CPU time: a proof stands still. */
static inline void limit_cpu_time(long seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds}}, NULL);
}

/* Groups as their sizes, and whether their ranks do not stand together: "3+3 ranks, dealt". */
static inline int groups_text(const struct trial *trial, char *text, size_t size)
{
    const struct shape *shape = trial->problem.shape;
    int groups = shape ? shape->groups : trial->choice.group_count, used = 0;
    bool dealt = false;

    for (int g = 0; g < groups; g++)
        used += snprintf(text + used, size - (size_t)used, "%s%d", g ? "+" : ", groups ",
                         shape ? shape_size(shape, g) : trial->choice.groups[g]);
    for (int r = 0; shape && r < shape->ranks; r++)
        dealt |= shape->members[r] != r;
    if (groups)
        used += snprintf(text + used, size - (size_t)used, "%s%s", dealt ? ", dealt" : "",
                         shape ? "" : ", by option");
    return used;
}

static inline void trial_text(const struct trial *trial, char text[TRIAL_TEXT])
{
    static const char *const distributions[] = {"uniform", "zipf", "hot", "spread"};
    const struct algorithm *algorithm = trial->choice.algorithm;
    const struct problem *problem = &trial->problem;
    size_t size = TRIAL_TEXT;
    int used = snprintf(text, size, "%s %s", problem->collective->name, algorithm->name);

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        long value = trial->choice.options[i];
        char number[24];

        if (option->kind == OPTION_GROUPS)
            continue;
        snprintf(number, sizeof(number), "%ld", value);
        used += snprintf(text + used, size - (size_t)used, ":%s=%s", option->name,
                         option->kind == OPTION_PART   ? trial->choice.parts[i].algorithm->name
                         : option->kind == OPTION_WORD ? option->words[value]
                                                       : number);
    }
    used += snprintf(text + used, size - (size_t)used, ", %d ranks", problem->ranks);
    used += groups_text(trial, text + used, size - (size_t)used);
    snprintf(text + used, size - (size_t)used, ", count %zu%s%s, root %d, %s, %d channels",
             problem->count, problem->collective->counted ? " " : "",
             problem->collective->counted ? distributions[trial->spec.distribution] : "",
             problem->root, problem->in_place ? "in place" : "out of place", trial->channels);
}

/* All ranks' schedules; false: there are none, for the reason in `why`. */
static inline bool trial_build(const struct trial *trial, struct program *program,
                               char why[TRIAL_WHY])
{
    program->ranks = 0;
    while (program->ranks < trial->problem.ranks) {
        struct log log;

        log_init(&log, -1, 0);
        log_attach(&log);
        enum status status =
            schedule_build(&trial->choice, &trial->problem, program->ranks, trial->channels, true,
                           &program->schedules[program->ranks]);
        log_attach(NULL);
        if (status != STATUS_OK) {
            snprintf(why, TRIAL_WHY, "%s", log.failure.text);
            program_free(program);
            return false;
        }
        program->ranks++;
    }
    return true;
}

/* Combining twice changes nothing: barriers rely on it. */
static inline bool trial_idempotent(const struct trial *trial)
{
    return trial->problem.collective->id == COLLECTIVE_BARRIER;
}

enum refusal { SERVED, REFUSED, REFUSED_BADLY };

/* An algorithm that refuses a trial says why in a sentence, and schedule_build() passes it on. */
static inline enum refusal trial_refused(const struct trial *trial, char why[TRIAL_WHY])
{
    char room[512] = "";
    struct log log;
    struct schedule *schedule = NULL;
    const char *reason = choice_refuses(&trial->choice, &trial->problem, room, sizeof(room));

    if (!reason)
        return SERVED;
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status =
        schedule_build(&trial->choice, &trial->problem, 0, trial->channels, true, &schedule);
    log_attach(NULL);
    if (strchr(reason, ' ') && status == STATUS_USAGE && strstr(log.failure.text, reason))
        return REFUSED;
    snprintf(why, TRIAL_WHY, "refused, but not with a sentence that schedule_build() passes on");
    return REFUSED_BADLY;
}

/* Values of options. The standard one is the first. */

#define OPTION_VALUES_MOST 8

/* Numbers to try for an option; returns how many. */
static inline int option_numbers(const struct algorithm_option *option, int ranks,
                                 long values[OPTION_VALUES_MOST])
{
    const long wanted[OPTION_VALUES_MOST] = {
        option->standard, option->least, option->least + 1, 3, 4, 8, ranks, option->most};
    int count = 0;

    for (size_t i = 0; i < OPTION_VALUES_MOST; i++) {
        bool known = wanted[i] < option->least || wanted[i] > option->most;

        for (int j = 0; j < count; j++)
            known |= values[j] == wanted[i];
        if (!known)
            values[count++] = wanted[i];
    }
    return count;
}

/* Can an algorithm be a part: does it, or one of its name, serve all of the option's collectives?
 * Groups inside of groups are not tried. */
static inline bool part_serves(const struct algorithm_option *option,
                               const struct algorithm *algorithm)
{
    unsigned first = option->collectives & -option->collectives;
    bool serves = (algorithm->collectives & first) && !algorithm->vendor;

    for (int c = 0; collectives[c] && serves; c++) {
        enum collective_id id = collectives[c]->id;
        const struct algorithm *same = algorithm_find(id, algorithm->name);

        serves = !(option->collectives >> id & 1) || (same && !same->grouped);
    }
    return serves;
}

#define PARTS_MOST   64
#define OPTIONS_MOST 64 /* that are parts, of all algorithms */

struct option_parts {
    const struct algorithm_option *option;
    int count;
    struct part parts[PARTS_MOST];
};

/* The values of an option that is a part; found once, since every combination asks. */
static inline const struct option_parts *option_parts(const struct algorithm_option *option)
{
    static struct option_parts known[OPTIONS_MOST];
    struct option_parts *of = known;

    while (of->option && of->option != option)
        of++;
    if (of->option)
        return of;
    assert(of < known + OPTIONS_MOST - 1);
    of->option = option;
    for (int standard = 1; standard >= 0; standard--)
        for (int i = 0; algorithms[i] && of->count < PARTS_MOST; i++)
            if (part_serves(option, algorithms[i]) &&
                (strcmp(algorithms[i]->name, option->standard_part) == 0) == standard)
                of->parts[of->count++] = part_of(option, algorithms[i]->name);
    return of;
}

/* Sets option `i` to the value that is `place` modulo their number; returns that number. */
static inline int option_set(struct choice *choice, int i, int ranks, long place)
{
    const struct algorithm_option *option = &choice->algorithm->options[i];
    const struct option_parts *parts;
    long numbers[OPTION_VALUES_MOST];
    int count = 0;

    switch (option->kind) {
    case OPTION_NUMBER:
        count = option_numbers(option, ranks, numbers);
        choice->options[i] = numbers[place % count];
        return count;
    case OPTION_WORD:
        while (option->words[count])
            count++;
        choice->options[i] = (option->standard + place) % count;
        return count;
    case OPTION_PART:
        parts = option_parts(option);
        if (parts->count) {
            choice->parts[i] = parts->parts[place % parts->count];
            return parts->count;
        }
        break;
    case OPTION_GROUPS: /* shapes are not combined with options */
        break;
    }
    return 1;
}

/* Sets the options to the `combination`th of all combinations of their values; 0 is the standard
 * one. Returns how many there are. */
static inline long choice_set(struct choice *choice, int ranks, long combination)
{
    long combinations = 1;

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && choice->algorithm->options[i].name; i++)
        combinations *= option_set(choice, i, ranks, combination / combinations);
    return combinations;
}

/* Shapes. */

static inline bool shape_wanted(int *nth)
{
    return (*nth)-- == 0;
}

#define COMPOSED_MOST 6 /* ranks, up to which there are all shapes of ranks that stand together */

/* Cuts ranks behind rank r where bit r of `cuts` is set. */
static inline void shape_compose(int ranks, int cuts, int group[])
{
    group[0] = 0;
    for (int r = 1; r < ranks; r++)
        group[r] = group[r - 1] + (cuts >> (r - 1) & 1);
}

/* The `nth` way to group ranks: equal groups of every size, together and dealt round, then unequal
 * ones, and of few ranks all that stand together. false: no more. */
static inline bool shape_plan(int ranks, int nth, int group[])
{
    for (int each = 1; each <= ranks; each++) {
        if (ranks % each)
            continue;
        bool together = shape_wanted(&nth);
        if (!together && (each == 1 || each == ranks || !shape_wanted(&nth)))
            continue;
        for (int r = 0; r < ranks; r++)
            group[r] = together ? r / each : r % (ranks / each);
        return true;
    }
    if (ranks >= 3 && shape_wanted(&nth)) { /* the last rank stands with the first */
        for (int r = 0; r < ranks; r++)
            group[r] = r % (ranks - 1);
        return true;
    }
    if (ranks <= COMPOSED_MOST) {
        if (nth < 1 << (ranks - 1))
            shape_compose(ranks, nth, group);
        return nth < 1 << (ranks - 1);
    }
    if (nth > 3)
        return false;
    for (int r = 0, g = 0, left = 1; r < ranks; r++) {
        const int unequal[] = {r > 0, r == ranks - 1, g, r * r % 5 / 2};

        group[r] = unequal[nth];
        if (--left == 0) /* groups of 1, 2, 3, ... */
            left = ++g + 1;
    }
    return true;
}

#endif
