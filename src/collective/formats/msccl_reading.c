/*
 * msccl_reading.c - what the readers of MSCCL's XML share.
 */
#include "collective/formats/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum status msccl_refuse(const struct msccl_reading *reading, const struct xml_element *element,
                         const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "%.200s:%d: %s", reading->xml.path, element->line, what);
}

void *msccl_take(struct msccl_reading *reading, size_t count, size_t size)
{
    void *taken = arena_take(reading->arena, (count + 1) * size);
    return taken ? memset(taken, 0, (count + 1) * size) : NULL;
}

enum status msccl_no_memory(const struct msccl_reading *reading)
{
    return fail(STATUS_ERROR, "out of memory for %.200s", reading->xml.path);
}

enum status msccl_int(const struct msccl_reading *reading, const struct xml_element *element,
                      const char *name, int least, int most, int *value)
{
    int64_t number = 0;
    enum status status = xml_number(&reading->xml, element, name, least, most, &number);
    *value = (int)number;
    return status;
}

int msccl_children(const struct xml_element *element, const char *name)
{
    int count = 0;
    for (const struct xml_element *child = element->children; child; child = child->next)
        count += strcmp(child->name, name) == 0;
    return count;
}
