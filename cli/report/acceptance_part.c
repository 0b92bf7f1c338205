/*
 * acceptance_part.c - an acceptance run on a page.
 */
#include "cli/report/internal.h"

#include "base/host_list.h"
#include "base/io/io.h"
#include "base/list.h"
#include "base/stats/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The measurements in the JSON of an acceptance run.
 */
/* The number of a host under this key; -1: there is none. */
static int measured_host_of(const struct measured *measured, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t host = json_is_integer(value) ? json_integer_value(value) : -1;
    return host >= 0 && host < measured->host_count ? (int)host : -1;
}

const char *const health_signs[] = {[HEALTH_GOOD] = "\u2714",
                                    [HEALTH_UNKNOWN] = "?",
                                    [HEALTH_SUSPECT] = "?",
                                    [HEALTH_BAD] = "\u2716"};

/* A word of a later version, such as "faulty", counts as suspect. */
static enum health health_of(const char *word)
{
    for (enum health health = HEALTH_GOOD; health <= HEALTH_BAD; health++)
        if (strcmp(word, health_words[health]) == 0)
            return health;
    return HEALTH_SUSPECT;
}

static bool hosts_read(const json_t *hosts, struct measured *measured)
{
    size_t index, count = json_array_size(hosts);
    const json_t *host;
    if (count > 1 << 24)
        return false;
    measured->hosts = new_array(count, sizeof *measured->hosts);
    measured->host_count = (int)count;
    json_array_foreach(hosts, index, host) measured->hosts[index] =
        (struct measured_host){.name = word_of(host, "name"),
                               .health = health_of(word_of(host, "health")),
                               .lost = json_is_true(json_object_get(host, "lost")),
                               .switched = word_of(host, "switch")};
    return true;
}

/* The metric of this name; a new one if there is room. */
static struct measured_metric *metric_find(struct measured *measured, const json_t *object,
                                           bool of_pairs)
{
    const char *name = word_of(object, "metric"), *unit = word_of(object, "unit");
    for (int m = 0; m < measured->metric_count; m++)
        if (measured->metrics[m].of_pairs == of_pairs &&
            strcmp(measured->metrics[m].name, name) == 0)
            return &measured->metrics[m];
    if (measured->metric_count == METRICS_MOST)
        return NULL;
    struct measured_metric *metric = &measured->metrics[measured->metric_count++];
    *metric =
        (struct measured_metric){.name = name,
                                 .unit = unit,
                                 .of_pairs = of_pairs,
                                 .more_is_worse = strcmp(unit, "us") == 0 ||
                                                  strcmp(unit, "s") == 0 || strcmp(unit, "%") == 0};
    return metric;
}

static void measurements_read(const json_t *list, bool of_pairs, struct measured *measured)
{
    size_t index;
    const json_t *entry;
    json_array_foreach(list, index, entry)
    {
        struct measurement measurement = {
            .from = measured_host_of(measured, entry, of_pairs ? "from" : "host"),
            .to = of_pairs ? measured_host_of(measured, entry, "to") : -1,
            .rail = (int)json_integer_value(json_object_get(entry, "rail")),
            .part = word_of(entry, "part"),
            .value = number_of(entry, "value"),
            .outcome = word_of(entry, "outcome"),
            .stage = word_of(entry, "stage")};
        struct measured_metric *metric = metric_find(measured, entry, of_pairs);
        if (metric && measurement.from >= 0 && (!of_pairs || measurement.to >= 0))
            *LIST_ADD(metric->measurements, metric->count) = measurement;
    }
}

/* The stage isolate measures suspects again, with partners that are good: its values would make a
 * suspect of each partner, too. */
static bool is_of_suspect(const struct measurement *measurement)
{
    return strcmp(measurement->stage, "isolate") == 0;
}

/* Counts the values of each host, as the sender and as the receiver, and then puts them. */
static void values_fill(struct bins *values, const struct measured_metric *metric, bool puts)
{
    for (size_t i = 0; i < metric->count; i++) {
        const struct measurement *measurement = &metric->measurements[i];
        const int ends[] = {measurement->from, measurement->to};
        for (int e = 0; e < 2 && !isnan(measurement->value) && !is_of_suspect(measurement); e++) {
            if (ends[e] < 0 || (e > 0 && ends[e] == measurement->from))
                continue;
            if (puts)
                bins_put(values, 2 * ends[e] + e, measurement->value);
            else
                bins_count(values, 2 * ends[e] + e);
        }
    }
}

static void metric_summarize(struct measured_metric *metric, int hosts)
{
    struct arena *memory = arena_create();
    struct bins values;
    double *known = arena_new(memory, (size_t)hosts, sizeof *known);
    size_t count = 0;
    bins_create(&values, memory, 2 * hosts);
    values_fill(&values, metric, false);
    bins_reserve(&values, memory);
    values_fill(&values, metric, true);
    metric->of_host = new_array((size_t)hosts, sizeof *metric->of_host);
    for (int h = 0; h < hosts; h++) {
        double *worst = &metric->of_host[h];
        *worst = NAN;
        for (int b = 2 * h; b < 2 * h + 2; b++) {
            double median = median_of(bins_of(&values, b), bins_size(&values, b));
            if (bins_size(&values, b) > 0 &&
                (isnan(*worst) || metric_is_worse(metric, median, *worst)))
                *worst = median;
        }
        if (!isnan(*worst))
            known[count++] = *worst;
    }
    metric->median = count > 0 ? median_of(known, count) : NAN;
    arena_free(memory);
}

/* Reads a document, leaving out what names no host of it. False: it has too many hosts. */
static bool measured_read(const json_t *document, struct measured *measured)
{
    *measured = (struct measured){.hosts = NULL};
    if (!hosts_read(json_object_get(document, "hosts"), measured))
        return false;
    measurements_read(json_object_get(document, "pairs"), true, measured);
    measurements_read(json_object_get(document, "numbers"), false, measured);
    for (int m = 0; m < measured->metric_count; m++)
        metric_summarize(&measured->metrics[m], measured->host_count);
    return true;
}

static void measured_free(struct measured *measured)
{
    for (int m = 0; m < measured->metric_count; m++) {
        free(measured->metrics[m].measurements);
        free(measured->metrics[m].of_host);
    }
    free(measured->hosts);
}

bool metric_is_worse(const struct measured_metric *metric, double a, double b)
{
    return metric->more_is_worse ? a > b : a < b;
}

const char *metric_title(const struct measured_metric *metric)
{
    static const char *const titles[][2] = {{"latency", "Latency"},
                                            {"alone", "Bandwidth one way"},
                                            {"both", "Bandwidth both ways at once"},
                                            {"loss", "Packets sent again"}};
    for (size_t i = 0; metric->of_pairs && i < sizeof titles / sizeof titles[0]; i++)
        if (strcmp(metric->name, titles[i][0]) == 0)
            return titles[i][1];
    return metric->name;
}

/*
 * Findings of an acceptance run, and the measurements of their hosts.
 */
#define ROWS_MOST 200 /* of the evidence of a finding */

/* Is it a measurement of the host; with a peer, one between both? */
static bool is_about(const struct measurement *measurement, int host, int peer)
{
    bool of_host = measurement->from == host || measurement->to == host;
    bool of_peer = measurement->from == peer || measurement->to == peer;
    return of_host && (peer < 0 || of_peer);
}

/* A value with its unit, as a cell. */
static void value_cell(FILE *out, const struct measured_metric *metric, double value)
{
    char time[TIME_TEXT_MOST], number[NUMBER_TEXT_MOST];
    if (strcmp(metric->unit, "us") == 0)
        element_put(out, "td class=\"number\"", "%s", time_text(1e-6 * value, time));
    else
        element_put(out, "td class=\"number\"", "%s %s", number_text(value, 3, number),
                    metric->unit);
}

static void measurement_put(FILE *out, const struct measured *measured,
                            const struct measured_metric *metric,
                            const struct measurement *measurement)
{
    char share[NUMBER_TEXT_MOST];
    fputs("<tr><td class=\"name\">", out);
    text_put(out, "%s", measured->hosts[measurement->from].name);
    if (measurement->to >= 0)
        text_put(out, " \u2192 %s", measured->hosts[measurement->to].name);
    if (measurement->part[0])
        text_put(out, ", %s", measurement->part);
    fputs("</td>", out);
    if (isnan(measurement->value))
        element_put(out, "td class=\"number\"", "%s", measurement->outcome);
    else
        value_cell(out, metric, measurement->value);
    element_put(out, "td class=\"number\"", "%s",
                share_text(measurement->value, metric->median, share));
    value_cell(out, metric, metric->median);
    element_put(out, "td class=\"name\"", "%s", metric_title(metric));
    element_put(out, "td class=\"name\"", "%s", measurement->stage);
    fputs("</tr>\n", out);
}

static size_t evidence_count(const struct measured *measured, int host, int peer)
{
    size_t count = 0;
    for (int m = 0; m < measured->metric_count; m++)
        for (size_t i = 0; i < measured->metrics[m].count; i++)
            count += is_about(&measured->metrics[m].measurements[i], host, peer);
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
    details_begin(out, "Evidence: %zu measurement%s of %s%s%s", count, plural(count), name,
                  peer >= 0 ? " and " : "", peer >= 0 ? measured->hosts[peer].name : "");
    table_begin(out, "Measurements", columns);
    for (int m = 0; m < measured->metric_count; m++)
        for (size_t i = 0; i < measured->metrics[m].count && put < ROWS_MOST; i++)
            if (is_about(&measured->metrics[m].measurements[i], host, peer)) {
                measurement_put(out, measured, &measured->metrics[m],
                                &measured->metrics[m].measurements[i]);
                put++;
            }
    table_end(out);
    if (put < count)
        element_put(out, "p class=\"muted\"", "The JSON has the other %zu.", count - put);
    details_end(out);
}

static void finding_put(FILE *out, const json_t *finding, enum health health,
                        const struct measured *measured)
{
    fputs("<li class=\"card\">", out);
    if (health == HEALTH_GOOD)
        fputs("<span class=\"badge muted\">note</span>", out);
    else
        fprintf(out, "<span class=\"badge %s\">%s %s</span>",
                health == HEALTH_BAD ? "bad" : "suspect", health_signs[health],
                health_words[health]);
    text_put(out, "%s ", word_of(finding, "message"));
    element_put(out, "span class=\"muted\"", "(stage %s)", word_of(finding, "stage"));
    const json_t *action = json_object_get(finding, "action");
    if (*word_of(action, "sentence"))
        element_put(out, "p", "To do: %s (%s)", word_of(action, "sentence"),
                    word_of(action, "name"));
    evidence_put(out, measured, measured_host_of(measured, finding, "host"),
                 measured_host_of(measured, finding, "peer"));
    fputs("</li>\n", out);
}

/* The findings of a document, the worst first. */
static void findings_put(FILE *out, const json_t *document, const struct measured *measured)
{
    size_t index;
    const json_t *finding, *findings = json_object_get(document, "findings");
    if (json_array_size(findings) == 0) {
        element_put(out, "p", "Nothing was found.");
        return;
    }
    fputs("<ul class=\"findings\">\n", out);
    for (int health = HEALTH_BAD; health >= HEALTH_GOOD; health--)
        json_array_foreach(findings, index, finding)
        {
            if (strcmp(word_of(finding, "health"), health_words[health]) == 0)
                finding_put(out, finding, (enum health)health, measured);
        }
    fputs("</ul>\n", out);
}

/*
 * An acceptance run on a page.
 */
#define HOSTS_MOST 4096 /* rows of the table of hosts */

static int health_count(const struct measured *measured, enum health health)
{
    int count = 0;
    for (int h = 0; h < measured->host_count; h++)
        count += measured->hosts[h].health == health;
    return count;
}

/* The hosts of one health as a list of Slurm: "n[1-16,18]". */
static void health_put(FILE *out, const struct measured *measured, enum health health)
{
    int count = 0;
    const char **names = new_array((size_t)measured->host_count, sizeof *names);
    for (int h = 0; h < measured->host_count; h++)
        if (measured->hosts[h].health == health)
            names[count++] = measured->hosts[h].name;
    char *list = host_list_sorted(names, count);
    fprintf(out, "<dt class=\"%s\">%s %d %s</dt><dd>", health_words[health], health_signs[health],
            count, health_words[health]);
    text_put(out, "%s", count > 0 ? list : "none");
    fputs("</dd>\n", out);
    free(list);
    free(names);
}

/* The banner's words about hosts: "3 of 8 hosts are bad"; false: all are good. */
static bool banner_of_hosts(const struct measured *measured, enum health worst, struct text *text)
{
    static const char *const words[][2] = {[HEALTH_UNKNOWN] = {"is not judged", "are not judged"},
                                           [HEALTH_SUSPECT] = {"is suspect", "are suspect"},
                                           [HEALTH_BAD] = {"is bad", "are bad"}};
    if (worst == HEALTH_GOOD)
        return false;
    for (int health = worst; health > HEALTH_GOOD; health--) {
        int count = health_count(measured, (enum health)health);
        if (count > 0 && health == (int)worst)
            text_add(text, "%d of %d hosts %s", count, measured->host_count,
                     words[health][count > 1]);
        else if (count > 0)
            text_add(text, ", %d %s", count, words[health][count > 1]);
    }
    return true;
}

/* In the colour of the status, and of the worst host: only where all is well it is green. */
static void banner_put(FILE *out, const char *status, const struct measured *measured)
{
    enum health worst = HEALTH_GOOD;
    bool ok = strcmp(status, "ok") == 0;
    bool slow = strcmp(status, "slow") == 0 || strcmp(status, "running") == 0;
    char words[160];
    struct text text = text_in(words, sizeof words);
    for (int h = 0; h < measured->host_count; h++)
        worst = measured->hosts[h].health > worst ? measured->hosts[h].health : worst;
    enum health colour = worst == HEALTH_BAD || (!ok && !slow) ? HEALTH_BAD
                         : worst > HEALTH_GOOD || slow         ? HEALTH_SUSPECT
                                                               : HEALTH_GOOD;
    if (!banner_of_hosts(measured, worst, &text))
        text_add(&text,
                 measured->host_count == 0 ? "no host was judged"
                 : ok                      ? "No host is bad or suspect"
                 : slow ? "No host is bad or suspect, and all hosts or the network have a finding"
                        : "No host is bad or suspect, and the run did not end as it should");
    fprintf(out, "<p class=\"banner %s\">", health_words[colour]);
    text_put(out, "%s %s: %s", health_signs[colour], *status ? status : "unknown", words);
    fputs("</p>\n", out);
}

/* The lines that take bad hosts out of Slurm. */
static void drain_put(FILE *out, const json_t *document)
{
    size_t index;
    const json_t *line, *lines = json_object_get(document, "drain");
    if (json_array_size(lines) == 0)
        return;
    element_put(out, "p",
                "To take the bad host%s out of Slurm:", plural((long long)json_array_size(lines)));
    scroll_begin(out, "Commands for Slurm");
    fputs("<pre>", out);
    json_array_foreach(lines, index, line)
        text_put(out, "%s\n", json_is_string(line) ? json_string_value(line) : "");
    fputs("</pre>\n", out);
    scroll_end(out);
}

static void verdict_put(struct page *page, const json_t *document, const struct measured *measured)
{
    FILE *out = page->body;
    int unknown = health_count(measured, HEALTH_UNKNOWN);
    section_begin(page, "Verdict");
    banner_put(out, word_of(document, "status"), measured);
    fputs("<dl>\n", out);
    for (enum health health = HEALTH_GOOD; health <= HEALTH_BAD; health++)
        if (health != HEALTH_UNKNOWN || unknown > 0)
            health_put(out, measured, health);
    origin_put(out, document, "agents");
    fputs("</dl>\n", out);
    drain_put(out, document);
    section_end(page);
}

static void pairs_put(struct page *page, const struct measured *measured)
{
    bool any = false;
    section_begin(page, "Pairs of hosts");
    fputs("<div class=\"charts\">\n", page->body);
    for (int m = 0; m < measured->metric_count; m++)
        if (measured->metrics[m].of_pairs && measured->metrics[m].count > 0) {
            heat_map_put(page->body, measured, &measured->metrics[m]);
            any = true;
        }
    fputs("</div>\n", page->body);
    if (!any)
        element_put(page->body, "p", "No pair was measured.");
    section_end(page);
}

static void distributions_put(struct page *page, const struct measured *measured)
{
    section_begin(page, "Distributions");
    element_put(page->body, "p class=\"muted\"",
                "The median is a dashed line. Hosts that are not good stand below at their own "
                "median, of pairs that of the worse direction. The spread is the standard "
                "deviation as the median absolute deviation "
                "estimates it.");
    fputs("<div class=\"charts\">\n", page->body);
    for (int m = 0; m < measured->metric_count; m++)
        distribution_put(page->body, measured, &measured->metrics[m]);
    fputs("</div>\n", page->body);
    section_end(page);
}

static void stages_put(struct page *page, const json_t *document)
{
    static const char *const columns[] = {"Stage", "State", "#Time", "#Jobs", "Result", NULL};
    size_t index;
    const json_t *stage;
    char seconds[TIME_TEXT_MOST];
    FILE *out = page->body;
    section_begin(page, "Stages");
    table_begin(out, "Stages", columns);
    json_array_foreach(json_object_get(document, "stages"), index, stage)
    {
        const char *why = word_of(stage, "why"), *result = word_of(stage, "result");
        bool left_out = strcmp(word_of(stage, "state"), "left-out") == 0;
        fputs("<tr>", out);
        element_put(out, "th scope=\"row\"", "%s", word_of(stage, "stage"));
        element_put(out, "td class=\"name\"", "%s",
                    left_out ? "left out" : word_of(stage, "state"));
        element_put(out, "td class=\"number\"", "%s",
                    left_out ? "-" : time_text(number_of(stage, "seconds"), seconds));
        element_put(out, "td class=\"number\"", "%zu",
                    json_array_size(json_object_get(stage, "jobs")));
        element_put(out, "td class=\"long\"", "%s%s%s", why, *why && *result ? ": " : "", result);
        fputs("</tr>\n", out);
    }
    table_end(out);
    section_end(page);
}

/* A column for each metric: the median of what the host took part in. */
static void host_row(FILE *out, const struct measured *measured, int host)
{
    const struct measured_host *row_host = &measured->hosts[host];
    char number[NUMBER_TEXT_MOST];
    fputs("<tr>", out);
    element_put(out, "th scope=\"row\"", "%s", row_host->name);
    fprintf(out, "<td class=\"name %s\">%s%s</td>", health_words[row_host->health],
            health_words[row_host->health], row_host->lost ? ", lost" : "");
    for (int m = 0; m < measured->metric_count; m++)
        element_put(out, "td class=\"number\"", "%s",
                    number_text(measured->metrics[m].of_host[host], 3, number));
    fputs("</tr>\n", out);
}

static void hosts_table(struct page *page, const struct measured *measured)
{
    char titles[METRICS_MOST][120];
    const char *columns[METRICS_MOST + 3] = {"Host", "Health"};
    for (int m = 0; m < measured->metric_count; m++) {
        snprintf(titles[m], sizeof titles[m], "#%s, %s", metric_title(&measured->metrics[m]),
                 measured->metrics[m].unit);
        columns[m + 2] = titles[m];
    }
    section_begin(page, "Hosts");
    details_begin(page->body, "Medians of %d host%s; of pairs the worse direction",
                  measured->host_count, plural((size_t)measured->host_count));
    table_begin(page->body, "Hosts", columns);
    for (int h = 0; h < measured->host_count && h < HOSTS_MOST; h++)
        host_row(page->body, measured, h);
    table_end(page->body);
    if (measured->host_count > HOSTS_MOST)
        element_put(page->body, "p class=\"muted\"", "The JSON has the other %d.",
                    measured->host_count - HOSTS_MOST);
    details_end(page->body);
    section_end(page);
}

void acceptance_put(struct page *page, const json_t *document)
{
    struct measured measured;
    if (measured_read(document, &measured)) {
        verdict_put(page, document, &measured);
        section_begin(page, "Findings");
        findings_put(page->body, document, &measured);
        section_end(page);
        pairs_put(page, &measured);
        distributions_put(page, &measured);
        stages_put(page, document);
        hosts_table(page, &measured);
    }
    measured_free(&measured);
}
