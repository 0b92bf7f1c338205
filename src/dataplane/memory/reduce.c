/*
 * reduce.c - which kernel combines elements of a type by an operator. The kernels are in
 * reduce_native.c, reduce_small_float.c and reduce_pair.c.
 */
#include "dataplane/memory/internal.h"

#include <limits.h>


static const struct kernels *const kernels[DATATYPES] = {
    [TYPE_FLOAT] = &kernels_float,
    [TYPE_DOUBLE] = &kernels_double,
    [TYPE_FLOAT16] = &kernels_float16,
    [TYPE_BFLOAT16] = &kernels_bfloat16,
    [TYPE_E4M3] = &kernels_e4m3,
    [TYPE_E5M2] = &kernels_e5m2,
    [TYPE_INT8] = &kernels_int8,
    [TYPE_INT16] = &kernels_int16,
    [TYPE_INT32] = &kernels_int32,
    [TYPE_INT64] = &kernels_int64,
    [TYPE_UINT8] = &kernels_uint8,
    [TYPE_UINT16] = &kernels_uint16,
    [TYPE_UINT32] = &kernels_uint32,
    [TYPE_UINT64] = &kernels_uint64,
    [TYPE_FLOAT_INT32] = &kernels_float_int32,
    [TYPE_INT32_INT32] = &kernels_int32_int32,
    [TYPE_DOUBLE_INT64] = &kernels_double_int64,
    [TYPE_INT64_INT64] = &kernels_int64_int64,
};

#ifdef __clang__ /* does not know the name F16C; every processor with AVX2 has it */
#define HAS_F16C true
#else
#define HAS_F16C __builtin_cpu_supports("f16c")
#endif

enum kernel_set kernel_set_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && HAS_F16C)
        return KERNELS_AVX2;
#endif
    return KERNELS_BASELINE;
}

reduce_function *reduce_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction)
{
    reduce_function *const *reduce = kernels[type->id]->reduce[reduction->id];
    return reduce ? reduce[set] : NULL;
}

reduce_function *reduce_kernel(const struct datatype *type, const struct reduction *reduction)
{
    return reduce_kernel_from(kernel_set_best(), type, reduction);
}

finish_function *finish_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction)
{
    finish_function *const *finish = reduction->finishes ? kernels[type->id]->finish : NULL;
    return finish ? finish[set] : NULL;
}

finish_function *finish_kernel(const struct datatype *type, const struct reduction *reduction)
{
    return finish_kernel_from(kernel_set_best(), type, reduction);
}

const char *reduce_refusal(const struct datatype *type, const struct reduction *reduction)
{
    if (kernels[type->id]->reduce[reduction->id])
        return NULL;
    if (type->kind == DATATYPE_PAIR)
        return "pairs of a value and an index have only a greatest and a least: choose "
               "--op maxloc or minloc";
    switch (reduction->id) {
    case REDUCTION_MAXLOC:
    case REDUCTION_MINLOC:
        return "it needs pairs of a value and an index: choose --datatype float_int32, "
               "int32_int32, double_int64 or int64_int64, or --op max or min";
    case REDUCTION_LAND:
    case REDUCTION_LOR:
    case REDUCTION_LXOR:
        return "logical operators need integers: choose one of int8 to uint64, or --op min or max";
    default:
        return "bitwise operators need integers: choose one of int8 to uint64, or --op sum, "
               "min or max";
    }
}

int reduce_ranks_most(const struct datatype *type, const struct reduction *reduction)
{
    bool is_signed = type->kind == DATATYPE_SIGNED;
    if (!reduction->finishes || type->kind == DATATYPE_FLOAT || type->size >= sizeof(int))
        return INT_MAX;
    return (1 << (8 * type->size - is_signed)) - 1;
}
