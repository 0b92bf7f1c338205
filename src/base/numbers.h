/*
 * numbers.h - arithmetic that several rooms need.
 */
#ifndef CCTEST_BASE_NUMBERS_H
#define CCTEST_BASE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* -1, 0 or 1, for qsort(): `COMPARE(a->x, b->x) ?: COMPARE(a->y, b->y)`. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* For qsort() of doubles, none of them a NAN, into ascending order. */
static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return COMPARE(x, y);
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The greatest common divisor of two numbers that are not negative. */
static inline long common_divisor(long x, long y)
{
    while (y != 0) {
        long rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* floor(log2 x), x > 0. */
static inline int log2_down(int x)
{
    int log = 0;
    while (x >>= 1)
        log++;
    return log;
}

/* ceil(log2 x); 0 for x < 2. */
static inline int log2_up(int x)
{
    return x > 1 ? log2_down(x - 1) + 1 : 0;
}

/* ---- A generator whose numbers follow from its seed on every machine: splitmix64 (Steele,
 * Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). The state is its
 * owner's; it begins as the seed.
 */

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* 0 .. bound - 1, bound > 0. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)random_next(state) * bound) >> 64);
}

/* 0 .. count - 1 in random order (Fisher and Yates, in the form of Durstenfeld, CACM 1964). */
static inline void random_shuffle(int *numbers, int count, uint64_t *state)
{
    for (int i = 0; i < count; i++) {
        int j = (int)random_below(state, (uint64_t)i + 1);
        numbers[i] = numbers[j];
        numbers[j] = i;
    }
}

/* ---- FNV-1a, which tells short texts apart; against chance, not against ill will. */

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Over numbers instead of bytes. `hash`: HASH_BEGIN, or of what comes before. */
static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = hash_number(hash, bytes[i]);
    return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

#endif
