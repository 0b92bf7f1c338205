/*
 * sysfs.c - reads the small files in which the kernel describes devices.
 */
#include "host/host.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"

static bool path_make(char path[PATH_MAX], const char *format, va_list arguments)
{
    int length = vsnprintf(path, PATH_MAX, format, arguments);
    return length > 0 && length < PATH_MAX;
}

/* Nothing blocks: a FIFO in the place of a file has no text. -1: it cannot be opened. */
static int file_open(const char *format, va_list arguments)
{
    char path[PATH_MAX];
    return path_make(path, format, arguments) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

static bool line_read(char *text, size_t size, const char *format, va_list arguments)
{
    int fd = file_open(format, arguments);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    size_t blanks = strspn(text, " \t"), length = strlen(text);
    memmove(text, text + blanks, length - blanks + 1);
    length -= blanks;
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = 0;
    for (char *at = text; *at; at++)
        *at = iscntrl((unsigned char)*at) || (unsigned char)*at >= 0x80 ? '?' : *at;
    return length > 0;
}

bool sysfs_text(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool has_line = line_read(text, size, format, arguments);
    va_end(arguments);
    return has_line;
}

bool sysfs_number(uint64_t *value, const char *format, ...)
{
    char text[64], *end = text;
    va_list arguments;
    va_start(arguments, format);
    bool has_line = line_read(text, sizeof text, format, arguments);
    va_end(arguments);
    *value = 0;
    if (!has_line || !isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    uint64_t number = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
    if (errno != 0 || *end)
        return false;
    *value = number;
    return true;
}

char *sysfs_whole(size_t most, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int fd = file_open(format, arguments);
    va_end(arguments);
    size_t used = 0;
    ssize_t got = -1;
    if (fd >= 0) {
        text = new_array(most + 1, 1);
        while ((got = read(fd, text + used, most - used)) > 0)
            used += (size_t)got;
        close(fd);
    }
    if (text && got >= 0) {
        text[used] = 0;
        return text;
    }
    free(text);
    return NULL;
}

bool sysfs_number_behind(const char *text, const char *word, uint64_t *value)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length) {
        bool begins = at == text || isspace((unsigned char)at[-1]);
        const char *number = at + length + strspn(at + length, " \t");
        if (!begins || !isdigit((unsigned char)*number))
            continue;
        errno = 0;
        *value = strtoull(number, NULL, 10);
        return errno == 0;
    }
    *value = 0;
    return false;
}

static int names_compare(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

int sysfs_names(char ***names, const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    bool fits = path_make(path, format, arguments);
    va_end(arguments);
    DIR *folder = fits ? opendir(path) : NULL;
    int count = 0;
    *names = NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] != '.')
            *LIST_ADD(*names, count) = new_text(entry->d_name);
    }
    if (folder)
        closedir(folder);
    if (count > 1)
        qsort(*names, (size_t)count, sizeof **names, names_compare);
    return count;
}

void sysfs_names_free(char **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}
