/*
 * log.h - a rank's messages on stderr, and its first failure.
 *
 * A rank is a context, not a process, so its log is an object. Each thread is attached to the log
 * of the rank that it works for, which fail() and say() use. A thread without one uses the
 * program's log.
 */
#ifndef CCTEST_BASE_LOG_H
#define CCTEST_BASE_LOG_H

#include <pthread.h>
#include <stdbool.h>

#include "base/failure.h"

#define ORIGIN_MOST 400 /* bytes, with its 0 */

struct log {
    int rank;            /* -1: the program, not a rank */
    int verbosity;       /* 0: failures only; 1 (-v): details; 2: everything */
    _Atomic int dropped; /* lines that stderr did not accept in time */
    pthread_mutex_t lock;
    struct failure failure;   /* status STATUS_OK until the first fail() */
    char origin[ORIGIN_MOST]; /* printed behind it: where the values of its options come from */
    bool told;                /* it has been printed */
};

void log_init(struct log *log, int rank, int verbosity);

/* Attaches the calling thread to `log`, which must live longer than the thread. NULL: to the
 * program's. */
void log_attach(struct log *log);

/* The calling thread's log; never NULL. */
struct log *log_current(void);

/* Records a failure: the first one of a log is kept, later ones are consequences and are dropped
 * (shown at verbosity 2). Returns `status`, so that a caller writes `return fail(...)`. Prints
 * nothing: rank 0 prints a rank's failure, once. Only if the failure cannot be delivered, the rank
 * prints it itself (log_print_failure). */
enum status fail(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same of a place in the input, with which the sentence begins. */
enum status fail_at(enum status status, const struct failure_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a line of a file, from 1. */
#define fail_line(status, path, number, ...)                                                       \
    fail_at(status, &(struct failure_place){.file = (path), .line = (int)(number)}, __VA_ARGS__)

/* The same of options, by their long names, apart by blanks: the user may have set them elsewhere
 * than in the command line. */
#define fail_option(status, names, ...)                                                            \
    fail_at(status, &(struct failure_place){.options = (names)}, __VA_ARGS__)

/* Until the next call, fail() in this thread is of this place; NULL: of none. For readers of texts
 * that stand in a file or in the command line. */
void fail_within(const struct failure_place *place);

/* The same where another rank is the reason (failure_set_peer()). Returns the status that follows
 * from it. */
enum status fail_peer(enum failure_reason reason, int peer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records one that another log holds, in the same way. */
enum status fail_again(const struct failure *failure);

/* The same, but prints its sentence at once, also where it is not the first. */
enum status fail_aloud(const struct failure *failure);

/* Copies the recorded failure; false: there is none. */
bool log_failure(struct log *log, struct failure *failure);

/* Prints the recorded failure, if there is one that has not been printed, as one line on stderr. */
void log_print_failure(struct log *log);

/* Bytes of a line with its 0: a sentence, and whose it is. */
#define SAY_MOST (MESSAGE_MOST + ORIGIN_MOST)

/* One line on stderr, "cctest: rank 3: ..." (the rank only if there is one), in one write.
 * Must not hang if no process reads stderr: a line that stderr does not accept within 200 ms is
 * dropped, and counted. One of more than SAY_MOST bytes is cut. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, at verbosity `level` and above only. */
void say_verbose(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
