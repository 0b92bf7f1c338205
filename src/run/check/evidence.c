/*
 * evidence.c - wrong elements of a rank that tell, beside those of other ranks, where a fault was.
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
static void iteration_evidence_keep(struct iteration_evidence *evidence, uint64_t at)
{
    uint64_t order = order_of(at, evidence->spread);
    int place = evidence->count;
    while (place > 0 && order_of(evidence->of[place - 1].at, evidence->spread) > order)
        place--;
    if (place == EVIDENCE_MOST) {
        evidence->complete = false;
        return;
    }
    if (evidence->count == EVIDENCE_MOST)
        evidence->complete = false;
    else
        evidence->count++;
    memmove(&evidence->of[place + 1], &evidence->of[place],
            (size_t)(evidence->count - 1 - place) * sizeof *evidence->of);
    evidence->of[place] = (struct wrong_element){.at = at};
}

enum status iteration_evidence_take(const struct destination *to, const size_t *wrong, size_t count,
                                    bool all, struct iteration_evidence *evidence)
{
    const struct pattern *pattern = to->pattern;
    size_t size = pattern->inputs.datatype->size;
    bool stands = true;
    evidence->spread = evidence->complete = all;
    for (size_t i = 0; i < count; i++)
        iteration_evidence_keep(evidence, wrong[i]);
    for (int i = 0; i < evidence->count; i++) {
        struct wrong_element *element = &evidence->of[i];
        struct expectation expectation;
        pattern_expectation(pattern, to->rank, element->at, &expectation);
        element->source = expectation.rank;
        pattern_expect(pattern, to->rank, element->at, 1, element->expected);
        TRY(to->memory->kind->read(to->memory, to->base + element->at * size, size, element->got));
        stands &= memcmp(element->expected, element->got, size) != 0;
    }
    evidence->complete &= stands;
    evidence->count = stands ? evidence->count : 0;
    return STATUS_OK;
}

static int log_kept(const struct evidence_log *log)
{
    return log->iterations < EVIDENCE_ITERATIONS ? (int)log->iterations : EVIDENCE_ITERATIONS;
}

void evidence_log_add(struct evidence_log *log, const struct iteration_evidence *evidence)
{
    if (log->iterations++ < EVIDENCE_ITERATIONS)
        log->of[log->iterations - 1] = *evidence;
}

void evidence_log_code(struct codec codec, int ranks, struct evidence_log *log)
{
    code_u64(codec, &log->iterations);
    code_flag(codec, &log->source_changed);
    for (int i = 0; i < log_kept(log); i++) {
        struct iteration_evidence *evidence = &log->of[i];
        code_u64(codec, &evidence->iteration);
        code_require(codec, i == 0 || evidence->iteration > log->of[i - 1].iteration);
        code_int(codec, &evidence->root, 0, ranks - 1);
        code_flag(codec, &evidence->complete);
        code_flag(codec, &evidence->spread);
        code_int(codec, &evidence->count, 0, EVIDENCE_MOST);
        for (int e = 0; e < evidence->count; e++)
            element_code(codec, ranks, &evidence->of[e]);
    }
}

static enum evidence_answer iteration_evidence_ask(const struct iteration_evidence *evidence,
                                                   uint64_t at,
                                                   const struct wrong_element **element)
{
    for (int i = 0; i < evidence->count; i++) {
        *element = &evidence->of[i];
        if ((*element)->at == at)
            return EVIDENCE_WRONG;
    }
    bool before =
        evidence->count > 0 && order_of(at, evidence->spread) <
                                   order_of(evidence->of[evidence->count - 1].at, evidence->spread);
    return evidence->complete || before ? EVIDENCE_RIGHT : EVIDENCE_SILENT;
}

enum evidence_answer evidence_log_ask(const struct evidence_log *log, uint64_t iteration,
                                      uint64_t at, const struct wrong_element **element)
{
    int kept = log_kept(log);
    for (int i = 0; i < kept; i++)
        if (log->of[i].iteration == iteration)
            return iteration_evidence_ask(&log->of[i], at, element);
    bool all = log->iterations <= EVIDENCE_ITERATIONS;
    return all || iteration < log->of[kept - 1].iteration ? EVIDENCE_RIGHT : EVIDENCE_SILENT;
}
