/*
 * pattern.c - the inputs, and from them the results that must come.
 *
 * An input is a hash of (seed, iteration, rank, element), shaped so that every order of reduction
 * gives the same bits, and so that a fault changes the result. The shapes, for p ranks, and which
 * fraction of the elements shows the fault of one rank (a contribution missing; doubled; stale,
 * which means the value of the iteration before):
 *
 *   operator  type     value of a rank                                missing   doubled  stale
 *   sum       integer  all bits random; wraps                         1-2^-n    1-2^-n   1-2^-n
 *   sum       float    sign, and an integer of 1 .. 2^m               1         1        1-2^-m
 *   prod      integer  odd, the other bits random; wraps              1-2^-n'   1-2^-n'  1-2^-n'
 *   prod      float    sign; a power of two on w of the ranks         > 1/2     > 1/2    > 1/2
 *   min, max  any      half of the range; one decider has the other   1/p       -        > 1/2p
 *   bor       integer  0; one decider has random bits                 about 1/p -        > 1/2p
 *   none      any      all bits random (floats: never NaN or infinite, never subnormal)
 *
 * n is the width of the type, n' = n - 1. A doubled contribution to min, max and bor changes
 * nothing.
 *
 * Sums of floats stay exact because m = exact_bits - 1 - log2(p), so that even if all contributions
 * were doubled, every partial sum is an integer that fits the mantissa (float: up to 2^22 ranks).
 *
 * Products of floats: w = min(p, 30) ranks have exponents (float; 250 double), whose absolute sum
 * is at most 60 (500): no partial product overflows, also if all were doubled. Where a rank has a
 * sign only, missing and doubled look alike; the exponents, on w/p of the elements, tell them
 * apart.
 *
 * The decider of an element, and the first of the w ranks, walk through the ranks in steps that
 * have no common divisor with p, from a start that is drawn for every page of 4096 elements: among
 * any p consecutive elements of a page each rank decides exactly one. So the absence of any rank
 * shows within 2p elements, whatever the hash says.
 */
#include "pattern.h"

#include <string.h>

#include "independent.h"

#define PAGE   4096u /* elements that share their keys; a power of two */
#define BLOCK  512u  /* elements made at a time: all that they need stays in the first cache */
#define WIDEST 8     /* bytes of the largest element */

enum rule { RULE_RAW, RULE_SUM, RULE_PRODUCT, RULE_EXTREME, RULE_BITS };

/* How the values of consecutive elements of one page are made: the same for all ranks. */
struct draw {
    const struct pattern *pattern;
    uint64_t key;
    size_t first, count;
    enum rule rule;
    bool decider_sets; /* RULE_EXTREME: the decider's values have the top (or sign) bit set */
    uint32_t deciders[BLOCK];
};

/* What one rank's values are made of. */
struct material {
    enum rule rule;
    size_t count;
    uint32_t rank, ranks;
    uint32_t loser_top, decider_top; /* 0 or 1: the top bit, or the sign */
    uint32_t window, exponent_most;  /* RULE_PRODUCT of floats */
    uint32_t shift;                  /* RULE_SUM of floats: leaves m bits of a word */
    const uint32_t *deciders;
    uint32_t words[BLOCK];
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint32_t mix_word(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0xd35a2d97u;
    return x ^ x >> 15;
}

/* `who`: a rank plus one, or 0 for what all ranks share. */
static uint64_t page_key(uint64_t iteration_key, uint64_t who, size_t page)
{
    return mix(mix(iteration_key + who * 0x9e3779b97f4a7c15u) + page);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void draw_deciders(struct draw *draw)
{
    uint32_t ranks = (uint32_t)draw->pattern->problem.ranks;
    if (ranks == 1) {
        memset(draw->deciders, 0, sizeof draw->deciders);
        return;
    }
    uint64_t key = page_key(draw->key, 0, draw->first / PAGE);
    uint32_t step = 1 + (uint32_t)key % (ranks - 1);
    while (common_divisor(step, ranks) != 1)
        step = 1 + step % (ranks - 1);
    uint64_t walked = (uint64_t)step * (draw->first % PAGE);
    uint32_t decider = (uint32_t)((walked + (key >> 32)) % ranks);
    for (size_t i = 0; i < draw->count; i++) {
        draw->deciders[i] = decider;
        decider += step;
        decider -= decider >= ranks ? ranks : 0;
    }
}

static enum rule rule_of(const struct reduction *reduction)
{
    if (!reduction)
        return RULE_RAW;
    static const enum rule rules[] = {
        [REDUCTION_SUM] = RULE_SUM,     [REDUCTION_PROD] = RULE_PRODUCT,
        [REDUCTION_MIN] = RULE_EXTREME, [REDUCTION_MAX] = RULE_EXTREME,
        [REDUCTION_BOR] = RULE_BITS,
    };
    return rules[reduction->id];
}

/* Elements from `first` on, at most `most` of them: to the end of the page, or of a block. */
static void draw_begin(struct draw *draw, const struct pattern *pattern, uint64_t iteration,
                       size_t first, size_t most)
{
    size_t count = PAGE - first % PAGE;
    count = count < BLOCK ? count : BLOCK;
    draw->pattern = pattern;
    draw->key = mix(mix(pattern->seed) + iteration);
    draw->first = first;
    draw->count = count < most ? count : most;
    draw->rule = rule_of(pattern->reduction);
    bool is_float = pattern->datatype->kind == DATATYPE_FLOAT;
    bool is_signed = pattern->datatype->kind != DATATYPE_UNSIGNED;
    if (draw->rule == RULE_EXTREME)
        draw->decider_sets = (pattern->reduction->id == REDUCTION_MAX) != is_signed;
    if (draw->rule >= RULE_EXTREME || (draw->rule == RULE_PRODUCT && is_float))
        draw_deciders(draw);
}

/* The loops that turn words into values. Nothing in them depends on another element. */
#define EACH(value)                                                                                \
    INDEPENDENT for (size_t i = 0; i < count; i++)                                                 \
    {                                                                                              \
        const uint32_t word = words[i];                                                            \
        to[i] = (value);                                                                           \
    }                                                                                              \
    break

/* `value` or, where `flag` (0 or 1) is set, -value; without a branch, which would keep the loops
 * scalar. */
static inline int32_t negate_if(uint32_t flag, int32_t value)
{
    return (value ^ -(int32_t)flag) + (int32_t)flag;
}

/* +-1 .. +-exponent_most for the ranks in the window, 0 for the others. */
static inline int32_t exponent_of(uint32_t word, uint32_t decider, const struct material *m)
{
    uint32_t distance = m->rank - decider + (m->rank < decider ? m->ranks : 0);
    int32_t exponent = (int32_t)(1 + ((word >> 16) * m->exponent_most >> 16));
    return negate_if(word >> 1 & 1, exponent) & -(int32_t)(distance < m->window);
}

#define WIDEN_8(word)  (uint8_t)((word) >> 24)
#define WIDEN_16(word) (uint16_t)((word) >> 16)
#define WIDEN_32(word) (word)
#define WIDEN_64(word) ((uint64_t)(word) << 32 | (((word) ^ (word) >> 15) * 0x2c1b3c6du))

#define MAKE_INTEGERS(bits)                                                                        \
    static void make_integers_##bits(const struct material *m, void *values)                       \
    {                                                                                              \
        uint##bits##_t *to = values;                                                               \
        const size_t count = m->count;                                                             \
        const uint32_t *words = m->words, *deciders = m->deciders, rank = m->rank;                 \
        const uint##bits##_t top = (uint##bits##_t)((uint64_t)1 << (bits - 1));                    \
        const uint##bits##_t below = (uint##bits##_t)(top - 1);                                    \
        const uint##bits##_t loser = m->loser_top ? top : 0, decider = m->decider_top ? top : 0;   \
        switch (m->rule) {                                                                         \
        case RULE_RAW:                                                                             \
        case RULE_SUM:                                                                             \
            EACH(WIDEN_##bits(word));                                                              \
        case RULE_PRODUCT:                                                                         \
            EACH(WIDEN_##bits(word) | 1);                                                          \
        case RULE_EXTREME:                                                                         \
            EACH((WIDEN_##bits(word) & below) | (deciders[i] == rank ? decider : loser));          \
        case RULE_BITS:                                                                            \
            EACH(deciders[i] == rank ? WIDEN_##bits(word) | 1 : 0);                                \
        }                                                                                          \
    }

MAKE_INTEGERS(8)
MAKE_INTEGERS(16)
MAKE_INTEGERS(32)
MAKE_INTEGERS(64)

static inline float float_of(uint32_t bits)
{
    union {
        uint32_t bits;
        float value;
    } both = {.bits = bits};
    return both.value;
}

static inline double double_of(uint64_t bits)
{
    union {
        uint64_t bits;
        double value;
    } both = {.bits = bits};
    return both.value;
}

/* Random bits with the upper two bits of the exponent 01: normal, finite, of either sign. */
#define RAW_FLOAT(word)  float_of(((word)&0x9fffffffu) | 0x20000000u)
#define RAW_DOUBLE(word) double_of((WIDEN_64(word) & ~(3ull << 61)) | 1ull << 61)

/* (-1)^word * 2^exponent */
#define POWER_FLOAT(word, exponent) float_of((word) << 31 | (uint32_t)(127 + (exponent)) << 23)
#define POWER_DOUBLE(word, exponent)                                                               \
    double_of((uint64_t)(word) << 63 | (uint64_t)(1023 + (exponent)) << 52)

#define MAKE_FLOATS(name, type, RAW, POWER)                                                        \
    static void name(const struct material *m, void *values)                                       \
    {                                                                                              \
        type *to = values;                                                                         \
        const size_t count = m->count;                                                             \
        const uint32_t *words = m->words, *deciders = m->deciders, rank = m->rank;                 \
        const uint32_t shift = m->shift;                                                           \
        const type loser = m->loser_top ? -1 : 1, decider = m->decider_top ? -1 : 1;               \
        switch (m->rule) {                                                                         \
        case RULE_RAW:                                                                             \
            EACH(RAW(word));                                                                       \
        case RULE_SUM:                                                                             \
            EACH((type)negate_if(word & 1, (int32_t)(1 + (word >> shift))));                       \
        case RULE_PRODUCT:                                                                         \
            EACH(POWER(word, exponent_of(word, deciders[i], m)));                                  \
        case RULE_EXTREME:                                                                         \
            EACH((type)(int32_t)(1 + (word >> 9)) * (deciders[i] == rank ? decider : loser));      \
        case RULE_BITS: /* has no meaning for floats */                                            \
            break;                                                                                 \
        }                                                                                          \
    }

MAKE_FLOATS(make_floats, float, RAW_FLOAT, POWER_FLOAT)
MAKE_FLOATS(make_doubles, double, RAW_DOUBLE, POWER_DOUBLE)

/* Bits that the magnitudes of a float's sum may have. */
static uint32_t magnitude_bits(const struct datatype *type, uint32_t ranks)
{
    int bits = type->exact_bits - 1;
    for (uint32_t reach = 1; reach < ranks && reach; reach <<= 1)
        bits--;
    bits = bits < 30 ? bits : 30; /* what a word can give */
    return (uint32_t)(bits > 1 ? bits : 1);
}

/* The values of `rank`. */
static void draw_values(const struct draw *draw, int rank, void *to)
{
    const struct datatype *type = draw->pattern->datatype;
    uint32_t ranks = (uint32_t)draw->pattern->problem.ranks;
    struct material m;
    m.rule = draw->rule;
    m.count = draw->count;
    m.rank = (uint32_t)rank;
    m.ranks = ranks;
    m.decider_top = draw->rule == RULE_EXTREME && draw->decider_sets;
    m.loser_top = draw->rule == RULE_EXTREME && !draw->decider_sets;
    m.deciders = draw->deciders;

    uint64_t key = page_key(draw->key, 1 + (uint64_t)rank, draw->first / PAGE);
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    uint32_t offset = (uint32_t)(draw->first % PAGE);
    for (size_t i = 0; i < draw->count; i++)
        m.words[i] = mix_word(low + (offset + (uint32_t)i) * 0x9e3779b9u) ^ high;

    if (type->kind == DATATYPE_FLOAT) {
        uint32_t budget = type->size == sizeof(float) ? 60 : 500;
        m.shift = 32 - magnitude_bits(type, ranks);
        m.window = ranks < budget / 2 ? ranks : budget / 2;
        m.exponent_most = budget / m.window;
        (type->size == sizeof(float) ? make_floats : make_doubles)(&m, to);
        return;
    }
    static void (*const make[])(const struct material *, void *) = {[1] = make_integers_8,
                                                                    [2] = make_integers_16,
                                                                    [4] = make_integers_32,
                                                                    [8] = make_integers_64};
    make[type->size](&m, to);
}

void pattern_fill(const struct pattern *pattern, int rank, size_t first, size_t count, void *to)
{
    struct draw draw;
    char *at = to;
    for (; count > 0; first += draw.count, count -= draw.count) {
        draw_begin(&draw, pattern, pattern->iteration, first, count);
        draw_values(&draw, rank, at);
        at += draw.count * pattern->datatype->size;
    }
}

/* The ranks' values of one block, combined. */
static void combine_block(const struct draw *now, const struct draw *before,
                          const unsigned char *how, void *to)
{
    const struct pattern *pattern = now->pattern;
    reduce_function *reduce = reduce_kernel(pattern->datatype, pattern->reduction);
    _Alignas(16) char value[BLOCK * WIDEST];
    bool any = false;
    for (int rank = 0; rank < pattern->problem.ranks; rank++) {
        enum contribution entry = how ? how[rank] : CONTRIBUTION_ONCE;
        if (entry == CONTRIBUTION_MISSING)
            continue;
        draw_values(entry == CONTRIBUTION_STALE ? before : now, rank, any ? value : to);
        if (any)
            reduce(to, to, value, now->count);
        else if (entry == CONTRIBUTION_DOUBLED)
            memcpy(value, to, now->count * pattern->datatype->size);
        if (entry == CONTRIBUTION_DOUBLED)
            reduce(to, to, value, now->count);
        any = true;
    }
}

bool pattern_combine(const struct pattern *pattern, const unsigned char *how, size_t first,
                     size_t count, void *to)
{
    struct draw now, before;
    char *at = to;
    bool stale = false, any = !how;
    for (int rank = 0; how && rank < pattern->problem.ranks; rank++) {
        stale |= how[rank] == CONTRIBUTION_STALE;
        any |= how[rank] != CONTRIBUTION_MISSING;
    }
    for (; any && count > 0; first += now.count, count -= now.count) {
        draw_begin(&now, pattern, pattern->iteration, first, count);
        if (stale)
            draw_begin(&before, pattern, pattern->iteration - 1, first, count);
        combine_block(&now, &before, how, at);
        at += now.count * pattern->datatype->size;
    }
    return any;
}

bool pattern_expectation(const struct pattern *pattern, int rank, size_t at,
                         struct expectation *expectation)
{
    const struct problem *problem = &pattern->problem;
    /* The first expectation that ends behind `at`: none before index `low` does. */
    int low = 0, step = 1;
    while (collective_expects(problem, rank, low + step - 1, expectation) &&
           expectation->at + expectation->length <= at) {
        low += step;
        step *= 2;
    }
    int high = low + step - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (collective_expects(problem, rank, middle, expectation) &&
            expectation->at + expectation->length <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return collective_expects(problem, rank, low, expectation);
}

void pattern_expect(const struct pattern *pattern, int rank, size_t first, size_t count, void *to)
{
    struct expectation expectation;
    char *at = to;
    while (count > 0 && pattern_expectation(pattern, rank, first, &expectation)) {
        size_t inside = first - expectation.at;
        size_t length = expectation.length - inside;
        length = length < count ? length : count;
        if (expectation.rank == EVERY_RANK)
            pattern_combine(pattern, NULL, expectation.from + inside, length, at);
        else
            pattern_fill(pattern, expectation.rank, expectation.from + inside, length, at);
        first += length;
        count -= length;
        at += length * pattern->datatype->size;
    }
}
