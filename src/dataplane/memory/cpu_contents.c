/*
 * cpu_contents.c - the CPU fills memory, makes inputs there, and compares.
 *
 * Expected values are made a chunk at a time and compared as a whole; only a chunk that differs is
 * looked at more closely.
 */
#include "dataplane/memory/internal.h"

#include <string.h>

#define CHUNK 8192u             /* bytes made and compared at a time */
#define STEP  ((size_t)8 << 20) /* bytes filled between two ticks */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

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
