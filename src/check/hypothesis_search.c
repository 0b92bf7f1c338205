/*
 * hypothesis_search.c - tries all stories on a stretch of samples, and keeps those that reach farthest.
 *
 * Reductions. The sets of ranks are all cyclic intervals, and the classes that exchanges between
 * far halves make. For intervals the predictions of all p^2 sets are built from each other, one
 * combination of a vector of samples for each, so that 64 ranks take a few milliseconds.
 *
 * Data movement. What stands in a wrong place is looked for among all source elements of all ranks,
 * of this iteration and of the one before, by its first sample; where this would be too many, among
 * those at the beginnings of blocks and all of the rank whose elements belong there.
 */
#include <stdlib.h>
#include <string.h>

#include "check/hypothesis.h"

#define VECTOR_WORK    (4u << 20) /* bounds p^2 * samples in the search over intervals */
#define INTERVAL_RANKS 1024 /* with more ranks, intervals are not tried but for single ranks */
#define SCAN_MOST      (16u << 20) /* source elements looked at in a search */
#define SCAN_BLOCK     1024

/* One search on its way. */
struct hunt {
    const struct evidence *evidence;
    size_t first, window; /* samples that predictions are built for; story_reach() goes beyond */
    struct search *search;
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

/* Keeps the story if none reaches farther. */
static void hunt_keep(struct hunt *hunt, const struct story *story, size_t reach)
{
    struct search *search = hunt->search;
    if (reach == 0 || reach < search->reach)
        return;
    if (reach > search->reach) {
        search->reach = reach;
        search->count = 0;
    }
    if (search->count < STORIES_MOST)
        search->stories[search->count++] = *story;
}

static void hunt_try(struct hunt *hunt, const struct story *story)
{
    hunt->search->tried++;
    hunt_keep(hunt, story, story_reach(hunt->evidence, story, hunt->first));
}

/* Tries a story whose prediction for the window is known, but for the last touch: most fail at the
 * first sample. */
static void hunt_try_predicted(struct hunt *hunt, const struct story *story, const char *predicted)
{
    const struct evidence *evidence = hunt->evidence;
    size_t size = evidence->size, reach = 0, i;
    const char *got = evidence->got + hunt->first * size;
    hunt->search->tried++;
    if (evidence->pattern->reduction->finishes) {
        story_finish(evidence, hunt->finished, predicted, hunt->window);
        predicted = hunt->finished;
    }
    for (i = 0; i < hunt->window; i++) {
        if (memcmp(predicted + i * size, got + i * size, size) != 0)
            break;
        if (evidence->samples[hunt->first + i].wrong)
            reach = i + 1;
    }
    if (i == hunt->window && hunt->first + i < evidence->count)
        reach = story_reach(evidence, story, hunt->first);
    hunt_keep(hunt, story, reach);
}

static const char *row(const struct hunt *hunt, const char *values, int rank)
{
    size_t at = (size_t)(rank % hunt->ranks) * hunt->evidence->count + hunt->first;
    return values + at * hunt->evidence->size;
}

/* All intervals that end just before rank `start`, from the shortest on. */
static void hunt_intervals_before(struct hunt *hunt, int start)
{
    const struct evidence *evidence = hunt->evidence;
    size_t window = hunt->window, bytes = window * evidence->size;
    int ranks = hunt->ranks;

    /* rest[n]: what the n + 1 ranks from `start` on give together. */
    memcpy(hunt->rest, row(hunt, evidence->now, start), bytes);
    for (int n = 1; n < ranks - 1; n++) {
        char *longer = hunt->rest + (size_t)n * bytes;
        hunt->reduce(longer, longer - bytes, row(hunt, evidence->now, start + n), window);
    }
    for (int length = 1; length < ranks; length++) {
        int first = (start + ranks - length) % ranks;
        const char *rest = hunt->rest + (size_t)(ranks - length - 1) * bytes;
        struct story story = {.set = {.first = first, .length = length}};
        const char *now = row(hunt, evidence->now, first);
        const char *before = row(hunt, evidence->before, first);
        if (length == 1) {
            memcpy(hunt->now, now, bytes);
            memcpy(hunt->before, before, bytes);
        } else {
            hunt->reduce(hunt->now, hunt->now, now, window);
            hunt->reduce(hunt->before, hunt->before, before, window);
        }
        story.kind = STORY_MISSING;
        hunt_try_predicted(hunt, &story, rest);
        story.kind = STORY_POISONED;
        hunt->reduce(hunt->candidate, rest, hunt->poison, window);
        hunt_try_predicted(hunt, &story, hunt->candidate);
        if (hunt->doubles) {
            story.kind = STORY_DOUBLED;
            hunt->reduce(hunt->candidate, hunt->total, hunt->now, window);
            hunt_try_predicted(hunt, &story, hunt->candidate);
        }
        if (hunt->has_before) {
            story.kind = STORY_STALE;
            hunt->reduce(hunt->candidate, rest, hunt->before, window);
            hunt_try_predicted(hunt, &story, hunt->candidate);
        }
    }
}

/* Every kind of story about one set. */
static void hunt_set(struct hunt *hunt, const struct rank_set *set)
{
    static const enum story_kind kinds[] = {STORY_MISSING, STORY_POISONED, STORY_DOUBLED,
                                            STORY_STALE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct story story = {.kind = kinds[i], .set = *set};
        bool senseless = (kinds[i] == STORY_DOUBLED && !hunt->doubles) ||
                         (kinds[i] == STORY_STALE && !hunt->has_before);
        if (!senseless)
            hunt_try(hunt, &story);
    }
}

/* Is it a cyclic interval, which is tried as such? */
static bool set_is_interval(const struct rank_set *set, int ranks)
{
    int edges = 0;
    for (int rank = 0; rank < ranks; rank++)
        edges += set_has(set, rank, ranks) != set_has(set, (rank + 1) % ranks, ranks);
    return edges <= 2;
}

/* What exchanges with far ranks first make: ranks that are equal modulo a power of two. */
static void hunt_classes(struct hunt *hunt)
{
    bool is_power = (hunt->ranks & (hunt->ranks - 1)) == 0;
    for (int shape = SET_CLASS; shape <= (is_power ? SET_CLASS : SET_FOLDED); shape++) {
        for (int modulus = 2; modulus < hunt->ranks; modulus *= 2) {
            for (int first = 0; first < modulus; first++) {
                struct rank_set set = {
                    .shape = (enum set_shape)shape, .first = first, .modulus = modulus};
                for (int inverted = 0; inverted < (modulus == 2 ? 1 : 2); inverted++) {
                    set.inverted = inverted;
                    if (!set_is_interval(&set, hunt->ranks))
                        hunt_set(hunt, &set);
                }
            }
        }
    }
}

/* Results of other elements: block for block, or slice for slice of one vector. */
static void hunt_slices(struct hunt *hunt)
{
    const struct problem *problem = &hunt->evidence->pattern->problem;
    size_t extent = collective_extent(problem, 0, BUFFER_SOURCE);
    size_t parts = (size_t)problem->ranks, from = hunt->evidence->samples[hunt->first].from;
    size_t base = extent / parts, longer = extent % parts;
    /* The slice that `from` lies in: the first `longer` slices have one element more. */
    size_t border = longer * (base + 1);
    size_t place = from < border ? from % (base + 1) : base ? (from - border) % base : 0;
    for (size_t part = 0; part < parts; part++) {
        size_t start = part * base + (part < longer ? part : longer);
        struct story story = {.kind = STORY_ELSEWHERE,
                              .source = EVERY_RANK,
                              .instead = EVERY_RANK,
                              .shift = (int64_t)(start + place) - (int64_t)from};
        if (story.shift != 0)
            hunt_try(hunt, &story);
        story.before = true;
        if (story.shift != 0 && hunt->has_before)
            hunt_try(hunt, &story);
    }
}

static bool hunt_reductions(struct hunt *hunt)
{
    const struct evidence *evidence = hunt->evidence;
    size_t ranks = (size_t)hunt->ranks, bytes = hunt->window * evidence->size;
    hunt->memory = malloc((ranks + 6) * bytes);
    if (!hunt->memory)
        return false;
    hunt->now = hunt->memory;
    hunt->before = hunt->now + bytes;
    hunt->candidate = hunt->before + bytes;
    hunt->poison = hunt->candidate + bytes;
    hunt->finished = hunt->poison + bytes;
    hunt->total = hunt->finished + bytes;
    hunt->rest = hunt->total + bytes;
    memset(hunt->poison, PATTERN_POISON, bytes);
    memcpy(hunt->total, row(hunt, evidence->now, 0), bytes);
    for (int rank = 1; rank < hunt->ranks; rank++)
        hunt->reduce(hunt->total, hunt->total, row(hunt, evidence->now, rank), hunt->window);

    struct rank_set all = {.length = hunt->ranks};
    hunt_try(hunt, &(struct story){.kind = STORY_UNWRITTEN});
    if (hunt->doubles)
        hunt_try(hunt, &(struct story){.kind = STORY_DOUBLED, .set = all});
    if (hunt->has_before)
        hunt_try(hunt, &(struct story){.kind = STORY_STALE, .set = all});
    for (int rank = 0; ranks > 1 && rank < hunt->ranks; rank++) {
        struct rank_set one = {.first = rank, .length = 1};
        if (hunt->ranks > INTERVAL_RANKS)
            hunt_set(hunt, &one);
        else
            hunt_intervals_before(hunt, rank);
    }
    if (hunt->ranks <= INTERVAL_RANKS)
        hunt_classes(hunt);
    hunt_slices(hunt);
    free(hunt->memory);
    return true;
}

/* Looks for the first sample's bytes among source elements [first, first + count) of a rank. */
static void hunt_scan(struct hunt *hunt, int source, bool before, size_t first, size_t count)
{
    const struct evidence *evidence = hunt->evidence;
    const struct sample *sample = &evidence->samples[hunt->first];
    struct pattern pattern = *evidence->pattern;
    pattern.iteration -= before;
    size_t size = evidence->size;
    const char *wanted = evidence->got + hunt->first * size;
    _Alignas(16) char values[SCAN_BLOCK * DATATYPE_SIZE_MOST];
    hunt->search->tried += (double)count;
    while (count > 0) {
        size_t length = count < SCAN_BLOCK ? count : SCAN_BLOCK;
        pattern_fill(&pattern, source, first, length, values);
        for (size_t i = 0; i < length; i++) {
            if (memcmp(values + i * size, wanted, size) != 0)
                continue;
            struct story story = {.kind = STORY_ELSEWHERE,
                                  .source = source,
                                  .before = before,
                                  .instead = sample->source,
                                  .shift = (int64_t)(first + i) - (int64_t)sample->from};
            if (!before || source != sample->source || story.shift != 0) /* else it is stale */
                hunt_keep(hunt, &story, story_reach(evidence, &story, hunt->first));
        }
        first += length;
        count -= length;
    }
}

/* The elements of `source` that are at the same place in a block as the first sample. */
static void hunt_blocks(struct hunt *hunt, int source, bool before)
{
    const struct problem *problem = &hunt->evidence->pattern->problem;
    size_t extent = collective_extent(problem, source, BUFFER_SOURCE);
    size_t place = hunt->evidence->samples[hunt->first].from % problem->count;
    for (size_t at = place; at < extent; at += problem->count)
        hunt_scan(hunt, source, before, at, 1);
}

static void hunt_movements(struct hunt *hunt)
{
    const struct problem *problem = &hunt->evidence->pattern->problem;
    int expected = hunt->evidence->samples[hunt->first].source;
    hunt_try(hunt, &(struct story){.kind = STORY_UNWRITTEN});
    if (hunt->has_before)
        hunt_try(hunt, &(struct story){.kind = STORY_STALE});
    size_t own = collective_extent(problem, expected, BUFFER_SOURCE);
    bool all = own <= SCAN_MOST / 2 / (size_t)problem->ranks;
    for (int before = 0; before <= hunt->has_before; before++) {
        for (int rank = 0; rank < problem->ranks; rank++) {
            size_t extent = collective_extent(problem, rank, BUFFER_SOURCE);
            if (all || (rank == expected && extent <= SCAN_MOST / 2))
                hunt_scan(hunt, rank, before, 0, extent);
            else
                hunt_blocks(hunt, rank, before);
        }
    }
}

bool story_search(const struct evidence *evidence, size_t first, struct search *search)
{
    const struct pattern *pattern = evidence->pattern;
    *search = (struct search){.stories = malloc(STORIES_MOST * sizeof *search->stories)};
    if (!search->stories)
        return false;
    struct hunt hunt = {
        .evidence = evidence,
        .first = first,
        .search = search,
        .has_before = pattern->iteration > 0,
        .ranks = pattern->problem.ranks,
    };
    if (!evidence->reduces) {
        hunt_movements(&hunt);
        return true;
    }
    size_t pairs = (size_t)hunt.ranks * (size_t)hunt.ranks, left = evidence->count - first;
    size_t window = VECTOR_WORK / pairs;
    window = window > 16 ? window : 16;
    hunt.window = window < left ? window : left;
    hunt.doubles = !pattern->reduction->idempotent && !pattern->reduction->cancels;
    hunt.reduce = reduce_kernel(pattern->datatype, pattern->reduction);
    return hunt_reductions(&hunt);
}

void search_free(struct search *search)
{
    free(search->stories);
    search->stories = NULL;
}
