/*
 * output.c - writes files so that a reader never sees half of one.
 */

#include "base/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"

const char *write_error(int error)
{
    return error == ETIMEDOUT ? "no process reads it"
           : error == EFBIG   ? "a file may not be that large (ulimit -f, or its file system)"
                              : strerror(error);
}

bool write_all(int fd, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t step = write(fd, text + at, length - at);
        if (step == 0 || (step < 0 && errno != EINTR))
            return false;
        at += step > 0 ? (size_t)step : 0;
    }
    return true;
}

/* Why `path` could not be opened or written: errno. */
static enum status write_failed(const char *path, enum status status)
{
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    return fail(status, "cannot write %s: %s%s", name, write_error(errno),
                errno == EFBIG ? "" : "; choose another file");
}

enum status output_open(const char *path, int *fd)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    return *fd >= 0 ? STATUS_OK : write_failed(path, STATUS_USAGE);
}

/* Such a name must stay what it is, though it may lead to a file. */
static bool is_descriptor(const char *path)
{
    static const char *const names[] = {"/dev/stderr", "/dev/fd/", "/proc/self/fd/"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found |= strncmp(path, names[i], strlen(names[i])) == 0;
    return found;
}

bool output_is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool output_is_stream(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || is_descriptor(path) ||
           (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

/* Closes the descriptor. A file server may refuse the data as late as that. */
static bool text_write(int fd, const char *text, size_t length)
{
    bool good = fd >= 0 && write_all(fd, text, length);
    int error = errno;
    if (fd >= 0 && close(fd) != 0)
        return false;
    errno = error;
    return good;
}

static bool text_write_to(const char *text, size_t length, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    return text_write(fd, text, length);
}

static bool is_dangling(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode) && stat(path, &about) != 0;
}

/* Opens the file beside `path`, for its new content. A symbolic link stays one: what it points to
 * is replaced. A file that may not be written is not replaced, though its folder may allow that. -1
 * with errno. */
static int temporary_open(const char *path, char *target, char *temporary)
{
    struct stat old;
    bool exists = realpath(path, target) != NULL;
    if (!exists)
        snprintf(target, PATH_MAX, "%s", path);
    if (exists && (stat(target, &old) != 0 || access(target, W_OK) != 0))
        return -1;
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (snprintf(temporary, PATH_MAX, "%s.%ld.tmp", target, (long)getpid()) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    unlink(temporary); /* of a process of this number that was killed */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
    if (fd >= 0 && exists)
        fchmod(fd, old.st_mode & 0777);
    return fd;
}

/* A process that is killed meanwhile leaves the old file, and the new one beside it. */
static bool text_replace(const char *text, size_t length, const char *path)
{
    char target[PATH_MAX], temporary[PATH_MAX];
    int fd = temporary_open(path, target, temporary);
    if (fd < 0)
        return false;
    if (text_write(fd, text, length) && rename(temporary, target) == 0)
        return true;
    int error = errno;
    unlink(temporary);
    errno = error;
    return false;
}

enum status output_probe(const char *path)
{
    char target[PATH_MAX], temporary[PATH_MAX];
    if (output_is_stream(path) || is_dangling(path))
        return STATUS_OK;
    int fd = temporary_open(path, target, temporary);
    if (fd < 0)
        return write_failed(path, STATUS_USAGE);
    close(fd);
    unlink(temporary);
    return STATUS_OK;
}

bool output_replace(const char *text, size_t length, const char *path)
{
    return output_is_stream(path) || is_dangling(path) ? text_write_to(text, length, path)
                                                       : text_replace(text, length, path);
}

enum status output_put(const char *text, size_t length, const char *path)
{
    bool good = strcmp(path, "-") == 0
                    ? fflush(stdout) == 0 && write_all(STDOUT_FILENO, text, length)
                    : output_replace(text, length, path);
    return good ? STATUS_OK : write_failed(path, STATUS_ERROR);
}

FILE *draft_open(struct draft *draft)
{
    *draft = (struct draft){.text = NULL};
    draft->out = open_memstream(&draft->text, &draft->length);
    if (!draft->out)
        memory_end();
    return draft->out;
}

enum status draft_close(struct draft *draft, const char *path)
{
    if (fclose(draft->out) == 0)
        return STATUS_OK;
    free(draft->text);
    draft->text = NULL;
    return fail(STATUS_ERROR, "out of memory for %s", path);
}

enum status draft_put(struct draft *draft, enum status made, const char *path)
{
    enum status status = draft_close(draft, path);
    if (made == STATUS_OK && status == STATUS_OK)
        status = output_put(draft->text, draft->length, path);
    free(draft->text);
    return made != STATUS_OK ? made : status;
}

void outcome_fail(struct outcome *outcome, const char *format, ...)
{
    va_list arguments;
    if (atomic_load(&outcome->failed))
        return;
    va_start(arguments, format);
    vsnprintf(outcome->failure, sizeof outcome->failure, format, arguments);
    va_end(arguments);
    atomic_store(&outcome->failed, true);
}

void outcome_say(struct outcome *outcome)
{
    if (atomic_load(&outcome->failed) && !atomic_exchange(&outcome->said, true))
        say("%s", outcome->failure);
}

char *json_text(const json_t *document, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    bool good = file && json_dumpf(document, file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0;
    good = file && fputc('\n', file) != EOF && good;
    good = file && fclose(file) == 0 && good;
    if (good)
        return text;
    free(text);
    return NULL;
}

enum status json_put(const json_t *document, const char *path)
{
    size_t length = 0;
    char *text = json_text(document, &length);
    enum status status = text ? output_put(text, length, path) : write_failed(path, STATUS_ERROR);
    free(text);
    return status;
}

json_t *json_date(time_t date)
{
    char text[40] = "";
    struct tm fields;
    if (gmtime_r(&date, &fields))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields);
    return json_string(text);
}

json_t *json_strings(const char *const *strings, int most)
{
    json_t *list = json_array();
    for (int i = 0; i < most && strings[i]; i++)
        json_array_append_new(list, json_string(strings[i]));
    return list;
}
