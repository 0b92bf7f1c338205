/*
 * text.c - a string that grows in a buffer of its owner; what does not fit is cut off.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text text_in(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return (struct text){.at = buffer, .size = size};
}

struct text text_after(char *buffer, size_t size)
{
    return (struct text){.at = buffer, .size = size, .used = strnlen(buffer, size - 1)};
}

void text_add(struct text *text, const char *format, ...)
{
    size_t left = text->size - text->used;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->at + text->used, left, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    text->used += (size_t)length < left ? (size_t)length : left - 1;
}
