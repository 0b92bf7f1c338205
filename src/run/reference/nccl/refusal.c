/*
 * refusal.c - what no version of NCCL can do. Calls nothing of NCCL or CUDA.
 */
#include "run/reference/nccl/refusal.h"

#include <stdio.h>

/* ncclDataType_t has had these values since 2.0, bfloat16 since 2.10, the 8-bit floats since
 * 2.24. */
static const struct {
    enum datatype_id id;
    int number, since;
} types[] = {
    {TYPE_INT8, 0, 0},   {TYPE_UINT8, 1, 0},    {TYPE_INT32, 2, 0},     {TYPE_UINT32, 3, 0},
    {TYPE_INT64, 4, 0},  {TYPE_UINT64, 5, 0},   {TYPE_FLOAT16, 6, 0},   {TYPE_FLOAT, 7, 0},
    {TYPE_DOUBLE, 8, 0}, {TYPE_BFLOAT16, 9, 0}, {TYPE_E4M3, 10, 22400}, {TYPE_E5M2, 11, 22400},
};
#define TYPES (sizeof types / sizeof *types)

static size_t type_row(const struct datatype *datatype)
{
    size_t i = 0;
    while (i < TYPES && types[i].id != datatype->id)
        i++;
    return i;
}

int nccl_type(const struct datatype *datatype)
{
    size_t row = type_row(datatype);
    return row < TYPES ? types[row].number : -1;
}

int nccl_type_since(const struct datatype *datatype)
{
    size_t row = type_row(datatype);
    return row < TYPES ? types[row].since : 0;
}

int nccl_operator(const struct reduction *reduction)
{
    switch (reduction->id) {
    case REDUCTION_SUM:
        return 0;
    case REDUCTION_PROD:
        return 1;
    case REDUCTION_MAX:
        return 2;
    case REDUCTION_MIN:
        return 3;
    case REDUCTION_AVG:
        return 4;
    default:
        return -1;
    }
}

/* The smallest power of two that a float of 8 bits has is 2^-9 in e4m3, 2^-16 in e5m2. */
static bool has_reciprocal(const struct datatype *datatype, int ranks)
{
    return (ranks & (ranks - 1)) == 0 && (datatype->id != TYPE_E4M3 || ranks <= 512);
}

/* NCCL multiplies each float by 1/n, rounded, before it sums. That gives the average to the bit
 * only if 1/n is exact. Integers it sums and then divides, as cctest does. */
static const char *average_refused(const struct vendor_task *task, char why[VENDOR_WHY_MOST])
{
    if (!task->reduction || task->reduction->id != REDUCTION_AVG || task->ranks == 0 ||
        task->datatype->kind != DATATYPE_FLOAT || has_reciprocal(task->datatype, task->ranks))
        return NULL;
    snprintf(why, VENDOR_WHY_MOST,
             "NCCL's avg multiplies each %s by 1/%d, which it rounds, before it sums: the result "
             "has no exact value to compare with; give --op sum, or a power of two of ranks%s",
             task->datatype->name, task->ranks,
             task->datatype->id == TYPE_E4M3 ? ", 512 at most" : "");
    return why;
}

const char *nccl_refuses(const struct vendor_task *task, char why[VENDOR_WHY_MOST])
{
    const struct collective *collective = task->collective;
    bool exchanges = collective->source.blocks && collective->destination.blocks;
    if (nccl_type(task->datatype) < 0)
        snprintf(why, VENDOR_WHY_MOST,
                 "NCCL has no type %s: choose int8, uint8, int32, uint32, int64, uint64, float, "
                 "double, float16, bfloat16, float8_e4m3 or float8_e5m2",
                 task->datatype->name);
    else if (task->reduction && nccl_operator(task->reduction) < 0)
        snprintf(why, VENDOR_WHY_MOST, "NCCL has no operator %s: choose sum, prod, min, max or avg",
                 task->reduction->name);
    else if (task->in_place && (exchanges || collective->id == COLLECTIVE_SENDRECV))
        snprintf(why, VENDOR_WHY_MOST,
                 "NCCL's send and recv of one group must not touch the same memory: leave "
                 "--in-place out of %s",
                 collective->name);
    else
        return average_refused(task, why);
    return why;
}
