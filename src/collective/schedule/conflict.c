/*
 * conflict.c - read after write, write after read, write after write, run by run.
 *
 * The ends of all runs cut each storage into cells; an operation touches a cell whole or not at
 * all. Neighbouring cells with the same history form an extent, which keeps its last writer and the
 * readers since. The program is walked from the top: an operation that touches an extent waits for
 * the conflicting ones. A write joins all cells that it covers into one extent, so the time
 * is proportional to the spans of the program and its waits.
 */
#include "collective/schedule/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"

#define NO_OPERATION UINT32_MAX

/* An operation's touch of a cell: which of its elements lies at the cell's start. */
struct touch {
    uint32_t operation;
    uint32_t next; /* reader list; NO_OPERATION ends it */
    size_t position;
};

/* Stored at the cell that begins it. */
struct extent {
    struct touch
        writer; /* operation NO_OPERATION: not written yet; its position is at the extent's start */
    uint32_t readers; /* since the last write: index of a touch */
    uint32_t end;     /* the cell behind it */
};

#define LEVELS 6 /* of 64 bits each: more cells than memory holds */

struct storage_map {
    struct cells cells;
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
            TRY(visit(finder, &stretch, self));
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
    cells_cut(&finder->maps[stretch->storage].cells, stretch->start,
              stretch->start + stretch->length);
    return STATUS_OK;
}

static void ends_count(const struct schedule *schedule, struct message message,
                       size_t ends[BUFFERS])
{
    for (size_t s = 0; s < message.count; s++)
        ends[schedule->storage[message.spans[s].buffer]] += 2 * message.spans[s].times;
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

static void start_set(struct storage_map *map, size_t cell, bool begins)
{
    for (int n = 0; n < map->levels; n++, cell /= 64) {
        uint64_t bit = (uint64_t)1 << cell % 64, *word = &map->level[n][cell / 64];
        *word = begins ? *word | bit : *word & ~bit;
        if (!begins && *word)
            return;
    }
}

/* The cell that begins the extent of a cell. */
static size_t extent_of(const struct storage_map *map, size_t cell)
{
    int n = 0;
    size_t at = cell;
    for (;; n++, at = at / 64 - 1) {
        /* A bit of its word, up to `at`; else one of an earlier word, found one level up. */
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

/* At first all cells form one extent that no operation has touched. */
static bool extents_make(struct storage_map *map)
{
    map->extents = malloc((map->cells.count + 1) * sizeof *map->extents);
    if (!map->extents)
        return false;
    for (size_t bits = map->cells.count + 1; map->levels < LEVELS; bits = (bits + 63) / 64) {
        map->level[map->levels] = calloc((bits + 63) / 64, sizeof(uint64_t));
        if (!map->level[map->levels++])
            return false;
        if (bits <= 64)
            break;
    }
    map->extents[0] = (struct extent){.writer.operation = NO_OPERATION,
                                      .readers = NO_OPERATION,
                                      .end = (uint32_t)map->cells.count};
    start_set(map, 0, true);
    return true;
}

/* Elements of a storage. */
static size_t storage_extent(const struct schedule *schedule, int storage)
{
    size_t most = 0;
    for (int b = 0; b < BUFFERS; b++)
        if (schedule->storage[b] == storage && schedule->base[b] + schedule->extent[b] > most)
            most = schedule->base[b] + schedule->extent[b];
    return most;
}

static enum status cells_make(struct finder *finder, const struct operation *operations,
                              size_t count)
{
    const struct schedule *schedule = finder->schedule;
    size_t ends[BUFFERS] = {0};
    bool enough = true;
    for (size_t i = 0; i < count; i++) {
        ends_count(schedule, operations[i].from, ends);
        ends_count(schedule, operations[i].with, ends);
        ends_count(schedule, operations[i].to, ends);
    }
    for (int s = 0; s < BUFFERS; s++)
        enough = enough && cells_open(&finder->maps[s].cells, storage_extent(schedule, s), ends[s]);
    if (enough)
        operations_visit(finder, operations, count, visit_ends);
    for (int s = 0; s < BUFFERS; s++)
        enough = enough && cells_order(&finder->maps[s].cells) && extents_make(&finder->maps[s]);
    return enough ? STATUS_OK
                  : fail(STATUS_ERROR, "out of memory while finding a schedule's conflicts");
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

/* Makes `cell` begin an extent. In the second half, touches begin at later elements of their
 * messages. */
static void extent_split(struct finder *finder, struct storage_map *map, size_t cell)
{
    if (cell >= map->cells.count)
        return;
    size_t whole = extent_of(map, cell),
           further = map->cells.starts[cell] - map->cells.starts[whole];
    if (whole == cell)
        return;
    struct extent *first = &map->extents[whole], *second = &map->extents[cell];
    *second = *first;
    second->writer.position += further;
    second->readers = NO_OPERATION;
    for (uint32_t r = first->readers; r != NO_OPERATION; r = finder->touches[r].next) {
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

/* Cuts extents at the ends of a stretch; it then covers the extents [*first, *end). */
static struct storage_map *stretch_extents(struct finder *finder, const struct stretch *stretch,
                                           size_t *first, size_t *end)
{
    struct storage_map *map = &finder->maps[stretch->storage];
    *first = cells_find(&map->cells, stretch->start);
    *end = cells_find(&map->cells, stretch->start + stretch->length);
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
        if (extent->writer.operation != NO_OPERATION)
            wait_add(finder, &extent->writer,
                     stretch->position + (map->cells.starts[c] - stretch->start),
                     map->cells.starts[extent->end] - map->cells.starts[c]);
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
        size_t at = stretch->position + (map->cells.starts[c] - stretch->start);
        size_t length = map->cells.starts[extent->end] - map->cells.starts[c];
        for (uint32_t r = extent->readers; r != NO_OPERATION; r = finder->touches[r].next)
            wait_add(finder, &finder->touches[r], at, length);
        if (extent->readers == NO_OPERATION && extent->writer.operation != NO_OPERATION)
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
        *touch =
            (struct touch){.operation = self,
                           .next = map->extents[c].readers,
                           .position = stretch->position + (map->cells.starts[c] - stretch->start)};
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
        size_t position = stretch->position + (map->cells.starts[c] - stretch->start);
        if (extent->writer.operation == self)
            return fail(STATUS_ERROR, "operation %u of rank %d writes an element twice", self,
                        finder->schedule->rank);
        for (uint32_t r = extent->readers; r != NO_OPERATION; r = finder->touches[r].next)
            if (finder->touches[r].operation == self && finder->touches[r].position != position)
                return fail(STATUS_ERROR,
                            "operation %u of rank %d has a target that overlaps its input without "
                            "being equal to it",
                            self, finder->schedule->rank);
        if (c != first)
            start_set(map, c, false);
    }
    map->extents[first] = (struct extent){
        .writer = {.operation = self, .next = NO_OPERATION, .position = stretch->position},
        .readers = NO_OPERATION,
        .end = (uint32_t)end,
    };
    return STATUS_OK;
}

static int wait_compare_operation(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    return COMPARE(x->operation, y->operation)
               ?: COMPARE(x->at, y->at)
               ?: COMPARE(x->past, y->past);
}

static int wait_compare_at(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Does each element wait for at most one other, in order? That is the usual case. */
static bool waits_ascend(const struct wait *waits, size_t count)
{
    size_t i = 1;
    while (i < count && waits[i - 1].at + waits[i - 1].length <= waits[i].at)
        i++;
    return i >= count;
}

/* Joins adjacent waits, drops duplicates, and sorts by `at`. */
static void waits_tidy(struct finder *finder)
{
    struct wait *waits = finder->waits;
    if (waits_ascend(waits, finder->wait_count))
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
    TRY(message_visit(finder, operation->to, self, visit_note_write));

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
        cells_free(&finder.maps[s].cells);
        free(finder.maps[s].extents);
        for (int n = 0; n < finder.maps[s].levels; n++)
            free(finder.maps[s].level[n]);
    }
    free(finder.touches);
    free(finder.waits);
    return status;
}
