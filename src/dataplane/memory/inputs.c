/*
 * inputs.c - the values that ranks begin with, and their combinations.
 *
 * An input is a hash of (seed, iteration, rank, element), shaped so that every order of reduction
 * gives the same bits, and so that a fault changes the result. The shapes, for p ranks, and which
 * fraction of the elements shows the fault of one rank (a contribution missing; doubled; stale,
 * which means the value of the iteration before):
 *
 *   operator    type     value of a rank                              missing   doubled  stale
 *   sum, bxor   integer  all bits random; sums wrap                   1-2^-n    1-2^-n   1-2^-n
 *   avg         integer  the same; the wrapped sum is divided         > 1-p/h   > 1-p/h  > 1-p/h
 *   sum, avg    float    sign, integer of 1 .. 2^m; w of p ranks      w/p       w/p      > w/2p
 *   prod        integer  odd, the other bits random; wraps            1-2^-n'   1-2^-n'  1-2^-n'
 *   prod        float    sign; a power of two on v of the ranks       > 1/2     > 1/2    > 1/2
 *   min, max    all      half of the range; one decider has the other 1/p       -        > 1/2p
 *   band, bor   integer  nothing that counts; of one decider every    1/p       -        > 1/2p
 *                        second bit is random
 *   land, lor   integer  as all others; one decider's coin differs    1/2p      -        > 1/4p
 *   lxor        integer  0 or 1                                       1/2       1/2      1/2
 *   maxloc, ... pair     as min, max; the rank behind the decider     1/p       -        > 1/2p
 *                        has the same value and a greater index
 *   none        all      all bits random (floats: never NaN or infinite)
 *
 * n is the width of the type, n' = n - 1, h the first positive number that it has not. A doubled
 * contribution to an idempotent operator (-) changes nothing. In bxor and lxor it cancels, and
 * looks like a missing one.
 *
 * A bit that flips shows in every element of what is moved, of sums, products and bxor of integers.
 * In band and bor it shows where no rank has a bit that counts. So the decider's bits are random at
 * even places in one iteration, at odd places in the next: of two iterations one shows the flip of
 * any bit of any rank. The other operators may hide it: floats round it away, extremes keep one
 * value of many, logical ones look for a bit that is set, and division drops the remainder.
 *
 * Sums of floats are exact: magnitudes have m = exact_bits - 1 - log2(p) bits, so that even if all
 * contributions were doubled, every partial sum is an integer that fits the mantissa. Where m would
 * be less than 0, only w = 2^(exact_bits - 1) ranks have +-1, and all others 0: beyond 4 ranks in
 * float8_e5m2, 8 in float8_e4m3, 128 in bfloat16, 1,024 in float16; below, w = p. In an average of
 * float8_e4m3 all is multiplied by 16, so that quotients are normal numbers up to p = 1,024.
 * Averages are divided in float (double: in double) and rounded; where that makes equal what sums
 * tell apart, which is rare, a fault does not show.
 *
 * Averages of integers cannot show what dividing takes away: a fault shows where the quotient is
 * another one. With more ranks than the type has positive numbers all quotients are 0, and nothing
 * could show: such a run is refused (reduce_ranks_most()).
 *
 * Products of floats: v ranks have exponents, whose absolute sum is at most e: no partial product
 * overflows or becomes subnormal, also if all were doubled. Where a rank has a sign only, missing
 * and doubled look alike; the exponents, on v/p of the elements, tell them apart. v = min(p, e/2),
 * at least 1; e is 60 for float and bfloat16, 500 double, 7 float16 and float8_e5m2, 3 float8_e4m3.
 *
 * The decider of an element, and the first of the w or v ranks, walk through the ranks in steps
 * that have no common divisor with p, from a start that is drawn for every page of 4096 elements:
 * among any p consecutive elements of a page each rank decides exactly one. So the absence of any
 * rank shows within 2p elements, whatever the hash says. Coins (land, lor) are the same for all
 * ranks, and in the second of two passes through the ranks the opposite of the coins in the first:
 * the absence of any rank shows within 4p elements of a page.
 */
#include "dataplane/memory/internal.h"

#include <math.h>
#include <string.h>

/*
 * The values of one rank, made of hashed words, for each type.
 */
#define VALUES_MOST 256u /* elements made at a time: all that they need stays in the first cache */

/* The numbers from which a rank's values follow. */
struct material {
    struct input_rule by;
    size_t count;
    uint32_t rank;
    const uint32_t *deciders; /* of each element; unless the rule has none */
    const uint32_t *shared;   /* words that all ranks share; unless the rule has none */
    uint32_t words[VALUES_MOST];
};

/* Limits of the inputs of floats: the largest absolute sum of the exponents of a product's factors,
 * so that it may be doubled; and the factor of an average's integers, so that dividing by 1,024
 * still gives a normal number. */
static const struct {
    uint32_t exponents;
    float scale;
} ranges[DATATYPES] = {
    [TYPE_FLOAT] = {60, 1},    [TYPE_DOUBLE] = {500, 1}, [TYPE_FLOAT16] = {7, 1},
    [TYPE_BFLOAT16] = {60, 1}, [TYPE_E4M3] = {3, 16},    [TYPE_E5M2] = {7, 1},
};

static void recipe_float(const struct datatype *type, uint32_t ranks, struct recipe *recipe,
                         enum reduction_id id)
{
    uint32_t bits = (uint32_t)type->exact_bits - 1, exponents = ranges[type->id].exponents;
    if (id == REDUCTION_PROD) {
        uint32_t most = exponents < 4 ? 1 : exponents / 2;
        recipe->window = ranks < most ? ranks : most;
        recipe->exponent_most = exponents / recipe->window;
        return;
    }
    recipe->window = ranks;
    for (uint32_t reach = 1; reach < ranks && bits > 0; reach <<= 1)
        bits--;
    if (ranks > 1ull << (type->exact_bits - 1))
        recipe->window = 1u << (type->exact_bits - 1);
    recipe->magnitude_bits = bits < 30 ? bits : 30;
    recipe->scale = id == REDUCTION_AVG ? ranges[type->id].scale : 1;
}

/* `reduction` NULL: values are only moved. */
static struct recipe recipe_of(const struct datatype *type, const struct reduction *reduction,
                               int ranks)
{
    struct recipe recipe = {.ranks = (uint32_t)ranks, .window = (uint32_t)ranks, .scale = 1};
    if (!reduction)
        return recipe;
    enum reduction_id id = reduction->id;
    if (type->kind == DATATYPE_FLOAT)
        recipe_float(type, (uint32_t)ranks, &recipe, id);
    recipe.decider_top =
        (id == REDUCTION_MAX || id == REDUCTION_MAXLOC) != (type->kind != DATATYPE_UNSIGNED);
    recipe.inverted = id == REDUCTION_BAND || id == REDUCTION_LAND;
    return recipe;
}

/* A loop for one rule. Nothing in it depends on another element. */
#define EACH(rule, value)                                                                          \
    VECTORIZE for (size_t i = 0; i < count; i++)                                                   \
    {                                                                                              \
        const struct drawn drawn = {words[i], deciders[i], shared[i]};                             \
        to[i] = value(rule, recipe, rank, drawn);                                                  \
    }                                                                                              \
    break;

#define EACH_OF(rule, value)                                                                       \
    case rule:                                                                                     \
        EACH(rule, value)

#define MAKE(name, type, RULES)                                                                    \
    static void make_##name(const struct material *m, void *values)                                \
    {                                                                                              \
        type *to = values;                                                                         \
        const size_t count = m->count;                                                             \
        const uint32_t *words = m->words, *deciders = m->deciders, *shared = m->shared;            \
        const struct recipe recipe = m->by.recipe;                                                 \
        const uint32_t rank = m->rank;                                                             \
        switch (m->by.rule) {                                                                      \
            RULES(EACH_OF, value_##name)                                                           \
        default:                                                                                   \
            EACH(RULE_RAW, value_##name)                                                           \
        }                                                                                          \
    }

VALUES(MAKE)

/* Writes m->count elements. */
static void values_make(const struct datatype *type, const struct material *m, void *to)
{
    static void (*const make[DATATYPES])(const struct material *, void *) = {
        [TYPE_FLOAT] = make_float,
        [TYPE_DOUBLE] = make_double,
        [TYPE_FLOAT16] = make_float16,
        [TYPE_BFLOAT16] = make_bfloat16,
        [TYPE_E4M3] = make_e4m3,
        [TYPE_E5M2] = make_e5m2,
        [TYPE_INT8] = make_integer_8,
        [TYPE_INT16] = make_integer_16,
        [TYPE_INT32] = make_integer_32,
        [TYPE_INT64] = make_integer_64,
        [TYPE_UINT8] = make_integer_8,
        [TYPE_UINT16] = make_integer_16,
        [TYPE_UINT32] = make_integer_32,
        [TYPE_UINT64] = make_integer_64,
        [TYPE_FLOAT_INT32] = make_float_int32,
        [TYPE_INT32_INT32] = make_int32_int32,
        [TYPE_DOUBLE_INT64] = make_double_int64,
        [TYPE_INT64_INT64] = make_int64_int64,
    };
    make[type->id](m, to);
}

/*
 * Inputs, and their combinations.
 */
/* How the values of consecutive elements of one page are made: the same for all ranks. */
struct draw {
    const struct inputs *inputs;
    struct input_rule by;
    uint64_t page; /* its key */
    size_t first, count;
    uint32_t deciders[VALUES_MOST];
    uint32_t shared[VALUES_MOST];
};

static void draw_deciders(struct draw *draw)
{
    uint32_t ranks = (uint32_t)draw->inputs->ranks;
    if (ranks == 1) {
        memset(draw->deciders, 0, sizeof draw->deciders);
        return;
    }
    uint32_t step = decider_step(draw->page, ranks);
    uint32_t decider = decider_at(draw->page, step, (uint32_t)(draw->first % INPUT_PAGE), ranks);
    for (size_t i = 0; i < draw->count; i++) {
        draw->deciders[i] = decider;
        decider += step;
        decider -= decider >= ranks ? ranks : 0;
    }
}

static void draw_shared(struct draw *draw)
{
    uint32_t ranks = (uint32_t)draw->inputs->ranks, offset = (uint32_t)(draw->first % INPUT_PAGE);
    bool coins = draw->by.rule == RULE_TRUTH;
    for (size_t i = 0; i < draw->count; i++)
        draw->shared[i] = shared_word(draw->page, offset + (uint32_t)i, ranks, coins);
}

static enum rule rule_of(const struct inputs *inputs)
{
    static const enum rule rules[REDUCTIONS] = {
        [REDUCTION_SUM] = RULE_SUM,         [REDUCTION_PROD] = RULE_PRODUCT,
        [REDUCTION_MAX] = RULE_EXTREME,     [REDUCTION_MIN] = RULE_EXTREME,
        [REDUCTION_AVG] = RULE_SUM,         [REDUCTION_LAND] = RULE_TRUTH,
        [REDUCTION_LOR] = RULE_TRUTH,       [REDUCTION_LXOR] = RULE_PARITY,
        [REDUCTION_BAND] = RULE_BITS,       [REDUCTION_BOR] = RULE_BITS,
        [REDUCTION_BXOR] = RULE_RAW,        [REDUCTION_MAXLOC] = RULE_LOCATION,
        [REDUCTION_MINLOC] = RULE_LOCATION,
    };
    return inputs->reduction ? rules[inputs->reduction->id] : RULE_RAW;
}

struct input_rule inputs_rule(const struct inputs *inputs)
{
    struct input_rule by = {
        .key = iteration_key(inputs->seed, inputs->iteration),
        .rule = rule_of(inputs),
        .recipe = recipe_of(inputs->datatype, inputs->reduction, inputs->ranks),
    };
    bool is_float = inputs->datatype->kind == DATATYPE_FLOAT;
    if (by.rule == RULE_SUM && is_float && by.recipe.window < by.recipe.ranks)
        by.rule = RULE_SUM_FEW;
    by.recipe.turn = (uint32_t)(inputs->iteration % 2);
    by.shares = by.rule == RULE_TRUTH || by.rule == RULE_LOCATION;
    by.decides = by.shares || by.rule == RULE_SUM_FEW || by.rule == RULE_EXTREME ||
                 by.rule == RULE_BITS || (by.rule == RULE_PRODUCT && is_float);
    return by;
}

/* Elements from `first` on, at most `most` of them: to the end of the page, or of a block. */
static void draw_begin(struct draw *draw, const struct inputs *inputs, uint64_t iteration,
                       size_t first, size_t most)
{
    size_t count = INPUT_PAGE - first % INPUT_PAGE;
    count = count < VALUES_MOST ? count : VALUES_MOST;
    struct inputs these = *inputs;
    these.iteration = iteration;
    draw->inputs = inputs;
    draw->by = inputs_rule(&these);
    draw->page = page_key(draw->by.key, 0, first / INPUT_PAGE);
    draw->first = first;
    draw->count = count < most ? count : most;
    if (draw->by.decides)
        draw_deciders(draw);
    if (draw->by.shares)
        draw_shared(draw);
}

/* The values of `rank`. */
static void draw_values(const struct draw *draw, int rank, void *to)
{
    struct material m;
    m.by = draw->by;
    m.count = draw->count;
    m.rank = (uint32_t)rank;
    m.deciders = draw->deciders;
    m.shared = draw->shared;
    uint64_t key = page_key(draw->by.key, 1 + (uint64_t)rank, draw->first / INPUT_PAGE);
    uint32_t offset = (uint32_t)(draw->first % INPUT_PAGE);
    for (size_t i = 0; i < draw->count; i++)
        m.words[i] = own_word(key, offset + (uint32_t)i);
    values_make(draw->inputs->datatype, &m, to);
}

void inputs_make(const struct inputs *inputs, int rank, size_t first, size_t count, void *to)
{
    struct draw draw;
    char *at = to;
    for (; count > 0; first += draw.count, count -= draw.count) {
        draw_begin(&draw, inputs, inputs->iteration, first, count);
        draw_values(&draw, rank, at);
        at += draw.count * inputs->datatype->size;
    }
}

/* The ranks' values of one block, combined. */
static void combine_block(const struct draw *now, const struct draw *before,
                          const unsigned char *how, void *to)
{
    const struct inputs *inputs = now->inputs;
    reduce_function *reduce = reduce_kernel(inputs->datatype, inputs->reduction);
    _Alignas(16) char value[VALUES_MOST * DATATYPE_SIZE_MOST];
    bool any = false;
    for (int rank = 0; rank < inputs->ranks; rank++) {
        enum contribution entry = how ? how[rank] : CONTRIBUTION_ONCE;
        if (entry == CONTRIBUTION_MISSING)
            continue;
        draw_values(entry == CONTRIBUTION_STALE ? before : now, rank, any ? value : to);
        if (any)
            reduce(to, to, value, now->count);
        else if (entry == CONTRIBUTION_DOUBLED)
            memcpy(value, to, now->count * inputs->datatype->size);
        if (entry == CONTRIBUTION_DOUBLED)
            reduce(to, to, value, now->count);
        any = true;
    }
    finish_function *finish = finish_kernel(inputs->datatype, inputs->reduction);
    if (finish && any)
        finish(to, to, now->count, inputs->ranks);
}

bool inputs_combine(const struct inputs *inputs, const unsigned char *how, size_t first,
                    size_t count, void *to)
{
    struct draw now, before;
    char *at = to;
    bool stale = false, any = !how;
    for (int rank = 0; how && rank < inputs->ranks; rank++) {
        stale |= how[rank] == CONTRIBUTION_STALE;
        any |= how[rank] != CONTRIBUTION_MISSING;
    }
    for (; any && count > 0; first += now.count, count -= now.count) {
        draw_begin(&now, inputs, inputs->iteration, first, count);
        if (stale)
            draw_begin(&before, inputs, inputs->iteration - 1, first, count);
        combine_block(&now, &before, how, at);
        at += now.count * inputs->datatype->size;
    }
    return any;
}

void inputs_expect(const struct inputs *inputs, int rank, size_t first, size_t count, void *to)
{
    if (rank < 0)
        inputs_combine(inputs, NULL, first, count, to);
    else
        inputs_make(inputs, rank, first, count, to);
}

double inputs_bits(const struct inputs *inputs)
{
    const struct datatype *type = inputs->datatype;
    double width = 8.0 * (double)type->size;
    const struct input_rule by = inputs_rule(inputs);
    bool is_float = type->kind == DATATYPE_FLOAT;
    switch (by.rule) {
    case RULE_RAW:
        return width;
    case RULE_SUM:
    case RULE_SUM_FEW:
        if (is_float)
            return by.recipe.magnitude_bits < 12 ? by.recipe.magnitude_bits + 1 : 13;
        if (inputs->reduction->finishes)
            return fmax(width - log2(inputs->ranks), 1);
        return width;
    case RULE_PRODUCT:
        return is_float ? 1 : width - 1;
    case RULE_EXTREME:
        return type->size > 1 ? 6 : 3;
    case RULE_LOCATION:
        return 20;
    case RULE_BITS:
        return 2;
    case RULE_TRUTH:
    case RULE_PARITY:
        break;
    }
    return 1;
}
