/*
 * limits_memory.c - measures copies (to = a) and sums (to = a + b, float) of memory by one process
 * for each rank, on buffers of its own. Several loops with plain and with non-temporal stores are
 * tried, because the best one differs between machines; it is the limit.
 *
 * Bandwidth counts the bytes of `to`: a copy reads and writes each of them.
 */
#include "limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

/* Sizes that fit the cache of a core, the shared cache, and no cache. */
#define CACHED_BYTES   ((size_t)16 << 10)
#define CACHED_REPEATS 4096
#define MIDDLE_BYTES   ((size_t)8 << 20)
#define MIDDLE_REPEATS 8
#define HUGE_PAGE      ((size_t)2 << 20)

/* `bytes` is a multiple of 4096, and the buffers are aligned to it. A copy ignores b. */
struct kernel {
    const char *name;
    bool sums;
    bool (*exists)(void);
    void (*run)(char *to, const char *a, const char *b, size_t bytes);
};

static bool exists_always(void)
{
    return true;
}

static void copy_libc(char *to, const char *a, const char *b, size_t bytes)
{
    (void)b;
    memcpy(to, a, bytes);
}

/* The compiler's vectorised loops. */
static void sum_compiler(char *to, const char *a, const char *b, size_t bytes)
{
    float *restrict target = (float *)to;
    const float *left = (const float *)a, *right = (const float *)b;
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        target[i] = left[i] + right[i];
}

#if defined(__x86_64__)
#include <immintrin.h>

static void copy_string(char *to, const char *a, const char *b, size_t bytes)
{
    (void)b;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(a), "+c"(bytes) : : "memory");
}

static bool exists_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

static bool exists_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

/* Four vectors a turn; prefetches `AHEAD` bytes ahead (0: left to the hardware). */
#define LOOP(NAME, ISA, WIDTH, AHEAD, VALUE, STORE)                                                \
    __attribute__((target(ISA))) static void NAME(char *to, const char *a, const char *b,          \
                                                  size_t bytes)                                    \
    {                                                                                              \
        (void)b;                                                                                   \
        for (size_t at = 0; at < bytes; at += 4 * WIDTH) {                                         \
            for (size_t i = at; i < at + 4 * WIDTH; i += WIDTH) {                                  \
                if (AHEAD && i % 64 == 0)                                                          \
                    _mm_prefetch(a + i + AHEAD, _MM_HINT_NTA);                                     \
                STORE((void *)(to + i), VALUE);                                                    \
            }                                                                                      \
        }                                                                                          \
        _mm_sfence();                                                                              \
    }

#define LOAD256(P) _mm256_load_ps((const float *)(P))
#define LOAD512(P) _mm512_load_ps((const float *)(P))
#define SUM256     _mm256_add_ps(LOAD256(a + i), LOAD256(b + i))
#define SUM512     _mm512_add_ps(LOAD512(a + i), LOAD512(b + i))

LOOP(copy_plain256, "avx2", 32, 0, LOAD256(a + i), _mm256_store_ps)
LOOP(copy_stream256, "avx2", 32, 0, LOAD256(a + i), _mm256_stream_ps)
LOOP(copy_ahead256, "avx2", 32, 1024, LOAD256(a + i), _mm256_stream_ps)
LOOP(sum_plain256, "avx2", 32, 0, SUM256, _mm256_store_ps)
LOOP(sum_stream256, "avx2", 32, 0, SUM256, _mm256_stream_ps)
LOOP(sum_ahead256, "avx2", 32, 1024, (_mm_prefetch(b + i + 1024, _MM_HINT_NTA), SUM256),
     _mm256_stream_ps)
LOOP(copy_plain512, "avx512f", 64, 0, LOAD512(a + i), _mm512_store_ps)
LOOP(copy_stream512, "avx512f", 64, 0, LOAD512(a + i), _mm512_stream_ps)
LOOP(sum_plain512, "avx512f", 64, 0, SUM512, _mm512_store_ps)
LOOP(sum_stream512, "avx512f", 64, 0, SUM512, _mm512_stream_ps)
#endif

static const struct kernel kernels[] = {
    {"memcpy", false, exists_always, copy_libc},
#if defined(__x86_64__)
    {"rep movsb", false, exists_always, copy_string},
    {"avx2 plain", false, exists_avx2, copy_plain256},
    {"avx2 streaming", false, exists_avx2, copy_stream256},
    {"avx2 streaming, prefetching", false, exists_avx2, copy_ahead256},
    {"avx512 plain", false, exists_avx512, copy_plain512},
    {"avx512 streaming", false, exists_avx512, copy_stream512},
#endif
    {"compiler's", true, exists_always, sum_compiler},
#if defined(__x86_64__)
    {"avx2 plain", true, exists_avx2, sum_plain256},
    {"avx2 streaming", true, exists_avx2, sum_stream256},
    {"avx2 streaming, prefetching", true, exists_avx2, sum_ahead256},
    {"avx512 plain", true, exists_avx512, sum_plain512},
    {"avx512 streaming", true, exists_avx512, sum_stream512},
#endif
};

#define KERNELS (sizeof(kernels) / sizeof(*kernels))

struct memory {
    char *to, *a, *b;
};

/* On huge pages, as the buffers of cctest and its peers. */
static char *memory_map(size_t bytes)
{
    size_t mapped = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    char *base =
        mmap(NULL, mapped + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        die("memory to measure the bandwidth of");
    base += -(uintptr_t)base % HUGE_PAGE;
    madvise(base, mapped, MADV_HUGEPAGE);
    memset(base, 0, mapped);
    return base;
}

static double kernel_bandwidth(struct process *process, const struct kernel *kernel,
                               const struct memory *memory, size_t bytes, int repeats)
{
    process_meet(process);
    uint64_t begun = clock_ns();
    for (int i = 0; i < repeats; i++)
        kernel->run(memory->to, memory->a, memory->b, bytes);
    double seconds = process_slowest(process, (double)(clock_ns() - begun) * 1e-9);
    return (double)bytes * repeats / seconds * 1e-9;
}

/* One kind of measurement: all its kernels, and the best by median. */
static void kernels_print(const char *title, const char *where, bool sums,
                          const struct series series[KERNELS])
{
    size_t best = KERNELS;
    for (size_t k = 0; k < KERNELS; k++) {
        if (kernels[k].sums == sums && kernels[k].exists() &&
            (best == KERNELS || series_median(&series[k]) > series_median(&series[best])))
            best = k;
    }
    printf(", \"%s%s\": {\"kernel\": \"%s\", \"GBps\": %.3f, \"kernels\": {", title, where,
           kernels[best].name, series_median(&series[best]));
    const char *between = "";
    for (size_t k = 0; k < KERNELS; k++) {
        if (kernels[k].sums != sums || !kernels[k].exists())
            continue;
        printf("%s", between);
        series_print(kernels[k].name, &series[k], true);
        between = ", ";
    }
    printf("}}");
}

static void memory_measure(struct process *process, void *argument)
{
    const char *where = argument;
    static struct series large[KERNELS], middle[KERNELS], cached[KERNELS];
    size_t bytes = process->limits->bytes;
    size_t lesser = bytes < MIDDLE_BYTES ? bytes : MIDDLE_BYTES;
    struct memory memory = {memory_map(bytes), memory_map(bytes), memory_map(bytes)};
    for (int round = 0; round < process->limits->rounds; round++) {
        for (size_t k = 0; k < KERNELS; k++) {
            if (!kernels[k].exists())
                continue;
            series_add(&large[k], kernel_bandwidth(process, &kernels[k], &memory, bytes, 1));
            series_add(&middle[k],
                       kernel_bandwidth(process, &kernels[k], &memory, lesser, MIDDLE_REPEATS));
            series_add(&cached[k], kernel_bandwidth(process, &kernels[k], &memory, CACHED_BYTES,
                                                    CACHED_REPEATS));
        }
    }
    if (process->rank != 0)
        return;
    kernels_print("copy", where, false, large);
    kernels_print("sum", where, true, large);
    kernels_print("copy_middle", where, false, middle);
    kernels_print("sum_middle", where, true, middle);
    kernels_print("copy_cached", where, false, cached);
    kernels_print("sum_cached", where, true, cached);
}

/* Once with all ranks and once with one: the first limits the machine, the second a process. */
void limits_memory(const struct limits *limits)
{
    char together[] = "", alone[] = "_alone";
    processes_run(limits, limits->ranks, memory_measure, together);
    processes_run(limits, 1, memory_measure, alone);
}
