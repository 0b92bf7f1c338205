/*
 * numbers.h - the arithmetic that several families of algorithms need.
 */
#ifndef CCTEST_NUMBERS_H
#define CCTEST_NUMBERS_H

/* The greatest number that divides both; of two that are not negative. */
static inline long common_divisor(long x, long y)
{
    while (y != 0) {
        long rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

#endif
