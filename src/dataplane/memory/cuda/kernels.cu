/*
 * kernels.cu - the kernels of a GPU: local operations, inputs, comparison.
 *
 * They expand the lists of reduce_element.h (bodies.h) and input_element.h, as the host's kernels
 * do, so results are the same to the bit. No kernel waits for another thread, so they also run one
 * thread at a time, which the tests without a GPU do.
 */
#include "dataplane/memory/cuda/bodies.h"
#include "dataplane/memory/cuda/kernels.h"
#include "dataplane/memory/cuda/work.h"

/* This thread's first element, and the distance to its next one. */
__device__ static inline size_t thread_first(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline size_t thread_step(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

/* Local operations. blockIdx.y: the run. */

template <typename T, T (*combine)(T, T)> __global__ void reduce_runs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    reduce_part<T, combine>(run.to, run.from, run.with, run.elements, thread_first(),
                            thread_step());
}

template <typename W, int (*wins)(W, W, W, W)>
__global__ void reduce_pairs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    reduce_pair_part<W, wins>(run.to, run.from, run.with, run.elements, thread_first(),
                              thread_step());
}

template <typename T, typename D, T (*divide)(T, D)>
__global__ void finish_runs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    finish_part<T, D, divide>(run.to, run.from, run.elements, work.ranks, thread_first(),
                              thread_step());
}

__global__ void copy_runs(const struct device_work work)
{
    const struct device_run run = work.runs[blockIdx.y];
    copy_part(run.to, run.from, run.elements, thread_first(), thread_step());
}

/* Inputs, and comparison with them. */

/* The offsets of a page that belong to the elements that are asked for: [begin, end). */
struct page_part {
    uint32_t begin, end;
};

__device__ static inline struct page_part part_of(const struct device_work &work, size_t page)
{
    const size_t from = page * INPUT_PAGE, end = work.first + work.count;
    struct page_part part;
    part.begin = work.first > from ? (uint32_t)(work.first - from) : 0;
    part.end = end < from + INPUT_PAGE ? (uint32_t)(end - from) : INPUT_PAGE;
    return part;
}

/* Values that the elements of a page have in common. */
struct page_draw {
    uint64_t key; /* of what all ranks share */
    uint32_t step;
};

__device__ static inline struct page_draw page_begin(const struct input_rule &by, uint64_t page)
{
    struct page_draw draw;
    draw.key = page_key(by.key, 0, page);
    draw.step = by.decides && by.recipe.ranks > 1 ? decider_step(draw.key, by.recipe.ranks) : 0;
    return draw;
}

/* The part of an element's draw that all ranks share. */
__device__ static inline struct drawn draw_shared(const struct input_rule &by,
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

/* A block takes a page at a time. `Type`: a struct of below. */
template <typename Type> __global__ void make_elements(const struct device_work work)
{
    typename Type::element *to = (typename Type::element *)work.at;
    const size_t pages_end = (work.first + work.count + INPUT_PAGE - 1) / INPUT_PAGE;
    for (size_t page = work.first / INPUT_PAGE + blockIdx.x; page < pages_end; page += gridDim.x) {
        const struct page_part part = part_of(work, page);
        const struct page_draw draw = page_begin(work.by, page);
        const uint64_t key = page_key(work.by.key, 1 + (uint64_t)work.rank, page);
        for (uint32_t at = part.begin + threadIdx.x; at < part.end; at += blockDim.x) {
            struct drawn drawn = draw_shared(work.by, draw, at);
            drawn.word = own_word(key, at);
            to[page * INPUT_PAGE + at - work.first] =
                Type::value(work.by, (uint32_t)work.rank, drawn);
        }
    }
}

/* By their bits, so that NaN equals itself and 0 is not -0. */
template <typename T> __device__ static inline bool is_same(const T x, const T y)
{
    uint64_t a[2] = {0, 0}, b[2] = {0, 0};
    memcpy(a, &x, sizeof x);
    memcpy(b, &y, sizeof y);
    return (a[0] == b[0]) & (a[1] == b[1]);
}

#define AT_ONCE 2 /* elements of a thread, for which a rank's key of the page is made once */

/* The expected elements at the offsets `from`, `from` + blockDim.x, ... of a page. */
template <typename Type>
__device__ static inline void expect(const struct device_work &work, size_t page,
                                     const struct page_draw draw, uint32_t from,
                                     typename Type::element (&expected)[AT_ONCE])
{
    struct drawn drawn[AT_ONCE];
    const uint32_t first = (uint32_t)work.rank, end = first + (uint32_t)work.ranks;
    for (uint32_t i = 0; i < AT_ONCE; i++)
        drawn[i] = draw_shared(work.by, draw, from + i * blockDim.x);
    for (uint32_t rank = first; rank < end; rank++) {
        const uint64_t key = page_key(work.by.key, 1 + (uint64_t)rank, page);
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            drawn[i].word = own_word(key, from + i * blockDim.x);
            const typename Type::element one = Type::value(work.by, rank, drawn[i]);
            expected[i] = rank == first ? one : Type::combine(work.reduction, expected[i], one);
        }
    }
    for (uint32_t i = 0; i < AT_ONCE && work.finishes; i++)
        expected[i] = Type::finish(expected[i], work.ranks);
}

template <typename Type>
__device__ static inline unsigned compare_page(const struct device_work &work, size_t page)
{
    typedef typename Type::element element;
    const element *got = (const element *)work.at;
    const struct page_part part = part_of(work, page);
    const struct page_draw draw = page_begin(work.by, page);
    const uint32_t step = AT_ONCE * blockDim.x;
    element expected[AT_ONCE];
    unsigned wrong = 0;
    for (uint32_t from = part.begin + threadIdx.x; from < part.end; from += step) {
        expect<Type>(work, page, draw, from, expected);
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            const uint32_t at = from + i * blockDim.x;
            const size_t number = page * INPUT_PAGE + at - work.first;
            if (at >= part.end || is_same(got[number], expected[i]))
                continue;
            wrong++;
            if (work.bits)
                atomicOr(&work.bits[number / 32], 1u << number % 32);
        }
    }
    return wrong;
}

template <typename Type> __global__ void compare_elements(const struct device_work work)
{
    const size_t pages_end = (work.first + work.count + INPUT_PAGE - 1) / INPUT_PAGE;
    unsigned wrong = 0;
    for (size_t page = work.first / INPUT_PAGE + blockIdx.x; page < pages_end; page += gridDim.x)
        wrong += compare_page<Type>(work, page);
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

/* The types. Each is a struct of what it is made of, what the operator of a comparison makes of two
 * elements, and what finishes a result. */

#define COMBINE_CASE(OPERATOR, function, type)                                                     \
    case REDUCTION_##OPERATOR:                                                                     \
        return (element)function((type)x, (type)y);
#define NUMBER_TYPE(ID, operators, name, argument, made, value_name, type, divisor)                \
    struct number_##name {                                                                         \
        typedef made element;                                                                      \
        __device__ static inline element value(const struct input_rule &by, uint32_t rank,         \
                                               const struct drawn drawn)                           \
        {                                                                                          \
            return value_##value_name(by.rule, by.recipe, rank, drawn);                            \
        }                                                                                          \
        __device__ static inline element combine(int reduction, element x, element y)              \
        {                                                                                          \
            switch (reduction) {                                                                   \
                operators(COMBINE_CASE, name, argument) default : return x;                        \
            }                                                                                      \
        }                                                                                          \
        __device__ static inline element finish(element x, int ranks)                              \
        {                                                                                          \
            return (element)finish_##name((type)x, (divisor)ranks);                                \
        }                                                                                          \
    };

#define COMBINE_PAIR_CASE(OPERATOR, function, word)                                                \
    case REDUCTION_##OPERATOR:                                                                     \
        return function(a.value, a.index, b.value, b.index) ? x : y;
#define PAIR_TYPE(ID, name, word)                                                                  \
    struct pair_##name {                                                                           \
        typedef struct name element;                                                               \
        __device__ static inline element value(const struct input_rule &by, uint32_t rank,         \
                                               const struct drawn drawn)                           \
        {                                                                                          \
            return value_##name(by.rule, by.recipe, rank, drawn);                                  \
        }                                                                                          \
        __device__ static inline element combine(int reduction, element x, element y)              \
        {                                                                                          \
            pair<word> a, b;                                                                       \
            memcpy(&a, &x, sizeof a);                                                              \
            memcpy(&b, &y, sizeof b);                                                              \
            switch (reduction) {                                                                   \
                PAIR_OPERATORS(COMBINE_PAIR_CASE, name, word) default : return x;                  \
            }                                                                                      \
        }                                                                                          \
        __device__ static inline element finish(element x, int ranks)                              \
        {                                                                                          \
            (void)ranks;                                                                           \
            return x;                                                                              \
        }                                                                                          \
    };

NUMBERS(NUMBER_TYPE)
PAIRS(PAIR_TYPE)

/* The kernels for a type and an operator. */

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

#define NUMBER_KERNEL(ID, operators, name, argument, made, value, type, divisor)                   \
    case TYPE_##ID:                                                                                \
        return (const void *)KERNEL<number_##name>;
#define PAIR_KERNEL(ID, name, word)                                                                \
    case TYPE_##ID:                                                                                \
        return (const void *)KERNEL<pair_##name>;

const void *device_make_kernel(int type)
{
#define KERNEL make_elements
    switch (type) {
        NUMBERS(NUMBER_KERNEL)
        PAIRS(PAIR_KERNEL)
    default:
        return NULL;
    }
#undef KERNEL
}

const void *device_compare_kernel(int type)
{
#define KERNEL compare_elements
    switch (type) {
        NUMBERS(NUMBER_KERNEL)
        PAIRS(PAIR_KERNEL)
    default:
        return NULL;
    }
#undef KERNEL
}
