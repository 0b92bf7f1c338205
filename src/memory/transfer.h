/*
 * transfer.h - one operation on its way: how far it may go, and how far it has gone.
 *
 * The executor makes transfers and raises `limit` as conflicts clear; an engine (a transport, or a
 * memory kind for local operations) moves bytes in ascending order and raises `done`. Between the
 * two nothing else is said. All of one rank's transfers belong to one thread.
 */
#ifndef CCTEST_MEMORY_TRANSFER_H
#define CCTEST_MEMORY_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/layout.h"
#include "memory/profile.h"

enum transfer_kind {
    TRANSFER_SEND,        /* from -> the channel */
    TRANSFER_RECV,        /* the channel -> to */
    TRANSFER_RECV_REDUCE, /* to = with (+) the channel's bytes */
    TRANSFER_COPY,        /* local: to = from */
    TRANSFER_REDUCE,      /* local: to = from (+) with */
    TRANSFER_FINISH,      /* local: to = the operator's last touch of from */
};

struct transfer {
    /* Set by the executor (or a test) before it is posted; the engine does not change them. */
    enum transfer_kind kind;
    struct layout to, from, with; /* those that the kind names */
    reduce_function *reduce;
    finish_function *finish; /* TRANSFER_FINISH */
    int ranks;               /* whose values are in a result that is finished */
    size_t element;          /* bytes of an element */
    size_t length;           /* bytes, whole elements */
    size_t grain; /* bytes: how often someone wants to hear of it; its length: when it is done */
    struct moved_list *moved; /* where to report that done has grown */
    struct profile *profile;  /* where the time goes that is spent on it; NULL: nowhere */

    size_t limit; /* bytes that may be touched: raised by the executor only, whole elements */
    size_t done;  /* bytes behind which the memory is free for others: raised by the engine only,
                     through transfer_advance() */

    /* The engine's own while the transfer is posted; 0 when it is posted. */
    struct transfer *next;
    size_t issued; /* bytes that the engine has begun with; done <= issued <= limit */
    struct cursor cursor, with_cursor, from_cursor;

    /* Of the moved list. */
    bool is_moved;
    struct transfer *next_moved;
};

/* The transfers whose `done` has grown since the executor last looked. */
struct moved_list {
    struct transfer *first;
};

/* A grain (--chunk) that follows the length of the message. */
#define GRAIN_AUTO SIZE_MAX

/* The grain of a message of `length` bytes, of which the user said `chunk`: a number of bytes, 0
 * for whole messages, or GRAIN_AUTO: a quarter, so that those who wait for it begin early, but not
 * so few bytes that the steps cost more than the waiting (tests/bench/README.md, Grain). */
static inline size_t grain_of(size_t chunk, size_t length)
{
    const size_t least = (size_t)128 << 10, most = (size_t)1 << 20, part = length / 4;
    if (chunk != GRAIN_AUTO)
        return chunk > 0 && chunk < length ? chunk : length;
    return part < least ? least : part > most ? most : part;
}

/* Bytes of it to move before others have their turn: the grain, between `least` and `most`. */
static inline size_t transfer_turn(const struct transfer *transfer, size_t least, size_t most)
{
    return transfer->grain < least ? least : transfer->grain > most ? most : transfer->grain;
}

/* Places, or combines, bytes [at, at + count) of a message that was not posted; whole elements. */
static inline void transfer_place(const struct transfer *transfer, size_t at, const char *bytes,
                                  size_t count)
{
    struct cursor to, with;
    cursor_start(&to, transfer->to);
    cursor_advance(&to, at);
    if (transfer->kind == TRANSFER_RECV) {
        cursor_scatter(&to, bytes, count);
        return;
    }
    cursor_start(&with, transfer->with);
    cursor_advance(&with, at);
    cursor_reduce(&to, &with, bytes, count, transfer->reduce, transfer->element);
}

/* What an engine does when it moves bytes of it. */
static inline enum activity transfer_activity(const struct transfer *transfer)
{
    return transfer->kind == TRANSFER_RECV_REDUCE || transfer->kind == TRANSFER_REDUCE ||
                   transfer->kind == TRANSFER_FINISH
               ? PROFILE_REDUCE
               : PROFILE_COPY;
}

/* Called by engines: `bytes` more are done. */
static inline void transfer_advance(struct transfer *transfer, size_t bytes)
{
    transfer->done += bytes;
    if (!transfer->is_moved) {
        transfer->is_moved = true;
        transfer->next_moved = transfer->moved->first;
        transfer->moved->first = transfer;
    }
}

/* Takes one transfer off the list; NULL when it is empty. */
static inline struct transfer *moved_take(struct moved_list *list)
{
    struct transfer *transfer = list->first;
    if (transfer) {
        list->first = transfer->next_moved;
        transfer->is_moved = false;
    }
    return transfer;
}

#endif
