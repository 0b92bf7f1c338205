/*
 * datatype.c - the tables of element types and operators.
 */
#include "dataplane/memory/datatype.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/memory/small_float.h"

#define INTEGER(id_, kind_, bits, ...)                                                             \
    {                                                                                              \
        __VA_ARGS__, .id = id_, .size = (bits) / 8, .kind = kind_, .exact_bits = bits              \
    }
#define FLOATING(id_, bytes, exact, ...)                                                           \
    {                                                                                              \
        __VA_ARGS__, .id = id_, .size = bytes, .kind = DATATYPE_FLOAT, .exact_bits = exact         \
    }
#define PAIR(id_, bytes, ...)                                                                      \
    {                                                                                              \
        __VA_ARGS__, .id = id_, .size = bytes, .kind = DATATYPE_PAIR                               \
    }

static const struct datatype types[DATATYPES] = {
    FLOATING(TYPE_FLOAT, 4, 24, .name = "float", .aliases = {"float32", "f32", "fp32"}),
    FLOATING(TYPE_DOUBLE, 8, 53, .name = "double", .aliases = {"float64", "f64", "fp64"}),
    FLOATING(TYPE_FLOAT16, 2, 11, .name = "float16", .aliases = {"half", "f16", "fp16"}),
    FLOATING(TYPE_BFLOAT16, 2, 8, .name = "bfloat16", .aliases = {"bf16"}),
    FLOATING(TYPE_E4M3, 1, 4, .name = "float8_e4m3",
             .aliases = {"e4m3", "e4m3fn", "float8_e4m3fn", "fp8_e4m3", "f8e4m3"}),
    FLOATING(TYPE_E5M2, 1, 3, .name = "float8_e5m2", .aliases = {"e5m2", "fp8_e5m2", "f8e5m2"}),
    INTEGER(TYPE_INT8, DATATYPE_SIGNED, 8, .name = "int8", .aliases = {"i8", "s8", "char"}),
    INTEGER(TYPE_INT16, DATATYPE_SIGNED, 16, .name = "int16", .aliases = {"i16", "s16", "short"}),
    INTEGER(TYPE_INT32, DATATYPE_SIGNED, 32, .name = "int32", .aliases = {"i32", "s32", "int"}),
    INTEGER(TYPE_INT64, DATATYPE_SIGNED, 64, .name = "int64", .aliases = {"i64", "s64", "long"}),
    INTEGER(TYPE_UINT8, DATATYPE_UNSIGNED, 8, .name = "uint8", .aliases = {"u8", "byte"}),
    INTEGER(TYPE_UINT16, DATATYPE_UNSIGNED, 16, .name = "uint16", .aliases = {"u16"}),
    INTEGER(TYPE_UINT32, DATATYPE_UNSIGNED, 32, .name = "uint32", .aliases = {"u32"}),
    INTEGER(TYPE_UINT64, DATATYPE_UNSIGNED, 64, .name = "uint64", .aliases = {"u64"}),
    PAIR(TYPE_FLOAT_INT32, 8, .name = "float_int32",
         .aliases = {"float32_int32", "f32_i32", "float_int"}),
    PAIR(TYPE_INT32_INT32, 8, .name = "int32_int32", .aliases = {"i32_i32", "int_int", "2int"}),
    PAIR(TYPE_DOUBLE_INT64, 16, .name = "double_int64",
         .aliases = {"float64_int64", "f64_i64", "double_long"}),
    PAIR(TYPE_INT64_INT64, 16, .name = "int64_int64", .aliases = {"i64_i64", "long_long", "2long"}),
};

const struct datatype *const datatypes[] = {
    &types[0],  &types[1],  &types[2],  &types[3],  &types[4],  &types[5],  &types[6],
    &types[7],  &types[8],  &types[9],  &types[10], &types[11], &types[12], &types[13],
    &types[14], &types[15], &types[16], &types[17], NULL,
};

static const struct reduction operators[REDUCTIONS] = {
    [REDUCTION_SUM] = {.name = "sum", .id = REDUCTION_SUM},
    [REDUCTION_PROD] = {.name = "prod", .id = REDUCTION_PROD},
    [REDUCTION_MAX] = {.name = "max", .id = REDUCTION_MAX, .idempotent = true},
    [REDUCTION_MIN] = {.name = "min", .id = REDUCTION_MIN, .idempotent = true},
    [REDUCTION_AVG] = {.name = "avg", .id = REDUCTION_AVG, .finishes = true},
    [REDUCTION_LAND] = {.name = "land", .id = REDUCTION_LAND, .idempotent = true},
    [REDUCTION_LOR] = {.name = "lor", .id = REDUCTION_LOR, .idempotent = true},
    [REDUCTION_LXOR] = {.name = "lxor", .id = REDUCTION_LXOR, .cancels = true},
    [REDUCTION_BAND] = {.name = "band", .id = REDUCTION_BAND, .idempotent = true},
    [REDUCTION_BOR] = {.name = "bor", .id = REDUCTION_BOR, .idempotent = true},
    [REDUCTION_BXOR] = {.name = "bxor", .id = REDUCTION_BXOR, .cancels = true},
    [REDUCTION_MAXLOC] = {.name = "maxloc", .id = REDUCTION_MAXLOC, .idempotent = true},
    [REDUCTION_MINLOC] = {.name = "minloc", .id = REDUCTION_MINLOC, .idempotent = true},
};

const struct reduction *const reductions[] = {
    &operators[0],  &operators[1],  &operators[2],  &operators[3], &operators[4],
    &operators[5],  &operators[6],  &operators[7],  &operators[8], &operators[9],
    &operators[10], &operators[11], &operators[12], NULL,
};

const struct datatype *datatype_find(const char *name)
{
    for (const struct datatype *const *type = datatypes; *type; type++) {
        if (strcmp((*type)->name, name) == 0)
            return *type;
        for (const char *const *alias = (*type)->aliases; *alias; alias++) {
            if (strcmp(*alias, name) == 0)
                return *type;
        }
    }
    return NULL;
}

const struct reduction *reduction_find(const char *name)
{
    for (const struct reduction *const *reduction = reductions; *reduction; reduction++) {
        if (strcmp((*reduction)->name, name) == 0)
            return *reduction;
    }
    return NULL;
}

static void print_signed(const void *value, size_t bytes, char *text, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    unsigned unused = 64 - 8 * (unsigned)bytes;
    snprintf(text, size, "%" PRId64, (int64_t)(bits << unused) >> unused);
}

static void print_float(enum datatype_id id, const void *value, char *text, size_t size)
{
    uint16_t bits = 0;
    float single = 0;
    double number;
    memcpy(&bits, value, id == TYPE_E4M3 || id == TYPE_E5M2 ? 1 : 2);
    int digits = 4; /* enough to tell all values apart */
    if (id == TYPE_DOUBLE) {
        memcpy(&number, value, sizeof number);
        snprintf(text, size, "%.17g", number);
        return;
    }
    if (id == TYPE_FLOAT) {
        memcpy(&single, value, sizeof single);
        digits = 9;
    } else if (id == TYPE_FLOAT16) {
        single = float16_widen(bits);
        digits = 5;
    } else if (id == TYPE_BFLOAT16) {
        single = bfloat16_widen(bits);
    } else {
        single = id == TYPE_E4M3 ? e4m3_widen((uint8_t)bits) : e5m2_widen((uint8_t)bits);
    }
    snprintf(text, size, "%.*g", digits, (double)single);
}

void datatype_print(const struct datatype *type, const void *value, char *text, size_t size)
{
    size_t half = type->size / 2;
    uint64_t bits = 0;
    char first[32], second[32];
    switch (type->kind) {
    case DATATYPE_SIGNED:
        print_signed(value, type->size, text, size);
        break;
    case DATATYPE_UNSIGNED:
        memcpy(&bits, value, type->size);
        snprintf(text, size, "%" PRIu64, bits);
        break;
    case DATATYPE_FLOAT:
        print_float(type->id, value, text, size);
        break;
    case DATATYPE_PAIR:
        if (type->id == TYPE_FLOAT_INT32 || type->id == TYPE_DOUBLE_INT64)
            print_float(half == sizeof(double) ? TYPE_DOUBLE : TYPE_FLOAT, value, first,
                        sizeof first);
        else
            print_signed(value, half, first, sizeof first);
        print_signed((const char *)value + half, half, second, sizeof second);
        snprintf(text, size, "(%s, %s)", first, second);
        break;
    }
}
