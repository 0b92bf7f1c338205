/*
 * bytes.c - values written into, and read out of, a run of bytes, with every bound checked.
 */
#include "base/bytes.h"

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
