/*
 * stream.c - text for a reader that may pause, or go: pipes, terminals, FIFOs.
 */
#include "base/io/io.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"

#define LOOK_MS       100 /* between two looks at the patience */
#define TELL_SECONDS  5.0 /* of waiting are worth a sentence */
#define TERMINAL_PART 256 /* bytes that a terminal with room mostly takes; a pipe takes PIPE_BUF */

/* A writer has waited for `seconds`; true: no longer. */
static bool patience_ends(struct patience *patience, double seconds)
{
    if (patience->writing && !patience->told && seconds > TELL_SECONDS) {
        say("the job waits until a process reads %s", atomic_load(patience->writing));
        patience->told = true;
    }
    return atomic_load(&patience->over) || signals_pending() ||
           (patience->seconds > 0 && seconds > patience->seconds);
}

/* What is written at once seldom blocks, so that the patience is looked at. */
static size_t part_most(int fd)
{
    return isatty(fd) ? TERMINAL_PART : PIPE_BUF;
}

static bool has_reader(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && !S_ISREG(about.st_mode);
}

/* As write(). A terminal may have less room than it says, and then blocks here: that is a wait for
 * its reader, too. */
static ssize_t write_some(int fd, const char *text, size_t length, struct patience *patience)
{
    double begin = clock_seconds();
    struct pollfd set = {.fd = fd, .events = POLLOUT};
    if (!patience)
        return write(fd, text, length);
    const size_t most = part_most(fd);
    bool ends = false;
    while (!ends && poll(&set, 1, atomic_load(&patience->over) ? 0 : LOOK_MS) == 0) {
        atomic_store(&patience->waits, true);
        ends = patience_ends(patience, clock_seconds() - begin);
    }
    atomic_store(&patience->waits, has_reader(fd));
    ssize_t step = ends ? -1 : write(fd, text, length < most ? length : most);
    atomic_store(&patience->waits, false);
    if (ends)
        errno = ETIMEDOUT;
    return step;
}

bool stream_write(int fd, const char *text, size_t length, struct patience *patience)
{
    for (size_t at = 0; at < length;) {
        ssize_t step = write_some(fd, text + at, length - at, patience);
        if (step == 0 || (step < 0 && errno != EINTR && (errno != EAGAIN || !patience)))
            return false;
        at += step > 0 ? (size_t)step : 0;
        if (patience && step > 0)
            atomic_fetch_add(&patience->writes, 1);
    }
    return true;
}

static ssize_t stream_take(void *cookie, const char *text, size_t length)
{
    const struct stream *stream = cookie;
    return stream_write(stream->fd, text, length, stream->patience) ? (ssize_t)length : 0;
}

FILE *stream_open(struct stream *stream)
{
    return fopencookie(stream, "w", (cookie_io_functions_t){.write = stream_take});
}

const char *stream_error(void)
{
    return errno == ETIMEDOUT ? "no process reads it"
           : errno == EFBIG   ? "a file may not be that large (ulimit -f, or its file system)"
                              : strerror(errno);
}
