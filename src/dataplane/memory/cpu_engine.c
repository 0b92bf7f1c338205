/*
 * cpu_engine.c - local operations done by the CPU: a list of what is posted, served in turns.
 */
#include "dataplane/memory/internal.h"

#include <stdlib.h>

#include "base/log.h"

#define TURN_MOST ((size_t)4 << 20) /* bytes of one operation before the next has its turn */

struct engine {
    struct transfer *first, **end;
};

enum status cpu_engine_open(enum engine_use use, const struct tick *tick, struct engine **engine)
{
    (void)use;
    (void)tick;
    *engine = malloc(sizeof(**engine));
    if (!*engine)
        return fail(STATUS_ERROR, "out of memory for an engine");
    **engine = (struct engine){.end = &(*engine)->first};
    return STATUS_OK;
}

void cpu_engine_post(struct engine *engine, struct transfer *transfer)
{
    if (transfer->length == 0)
        return;
    transfer_start_local(transfer);
    *engine->end = transfer;
    engine->end = &transfer->next;
}

/* Does what the kind of transfer says, on the next `bytes` bytes. */
static void engine_do(const struct transfer *transfer, struct cursor *to, struct cursor *from,
                      struct cursor *with, size_t bytes)
{
    profile_enter(transfer->profile, transfer_activity(transfer));
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_reduce_both(to, from, with, bytes, transfer->reduce, transfer->element);
    else if (transfer->kind == TRANSFER_FINISH)
        cursor_finish(to, from, bytes, transfer->finish, transfer->element, transfer->ranks);
    else
        cursor_copy(to, from, bytes);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
}

static void engine_move(struct transfer *transfer, size_t bytes)
{
    transfer->issued += bytes;
    engine_do(transfer, &transfer->cursor, &transfer->from_cursor, &transfer->with_cursor, bytes);
    transfer_advance(transfer, bytes);
}

void cpu_engine_now(const struct transfer *transfer)
{
    struct cursor to, from, with;
    cursor_start(&to, transfer->to);
    cursor_start(&from, transfer->from);
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_start(&with, transfer->with);
    engine_do(transfer, &to, &from, &with, transfer->length);
}

enum status cpu_engine_progress(struct engine *engine)
{
    for (struct transfer **link = &engine->first; *link;) {
        struct transfer *transfer = *link;
        size_t bytes = transfer->limit - transfer->done;
        size_t turn = transfer_turn(transfer, 1, TURN_MOST);
        if (bytes > turn)
            bytes = turn;
        if (bytes > transfer->element) /* the grain may cut an element */
            bytes -= bytes % transfer->element;
        else if (bytes > 0)
            bytes = transfer->element;
        if (bytes > 0)
            engine_move(transfer, bytes);
        if (transfer->done == transfer->length) {
            *link = transfer->next;
            if (!*link)
                engine->end = link;
            transfer->next = NULL;
        } else {
            link = &transfer->next;
        }
    }
    return STATUS_OK;
}

void cpu_engine_close(struct engine *engine)
{
    free(engine);
}
