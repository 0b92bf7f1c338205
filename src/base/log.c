/*
 * log.c - the log of a rank, and one line at a time on stderr.
 */
#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define FULL_MS 200 /* that a line waits for space in a full pipe */

static struct log program_log = {
    .rank = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .failure = {.peer = NO_RANK}};

/* The log of the rank that this thread works for. */
static _Thread_local struct log *attached;

/* The place in the input that this thread reads. */
static _Thread_local const struct failure_place *within;

void log_init(struct log *log, int rank, int verbosity)
{
    memset(log, 0, sizeof *log);
    log->rank = rank;
    log->verbosity = verbosity;
    log->failure.peer = NO_RANK;
    pthread_mutex_init(&log->lock, NULL);
}

void log_attach(struct log *log)
{
    attached = log;
}

struct log *log_current(void)
{
    return attached ? attached : &program_log;
}

/* A copy without control characters: what the user typed, or another program sent, must neither
 * move the terminal's cursor nor begin a line. */
static const char *text_visible(const char *text, char *copy, size_t size)
{
    struct text visible = text_in(copy, size);
    for (const char *at = text; *at; at++)
        text_add(&visible, (unsigned char)*at < ' ' || *at == 0x7f ? "\\x%02x" : "%c", *at);
    return copy;
}

/* One write(2) for the whole line, so that the lines of many ranks do not mix. */
static void line_put(const struct log *log, const char *sentence)
{
    char line[SAY_MOST + 40]; /* with the rank */
    char copy[SAY_MOST];
    const char *text = text_visible(sentence, copy, sizeof copy);
    int length = log->rank < 0
                     ? snprintf(line, sizeof line, "cctest: %s\n", text)
                     : snprintf(line, sizeof line, "cctest: rank %d: %s\n", log->rank, text);
    if (length >= (int)sizeof line) {
        length = sizeof line - 1;
        line[length - 1] = '\n';
    }
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written; /* stderr was the last resort */
}

/* A pipe without a reader fills up, and a write to it would block. Once it was full, lines do
 * not wait for it any more until it has space. */
static void line_write(struct log *log, const char *text)
{
    struct pollfd set = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&set, 1, atomic_load(&log->dropped) > 0 ? 0 : FULL_MS) <= 0) {
        atomic_fetch_add(&log->dropped, 1);
        return;
    }
    int dropped = atomic_exchange(&log->dropped, 0);
    if (dropped > 0) {
        char notice[64];
        snprintf(notice, sizeof notice, "(%d lines before this one found no reader)", dropped);
        line_put(log, notice);
    }
    line_put(log, text);
}

enum status fail_again(const struct failure *failure)
{
    struct log *log = log_current();
    pthread_mutex_lock(&log->lock);
    bool first = log->failure.status == STATUS_OK;
    if (first)
        log->failure = *failure;
    pthread_mutex_unlock(&log->lock);
    if (!first && log->verbosity >= 2)
        line_write(log, failure->text);
    return failure->status;
}

enum status fail(enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct failure failure = failure_make(status, REASON_OWN, NO_RANK, within, format, arguments);
    va_end(arguments);
    return fail_again(&failure);
}

enum status fail_at(enum status status, const struct failure_place *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct failure failure = failure_make(status, REASON_OWN, NO_RANK, place, format, arguments);
    va_end(arguments);
    return fail_again(&failure);
}

void fail_within(const struct failure_place *place)
{
    within = place;
}

enum status fail_peer(enum failure_reason reason, int peer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct failure failure =
        failure_make(failure_peer_status(reason), reason, peer, NULL, format, arguments);
    va_end(arguments);
    return fail_again(&failure);
}

enum status fail_aloud(const struct failure *failure)
{
    struct log *log = log_current();
    pthread_mutex_lock(&log->lock);
    if (log->failure.status == STATUS_OK) {
        log->failure = *failure;
        log->told = true;
    }
    pthread_mutex_unlock(&log->lock);
    line_write(log, failure->text);
    return failure->status;
}

bool log_failure(struct log *log, struct failure *failure)
{
    pthread_mutex_lock(&log->lock);
    *failure = log->failure;
    pthread_mutex_unlock(&log->lock);
    return failure->status != STATUS_OK;
}

void log_print_failure(struct log *log)
{
    char sentence[SAY_MOST];
    pthread_mutex_lock(&log->lock);
    snprintf(sentence, sizeof sentence, "%s%s", log->failure.text, log->origin);
    if (log->failure.status != STATUS_OK && !log->told)
        line_write(log, sentence);
    log->told = true;
    pthread_mutex_unlock(&log->lock);
}

static void say_at(int level, const char *format, va_list arguments)
{
    struct log *log = log_current();
    char text[SAY_MOST];
    if (log->verbosity < level)
        return;
    vsnprintf(text, sizeof text, format, arguments);
    line_write(log, text);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_at(0, format, arguments);
    va_end(arguments);
}

void say_verbose(int level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_at(level, format, arguments);
    va_end(arguments);
}
