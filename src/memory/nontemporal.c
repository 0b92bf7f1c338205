/*
 * nontemporal.c - stores that bypass the cache, for large targets.
 *
 * What was measured, on a Zen 4: stores of 16 bytes, which every x86-64 has, fill a line as fast as
 * those of 32 and 64 (within 3 %), so there is nothing to choose at run time. Asking for the source
 * 4 KiB ahead gains 15 to 20 % from memory and 10 % from another core's cache, and loses nothing
 * from the own one; with two sources it gains nothing.
 */
#include "memory/nontemporal.h"

#include <stdint.h>
#include <string.h>

#define LINE  ((size_t)64)
#define AHEAD ((size_t)4096) /* how far ahead of what is copied the source is asked for */

/* What is combined at a time before it is stored. Smaller blocks cost calls. Larger ones fit into
 * L1, too, but then reads and stores come in turns: 1 to 8 KiB lose 10 to 30 %. */
#define BLOCK ((size_t)512)

#ifdef __has_feature /* clang's; gcc has macros */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(__x86_64__) && !defined(SANITIZED) /* sanitizers see no stores of this kind */

#include <emmintrin.h>

static void stream_line(char *to, const char *from)
{
    __m128i *out = (__m128i *)to;
    const __m128i *in = (const __m128i *)from;
    __m128i first = _mm_loadu_si128(in), second = _mm_loadu_si128(in + 1);
    __m128i third = _mm_loadu_si128(in + 2), fourth = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, first);
    _mm_stream_si128(out + 1, second);
    _mm_stream_si128(out + 2, third);
    _mm_stream_si128(out + 3, fourth);
}

/* Whole lines; `to` is aligned to one. What lies behind the source is not asked for: another core
 * may be working on it. */
static void stream_lines(char *to, const char *from, size_t bytes)
{
    for (; bytes >= AHEAD + LINE; bytes -= LINE, to += LINE, from += LINE) {
        _mm_prefetch(from + AHEAD, _MM_HINT_NTA);
        stream_line(to, from);
    }
    for (; bytes > 0; bytes -= LINE, to += LINE, from += LINE)
        stream_line(to, from);
}

static void stream_fence(void)
{
    _mm_sfence();
}

#else

static void stream_lines(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void stream_fence(void)
{
}

#endif

/* Bytes from `to` up to the next line, of `bytes`. */
static size_t stream_head(const void *to, size_t bytes)
{
    size_t head = -(uintptr_t)to % LINE;
    return head < bytes ? head : bytes;
}

void nontemporal_copy(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    size_t head = stream_head(to, bytes), tail = (bytes - head) % LINE;
    memcpy(out, in, head);
    stream_lines(out + head, in + head, bytes - head - tail);
    memcpy(out + bytes - tail, in + bytes - tail, tail);
    stream_fence();
}

void nontemporal_reduce(reduce_function *reduce, size_t element, void *to, const void *a,
                        const void *b, size_t elements)
{
    if (to == a || to == b || LINE % element != 0) {
        reduce(to, a, b, elements);
        return;
    }
    _Alignas(64) char block[BLOCK];
    char *out = to;
    const char *left = a, *right = b;
    size_t bytes = elements * element, at = stream_head(to, bytes);
    reduce(out, left, right, at / element);
    for (; bytes - at >= BLOCK; at += BLOCK) {
        reduce(block, left + at, right + at, BLOCK / element);
        stream_lines(out + at, block, BLOCK);
    }
    reduce(out + at, left + at, right + at, (bytes - at) / element);
    stream_fence();
}
