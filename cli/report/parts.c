/*
 * parts.c - pieces of an HTML page.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"


static void text_put_list(FILE *out, const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    markup_put(out, text);
    free(text);
}

void text_put(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_put_list(out, format, arguments);
    va_end(arguments);
}

/* A heading of this level, and the link to it. */
static void heading_put(struct page *page, int level, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    fprintf(page->body, "<section aria-labelledby=\"s%d\">\n<h%d id=\"s%d\">", page->sections,
            level, page->sections);
    text_put_list(page->body, format, arguments);
    fprintf(page->body, "</h%d>\n", level);
    fprintf(page->links, "<li%s><a href=\"#s%d\">", level == 2 ? " class=\"document\"" : "",
            page->sections);
    text_put_list(page->links, format, again);
    fputs("</a></li>\n", page->links);
    va_end(again);
    page->sections++;
}

void document_begin(struct page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    heading_put(page, 2, format, arguments);
    va_end(arguments);
}

void section_begin(struct page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    heading_put(page, 3, format, arguments);
    va_end(arguments);
}

void section_end(struct page *page)
{
    fputs("</section>\n", page->body);
}

void element_put(FILE *out, const char *element, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(out, "<%s>", element);
    text_put_list(out, format, arguments);
    fprintf(out, "</%.*s>\n", (int)strcspn(element, " "), element);
    va_end(arguments);
}

void scroll_begin(FILE *out, const char *label)
{
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
    markup_put(out, label);
    fputs("\">\n", out);
}

void scroll_end(FILE *out)
{
    fputs("</div>\n", out);
}

void table_begin(FILE *out, const char *caption, const char *const *columns)
{
    scroll_begin(out, caption);
    fputs("<table>\n<thead><tr>", out);
    for (; *columns; columns++) {
        bool number = **columns == '#';
        fprintf(out, "<th scope=\"col\"%s>", number ? " class=\"number\"" : "");
        markup_put(out, *columns + number);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void table_end(FILE *out)
{
    fputs("</tbody></table>\n", out);
    scroll_end(out);
}

void details_begin(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("<details><summary>", out);
    text_put_list(out, format, arguments);
    fputs("</summary>\n", out);
    va_end(arguments);
}

void details_end(FILE *out)
{
    fputs("</details>\n", out);
}

const char *number_text(double value, char text[NUMBER_TEXT_MOST])
{
    double size = fabs(value);
    if (isnan(value))
        return strcpy(text, "-");
    int decimals = size == 0 ? 0 : 2 - (int)floor(log10(size));
    if (decimals > 9 || size >= 1e15)
        snprintf(text, NUMBER_TEXT_MOST, "%.2e", value);
    else
        snprintf(text, NUMBER_TEXT_MOST, "%.*f", decimals < 0 ? 0 : decimals, value);
    return text;
}

const char *share_text(double part, double whole, char text[NUMBER_TEXT_MOST])
{
    double share = 100 * part / whole;
    snprintf(text, NUMBER_TEXT_MOST, fabs(share) < 1e9 ? "%.0f%%" : "", share);
    return text;
}

const char *plural_end(size_t count)
{
    return count == 1 ? "" : "s";
}
