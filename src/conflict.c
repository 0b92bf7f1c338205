/*
 * conflict.c - read after write, write after read, write after write, run by run.
 *
 * The ends of all runs cut each storage into cells, which every operation touches whole or not at
 * all. Neighbouring cells with the same history form an extent: it remembers its last writer and
 * the readers since. Walking the program from the top, an operation that touches an extent waits
 * for those of them that conflict. A write makes one extent of all that it covers, whatever was
 * there, so the work follows the spans of the program and its waits.
 */
#include "conflict.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

#define NOBODY UINT32_MAX

/* An operation's touch of a cell: which of its elements lies at the cell's start. */
struct touch {
    uint32_t operation;
    uint32_t next; /* reader list; NOBODY ends it */
    size_t position;
};

/* Of the cells that begin an extent. */
struct extent {
    struct touch
        writer;       /* operation NOBODY: not written yet; its position is at the extent's start */
    uint32_t readers; /* since the last write: index of a touch */
    uint32_t end;     /* the cell behind it */
};

#define LEVELS 6 /* of 64 bits each: more cells than memory holds */

struct storage_map {
    size_t *starts; /* ascending; cell i is [starts[i], starts[i + 1]) */
    size_t count;   /* of starts */
    size_t near;    /* the cell that was found last: the next is often behind it */
    struct extent *extents;
    /* Bit c of level 0: cell c begins an extent. Bit w of level n + 1: word w of level n is not
     * 0. */
    uint64_t *level[LEVELS];
    int levels;
};

struct finder {
    const struct schedule *schedule;
    struct storage_map maps[BUFFERS];
    struct touch *touches;
    size_t touch_count, touch_room;
    struct wait *waits; /* of the operation at hand */
    size_t wait_count, wait_room;
    bool out_of_memory;
};

/* A run of a message: storage elements [start, start + length), message elements from
 * `position`. */
struct stretch {
    int storage;
    size_t start, length, position;
};

/* Calls `visit` for each run of a message, in order. */
typedef enum status visit_stretch(struct finder *finder, const struct stretch *stretch,
                                  uint32_t self);

static enum status message_visit(struct finder *finder, struct message message, uint32_t self,
                                 visit_stretch *visit)
{
    struct stretch stretch = {.position = 0};
    for (size_t s = 0; s < message.count; s++) {
        const struct span *span = &message.spans[s];
        stretch.storage = finder->schedule->storage[span->buffer];
        stretch.start = finder->schedule->base[span->buffer] + span->offset;
        stretch.length = span->run;
        for (size_t t = 0; t < span->times; t++) {
            enum status status = visit(finder, &stretch, self);
            if (status != STATUS_OK)
                return status;
            stretch.start += span->stride;
            stretch.position += span->run;
        }
    }
    return STATUS_OK;
}

static void *grow(void *array, size_t *room, size_t size)
{
    *room = *room ? 2 * *room : 256;
    return realloc(array, *room * size);
}

static enum status visit_ends(struct finder *finder, const struct stretch *stretch, uint32_t self)
{
    (void)self;
    struct storage_map *map = &finder->maps[stretch->storage];
    if (map->count == 0 || map->starts[map->count - 1] != stretch->start)
        map->starts[map->count++] = stretch->start;
    map->starts[map->count++] = stretch->start + stretch->length;
    return STATUS_OK;
}

/* Room for the ends of all runs: more than there are, where runs touch. */
static void ends_count(struct finder *finder, struct message message)
{
    for (size_t s = 0; s < message.count; s++)
        finder->maps[finder->schedule->storage[message.spans[s].buffer]].count +=
            2 * message.spans[s].times;
}

static void operations_visit(struct finder *finder, const struct operation *operations,
                             size_t count, visit_stretch *visit)
{
    for (size_t i = 0; i < count; i++) {
        message_visit(finder, operations[i].from, (uint32_t)i, visit);
        message_visit(finder, operations[i].with, (uint32_t)i, visit);
        message_visit(finder, operations[i].to, (uint32_t)i, visit);
    }
}

/* Where the ascending numbers that begin at `at` end. */
static size_t ascent_end(const size_t *numbers, size_t count, size_t at)
{
    for (at++; at < count && numbers[at - 1] < numbers[at]; at++)
        continue;
    return at;
}

/* Merges two ascents into `to`, each number once; returns how many there are. */
static size_t ascents_merge(const size_t *x, size_t x_count, const size_t *y, size_t y_count,
                            size_t *to)
{
    size_t i = 0, j = 0, made = 0;
    while (i < x_count && j < y_count) {
        size_t a = x[i], b = y[j];
        to[made++] = a < b ? a : b;
        i += a <= b;
        j += b <= a;
    }
    for (; i < x_count; i++)
        to[made++] = x[i];
    for (; j < y_count; j++)
        to[made++] = y[j];
    return made;
}

/* Sorts the ends and keeps each once. Messages mostly ascend, and many have the same ends: so it
 * merges neighbouring ascents until there is one. */
static bool starts_order(struct storage_map *map)
{
    size_t *other = NULL;
    while (map->count > 0 && ascent_end(map->starts, map->count, 0) < map->count) {
        if (!other && !(other = malloc((map->count + 1) * sizeof *other)))
            return false;
        size_t made = 0;
        for (size_t at = 0; at < map->count;) {
            size_t middle = ascent_end(map->starts, map->count, at);
            size_t end =
                middle < map->count ? ascent_end(map->starts, map->count, middle) : middle;
            made += ascents_merge(map->starts + at, middle - at, map->starts + middle, end - middle,
                                  other + made);
            at = end;
        }
        size_t *merged = other;
        other = map->starts;
        map->starts = merged;
        map->count = made;
    }
    free(other);
    return true;
}

static void start_set(struct storage_map *map, size_t cell, bool begins)
{
    for (int n = 0; n < map->levels; n++, cell /= 64) {
        uint64_t bit = (uint64_t)1 << cell % 64, *word = &map->level[n][cell / 64];
        *word = begins ? *word | bit : *word & ~bit;
        if (!begins && *word)
            return;
    }
}

/* The extent that a cell belongs to, as the cell that begins it. */
static size_t extent_of(const struct storage_map *map, size_t cell)
{
    int n = 0;
    size_t at = cell;
    for (;; n++, at = at / 64 - 1) {
        /* Bits up to and with `at` in its word; else one of an earlier word, found one level up. */
        uint64_t bits = map->level[n][at / 64] & (~(uint64_t)0 >> (63 - at % 64));
        if (bits) {
            at = at / 64 * 64 + (63 - (size_t)__builtin_clzll(bits));
            break;
        }
    }
    while (n-- > 0)
        at = at * 64 + (63 - (size_t)__builtin_clzll(map->level[n][at]));
    return at;
}

/* At first all cells form one extent that nobody has touched. */
static bool extents_make(struct storage_map *map)
{
    map->extents = malloc((map->count + 1) * sizeof *map->extents);
    if (!map->extents)
        return false;
    for (size_t bits = map->count + 1; map->levels < LEVELS; bits = (bits + 63) / 64) {
        map->level[map->levels] = calloc((bits + 63) / 64, sizeof(uint64_t));
        if (!map->level[map->levels++])
            return false;
        if (bits <= 64)
            break;
    }
    map->extents[0] =
        (struct extent){.writer.operation = NOBODY, .readers = NOBODY, .end = (uint32_t)map->count};
    start_set(map, 0, true);
    return true;
}

static enum status cells_make(struct finder *finder, const struct operation *operations,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ends_count(finder, operations[i].from);
        ends_count(finder, operations[i].with);
        ends_count(finder, operations[i].to);
    }
    for (int s = 0; s < BUFFERS; s++) {
        struct storage_map *map = &finder->maps[s];
        map->starts = malloc((map->count + 1) * sizeof *map->starts);
        if (!map->starts)
            return fail(STATUS_ERROR, "out of memory while finding a schedule's conflicts");
        map->count = 0;
    }
    operations_visit(finder, operations, count, visit_ends);
    for (int s = 0; s < BUFFERS; s++) {
        struct storage_map *map = &finder->maps[s];
        if (!starts_order(map) || !extents_make(map))
            return fail(STATUS_ERROR, "out of memory while finding a schedule's conflicts");
    }
    return STATUS_OK;
}

/* The cell of an element: steps that double away from the cell found last, then halves. */
static size_t cell_find(struct storage_map *map, size_t start)
{
    const size_t *starts = map->starts;
    size_t low = map->near, high = low + 1, step = 1;
    if (starts[low] <= start) {
        for (; high < map->count && starts[high] <= start; step *= 2)
            low = high, high += step;
        high = high < map->count ? high : map->count;
    } else {
        for (high = low; low > 0 && starts[low] > start; step *= 2)
            high = low, low -= step < low ? step : low;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->starts[middle] <= start)
            low = middle;
        else
            high = middle;
    }
    map->near = low;
    return low;
}

static void wait_add(struct finder *finder, const struct touch *on, size_t at, size_t length)
{
    if (finder->wait_count) {
        struct wait *last = &finder->waits[finder->wait_count - 1];
        if (last->operation == on->operation && last->at + last->length == at &&
            last->past + last->length == on->position) {
            last->length += length;
            return;
        }
    }
    if (finder->wait_count == finder->wait_room) {
        struct wait *more = grow(finder->waits, &finder->wait_room, sizeof *more);
        if (!more) {
            finder->out_of_memory = true;
            return;
        }
        finder->waits = more;
    }
    finder->waits[finder->wait_count++] =
        (struct wait){.operation = on->operation, .at = at, .past = on->position, .length = length};
}

/* Room for one more touch; NULL: out of memory. */
static struct touch *touch_add(struct finder *finder)
{
    if (finder->touch_count == finder->touch_room) {
        struct touch *more = grow(finder->touches, &finder->touch_room, sizeof *more);
        if (!more) {
            finder->out_of_memory = true;
            return NULL;
        }
        finder->touches = more;
    }
    return &finder->touches[finder->touch_count++];
}

/* Makes `cell` begin an extent. The touches of its second half begin further on in their
 * messages. */
static void extent_split(struct finder *finder, struct storage_map *map, size_t cell)
{
    if (cell >= map->count)
        return;
    size_t whole = extent_of(map, cell), further = map->starts[cell] - map->starts[whole];
    if (whole == cell)
        return;
    struct extent *first = &map->extents[whole], *second = &map->extents[cell];
    *second = *first;
    second->writer.position += further;
    second->readers = NOBODY;
    for (uint32_t r = first->readers; r != NOBODY; r = finder->touches[r].next) {
        struct touch *copy = touch_add(finder);
        if (!copy)
            return;
        *copy = finder->touches[r];
        copy->position += further;
        copy->next = second->readers;
        second->readers = (uint32_t)(copy - finder->touches);
    }
    first->end = (uint32_t)cell;
    start_set(map, cell, true);
}

/* The extents of a stretch: cut so that they cover exactly it, [*first, *end). */
static struct storage_map *stretch_extents(struct finder *finder, const struct stretch *stretch,
                                           size_t *first, size_t *end)
{
    struct storage_map *map = &finder->maps[stretch->storage];
    *first = cell_find(map, stretch->start);
    *end = cell_find(map, stretch->start + stretch->length);
    extent_split(finder, map, *first);
    extent_split(finder, map, *end);
    return map;
}

#define FOR_EXTENTS(map, cell, first, end)                                                         \
    for (size_t cell = (first); cell < (end) && !finder->out_of_memory;                            \
         cell = (map)->extents[cell].end)

static enum status visit_read(struct finder *finder, const struct stretch *stretch, uint32_t self)
{
    (void)self;
    size_t first, end;
    struct storage_map *map = stretch_extents(finder, stretch, &first, &end);
    FOR_EXTENTS(map, c, first, end) {
        const struct extent *extent = &map->extents[c];
        if (extent->writer.operation != NOBODY)
            wait_add(finder, &extent->writer, stretch->position + (map->starts[c] - stretch->start),
                     map->starts[extent->end] - map->starts[c]);
    }
    return STATUS_OK;
}

static enum status visit_write(struct finder *finder, const struct stretch *stretch, uint32_t self)
{
    (void)self;
    size_t first, end;
    struct storage_map *map = stretch_extents(finder, stretch, &first, &end);
    FOR_EXTENTS(map, c, first, end) {
        const struct extent *extent = &map->extents[c];
        size_t at = stretch->position + (map->starts[c] - stretch->start);
        size_t length = map->starts[extent->end] - map->starts[c];
        for (uint32_t r = extent->readers; r != NOBODY; r = finder->touches[r].next)
            wait_add(finder, &finder->touches[r], at, length);
        if (extent->readers == NOBODY && extent->writer.operation != NOBODY)
            wait_add(finder, &extent->writer, at, length);
    }
    return STATUS_OK;
}

static enum status visit_note_read(struct finder *finder, const struct stretch *stretch,
                                   uint32_t self)
{
    size_t first, end;
    struct storage_map *map = stretch_extents(finder, stretch, &first, &end);
    FOR_EXTENTS(map, c, first, end) {
        struct touch *touch = touch_add(finder);
        if (!touch)
            break;
        *touch = (struct touch){.operation = self,
                                .next = map->extents[c].readers,
                                .position = stretch->position + (map->starts[c] - stretch->start)};
        map->extents[c].readers = (uint32_t)(touch - finder->touches);
    }
    return STATUS_OK;
}

static enum status visit_note_write(struct finder *finder, const struct stretch *stretch,
                                    uint32_t self)
{
    size_t first, end;
    struct storage_map *map = stretch_extents(finder, stretch, &first, &end);
    FOR_EXTENTS(map, c, first, end) {
        const struct extent *extent = &map->extents[c];
        size_t position = stretch->position + (map->starts[c] - stretch->start);
        if (extent->writer.operation == self)
            return fail(STATUS_ERROR, "operation %u of rank %d writes an element twice", self,
                        finder->schedule->rank);
        for (uint32_t r = extent->readers; r != NOBODY; r = finder->touches[r].next)
            if (finder->touches[r].operation == self && finder->touches[r].position != position)
                return fail(STATUS_ERROR,
                            "operation %u of rank %d has a target that overlaps its input without "
                            "being equal to it",
                            self, finder->schedule->rank);
        if (c != first)
            start_set(map, c, false);
    }
    map->extents[first] = (struct extent){
        .writer = {.operation = self, .next = NOBODY, .position = stretch->position},
        .readers = NOBODY,
        .end = (uint32_t)end,
    };
    return STATUS_OK;
}

static int wait_compare_operation(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    if (x->operation != y->operation)
        return x->operation < y->operation ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->past < y->past ? -1 : x->past > y->past;
}

static int wait_compare_at(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Joins what continues each other, drops what stands twice, and orders by `at`. */
static void waits_tidy(struct finder *finder)
{
    struct wait *waits = finder->waits;
    if (finder->wait_count < 2)
        return;
    qsort(waits, finder->wait_count, sizeof *waits, wait_compare_operation);
    size_t kept = 1;
    for (size_t i = 1; i < finder->wait_count; i++) {
        struct wait *last = &waits[kept - 1];
        const struct wait *next = &waits[i];
        bool same_line =
            last->operation == next->operation && next->at - last->at == next->past - last->past;
        if (same_line && next->at <= last->at + last->length) {
            if (next->at + next->length > last->at + last->length)
                last->length = next->at + next->length - last->at;
        } else {
            waits[kept++] = *next;
        }
    }
    finder->wait_count = kept;
    qsort(waits, kept, sizeof *waits, wait_compare_at);
}

static enum status operation_conflicts(struct finder *finder, struct operation *operation,
                                       uint32_t self, struct arena *arena)
{
    finder->wait_count = 0;
    message_visit(finder, operation->from, self, visit_read);
    message_visit(finder, operation->with, self, visit_read);
    message_visit(finder, operation->to, self, visit_write);
    waits_tidy(finder);
    message_visit(finder, operation->from, self, visit_note_read);
    message_visit(finder, operation->with, self, visit_note_read);
    enum status status = message_visit(finder, operation->to, self, visit_note_write);
    if (status != STATUS_OK)
        return status;

    struct wait *waits = NULL;
    if (finder->wait_count) {
        waits = arena_take(arena, finder->wait_count * sizeof *waits);
        finder->out_of_memory |= !waits;
    }
    if (finder->out_of_memory)
        return fail(STATUS_ERROR, "out of memory while finding a schedule's conflicts");
    if (waits)
        memcpy(waits, finder->waits, finder->wait_count * sizeof *waits);
    operation->waits = waits;
    operation->wait_count = finder->wait_count;
    return STATUS_OK;
}

enum status conflict_find(const struct schedule *schedule, struct operation *operations,
                          size_t count, struct arena *arena)
{
    struct finder finder = {.schedule = schedule};
    enum status status = cells_make(&finder, operations, count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = operation_conflicts(&finder, &operations[i], (uint32_t)i, arena);
    for (int s = 0; s < BUFFERS; s++) {
        free(finder.maps[s].starts);
        free(finder.maps[s].extents);
        for (int n = 0; n < finder.maps[s].levels; n++)
            free(finder.maps[s].level[n]);
    }
    free(finder.touches);
    free(finder.waits);
    return status;
}
