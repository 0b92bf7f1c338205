/*
 * nontemporal.c - stores that bypass the cache, for large targets.
 *
 * Measured on a Zen 4: stores of 16 bytes, which every x86-64 has, fill a line as fast as stores of
 * 32 and 64 (within 3 %), so there is nothing to choose at run time. To prefetch the source 4 KiB
 * ahead gains 15 to 20 % from memory and 10 % from another core's cache, and loses nothing from the
 * own cache; with two sources it gains nothing.
 */
#include "dataplane/memory/memory.h"

#include <string.h>

#define LINE  ((size_t)64)
#define AHEAD ((size_t)4096) /* distance of the prefetch */

/* Bytes that are combined before they are stored. Smaller blocks cost calls. Larger ones fit into
 * L1, too, but then reads and stores alternate: 1 to 8 KiB lose 10 to 30 %. */
#define BLOCK ((size_t)512)

#ifdef __has_feature /* clang's; gcc has macros */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#if defined(__x86_64__) && !defined(SANITIZED) /* sanitizers do not see these stores */

#include <emmintrin.h>

static void nontemporal_line(char *to, const char *from)
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

/* Whole lines; `to` is aligned to one. Does not prefetch beyond the source, where another core may
 * be writing. */
static void nontemporal_lines(char *to, const char *from, size_t bytes)
{
    for (; bytes >= AHEAD + LINE; bytes -= LINE, to += LINE, from += LINE) {
        _mm_prefetch(from + AHEAD, _MM_HINT_NTA);
        nontemporal_line(to, from);
    }
    for (; bytes > 0; bytes -= LINE, to += LINE, from += LINE)
        nontemporal_line(to, from);
}

static void nontemporal_fence(void)
{
    _mm_sfence();
}

#else

static void nontemporal_lines(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void nontemporal_fence(void)
{
}

#endif

/* Bytes from `to` up to the next line, at most `bytes`. */
static size_t head_bytes(const void *to, size_t bytes)
{
    size_t head = -(uintptr_t)to % LINE;
    return head < bytes ? head : bytes;
}

void nontemporal_copy(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    size_t head = head_bytes(to, bytes), tail = (bytes - head) % LINE;
    memcpy(out, in, head);
    nontemporal_lines(out + head, in + head, bytes - head - tail);
    memcpy(out + bytes - tail, in + bytes - tail, tail);
    nontemporal_fence();
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
    size_t bytes = elements * element, at = head_bytes(to, bytes);
    reduce(out, left, right, at / element);
    for (; bytes - at >= BLOCK; at += BLOCK) {
        reduce(block, left + at, right + at, BLOCK / element);
        nontemporal_lines(out + at, block, BLOCK);
    }
    reduce(out + at, left + at, right + at, (bytes - at) / element);
    nontemporal_fence();
}
