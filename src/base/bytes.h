/*
 * bytes.h - encodes values as bytes and decodes them, with every bound checked.
 *
 * All numbers travel as little-endian integers of a fixed width, so that ranks on different
 * machines understand each other. A reader that ran out of bytes remembers it, so that a caller
 * checks once, after a whole record.
 */
#ifndef CCTEST_BASE_BYTES_H
#define CCTEST_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    unsigned char *data;
    size_t size, capacity;
};

/* Reserves `more` bytes behind the present ones. Without memory the process ends (list.h). */
void bytes_reserve(struct bytes *bytes, size_t more);
void bytes_put(struct bytes *bytes, const void *data, size_t size);
void bytes_put_u32(struct bytes *bytes, uint32_t value);
void bytes_put_u64(struct bytes *bytes, uint64_t value);
void bytes_put_text(struct bytes *bytes, const char *text);
void bytes_drop(struct bytes *bytes, size_t count); /* the first `count` */
void bytes_free(struct bytes *bytes);

struct reader {
    const unsigned char *at;
    size_t left;
    bool bad; /* more was read than there is; all later values are 0 */
};

/* `size` bytes in place; NULL if fewer are left. */
const unsigned char *read_bytes(struct reader *reader, size_t size);
uint32_t read_u32(struct reader *reader);
uint64_t read_u64(struct reader *reader);
/* A text that must fit `size` bytes with its 0; control characters become '?'. */
void read_text(struct reader *reader, char *text, size_t size);

/* ---- One description of a record for both directions.
 *
 * A function that names the members of a record once, each with its range, encodes it or decodes it
 * by where the codec points (as the filters of xdr(3) do). Both directions may write to the
 * members. While it decodes, a number out of its range makes the reader bad, and reads as the least
 * one.
 * ---- */

struct codec {
    struct bytes *out; /* encodes; NULL: decodes */
    struct reader *in;
};

static inline struct codec codec_to(struct bytes *bytes)
{
    return (struct codec){.out = bytes};
}

static inline struct codec codec_from(struct reader *reader)
{
    return (struct codec){.in = reader};
}

/* Also of enums. */
void code_u32(struct codec codec, uint32_t *value, uint32_t least, uint32_t most);
void code_u64(struct codec codec, uint64_t *value);
void code_i64(struct codec codec, int64_t *value);
void code_int(struct codec codec, int *value, int least, int most);
void code_flag(struct codec codec, bool *value);
/* As IEEE 754 has it: finite, and not negative. */
void code_real(struct codec codec, double *value);
void code_text(struct codec codec, char *text, size_t size); /* as read_text() */
/* Leaves `data` as it is where fewer bytes are left. */
void code_bytes(struct codec codec, void *data, size_t size);
/* A condition that decoded members must meet together. */
void code_require(struct codec codec, bool holds);

#endif
