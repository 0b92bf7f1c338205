/*
 * fold.c - sentences on a terminal: lines that are longer than it is wide go on below, where their
 * text begins, and not in the middle of a word.
 */
#include "base/io/io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/list.h"

#define WIDTH_LEAST 40 /* columns; a narrower terminal gets whole lines */
#define DEEPER      2  /* blanks: a comment goes on behind its beginning */
#define ESCAPE      '\033'
#define COMMANDS    "# scontrol" /* to be copied whole */

struct folding {
    FILE *out;
    int width;
    char *line; /* the beginning of a line */
    size_t length;
};

/* The text of a line begins behind its last two blanks, else behind "# ". */
static size_t text_column(const char *line, size_t length)
{
    size_t column = length > 0 && line[0] == '#' ? 1 : 0;
    while (column < length && line[column] == ' ')
        column++;
    for (size_t i = 2; i < length; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            column = i;
    return column;
}

/* Rows of numbers are not folded, nor lines with colours, nor commands. */
static bool is_foldable(const char *line, size_t length, size_t column, int width)
{
    return length > (size_t)width && column <= (size_t)width / 2 && !memchr(line, ESCAPE, length) &&
           memcmp(line, COMMANDS, strlen(COMMANDS)) != 0;
}

/* The place of the blank at which a line breaks: the last one in its room, unless the word behind
 * it is too long for a line; then a later one, or the end. */
static size_t break_find(const char *line, size_t from, size_t length, size_t room, size_t next)
{
    size_t end = from + room;
    while (end > from && line[end] != ' ')
        end--;
    while (end < length) {
        const char *blank = memchr(line + end + 1, ' ', length - end - 1);
        size_t word = (blank ? (size_t)(blank - line) : length) - end - 1;
        if (end > from && word <= next)
            break;
        end += word + 1;
    }
    return end;
}

/* `line` has no newline. */
static void line_print(FILE *out, const char *line, size_t length, int width)
{
    while (length > 0 && line[length - 1] == ' ')
        length--;
    size_t column = text_column(line, length), from = 0, room = (size_t)width;
    bool is_comment = length > 0 && line[0] == '#';
    size_t deeper = is_comment ? column + DEEPER : column, next = (size_t)width - deeper;
    while (is_foldable(line, length, column, width) && length - from > room) {
        size_t first = from > 0 ? from : column;
        size_t end = break_find(line, first, length, room - (first - from), next);
        if (end >= length)
            break;
        fprintf(out, "%.*s\n%s%*s", (int)(end - from), line + from, is_comment ? "#" : "",
                (int)deeper - is_comment, "");
        from = end + 1;
        room = next;
    }
    fprintf(out, "%.*s\n", (int)(length - from), line + from);
}

static ssize_t folding_write(void *cookie, const char *text, size_t length)
{
    struct folding *folding = cookie;
    for (const char *at = text; at < text + length; at++) {
        if (*at != '\n') {
            *LIST_ADD(folding->line, folding->length) = *at;
            continue;
        }
        line_print(folding->out, folding->line, folding->length, folding->width);
        folding->length = 0;
    }
    return fflush(folding->out) == 0 && !ferror(folding->out) ? (ssize_t)length : 0;
}

static int folding_close(void *cookie)
{
    struct folding *folding = cookie;
    if (folding->length > 0)
        fwrite(folding->line, 1, folding->length, folding->out);
    bool failed = ferror(folding->out);
    failed |= fclose(folding->out) != 0;
    free(folding->line);
    free(folding);
    return failed ? EOF : 0;
}

FILE *folded_stream(FILE *out, int fd)
{
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col < WIDTH_LEAST)
        return out;
    struct folding *folding = new_array(1, sizeof *folding);
    folding->out = out;
    folding->width = size.ws_col;
    FILE *stream = fopencookie(
        folding, "w", (cookie_io_functions_t){.write = folding_write, .close = folding_close});
    if (!stream)
        memory_end();
    return stream;
}
