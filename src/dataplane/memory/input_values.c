/*
 * input_values.c - from hashed words to the values of one rank, for each type.
 */
#include "dataplane/memory/internal.h"

/* Of floats: the largest absolute sum of the exponents of a product's factors, so that it may be
 * doubled; and what an average's integers are multiplied by, so that dividing by 1,024 still gives
 * a normal number. */
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

struct recipe recipe_of(const struct datatype *type, const struct reduction *reduction, int ranks)
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

void values_make(const struct datatype *type, const struct material *m, void *to)
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
