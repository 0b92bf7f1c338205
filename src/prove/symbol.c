/*
 * symbol.c - multisets of contributions, each kept once (hash-consing), with remembered unions.
 */
#include "prove/symbol.h"

#include <string.h>

struct list {
    struct entry *entries;
    size_t count;
    uint64_t hash;
};

struct pair {
    uint32_t a, b, result; /* a is 0 where the place is free */
};

struct symbols {
    struct arena *arena;
    uint32_t contributions;
    bool idempotent;
    struct list *lists; /* of values contributions + 1, + 2, ... */
    size_t count, room;
    uint32_t *index; /* open addressing: list number + 1 by hash, 0: free */
    size_t index_room;
    struct pair *unions; /* open addressing */
    size_t union_count, union_room;
    struct entry *merged; /* the union that is being made */
    size_t merged_room;
    struct entry single; /* what symbol_entries() shows for a single contribution */
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
    struct symbols *values = take_zeroed(arena, sizeof(*values));

    if (!values)
        return NULL;
    values->arena = arena;
    values->contributions = contributions;
    values->idempotent = idempotent;
    values->room = 256;
    values->index_room = values->union_room = 512;
    values->lists = arena_take(arena, values->room * sizeof(*values->lists));
    values->index = take_zeroed(arena, values->index_room * sizeof(*values->index));
    values->unions = take_zeroed(arena, values->union_room * sizeof(*values->unions));
    if (!values->lists || !values->index || !values->unions)
        return NULL;
    return values;
}

const struct entry *symbol_entries(struct symbols *values, uint32_t value, size_t *count)
{
    if (value <= values->contributions) {
        values->single = (struct entry){.contribution = value, .times = 1};
        *count = 1;
        return &values->single;
    }
    const struct list *list = &values->lists[value - values->contributions - 1];

    *count = list->count;
    return list->entries;
}

static uint32_t *index_place(const struct symbols *values, const struct list *wanted)
{
    size_t mask = values->index_room - 1;

    for (size_t i = wanted->hash & mask;; i = (i + 1) & mask) {
        uint32_t *place = &values->index[i];

        if (!*place)
            return place;
        const struct list *list = &values->lists[*place - 1];
        if (list->hash == wanted->hash && list->count == wanted->count &&
            !memcmp(list->entries, wanted->entries, wanted->count * sizeof(*wanted->entries)))
            return place;
    }
}

/* Doubles the room for lists, and keeps the index at most half full. */
static bool grow_lists(struct symbols *values)
{
    size_t room = 2 * values->room;
    struct list *lists = arena_take(values->arena, room * sizeof(*lists));
    uint32_t *index = take_zeroed(values->arena, 2 * room * sizeof(*index));

    if (!lists || !index)
        return false;
    memcpy(lists, values->lists, values->count * sizeof(*lists));
    values->lists = lists;
    values->room = room;
    values->index = index;
    values->index_room = 2 * room;
    for (size_t i = 0; i < values->count; i++)
        *index_place(values, &lists[i]) = (uint32_t)i + 1;
    return true;
}

/* The value with these entries, which may be temporary. */
static uint32_t value_of(struct symbols *values, struct entry *entries, size_t count)
{
    struct list wanted = {.entries = entries, .count = count, .hash = count};

    if (count == 1 && entries[0].times == 1)
        return entries[0].contribution;
    for (size_t i = 0; i < count; i++)
        wanted.hash =
            mix(wanted.hash ^ ((uint64_t)entries[i].times << 32 | entries[i].contribution));
    if (values->count == values->room && !grow_lists(values))
        return SYMBOL_FAILED;

    uint32_t *place = index_place(values, &wanted);
    if (!*place) {
        size_t bytes = count * sizeof(*entries);

        wanted.entries = arena_take(values->arena, bytes);
        if (!wanted.entries || values->count >= SYMBOL_FAILED - values->contributions - 2)
            return SYMBOL_FAILED;
        memcpy(wanted.entries, entries, bytes);
        values->lists[values->count++] = wanted;
        *place = (uint32_t)values->count;
    }
    return values->contributions + *place;
}

static struct pair *union_place(const struct symbols *values, uint32_t a, uint32_t b)
{
    size_t mask = values->union_room - 1;

    for (size_t i = mix((uint64_t)a << 32 | b) & mask;; i = (i + 1) & mask) {
        struct pair *pair = &values->unions[i];

        if (!pair->a || (pair->a == a && pair->b == b))
            return pair;
    }
}

static bool grow_unions(struct symbols *values)
{
    struct pair *old = values->unions;
    size_t old_room = values->union_room;
    struct pair *unions = take_zeroed(values->arena, 2 * old_room * sizeof(*unions));

    if (!unions)
        return false;
    values->unions = unions;
    values->union_room = 2 * old_room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].a)
            *union_place(values, old[i].a, old[i].b) = old[i];
    return true;
}

static uint32_t times_sum(const struct symbols *values, uint32_t a, uint32_t b)
{
    if (values->idempotent)
        return 1;
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t merge(struct symbols *values, uint32_t a, uint32_t b)
{
    size_t a_count, b_count, count = 0;
    struct entry a_single;
    const struct entry *a_entries = symbol_entries(values, a, &a_count);

    if (a_entries == &values->single) {
        a_single = values->single;
        a_entries = &a_single;
    }
    const struct entry *b_entries = symbol_entries(values, b, &b_count);

    if (a_count + b_count > values->merged_room) {
        values->merged_room = 2 * (a_count + b_count);
        values->merged = arena_take(values->arena, values->merged_room * sizeof(*values->merged));
        if (!values->merged) {
            values->merged_room = 0;
            return SYMBOL_FAILED;
        }
    }
    for (size_t i = 0, j = 0; i < a_count || j < b_count; count++) {
        struct entry *to = &values->merged[count];

        if (j == b_count ||
            (i < a_count && a_entries[i].contribution < b_entries[j].contribution)) {
            *to = a_entries[i++];
        } else if (i == a_count || b_entries[j].contribution < a_entries[i].contribution) {
            *to = b_entries[j++];
        } else {
            *to = a_entries[i];
            to->times = times_sum(values, a_entries[i++].times, b_entries[j++].times);
        }
    }
    return value_of(values, values->merged, count);
}

uint32_t symbol_union(struct symbols *values, uint32_t a, uint32_t b)
{
    if (a > b) {
        uint32_t smaller = b;

        b = a;
        a = smaller;
    }
    if (2 * values->union_count >= values->union_room && !grow_unions(values))
        return SYMBOL_FAILED;

    struct pair *pair = union_place(values, a, b);
    if (!pair->a) {
        uint32_t result = merge(values, a, b);

        if (result == SYMBOL_FAILED)
            return SYMBOL_FAILED;
        *pair = (struct pair){.a = a, .b = b, .result = result};
        values->union_count++;
    }
    return pair->result;
}
