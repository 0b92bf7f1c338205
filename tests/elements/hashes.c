/*
 * hashes.c - prints a hash of the results of each function of single elements (reduce_element.h,
 * input_element.h), which must be the same from every compiler and in every language.
 *
 * A NaN counts as one value: IEEE 754 leaves its sign and payload open, and processors differ.
 *
 * C11 and C++17. Of types of 8 bits all pairs of values are combined, of 16 bits all values with 16
 * others, of all other types 2^20 draws.
 */
#include <stdio.h>

#include "dataplane/memory/input_element.h"
#include "dataplane/memory/reduce_element.h"

#define DRAWS (1u << 20)

static uint64_t hash;

static void hash_begin(void)
{
    hash = 14695981039346656037u;
}

static void hash_add(const void *value, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)value;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
}

static void hash_end(const char *name)
{
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

/* Value number `i` of a type, the left or the right one of a pair. */
#define DRAWN(i, right)        mix_word(2 * (i) + (right))
#define DRAW_uint8_t(i, right) ((uint8_t)((right) ? (i) >> 8 : (i)))
#define DRAW_uint16_t(i, right)                                                                    \
    ((right) ? (uint16_t)WIDEN_16(DRAWN(i, 1)) : (uint16_t)((i) % (1u << 16)))
#define DRAW_uint32_t(i, right) DRAWN(i, right)
#define DRAW_uint64_t(i, right) WIDEN_64(DRAWN(i, right))
#define DRAW_int8_t(i, right)   ((int8_t)DRAW_uint8_t(i, right))
#define DRAW_int16_t(i, right)  ((int16_t)DRAW_uint16_t(i, right))
#define DRAW_int32_t(i, right)  ((int32_t)DRAW_uint32_t(i, right))
#define DRAW_int64_t(i, right)  ((int64_t)DRAW_uint64_t(i, right))
#define DRAW_float(i, right)    RAW_FLOAT(DRAWN(i, right))
#define DRAW_double(i, right)   RAW_DOUBLE(DRAWN(i, right))

/* A function that makes and hashes the results of another; `result`: that of the number `i`. */
#define HASH(name, draws, type, result)                                                            \
    static void hash_##name(void)                                                                  \
    {                                                                                              \
        hash_begin();                                                                              \
        for (uint32_t i = 0; i < (draws); i++) {                                                   \
            const type value = result;                                                             \
            hash_add(&value, sizeof value);                                                        \
        }                                                                                          \
        hash_end(#name);                                                                           \
    }
#define PAIRS_OF(type) (sizeof(type) == 1 ? 1u << 16 : DRAWS)
#define HASH_REDUCE(OPERATOR, function, type)                                                      \
    HASH(function, PAIRS_OF(type), type, function(DRAW_##type(i, 0), DRAW_##type(i, 1)))
#define HASH_SMALL(function, format, type)                                                         \
    HASH(function, PAIRS_OF(type), type,                                                           \
         folded_##format(function(DRAW_##type(i, 0), DRAW_##type(i, 1))))
#define HASH_PAIR(OPERATOR, function, type)                                                        \
    HASH(function, DRAWS, int,                                                                     \
         function(DRAW_##type(i, 0), DRAW_##type(i, 1),                                            \
                  i % 2 ? DRAW_##type(i, 0) : DRAW_##type(~i, 0), DRAW_##type(~i, 1)))
#define HASH_FINISH(function, type, divisor)                                                       \
    HASH(function, DRAWS, type, function(DRAW_##type(i, 0), (divisor)(1 + i % 127)))
#define HASH_SMALL_FINISH(function, format, type)                                                  \
    HASH(function, DRAWS, type, folded_##format(function(DRAW_##type(i, 0), (float)(1 + i % 127))))
#define HASH_VALUE(name, type, rules)                                                              \
    HASH(value_##name, DRAWS, type, value_##name(rule_at(i), recipe_at(i), rank_at(i), drawn_at(i)))

/* One NaN for all. */
#define FOLDED(format, type)                                                                       \
    static type folded_##format(type value)                                                        \
    {                                                                                              \
        const float wide = format##_widen(value);                                                  \
        return wide == wide ? value : (type)~0u;                                                   \
    }
FOLDED(float16, uint16_t)
FOLDED(bfloat16, uint16_t)
FOLDED(e4m3, uint8_t)
FOLDED(e5m2, uint8_t)

/* The parts of value number `i`, from bits that do not depend on each other. */
static uint32_t bits_at(uint32_t i)
{
    return mix_word(~i);
}

static struct recipe recipe_at(uint32_t i)
{
    const uint32_t bits = mix_word(i), more = bits_at(i), ranks = 2 + bits % 60;
    const struct recipe recipe = {ranks,
                                  1 + (bits >> 8) % ranks,
                                  (bits >> 16) % 23,
                                  1 + (bits >> 24) % 60 / ranks,
                                  (float)(1 << (more >> 8) % 5),
                                  (more >> 16 & 1) != 0,
                                  (more >> 17 & 1) != 0};
    return recipe;
}

static uint32_t rank_at(uint32_t i)
{
    return bits_at(i) % recipe_at(i).ranks;
}

static enum rule rule_at(uint32_t i)
{
    return (enum rule)((bits_at(i) >> 20) % (RULE_LOCATION + 1));
}

static struct drawn drawn_at(uint32_t i)
{
    const uint32_t ranks = recipe_at(i).ranks, offset = i % INPUT_PAGE;
    const uint64_t key = page_key(iteration_key(42, i), 1 + rank_at(i), i / INPUT_PAGE);
    const struct drawn drawn = {own_word(key, offset),
                                decider_at(key, decider_step(key, ranks), offset, ranks),
                                shared_word(key, offset, ranks, (bits_at(i) >> 18 & 1) != 0)};
    return drawn;
}

#define RUN(OPERATOR, function, type) hash_##function();

/* All functions: of operators, of finishing, of values. */
#define REDUCES(X)                                                                                 \
    WRAPPING_OPERATORS(X, 8)                                                                       \
    WRAPPING_OPERATORS(X, 16)                                                                      \
    WRAPPING_OPERATORS(X, 32)                                                                      \
    WRAPPING_OPERATORS(X, 64)                                                                      \
    ORDERED_OPERATORS(X, int8, int8_t)                                                             \
    ORDERED_OPERATORS(X, int16, int16_t)                                                           \
    ORDERED_OPERATORS(X, int32, int32_t)                                                           \
    ORDERED_OPERATORS(X, int64, int64_t)                                                           \
    ORDERED_OPERATORS(X, uint8, uint8_t)                                                           \
    ORDERED_OPERATORS(X, uint16, uint16_t)                                                         \
    ORDERED_OPERATORS(X, uint32, uint32_t)                                                         \
    ORDERED_OPERATORS(X, uint64, uint64_t)                                                         \
    FLOAT_OPERATORS(X, float, float)                                                               \
    FLOAT_OPERATORS(X, double, double)
#define SMALL(X, format, type)                                                                     \
    X(sum_##format, format, type)                                                                  \
    X(prod_##format, format, type)                                                                 \
    X(min_##format, format, type)                                                                  \
    X(max_##format, format, type)
#define SMALLS(X)                                                                                  \
    SMALL(X, float16, uint16_t)                                                                    \
    SMALL(X, bfloat16, uint16_t)                                                                   \
    SMALL(X, e4m3, uint8_t)                                                                        \
    SMALL(X, e5m2, uint8_t)
#define PAIRS(X)                                                                                   \
    PAIR_OPERATORS(X, float_int32, uint32_t)                                                       \
    PAIR_OPERATORS(X, int32_int32, uint32_t)                                                       \
    PAIR_OPERATORS(X, double_int64, uint64_t)                                                      \
    PAIR_OPERATORS(X, int64_int64, uint64_t)
#define SMALL_FINISH(X)                                                                            \
    X(finish_float16, float16, uint16_t)                                                           \
    X(finish_bfloat16, bfloat16, uint16_t)                                                         \
    X(finish_e4m3, e4m3, uint8_t)                                                                  \
    X(finish_e5m2, e5m2, uint8_t)

REDUCES(HASH_REDUCE)
SMALLS(HASH_SMALL)
PAIRS(HASH_PAIR)
NATIVE_FINISHES(HASH_FINISH)
SMALL_FINISH(HASH_SMALL_FINISH)
VALUES(HASH_VALUE)

#define RUN_FINISH(function, type, divisor) hash_##function();
#define RUN_SMALL(function, format, type)   hash_##function();
#define RUN_VALUE(name, type, rules)        hash_value_##name();

int main(void)
{
    REDUCES(RUN)
    SMALLS(RUN_SMALL)
    PAIRS(RUN)
    NATIVE_FINISHES(RUN_FINISH)
    SMALL_FINISH(RUN_SMALL)
    VALUES(RUN_VALUE)
    return 0;
}
