/*
 * settings.c - the settings of the stand-in, and its words.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

#define AT(member) offsetof(struct settings, member)

static const struct {
    const char *name;
    size_t at;
    long usual;
} rows[] = {
    {"version", AT(version), 22803}, {"rank", AT(rank), 0},   {"fail", AT(fail), 0},
    {"wrong", AT(wrong), 0},         {"hang", AT(hang), 0},   {"lost", AT(lost), 0},
    {"late", AT(late), 0},           {"stuck", AT(stuck), 0}, {"connect", AT(connect), 0},
    {"blocking", AT(blocking), 1},
};
#define ROWS (sizeof rows / sizeof *rows)

static char last_error[256];

void violation(const char *format, ...)
{
    va_list arguments;
    char text[400];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "nccl stand-in: violation: %s\n", text);
    abort();
}

int told(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return INVALID_USAGE;
}

const char *ncclGetLastError(struct ncclComm *comm);
const char *ncclGetLastError(struct ncclComm *comm)
{
    (void)comm;
    return last_error;
}

const char *ncclGetErrorString(int error);
const char *ncclGetErrorString(int error)
{
    switch (error) {
    case SYSTEM_ERROR:
        return "unhandled system error";
    case INVALID_USAGE:
        return "invalid usage";
    case REMOTE_ERROR:
        return "remote process exited or there was a network error";
    default:
        return "unknown result code";
    }
}

void settings_read(struct settings *settings)
{
    const char *text = getenv("NCCL_STANDIN");
    char *copy = strdup(text ? text : ""), *rest = NULL;
    for (size_t i = 0; i < ROWS; i++)
        *(long *)(void *)((char *)settings + rows[i].at) = rows[i].usual;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '='), *end = NULL;
        size_t i = 0;
        while (value && i < ROWS &&
               (strncmp(rows[i].name, word, (size_t)(value - word)) != 0 ||
                strlen(rows[i].name) != (size_t)(value - word)))
            i++;
        long number = value ? strtol(value + 1, &end, 10) : 0;
        if (!value || i == ROWS || *end) {
            fprintf(stderr, "nccl stand-in: NCCL_STANDIN has %s, which standin.h does not list\n",
                    word);
            _exit(2);
        }
        *(long *)(void *)((char *)settings + rows[i].at) = number;
    }
    free(copy);
}
