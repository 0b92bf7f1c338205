/*
 * view.h - views of buffers as blocks, and messages made of blocks.
 *
 * Memory that these functions return belongs to the builder and lives until the schedule is
 * finished. When the builder has failed they return empty views and messages.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_VIEW_H
#define CCTEST_COLLECTIVE_SCHEDULE_VIEW_H

#include "collective/schedule/schedule.h"

struct builder;

/* Data as a list of blocks. A block is a message, so it need not be contiguous. */
struct view {
    const struct message *messages; /* one for each block */
    int blocks;
};

/* A source or destination with the blocks of its collective. */
struct view builder_view(struct builder *builder, enum buffer buffer);

/* Block `index`, which may be any integer: it is taken modulo the number of blocks. */
struct message view_block(const struct view *view, int index);
/* Blocks first, first + step, first + 2 step, ... (`count` of them), modulo the number of blocks,
 * as one message. */
struct message view_blocks(struct builder *builder, const struct view *view, int first, int step,
                           int count);
/* All blocks in their order, as one message. */
struct message view_all(struct builder *builder, const struct view *view);
/* Elements [first, first + length) of a message. */
struct message message_part(struct builder *builder, struct message message, size_t first,
                            size_t length);
/* Several messages as one, in their order. */
struct message message_join(struct builder *builder, const struct message *messages, int count);

/* A view of one block: the message. */
struct view view_of(struct builder *builder, struct message message);
/* Blocks which[0], which[1], ... of a view, each modulo the number of blocks. */
struct view view_select(struct builder *builder, const struct view *view, const int *which,
                        int count);
/* Blocks joined `each` at a time, which divides their number: block i of the result is blocks
 * i * each .. i * each + each - 1 of `view`. */
struct view view_bundle(struct builder *builder, const struct view *view, int each);
/* The whole of a view, cut into `blocks` blocks by the slice rule: each has count / blocks
 * elements, and the first count mod blocks of them have one more. */
struct view view_cut(struct builder *builder, const struct view *whole, int blocks);

/* Elements [first, first + length) of a block. */
struct slice {
    size_t first, length;
};

/* Elements. A slice of a long block begins at a multiple of them from the beginning of the block.
 * That is a multiple of 128 bytes, whatever the type: accesses of 16 bytes are as aligned in the
 * slice as in the block. */
#define CHANNEL_UNIT 128

/* Slice `channel` of `channels` of a block of `length` elements. Sender and receiver each derive it
 * from the length alone. A block of at least CHANNEL_UNIT * channels elements is cut at multiples
 * of CHANNEL_UNIT: each slice has units / channels whole units, the first units mod channels slices
 * have one more, and the last slice also has the elements after the last whole unit. So no slice is
 * longer than another by more than CHANNEL_UNIT. A shorter block is cut by the slice rule. */
struct slice channel_slice(size_t length, int channel, int channels);
/* That slice of every block. */
struct view view_channel(struct builder *builder, const struct view *view, int channel,
                         int channels);
/* New scratch memory with blocks as long as the blocks of `like`. */
struct view view_scratch(struct builder *builder, const struct view *like);
/* New scratch memory of `elements` elements as one block. */
struct view view_scratch_block(struct builder *builder, size_t elements);

/* An array of `count` messages, for an algorithm that composes a view of its own: fill it in and
 * use (struct view){messages, count}. NULL when the builder has failed; then simply return. */
struct message *message_array(struct builder *builder, int count);
/* Likewise an array of integers: indices of blocks, or group ranks. */
int *index_array(struct builder *builder, int count);

#endif
