/*
 * run_part.c - a run of collectives on a page.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/text.h"

#define RANKS_MOST 4096 /* rows of the table of ranks */

/* A value of an option as the command line has it: arrays by commas. */
static void value_write(FILE *to, const json_t *value)
{
    size_t index;
    const json_t *item;
    char *text =
        json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    if (json_is_array(value))
        json_array_foreach(value, index, item)
        {
            fputs(index ? "," : "", to);
            value_write(to, item);
        }
    else
        fputs(json_is_string(value) ? json_string_value(value) : text ? text : "", to);
    free(text);
}

void option_text_put(FILE *out, const json_t *value)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to)
        return;
    value_write(to, value);
    if (fclose(to) == 0)
        text_put(out, "%s", text);
    free(text);
}

static void options_put(FILE *out, const json_t *document)
{
    static const char *const columns[] = {"Option", "Value", NULL};
    const char *key;
    json_t *value;
    details_begin(out, "Options, as they were understood");
    table_begin(out, "Options", columns);
    json_object_foreach(json_object_get(document, "options"), key, value)
    {
        if (json_is_null(value))
            continue;
        fputs("<tr>", out);
        element_put(out, "th scope=\"row\"", "%s", key);
        fputs("<td class=\"long\">", out);
        option_text_put(out, value);
        fputs("</td></tr>\n", out);
    }
    table_end(out);
    details_end(out);
}

static long long integer_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static void ranks_put(FILE *out, const json_t *document)
{
    static const char *const columns[] = {"#Rank", "Host", "#Core", "GPU", NULL};
    size_t index, count = json_array_size(json_object_get(document, "ranks"));
    const json_t *rank;
    details_begin(out, "%zu rank%s", count, plural(count));
    table_begin(out, "Ranks", columns);
    json_array_foreach(json_object_get(document, "ranks"), index, rank)
    {
        char core[NUMBER_TEXT_MOST] = "-";
        const json_t *device = json_object_get(rank, "device");
        if (index == RANKS_MOST)
            break;
        if (json_is_integer(json_object_get(rank, "core")))
            snprintf(core, sizeof core, "%lld", integer_of(rank, "core"));
        fputs("<tr>", out);
        element_put(out, "td class=\"number\"", "%lld", integer_of(rank, "rank"));
        element_put(out, "td class=\"name\"", "%s", word_of(rank, "host"));
        element_put(out, "td class=\"number\"", "%s", core);
        element_put(out, "td", "%s", *word_of(device, "name") ? word_of(device, "name") : "-");
        fputs("</tr>\n", out);
    }
    table_end(out);
    if (count > RANKS_MOST)
        element_put(out, "p class=\"muted\"", "The JSON has the other %zu.", count - RANKS_MOST);
    details_end(out);
}

static size_t hosts_count(const json_t *document)
{
    size_t index;
    const json_t *rank;
    double most = -1;
    json_array_foreach(json_object_get(document, "ranks"), index, rank) most =
        fmax(most, number_of(rank, "node"));
    return (size_t)(most + 1);
}

static void facts_put(struct page *page, const json_t *document)
{
    FILE *out = page->body;
    size_t ranks = json_array_size(json_object_get(document, "ranks")),
           hosts = hosts_count(document);
    section_begin(page, "What was run");
    fputs("<dl>\n", out);
    fact_put(out, "Status", word_of(document, "status"));
    fputs("<dt>Ranks</dt>", out);
    if (hosts == 1)
        element_put(out, "dd", "%zu on %s", ranks,
                    word_of(json_array_get(json_object_get(document, "ranks"), 0), "host"));
    else
        element_put(out, "dd", "%zu on %zu hosts", ranks, hosts);
    origin_put(out, document, "ranks");
    fact_put(out, "Vendor\u2019s library", word_of(json_object_get(document, "vendor"), "name"));
    fputs("</dl>\n", out);
    ranks_put(out, document);
    options_put(out, document);
    section_end(page);
}

void run_put(struct page *page, const json_t *document)
{
    size_t count;
    struct run_line *lines = lines_read(document, &count);
    facts_put(page, document);
    if (lines && count == 0)
        element_put(page->body, "p", "This run has no times.");
    for (size_t i = 0; lines && i < count; i++) {
        bool is_first = true;
        for (size_t k = i; k > 0 && is_first; k--)
            is_first = strcmp(lines[k - 1].group, lines[i].group) != 0;
        if (is_first)
            contest_put(page, lines, count, lines[i].group);
    }
    free(lines);
}
