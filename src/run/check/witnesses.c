/*
 * witnesses.c - wrong elements of a rank that tell, beside those of other ranks, where a fault was.
 */
#include "run/check/internal.h"

#include <string.h>

#include "base/numbers.h"

/* By which order a rank keeps its wrong elements: a random one, since neighbours travel together
 * and tell the same. */
static uint64_t order_of(uint64_t at, bool spread)
{
    uint64_t state = at;
    return spread ? random_next(&state) : at;
}

/* Keeps the lowest orders, ascending. */
static void witnesses_keep(struct witnesses *witnesses, uint64_t at)
{
    uint64_t order = order_of(at, witnesses->spread);
    int place = witnesses->count;
    while (place > 0 && order_of(witnesses->of[place - 1].at, witnesses->spread) > order)
        place--;
    if (place == WITNESSES_MOST) {
        witnesses->complete = false;
        return;
    }
    if (witnesses->count == WITNESSES_MOST)
        witnesses->complete = false;
    else
        witnesses->count++;
    memmove(&witnesses->of[place + 1], &witnesses->of[place],
            (size_t)(witnesses->count - 1 - place) * sizeof *witnesses->of);
    witnesses->of[place] = (struct wrong_element){.at = at};
}

enum status witnesses_take(const struct destination *to, const size_t *wrong, size_t count,
                           bool all, struct witnesses *witnesses)
{
    const struct pattern *pattern = to->pattern;
    size_t size = pattern->inputs.datatype->size;
    bool stands = true;
    witnesses->spread = witnesses->complete = all;
    for (size_t i = 0; i < count; i++)
        witnesses_keep(witnesses, wrong[i]);
    for (int i = 0; i < witnesses->count; i++) {
        struct wrong_element *element = &witnesses->of[i];
        struct expectation expectation;
        pattern_expectation(pattern, to->rank, element->at, &expectation);
        element->source = expectation.rank;
        pattern_expect(pattern, to->rank, element->at, 1, element->expected);
        TRY(to->memory->kind->read(to->memory, to->base + element->at * size, size, element->got));
        stands &= memcmp(element->expected, element->got, size) != 0;
    }
    witnesses->complete &= stands;
    witnesses->count = stands ? witnesses->count : 0;
    return STATUS_OK;
}

static int log_kept(const struct witness_log *log)
{
    return log->iterations < WITNESS_ITERATIONS ? (int)log->iterations : WITNESS_ITERATIONS;
}

void witness_log_add(struct witness_log *log, const struct witnesses *witnesses)
{
    if (log->iterations++ < WITNESS_ITERATIONS)
        log->of[log->iterations - 1] = *witnesses;
}

void witness_log_code(struct codec codec, int ranks, struct witness_log *log)
{
    code_u64(codec, &log->iterations);
    code_flag(codec, &log->source_changed);
    for (int i = 0; i < log_kept(log); i++) {
        struct witnesses *witnesses = &log->of[i];
        code_u64(codec, &witnesses->iteration);
        code_require(codec, i == 0 || witnesses->iteration > log->of[i - 1].iteration);
        code_int(codec, &witnesses->root, 0, ranks - 1);
        code_flag(codec, &witnesses->complete);
        code_flag(codec, &witnesses->spread);
        code_int(codec, &witnesses->count, 0, WITNESSES_MOST);
        for (int e = 0; e < witnesses->count; e++)
            element_code(codec, ranks, &witnesses->of[e]);
    }
}

static enum witness_answer witnesses_ask(const struct witnesses *witnesses, uint64_t at,
                                         const struct wrong_element **element)
{
    for (int i = 0; i < witnesses->count; i++) {
        *element = &witnesses->of[i];
        if ((*element)->at == at)
            return WITNESS_WRONG;
    }
    bool before = witnesses->count > 0 &&
                  order_of(at, witnesses->spread) <
                      order_of(witnesses->of[witnesses->count - 1].at, witnesses->spread);
    return witnesses->complete || before ? WITNESS_RIGHT : WITNESS_SILENT;
}

enum witness_answer witness_log_ask(const struct witness_log *log, uint64_t iteration, uint64_t at,
                                    const struct wrong_element **element)
{
    int kept = log_kept(log);
    for (int i = 0; i < kept; i++)
        if (log->of[i].iteration == iteration)
            return witnesses_ask(&log->of[i], at, element);
    bool all = log->iterations <= WITNESS_ITERATIONS;
    return all || iteration < log->of[kept - 1].iteration ? WITNESS_RIGHT : WITNESS_SILENT;
}
