/*
 * stream.h - text for a reader that may pause, or go: pipes, terminals, FIFOs.
 *
 * A reader that pauses is no fault, so a writer waits for it. At the end of a job that has failed,
 * or that a signal ends, the writer gives up instead.
 */
#ifndef CCTEST_BASE_IO_STREAM_H
#define CCTEST_BASE_IO_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

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

#endif
