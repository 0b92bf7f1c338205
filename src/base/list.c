/*
 * list.c - memory for small control structures, and arrays that grow.
 */
#include "base/list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

void memory_end(void)
{
    say("out of memory");
    _exit((int)STATUS_ERROR);
}

void *new_array(size_t count, size_t size)
{
    void *array = calloc(count ? count : 1, size);
    if (!array)
        memory_end();
    return array;
}

char *new_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(new_array(size, 1), text, size);
}

bool list_reserve(void *items, size_t count, size_t size)
{
    void *array;
    if ((count & (count - 1)) != 0)
        return true;
    memcpy(&array, items, sizeof array);
    array = reallocarray(array, count ? 2 * count : 1, size);
    if (array)
        memcpy(items, &array, sizeof array);
    return array != NULL;
}

void *list_extend(void *items, size_t count, size_t size)
{
    if (!list_reserve(&items, count, size))
        memory_end();
    memset((char *)items + count * size, 0, size);
    return items;
}
