/*
 * texts.h - what messages of tests hold, and random numbers.
 */
#ifndef CCTEST_TEST_TEXTS_H
#define CCTEST_TEST_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/memory/memory.h"

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline size_t random_below(uint64_t *state, size_t bound)
{
    *state += 0x9e3779b97f4a7c15u;
    return (size_t)(mix(*state) % bound);
}

/* Bytes [at, at + bytes) of the endless text number `seed`. */
static inline void text_write(uint64_t seed, size_t at, char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((at + i) % 8 == 0 && bytes - i >= 8) {
            uint64_t word = mix(seed * 0x100000001b3u + (at + i) / 8);
            memcpy(to + i, &word, 8);
            i += 7;
        } else {
            to[i] = (char)(mix(seed * 0x100000001b3u + (at + i) / 8) >> (at + i) % 8 * 8);
        }
    }
}

static inline bool text_is(uint64_t seed, const char *there, size_t bytes)
{
    char expected[4096];
    for (size_t at = 0, step; at < bytes; at += step) {
        step = bytes - at < sizeof(expected) ? bytes - at : sizeof(expected);
        text_write(seed, at, expected, step);
        if (memcmp(expected, there + at, step))
            return false;
    }
    return true;
}

/* The gaps of pieces that were filled with '#' are as they were. */
static inline bool gaps_are_intact(const struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &pieces[i];
        for (size_t at = 0; at < piece->times * piece->stride; at++) {
            if (at % piece->stride >= piece->run && piece->base[at] != '#')
                return false;
        }
    }
    return true;
}

#endif
