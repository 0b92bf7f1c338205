/*
 * markup.c - text inside XML and HTML: names and sentences that a user or another host wrote.
 */
#include "base/io/io.h"

void markup_put(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\n':
            fputc('\n', out);
            break;
        default:
            fputc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, out);
        }
}
