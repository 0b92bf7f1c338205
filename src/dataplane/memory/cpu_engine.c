/*
 * cpu_engine.c - local operations done by the CPU: a list of what is posted, served in turns.
 */
#include "dataplane/memory/internal.h"

#include "base/log.h"
#include "base/numbers.h"

#include <stdlib.h>
#include <string.h>

/*
 * The CPU fills memory, makes inputs there, and compares.
 *
 * Expected values are made a chunk at a time and compared as a whole; only a chunk that differs is
 * looked at more closely.
 */
#define CHUNK 8192u             /* bytes made and compared at a time */
#define STEP  ((size_t)8 << 20) /* bytes filled between two ticks */

enum status cpu_fill(const struct memory *memory, void *to, unsigned char byte, size_t bytes)
{
    for (size_t at = 0, step; at < bytes && tick_on(memory->tick); at += step) {
        step = smaller(STEP, bytes - at);
        memset((char *)to + at, byte, step);
    }
    return STATUS_OK;
}

enum status cpu_make(const struct memory *memory, const struct inputs *inputs, int rank,
                     size_t first, size_t count, void *to)
{
    size_t size = inputs->datatype->size;
    for (size_t at = 0, step; at < count && tick_on(memory->tick); at += step) {
        step = smaller(STEP / size, count - at);
        inputs_make(inputs, rank, first + at, step, (char *)to + at * size);
    }
    return STATUS_OK;
}

/* A pass over a comparison, chunk by chunk. */
struct pass {
    const struct memory *memory;
    const struct comparison *comparison;
    size_t at, count; /* the chunk's elements */
    const char *got;
    _Alignas(16) char expected[CHUNK];
};

static void pass_begin(struct pass *pass, const struct memory *memory,
                       const struct comparison *comparison)
{
    pass->memory = memory;
    pass->comparison = comparison;
    pass->at = pass->count = 0;
}

/* Goes to the next chunk that has a wrong element. */
static bool pass_next_wrong(struct pass *pass)
{
    const struct comparison *comparison = pass->comparison;
    size_t size = comparison->inputs->datatype->size;
    while (tick_on(pass->memory->tick)) {
        pass->at += pass->count;
        pass->count = smaller(CHUNK / size, comparison->count - pass->at);
        if (pass->count == 0)
            return false;
        pass->got = (const char *)comparison->at + pass->at * size;
        inputs_expect(comparison->inputs, comparison->rank, comparison->first + pass->at,
                      pass->count, pass->expected);
        if (memcmp(pass->expected, pass->got, pass->count * size) != 0)
            return true;
    }
    return false;
}

static bool pass_is_wrong(const struct pass *pass, size_t element)
{
    size_t size = pass->comparison->inputs->datatype->size, at = element * size;
    return memcmp(pass->expected + at, pass->got + at, size) != 0;
}

enum status cpu_compare(const struct memory *memory, const struct comparison *comparison,
                        size_t *wrong)
{
    struct pass pass;
    pass_begin(&pass, memory, comparison);
    *wrong = 0;
    while (pass_next_wrong(&pass))
        for (size_t i = 0; i < pass.count; i++)
            *wrong += pass_is_wrong(&pass, i);
    return STATUS_OK;
}

enum status cpu_select(const struct memory *memory, const struct comparison *comparison,
                       struct selection *selection)
{
    struct pass pass;
    pass_begin(&pass, memory, comparison);
    selection->count = selection->wrong = 0;
    size_t next = selection->skip; /* the number, among the wrong ones, that is asked for next */
    while (pass_next_wrong(&pass))
        for (size_t i = 0; i < pass.count; i++) {
            if (!pass_is_wrong(&pass, i))
                continue;
            selection->last = pass.at + i;
            if (selection->wrong++ != next || selection->count == selection->most)
                continue;
            selection->at[selection->count++] = selection->last;
            next += selection->stride;
        }
    return STATUS_OK;
}

enum status cpu_scan(const struct memory *memory, const void *at, unsigned char byte, size_t bytes,
                     struct damage *damage)
{
    const unsigned char *bytes_there = at;
    (void)memory;
    *damage = (struct damage){.bytes = 0};
    for (size_t i = bytes; i-- > 0;) {
        if (bytes_there[i] != byte) {
            damage->bytes++;
            damage->first = i;
        }
    }
    return STATUS_OK;
}

enum status cpu_read(const struct memory *memory, const void *at, size_t bytes, void *to)
{
    (void)memory;
    memcpy(to, at, bytes);
    return STATUS_OK;
}

enum status cpu_write(const struct memory *memory, const void *from, size_t bytes, void *at)
{
    (void)memory;
    memcpy(at, from, bytes);
    return STATUS_OK;
}

/*
 * Local operations done by the CPU.
 */
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
