/*
 * transfer.h - one operation under way: how far it may go, and how far it has gone.
 *
 * The executor makes transfers and raises `limit` as conflicts clear. An engine (a transport, or a
 * memory kind for local operations) moves bytes in ascending order and raises `done`. These two
 * numbers are the whole protocol. All transfers of a rank belong to one thread.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_TRANSFER_H
#define CCTEST_DATAPLANE_MEMORY_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/memory/layout.h"
#include "dataplane/memory/profile.h"

enum transfer_kind {
    TRANSFER_SEND,        /* from -> the channel */
    TRANSFER_RECV,        /* the channel -> to */
    TRANSFER_RECV_REDUCE, /* to = with (+) the channel's bytes */
    TRANSFER_COPY,        /* local: to = from */
    TRANSFER_REDUCE,      /* local: to = from (+) with */
    TRANSFER_FINISH,      /* local: to = finish(from) */
};

struct transfer {
    /* Set by the executor (or a test) before it is posted; the engine does not change them. */
    enum transfer_kind kind;
    struct layout to, from, with; /* the ones that the kind uses */
    reduce_function *reduce;
    finish_function *finish; /* TRANSFER_FINISH */
    int ranks;               /* TRANSFER_FINISH: number of contributions */
    size_t element;          /* bytes of an element */
    size_t length;           /* bytes, whole elements */
    size_t grain;            /* bytes after which progress is to be reported; at most the length */
    /* Of the collective that the message belongs to, by which an engine may choose a way. */
    bool combines;            /* it reduces: receivers combine messages */
    bool one_way;             /* it has a root: ranks mostly either send or receive */
    struct moved_list *moved; /* where to report that done has grown */
    struct profile *profile;  /* NULL: none */

    size_t limit; /* bytes that may be touched: raised by the executor only, whole elements */
    size_t done;  /* bytes whose memory is free for other operations: raised by the engine only, by
                     transfer_advance() */

    /* The engine's own while the transfer is posted; 0 when it is posted. */
    struct transfer *next;
    size_t issued; /* bytes that the engine has begun to move; done <= issued <= limit */
    struct cursor cursor, with_cursor, from_cursor;

    /* Of the moved list. */
    bool is_moved;
    struct transfer *next_moved;
};

/* The transfers whose `done` has grown since the executor last looked. */
struct moved_list {
    struct transfer *first;
};

/* A grain (--chunk) that depends on the length of the message. */
#define GRAIN_AUTO SIZE_MAX

/* The grain of a message of `length` bytes. `chunk`: bytes; 0: the whole message; GRAIN_AUTO: a
 * quarter of it, so that waiting operations begin early, but at least `least` and at most `most`.
 * */
static inline size_t grain_of(size_t chunk, size_t length, size_t least, size_t most)
{
    const size_t part = length / 4;
    if (chunk != GRAIN_AUTO)
        return chunk > 0 && chunk < length ? chunk : length;
    return part < least ? least : part > most ? most : part;
}

/* A local operation is posted: nothing of it is begun. */
static inline void transfer_start_local(struct transfer *transfer)
{
    transfer->next = NULL;
    transfer->issued = 0;
    cursor_start(&transfer->cursor, transfer->to);
    cursor_start(&transfer->from_cursor, transfer->from);
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_start(&transfer->with_cursor, transfer->with);
}

/* Bytes to move before other transfers have their turn: the grain, within `least` and `most`. */
static inline size_t transfer_turn(const struct transfer *transfer, size_t least, size_t most)
{
    return transfer->grain < least ? least : transfer->grain > most ? most : transfer->grain;
}

/* Places or combines bytes [at, at + count) of a message that is not posted; whole elements. */
static inline void transfer_place(const struct transfer *transfer, size_t at, const char *bytes,
                                  size_t count)
{
    struct cursor to, with;
    cursor_start(&to, transfer->to);
    if (at > 0)
        cursor_advance(&to, at);
    if (transfer->kind == TRANSFER_RECV) {
        cursor_scatter(&to, bytes, count);
        return;
    }
    cursor_start(&with, transfer->with);
    cursor_advance(&with, at);
    cursor_reduce(&to, &with, bytes, count, transfer->reduce, transfer->element);
}

/* The activity of an engine that moves bytes of the transfer. */
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
