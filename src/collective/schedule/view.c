/*
 * view.c - views of buffers as blocks, and messages made of blocks.
 */
#include "collective/schedule/internal.h"

#include <stdlib.h>
#include <string.h>

static struct span *span_array(struct builder *b, size_t count)
{
    return builder_draft(b, count * sizeof(struct span));
}

struct message *message_array(struct builder *b, int count)
{
    return builder_draft(b, (size_t)count * sizeof(struct message));
}

int *index_array(struct builder *b, int count)
{
    return builder_draft(b, (size_t)count * sizeof(int));
}

/* Makes a view of `count` blocks of one span each. Returns the spans, which the caller fills in;
 * NULL: the builder has failed. */
static struct span *view_room(struct builder *b, int count, struct view *view)
{
    struct message *messages = message_array(b, count);
    struct span *spans = span_array(b, (size_t)count);
    *view = (struct view){0};
    if (!messages || !spans)
        return NULL;
    for (int i = 0; i < count; i++)
        messages[i] = (struct message){.spans = &spans[i], .count = 1};
    *view = (struct view){.messages = messages, .blocks = count};
    return spans;
}

static struct span span_contiguous(enum buffer buffer, size_t offset, size_t length)
{
    return (struct span){
        .buffer = buffer, .offset = offset, .run = length, .stride = length, .times = 1};
}

struct view builder_view(struct builder *b, enum buffer buffer)
{
    const struct schedule *schedule = b->schedule;
    const struct problem *problem = &schedule->problem;
    const struct collective *collective = problem->collective;
    const struct extent_side *side =
        buffer == BUFFER_SOURCE ? &collective->source : &collective->destination;
    struct view view;
    int blocks = collective_blocks(collective, buffer, problem->ranks);
    struct span *spans = view_room(b, blocks, &view);
    for (int i = 0; spans && i < blocks; i++) {
        size_t offset, length = collective_block(problem, schedule->rank, buffer, i, &offset);
        if (!side->blocks && schedule->extent[buffer] == 0)
            length = 0;
        spans[i] = span_contiguous(buffer, offset, length);
    }
    return view;
}

static int index_wrap(int index, int blocks)
{
    index %= blocks;
    return index < 0 ? index + blocks : index;
}

struct message view_block(const struct view *view, int index)
{
    if (view->blocks == 0)
        return (struct message){0};
    return view->messages[index_wrap(index, view->blocks)];
}

struct message message_join(struct builder *b, const struct message *messages, int count)
{
    size_t spans = 0;
    if (count == 1)
        return messages[0];
    for (int i = 0; i < count; i++)
        spans += messages[i].count;
    struct span *joined = span_array(b, spans);
    if (!joined)
        return (struct message){0};
    struct message whole = {.spans = joined, .count = spans};
    for (int i = 0; i < count; i++) {
        memcpy(joined, messages[i].spans, messages[i].count * sizeof *joined);
        joined += messages[i].count;
    }
    return whole;
}

struct message view_blocks(struct builder *b, const struct view *view, int first, int step,
                           int count)
{
    struct message *messages = message_array(b, count);
    if (!messages || view->blocks == 0)
        return (struct message){0};
    int at = index_wrap(first, view->blocks), by = index_wrap(step, view->blocks);
    for (int i = 0; i < count; i++) {
        messages[i] = view->messages[at];
        at += by;
        if (at >= view->blocks)
            at -= view->blocks;
    }
    return message_join(b, messages, count);
}

struct message view_all(struct builder *b, const struct view *view)
{
    return message_join(b, view->messages, view->blocks);
}

/* The elements [first, first + length) of a span, as up to three spans at `parts`: the rest of a
 * run, whole runs, the beginning of one. Returns how many. */
static int span_part(const struct span *span, size_t first, size_t length, struct span parts[3])
{
    int count = 0;
    if (length == 0)
        return 0;
    if (span->times == 1) {
        parts[0] = span_contiguous(span->buffer, span->offset + first, length);
        return 1;
    }
    size_t run = first / span->run, inside = first % span->run;
    if (inside > 0) {
        size_t rest = span->run - inside < length ? span->run - inside : length;
        parts[count++] =
            span_contiguous(span->buffer, span->offset + run++ * span->stride + inside, rest);
        length -= rest;
    }
    if (length >= span->run) {
        parts[count] = *span;
        parts[count].offset += run * span->stride;
        parts[count].times = length / span->run;
        run += parts[count++].times;
        length %= span->run;
    }
    if (length > 0)
        parts[count++] = span_contiguous(span->buffer, span->offset + run * span->stride, length);
    return count;
}

struct message message_part(struct builder *b, struct message message, size_t first, size_t length)
{
    size_t i = 0, count = 0;
    for (; i < message.count; i++) {
        size_t here = message.spans[i].run * message.spans[i].times;
        if (first < here)
            break;
        first -= here;
    }
    /* At most two spans more than it touches; one, if it lies inside a contiguous span. */
    bool inside =
        i < message.count && message.spans[i].times == 1 && first + length <= message.spans[i].run;
    struct span *spans = span_array(b, inside ? 1 : message.count - i + 2);
    if (!spans)
        return (struct message){0};
    for (; i < message.count && length > 0; i++, first = 0) {
        size_t here = message.spans[i].run * message.spans[i].times - first;
        struct span parts[3];
        here = here < length ? here : length;
        int pieces = span_part(&message.spans[i], first, here, parts);
        memcpy(spans + count, parts, (size_t)pieces * sizeof *parts);
        count += (size_t)pieces;
        length -= here;
    }
    return (struct message){.spans = spans, .count = count};
}

/* Slice `index` of `slices` of `length` elements, which are dealt in units of `unit`: the first
 * slices may have one unit more, and the last has the rest that is no unit. */
static struct slice slice_cut(size_t length, int index, int slices, size_t unit)
{
    size_t units = length / unit, count = (size_t)slices, i = (size_t)index;
    size_t base = units / count, extra = units % count;
    size_t first = (i * base + (i < extra ? i : extra)) * unit;
    return (struct slice){first, i + 1 < count ? (base + (i < extra)) * unit : length - first};
}

struct slice channel_slice(size_t length, int channel, int channels)
{
    bool is_long = length >= CHANNEL_UNIT * (size_t)channels;
    return slice_cut(length, channel, channels, is_long ? CHANNEL_UNIT : 1);
}

struct view view_of(struct builder *b, struct message message)
{
    struct message *messages = message_array(b, 1);
    if (!messages)
        return (struct view){0};
    messages[0] = message;
    return (struct view){.messages = messages, .blocks = 1};
}

struct view view_select(struct builder *b, const struct view *view, const int *which, int count)
{
    struct message *messages = message_array(b, count);
    if (!messages)
        return (struct view){0};
    for (int i = 0; i < count; i++)
        messages[i] = view_block(view, which[i]);
    return (struct view){.messages = messages, .blocks = count};
}

struct view view_bundle(struct builder *b, const struct view *view, int each)
{
    int count = view->blocks / each;
    struct message *messages = message_array(b, count);
    if (!messages)
        return (struct view){0};
    for (int i = 0; i < count; i++)
        messages[i] = message_join(b, view->messages + i * each, each);
    return (struct view){.messages = messages, .blocks = count};
}

struct view view_cut(struct builder *b, const struct view *whole, int blocks)
{
    struct message all = view_all(b, whole);
    struct message *messages = message_array(b, blocks);
    if (!messages)
        return (struct view){0};
    size_t length = message_length(all);
    for (int i = 0; i < blocks; i++) {
        struct slice slice = slice_cut(length, i, blocks, 1);
        messages[i] = message_part(b, all, slice.first, slice.length);
    }
    return (struct view){.messages = messages, .blocks = blocks};
}

struct view view_channel(struct builder *b, const struct view *view, int channel, int channels)
{
    struct message *messages = message_array(b, view->blocks);
    if (!messages)
        return (struct view){0};
    for (int i = 0; i < view->blocks; i++) {
        struct message block = view->messages[i];
        struct slice slice = channel_slice(message_length(block), channel, channels);
        messages[i] = message_part(b, block, slice.first, slice.length);
    }
    return (struct view){.messages = messages, .blocks = view->blocks};
}

struct view view_scratch(struct builder *b, const struct view *like)
{
    struct view view;
    struct span *spans = view_room(b, like->blocks, &view);
    for (int i = 0; spans && i < like->blocks; i++) {
        size_t *end = &b->schedule->extent[BUFFER_SCRATCH];
        spans[i] = span_contiguous(BUFFER_SCRATCH, *end, message_length(like->messages[i]));
        *end += spans[i].run;
    }
    return view;
}

struct view view_scratch_block(struct builder *b, size_t elements)
{
    struct span span = {.run = elements, .stride = elements, .times = 1};
    struct message message = {.spans = &span, .count = 1};
    return view_scratch(b, &(struct view){.messages = &message, .blocks = 1});
}

/*
 * Cuts a storage into cells, in one of two ways.
 *
 * A storage with many cuts for its size has a bit for each element: no sorting, and a cell is found
 * by counting bits. Another one has a sorted list of cuts, and a cell is found by binary search.
 */
bool cells_open(struct cells *cells, size_t elements, size_t ends)
{
    size_t words = elements / 64 + 1;
    if (words > ends) {
        cells->starts = malloc((ends + 1) * sizeof *cells->starts);
        return cells->starts;
    }
    cells->words = words;
    cells->begins = calloc(words, sizeof *cells->begins);
    cells->before = malloc(words * sizeof *cells->before);
    return cells->begins && cells->before;
}

void cells_cut(struct cells *cells, size_t start, size_t end)
{
    if (cells->begins) {
        cells->begins[start / 64] |= (uint64_t)1 << start % 64;
        cells->begins[end / 64] |= (uint64_t)1 << end % 64;
    } else {
        cells->starts[cells->count++] = start;
        cells->starts[cells->count++] = end;
    }
}

static int size_compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the list and drops duplicates. Programs often have it in order already. */
static void cells_sort(struct cells *cells)
{
    size_t *starts = cells->starts, kept = 0;
    bool ascending = true;
    for (size_t i = 1; i < cells->count && ascending; i++)
        ascending = starts[i - 1] <= starts[i];
    if (!ascending)
        qsort(starts, cells->count, sizeof *starts, size_compare);
    for (size_t i = 0; i < cells->count; i++)
        if (kept == 0 || starts[i] != starts[kept - 1])
            starts[kept++] = starts[i];
    cells->count = kept;
}

bool cells_order(struct cells *cells)
{
    if (!cells->begins) {
        cells_sort(cells);
        return true;
    }
    for (size_t w = 0; w < cells->words; w++) {
        cells->before[w] = (uint32_t)cells->count;
        cells->count += (size_t)__builtin_popcountll(cells->begins[w]);
    }
    cells->starts = malloc((cells->count + 1) * sizeof *cells->starts);
    if (!cells->starts)
        return false;
    size_t cell = 0;
    for (size_t w = 0; w < cells->words; w++)
        for (uint64_t bits = cells->begins[w]; bits; bits &= bits - 1)
            cells->starts[cell++] = w * 64 + (size_t)__builtin_ctzll(bits);
    return true;
}

size_t cells_find(const struct cells *cells, size_t start)
{
    if (cells->begins) {
        uint64_t earlier = cells->begins[start / 64] & ~(~(uint64_t)0 << start % 64);
        return cells->before[start / 64] + (size_t)__builtin_popcountll(earlier);
    }
    size_t low = 0, high = cells->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (cells->starts[middle] <= start)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void cells_free(struct cells *cells)
{
    free(cells->starts);
    free(cells->begins);
    free(cells->before);
}
