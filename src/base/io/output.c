/*
 * output.c - writes files so that a reader never sees half of one.
 */

#include "base/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define READER_SECONDS 1.0 /* for the reader of a FIFO, started just before, to open it */

static bool is_fifo(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
}

/* Why `path` could not be opened or written: errno. */
static enum status write_failed(const char *path)
{
    if (errno == ENXIO && is_fifo(path))
        return fail(STATUS_ERROR, "%s is a FIFO without a reader: start its reader first", path);
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    if (errno == ETIMEDOUT || errno == EFBIG)
        return fail(STATUS_ERROR, "cannot write %s: %s", name, stream_error());
    return fail(STATUS_ERROR, "cannot write %s: %s; choose another file", name, strerror(errno));
}

/* Opens `path`, and makes it if it is not there. A FIFO without a reader does not block: ENXIO,
 * after a moment. NULL with errno. */
static FILE *output_open(const char *path, bool append)
{
    int how = append ? O_APPEND : O_TRUNC, fd;
    double until = clock_seconds() + READER_SECONDS;
    /* Without O_NONBLOCK, a FIFO without a reader blocks its writer for ever. */
    while ((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | how, 0666)) <
               0 &&
           errno == ENXIO && is_fifo(path) && clock_seconds() < until)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (fd < 0)
        return NULL;
    fcntl(fd, F_SETFL, how & O_APPEND);
    FILE *file = fdopen(fd, append ? "a" : "w");
    if (!file)
        close(fd);
    return file;
}

enum status output_try(const char *path, FILE **file)
{
    *file = output_open(path, true);
    if (*file)
        return STATUS_OK;
    bool is_named_wrong = errno != ENXIO;
    enum status status = write_failed(path);
    return is_named_wrong ? STATUS_USAGE : status;
}

enum status output_probe(const char *path)
{
    FILE *file;
    struct stat about;
    bool leads = stat(path, &about) == 0, is_fifo = leads && S_ISFIFO(about.st_mode);
    bool is_there = lstat(path, &about) == 0; /* a link that leads nowhere is not tried */
    if (strcmp(path, "-") == 0 || is_fifo || (is_there && !leads))
        return STATUS_OK;
    enum status status = output_try(path, &file);
    if (status == STATUS_OK)
        fclose(file);
    if (status == STATUS_OK && !is_there)
        unlink(path);
    return status;
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

/* Writes to an open file, and closes it unless it is standard output. */
static bool text_write(const char *text, size_t length, FILE *file, struct patience *patience)
{
    bool good = fflush(file) == 0 && stream_write(fileno(file), text, length, patience);
    int error = errno;
    if (file != stdout && fclose(file) != 0)
        return false;
    errno = error;
    return good;
}

static bool text_write_to(const char *text, size_t length, const char *path,
                          struct patience *patience)
{
    FILE *file = output_open(path, false);
    return file && text_write(text, length, file, patience);
}

/* A file that replaces another has its owner and its mode, as far as the system allows that. `old`
 * NULL: it replaces none. Its owner may read and replace it in any case, since cctest does. */
static void file_resemble(int fd, const struct stat *old)
{
    struct stat now;
    mode_t kept = 0777;
    if (!old && fstat(fd, &now) != 0)
        return;
    if (old) {
        bool owned = fchown(fd, old->st_uid, old->st_gid) == 0;
        bool shared = owned || fchown(fd, (uid_t)-1, old->st_gid) == 0; /* by its group */
        kept = owned ? 07777 : shared ? 0777 : 0707;
    }
    fchmod(fd, ((old ? old->st_mode : now.st_mode) & kept) | S_IRUSR | S_IWUSR);
}

/* Makes the file `name` only when all of it is written: a process that is killed before that leaves
 * nothing behind. *possible: false where the file system has no files without a name, or without
 * /proc; else the result is final. */
static bool text_write_unnamed(const char *text, size_t length, const char *name,
                               const struct stat *old, bool *possible)
{
    char folder[PATH_MAX], link[64];
    snprintf(folder, sizeof folder, "%s", name);
    int fd = open(dirname(folder), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    *possible = fd >= 0;
    if (fd < 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    file_resemble(fd, old);
    bool good = stream_write(fd, text, length, NULL);
    *possible = !good || linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    int error = errno;
    if (close(fd) == 0)
        errno = error;
    else
        good = false;
    return good && *possible;
}

/* The new content of a file, under the name `temporary`. */
static bool text_write_beside(const char *text, size_t length, const char *temporary,
                              const struct stat *old)
{
    bool possible, good = text_write_unnamed(text, length, temporary, old, &possible);
    if (possible)
        return good;
    FILE *file = output_open(temporary, false);
    if (file)
        file_resemble(fileno(file), old);
    return file && text_write(text, length, file, NULL);
}

/* A symbolic link stays one: what it points to is replaced. */
static bool text_replace(const char *text, size_t length, const char *path)
{
    char *target = realpath(path, NULL);
    const char *name = target ? target : path;
    char temporary[PATH_MAX];
    struct stat about;
    bool exists = lstat(name, &about) == 0;
    if (!target && exists && S_ISLNK(about.st_mode))
        return text_write_to(text, length, path, NULL); /* its target is not there yet */
    if (exists && access(name, W_OK) != 0) { /* though the folder may let it be replaced */
        free(target);
        return false;
    }
    bool good = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", name, (long)getpid()) <
                (int)sizeof temporary;
    if (good && text_write_beside(text, length, temporary, exists ? &about : NULL)) {
        good = rename(temporary, name) == 0;
        if (!good)
            unlink(temporary);
    } else if (good && (errno == EACCES || errno == EPERM || errno == EROFS)) {
        /* The folder takes no new file, but the file that is there may well be written. */
        int why = errno;
        good = access(name, W_OK) == 0 && text_write_to(text, length, name, NULL);
        if (!good && errno == ENOENT)
            errno = why;
    } else if (good) {
        int why = errno;
        unlink(temporary);
        errno = why;
        good = false;
    }
    free(target);
    return good;
}

enum status output_put(const char *text, size_t length, const char *path, struct patience *patience)
{
    bool good = strcmp(path, "-") == 0   ? text_write(text, length, stdout, patience)
                : output_is_stream(path) ? text_write_to(text, length, path, patience)
                                         : text_replace(text, length, path);
    return good ? STATUS_OK : write_failed(path);
}

void outcome_flush(struct outcome *outcome, FILE *file, const char *what, bool is_stdout)
{
    if (fflush(file) == 0)
        return;
    if (is_stdout)
        outcome->gone = true;
    outcome_fail(outcome, "cannot write %s: %s", what, stream_error());
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

enum status json_put(const json_t *document, const char *path, struct patience *patience)
{
    size_t length = 0;
    char *text = json_text(document, &length);
    enum status status = text ? output_put(text, length, path, patience) : write_failed(path);
    free(text);
    return status;
}

json_t *json_document(void)
{
    return json_pack("{s:i, s:s}", "schema", 1, "version", CCTEST_VERSION);
}

json_t *json_strings(const char *const *strings, int most)
{
    json_t *list = json_array();
    for (int i = 0; i < most && strings[i]; i++)
        json_array_append_new(list, json_string(strings[i]));
    return list;
}
