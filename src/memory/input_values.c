/*
 * input_values.c - from hashed words to the values of one rank, for each type.
 */
#include "memory/input_values.h"

#include "memory/small_float.h"
#include "memory/vectorize.h"

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
    struct recipe recipe = {.window = (uint32_t)ranks, .scale = 1};
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

/* The loops that turn words into values. Nothing in them depends on another element. */
#define EACH(value)                                                                                \
    VECTORIZE for (size_t i = 0; i < count; i++)                                                   \
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

/* How many ranks this one stands behind the decider. */
static inline uint32_t distance_of(uint32_t decider, const struct material *m)
{
    return m->rank - decider + (m->rank < decider ? m->ranks : 0);
}

/* +-1 .. +-exponent_most for the ranks in the window, 0 for the others. */
static inline int32_t exponent_of(uint32_t word, uint32_t decider, const struct material *m)
{
    int32_t exponent = (int32_t)(1 + ((word >> 16) * m->recipe.exponent_most >> 16));
    return negate_if(word >> 1 & 1, exponent) &
           -(int32_t)(distance_of(decider, m) < m->recipe.window);
}

/* +-1 .. +-2^magnitude_bits; `mask` has so many bits. */
static inline int32_t integer_of(uint32_t word, uint32_t mask)
{
    return negate_if(word >> 31, (int32_t)(1 + (word & mask)));
}

#define WIDEN_8(word)  (uint8_t)((word) >> 24)
#define WIDEN_16(word) (uint16_t)((word) >> 16)
#define WIDEN_32(word) (word)
#define WIDEN_64(word) ((uint64_t)(word) << 32 | (((word) ^ (word) >> 15) * 0x2c1b3c6du))

#define DECIDES (deciders[i] == rank)
/* Does this rank have the value that settles the result? */
#define SETTLES (DECIDES && (shared[i] & 1))

#define MAKE_INTEGERS(bits)                                                                        \
    static void make_integers_##bits(const struct material *m, void *values)                       \
    {                                                                                              \
        uint##bits##_t *to = values;                                                               \
        const size_t count = m->count;                                                             \
        const uint32_t *words = m->words, *deciders = m->deciders, *shared = m->shared;            \
        const uint32_t rank = m->rank;                                                             \
        const uint##bits##_t top = (uint##bits##_t)((uint64_t)1 << (bits - 1));                    \
        const uint##bits##_t below = (uint##bits##_t)(top - 1);                                    \
        const uint##bits##_t decider = m->recipe.decider_top ? top : 0, loser = top ^ decider;     \
        const uint##bits##_t inverted = m->recipe.inverted ? (uint##bits##_t) ~(uint64_t)0 : 0;    \
        const bool settled = !m->recipe.inverted;                                                  \
        switch (m->rule) {                                                                         \
        case RULE_RAW:                                                                             \
        case RULE_SUM:                                                                             \
        case RULE_SUM_FEW:                                                                         \
            EACH(WIDEN_##bits(word));                                                              \
        case RULE_PRODUCT:                                                                         \
            EACH(WIDEN_##bits(word) | 1);                                                          \
        case RULE_EXTREME:                                                                         \
            EACH((WIDEN_##bits(word) & below) | (DECIDES ? decider : loser));                      \
        case RULE_BITS:                                                                            \
            EACH((DECIDES ? WIDEN_##bits(word) | 1 : 0) ^ inverted);                               \
        case RULE_TRUTH:                                                                           \
            EACH(SETTLES == settled ? WIDEN_##bits(word) | 1 : 0);                                 \
        case RULE_PARITY:                                                                          \
            EACH(word >> 31);                                                                      \
        case RULE_LOCATION: /* has no meaning for integers */                                      \
            break;                                                                                 \
        }                                                                                          \
    }

MAKE_INTEGERS(8)
MAKE_INTEGERS(16)
MAKE_INTEGERS(32)
MAKE_INTEGERS(64)

/* (-1)^word * 2^exponent */
#define POWER_FLOAT(word, exponent) float_of((word) << 31 | (uint32_t)(127 + (exponent)) << 23)
#define POWER_DOUBLE(word, exponent)                                                               \
    double_of((uint64_t)(word) << 63 | (uint64_t)(1023 + (exponent)) << 52)

/* RAW: any bits, but neither infinite nor NaN. BEYOND: of a word and the sign, for extremes. FROM:
 * what the type makes of a number of type `wide`. */
#define MAKE_FLOATS(name, type, wide, RAW, BEYOND, POWER, FROM)                                    \
    static void name(const struct material *m, void *values)                                       \
    {                                                                                              \
        type *to = values;                                                                         \
        const size_t count = m->count;                                                             \
        const uint32_t *words = m->words, *deciders = m->deciders;                                 \
        const uint32_t rank = m->rank, window = m->recipe.window;                                  \
        const uint32_t mask = (1u << m->recipe.magnitude_bits) - 1;                                \
        const uint32_t decider = m->recipe.decider_top, loser = !decider;                          \
        const wide scale = m->recipe.scale;                                                        \
        switch (m->rule) {                                                                         \
        case RULE_RAW:                                                                             \
            EACH(RAW(word));                                                                       \
        case RULE_SUM:                                                                             \
            EACH(FROM((wide)integer_of(word, mask) * scale));                                      \
        case RULE_SUM_FEW:                                                                         \
            EACH(FROM((wide)(integer_of(word, mask) &                                              \
                             -(int32_t)(distance_of(deciders[i], m) < window)) *                   \
                      scale));                                                                     \
        case RULE_PRODUCT:                                                                         \
            EACH(FROM(POWER(word, exponent_of(word, deciders[i], m))));                            \
        case RULE_EXTREME:                                                                         \
            EACH(BEYOND(word, DECIDES ? decider : loser));                                         \
        default: /* has no meaning for floats */                                                   \
            break;                                                                                 \
        }                                                                                          \
    }

/* Random bits with the upper two bits of the exponent 01: normal, finite, of either sign. */
#define RAW_FLOAT(word)  float_of(((word)&0x9fffffffu) | 0x20000000u)
#define RAW_DOUBLE(word) double_of((WIDEN_64(word) & ~(3ull << 61)) | 1ull << 61)
/* Random bits; the bits of a value that is not finite lose one. */
#define RAW_FINITE(bits, infinite, drop) ((bits) ^ (((bits) & (infinite)) == (infinite) ? drop : 0))
#define RAW_FLOAT16(word)                (uint16_t) RAW_FINITE(WIDEN_16(word), 0x7c00, 0x4000)
#define RAW_BFLOAT16(word)               (uint16_t) RAW_FINITE(WIDEN_16(word), 0x7f80, 0x4000)
#define RAW_E4M3(word)                   (uint8_t) RAW_FINITE(WIDEN_8(word), 0x7f, 0x40)
#define RAW_E5M2(word)                   (uint8_t) RAW_FINITE(WIDEN_8(word), 0x7c, 0x40)

#define BEYOND_WIDE(word, sign) ((int32_t)(1 + ((word) >> 9)) * (1 - 2 * (int32_t)(sign)))
/* Never zero, whose sign does not order it. */
#define BEYOND_FLOAT16(word, sign)  (uint16_t)((RAW_FLOAT16(word) & 0x7fff) | 1 | (sign) << 15)
#define BEYOND_BFLOAT16(word, sign) (uint16_t)((RAW_BFLOAT16(word) & 0x7fff) | 1 | (sign) << 15)
#define BEYOND_E4M3(word, sign)     (uint8_t)((WIDEN_8(word) & 0x7e) | 2 | (sign) << 7)
#define BEYOND_E5M2(word, sign)     (uint8_t)((RAW_E5M2(word) & 0x7f) | 1 | (sign) << 7)

MAKE_FLOATS(make_float, float, float, RAW_FLOAT, (float)BEYOND_WIDE, POWER_FLOAT, )
MAKE_FLOATS(make_double, double, double, RAW_DOUBLE, (double)BEYOND_WIDE, POWER_DOUBLE, )
MAKE_FLOATS(make_float16, uint16_t, float, RAW_FLOAT16, BEYOND_FLOAT16, POWER_FLOAT, float16_narrow)
MAKE_FLOATS(make_bfloat16, uint16_t, float, RAW_BFLOAT16, BEYOND_BFLOAT16, POWER_FLOAT,
            bfloat16_narrow)
MAKE_FLOATS(make_e4m3, uint8_t, float, RAW_E4M3, BEYOND_E4M3, POWER_FLOAT, e4m3_narrow)
MAKE_FLOATS(make_e5m2, uint8_t, float, RAW_E5M2, BEYOND_E5M2, POWER_FLOAT, e5m2_narrow)

/* A second word of the same element, for the index. */
#define SECOND(word) (((word) ^ (word) >> 16) * 0x7feb352du)

/* The decider and the rank behind it have the same value; the decider's index is the smaller one.
 * RAW: any value; BEYOND: one of a word and a sign (or top bit). */
#define MAKE_PAIRS(name, value, bits, RAW, BEYOND)                                                 \
    static void name(const struct material *m, void *values)                                       \
    {                                                                                              \
        struct {                                                                                   \
            value first;                                                                           \
            uint##bits##_t second;                                                                 \
        } *to = values;                                                                            \
        const uint32_t winner = m->recipe.decider_top;                                             \
        const uint##bits##_t later = (uint##bits##_t)1 << (bits - 2);                              \
        for (size_t i = 0; i < m->count; i++) {                                                    \
            const uint32_t word = m->words[i];                                                     \
            to[i].second = WIDEN_##bits(SECOND(word));                                             \
            to[i].first = RAW(word);                                                               \
            if (m->rule != RULE_LOCATION)                                                          \
                continue;                                                                          \
            const uint32_t distance = distance_of(m->deciders[i], m);                              \
            const uint32_t chosen = distance < 2 ? m->shared[i] : word;                            \
            to[i].first = BEYOND(chosen, distance < 2 ? winner : !winner);                         \
            to[i].second = (to[i].second >> 2) | (distance > 0 ? later : 0);                       \
        }                                                                                          \
    }

#define BEYOND_32(word, sign) (int32_t)((word) >> 1 | (sign) << 31)
#define BEYOND_64(word, sign) (int64_t)(WIDEN_64(word) >> 1 | (uint64_t)(sign) << 63)

MAKE_PAIRS(make_float_int32, float, 32, RAW_FLOAT, (float)BEYOND_WIDE)
MAKE_PAIRS(make_int32_int32, int32_t, 32, (int32_t)WIDEN_32, BEYOND_32)
MAKE_PAIRS(make_double_int64, double, 64, RAW_DOUBLE, (double)BEYOND_WIDE)
MAKE_PAIRS(make_int64_int64, int64_t, 64, (int64_t)WIDEN_64, BEYOND_64)

void values_make(const struct datatype *type, const struct material *m, void *to)
{
    static void (*const make[DATATYPES])(const struct material *, void *) = {
        [TYPE_FLOAT] = make_float,
        [TYPE_DOUBLE] = make_double,
        [TYPE_FLOAT16] = make_float16,
        [TYPE_BFLOAT16] = make_bfloat16,
        [TYPE_E4M3] = make_e4m3,
        [TYPE_E5M2] = make_e5m2,
        [TYPE_INT8] = make_integers_8,
        [TYPE_INT16] = make_integers_16,
        [TYPE_INT32] = make_integers_32,
        [TYPE_INT64] = make_integers_64,
        [TYPE_UINT8] = make_integers_8,
        [TYPE_UINT16] = make_integers_16,
        [TYPE_UINT32] = make_integers_32,
        [TYPE_UINT64] = make_integers_64,
        [TYPE_FLOAT_INT32] = make_float_int32,
        [TYPE_INT32_INT32] = make_int32_int32,
        [TYPE_DOUBLE_INT64] = make_double_int64,
        [TYPE_INT64_INT64] = make_int64_int64,
    };
    make[type->id](m, to);
}
