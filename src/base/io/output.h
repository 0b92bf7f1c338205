/*
 * output.h - files that are whole at any moment, and what JSON documents share.
 */
#ifndef CCTEST_BASE_IO_OUTPUT_H
#define CCTEST_BASE_IO_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/failure.h"
#include "base/io/stream.h"

/* Writes `length` bytes to `path`: "-" is standard output; a regular file, or one that is not there
 * yet, is replaced at once by rename; anything else (a device, a FIFO) is written to, with
 * `patience` for its reader (stream_write()). STATUS_ERROR, with the reason, if that fails. */
enum status output_put(const char *text, size_t length, const char *path,
                       struct patience *patience);
/* The same for a document. */
enum status json_put(const json_t *document, const char *path, struct patience *patience);
/* A document as text, which the caller frees. NULL: out of memory. */
char *json_text(const json_t *document, size_t *length);

/* Opens `path` before there are ranks, to append to it, and makes it if it is not there. A FIFO
 * without a reader does not block. On failure *file is NULL and the reason is
 * recorded: STATUS_USAGE if another name is needed, STATUS_ERROR if the file can be made usable. */
enum status output_try(const char *path, FILE **file);

/* Can `path` be written to? Leaves no file that was not there. A FIFO, or a link that leads nowhere, is
 * not tried. Fails like output_try(). */
enum status output_probe(const char *path);

/* Is there anything but a regular file at `path`? It cannot be replaced, only written to once. */
bool output_is_stream(const char *path);

/* Is it standard output? Then a table goes to standard error. NULL is allowed. */
bool output_is_standard(const char *path);

/* The fields every document begins with. NULL: out of memory. */
json_t *json_document(void);

/* The strings of a NULL-ended list of at most `most`. */
json_t *json_strings(const char *const *strings, int most);

/* How printing went, for the process that started the printers. It may be another one: a local
 * rank 0 is a child. */
struct outcome {
    _Atomic bool begun;         /* something may have been written */
    _Atomic bool ended;         /* end() has returned: all is written but the status, */
    _Atomic int status;         /* which rank 0 took for the job's, */
    _Atomic bool explained;     /* and for which it gave reasons */
    _Atomic bool runs_shown;    /* a line that says what runs stands on the terminal */
    _Atomic size_t wrong;       /* elements, of all lines */
    _Atomic bool failed;        /* something could not be written: */
    _Atomic bool said;          /* the sentence about it was */
    _Atomic bool gone;          /* standard output takes nothing any more */
    char failure[MESSAGE_MOST]; /* a sentence about the first */
};

/* Flushes a stream; `what` names it for the sentence. */
void outcome_flush(struct outcome *outcome, FILE *file, const char *what, bool is_stdout);
/* Something could not be written. The first sentence is kept. */
void outcome_fail(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says that sentence, once, where no failure of the job will. */
void outcome_say(struct outcome *outcome);

#endif
