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

#define WIDTH_LEAST 40 /* of a terminal that is worth the trouble */
#define DEEPER      2  /* blanks: a comment goes on behind its beginning */
#define ESCAPE      '\033'
#define COMMANDS    "# scontrol" /* to be copied whole */

struct folding {
    FILE *out;
    int width;
    char *line; /* that has not ended */
    size_t length;
};

/* The column from which on a line is a text: behind its last two blanks, or behind "# ". */
static size_t text_column(const char *line, size_t length)
{
    size_t column = length > 0 && line[0] == '#' ? 1 : 0;
    while (column < length && line[column] == ' ')
        column++;
    for (size_t i = 1; i < length; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && i >= 2 && line[i - 2] == ' ')
            column = i;
    return column;
}

/* Rows of numbers are not folded, nor lines with colours, nor commands. */
static bool is_foldable(const char *line, size_t length, size_t column, int width)
{
    return length > (size_t)width && column <= (size_t)width / 2 && !memchr(line, ESCAPE, length) &&
           memcmp(line, COMMANDS, strlen(COMMANDS)) != 0;
}

/* `line` has no newline. */
static void line_print(FILE *out, const char *line, size_t length, int width)
{
    size_t column = text_column(line, length), from = 0, room = (size_t)width;
    bool is_comment = length > 0 && line[0] == '#';
    size_t deeper = is_comment ? column + DEEPER : column;
    while (is_foldable(line, length, column, width) && length - from > room) {
        size_t end = from + room;
        while (end > from && line[end] != ' ')
            end--;
        if (end <= from + (from > 0 ? 0 : column))
            break;
        fprintf(out, "%.*s\n%c%*s", (int)(end - from), line + from, is_comment ? '#' : ' ',
                (int)deeper - 1, "");
        from = end + 1;
        room = (size_t)width - deeper;
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
    return fflush(folding->out) == 0 ? (ssize_t)length : 0;
}

static int folding_close(void *cookie)
{
    struct folding *folding = cookie;
    if (folding->length > 0)
        fwrite(folding->line, 1, folding->length, folding->out);
    int closed = fclose(folding->out);
    free(folding->line);
    free(folding);
    return closed;
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
