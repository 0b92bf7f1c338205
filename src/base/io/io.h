/*
 * io.h - the interface of base/io/.
 */
#ifndef CCTEST_BASE_IO_IO_H
#define CCTEST_BASE_IO_IO_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/failure.h"
#include "base/status.h"

/* ---- json.c ---- */

/* Reads the document of this file: JSON of this cctest's schema, with a version; what else it has is
 * the caller's to check. The caller gives up the reference. STATUS_USAGE, with the reason, and no
 * document. */
enum status document_read(const char *path, json_t **document);

/* What an object has, whose values may be of any type. */
/* A number up to 10^18, above what anything measures; NAN where there is none. */
double number_of(const json_t *object, const char *key);
/* Text; "" where there is none. */
const char *word_of(const json_t *object, const char *key);

/* ---- Reads a document that a user may have edited: the first thing that is missing or
 * wrong becomes one sentence, with the file and the place in it.
 *
 * A reader that has failed returns zeroes and empty arrays, so that its caller checks once, at the
 * end. jansson knows lines of syntax errors only, so a value is named by its place: "links[2].port".
 * ---- */

#define JSON_PLACE_MOST 256

struct json_reader {
    const char *path;              /* of the file, for sentences */
    const char *remedy;            /* what to do, for sentences: "fit it again with `cctest fit`" */
    char place[JSON_PLACE_MOST];   /* of the object that is read: "", "links[2]." */
    enum status status;
};

/* Records the sentence that the value at `key` is wrong: "FILE: PLACE.KEY is ...; REMEDY". */
void json_reader_fail(struct json_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

double json_reader_number(struct json_reader *reader, const json_t *object, const char *key,
                          double least, double most);
int json_reader_whole(struct json_reader *reader, const json_t *object, const char *key, int least,
                      int most);
bool json_reader_bool(struct json_reader *reader, const json_t *object, const char *key);
/* Refuses control characters, which would break the lines of a table. */
void json_reader_text(struct json_reader *reader, const json_t *object, const char *key, char *text,
                      size_t size);
/* The index of a word in a list that ends with NULL. */
int json_reader_word(struct json_reader *reader, const json_t *object, const char *key,
                     const char *const *words);
/* An array of at most `most` entries; NULL after a failure. */
const json_t *json_reader_array(struct json_reader *reader, const json_t *object, const char *key,
                                size_t most);
/* An object; NULL after a failure. */
const json_t *json_reader_object(struct json_reader *reader, const json_t *object, const char *key);

/* Entry `index` of the array at `key`, an object, is read next, until json_reader_leave() with what this
 * returns. */
size_t json_reader_enter(struct json_reader *reader, const char *key, size_t index);
void json_reader_leave(struct json_reader *reader, size_t before);

/* ---- Text inside XML and HTML. ---- */

/* Text in which characters with a meaning are escaped, also inside a quoted attribute. Control
 * characters become blanks. */
void markup_put(FILE *out, const char *text);

/* ---- Text for a reader that may pause, or go: pipes, terminals, FIFOs.
 *
 * A reader that pauses is no fault, so a writer waits for it. At the end of a job that has failed,
 * or that a signal ends, the writer gives up instead.
 * ---- */

/* How long a writer waits for a reader. A pending signal that ends jobs ends the wait, too. */
struct patience {
    _Atomic bool over;            /* the writer no longer waits */
    _Atomic bool waits;           /* it waits now */
    _Atomic unsigned long writes; /* that have returned, of all streams */
    double seconds;               /* that the reader may take nothing; 0: no limit */
    const char *_Atomic *writing; /* what is being written, for a sentence; NULL: says none */
    bool told;                    /* that the writer waits */
};

/* Writes all of the text; false with errno, which is ETIMEDOUT where the wait for the reader ended.
 * Says so if it waits for long. `patience` NULL: as write() does. */
bool stream_write(int fd, const char *text, size_t length, struct patience *patience);

/* What a stream writes to. */
struct stream {
    int fd;
    struct patience *patience;
};

/* A buffered stream of which fflush() writes so; `stream` outlives it. fclose() leaves its `fd`
 * open. NULL: out of memory. */
FILE *stream_open(struct stream *stream);

/* Why a write failed, by errno: "Broken pipe", "no process reads it". */
const char *stream_error(void);

/* ---- Files that are whole at any moment, and what JSON documents share. ---- */

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
