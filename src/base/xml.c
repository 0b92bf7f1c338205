/*
 * xml.c - a small XML file of the user, as a tree of elements. Expat reads it.
 */
#include "base/xml.h"

#include <errno.h>
#include <expat.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* An element whose end tag has not come. */
struct open_element {
    struct xml_element *element;
    const struct xml_element **end; /* where its next child goes */
};

struct xml_reading {
    XML_Parser parser;
    const char *path;
    struct arena *arena;
    struct open_element open[XML_DEPTH_MOST + 1]; /* the first stands for the document */
    int depth, elements;
    enum status status;
};

static int line_now(const struct xml_reading *reading)
{
    return (int)XML_GetCurrentLineNumber(reading->parser);
}

/* No further handler is called. */
__attribute__((format(printf, 2, 3))) static void reading_refuse(struct xml_reading *reading,
                                                                 const char *format, ...)
{
    char why[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    const struct failure_place place = {.file = reading->path, .line = line_now(reading)};
    reading->status = fail_at(STATUS_USAGE, &place, "%s", why);
    XML_StopParser(reading->parser, XML_FALSE);
}

static void reading_exhaust(struct xml_reading *reading)
{
    reading->status = fail(STATUS_ERROR, "out of memory for %.200s", reading->path);
    XML_StopParser(reading->parser, XML_FALSE);
}

/* The element with its strings behind it; NULL: out of memory. */
static struct xml_element *element_make(struct arena *arena, const char *name, const char **pairs)
{
    size_t size = strlen(name) + 1;
    for (int i = 0; pairs[i]; i++)
        size += strlen(pairs[i]) + 1;
    struct xml_element *element = arena_take(arena, sizeof *element + size + 1);
    if (!element)
        return NULL;
    char *at = (char *)(element + 1);
    *element = (struct xml_element){.name = at, .attributes = at + strlen(name) + 1};
    at = stpcpy(at, name) + 1;
    for (int i = 0; pairs[i]; i++)
        at = stpcpy(at, pairs[i]) + 1;
    *at = '\0';
    return element;
}

static void on_begin(void *context, const char *name, const char **pairs)
{
    struct xml_reading *reading = context;
    if (reading->depth == XML_DEPTH_MOST) {
        reading_refuse(reading, "elements stand in each other more than %d deep", XML_DEPTH_MOST);
        return;
    }
    if (++reading->elements > XML_ELEMENTS_MOST) {
        reading_refuse(reading, "the file has more than %d elements", XML_ELEMENTS_MOST);
        return;
    }
    struct xml_element *element = element_make(reading->arena, name, pairs);
    if (!element) {
        reading_exhaust(reading);
        return;
    }
    element->line = line_now(reading);
    struct open_element *parent = &reading->open[reading->depth++];
    *parent->end = element;
    parent->end = &element->next;
    reading->open[reading->depth] = (struct open_element){element, &element->children};
}

static void on_end(void *context, const char *name)
{
    (void)name;
    ((struct xml_reading *)context)->depth--;
}

static void on_text(void *context, const char *text, int length)
{
    for (int i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i])) {
            reading_refuse(context, "text stands between tags: give attributes only");
            return;
        }
}

static void on_document_type(void *context, const char *name, const char *system_id,
                             const char *public_id, int has_internal_subset)
{
    (void)name, (void)system_id, (void)public_id, (void)has_internal_subset;
    reading_refuse(context, "document types are not read: remove <!DOCTYPE ...>");
}

/* Bytes that Expat takes at once: its lengths are ints. */
#define PIECE ((size_t)1 << 20)

static void reading_parse(struct xml_reading *reading, const char *text, size_t size)
{
    bool is_last = false;
    while (!is_last && reading->status == STATUS_OK) {
        size_t piece = size < PIECE ? size : PIECE;
        is_last = piece == size;
        if (XML_Parse(reading->parser, text, (int)piece, is_last) == XML_STATUS_ERROR) {
            enum XML_Error error = XML_GetErrorCode(reading->parser);
            if (error == XML_ERROR_NO_MEMORY && reading->status == STATUS_OK)
                reading_exhaust(reading);
            else if (reading->status == STATUS_OK)
                reading->status = fail(STATUS_USAGE, "%.200s:%d: this is no XML: %s", reading->path,
                                       line_now(reading), XML_ErrorString(error));
            return;
        }
        text += piece;
        size -= piece;
    }
}

enum status xml_parse(const char *path, const char *text, size_t size, struct arena *arena,
                      struct xml *xml)
{
    *xml = (struct xml){.path = path};
    if (size > XML_BYTES_MOST)
        return fail(STATUS_USAGE, "%.200s is larger than 256M: give a smaller file", path);
    struct xml_reading reading = {
        .parser = XML_ParserCreate(NULL),
        .path = path,
        .arena = arena,
        .open = {{.end = &xml->root}},
    };
    if (!reading.parser)
        return fail(STATUS_ERROR, "out of memory for %.200s", path);
    XML_SetUserData(reading.parser, &reading);
    XML_SetElementHandler(reading.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(reading.parser, on_text);
    XML_SetStartDoctypeDeclHandler(reading.parser, on_document_type);
    reading_parse(&reading, text, size);
    XML_ParserFree(reading.parser);
    return reading.status;
}

const char *xml_attribute(const struct xml_element *element, const char *name)
{
    const char *at = element->attributes;
    while (*at) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

enum status xml_number(const struct xml *xml, const struct xml_element *element, const char *name,
                       int64_t least, int64_t most, int64_t *value)
{
    const char *text = xml_attribute(element, name);
    const struct failure_place place = {.file = xml->path, .line = element->line};
    if (!text)
        return fail_at(STATUS_USAGE, &place, "<%.40s> has no %s", element->name, name);
    char *end;
    errno = 0;
    *value = strtoimax(text, &end, 10);
    if (end == text || *end || errno == ERANGE || *value < least || *value > most ||
        !strchr("-0123456789", text[0]))
        return fail_at(STATUS_USAGE, &place,
                       "%s of <%.40s> is '%.40s', not a whole number from %" PRId64 " to %" PRId64,
                       name, element->name, text, least, most);
    return STATUS_OK;
}
