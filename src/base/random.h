/*
 * random.h - a generator whose numbers follow from its seed on every machine: splitmix64 (Steele,
 * Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). The state is its
 * owner's; it begins as the seed.
 */
#ifndef CCTEST_BASE_RANDOM_H
#define CCTEST_BASE_RANDOM_H

#include <stdint.h>

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

#endif
