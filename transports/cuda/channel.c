/*
 * channel.c - the data path: cells that refer to bytes, and steps that read them.
 */
#include "transports/cuda/internal.h"

#include "base/clock.h"
#include "base/log.h"

/* Bytes of one step: the grain, within these bounds. Engines take turns between steps. */
#define STEP_LEAST ((size_t)1 << 20)
#define STEP_MOST  ((size_t)16 << 20)

/* Pieces. */

/* At most `most` bytes at the cursor that are one strided piece. Returns how many, and advances. */
static size_t pull_piece(struct cursor *cursor, size_t most, struct piece *piece)
{
    const struct piece *whole = cursor->piece;
    size_t run, times = 1;
    char *base = cursor_peek(cursor, most, &run);
    if (cursor->offset == 0 && run == whole->run) {
        size_t left = whole->times - cursor->time;
        times = most / run < left ? most / run : left;
    }
    *piece = (struct piece){.base = base, .run = run, .stride = whole->stride, .times = times};
    cursor_advance(cursor, run * times);
    return run * times;
}

/* How many bytes, at most `most`, PULL_PIECES pieces from the cursor on hold. */
static size_t pull_reach(struct cursor cursor, size_t most)
{
    size_t bytes = 0;
    struct piece piece;
    for (int i = 0; i < PULL_PIECES && bytes < most; i++)
        bytes += pull_piece(&cursor, most - bytes, &piece);
    return bytes;
}

/* The next `bytes` bytes, which the cursor reaches, as a layout in `pieces`. A cut between or
 * within runs makes at most two more pieces. */
static struct layout pull_take(struct cursor *cursor, size_t bytes, struct piece *pieces)
{
    struct layout layout = {.pieces = pieces};
    while (bytes > 0)
        bytes -= pull_piece(cursor, bytes, &pieces[layout.count++]);
    return layout;
}

/* Sending. */

/* The number of the region that holds the address. channel_post() has checked that one does. */
static uint64_t pull_region_of(const struct pull_endpoint *endpoint, const char *address)
{
    uint64_t i = 0;
    while (i + 1 < endpoint->address.lent &&
           (uintptr_t)address - (uintptr_t)endpoint->lent[i].base >= endpoint->lent[i].bytes)
        i++;
    return i;
}

static void pull_publish(struct pull_channel *channel, struct transfer *transfer)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)channel->base.endpoint;
    struct piece piece;
    size_t bytes = pull_piece(&transfer->cursor, transfer->limit - transfer->issued, &piece);
    uint64_t region = pull_region_of(endpoint, piece.base);
    channel->wire->cells[channel->cells++ % PULL_CELLS] =
        (struct pull_cell){.offset = (uint64_t)(piece.base - endpoint->lent[region].base),
                           .run = piece.run,
                           .stride = piece.stride,
                           .times = piece.times,
                           .region = region};
    transfer->issued += bytes;
    endpoint->base.traffic.sent[PATH_ZCOPY] += bytes;
    if (transfer->issued == transfer->length)
        channel->next = transfer->next;
}

/* The peer has read so many bytes in all. False: more than there were. */
static bool pull_collect(struct pull_channel *channel, uint64_t done)
{
    while (channel->done < done) {
        struct transfer *transfer = channel->base.first;
        if (!transfer || transfer->issued == transfer->done)
            return false;
        size_t bytes = transfer->issued - transfer->done;
        if (bytes > done - channel->done)
            bytes = done - channel->done;
        channel->done += bytes;
        if (transfer->done + bytes == transfer->length)
            channel_pop(&channel->base);
        transfer_advance(transfer, bytes);
    }
    return true;
}

/* May one more cell be written? False in *sound: the count of those that the peer has taken cannot
 * be. */
static bool pull_has_room(struct pull_channel *channel, bool *sound)
{
    *sound = true;
    if (channel->cells - channel->known == PULL_CELLS) {
        uint64_t taken = atomic_load_explicit(&channel->wire->taken, memory_order_acquire);
        *sound = taken - channel->known <= PULL_CELLS;
        channel->known = *sound ? taken : channel->known;
    }
    return channel->cells - channel->known < PULL_CELLS;
}

enum status pull_channel_send(struct pull_channel *channel)
{
    struct pull_wire *wire = channel->wire;
    uint64_t before = channel->cells;
    bool sound;
    if (!pull_collect(channel, atomic_load_explicit(&wire->done, memory_order_acquire)))
        return fail_garbage(channel->base.peer, "a number of bytes read");
    for (struct transfer *transfer;
         (transfer = channel->next) && transfer->issued < transfer->limit;
         pull_publish(channel, transfer)) {
        bool room = pull_has_room(channel, &sound);
        if (!sound)
            return fail_garbage(channel->base.peer, "a number of cells read");
        if (!room) {
            profile_starve(transfer->profile);
            break;
        }
    }
    if (channel->cells != before)
        atomic_store_explicit(&wire->published, channel->cells, memory_order_release);
    return STATUS_OK;
}

/* Receiving. */

/* Opens the next cell if there is one. Sets channel->left to its bytes, of whole elements; 0: there
 * is none. */
static enum status pull_open(struct pull_channel *channel, size_t element)
{
    struct pull_wire *wire = channel->wire;
    struct pull_cell cell;
    size_t bytes;
    if (channel->cells == channel->known)
        channel->known = atomic_load_explicit(&wire->published, memory_order_acquire);
    if (channel->cells == channel->known)
        return STATUS_OK;
    if (channel->known - channel->cells > PULL_CELLS)
        return fail_garbage(channel->base.peer, "a number of cells sent");
    shared_snapshot(&cell, &wire->cells[channel->cells % PULL_CELLS], sizeof cell);
    if (!pull_peer_find(channel->peer, &cell, &channel->piece) || cell.run % element != 0 ||
        __builtin_mul_overflow(cell.run, cell.times, &bytes))
        return fail_garbage(channel->base.peer, "a reference");
    channel->cells++;
    channel->left = bytes;
    cursor_start(&channel->source, (struct layout){.pieces = &channel->piece, .count = 1});
    return STATUS_OK;
}

/* Finds at most `most` bytes that may be read: the step's `from`. */
static enum status pull_gather(struct pull_channel *channel, size_t most, struct pull_step *step)
{
    struct layout *from = &step->work.from;
    enum status status = STATUS_OK;
    from->pieces = step->from;
    while (step->work.length < most && from->count < PULL_PIECES) {
        if (channel->left == 0)
            status = pull_open(channel, step->work.element);
        if (channel->left == 0)
            return status;
        size_t more = most - step->work.length;
        more = pull_piece(&channel->source, more < channel->left ? more : channel->left,
                          &step->from[from->count++]);
        channel->left -= more;
        step->work.length += more;
    }
    return STATUS_OK;
}

/* Gives the engine the step: the message's next bytes. */
static void pull_step_post(struct pull_channel *channel, struct transfer *transfer,
                           struct pull_step *step)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)channel->base.endpoint;
    struct transfer *work = &step->work;
    size_t bytes = work->length;
    work->to = pull_take(&transfer->cursor, bytes, step->to);
    if (transfer->kind == TRANSFER_RECV_REDUCE) {
        work->kind = TRANSFER_REDUCE;
        work->with = work->from;
        work->from = pull_take(&transfer->with_cursor, bytes, step->with);
    }
    work->limit = bytes;
    work->grain = transfer->grain < bytes ? transfer->grain : bytes;
    transfer->issued += bytes;
    if (transfer->issued == transfer->length)
        channel->next = transfer->next;
    channel->begun++;
    endpoint->steps++;
    endpoint->kind->engine_post(endpoint->engine, work);
}

/* Begins a step of the transfer. *begun: there were bytes for it. */
static enum status pull_step_begin(struct pull_channel *channel, struct transfer *transfer,
                                   bool *begun)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)channel->base.endpoint;
    struct pull_step *step = &channel->steps[channel->begun % PULL_STEPS];
    size_t most = transfer_turn(transfer, STEP_LEAST, STEP_MOST);
    size_t left = transfer->limit - transfer->issued;
    most = left < most ? left : most - most % transfer->element;
    most = pull_reach(transfer->cursor, most);
    if (transfer->kind == TRANSFER_RECV_REDUCE)
        most = pull_reach(transfer->with_cursor, most);
    step->transfer = transfer;
    step->told = 0;
    step->work = (struct transfer){.kind = TRANSFER_COPY,
                                   .reduce = transfer->reduce,
                                   .element = transfer->element,
                                   .moved = &endpoint->moved,
                                   .profile = transfer->profile};
    enum status status = pull_gather(channel, most, step);
    *begun = status == STATUS_OK && step->work.length > 0;
    if (*begun)
        pull_step_post(channel, transfer, step);
    return status;
}

enum status pull_channel_begin(struct pull_channel *channel)
{
    uint64_t before = channel->cells;
    enum status status = STATUS_OK;
    bool begun = true;
    for (struct transfer *transfer; begun && (transfer = channel->next) &&
                                    transfer->issued < transfer->limit &&
                                    channel->begun - channel->ended < PULL_STEPS;)
        status = pull_step_begin(channel, transfer, &begun);
    if (channel->cells != before) /* the steps and the channel have copies of them */
        atomic_store_explicit(&channel->wire->taken, channel->cells, memory_order_release);
    return status;
}

/* Adds the time for which something lasts to *sum; *since is when it began, or 0. */
static void pull_clock(bool lasts, uint64_t *since, uint64_t *sum)
{
    if (lasts == (*since > 0))
        return;
    uint64_t now = clock_ns();
    *sum += lasts ? 0 : now - *since;
    *since = lasts ? now : 0;
}

/* Counts what the link is waited for. `moved`: bytes have arrived since the last call. Only the
 * receiver knows how long its steps take; it tells the sender. */
static void pull_count_waits(struct pull_channel *channel, bool moved)
{
    const struct transfer *first = channel->base.first;
    bool counts = channel->base.endpoint->watched && first && first->length >= WAIT_STATS_LEAST;
    uint64_t before = channel->busy;
    pull_clock(counts && !moved && first->done < first->limit, &channel->starved_since,
               &channel->starved);
    pull_clock(counts && channel->begun != channel->ended, &channel->busy_since, &channel->busy);
    if (channel->busy != before)
        atomic_store_explicit(&channel->wire->busy, channel->busy, memory_order_release);
}

void pull_wait_stats(const struct channel *base, struct wait_stats *wait_stats)
{
    const struct pull_channel *channel = (const struct pull_channel *)base;
    *wait_stats = (struct wait_stats){.starved = channel->starved};
    if (base->sends)
        wait_stats->busy = atomic_load_explicit(&channel->wire->busy, memory_order_acquire);
}

void pull_channel_end(struct pull_channel *channel)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)channel->base.endpoint;
    uint64_t before = channel->done;
    while (channel->ended != channel->begun) {
        struct pull_step *step = &channel->steps[channel->ended % PULL_STEPS];
        struct transfer *transfer = step->transfer;
        size_t bytes = step->work.done - step->told;
        step->told += bytes;
        channel->done += bytes;
        if (transfer->done + bytes == transfer->length)
            channel_pop(&channel->base);
        if (bytes > 0)
            transfer_advance(transfer, bytes);
        if (step->told < step->work.length)
            break;
        channel->ended++;
        endpoint->steps--;
    }
    pull_count_waits(channel, channel->done != before);
    endpoint->base.traffic.received[PATH_ZCOPY] += channel->done - before;
    if (channel->done != before)
        atomic_store_explicit(&channel->wire->done, channel->done, memory_order_release);
}
