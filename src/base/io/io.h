/*
 * io.h - the interface of base/io/.
 */
#ifndef CCTEST_BASE_IO_IO_H
#define CCTEST_BASE_IO_IO_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/failure.h"
#include "base/status.h"

/* ---- json.c ---- */

/* Reads the document of this file: JSON of this cctest's schema, with a version; what else it has
 * is the caller's to check. The caller gives up the reference. STATUS_USAGE, with the reason, and
 * no document. */
enum status document_read(const char *path, json_t **document);

/* Members of an object, whose values may be of any type. */
/* A number up to 10^18, above what anything measures; NAN where there is none. */
double number_of(const json_t *object, const char *key);
/* A whole number; 0 where there is none. */
long long whole_of(const json_t *object, const char *key);
/* Text; "" where there is none. */
const char *word_of(const json_t *object, const char *key);

/* ---- Reads a document that a user may have edited: the first thing that is missing or
 * wrong becomes one sentence, with the file and the place in it.
 *
 * A reader that has failed returns zeroes and empty arrays, so that its caller checks once, at the
 * end. jansson knows lines of syntax errors only, so a value is named by its place:
 * "links[2].port".
 * ---- */

#define JSON_PLACE_MOST 256

struct json_reader {
    const char *path;            /* of the file, for sentences */
    const char *remedy;          /* what to do, for sentences: "fit it again with `cctest fit`" */
    char place[JSON_PLACE_MOST]; /* of the object that is read: "", "links[2]." */
    enum status status;
};

/* Records the sentence that the value at `key` is wrong: "FILE: PLACE.KEY is ...: REMEDY". "": the
 * object itself is. */
void json_reader_fail(struct json_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

double json_reader_number(struct json_reader *reader, const json_t *object, const char *key,
                          double least, double most);
/* 2.0 is whole, too. */
int json_reader_whole(struct json_reader *reader, const json_t *object, const char *key, int least,
                      int most);
/* `standard` where there is none. */
int json_reader_whole_or(struct json_reader *reader, const json_t *object, const char *key,
                         int standard, int least, int most);
/* Entry `index` of the array at `key`. */
int json_reader_whole_at(struct json_reader *reader, const json_t *list, const char *key,
                         size_t index, int least, int most);
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

/* `count` zeroed elements of `size` bytes from the arena; NULL after a failure, which lack of
 * memory is, too. */
void *json_reader_take(struct json_reader *reader, struct arena *arena, size_t count, size_t size);

/* Entry `index` of the array at `key`, an object, is read next, until json_reader_leave() with the
 * number that this returns. */
size_t json_reader_enter(struct json_reader *reader, const char *key, size_t index);
/* The same of the object at `key`. */
size_t json_reader_enter_object(struct json_reader *reader, const char *key);
void json_reader_leave(struct json_reader *reader, size_t before);

/* ---- Text inside XML and HTML. ---- */

/* Text in which characters with a meaning are escaped, also inside a quoted attribute. Control
 * characters become blanks. */
void markup_put(FILE *out, const char *text);

/* ---- queue.c: text for a reader that may pause, or go: a terminal, a pipe, a FIFO; and a file
 * that is replaced, which takes seconds where the file system is busy. A thread writes it.
 * ---- */

struct output_queue;

/* The thread starts with the first text. A process may fork before that: each then has a queue. */
struct output_queue *output_queue_create(void);
/* Drops what waits, and closes the descriptor. NULL is allowed. */
void output_queue_destroy(struct output_queue *queue);
/* Where the text goes, before the first. The queue owns the descriptor, unless it is a standard
 * one. */
void output_queue_open(struct output_queue *queue, int fd);
/* Instead: each text replaces the file at this path, which must stay, as output_put() does. Of
 * several texts that wait only the last one is written. */
void output_queue_open_file(struct output_queue *queue, const char *path);
int output_queue_fd(const struct output_queue *queue);
/* After output_queue_drain(). Returns an errno, or 0: a file server may refuse the data as late as
 * that. */
int output_queue_close(struct output_queue *queue);

/* Queues text. Where no thread can be started, writes it. False with errno: the queue has
 * failed. */
bool output_queue_put(struct output_queue *queue, const char *bytes, size_t length);
/* A buffered stream of which fflush() puts the text into the queue. */
FILE *output_queue_stream(struct output_queue *queue);

/* On a terminal (`fd`): a stream over `out` that folds lines of text to its width, and closes `out`
 * when it is closed; else `out` itself. */
FILE *folded_stream(FILE *out, int fd);

/* Bytes that wait to be written. */
size_t output_queue_bytes(struct output_queue *queue);
/* errno of a failed write, after which nothing more is written; 0: none. */
int output_queue_error(struct output_queue *queue);
/* The same by another failure than that of a write. */
void output_queue_fail(struct output_queue *queue, int error);
/* Waits until all is written. Gives up when the reader has taken nothing for `seconds` (0: no
 * limit), and when a signal that ends jobs is pending: the queue has failed with ETIMEDOUT then. */
void output_queue_drain(struct output_queue *queue, double seconds);
/* Drops the texts that wait for a file, and waits until the one under way is written. */
void output_queue_settle(struct output_queue *queue);

/* ---- Files that are whole at any moment, and what JSON documents share. ---- */

/* Why a write failed, by its errno: "Broken pipe", "no process reads it". */
const char *write_error(int error);

/* Replaces a file as output_put() does, without a sentence; false with errno. */
bool output_replace(const char *text, size_t length, const char *path);

/* Writes all of the text; false with errno. */
bool write_all(int fd, const char *text, size_t length);

/* Writes `length` bytes to `path`: "-" is standard output; a regular file, or one that is not there
 * yet, is replaced at once by rename, and keeps its mode; anything else (a device, a FIFO) is
 * written to. STATUS_ERROR, with the reason, if that fails: a regular file then has what it had
 * before. */
enum status output_put(const char *text, size_t length, const char *path);

/* A text that grows in memory, and then becomes a file. */
struct draft {
    FILE *out;
    char *text; /* once it is closed */
    size_t length;
};
/* Returns draft->out. Without memory for a stream the process ends (list.h). */
FILE *draft_open(struct draft *draft);
/* Ends the text, which the caller frees. STATUS_ERROR, and no text: it did not fit the memory. */
enum status draft_close(struct draft *draft, const char *path);
/* Ends the text and puts it as output_put() does, unless its writer failed: `made`. */
enum status draft_put(struct draft *draft, enum status made, const char *path);

/* The same as output_put() for a document. */
enum status json_put(const json_t *document, const char *path);
/* A document as text, which the caller frees. NULL: out of memory. */
char *json_text(const json_t *document, size_t *length);

/* Opens `path` before there are ranks, to append to it, and makes it if it is not there. A FIFO
 * waits for its reader. On failure *fd is -1, and the reason is recorded: STATUS_USAGE. */
enum status output_open(const char *path, int *fd);

/* Can output_put() write to `path`? A FIFO, or a link that leads nowhere, is not tried. Fails like
 * output_open(). */
enum status output_probe(const char *path);

/* Is there anything but a regular file at `path`? It cannot be replaced, only written to once. */
bool output_is_stream(const char *path);

/* Is it standard output? Then a table goes to standard error. NULL is allowed. */
bool output_is_standard(const char *path);

/* "2026-11-29T05:38:04Z"; a new reference. */
json_t *json_date(time_t date);

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

/* Something could not be written. The first sentence is kept. */
void outcome_fail(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says that sentence, once, where no failure of the job will. */
void outcome_say(struct outcome *outcome);

#endif
