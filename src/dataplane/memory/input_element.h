/*
 * input_element.h - what one element of one rank's source is, for each type: from keys to hashed
 * words, and from these to a value. What the values are for, and what they must be like, is said
 * in inputs.c.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_INPUT_ELEMENT_H
#define CCTEST_DATAPLANE_MEMORY_INPUT_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "dataplane/memory/small_float.h"

#define INPUT_PAGE 4096u /* elements that share their keys; a power of two */

/* Keys and words. */

ELEMENT uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

ELEMENT uint32_t mix_word(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0xd35a2d97u;
    return x ^ x >> 15;
}

ELEMENT uint64_t iteration_key(uint64_t seed, uint64_t iteration)
{
    return mix(mix(seed) + iteration);
}

/* `owner`: a rank plus one, or 0 for what all ranks share. `page`: of an element, its number
 * divided by INPUT_PAGE. */
ELEMENT uint64_t page_key(uint64_t iteration_key, uint64_t owner, uint64_t page)
{
    return mix(mix(iteration_key + owner * 0x9e3779b97f4a7c15u) + page);
}

/* The word of a rank. `offset`: of the element in its page. */
ELEMENT uint32_t own_word(uint64_t key, uint32_t offset)
{
    return mix_word((uint32_t)key + offset * 0x9e3779b9u) ^ (uint32_t)(key >> 32);
}

/* The word that all ranks share; `key`: the page's. `coins`: bit 0 is a coin. Elements of a pass
 * through all ranks come in twos: in the second each rank decides with the coin that it did not
 * have in the first. */
ELEMENT uint32_t shared_word(uint64_t key, uint32_t offset, uint32_t ranks, bool coins)
{
    const uint32_t second = coins ? offset / ranks % 2 : 0;
    return mix_word((uint32_t)(key >> 16) + (offset - second * ranks) * 0x9e3779b9u) ^ second;
}

/* How many ranks lie between the deciders of two neighbours in a page: no divisor in common with
 * `ranks`, which is 2 or more. */
ELEMENT uint32_t decider_step(uint64_t key, uint32_t ranks)
{
    for (uint32_t step = 1 + (uint32_t)key % (ranks - 1);; step = 1 + step % (ranks - 1)) {
        uint32_t divisor = step, rest = ranks;
        while (rest != 0) {
            const uint32_t left = divisor % rest;
            divisor = rest;
            rest = left;
        }
        if (divisor == 1)
            return step;
    }
}

ELEMENT uint32_t decider_at(uint64_t key, uint32_t step, uint32_t offset, uint32_t ranks)
{
    return (uint32_t)(((uint64_t)step * offset + (key >> 32)) % ranks);
}

/* Values. */

enum rule {
    RULE_RAW,      /* all bits random */
    RULE_SUM,      /* floats: integers of all ranks */
    RULE_SUM_FEW,  /* floats: integers of the ranks in the window */
    RULE_PRODUCT,  /* integers: odd; floats: signs, and powers of two of the ranks in the window */
    RULE_EXTREME,  /* the decider is beyond all others */
    RULE_BITS,     /* every second bit of the decider is random, all others do not count */
    RULE_TRUTH,    /* the decider's coin says whether it differs from all others */
    RULE_PARITY,   /* 0 or 1 */
    RULE_LOCATION, /* the decider and the rank behind it are beyond all others, and equal */
};

/* Constants that follow from the type, the operator and the number of ranks. */
struct recipe {
    uint32_t ranks;
    uint32_t window;         /* how many ranks, from the decider on, have what only few may have */
    uint32_t magnitude_bits; /* RULE_SUM of floats: magnitudes are 1 .. 2^this */
    uint32_t exponent_most;  /* RULE_PRODUCT of floats */
    float scale;             /* RULE_SUM of floats: what the integers are multiplied by */
    bool decider_top;        /* the decider has the top bit (or sign) set, else all others have */
    bool inverted; /* RULE_BITS: bits that are 0 count (band); RULE_TRUTH: false counts (land) */
    uint32_t turn; /* RULE_BITS: 0 or 1, the lowest bit that may count; each second one may */
};

/* How the elements of one iteration are made: the same for all ranks and elements. */
struct input_rule {
    uint64_t key; /* iteration_key() */
    enum rule rule;
    struct recipe recipe;
    bool decides, shares; /* does the rule ask for deciders, and for shared words? */
};

/* The drawn numbers that determine an element's value, besides its rule. */
struct drawn {
    uint32_t word;    /* the rank's own */
    uint32_t decider; /* RULE_SUM_FEW, PRODUCT of floats, EXTREME, BITS, TRUTH, LOCATION */
    uint32_t shared;  /* RULE_TRUTH, LOCATION */
};

/* `value` or, where `flag` (0 or 1) is set, -value; without a branch, which would keep loops
 * scalar. */
ELEMENT int32_t negate_if(uint32_t flag, int32_t value)
{
    return (value ^ -(int32_t)flag) + (int32_t)flag;
}

/* How many ranks this one stands behind the decider. */
ELEMENT uint32_t distance_of(uint32_t decider, uint32_t rank, uint32_t ranks)
{
    return rank - decider + (rank < decider ? ranks : 0);
}

/* A mask with all bits set for the ranks in the window, with none for the others. */
ELEMENT int32_t window_mask(const struct recipe recipe, uint32_t rank, uint32_t decider)
{
    return -(int32_t)(distance_of(decider, rank, recipe.ranks) < recipe.window);
}

/* +-1 .. +-exponent_most for the ranks in the window, 0 for the others. */
ELEMENT int32_t exponent_of(const struct recipe recipe, uint32_t rank, const struct drawn drawn)
{
    const int32_t exponent = (int32_t)(1 + ((drawn.word >> 16) * recipe.exponent_most >> 16));
    return negate_if(drawn.word >> 1 & 1, exponent) & window_mask(recipe, rank, drawn.decider);
}

/* +-1 .. +-2^magnitude_bits */
ELEMENT int32_t integer_of(const struct recipe recipe, uint32_t word)
{
    return negate_if(word >> 31, (int32_t)(1 + (word & ((1u << recipe.magnitude_bits) - 1))));
}

#define WIDEN_8(word)  ((uint8_t)((word) >> 24))
#define WIDEN_16(word) ((uint16_t)((word) >> 16))
#define WIDEN_32(word) (word)
#define WIDEN_64(word) ((uint64_t)(word) << 32 | (((word) ^ (word) >> 15) * 0x2c1b3c6du))

#define VALUE_INTEGER(bits)                                                                        \
    ELEMENT uint##bits##_t value_integer_##bits(enum rule rule, const struct recipe recipe,        \
                                                uint32_t rank, const struct drawn drawn)           \
    {                                                                                              \
        const uint##bits##_t top = (uint##bits##_t)((uint64_t)1 << (bits - 1));                    \
        const uint##bits##_t below = (uint##bits##_t)(top - 1);                                    \
        const uint##bits##_t decider = recipe.decider_top ? top : 0, loser = top ^ decider;        \
        const uint##bits##_t inverted = recipe.inverted ? (uint##bits##_t) ~(uint64_t)0 : 0;       \
        const uint##bits##_t value = WIDEN_##bits(drawn.word);                                     \
        const uint##bits##_t lowest = (uint##bits##_t)(1u << recipe.turn);                         \
        const uint##bits##_t counting = (uint##bits##_t)(0x5555555555555555ull << recipe.turn);    \
        const bool decides = drawn.decider == rank;                                                \
        /* Does this rank have the value that settles the result? */                               \
        const bool settles = decides & (drawn.shared & 1);                                         \
        switch (rule) {                                                                            \
        case RULE_PRODUCT:                                                                         \
            return value | 1;                                                                      \
        case RULE_EXTREME:                                                                         \
            return (value & below) | (decides ? decider : loser);                                  \
        case RULE_BITS:                                                                            \
            return (decides ? (value | lowest) & counting : 0) ^ inverted;                         \
        case RULE_TRUTH:                                                                           \
            return settles != recipe.inverted ? value | 1 : 0;                                     \
        case RULE_PARITY:                                                                          \
            return (uint##bits##_t)(drawn.word >> 31);                                             \
        default: /* RAW, SUM */                                                                    \
            return value;                                                                          \
        }                                                                                          \
    }

VALUE_INTEGER(8)
VALUE_INTEGER(16)
VALUE_INTEGER(32)
VALUE_INTEGER(64)

/* (-1)^word * 2^exponent */
#define POWER_FLOAT(word, exponent) float_of((word) << 31 | (uint32_t)(127 + (exponent)) << 23)
#define POWER_DOUBLE(word, exponent)                                                               \
    double_of((uint64_t)(word) << 63 | (uint64_t)(1023 + (exponent)) << 52)

/* RAW: any bits, but neither infinite nor NaN. BEYOND: of a word and the sign, for extremes. FROM:
 * what the type makes of a number of type `wide`. */
#define VALUE_FLOAT(name, type, wide, RAW, BEYOND, POWER, FROM)                                    \
    ELEMENT type name(enum rule rule, const struct recipe recipe, uint32_t rank,                   \
                      const struct drawn drawn)                                                    \
    {                                                                                              \
        const uint32_t top = recipe.decider_top;                                                   \
        const int32_t integer = integer_of(recipe, drawn.word);                                    \
        switch (rule) {                                                                            \
        case RULE_SUM:                                                                             \
            return FROM((wide)integer * (wide)recipe.scale);                                       \
        case RULE_SUM_FEW:                                                                         \
            return FROM((wide)(integer & window_mask(recipe, rank, drawn.decider)) *               \
                        (wide)recipe.scale);                                                       \
        case RULE_PRODUCT:                                                                         \
            return FROM(POWER(drawn.word, exponent_of(recipe, rank, drawn)));                      \
        case RULE_EXTREME:                                                                         \
            return BEYOND(drawn.word, drawn.decider == rank ? top : !top);                         \
        default: /* RAW */                                                                         \
            return RAW(drawn.word);                                                                \
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

VALUE_FLOAT(value_float, float, float, RAW_FLOAT, (float)BEYOND_WIDE, POWER_FLOAT, )
VALUE_FLOAT(value_double, double, double, RAW_DOUBLE, (double)BEYOND_WIDE, POWER_DOUBLE, )
VALUE_FLOAT(value_float16, uint16_t, float, RAW_FLOAT16, BEYOND_FLOAT16, POWER_FLOAT,
            float16_narrow)
VALUE_FLOAT(value_bfloat16, uint16_t, float, RAW_BFLOAT16, BEYOND_BFLOAT16, POWER_FLOAT,
            bfloat16_narrow)
VALUE_FLOAT(value_e4m3, uint8_t, float, RAW_E4M3, BEYOND_E4M3, POWER_FLOAT, e4m3_narrow)
VALUE_FLOAT(value_e5m2, uint8_t, float, RAW_E5M2, BEYOND_E5M2, POWER_FLOAT, e5m2_narrow)

/* A second word of the same element, for the index. */
#define SECOND(word) (((word) ^ (word) >> 16) * 0x7feb352du)

/* The decider and the rank behind it have the same value; the decider's index is the smaller one.
 * RAW: any value; BEYOND: one of a word and a sign (or top bit). */
#define VALUE_PAIR(name, value, bits, RAW, BEYOND)                                                 \
    struct name {                                                                                  \
        value first;                                                                               \
        uint##bits##_t second;                                                                     \
    };                                                                                             \
    ELEMENT struct name value_##name(enum rule rule, const struct recipe recipe, uint32_t rank,    \
                                     const struct drawn drawn)                                     \
    {                                                                                              \
        const uint32_t winner = recipe.decider_top;                                                \
        const uint##bits##_t later = (uint##bits##_t)1 << (bits - 2);                              \
        struct name pair;                                                                          \
        pair.second = WIDEN_##bits(SECOND(drawn.word));                                            \
        pair.first = RAW(drawn.word);                                                              \
        if (rule == RULE_LOCATION) {                                                               \
            const uint32_t distance = distance_of(drawn.decider, rank, recipe.ranks);              \
            const uint32_t chosen = distance < 2 ? drawn.shared : drawn.word;                      \
            pair.first = BEYOND(chosen, distance < 2 ? winner : !winner);                          \
            pair.second = (pair.second >> 2) | (distance > 0 ? later : 0);                         \
        }                                                                                          \
        return pair;                                                                               \
    }

#define BEYOND_32(word, sign) (int32_t)((word) >> 1 | (sign) << 31)
#define BEYOND_64(word, sign) (int64_t)(WIDEN_64(word) >> 1 | (uint64_t)(sign) << 63)

VALUE_PAIR(float_int32, float, 32, RAW_FLOAT, (float)BEYOND_WIDE)
VALUE_PAIR(int32_int32, int32_t, 32, (int32_t)WIDEN_32, BEYOND_32)
VALUE_PAIR(double_int64, double, 64, RAW_DOUBLE, (double)BEYOND_WIDE)
VALUE_PAIR(int64_int64, int64_t, 64, (int64_t)WIDEN_64, BEYOND_64)

/* The rules of a kind of type that differ from RULE_RAW: X(rule, argument). */
#define INTEGER_RULES(X, argument)                                                                 \
    X(RULE_PRODUCT, argument)                                                                      \
    X(RULE_EXTREME, argument)                                                                      \
    X(RULE_BITS, argument)                                                                         \
    X(RULE_TRUTH, argument)                                                                        \
    X(RULE_PARITY, argument)
#define FLOAT_RULES(X, argument)                                                                   \
    X(RULE_SUM, argument)                                                                          \
    X(RULE_SUM_FEW, argument)                                                                      \
    X(RULE_PRODUCT, argument)                                                                      \
    X(RULE_EXTREME, argument)
#define PAIR_RULES(X, argument) X(RULE_LOCATION, argument)

/* All functions that make a value: X(name, type, rules); the function is value_<name>. */
#define VALUES(X)                                                                                  \
    X(integer_8, uint8_t, INTEGER_RULES)                                                           \
    X(integer_16, uint16_t, INTEGER_RULES)                                                         \
    X(integer_32, uint32_t, INTEGER_RULES)                                                         \
    X(integer_64, uint64_t, INTEGER_RULES)                                                         \
    X(float, float, FLOAT_RULES)                                                                   \
    X(double, double, FLOAT_RULES)                                                                 \
    X(float16, uint16_t, FLOAT_RULES)                                                              \
    X(bfloat16, uint16_t, FLOAT_RULES)                                                             \
    X(e4m3, uint8_t, FLOAT_RULES)                                                                  \
    X(e5m2, uint8_t, FLOAT_RULES)                                                                  \
    X(float_int32, struct float_int32, PAIR_RULES)                                                 \
    X(int32_int32, struct int32_int32, PAIR_RULES)                                                 \
    X(double_int64, struct double_int64, PAIR_RULES)                                               \
    X(int64_int64, struct int64_int64, PAIR_RULES)

#endif
