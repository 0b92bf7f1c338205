/*
 * keys.h - the schema of all JSON documents, and its keys.
 */
#ifndef CCTEST_CLI_INFO_KEYS_H
#define CCTEST_CLI_INFO_KEYS_H

#include <stdbool.h>

/* Its texts are of one call, but for `object` and `name`, which live as long as the program. */
struct json_key {
    const char *object; /* the object that has it: "result" */
    const char
        *path; /* its place in there: "bottleneck", "places[].kind"; "" is the object itself */
    const char *name;    /* the key alone: "kind" */
    const char *type;    /* "number or null", "list of peer", "host, device" */
    const char *meaning; /* a phrase, without a full stop; NULL: the name says all */
};

/* Prints the schema, as JSON. */
void schema_print(void);

/* Calls `take` with each object, and behind it with each of its keys, in the order of the
 * schema. */
void keys_walk(void (*take)(void *argument, const struct json_key *key), void *argument);

#endif
