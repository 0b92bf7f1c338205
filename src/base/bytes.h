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

#endif
