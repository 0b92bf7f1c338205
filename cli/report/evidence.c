/*
 * evidence.c - findings of an acceptance run, and the measurements of their hosts.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <string.h>

#include "base/io/io.h"

#define ROWS_MOST 200 /* of the evidence of a finding */

/* Is it a measurement of the host; with a peer, one between both? */
static bool is_about(const struct measurement *measurement, int host, int peer)
{
    bool of_host = measurement->from == host || measurement->to == host;
    bool of_peer = measurement->from == peer || measurement->to == peer;
    return of_host && (peer < 0 || of_peer);
}

static void measurement_put(FILE *out, const struct measured *measured,
                            const struct measured_metric *metric, const struct measurement *it)
{
    char value[NUMBER_TEXT_MOST], median[NUMBER_TEXT_MOST];
    fputs("<tr><td class=\"name\">", out);
    text_put(out, "%s", measured->hosts[it->from].name);
    if (it->to >= 0)
        text_put(out, " \u2192 %s", measured->hosts[it->to].name);
    if (it->part[0])
        text_put(out, ", %s", it->part);
    fputs("</td>", out);
    if (isnan(it->value))
        element_put(out, "td class=\"number\"", "%s", it->outcome);
    else
        element_put(out, "td class=\"number\"", "%s %s", number_text(it->value, value),
                    metric->unit);
    element_put(out, "td class=\"number\"", "%s", share_text(it->value, metric->median, value));
    element_put(out, "td class=\"number\"", "%s", number_text(metric->median, median));
    element_put(out, "td class=\"name\"", "%s", metric_title(metric));
    element_put(out, "td class=\"name\"", "%s", it->stage);
    fputs("</tr>\n", out);
}

static size_t evidence_count(const struct measured *measured, int host, int peer)
{
    size_t count = 0;
    for (int m = 0; m < measured->metric_count; m++)
        for (size_t i = 0; i < measured->metrics[m].count; i++)
            count += is_about(&measured->metrics[m].of[i], host, peer);
    return count;
}

/* The measurements of a host, or between it and a peer, beside the medians of all. */
static void evidence_put(FILE *out, const struct measured *measured, int host, int peer)
{
    static const char *const columns[] = {
        "Between", "#Value", "#Of the median", "#Median of all", "Metric", "Stage", NULL};
    size_t count = evidence_count(measured, host, peer), put = 0;
    const char *name = host >= 0 ? measured->hosts[host].name : "";
    if (host < 0 || count == 0)
        return;
    details_begin(out, "Evidence: %zu measurement%s of %s%s%s", count, plural_end(count), name,
                  peer >= 0 ? " and " : "", peer >= 0 ? measured->hosts[peer].name : "");
    table_begin(out, "Measurements", columns);
    for (int m = 0; m < measured->metric_count; m++)
        for (size_t i = 0; i < measured->metrics[m].count && put < ROWS_MOST; i++)
            if (is_about(&measured->metrics[m].of[i], host, peer)) {
                measurement_put(out, measured, &measured->metrics[m], &measured->metrics[m].of[i]);
                put++;
            }
    table_end(out);
    if (put < count)
        element_put(out, "p class=\"muted\"", "The JSON has the other %zu.", count - put);
    details_end(out);
}

static void finding_put(FILE *out, const json_t *finding, const struct measured *measured)
{
    const char *health = word_of(finding, "health");
    bool note = strcmp(health, "good") == 0;
    fputs("<li class=\"card\">", out);
    if (note)
        fputs("<span class=\"badge muted\">note</span>", out);
    else
        fprintf(out, "<span class=\"badge %s\">%s</span>",
                strcmp(health, "bad") == 0 ? "bad" : "suspect",
                strcmp(health, "bad") == 0       ? "\u2716 bad"
                : strcmp(health, "unknown") == 0 ? "? unknown"
                                                 : "? suspect");
    text_put(out, "%s ", word_of(finding, "message"));
    element_put(out, "span class=\"muted\"", "(stage %s)", word_of(finding, "stage"));
    evidence_put(out, measured, measured_host_of(measured, finding, "host"),
                 measured_host_of(measured, finding, "peer"));
    fputs("</li>\n", out);
}

void findings_put(FILE *out, const json_t *document, const struct measured *measured)
{
    size_t index;
    const json_t *finding, *findings = json_object_get(document, "findings");
    static const char *const order[] = {"bad", "suspect", "unknown", "good"};
    if (json_array_size(findings) == 0) {
        element_put(out, "p", "Nothing was found.");
        return;
    }
    fputs("<ul class=\"findings\">\n", out);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        json_array_foreach(findings, index, finding)
        {
            if (strcmp(word_of(finding, "health"), order[i]) == 0)
                finding_put(out, finding, measured);
        }
    fputs("</ul>\n", out);
}
