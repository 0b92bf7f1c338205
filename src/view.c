/*
 * view.c - views of buffers as blocks, and messages made of blocks.
 */
#include "builder_internal.h"

#include <string.h>

struct view builder_view(struct builder *b, enum buffer buffer, int blocks)
{
    struct span *spans = builder_draft(b, (size_t)blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    size_t run = b->schedule->extent[buffer] / (size_t)blocks;
    for (int i = 0; i < blocks; i++)
        spans[i] = (struct span){
            .buffer = buffer, .offset = (size_t)i * run, .run = run, .stride = run, .times = 1};
    return (struct view){.spans = spans, .blocks = blocks};
}

struct span *span_array(struct builder *b, int count)
{
    return builder_draft(b, (size_t)count * sizeof(struct span));
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
    return (struct message){.spans = &view->spans[index_wrap(index, view->blocks)], .count = 1};
}

struct message view_blocks(struct builder *b, const struct view *view, int first, int step,
                           int count)
{
    struct span *spans = builder_draft(b, (size_t)count * sizeof *spans);
    if (!spans || view->blocks == 0)
        return (struct message){0};
    int at = index_wrap(first, view->blocks), by = index_wrap(step, view->blocks);
    for (int i = 0; i < count; i++) {
        spans[i] = view->spans[at];
        at += by;
        if (at >= view->blocks)
            at -= view->blocks;
    }
    return (struct message){.spans = spans, .count = (size_t)count};
}

struct message view_all(const struct view *view)
{
    return (struct message){.spans = view->spans, .count = (size_t)view->blocks};
}

size_t message_length(struct message message)
{
    size_t length = 0;
    for (size_t i = 0; i < message.count; i++)
        length += message.spans[i].run * message.spans[i].times;
    return length;
}

/* Part `part` of `parts` of a contiguous span, by the slice rule. */
static struct span span_slice(const struct span *whole, int part, int parts)
{
    size_t count = whole->run * whole->times, index = (size_t)part;
    size_t base = count / (size_t)parts, extra = count % (size_t)parts;
    struct span slice = {.buffer = whole->buffer, .times = 1};
    slice.offset = whole->offset + index * base + (index < extra ? index : extra);
    slice.run = slice.stride = base + (index < extra);
    return slice;
}

struct view view_cut(struct builder *b, const struct view *whole, int blocks)
{
    struct span *spans = builder_draft(b, (size_t)blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    if (whole->blocks != 1 || whole->spans[0].times != 1) {
        builder_refuse(b, "cuts a view that is not one contiguous block");
        return (struct view){0};
    }
    for (int i = 0; i < blocks; i++)
        spans[i] = span_slice(&whole->spans[0], i, blocks);
    return (struct view){.spans = spans, .blocks = blocks};
}

struct view view_channel(struct builder *b, const struct view *view, int channel, int channels)
{
    struct span *spans = builder_draft(b, (size_t)view->blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    for (int i = 0; i < view->blocks; i++)
        spans[i] = span_slice(&view->spans[i], channel, channels);
    return (struct view){.spans = spans, .blocks = view->blocks};
}

struct view view_scratch(struct builder *b, const struct view *like)
{
    struct span *spans = builder_draft(b, (size_t)like->blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    for (int i = 0; i < like->blocks; i++) {
        size_t length = message_length(view_block(like, i));
        spans[i] = (struct span){.buffer = BUFFER_SCRATCH,
                                 .offset = b->schedule->extent[BUFFER_SCRATCH],
                                 .run = length,
                                 .stride = length,
                                 .times = 1};
        b->schedule->extent[BUFFER_SCRATCH] += length;
    }
    return (struct view){.spans = spans, .blocks = like->blocks};
}

struct view view_scratch_block(struct builder *b, size_t elements)
{
    struct span span = {.run = elements, .stride = elements, .times = 1};
    return view_scratch(b, &(struct view){.spans = &span, .blocks = 1});
}

struct view view_source_apart(struct builder *b, const struct call *call)
{
    if (!call->in_place)
        return call->source;
    struct view copy = view_scratch(b, &call->source);
    put_copy(b, call->group, view_all(&copy), view_all(&call->source));
    return copy;
}
