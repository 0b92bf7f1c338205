/*
 * guidelines.c - what must not be: a collective that is slower than others that do its work.
 */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"

#define SPLIT_MOST 64 /* parts: beyond, the time of a part is mostly the start of an iteration */

const char *const guideline_words[GUIDELINES] = {
    [GUIDELINE_SEQUENCE] = "sequence",
    [GUIDELINE_SMALLER] = "smaller",
    [GUIDELINE_SPLIT] = "split",
    [GUIDELINE_OWN] = "own",
};

/* clang-format off */
#define ALONE  -1
const struct emulation emulations[] = {
    {COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_BROADCAST},
    {COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLGATHER},
    {COLLECTIVE_ALLGATHER, COLLECTIVE_GATHER, COLLECTIVE_BROADCAST},
    {COLLECTIVE_ALLGATHER, COLLECTIVE_ALLTOALL, ALONE},
    {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_REDUCE, COLLECTIVE_SCATTER},
    {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLREDUCE, ALONE},
    {COLLECTIVE_BROADCAST, COLLECTIVE_SCATTER, COLLECTIVE_ALLGATHER},
    {COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_GATHER},
    {COLLECTIVE_REDUCE, COLLECTIVE_ALLREDUCE, ALONE},
    {COLLECTIVE_SCATTER, COLLECTIVE_BROADCAST, ALONE},
    {COLLECTIVE_GATHER, COLLECTIVE_ALLGATHER, ALONE},
    {.second = EMULATIONS_END},
};
/* clang-format on */

/* The lines, and what was found in them so far. */
struct line_set {
    const struct timed_line *lines;
    size_t count;
    struct violation *found;
    size_t found_count;
};

/* Do two lines run under the same conditions? A collective that combines nothing goes with any
 * operator. */
static bool lines_share(const struct timed_line *a, const struct timed_line *b)
{
    return a->ranks == b->ranks && strcmp(a->setting, b->setting) == 0 &&
           (!a->op[0] || !b->op[0] || strcmp(a->op, b->op) == 0);
}

static bool lines_are_alike(const struct timed_line *a, const struct timed_line *b)
{
    return a->collective == b->collective && strcmp(a->op, b->op) == 0 && lines_share(a, b);
}

/* By how much rounding to whole blocks moves a size. */
static size_t rounding_of(const struct timed_line *line)
{
    return line->element * (size_t)line->ranks;
}

/* The fastest of its collective and size; of equal ones the first. */
static size_t best_find(const struct line_set *all, size_t line)
{
    size_t best = line;
    for (size_t i = 0; i < all->count; i++) {
        const struct timed_line *other = &all->lines[i], *mine = &all->lines[line];
        double time = all->lines[best].time;
        if (other->bytes == mine->bytes && lines_are_alike(other, mine) &&
            (other->time < time || (other->time == time && i < best)))
            best = i;
    }
    return best;
}

/* The fastest line of a collective that does the work of `line`, or more. False: there is none. */
static bool substitute_find(const struct line_set *all, const struct timed_line *line,
                            const struct collective *collective, size_t *at)
{
    bool has = false;
    for (size_t i = 0; i < all->count; i++) {
        const struct timed_line *other = &all->lines[i];
        if (other->collective == collective && lines_share(other, line) &&
            other->bytes + rounding_of(line) > line->bytes &&
            (!has || other->time < all->lines[*at].time)) {
            *at = i;
            has = true;
        }
    }
    return has;
}

/* Is the line slower than what could be run instead, beyond noise? Then the violation's numbers are
 * filled in. */
static bool violation_judge(const struct line_set *all, struct violation *violation)
{
    const struct timed_line *line = &all->lines[violation->line];
    double high = 0;
    violation->bound = 0;
    for (int i = 0; i < violation->instead_count; i++) {
        const struct timed_line *other = &all->lines[violation->instead[i]];
        violation->bound += other->time * violation->times;
        high += other->high * violation->times;
    }
    if (!(violation->bound > 0))
        return false;
    violation->ratio = line->time / violation->bound;
    return line->low > high && violation->ratio > 1 + GUIDELINE_MARGIN;
}

/* Keeps the worse one. */
static void violation_keep(const struct line_set *all, struct violation candidate,
                           struct violation *worst)
{
    if (violation_judge(all, &candidate) && candidate.ratio > worst->ratio)
        *worst = candidate;
}

static void sequence_check(const struct line_set *all, size_t line, struct violation *worst)
{
    const struct timed_line *mine = &all->lines[line];
    for (const struct emulation *emulation = emulations; emulation->second != EMULATIONS_END;
         emulation++) {
        struct violation candidate = {.guideline = GUIDELINE_SEQUENCE, .line = line, .times = 1};
        if (emulation->whole != mine->collective->id ||
            !substitute_find(all, mine, collective_of(emulation->first), &candidate.instead[0]))
            continue;
        candidate.instead_count = 1;
        if (emulation->second != ALONE) {
            const struct collective *second = collective_of((enum collective_id)emulation->second);
            if (!substitute_find(all, mine, second, &candidate.instead[1]))
                continue;
            candidate.instead_count = 2;
        }
        violation_keep(all, candidate, worst);
    }
}

/* More data in less time. `own`: by the same algorithm. */
static void smaller_check(const struct line_set *all, size_t line, bool own,
                          struct violation *worst)
{
    const struct timed_line *mine = &all->lines[line];
    for (size_t i = 0; i < all->count; i++) {
        const struct timed_line *other = &all->lines[i];
        if (other->bytes > mine->bytes && lines_are_alike(other, mine) &&
            (!own || strcmp(other->algorithm, mine->algorithm) == 0))
            violation_keep(all,
                           (struct violation){.guideline = own ? GUIDELINE_OWN : GUIDELINE_SMALLER,
                                              .line = line,
                                              .instead = {i},
                                              .instead_count = 1,
                                              .times = 1},
                           worst);
    }
}

static void split_check(const struct line_set *all, size_t line, struct violation *worst)
{
    const struct timed_line *mine = &all->lines[line];
    for (size_t i = 0; i < all->count; i++) {
        const struct timed_line *other = &all->lines[i];
        if (other->bytes == 0 || other->bytes >= mine->bytes || !lines_are_alike(other, mine))
            continue;
        size_t times = (mine->bytes - 1) / other->bytes + 1;
        if (times <= SPLIT_MOST)
            violation_keep(all,
                           (struct violation){.guideline = GUIDELINE_SPLIT,
                                              .line = line,
                                              .instead = {i},
                                              .instead_count = 1,
                                              .times = (int)times},
                           worst);
    }
}

static void line_check(struct line_set *all, size_t line)
{
    struct violation worst[GUIDELINES] = {{.ratio = 0}};
    size_t best = best_find(all, line);
    if (best == line) {
        sequence_check(all, line, &worst[GUIDELINE_SEQUENCE]);
        smaller_check(all, line, false, &worst[GUIDELINE_SMALLER]);
        split_check(all, line, &worst[GUIDELINE_SPLIT]);
    } else {
        smaller_check(all, line, true, &worst[GUIDELINE_OWN]);
    }
    for (int g = 0; g < GUIDELINES; g++)
        if (worst[g].ratio > 0) {
            worst[g].best = best;
            all->found[all->found_count++] = worst[g];
        }
}

/* The worst first; of equal ones the first line. */
static int violation_compare(const void *a, const void *b)
{
    const struct violation *x = a, *y = b;
    if (x->ratio != y->ratio)
        return x->ratio > y->ratio ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (int)x->guideline - (int)y->guideline;
}

enum status guidelines_check(const struct timed_line *lines, size_t count,
                             struct violation **violations, size_t *found)
{
    struct line_set all = {.lines = lines, .count = count};
    *violations = NULL;
    *found = 0;
    all.found = calloc(count + 1, GUIDELINES * sizeof *all.found);
    if (!all.found)
        return fail(STATUS_ERROR, "out of memory to compare %zu lines", count);
    for (size_t i = 0; i < count; i++)
        if (lines[i].collective->sized && lines[i].time > 0)
            line_check(&all, i);
    qsort(all.found, all.found_count, sizeof *all.found, violation_compare);
    *violations = all.found;
    *found = all.found_count;
    return STATUS_OK;
}

/* "reduce then broadcast", "16K", "4 times 16K". */
static void bound_add(struct text *text, const struct timed_line *lines,
                      const struct violation *violation, const char *size)
{
    if (violation->guideline == GUIDELINE_SEQUENCE)
        text_add(text, "%s%s%s", lines[violation->instead[0]].collective->name,
                 violation->instead_count > 1 ? " then " : "",
                 violation->instead_count > 1 ? lines[violation->instead[1]].collective->name : "");
    else if (violation->guideline == GUIDELINE_SPLIT)
        text_add(text, "%d times %s", violation->times, size);
    else
        text_add(text, "%s", size);
}

/* "reduce rabenseifner then broadcast chain", "ring of 16K, 4 times". */
static void advice_add(struct text *text, const struct timed_line *lines,
                       const struct violation *violation)
{
    const struct timed_line *line = &lines[violation->line], *best = &lines[violation->best];
    char size[SIZE_TEXT_MOST];
    if (violation->guideline == GUIDELINE_OWN) {
        text_add(text, "%s, %.4g us", best->algorithm, best->time);
        return;
    }
    for (int i = 0; i < violation->instead_count; i++) {
        const struct timed_line *other = &lines[violation->instead[i]];
        bool same = other->bytes == line->bytes;
        text_add(text, "%s%s%s%s%s%s", i ? " then " : "",
                 other->collective == line->collective ? "" : other->collective->name,
                 other->collective == line->collective ? "" : " ", other->algorithm,
                 same ? "" : " of ", same ? "" : size_format(other->bytes, size));
    }
    if (violation->guideline == GUIDELINE_SPLIT)
        text_add(text, ", %d times", violation->times);
}

const char *violation_text(const struct timed_line *lines, const struct violation *violation,
                           char to[VIOLATION_TEXT_MOST])
{
    const struct timed_line *line = &lines[violation->line];
    struct text text = text_in(to, VIOLATION_TEXT_MOST);
    char mine[SIZE_TEXT_MOST], size[SIZE_TEXT_MOST];
    size_format(lines[violation->instead[0]].bytes, size);
    text_add(&text, "%s %s, %s%s%s: %.4g us (%s), %.2f times ", line->collective->name,
             size_format(line->bytes, mine), line->setting, line->op[0] ? " " : "", line->op,
             line->time, line->algorithm, violation->ratio);
    bound_add(&text, lines, violation, size);
    text_add(&text, ", %.4g us: use ", violation->bound);
    advice_add(&text, lines, violation);
    return to;
}
