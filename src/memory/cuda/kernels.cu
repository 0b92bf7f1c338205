/*
 * kernels.cu - the kernels of a GPU: local operations, inputs, comparison.
 *
 * They expand the lists of reduce_element.h and input_element.h, as the host's kernels do, so
 * results are the same to the bit. No kernel waits for another thread, so they also run one thread
 * at a time, which the tests without a GPU do.
 */
#include "memory/cuda/kernels.h"
#include "memory/cuda/work.h"
#include "memory/reduce_element.h"

#define VECTOR 16u /* bytes that a thread moves at once, where all addresses are aligned alike */

template <typename T> struct alignas(VECTOR) vector {
    T element[VECTOR / sizeof(T)];
};

/* This thread's first element, and the distance to its next one. */
__device__ static inline size_t thread_first(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline size_t thread_step(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

/* Elements in front of the first aligned address; all of them, if the addresses are not aligned
 * alike. */
template <typename T>
__device__ static inline size_t elements_before(const void *a, const void *b, const void *c,
                                                size_t count)
{
    const uintptr_t x = (uintptr_t)a % VECTOR, y = (uintptr_t)b % VECTOR, z = (uintptr_t)c % VECTOR;
    const size_t before = (VECTOR - x) % VECTOR / sizeof(T);
    return x != y || x != z || before > count ? count : before;
}

/* Local operations. blockIdx.y: the run. */

template <typename T, T (*combine)(T, T)> __global__ void reduce_runs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    T *to = (T *)run.to;
    const T *a = (const T *)run.from, *b = (const T *)run.with;
    const size_t before = elements_before<T>(to, a, b, run.elements);
    const size_t per = VECTOR / sizeof(T), vectors = (run.elements - before) / per;
    const size_t behind = before + vectors * per;
    vector<T> *wide = (vector<T> *)(to + before);
    const vector<T> *x = (const vector<T> *)(a + before), *y = (const vector<T> *)(b + before);
    for (size_t i = thread_first(); i < vectors; i += thread_step()) {
        vector<T> left = x[i];
        const vector<T> right = y[i];
        for (size_t e = 0; e < per; e++)
            left.element[e] = combine(left.element[e], right.element[e]);
        wide[i] = left;
    }
    for (size_t i = thread_first(); i < before; i += thread_step())
        to[i] = combine(a[i], b[i]);
    for (size_t i = behind + thread_first(); i < run.elements; i += thread_step())
        to[i] = combine(a[i], b[i]);
}

template <typename W> struct alignas(2 * sizeof(W)) pair {
    W value, index;
};

template <typename W, int (*wins)(W, W, W, W)>
__global__ void reduce_pairs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    pair<W> *to = (pair<W> *)run.to;
    const pair<W> *a = (const pair<W> *)run.from, *b = (const pair<W> *)run.with;
    for (size_t i = thread_first(); i < run.elements; i += thread_step()) {
        const pair<W> x = a[i], y = b[i];
        to[i] = wins(x.value, x.index, y.value, y.index) ? x : y;
    }
}

template <typename T, typename D, T (*divide)(T, D)>
__global__ void finish_runs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    T *to = (T *)run.to;
    const T *from = (const T *)run.from;
    for (size_t i = thread_first(); i < run.elements; i += thread_step())
        to[i] = divide(from[i], (D)work.ranks);
}

__global__ void copy_runs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    const size_t before = elements_before<char>(run.to, run.from, run.to, run.elements);
    const size_t vectors = (run.elements - before) / VECTOR, behind = before + vectors * VECTOR;
    vector<char> *wide = (vector<char> *)(run.to + before);
    const vector<char> *from = (const vector<char> *)(run.from + before);
    for (size_t i = thread_first(); i < vectors; i += thread_step())
        wide[i] = from[i];
    for (size_t i = thread_first(); i < before; i += thread_step())
        run.to[i] = run.from[i];
    for (size_t i = behind + thread_first(); i < run.elements; i += thread_step())
        run.to[i] = run.from[i];
}

/* Inputs. */

/* What the elements of a page have in common. */
struct page_draw {
    uint64_t key; /* of what all ranks share */
    uint32_t step;
};

__device__ static inline struct page_draw page_begin(const struct input_rule by, uint64_t page)
{
    struct page_draw draw;
    draw.key = page_key(by.key, 0, page);
    draw.step = by.decides && by.recipe.ranks > 1 ? decider_step(draw.key, by.recipe.ranks) : 0;
    return draw;
}

/* What all ranks share of an element. */
__device__ static inline struct drawn draw_shared(const struct input_rule by,
                                                  const struct page_draw draw, uint32_t offset)
{
    struct drawn drawn;
    drawn.word = 0;
    drawn.decider = by.decides && by.recipe.ranks > 1
                        ? decider_at(draw.key, draw.step, offset, by.recipe.ranks)
                        : 0;
    drawn.shared =
        by.shares ? shared_word(draw.key, offset, by.recipe.ranks, by.rule == RULE_TRUTH) : 0;
    return drawn;
}

template <typename T, T (*value)(enum rule, struct recipe, uint32_t, struct drawn)>
__global__ void make_elements(const struct device_work work)
{
    const struct input_rule by = work.by;
    const size_t first_page = work.first / INPUT_PAGE, end = work.first + work.count;
    T *to = (T *)work.at;
    for (size_t page = first_page + blockIdx.x; page * INPUT_PAGE < end; page += gridDim.x) {
        const struct page_draw draw = page_begin(by, page);
        const uint64_t key = page_key(by.key, 1 + (uint64_t)work.rank, page);
        for (uint32_t offset = threadIdx.x; offset < INPUT_PAGE; offset += blockDim.x) {
            const size_t element = page * INPUT_PAGE + offset;
            if (element < work.first || element >= end)
                continue;
            struct drawn drawn = draw_shared(by, draw, offset);
            drawn.word = own_word(key, offset);
            to[element - work.first] = value(by.rule, by.recipe, (uint32_t)work.rank, drawn);
        }
    }
}

/* Comparison of elements of W by their bits, so that NaN equals itself and 0 is not -0. */

struct alignas(16) bits_128 {
    uint64_t low, high;
};

template <typename W> __device__ static inline bool is_same(const W x, const W y)
{
    return x == y;
}

template <> __device__ inline bool is_same(const struct bits_128 x, const struct bits_128 y)
{
    return (x.low == y.low) & (x.high == y.high);
}

template <typename W> __global__ void compare_elements(const struct device_work work)
{
    const W *got = (const W *)work.at, *expected = (const W *)work.expected;
    unsigned wrong = 0;
    for (size_t i = thread_first(); i < work.count; i += thread_step()) {
        if (is_same(got[i], expected[i]))
            continue;
        wrong++;
        if (work.bits)
            atomicOr(&work.bits[i / 32], 1u << i % 32);
    }
    if (wrong > 0)
        atomicAdd(work.total, (unsigned long long)wrong);
}

__global__ void scan_bytes(const struct device_work work)
{
    const unsigned char *at = (const unsigned char *)work.at;
    for (size_t i = thread_first(); i < work.count; i += thread_step()) {
        if (at[i] == work.byte)
            continue;
        atomicAdd(work.total, 1ull);
        atomicMin(work.least, (unsigned long long)i);
    }
}

/* Which kernel serves a type and an operator. X(type, list of operators, name and argument of that
 * list, element as it is made, its value, element as it is finished, divisor). */

#define NUMBERS(X)                                                                                 \
    X(FLOAT, FLOATING_OPERATORS, float, float, float, float, float, float)                         \
    X(DOUBLE, FLOATING_OPERATORS, double, double, double, double, double, double)                  \
    X(FLOAT16, FLOATING_OPERATORS, float16, uint16_t, uint16_t, float16, uint16_t, float)          \
    X(BFLOAT16, FLOATING_OPERATORS, bfloat16, uint16_t, uint16_t, bfloat16, uint16_t, float)       \
    X(E4M3, FLOATING_OPERATORS, e4m3, uint8_t, uint8_t, e4m3, uint8_t, float)                      \
    X(E5M2, FLOATING_OPERATORS, e5m2, uint8_t, uint8_t, e5m2, uint8_t, float)                      \
    X(INT8, INTEGER_OPERATORS, int8, 8, uint8_t, integer_8, int8_t, float)                         \
    X(INT16, INTEGER_OPERATORS, int16, 16, uint16_t, integer_16, int16_t, float)                   \
    X(INT32, INTEGER_OPERATORS, int32, 32, uint32_t, integer_32, int32_t, double)                  \
    X(INT64, INTEGER_OPERATORS, int64, 64, uint64_t, integer_64, int64_t, int64_t)                 \
    X(UINT8, INTEGER_OPERATORS, uint8, 8, uint8_t, integer_8, uint8_t, float)                      \
    X(UINT16, INTEGER_OPERATORS, uint16, 16, uint16_t, integer_16, uint16_t, float)                \
    X(UINT32, INTEGER_OPERATORS, uint32, 32, uint32_t, integer_32, uint32_t, double)               \
    X(UINT64, INTEGER_OPERATORS, uint64, 64, uint64_t, integer_64, uint64_t, uint64_t)
#define PAIRS(X)                                                                                   \
    X(FLOAT_INT32, float_int32, uint32_t)                                                          \
    X(INT32_INT32, int32_int32, uint32_t)                                                          \
    X(DOUBLE_INT64, double_int64, uint64_t)                                                        \
    X(INT64_INT64, int64_int64, uint64_t)

const void *device_copy_kernel(void)
{
    return (const void *)copy_runs;
}

const void *device_scan_kernel(void)
{
    return (const void *)scan_bytes;
}

#define REDUCE_CASE(OPERATOR, function, type)                                                      \
    case REDUCTION_##OPERATOR:                                                                     \
        return (const void *)reduce_runs<type, function>;
#define REDUCE_PAIR_CASE(OPERATOR, function, word)                                                 \
    case REDUCTION_##OPERATOR:                                                                     \
        return (const void *)reduce_pairs<word, function>;
#define REDUCE_NUMBER(ID, operators, name, argument, made, value, type, divisor)                   \
    case TYPE_##ID:                                                                                \
        switch (reduction) {                                                                       \
            operators(REDUCE_CASE, name, argument) default : return NULL;                          \
        }
#define REDUCE_PAIR(ID, name, word)                                                                \
    case TYPE_##ID:                                                                                \
        switch (reduction) {                                                                       \
            PAIR_OPERATORS(REDUCE_PAIR_CASE, name, word) default : return NULL;                    \
        }

const void *device_reduce_kernel(int type, int reduction)
{
    switch (type) {
        NUMBERS(REDUCE_NUMBER)
        PAIRS(REDUCE_PAIR)
    default:
        return NULL;
    }
}

#define FINISH_NUMBER(ID, operators, name, argument, made, value, type, divisor)                   \
    case TYPE_##ID:                                                                                \
        return (const void *)finish_runs<type, divisor, finish_##name>;

const void *device_finish_kernel(int type)
{
    switch (type) {
        NUMBERS(FINISH_NUMBER)
    default:
        return NULL;
    }
}

#define MAKE_NUMBER(ID, operators, name, argument, made, value, type, divisor)                     \
    case TYPE_##ID:                                                                                \
        return (const void *)make_elements<made, value_##value>;
#define MAKE_PAIR(ID, name, word)                                                                  \
    case TYPE_##ID:                                                                                \
        return (const void *)make_elements<struct name, value_##name>;

const void *device_make_kernel(int type)
{
    switch (type) {
        NUMBERS(MAKE_NUMBER)
        PAIRS(MAKE_PAIR)
    default:
        return NULL;
    }
}

const void *device_compare_kernel(size_t element)
{
    switch (element) {
    case 1:
        return (const void *)compare_elements<uint8_t>;
    case 2:
        return (const void *)compare_elements<uint16_t>;
    case 4:
        return (const void *)compare_elements<uint32_t>;
    case 8:
        return (const void *)compare_elements<uint64_t>;
    default:
        return (const void *)compare_elements<struct bits_128>;
    }
}
