/*
 * numbers.h - arithmetic that several rooms need.
 */
#ifndef CCTEST_BASE_NUMBERS_H
#define CCTEST_BASE_NUMBERS_H

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

#endif
