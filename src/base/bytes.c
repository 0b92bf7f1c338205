/*
 * bytes.c - values written into, and read out of, a run of bytes, with every bound checked.
 */
#include "base/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

void bytes_reserve(struct bytes *bytes, size_t more)
{
    if (more > SIZE_MAX / 4 - bytes->size)
        memory_end();
    size_t needed = bytes->size + more;
    if (needed <= bytes->capacity)
        return;
    size_t capacity = bytes->capacity ? bytes->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    bytes->data = realloc(bytes->data, capacity);
    if (!bytes->data)
        memory_end();
    bytes->capacity = capacity;
}

void bytes_put(struct bytes *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    bytes_reserve(bytes, size);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void put_number(struct bytes *bytes, uint64_t value, size_t width)
{
    unsigned char digits[8];
    for (size_t i = 0; i < width; i++)
        digits[i] = (unsigned char)(value >> (8 * i));
    bytes_put(bytes, digits, width);
}

void bytes_put_u32(struct bytes *bytes, uint32_t value)
{
    put_number(bytes, value, 4);
}

void bytes_put_u64(struct bytes *bytes, uint64_t value)
{
    put_number(bytes, value, 8);
}

void bytes_put_text(struct bytes *bytes, const char *text)
{
    size_t size = strlen(text);
    bytes_put_u32(bytes, (uint32_t)size);
    bytes_put(bytes, text, size);
}

void bytes_drop(struct bytes *bytes, size_t count)
{
    bytes->size -= count;
    if (bytes->size > 0)
        memmove(bytes->data, bytes->data + count, bytes->size);
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

const unsigned char *read_bytes(struct reader *reader, size_t size)
{
    if (reader->bad || size > reader->left) {
        reader->bad = true;
        return NULL;
    }
    const unsigned char *bytes = reader->at;
    reader->at += size;
    reader->left -= size;
    return bytes;
}

static uint64_t read_number(struct reader *reader, size_t width)
{
    const unsigned char *digits = read_bytes(reader, width);
    uint64_t value = 0;
    for (size_t i = 0; digits && i < width; i++)
        value |= (uint64_t)digits[i] << (8 * i);
    return value;
}

uint32_t read_u32(struct reader *reader)
{
    return (uint32_t)read_number(reader, 4);
}

uint64_t read_u64(struct reader *reader)
{
    return read_number(reader, 8);
}

void read_text(struct reader *reader, char *text, size_t size)
{
    text[0] = '\0';
    size_t length = read_u32(reader);
    if (length >= size)
        reader->bad = true;
    const unsigned char *bytes = read_bytes(reader, length);
    if (!bytes)
        return;
    for (size_t i = 0; i < length; i++)
        text[i] = bytes[i] < ' ' || bytes[i] == 127 ? '?' : (char)bytes[i];
    text[length] = '\0';
}

/*
 * One description of a record for both directions.
 */
void code_require(struct codec codec, bool holds)
{
    if (codec.in)
        codec.in->bad |= !holds;
}

void code_u32(struct codec codec, uint32_t *value, uint32_t least, uint32_t most)
{
    if (codec.out) {
        bytes_put_u32(codec.out, *value);
        return;
    }
    *value = read_u32(codec.in);
    if (*value >= least && *value <= most)
        return;
    codec.in->bad = true;
    *value = least;
}

void code_u64(struct codec codec, uint64_t *value)
{
    if (codec.out)
        bytes_put_u64(codec.out, *value);
    else
        *value = read_u64(codec.in);
}

void code_i64(struct codec codec, int64_t *value)
{
    uint64_t bits = codec.out ? (uint64_t)*value : 0;
    code_u64(codec, &bits);
    *value = (int64_t)bits;
}

void code_int(struct codec codec, int *value, int least, int most)
{
    uint32_t bits = codec.out ? (uint32_t)*value : 0;
    code_u32(codec, &bits, 0, UINT32_MAX);
    *value = (int)bits;
    if (codec.out || (*value >= least && *value <= most))
        return;
    codec.in->bad = true;
    *value = least;
}

void code_flag(struct codec codec, bool *value)
{
    uint32_t bit = codec.out && *value;
    code_u32(codec, &bit, 0, 1);
    *value = bit;
}

void code_real(struct codec codec, double *value)
{
    uint64_t bits = 0;
    if (codec.out)
        memcpy(&bits, value, sizeof bits);
    code_u64(codec, &bits);
    memcpy(value, &bits, sizeof bits);
    if (codec.out || (isfinite(*value) && *value >= 0))
        return;
    codec.in->bad = true;
    *value = 0;
}

void code_text(struct codec codec, char *text, size_t size)
{
    if (codec.out)
        bytes_put_text(codec.out, text);
    else
        read_text(codec.in, text, size);
}

void code_bytes(struct codec codec, void *data, size_t size)
{
    if (codec.out) {
        bytes_put(codec.out, data, size);
        return;
    }
    const unsigned char *bytes = read_bytes(codec.in, size);
    if (bytes)
        memcpy(data, bytes, size);
}
