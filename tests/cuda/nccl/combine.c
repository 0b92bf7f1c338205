/*
 * combine.c - the elements that NCCL's operators make, in the order of the ranks. Its avg of floats
 * multiplies by 1/n before it sums, and that of integers divides the sum.
 */
#include <string.h>

#include "dataplane/memory/small_float.h"
#include "standin.h"

enum { SUM, PROD, MAX, MIN, AVG };

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
#define TYPES (int)(sizeof sizes / sizeof *sizes)

size_t type_size(int type)
{
    return type >= 0 && type < TYPES ? sizes[type] : 0;
}

static bool is_integer(int type)
{
    return type < 6;
}

static bool is_signed(int type)
{
    return type == 0 || type == 2 || type == 4;
}

/* Integers: as 64 bits, the sign extended. */
static uint64_t integer_load(const char *at, int type)
{
    uint64_t value = 0;
    size_t size = sizes[type];
    memcpy(&value, at, size);
    unsigned unused = 64 - 8 * (unsigned)size;
    return is_signed(type) ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static uint64_t integer_of(uint64_t a, uint64_t b, int type, int reduction)
{
    bool less = is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
    switch (reduction) {
    case PROD:
        return a * b;
    case MAX:
        return less ? b : a;
    case MIN:
        return less ? a : b;
    default:
        return a + b;
    }
}

static void integer_finish(char *to, uint64_t value, int type, int ranks)
{
    char narrow[8];
    memcpy(narrow, &value, sizeof narrow);
    value = integer_load(narrow, type);
    if (ranks > 0)
        value = is_signed(type) ? (uint64_t)((int64_t)value / ranks) : value / (uint64_t)ranks;
    memcpy(to, &value, sizes[type]);
}

static double real_load(const char *at, int type)
{
    uint8_t byte;
    uint16_t half;
    float single;
    double value;
    memcpy(&byte, at, sizeof byte);
    switch (type) {
    case 6:
    case 9:
        memcpy(&half, at, sizeof half);
        return type == 6 ? (double)float16_widen(half) : (double)bfloat16_widen(half);
    case 7:
        memcpy(&single, at, sizeof single);
        return (double)single;
    case 8:
        memcpy(&value, at, sizeof value);
        return value;
    default:
        return type == 10 ? (double)e4m3_widen(byte) : (double)e5m2_widen(byte);
    }
}

static void real_store(char *to, double value, int type)
{
    float single = (float)value;
    uint16_t half = type == 6 ? float16_narrow(single) : bfloat16_narrow(single);
    uint8_t byte = type == 10 ? e4m3_narrow(single) : e5m2_narrow(single);
    const void *from = type == 7   ? (const void *)&single
                       : type == 8 ? (const void *)&value
                       : type < 10 ? (const void *)&half
                                   : (const void *)&byte;
    memcpy(to, from, sizes[type]);
}

/* Rounded as an element of the type is. */
static double real_round(double value, int type)
{
    char element[8];
    real_store(element, value, type);
    return real_load(element, type);
}

static double real_of(double a, double b, int reduction)
{
    switch (reduction) {
    case PROD:
        return a * b;
    case MAX:
        return a < b ? b : a;
    case MIN:
        return a < b ? a : b;
    default:
        return a + b;
    }
}

static void element_combine(const struct communicator *communicator, const struct terms *terms,
                            size_t at, char *to)
{
    int type = terms->type, reduction = terms->reduction, ranks = communicator->ranks;
    uint64_t integer = 0;
    double real = 0,
           part = reduction == AVG ? real_round(1.0 / ranks, is_integer(type) ? 8 : type) : 1;
    for (int r = 0; r < ranks; r++) {
        const char *from = slot_of(communicator, r) + at * sizes[type];
        if (is_integer(type)) {
            uint64_t value = integer_load(from, type);
            integer = r == 0 ? value : integer_of(integer, value, type, reduction);
        } else {
            double value = real_round(real_load(from, type) * part, type);
            real = r == 0 ? value : real_round(real_of(real, value, reduction), type);
        }
    }
    if (is_integer(type))
        integer_finish(to, integer, type, reduction == AVG ? ranks : 0);
    else
        real_store(to, real, type);
}

void combine(const struct communicator *communicator, const struct terms *terms, size_t first,
             size_t count, char *to)
{
    for (size_t i = 0; i < count; i++)
        element_combine(communicator, terms, first + i, to + i * sizes[terms->type]);
}
