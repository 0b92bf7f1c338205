/*
 * diagnosis_text.c - a fault, put into words.
 *
 * The number of wrong elements comes first, then the explanation and its place, then the suspect.
 * An operator acts on the last, and judges by the first ones how much it is worth.
 */
#include "run/check/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS_MOST 4 /* flipped bits that are named */

/* A fault on its way into a sentence. */
struct wording {
    struct text *text;
    const struct finding_group *group;
    const struct diagnosis_context *context;
    enum diagnosis_detail detail;
};

/* The number by which a rank is called. */
static int called(const struct wording *wording, int rank)
{
    const int *members = wording->context->members;
    return members ? members[rank] : rank;
}

static void add_set(const struct wording *wording, const struct rank_set *set)
{
    int ranks = wording->context->ranks;
    struct rank_list list = {0};
    if (rank_set_size(set, ranks) == ranks) {
        text_add(wording->text, "all ranks");
        return;
    }
    for (int rank = 0; rank < ranks; rank++)
        if (rank_set_has(set, rank, ranks))
            rank_list_put(&list, called(wording, rank));
    rank_list_end(&list, wording->text);
}

static void add_sources(const struct wording *wording, const struct explanation *explanation)
{
    struct rank_list list = {0};
    for (int i = 0; i < explanation->source_count; i++)
        rank_list_put(&list, called(wording, explanation->sources[i]));
    rank_list_end(&list, wording->text);
    if (!wording->group->same_senders)
        text_add(wording->text, " and others");
    else if (explanation->source_count == FINDING_SOURCES)
        text_add(wording->text, " and perhaps others");
}

/* "rank 3", or "these ranks" where the fault has several. */
static void add_victims(const struct wording *wording)
{
    if (wording->group->count == 1)
        text_add(wording->text, "rank %d", called(wording, wording->group->rank));
    else
        text_add(wording->text, "these ranks");
}

static void add_combined(const struct wording *wording, const struct hypothesis *hypothesis)
{
    struct text *text = wording->text;
    int ranks = wording->context->ranks, size = rank_set_size(&hypothesis->set, ranks);
    const char *or_doubled = wording->context->reduction->cancels ? " or doubled" : "";
    bool one = size == 1;
    if (hypothesis->kind == HYPOTHESIS_STALE && size == ranks) {
        text_add(text, "the whole result is that of the iteration before (stale)");
        return;
    }
    if (hypothesis->kind == HYPOTHESIS_MISSING && !one && size == ranks - 1) {
        text_add(text, "it holds the contribution of rank %d alone, those of ",
                 called(wording, rank_set_first(&hypothesis->set, ranks, false)));
        add_set(wording, &hypothesis->set);
        text_add(text, " are missing%s", or_doubled);
        return;
    }
    if (hypothesis->kind == HYPOTHESIS_POISONED)
        text_add(text, "unwritten memory (poison) was combined instead of ");
    text_add(text, "the contribution%s of ", one ? "" : "s");
    add_set(wording, &hypothesis->set);
    if (hypothesis->kind == HYPOTHESIS_MISSING)
        text_add(text, " %s missing%s", one ? "is" : "are", or_doubled);
    else if (hypothesis->kind == HYPOTHESIS_DOUBLED)
        text_add(text, one ? " is doubled" : " are doubled");
    else if (hypothesis->kind == HYPOTHESIS_STALE)
        text_add(text, " %s of the iteration before (stale)", one ? "is" : "are");
}

static void add_moved(const struct wording *wording, const struct explanation *explanation,
                      const struct hypothesis *hypothesis)
{
    if (hypothesis->kind == HYPOTHESIS_ELSEWHERE) {
        text_add(wording->text,
                 "elements of rank %d%s stand where those of rank %d belong, %+lld away",
                 called(wording, hypothesis->source),
                 hypothesis->before ? " (of the iteration before)" : "",
                 called(wording, hypothesis->instead), (long long)hypothesis->shift);
        return;
    }
    text_add(wording->text, "data from ");
    add_sources(wording, explanation);
    text_add(wording->text, hypothesis->kind == HYPOTHESIS_UNWRITTEN
                                ? " is missing (never written, poison stands there)"
                                : " is of the iteration before (stale)");
}

static void add_hypothesis(const struct wording *wording, const struct explanation *explanation,
                           const struct hypothesis *hypothesis)
{
    if (!wording->context->reduction)
        add_moved(wording, explanation, hypothesis);
    else if (hypothesis->kind == HYPOTHESIS_UNWRITTEN)
        text_add(wording->text,
                 "poison stands there: never written, or unwritten memory was combined");
    else if (hypothesis->kind == HYPOTHESIS_ELSEWHERE)
        text_add(
            wording->text, "a right result in a wrong place: that of source elements %+lld away%s",
            (long long)hypothesis->shift, hypothesis->before ? " (of the iteration before)" : "");
    else
        add_combined(wording, hypothesis);
}

static void add_place(const struct wording *wording, const struct explanation *explanation)
{
    struct text *text = wording->text;
    text_add(text, " in ");
    if (explanation->stretches > 1)
        text_add(text, "%llu stretches of ", (unsigned long long)explanation->stretches);
    if (explanation->first == explanation->last)
        text_add(text, "element %llu", (unsigned long long)explanation->first);
    else
        text_add(text, "elements %llu..%llu", (unsigned long long)explanation->first,
                 (unsigned long long)explanation->last);
    if (!wording->group->alike)
        text_add(text, " of rank %d", called(wording, wording->group->rank));
}

/* Data movement. */
static void add_sender(const struct wording *wording, const struct explanation *explanation)
{
    struct text *text = wording->text;
    int rank = called(wording, wording->group->rank);
    int sender = called(wording, explanation->sources[0]);
    if (explanation->source_count != 1 || !wording->group->same_senders) {
        text_add(text, ": suspect the links into ");
        add_victims(wording);
    } else if (wording->group->count > 1) {
        text_add(text, ": suspect rank %d, or the links from it", sender);
    } else if (sender == rank) {
        text_add(text, ": suspect rank %d's copy of its own block", rank);
    } else {
        text_add(text, ": suspect rank %d, or the path from it to rank %d", sender, rank);
    }
}

/* A set of contributions of a reduction. */
static void add_carrier(const struct wording *wording, const struct rank_set *set, int size)
{
    struct text *text = wording->text;
    int ranks = wording->context->ranks, root = wording->group->finding->root;
    text_add(text, ": suspect the links that carried their partial result");
    if (set->shape != SET_INTERVAL)
        return;
    int first = set->first, last = (first + size - 1) % ranks;
    text_add(text, " (");
    if (wording->context->collective->rooted && !rank_set_has(set, root, ranks))
        text_add(text, "in a tree, rank %d, or the links from it; ", called(wording, first));
    text_add(text, "in a ring, the link from rank %d to %d, or from %d to %d)",
             called(wording, last), called(wording, (last + 1) % ranks), called(wording, first),
             called(wording, (first + ranks - 1) % ranks));
}

static void add_suspect(const struct wording *wording, const struct explanation *explanation)
{
    struct text *text = wording->text;
    const struct hypothesis *hypothesis = &explanation->hypotheses[0];
    const struct rank_set *set = &hypothesis->set;
    int ranks = wording->context->ranks, size = rank_set_size(set, ranks);
    if (hypothesis->kind == HYPOTHESIS_ELSEWHERE) {
        text_add(text, ": suspect the offsets of the algorithm");
    } else if (!wording->context->reduction) {
        add_sender(wording, explanation);
    } else if (hypothesis->kind == HYPOTHESIS_UNWRITTEN || size == ranks) {
        text_add(text, ": suspect ");
        add_victims(wording);
        text_add(text, ", or the links into %s", wording->group->count == 1 ? "it" : "them");
    } else if (size == 1) {
        text_add(text, ": suspect rank %d, or the links from it",
                 called(wording, rank_set_first(set, ranks, true)));
    } else if (hypothesis->kind == HYPOTHESIS_MISSING && size == ranks - 1) {
        text_add(text, ": suspect the links into rank %d",
                 called(wording, rank_set_first(set, ranks, false)));
    } else {
        add_carrier(wording, set, size);
    }
}

static void add_explanation(const struct wording *wording, const struct explanation *explanation)
{
    struct text *text = wording->text;
    uint64_t named =
        explanation->fitting < FINDING_HYPOTHESES ? explanation->fitting : FINDING_HYPOTHESES;
    bool ambiguous = explanation->fitting > 1 || explanation->chance;
    text_add(text, ambiguous ? "ambiguous: either " : "");
    for (uint64_t i = 0; i < named; i++) {
        text_add(text, i ? ", or " : "");
        add_hypothesis(wording, explanation, &explanation->hypotheses[i]);
    }
    if (explanation->fitting > named)
        text_add(text, ", or one of %llu more explanations",
                 (unsigned long long)(explanation->fitting - named));
    text_add(text, explanation->chance ? ", or corruption" : "");
    text_add(text, explanation->at_least ? " (of these at least)" : "");
    add_place(wording, explanation);
    if (!ambiguous && wording->detail == DETAIL_SUSPECTS)
        add_suspect(wording, explanation);
}

/* Bits in which the element differs from what it must be: how many, and the first ones. */
static int element_flips(const struct wrong_element *element, size_t size, int bits[BITS_MOST])
{
    int count = 0;
    for (int bit = 0; bit < 8 * (int)size; bit++) {
        bool flipped = (element->expected[bit / 8] ^ element->got[bit / 8]) >> bit % 8 & 1;
        if (flipped && count < BITS_MOST)
            bits[count] = bit;
        count += flipped;
    }
    return count;
}

/* The power of two by which a sum is off, with its sign. 0: it is off by something else. */
static double element_error(const struct diagnosis_context *context,
                            const struct wrong_element *element)
{
    const struct datatype *type = context->datatype;
    uint64_t expected = 0, got = 0;
    if (!context->reduction || context->reduction->id != REDUCTION_SUM ||
        type->kind == DATATYPE_FLOAT)
        return 0;
    memcpy(&expected, element->expected, type->size);
    memcpy(&got, element->got, type->size);
    unsigned unused = 64 - 8 * (unsigned)type->size;
    double error = (double)((int64_t)((got - expected) << unused) >> unused);
    int exponent;
    return fabs(frexp(error, &exponent)) == 0.5 ? error : 0;
}

/* Is a bit that flips in a contribution, if it shows at all, the one that differs in the result? */
static bool keeps_bits(const struct diagnosis_context *context)
{
    enum reduction_id id = context->reduction ? context->reduction->id : REDUCTION_BXOR;
    return context->datatype->kind == DATATYPE_PAIR || id == REDUCTION_BXOR ||
           id == REDUCTION_BAND || id == REDUCTION_BOR || id == REDUCTION_MIN ||
           id == REDUCTION_MAX;
}

static void add_corrupted(const struct wording *wording, const struct wrong_element *element)
{
    struct text *text = wording->text;
    const struct datatype *type = wording->context->datatype;
    int bits[BITS_MOST], flips = element_flips(element, type->size, bits);
    char expected[PATTERN_TEXT_MOST], got[PATTERN_TEXT_MOST];
    pattern_format(type, element->expected, expected, sizeof expected);
    pattern_format(type, element->got, got, sizeof got);
    text_add(text, "element %llu", (unsigned long long)element->at);
    if (element->source != EVERY_RANK)
        text_add(text, " from rank %d", called(wording, element->source));
    text_add(text, " is %s instead of %s (", got, expected);
    double error = element_error(wording->context, element);
    if (error != 0 && flips > 1) {
        text_add(text, "off by %+.0f: one bit flipped before it was combined", error);
    } else if (element->source == EVERY_RANK && !keeps_bits(wording->context)) {
        text_add(text, "off by %+.9g", strtod(got, NULL) - strtod(expected, NULL));
    } else {
        text_add(text, flips == 1 ? "flipped bit" : "flipped bits");
        for (int named = 0; named < flips && named < BITS_MOST; named++)
            text_add(text, " %d", bits[named]);
        text_add(text, flips > BITS_MOST ? " ..." : "");
    }
    text_add(text, ")");
}

/* Wrong elements that no hypothesis fits. */
static void add_unexplained(const struct wording *wording)
{
    struct text *text = wording->text;
    const struct finding *finding = wording->group->finding;
    if (!finding_is_corruption(finding)) {
        text_add(text, "%sno explanation fits %llu of %llu wrong elements looked at",
                 finding->explanation_count ? "" : "no single fault explains it: ",
                 (unsigned long long)finding->unexplained,
                 (unsigned long long)(finding->unexplained + finding->unlooked));
        return;
    }
    text_add(text, "corrupted on the way or in memory: ");
    for (int i = 0; i < finding_elements(finding); i++) {
        text_add(text, i ? ", " : "");
        add_corrupted(wording, &finding->elements[i]);
    }
    if (finding->unexplained > FINDING_ELEMENTS)
        text_add(text, " and %llu more like it",
                 (unsigned long long)(finding->unexplained - FINDING_ELEMENTS));
    int source = finding->elements[0].source, rank = wording->group->rank;
    if (wording->detail != DETAIL_SUSPECTS || source == EVERY_RANK || source == rank)
        return;
    if (wording->group->count > 1)
        text_add(text, ": suspect the memory of rank %d, or the path from it to these ranks",
                 called(wording, source));
    else
        text_add(text, ": suspect the memory of ranks %d and %d, or the path between them",
                 called(wording, source), called(wording, rank));
}

static void add_result(const struct wording *wording)
{
    struct text *text = wording->text;
    const struct finding *finding = wording->group->finding;
    const struct datatype *type = wording->context->datatype;
    char expected[PATTERN_TEXT_MOST], got[PATTERN_TEXT_MOST];
    if (finding->diagnosis == DIAGNOSIS_OVERTAKEN) {
        text_add(
            text,
            "%llu elements were wrong in checked iteration %llu, and changed during the check: "
            "a late transfer or another process still writes there",
            (unsigned long long)wording->group->wrong, (unsigned long long)finding->iteration);
        return;
    }
    pattern_format(type, finding->first.expected, expected, sizeof expected);
    pattern_format(type, finding->first.got, got, sizeof got);
    text_add(text, "%llu element%s wrong in checked iteration %llu%s, the first ",
             (unsigned long long)wording->group->wrong,
             wording->group->wrong == 1 ? " is" : "s are", (unsigned long long)finding->iteration,
             wording->group->together ? "" : " and later ones");
    if (!wording->group->alike)
        text_add(text, "of rank %d ", called(wording, wording->group->rank));
    text_add(text, "at %llu: expected %s, got %s", (unsigned long long)finding->first.at, expected,
             got);
    if (wording->detail == DETAIL_COUNT)
        return;
    text_add(text, "; ");
    if (finding->diagnosis == DIAGNOSIS_WITHOUT_MEMORY)
        text_add(text, "not explained: no memory for it");
    for (int i = 0; i < finding_explanations(finding); i++) {
        text_add(text, i ? "; " : "");
        add_explanation(wording, &finding->explanations[i]);
    }
    if (finding->explanation_count > FINDING_EXPLANATIONS)
        text_add(text, "; and %d more explanations of other elements",
                 finding->explanation_count - FINDING_EXPLANATIONS);
    if (finding->unexplained > 0) {
        text_add(text, finding->explanation_count ? "; " : "");
        add_unexplained(wording);
    }
    if (finding->unlooked > 0)
        text_add(text, "; the other elements were not looked at");
}

void diagnosis_text(struct text *text, const struct finding_group *group,
                    const struct diagnosis_context *context, enum diagnosis_detail detail)
{
    const struct wording wording = {
        .text = text, .group = group, .context = context, .detail = detail};
    const struct finding *finding = group->finding;
    const struct overrun *overrun = &finding->overrun;
    if (finding->kind == FINDING_RESULT)
        add_result(&wording);
    else if (finding->kind == FINDING_SOURCE)
        text_add(text, "%llu element%s of the source %s overwritten in checked iteration %llu",
                 (unsigned long long)group->wrong, plural(group->wrong),
                 group->wrong == 1 ? "was" : "were", (unsigned long long)finding->iteration);
    else
        text_add(text,
                 "in checked iteration %llu %llu byte%s %s the %s buffer %s overwritten, the first "
                 "at offset %lld",
                 (unsigned long long)finding->iteration, (unsigned long long)overrun->bytes,
                 plural(overrun->bytes), overrun->first < 0 ? "before" : "behind",
                 buffer_names[overrun->buffer], overrun->bytes == 1 ? "was" : "were",
                 (long long)overrun->first);
}
