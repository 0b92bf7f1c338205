/*
 * text.c - prose in columns, for `help` and `list`.
 */
#include "cli/info/internal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void text_print(const char *text, int used, int column)
{
    int at = column;
    bool goes_on = used == 0 || used < column;
    printf("%s%*s", goes_on ? "" : "\n", goes_on ? column - used : column, "");
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");
        if (at > column && at + 1 + length > TEXT_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", length, word);
        word += length;
    }
    putchar('\n');
}

const char *text_join(const char *const *strings, int most, char *text, size_t size)
{
    struct text out = text_in(text, size);
    for (int i = 0; i < most && strings[i]; i++)
        text_add(&out, i ? ", %s" : "%s", strings[i]);
    return text;
}
