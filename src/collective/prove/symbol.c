/*
 * symbol.c - multisets of contributions, each stored once (hash-consing), and a cache of unions.
 */
#include "collective/prove/internal.h"

#include <string.h>

struct list {
    struct term *terms;
    size_t count;
    uint64_t hash;
};

struct pair {
    uint32_t a, b, result; /* a is 0 in a free slot */
};

struct symbols {
    struct arena *arena;
    uint32_t contributions;
    bool idempotent;
    struct list *lists; /* of symbols contributions + 1, + 2, ... */
    size_t count, room;
    uint32_t *index; /* open addressing: list number + 1 by hash, 0: free */
    size_t index_room;
    struct pair *unions; /* open addressing */
    size_t union_count, union_room;
    struct term *merged; /* the union at hand */
    size_t merged_room;
    struct term single; /* what symbol_terms() shows for a single contribution */
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void *take_zeroed(struct arena *arena, size_t bytes)
{
    void *memory = arena_take(arena, bytes);

    return memory ? memset(memory, 0, bytes) : NULL;
}

struct symbols *symbols_create(struct arena *arena, uint32_t contributions, bool idempotent)
{
    struct symbols *symbols = take_zeroed(arena, sizeof(*symbols));

    if (!symbols)
        return NULL;
    symbols->arena = arena;
    symbols->contributions = contributions;
    symbols->idempotent = idempotent;
    symbols->room = 256;
    symbols->index_room = symbols->union_room = 512;
    symbols->lists = arena_take(arena, symbols->room * sizeof(*symbols->lists));
    symbols->index = take_zeroed(arena, symbols->index_room * sizeof(*symbols->index));
    symbols->unions = take_zeroed(arena, symbols->union_room * sizeof(*symbols->unions));
    if (!symbols->lists || !symbols->index || !symbols->unions)
        return NULL;
    return symbols;
}

const struct term *symbol_terms(struct symbols *symbols, uint32_t symbol, size_t *count)
{
    if (symbol <= symbols->contributions) {
        symbols->single = (struct term){.contribution = symbol, .times = 1};
        *count = 1;
        return &symbols->single;
    }
    const struct list *list = &symbols->lists[symbol - symbols->contributions - 1];

    *count = list->count;
    return list->terms;
}

static uint32_t *index_slot(const struct symbols *symbols, const struct list *wanted)
{
    size_t mask = symbols->index_room - 1;

    for (size_t i = wanted->hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &symbols->index[i];

        if (!*slot)
            return slot;
        const struct list *list = &symbols->lists[*slot - 1];
        if (list->hash == wanted->hash && list->count == wanted->count &&
            !memcmp(list->terms, wanted->terms, wanted->count * sizeof(*wanted->terms)))
            return slot;
    }
}

/* Doubles the room for lists, and keeps the index at most half full. */
static bool grow_lists(struct symbols *symbols)
{
    size_t room = 2 * symbols->room;
    struct list *lists = arena_take(symbols->arena, room * sizeof(*lists));
    uint32_t *index = take_zeroed(symbols->arena, 2 * room * sizeof(*index));

    if (!lists || !index)
        return false;
    memcpy(lists, symbols->lists, symbols->count * sizeof(*lists));
    symbols->lists = lists;
    symbols->room = room;
    symbols->index = index;
    symbols->index_room = 2 * room;
    for (size_t i = 0; i < symbols->count; i++)
        *index_slot(symbols, &lists[i]) = (uint32_t)i + 1;
    return true;
}

/* The symbol with these terms. `terms` is copied. */
static uint32_t symbol_of(struct symbols *symbols, struct term *terms, size_t count)
{
    struct list wanted = {.terms = terms, .count = count, .hash = count};

    if (count == 1 && terms[0].times == 1)
        return terms[0].contribution;
    for (size_t i = 0; i < count; i++)
        wanted.hash = mix(wanted.hash ^ ((uint64_t)terms[i].times << 32 | terms[i].contribution));
    if (symbols->count == symbols->room && !grow_lists(symbols))
        return SYMBOL_FAILED;

    uint32_t *slot = index_slot(symbols, &wanted);
    if (!*slot) {
        size_t bytes = count * sizeof(*terms);

        wanted.terms = arena_take(symbols->arena, bytes);
        if (!wanted.terms || symbols->count >= SYMBOL_FAILED - symbols->contributions - 2)
            return SYMBOL_FAILED;
        memcpy(wanted.terms, terms, bytes);
        symbols->lists[symbols->count++] = wanted;
        *slot = (uint32_t)symbols->count;
    }
    return symbols->contributions + *slot;
}

static struct pair *union_slot(const struct symbols *symbols, uint32_t a, uint32_t b)
{
    size_t mask = symbols->union_room - 1;

    for (size_t i = mix((uint64_t)a << 32 | b) & mask;; i = (i + 1) & mask) {
        struct pair *pair = &symbols->unions[i];

        if (!pair->a || (pair->a == a && pair->b == b))
            return pair;
    }
}

static bool grow_unions(struct symbols *symbols)
{
    struct pair *old = symbols->unions;
    size_t old_room = symbols->union_room;
    struct pair *unions = take_zeroed(symbols->arena, 2 * old_room * sizeof(*unions));

    if (!unions)
        return false;
    symbols->unions = unions;
    symbols->union_room = 2 * old_room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].a)
            *union_slot(symbols, old[i].a, old[i].b) = old[i];
    return true;
}

static uint32_t times_sum(const struct symbols *symbols, uint32_t a, uint32_t b)
{
    if (symbols->idempotent)
        return 1;
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t merge(struct symbols *symbols, uint32_t a, uint32_t b)
{
    size_t a_count, b_count, count = 0;
    struct term a_single;
    const struct term *a_terms = symbol_terms(symbols, a, &a_count);

    if (a_terms == &symbols->single) {
        a_single = symbols->single;
        a_terms = &a_single;
    }
    const struct term *b_terms = symbol_terms(symbols, b, &b_count);

    if (a_count + b_count > symbols->merged_room) {
        symbols->merged_room = 2 * (a_count + b_count);
        symbols->merged =
            arena_take(symbols->arena, symbols->merged_room * sizeof(*symbols->merged));
        if (!symbols->merged) {
            symbols->merged_room = 0;
            return SYMBOL_FAILED;
        }
    }
    for (size_t i = 0, j = 0; i < a_count || j < b_count; count++) {
        struct term *to = &symbols->merged[count];

        if (j == b_count || (i < a_count && a_terms[i].contribution < b_terms[j].contribution)) {
            *to = a_terms[i++];
        } else if (i == a_count || b_terms[j].contribution < a_terms[i].contribution) {
            *to = b_terms[j++];
        } else {
            *to = a_terms[i];
            to->times = times_sum(symbols, a_terms[i++].times, b_terms[j++].times);
        }
    }
    return symbol_of(symbols, symbols->merged, count);
}

uint32_t symbol_union(struct symbols *symbols, uint32_t a, uint32_t b)
{
    if (a > b) {
        uint32_t smaller = b;

        b = a;
        a = smaller;
    }
    if (2 * symbols->union_count >= symbols->union_room && !grow_unions(symbols))
        return SYMBOL_FAILED;

    struct pair *pair = union_slot(symbols, a, b);
    if (!pair->a) {
        uint32_t result = merge(symbols, a, b);

        if (result == SYMBOL_FAILED)
            return SYMBOL_FAILED;
        *pair = (struct pair){.a = a, .b = b, .result = result};
        symbols->union_count++;
    }
    return pair->result;
}
