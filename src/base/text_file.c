/*
 * text_file.c - a small file of the user, as one string.
 */
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define FILE_MOST ((size_t)1 << 30) /* bytes: numbers for more than ten thousand ranks */
#define OPENER_MS 1000              /* until the writer of a FIFO has opened it */
#define WRITER_MS 20000             /* until it writes, or goes on writing */

/* As read(), on a descriptor that does not block; waits some time for the writer of a FIFO. ENXIO:
 * there is no writer; ETIMEDOUT: it neither writes nor ends. */
static ssize_t file_take(int fd, char *text, size_t room)
{
    static const int patience_ms[] = {OPENER_MS, WRITER_MS};
    struct pollfd set = {.fd = fd, .events = POLLIN};
    struct stat about;
    bool is_fifo = fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
    for (size_t i = 0; i < sizeof patience_ms / sizeof patience_ms[0]; i++) {
        int ready = poll(&set, 1, is_fifo ? patience_ms[i] : -1);
        ssize_t got = read(fd, text, room);
        if (got == 0 && ready == 0) {
            errno = ENXIO;
            return -1;
        }
        if (got >= 0 || errno != EAGAIN)
            return got;
    }
    errno = ETIMEDOUT;
    return -1;
}

/* By errno. */
static enum status file_refuse(const char *path)
{
    if (errno == ENXIO)
        return fail(STATUS_ERROR, "%.200s is a FIFO without a writer: start its writer first",
                    path);
    if (errno == ETIMEDOUT)
        return fail(STATUS_ERROR,
                    "%.200s is a pipe whose writer has written nothing for %d s and has not ended: "
                    "let it write and end",
                    path, WRITER_MS / 1000);
    return fail(STATUS_USAGE, "cannot read %.200s: %s", path, strerror(errno));
}

/* Adds a zero byte. On error *text may be there, too. */
static enum status file_load(int fd, const char *path, char **text)
{
    size_t used = 0, room = 1 << 16;
    ssize_t got = 1;
    *text = malloc(room);
    while (*text && got > 0 && used < FILE_MOST) {
        got = file_take(fd, *text + used, room - used - 1);
        if (got < 0)
            return file_refuse(path);
        if (memchr(*text + used, '\0', (size_t)got))
            return fail(STATUS_USAGE, "%.200s holds a zero byte: give text", path);
        used += (size_t)got;
        if (used + 1 == room) {
            char *grown = realloc(*text, room *= 2);
            if (!grown)
                free(*text);
            *text = grown;
        }
    }
    if (!*text)
        return fail(STATUS_ERROR, "out of memory for %.200s", path);
    if (used >= FILE_MOST)
        return fail(STATUS_USAGE, "%.200s is larger than 1G: give a smaller file", path);
    (*text)[used] = '\0';
    return STATUS_OK;
}

enum status text_file_read(const char *path, char **text)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark of UTF-8 */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *text = NULL;
    if (fd < 0)
        return fail(STATUS_USAGE, "cannot read %.200s: %s", path, strerror(errno));
    enum status status = file_load(fd, path, text);
    close(fd);
    if (status != STATUS_OK) {
        free(*text);
        *text = NULL;
    } else if (strncmp(*text, mark, strlen(mark)) == 0) {
        memmove(*text, *text + strlen(mark), strlen(*text) - strlen(mark) + 1);
    }
    return status;
}
