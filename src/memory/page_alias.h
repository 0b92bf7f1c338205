/*
 * page_alias.h - copies that are slow for where their bytes lie.
 *
 * The instruction `rep movsb` copies some 20 times as slowly as usual on Zen 3 and Zen 4 if the target begins 1 to 15
 * bytes behind the source, both counted from the beginning of their pages of 4 KiB (3.5 GB/s for 57 on a
 * Zen 4; found as well by L. Nova, Slow "fast short rep mov", 2023). It is what the kernel copies with, and memcpy()
 * of many versions of the C library. Blocks of odd lengths lie so by chance, and those of 6, 10, 12 ... ranks often:
 * half of a size near a power of two is a multiple of pages but for a few bytes.
 */
#ifndef CCTEST_MEMORY_PAGE_ALIAS_H
#define CCTEST_MEMORY_PAGE_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

#define ALIAS_PAGE  4096
#define ALIAS_BYTES 15

static inline bool page_alias(const void *to, const void *from)
{
    return ((uintptr_t)to - (uintptr_t)from - 1) % ALIAS_PAGE < ALIAS_BYTES;
}

#endif
