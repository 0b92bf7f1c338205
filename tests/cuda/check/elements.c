/*
 * elements.c - do a kind of memory and the host make the same bits of the same elements? Prints a
 * hash of both for each type and operator, each type that is finished, and the inputs of each type
 * and operator.
 *
 * usage: elements [KIND]; KIND: cuda. Status 77: the kind cannot be used here.
 *
 * Of types of 8 bits all pairs of values are combined, of 16 bits all values with 16 others, of all
 * other types 2^20 draws, zeroes, infinities and subnormals among them. The kind works by its
 * engine and hooks, as in a run. A NaN that arithmetic makes counts as one value: IEEE 754 leaves
 * its sign and payload open, and processors differ.
 */
#include <string.h>

#include "local.h"
#include "dataplane/memory/input_element.h"
#include "dataplane/memory/memory.h"

#define DRAWS     ((size_t)1 << 20)
#define MOST      (DRAWS * DATATYPE_SIZE_MOST)
#define DIVISIONS 16     /* numbers of ranks by which results are divided */
#define COMPARED  50021u /* elements of a comparison; each SPOILED-th is wrong in the second */
#define SPOILED   1000u

enum { LEFT, RIGHT, RESULT };

struct table {
    struct local sides[2];    /* the host, the other */
    char *drawn[2], *made[2]; /* operands; results of the host and of the other */
    int rows, differ;
};

/* Operands. */

static size_t draws_of(const struct datatype *type)
{
    return type->size == 1 ? (size_t)1 << 16 : DRAWS;
}

/* Bits of a word of `bits` bits: random ones, or those of a zero, an infinity, a subnormal. */
static uint64_t word_draw(uint64_t number, unsigned bits)
{
    const unsigned exponent = bits == 64 ? 11 : 8, mantissa = bits - 1 - exponent;
    const uint64_t word = mix(number + 1), sign = word & (uint64_t)1 << (bits - 1);
    switch (word >> 32 & 15) {
    case 0:
        return sign;
    case 1:
        return sign | (((uint64_t)1 << exponent) - 1) << mantissa;
    case 2:
        return sign | (word & (((uint64_t)1 << mantissa) - 1));
    default:
        return mix(word);
    }
}

/* Element `i`, on the left or right. */
static void element_draw(const struct datatype *type, size_t i, int side, char *to)
{
    const bool pair = type->kind == DATATYPE_PAIR;
    const size_t size = pair ? type->size / 2 : type->size;
    uint64_t word = word_draw(2 * i + (unsigned)side, size == 8 ? 64 : 32);
    if (size == 1)
        word = side == LEFT ? i : i >> 8;
    else if (size == 2)
        word = side == LEFT ? i : mix(i) >> 20;
    else if (pair && i % 3 == 0)
        word = word_draw(2 * i, size == 8 ? 64 : 32); /* equal values: the index decides */
    memcpy(to, &word, size);
    word = mix(~(2 * i + (unsigned)side));
    if (pair)
        memcpy(to + size, &word, size);
}

static void operands_draw(struct table *table, const struct datatype *type)
{
    for (int side = LEFT; side <= RIGHT; side++) {
        for (size_t i = 0; i < draws_of(type); i++)
            element_draw(type, i, side, table->drawn[side] + i * type->size);
        for (struct local *local = table->sides; local < table->sides + 2; local++)
            must(local->memory.kind->write(&local->memory, table->drawn[side],
                                           draws_of(type) * type->size, local->regions[side].base));
    }
}

/* Results. */

static bool is_nan(const struct datatype *type, const void *element)
{
    uint16_t half;
    uint8_t quarter;
    float single;
    double twice;
    memcpy(&half, element, type->size > 1 ? 2 : 1);
    memcpy(&quarter, element, 1);
    switch (type->id) {
    case TYPE_FLOAT:
        memcpy(&single, element, sizeof single);
        return single != single;
    case TYPE_DOUBLE:
        memcpy(&twice, element, sizeof twice);
        return twice != twice;
    case TYPE_FLOAT16:
        return float16_widen(half) != float16_widen(half);
    case TYPE_BFLOAT16:
        return bfloat16_widen(half) != bfloat16_widen(half);
    case TYPE_E4M3:
        return e4m3_widen(quarter) != e4m3_widen(quarter);
    case TYPE_E5M2:
        return e5m2_widen(quarter) != e5m2_widen(quarter);
    default:
        return false;
    }
}

static uint64_t hash_of(const struct datatype *type, char *elements, size_t count, bool computed)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count; i++, elements += type->size) {
        if (computed && is_nan(type, elements))
            memset(elements, 0xff, type->size);
        for (size_t b = 0; b < type->size; b++)
            hash = (hash ^ (unsigned char)elements[b]) * 1099511628211u;
    }
    return hash;
}

/* Compares what both have at RESULT. `computed`: by arithmetic. */
static void row_end(struct table *table, const struct datatype *type, const char *what,
                    const char *of, size_t count, bool computed)
{
    uint64_t hashes[2];
    for (int s = 0; s < 2; s++) {
        const struct local *local = &table->sides[s];
        must(local->memory.kind->read(&local->memory, local->regions[RESULT].base,
                                      count * type->size, table->made[s]));
        hashes[s] = hash_of(type, table->made[s], count, computed);
    }
    const bool same =
        hashes[0] == hashes[1] && memcmp(table->made[0], table->made[1], count * type->size) == 0;
    printf("%-14s %-7s %-7s %016llx %016llx %s\n", type->name, what, of,
           (unsigned long long)hashes[0], (unsigned long long)hashes[1],
           same ? "same" : "DIFFERENT");
    table->rows++;
    table->differ += !same;
}

/* Does the kind have what the host has? */
static bool row_begins(struct table *table, const struct datatype *type,
                       const struct reduction *reduction, bool host, bool other)
{
    if (host == other)
        return host;
    printf("%-14s %-7s only %s has it\n", type->name, reduction->name,
           host ? "the host" : table->sides[1].memory.kind->name);
    table->rows++;
    table->differ++;
    return false;
}

static void reduce_row(struct table *table, const struct datatype *type,
                       const struct reduction *reduction)
{
    const size_t count = draws_of(type);
    struct transfer like = {.kind = TRANSFER_REDUCE, .element = type->size};
    if (!row_begins(table, type, reduction, table->sides[0].memory.kind->reduce(type, reduction),
                    table->sides[1].memory.kind->reduce(type, reduction)))
        return;
    for (struct local *local = table->sides; local < table->sides + 2; local++) {
        like.reduce = local->memory.kind->reduce(type, reduction);
        local_do(local, &like, local->regions[RESULT].base, local->regions[LEFT].base,
                 local->regions[RIGHT].base, count * type->size);
    }
    row_end(table, type, "reduce", reduction->name, count, type->kind == DATATYPE_FLOAT);
}

static void finish_row(struct table *table, const struct datatype *type,
                       const struct reduction *reduction)
{
    static const int divisors[DIVISIONS] = {1,  2,  3,  4,  5,  6,   7,   8,
                                            10, 12, 31, 64, 65, 100, 126, 127};
    const size_t count = draws_of(type), bytes = count / DIVISIONS * type->size;
    struct transfer like = {.kind = TRANSFER_FINISH, .element = type->size};
    if (!row_begins(table, type, reduction, table->sides[0].memory.kind->finish(type, reduction),
                    table->sides[1].memory.kind->finish(type, reduction)))
        return;
    for (struct local *local = table->sides; local < table->sides + 2; local++)
        for (size_t d = 0; d < DIVISIONS; d++) {
            like.finish = local->memory.kind->finish(type, reduction);
            like.ranks = divisors[d];
            local_do(local, &like, local->regions[RESULT].base + d * bytes,
                     local->regions[LEFT].base + d * bytes, NULL, bytes);
        }
    row_end(table, type, "finish", reduction->name, count, type->kind == DATATYPE_FLOAT);
}

/* `reduction` NULL: of collectives that move only. */
static void inputs_row(struct table *table, const struct datatype *type,
                       const struct reduction *reduction)
{
    const struct inputs inputs = {
        .datatype = type, .reduction = reduction, .ranks = 7, .seed = 42, .iteration = 3};
    const size_t first = 4 * (size_t)INPUT_PAGE - 5;
    for (struct local *local = table->sides; local < table->sides + 2; local++)
        must(local->memory.kind->make(&local->memory, &inputs, 3, first, DRAWS,
                                      local->regions[RESULT].base));
    row_end(table, type, "inputs", reduction ? reduction->name : "moved", DRAWS, false);
}

/* Right results of all ranks are found right, and all that are not are counted. */
static void compare_row(struct table *table, const struct datatype *type,
                        const struct reduction *reduction)
{
    const struct inputs inputs = {
        .datatype = type, .reduction = reduction, .ranks = 7, .seed = 42, .iteration = 3};
    const size_t first = 4 * (size_t)INPUT_PAGE - 5;
    size_t found[2][2];
    for (int s = 0; s < 2; s++) {
        const struct memory *memory = &table->sides[s].memory;
        const struct comparison comparison = {.inputs = &inputs,
                                              .rank = -1,
                                              .first = first,
                                              .count = COMPARED,
                                              .at = table->sides[s].regions[RESULT].base};
        char *made = table->made[s];
        inputs_expect(&inputs, -1, first, COMPARED, made);
        for (int turn = 0; turn < 2; turn++) {
            must(memory->kind->write(memory, made, COMPARED * type->size,
                                     table->sides[s].regions[RESULT].base));
            must(memory->kind->compare(memory, &comparison, &found[s][turn]));
            for (size_t i = 0; i < COMPARED; i += SPOILED)
                made[i * type->size] ^= 1;
        }
    }
    const bool same = found[0][0] == 0 && found[1][0] == 0 &&
                      found[0][1] == (COMPARED + SPOILED - 1) / SPOILED &&
                      found[1][1] == found[0][1];
    printf("%-14s %-7s %-7s %16zu %16zu %s\n", type->name, "compare", reduction->name,
           found[0][0] + found[0][1], found[1][0] + found[1][1], same ? "same" : "DIFFERENT");
    table->rows++;
    table->differ += !same;
}

static void type_rows(struct table *table, const struct datatype *type)
{
    operands_draw(table, type);
    inputs_row(table, type, NULL);
    for (const struct reduction *const *each = reductions; *each; each++) {
        const int before = table->rows;
        reduce_row(table, type, *each);
        if (table->rows > before) {
            inputs_row(table, type, *each);
            compare_row(table, type, *each);
        }
        if (table->rows > before && (*each)->finishes)
            finish_row(table, type, *each);
    }
}

int main(int count, char **words)
{
    struct table table = {.rows = 0};
    const struct memory_kind *kind = local_kind(count > 1 ? words[1] : "cuda");
    local_open(&table.sides[0], memory_kinds[0], 0, LOCAL_REGIONS, MOST);
    local_open(&table.sides[1], kind, 0, LOCAL_REGIONS, MOST);
    for (int i = 0; i < 2; i++) {
        table.drawn[i] = malloc(MOST);
        table.made[i] = malloc(MOST);
        if (!table.drawn[i] || !table.made[i])
            return 1;
    }
    printf("%-14s %-7s %-7s %-16s %s\n", "# type", "what", "of", "host", kind->name);
    for (const struct datatype *const *type = datatypes; *type; type++)
        type_rows(&table, *type);
    printf("# %d rows, %d differ\n", table.rows, table.differ);
    for (int i = 0; i < 2; i++) {
        free(table.drawn[i]);
        free(table.made[i]);
    }
    local_close(&table.sides[1]);
    local_close(&table.sides[0]);
    return table.differ > 0;
}
