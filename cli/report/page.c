/*
 * page.c - a page of HTML: its head, its links, and a part for each document.
 */
#include "cli/report/internal.h"

#include "base/io/io.h"
#include "base/log.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * Pieces of an HTML page.
 */
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

void fact_put(FILE *out, const char *name, const char *value)
{
    if (*value) {
        element_put(out, "dt", "%s", name);
        element_put(out, "dd", "%s", value);
    }
}

void origin_put(FILE *out, const json_t *document, const char *members)
{
    const char *bootstrap = word_of(document, "bootstrap");
    bool met = *bootstrap && strcmp(bootstrap, "none") != 0;
    double seconds = number_of(document, "seconds");
    char took[TIME_TEXT_MOST];
    fact_put(out, "Began", word_of(document, "began"));
    fact_put(out, "Took", seconds >= 0 ? time_text(seconds, took) : "");
    fact_put(out, "Command", word_of(document, "command_line"));
    fputs("<dt>Made by</dt>", out);
    element_put(out, "dd", "cctest %s%s%s%s%s", word_of(document, "version"), met ? ", " : "",
                met ? members : "", met ? " by " : "", met ? bootstrap : "");
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

const char *share_text(double part, double whole, char text[NUMBER_TEXT_MOST])
{
    double share = 100 * part / whole;
    snprintf(text, NUMBER_TEXT_MOST, fabs(share) < 1e9 ? "%.0f%%" : "", share);
    return text;
}

/*
 * The look of a page, on paper-white and on dark screens, from 360 pixels on.
 *
 * Curves have the colours of Okabe and Ito ("Color Universal Design", 2008), which colour-blind
 * people tell apart; on white they are darkened until lines have a contrast of 3 and more. A heat
 * map has one hue, from faint to strong. Text has a contrast of at least 4.5 (WCAG 2.1, 1.4.3): a
 * test computes it.
 */
/* clang-format off */
static const char page_style[] =
":root{color-scheme:light dark;--back:#fff;--text:#1a1f26;--muted:#525c67;--line:#c9d0d8;--card:#f5f7f9;"
"--link:#0a58a8;--bad:#b3261e;--suspect:#855400;--good:#17663a;"
"--s0:#0072b2;--s1:#c24e00;--s2:#00805d;--s3:#a8457c;--s4:#a06a00;--s5:#1a1f26;"
"--h0:#dde9f6;--h1:#c3d9ec;--h2:#a3cce3;--h3:#6aaed6;--h4:#2f76ab;--h5:#105ba4;--h6:#08306b;"
"--weak:#0b1a2b;--strong:#fff}\n"
"@media(prefers-color-scheme:dark){:root{--back:#14181d;--text:#e6eaf0;--muted:#a3adb8;--line:#424c57;"
"--card:#1d232a;--link:#7ab8ff;--bad:#ff8a80;--suspect:#f2bd5a;--good:#7fd39b;"
"--s0:#56b4e9;--s1:#ff8a3d;--s2:#1fb98d;--s3:#e08fbd;--s4:#f0e442;--s5:#e6eaf0;"
"--h0:#12283f;--h1:#17395c;--h2:#1d4c7c;--h3:#2a66a3;--h4:#5b9dd8;--h5:#93c3ec;--h6:#dcecfb;"
"--weak:#fff;--strong:#0b1a2b}}\n"
"*{box-sizing:border-box}\n"
"body{margin:0 auto;max-width:76rem;padding:1rem;background:var(--back);color:var(--text);"
"font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
"h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}\n"
"h2{font-size:1.35rem;line-height:1.3;margin:2.5rem 0 .5rem;padding-top:.5rem;border-top:2px solid var(--line)}\n"
"h3{font-size:1.1rem;margin:2rem 0 .5rem}\nh4{font-size:1rem;margin:1rem 0 .25rem}\np{margin:.5rem 0}\n"
"a{color:var(--link)}\nsummary{cursor:pointer;color:var(--link);padding:.35rem 0}\n"
"a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}\n"
"nav ul{list-style:none;margin:1rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}\n"
"nav li.document{flex-basis:100%;font-weight:600}\nnav a{display:inline-block;padding:.2rem 0}\n"
".muted,caption,figcaption{color:var(--muted)}\n"
".bad{color:var(--bad)}.suspect{color:var(--suspect)}.good{color:var(--good)}\n"
".banner{font-size:1.25rem;font-weight:600;border-radius:.4rem;padding:.6rem 1rem;color:var(--back)}\n"
".banner.bad{background:var(--bad)}.banner.suspect{background:var(--suspect)}"
".banner.good{background:var(--good)}\n"
"pre{margin:0;padding:.5rem 1rem;width:max-content;background:var(--card);font-size:.9rem}\n"
".card{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.5rem 1rem;margin:.75rem 0}\n"
".findings{list-style:none;padding:0}\n"
".badge{font-weight:700;margin-right:.5rem}\n"
"dl{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.15rem 1rem;margin:.75rem 0}\n"
"dt{color:var(--muted)}dd{margin:0}\n"
".scroll{overflow-x:auto;max-width:100%;margin:.5rem 0;overflow-wrap:normal}\n"
"table{border-collapse:collapse;font-size:.9rem;line-height:1.35}\n"
"th,td{text-align:left;vertical-align:top;padding:.3rem .7rem;border-bottom:1px solid var(--line);min-width:4.5rem}\n"
"td.long{min-width:16rem}th{font-weight:600}td.name,th{white-space:nowrap}\n"
".number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
"tbody tr:hover{background:var(--card)}\n"
".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem}\n"
".large{grid-column:1/-1}\n"
"figure{margin:.5rem 0;min-width:0}figcaption{font-size:.9rem}\n"
"svg{display:block;font:12px system-ui,sans-serif}svg.wide{width:100%;height:auto;max-width:32rem}\n"
"svg text{fill:var(--text)}svg text.muted{fill:var(--muted)}svg text.bad{fill:var(--bad)}\n"
"svg text.suspect{fill:var(--suspect)}\n"
".axis{stroke:var(--line);fill:none}.median{stroke:var(--text);stroke-width:1.5;stroke-dasharray:4 3;fill:none}\n"
".bar{fill:var(--s0)}.tick{stroke:var(--bad);stroke-width:2}\n"
".series{fill:none;stroke-width:2}.series .mark{fill:var(--back)}.series:hover{stroke-width:4}\n"
".s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}"
".s5{stroke:var(--s5)}.rest{stroke:var(--muted);stroke-width:1;opacity:.55}.rest:hover{opacity:1}\n"
".legend{list-style:none;margin:.25rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}\n"
".legend li{display:flex;align-items:center;gap:.4rem}\n"
".cell:hover rect{stroke:var(--text);stroke-width:2}.border{stroke:var(--text);fill:none}\n"
".h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)}"
".h5{fill:var(--h5)}.h6{fill:var(--h6)}\n"
"svg .cell text{fill:var(--weak);font-size:11px}svg .h4 text,svg .h5 text,svg .h6 text{fill:var(--strong)}\n"
".named rect{stroke:var(--bad);stroke-width:3}.failed rect{fill:none;stroke:var(--bad)}"
".failed path{stroke:var(--bad);stroke-width:2;fill:none}\n"
"@media print{nav{display:none}details{display:block}}\n";
/* clang-format on */

/*
 * A page of HTML.
 */
static bool is_acceptance(const json_t *document)
{
    return strcmp(word_of(document, "command"), "accept") == 0;
}

bool page_takes(const json_t *document)
{
    return is_acceptance(document) || (json_is_array(json_object_get(document, "results")) &&
                                       json_is_array(json_object_get(document, "ranks")));
}

/* Errors of the job, and that it has not ended. */
static void document_state(FILE *out, const json_t *document)
{
    size_t index;
    const json_t *error;
    if (strcmp(word_of(document, "status"), "running") == 0)
        element_put(out, "p class=\"card suspect\"",
                    "This run had not ended when the page was made: it has what was known.");
    json_array_foreach(json_object_get(document, "errors"), index, error)
        element_put(out, "p class=\"card bad\"", "Error: %s", word_of(error, "message"));
}

static void parts_put(struct page *page, json_t *const *documents, const char *const *names,
                      int count)
{
    int first = -1;
    for (int i = 0; i < count; i++)
        if (!is_acceptance(documents[i]) && first < 0)
            first = i;
        else if (!is_acceptance(documents[i]))
            changes_put(page, documents[first], names[first], documents[i], names[i]);
    for (int i = 0; i < count; i++) {
        document_begin(page, "%s %s", is_acceptance(documents[i]) ? "Acceptance" : "Run", names[i]);
        document_state(page->body, documents[i]);
        if (is_acceptance(documents[i]))
            acceptance_put(page, documents[i]);
        else
            run_put(page, documents[i]);
        section_end(page);
    }
}

/* The text of a browser's tab and of the first heading. */
static void title_put(FILE *out, json_t *const *documents, const char *const *names, int count)
{
    text_put(out, "cctest: %s %s", is_acceptance(documents[0]) ? "acceptance" : "run", names[0]);
    if (count > 1)
        text_put(out, " and %d more", count - 1);
}

static void frame_put(FILE *out, json_t *const *documents, const char *const *names, int count,
                      const char *links, const char *body)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    title_put(out, documents, names, count);
    fprintf(out,
            "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n"
            "<h1>cctest report</h1>\n<nav "
            "aria-label=\"Sections\"><ul>\n%s</ul></nav>\n</header>\n<main>\n%s",
            page_style, links, body);
    fputs("</main>\n<footer>\n", out);
    element_put(out, "p class=\"muted\"", "Made by cctest %s. This page needs no network.",
                CCTEST_VERSION);
    fputs("</footer>\n</body>\n</html>\n", out);
}

enum status page_write(json_t *const *documents, const char *const *names, int count,
                       const char *path)
{
    struct draft body, links, text;
    struct page page = {.body = draft_open(&body), .links = draft_open(&links)};
    parts_put(&page, documents, names, count);
    enum status status = draft_close(&body, path), linked = draft_close(&links, path);
    if (status == STATUS_OK && linked == STATUS_OK) {
        frame_put(draft_open(&text), documents, names, count, links.text, body.text);
        status = draft_put(&text, STATUS_OK, path);
    }
    free(body.text);
    free(links.text);
    return status_worse(status, linked);
}
