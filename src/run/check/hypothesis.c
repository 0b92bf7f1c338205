/*
 * hypothesis.c - tries what may have happened to a stretch of samples, and keeps the hypotheses
 * that reach farthest.
 *
 * Reductions. The sets of ranks are all cyclic intervals, and the classes that exchanges between
 * far halves make. For intervals the predictions of all p^2 sets are built from each other, one
 * combination of a vector of samples for each, so that 64 ranks take a few milliseconds.
 *
 * Data movement. The first sample is searched for among all source elements of all ranks, of this
 * iteration and of the one before. Where these are too many, only the beginnings of blocks are
 * searched, and all elements of the rank whose elements belong there.
 */
#include "run/check/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * The sets of ranks that a hypothesis is about.
 */
/* A rank's place among the 2^k that take part after the first ranks were folded in pairs. */
static int folded_place(int rank, int ranks)
{
    int power = 1;
    while (power <= ranks / 2)
        power *= 2;
    int rest = ranks - power;
    return rank < 2 * rest ? rank / 2 : rank - rest;
}

bool rank_set_has(const struct rank_set *set, int rank, int ranks)
{
    bool has = false;
    switch (set->shape) {
    case SET_INTERVAL:
        has = (rank - set->first + ranks) % ranks < set->length;
        break;
    case SET_CLASS:
        has = rank % set->modulus == set->first;
        break;
    case SET_FOLDED:
        has = folded_place(rank, ranks) % set->modulus == set->first;
        break;
    }
    return has != set->inverted;
}

int rank_set_size(const struct rank_set *set, int ranks)
{
    if (set->shape == SET_INTERVAL)
        return set->inverted ? ranks - set->length : set->length;
    int size = 0;
    for (int rank = 0; rank < ranks; rank++)
        size += rank_set_has(set, rank, ranks);
    return size;
}

int rank_set_first(const struct rank_set *set, int ranks, bool in)
{
    int rank = 0;
    while (rank < ranks - 1 && rank_set_has(set, rank, ranks) != in)
        rank++;
    return rank;
}

bool rank_set_within(const struct rank_set *inner, const struct rank_set *outer, int ranks)
{
    bool intervals = inner->shape == SET_INTERVAL && outer->shape == SET_INTERVAL;
    if (intervals && !inner->inverted && !outer->inverted) {
        int offset = (inner->first - outer->first + ranks) % ranks;
        return offset + inner->length <= outer->length;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (rank_set_has(inner, rank, ranks) && !rank_set_has(outer, rank, ranks))
            return false;
    }
    return true;
}

/*
 * The prediction of a hypothesis for the samples of a result.
 */
#define PREDICTED_MOST 128 /* samples predicted at a time */

bool hypothesis_same(const struct hypothesis *a, const struct hypothesis *b)
{
    return a->kind == b->kind && a->set.shape == b->set.shape && a->set.first == b->set.first &&
           a->set.length == b->set.length && a->set.modulus == b->set.modulus &&
           a->set.inverted == b->set.inverted && a->shift == b->shift && a->before == b->before;
}

/* to = the first value to come, then to = to (+) value. */
static void enter(reduce_function *reduce, char *to, const char *value, size_t count, size_t size,
                  bool *any)
{
    if (*any)
        reduce(to, to, value, count);
    else
        memcpy(to, value, count * size);
    *any = true;
}

/* to = from, divided if the operator divides at the end; else it does nothing. `to` is `from` or
 * apart. */
static void hypothesis_finish(const struct evidence *evidence, char *to, const char *from,
                              size_t count)
{
    const struct pattern *pattern = evidence->pattern;
    if (evidence->reduces && pattern->inputs.reduction->finishes)
        finish_kernel(pattern->inputs.datatype, pattern->inputs.reduction)(to, from, count,
                                                                           pattern->problem.ranks);
}

/* All contributions, each as the hypothesis has it. */
static size_t predict_combined(const struct evidence *evidence, const struct hypothesis *hypothesis,
                               size_t first, size_t count, char *to)
{
    const struct pattern *pattern = evidence->pattern;
    reduce_function *reduce = reduce_kernel(pattern->inputs.datatype, pattern->inputs.reduction);
    int ranks = pattern->problem.ranks;
    size_t size = evidence->size;
    bool any = false;
    for (int rank = 0; rank < ranks; rank++) {
        size_t at = ((size_t)rank * evidence->count + first) * size;
        bool in = rank_set_has(&hypothesis->set, rank, ranks);
        if (in &&
            (hypothesis->kind == HYPOTHESIS_MISSING || hypothesis->kind == HYPOTHESIS_POISONED))
            continue;
        bool stale = in && hypothesis->kind == HYPOTHESIS_STALE;
        enter(reduce, to, (stale ? evidence->before : evidence->now) + at, count, size, &any);
        if (in && hypothesis->kind == HYPOTHESIS_DOUBLED)
            enter(reduce, to, evidence->now + at, count, size, &any);
    }
    if (hypothesis->kind == HYPOTHESIS_POISONED) {
        _Alignas(16) char poison[SAMPLES * DATATYPE_SIZE_MOST];
        memset(poison, PATTERN_POISON, count * size);
        enter(reduce, to, poison, count, size, &any);
    }
    hypothesis_finish(evidence, to, to, any ? count : 0);
    return any ? count : 0;
}

/* Elements from another place, in this iteration or the one before; within one expectation. */
static size_t predict_elsewhere(const struct evidence *evidence,
                                const struct hypothesis *hypothesis, size_t first, size_t count,
                                char *to)
{
    struct pattern pattern = *evidence->pattern;
    bool moves = !evidence->reduces, is_stale = hypothesis->kind == HYPOTHESIS_STALE;
    if (is_stale || hypothesis->before)
        pattern.inputs.iteration--;
    for (size_t i = 0; i < count; i++, to += evidence->size) {
        const struct sample *sample = &evidence->samples[first + i];
        int source = is_stale ? sample->source : hypothesis->source;
        if (!is_stale && sample->source != hypothesis->instead)
            return i;
        int64_t from = (int64_t)sample->from + hypothesis->shift;
        size_t extent = collective_extent(&pattern.problem, moves ? source : 0, BUFFER_SOURCE);
        if (from < 0 || (uint64_t)from >= extent)
            return i;
        if (moves)
            inputs_make(&pattern.inputs, source, (size_t)from, 1, to);
        else
            inputs_combine(&pattern.inputs, NULL, (size_t)from, 1, to);
    }
    return count;
}

/* Writes the predictions for samples [first, first + count) to `to`. Returns for how many of
 * them there is one, from the first on. */
static size_t hypothesis_predict(const struct evidence *evidence,
                                 const struct hypothesis *hypothesis, size_t first, size_t count,
                                 char *to)
{
    if (hypothesis->kind == HYPOTHESIS_UNWRITTEN) {
        memset(to, PATTERN_POISON, count * evidence->size);
        hypothesis_finish(evidence, to, to, count);
        return count;
    }
    if (hypothesis->kind == HYPOTHESIS_ELSEWHERE || !evidence->reduces)
        return predict_elsewhere(evidence, hypothesis, first, count, to);
    return predict_combined(evidence, hypothesis, first, count, to);
}

/* Samples from `first` on that the hypothesis explains without contradiction, up to and
 * including the last wrong one. 0: it does not explain sample `first`, which is wrong. */
static size_t hypothesis_reach(const struct evidence *evidence, const struct hypothesis *hypothesis,
                               size_t first)
{
    _Alignas(16) char predicted[PREDICTED_MOST * DATATYPE_SIZE_MOST];
    size_t size = evidence->size, reach = 0, begin = first, ready = 0;
    /* A few at a time, since most hypotheses end early. */
    for (size_t i = first; i < evidence->count; i++) {
        if (i == begin + ready) {
            size_t more = i == first ? 1 : i - first, left = evidence->count - i;
            more = more < left ? more : left;
            more = more < PREDICTED_MOST ? more : PREDICTED_MOST;
            begin = i;
            ready = hypothesis_predict(evidence, hypothesis, i, more, predicted);
            if (ready == 0)
                break;
        }
        if (memcmp(predicted + (i - begin) * size, evidence->got + i * size, size) != 0)
            break;
        if (evidence->samples[i].wrong)
            reach = i - first + 1;
    }
    return reach;
}

/*
 * Tries all hypotheses on a stretch of samples.
 */
#define VECTOR_WORK    (4u << 20)  /* bounds p^2 * samples in the search over intervals */
#define INTERVAL_RANKS 1024        /* with more ranks only single ranks are tried */
#define SCAN_MOST      (16u << 20) /* source elements looked at in a search */
#define SCAN_BLOCK     512

/* A search. */
struct search {
    const struct evidence *evidence;
    size_t first,
        window; /* samples that predictions are built for; hypothesis_reach() goes beyond */
    struct hypotheses *hypotheses;
    /* Reductions. */
    reduce_function *reduce;
    bool doubles, has_before; /* a doubled contribution shows, and is not like a missing one */
    int ranks;
    char *memory;
    char *rest;                              /* a vector of `window` elements for each length */
    char *total;                             /* a vector: all ranks, before the last touch */
    char *now, *before, *candidate, *poison; /* vectors of `window` elements */
    char *finished;
};

/* Keeps the hypothesis if none reaches farther. */
static void search_keep(struct search *search, const struct hypothesis *hypothesis, size_t reach)
{
    struct hypotheses *hypotheses = search->hypotheses;
    if (reach == 0 || reach < hypotheses->reach)
        return;
    if (reach > hypotheses->reach) {
        hypotheses->reach = reach;
        hypotheses->count = 0;
    }
    if (hypotheses->count < HYPOTHESES_MOST)
        hypotheses->hypotheses[hypotheses->count++] = *hypothesis;
}

static void search_try(struct search *search, const struct hypothesis *hypothesis)
{
    search->hypotheses->tried++;
    search_keep(search, hypothesis, hypothesis_reach(search->evidence, hypothesis, search->first));
}

/* Tries a hypothesis with a known prediction for the window, before the last touch. Most fail at
 * the first sample. */
static void search_try_predicted(struct search *search, const struct hypothesis *hypothesis,
                                 const char *predicted)
{
    const struct evidence *evidence = search->evidence;
    size_t size = evidence->size, reach = 0, i;
    const unsigned char *got = evidence->got + search->first * size;
    search->hypotheses->tried++;
    if (evidence->pattern->inputs.reduction->finishes) {
        hypothesis_finish(evidence, search->finished, predicted, search->window);
        predicted = search->finished;
    }
    for (i = 0; i < search->window; i++) {
        if (memcmp(predicted + i * size, got + i * size, size) != 0)
            break;
        if (evidence->samples[search->first + i].wrong)
            reach = i + 1;
    }
    if (i == search->window && search->first + i < evidence->count)
        reach = hypothesis_reach(evidence, hypothesis, search->first);
    search_keep(search, hypothesis, reach);
}

static const char *row(const struct search *search, const char *values, int rank)
{
    size_t at = (size_t)(rank % search->ranks) * search->evidence->count + search->first;
    return values + at * search->evidence->size;
}

/* All intervals that end just before rank `start`, from the shortest on. */
static void search_intervals_before(struct search *search, int start)
{
    const struct evidence *evidence = search->evidence;
    size_t window = search->window, bytes = window * evidence->size;
    int ranks = search->ranks;

    /* rest[n]: what the n + 1 ranks from `start` on give together. */
    memcpy(search->rest, row(search, evidence->now, start), bytes);
    for (int n = 1; n < ranks - 1; n++) {
        char *longer = search->rest + (size_t)n * bytes;
        search->reduce(longer, longer - bytes, row(search, evidence->now, start + n), window);
    }
    for (int length = 1; length < ranks; length++) {
        int first = (start + ranks - length) % ranks;
        const char *rest = search->rest + (size_t)(ranks - length - 1) * bytes;
        struct hypothesis hypothesis = {.set = {.first = first, .length = length}};
        const char *now = row(search, evidence->now, first);
        const char *before = row(search, evidence->before, first);
        if (length == 1) {
            memcpy(search->now, now, bytes);
            memcpy(search->before, before, bytes);
        } else {
            search->reduce(search->now, search->now, now, window);
            search->reduce(search->before, search->before, before, window);
        }
        hypothesis.kind = HYPOTHESIS_MISSING;
        search_try_predicted(search, &hypothesis, rest);
        hypothesis.kind = HYPOTHESIS_POISONED;
        search->reduce(search->candidate, rest, search->poison, window);
        search_try_predicted(search, &hypothesis, search->candidate);
        if (search->doubles) {
            hypothesis.kind = HYPOTHESIS_DOUBLED;
            search->reduce(search->candidate, search->total, search->now, window);
            search_try_predicted(search, &hypothesis, search->candidate);
        }
        if (search->has_before) {
            hypothesis.kind = HYPOTHESIS_STALE;
            search->reduce(search->candidate, rest, search->before, window);
            search_try_predicted(search, &hypothesis, search->candidate);
        }
    }
}

/* Every kind of hypothesis about one set. */
static void search_set(struct search *search, const struct rank_set *set)
{
    static const enum hypothesis_kind kinds[] = {HYPOTHESIS_MISSING, HYPOTHESIS_POISONED,
                                                 HYPOTHESIS_DOUBLED, HYPOTHESIS_STALE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct hypothesis hypothesis = {.kind = kinds[i], .set = *set};
        bool senseless = (kinds[i] == HYPOTHESIS_DOUBLED && !search->doubles) ||
                         (kinds[i] == HYPOTHESIS_STALE && !search->has_before);
        if (!senseless)
            search_try(search, &hypothesis);
    }
}

/* Is it a cyclic interval, which is tried as such? */
static bool set_is_interval(const struct rank_set *set, int ranks)
{
    int edges = 0;
    for (int rank = 0; rank < ranks; rank++)
        edges += rank_set_has(set, rank, ranks) != rank_set_has(set, (rank + 1) % ranks, ranks);
    return edges <= 2;
}

/* Ranks that are equal modulo a power of two, as exchanges with far ranks first combine them. */
static void search_classes(struct search *search)
{
    bool is_power = (search->ranks & (search->ranks - 1)) == 0;
    for (int shape = SET_CLASS; shape <= (is_power ? SET_CLASS : SET_FOLDED); shape++) {
        for (int modulus = 2; modulus < search->ranks; modulus *= 2) {
            for (int first = 0; first < modulus; first++) {
                struct rank_set set = {
                    .shape = (enum set_shape)shape, .first = first, .modulus = modulus};
                for (int inverted = 0; inverted < (modulus == 2 ? 1 : 2); inverted++) {
                    set.inverted = inverted;
                    if (!set_is_interval(&set, search->ranks))
                        search_set(search, &set);
                }
            }
        }
    }
}

/* Results of other elements: block for block, or slice for slice of one vector. */
static void search_slices(struct search *search)
{
    const struct problem *problem = &search->evidence->pattern->problem;
    size_t extent = collective_extent(problem, 0, BUFFER_SOURCE);
    size_t parts = (size_t)problem->ranks, from = search->evidence->samples[search->first].from;
    size_t base = extent / parts, longer = extent % parts;
    /* The slice that `from` lies in: the first `longer` slices have one element more. */
    size_t border = longer * (base + 1);
    size_t place = from < border ? from % (base + 1) : base ? (from - border) % base : 0;
    for (size_t part = 0; part < parts; part++) {
        size_t start = part * base + (part < longer ? part : longer);
        struct hypothesis hypothesis = {.kind = HYPOTHESIS_ELSEWHERE,
                                        .source = EVERY_RANK,
                                        .instead = EVERY_RANK,
                                        .shift = (int64_t)(start + place) - (int64_t)from};
        if (hypothesis.shift != 0)
            search_try(search, &hypothesis);
        hypothesis.before = true;
        if (hypothesis.shift != 0 && search->has_before)
            search_try(search, &hypothesis);
    }
}

static bool search_reductions(struct search *search)
{
    const struct evidence *evidence = search->evidence;
    size_t ranks = (size_t)search->ranks, bytes = search->window * evidence->size;
    search->memory = malloc((ranks + 6) * bytes);
    if (!search->memory)
        return false;
    search->now = search->memory;
    search->before = search->now + bytes;
    search->candidate = search->before + bytes;
    search->poison = search->candidate + bytes;
    search->finished = search->poison + bytes;
    search->total = search->finished + bytes;
    search->rest = search->total + bytes;
    memset(search->poison, PATTERN_POISON, bytes);
    memcpy(search->total, row(search, evidence->now, 0), bytes);
    for (int rank = 1; rank < search->ranks; rank++)
        search->reduce(search->total, search->total, row(search, evidence->now, rank),
                       search->window);

    struct rank_set all = {.length = search->ranks};
    search_try(search, &(struct hypothesis){.kind = HYPOTHESIS_UNWRITTEN});
    if (search->doubles)
        search_try(search, &(struct hypothesis){.kind = HYPOTHESIS_DOUBLED, .set = all});
    if (search->has_before)
        search_try(search, &(struct hypothesis){.kind = HYPOTHESIS_STALE, .set = all});
    for (int rank = 0; ranks > 1 && rank < search->ranks; rank++) {
        struct rank_set one = {.first = rank, .length = 1};
        if (search->ranks > INTERVAL_RANKS)
            search_set(search, &one);
        else
            search_intervals_before(search, rank);
    }
    if (search->ranks <= INTERVAL_RANKS)
        search_classes(search);
    search_slices(search);
    free(search->memory);
    return true;
}

/* Looks for the first sample's bytes among source elements [first, first + count) of a rank. */
static void search_scan(struct search *search, int source, bool before, size_t first, size_t count)
{
    const struct evidence *evidence = search->evidence;
    const struct sample *sample = &evidence->samples[search->first];
    struct pattern pattern = *evidence->pattern;
    pattern.inputs.iteration -= before;
    size_t size = evidence->size;
    const unsigned char *wanted = evidence->got + search->first * size;
    _Alignas(16) char values[SCAN_BLOCK * DATATYPE_SIZE_MOST];
    search->hypotheses->tried += (double)count;
    while (count > 0) {
        size_t length = count < SCAN_BLOCK ? count : SCAN_BLOCK;
        inputs_make(&pattern.inputs, source, first, length, values);
        for (size_t i = 0; i < length; i++) {
            if (memcmp(values + i * size, wanted, size) != 0)
                continue;
            struct hypothesis hypothesis = {.kind = HYPOTHESIS_ELSEWHERE,
                                            .source = source,
                                            .before = before,
                                            .instead = sample->source,
                                            .shift = (int64_t)(first + i) - (int64_t)sample->from};
            if (!before || source != sample->source || hypothesis.shift != 0) /* else it is stale */
                search_keep(search, &hypothesis,
                            hypothesis_reach(evidence, &hypothesis, search->first));
        }
        first += length;
        count -= length;
    }
}

/* The elements of `source` that are at the same place in a block as the first sample. */
static void search_blocks(struct search *search, int source, bool before)
{
    const struct problem *problem = &search->evidence->pattern->problem;
    size_t extent = collective_extent(problem, source, BUFFER_SOURCE);
    size_t place = search->evidence->samples[search->first].from % problem->count;
    for (size_t at = place; at < extent; at += problem->count)
        search_scan(search, source, before, at, 1);
}

static void search_movements(struct search *search)
{
    const struct problem *problem = &search->evidence->pattern->problem;
    int expected = search->evidence->samples[search->first].source;
    search_try(search, &(struct hypothesis){.kind = HYPOTHESIS_UNWRITTEN});
    if (search->has_before)
        search_try(search, &(struct hypothesis){.kind = HYPOTHESIS_STALE});
    size_t own = collective_extent(problem, expected, BUFFER_SOURCE);
    bool all = own <= SCAN_MOST / 2 / (size_t)problem->ranks;
    for (int before = 0; before <= search->has_before; before++) {
        for (int rank = 0; rank < problem->ranks; rank++) {
            size_t extent = collective_extent(problem, rank, BUFFER_SOURCE);
            if (all || (rank == expected && extent <= SCAN_MOST / 2))
                search_scan(search, rank, before, 0, extent);
            else
                search_blocks(search, rank, before);
        }
    }
}

bool hypothesis_search(const struct evidence *evidence, size_t first, struct hypotheses *hypotheses)
{
    const struct pattern *pattern = evidence->pattern;
    *hypotheses =
        (struct hypotheses){.hypotheses = malloc(HYPOTHESES_MOST * sizeof *hypotheses->hypotheses)};
    if (!hypotheses->hypotheses)
        return false;
    struct search search = {
        .evidence = evidence,
        .first = first,
        .hypotheses = hypotheses,
        .has_before = pattern->inputs.iteration > 0,
        .ranks = pattern->problem.ranks,
    };
    if (!evidence->reduces) {
        search_movements(&search);
        return true;
    }
    size_t pairs = (size_t)search.ranks * (size_t)search.ranks, left = evidence->count - first;
    size_t window = VECTOR_WORK / pairs;
    window = window > 16 ? window : 16;
    search.window = window < left ? window : left;
    search.doubles = !pattern->inputs.reduction->idempotent && !pattern->inputs.reduction->cancels;
    search.reduce = reduce_kernel(pattern->inputs.datatype, pattern->inputs.reduction);
    return search_reductions(&search);
}

void hypotheses_free(struct hypotheses *hypotheses)
{
    free(hypotheses->hypotheses);
    hypotheses->hypotheses = NULL;
}
