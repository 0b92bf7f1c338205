/*
 * page_alias.h - where a copy by the instruction `rep movsb` is slow.
 *
 * The kernel copies by it, and so does memcpy() of many versions of the C library. On AMD's Zen 3 and Zen 4 it is
 * some 16 times as slow as usual (3.5 GB/s instead of 57, on a Zen 4) if the target's offset in its page of 4 KiB
 * exceeds that of the source by 1 to 15 bytes; others have found it on a Zen 3, too (lunnova.dev, ryzen-slow-short-rep-mov).
 * Blocks of odd lengths lie so by chance. Of 6, 10, 12 ... ranks one begins at half of the size, which is a multiple of
 * 4096 and a few bytes. Other processors were not measured: those of AMD are taken to have it, others not.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_PAGE_ALIAS_H
#define CCTEST_DATAPLANE_MEMORY_PAGE_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

#define ALIAS_PAGE  4096
#define ALIAS_BYTES 15

/* On any processor: does the target's offset in its page exceed the source's by 1 to 15 bytes? */
static inline bool page_offsets_alias(const void *to, const void *from)
{
    return ((uintptr_t)to - (uintptr_t)from - 1) % ALIAS_PAGE < ALIAS_BYTES;
}

/* Is a copy by `rep movsb` slow here? */
static inline bool page_alias(const void *to, const void *from)
{
#ifdef __x86_64__
    return page_offsets_alias(to, from) && __builtin_cpu_is("amd");
#else
    (void)to;
    (void)from;
    return false;
#endif
}

#endif
