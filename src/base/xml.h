/*
 * xml.h - a small XML file of the user, as a tree of elements with attributes: a topology, or a
 * schedule of another tool.
 *
 * All that counts stands in attributes. Comments and processing instructions are left out. Text
 * between tags and a document type are errors, so no entity is ever expanded.
 */
#ifndef CCTEST_BASE_XML_H
#define CCTEST_BASE_XML_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

#define XML_BYTES_MOST    ((size_t)256 << 20)
#define XML_DEPTH_MOST    64
#define XML_ELEMENTS_MOST (1 << 20)

/* All strings are in the tree's arena, as UTF-8. */
struct xml_element {
    const char *name;
    const struct xml_element *children; /* the first one; NULL: there is none */
    const struct xml_element *next;     /* of the same parent, in the file's order */
    const char *attributes;             /* name, 0, value, 0 of each; then an empty name */
    int line;                           /* of its tag, from 1 */
};

struct xml {
    const char *path; /* for sentences */
    const struct xml_element *root;
};

/* Reads a text, which `path` stands for in sentences; it is not copied. STATUS_USAGE, with file and
 * line, for one that is no XML, has what stands above, or exceeds a limit. */
enum status xml_parse(const char *path, const char *text, size_t size, struct arena *arena,
                      struct xml *xml);

/* The value of an attribute; NULL: the element has none of this name. */
const char *xml_attribute(const struct xml_element *element, const char *name);

/* The value as a whole number. STATUS_USAGE, with file and line: it is missing, no number, or
 * outside least..most. */
enum status xml_number(const struct xml *xml, const struct xml_element *element, const char *name,
                       int64_t least, int64_t most, int64_t *value);

#endif
