/*
 * measured.c - what the JSON of an acceptance run has.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accept/accept.h"
#include "base/io/io.h"
#include "base/stats/stats.h"

int measured_host_of(const struct measured *measured, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t host = json_is_integer(value) ? json_integer_value(value) : -1;
    return host >= 0 && host < measured->host_count ? (int)host : -1;
}

int health_gravity(const char *word)
{
    int gravity = HEALTH_BAD;
    while (gravity > HEALTH_GOOD && strcmp(health_words[gravity], word) != 0)
        gravity--;
    return gravity;
}

/* "sick" is a word of a later version: it counts as suspect. */
static const char *health_of(const char *word)
{
    return strcmp(health_words[health_gravity(word)], word) == 0 ? word
                                                                 : health_words[HEALTH_SUSPECT];
}

static bool hosts_read(const json_t *hosts, struct measured *measured)
{
    size_t index, count = json_array_size(hosts);
    const json_t *host;
    measured->hosts = calloc(count + 1, sizeof *measured->hosts);
    if (!measured->hosts || count > 1 << 24)
        return false;
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
    *metric = (struct measured_metric){.name = name,
                                       .unit = unit,
                                       .of_pairs = of_pairs,
                                       .more_is_worse =
                                           strcmp(unit, "us") == 0 || strcmp(unit, "s") == 0};
    return metric;
}

/* Makes room for powers of two. */
static bool metric_add(struct measured_metric *metric, struct measurement measurement)
{
    size_t count = metric->count;
    if ((count & (count - 1)) == 0) {
        struct measurement *more =
            realloc(metric->of, (count ? 2 * count : 1) * sizeof *metric->of);
        if (!more)
            return false;
        metric->of = more;
    }
    metric->of[metric->count++] = measurement;
    return true;
}

static bool measurements_read(const json_t *list, bool of_pairs, struct measured *measured)
{
    size_t index;
    const json_t *it;
    json_array_foreach(list, index, it)
    {
        struct measurement measurement = {
            .from = measured_host_of(measured, it, of_pairs ? "from" : "host"),
            .to = of_pairs ? measured_host_of(measured, it, "to") : -1,
            .rail = (int)json_integer_value(json_object_get(it, "rail")),
            .part = word_of(it, "part"),
            .value = number_of(it, "value"),
            .outcome = word_of(it, "outcome"),
            .stage = word_of(it, "stage")};
        struct measured_metric *metric = metric_find(measured, it, of_pairs);
        if (!metric || measurement.from < 0 || (of_pairs && measurement.to < 0))
            continue;
        if (!metric_add(metric, measurement))
            return false;
    }
    return true;
}

/* A value of a host as the sender, or as the receiver. */
struct host_value {
    int host;
    bool receives;
    double value;
};

static int host_value_compare(const void *a, const void *b)
{
    const struct host_value *x = a, *y = b;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return x->receives - y->receives;
}

/* From the values of hosts, sorted. `values`: room for as many, and for a value of each host. */
static void medians_of(struct measured_metric *metric, int hosts, const struct host_value *sorted,
                       size_t count, double *values)
{
    size_t all = 0;
    for (size_t first = 0, end; first < count; first = end) {
        size_t of_host = 0;
        for (end = first; end < count && host_value_compare(&sorted[end], &sorted[first]) == 0;
             end++)
            values[of_host++] = sorted[end].value;
        double median = median_of(values, of_host), *kept = &metric->of_host[sorted[first].host];
        if (isnan(*kept) || metric_is_worse(metric, median, *kept))
            *kept = median;
    }
    for (int h = 0; h < hosts; h++)
        if (!isnan(metric->of_host[h]))
            values[all++] = metric->of_host[h];
    metric->median = all > 0 ? median_of(values, all) : NAN;
}

/* The stage isolate measures suspects again, with partners that are good: its values would make a suspect
 * of each partner, too. */
static bool is_of_suspect(const struct measurement *measurement)
{
    return strcmp(measurement->stage, "isolate") == 0;
}

static bool metric_summarize(struct measured_metric *metric, int hosts)
{
    size_t count = 0;
    struct host_value *sorted = calloc(2 * metric->count + 1, sizeof *sorted);
    double *values = calloc(2 * metric->count + (size_t)hosts + 1, sizeof *values);
    metric->of_host = calloc((size_t)hosts + 1, sizeof *metric->of_host);
    bool good = sorted && values && metric->of_host;
    for (int h = 0; good && h < hosts; h++)
        metric->of_host[h] = NAN;
    for (size_t i = 0; good && i < metric->count; i++) {
        const struct measurement *it = &metric->of[i];
        if (isnan(it->value) || is_of_suspect(it))
            continue;
        sorted[count++] = (struct host_value){it->from, false, it->value};
        if (it->to >= 0 && it->to != it->from)
            sorted[count++] = (struct host_value){it->to, true, it->value};
    }
    if (good) {
        qsort(sorted, count, sizeof *sorted, host_value_compare);
        medians_of(metric, hosts, sorted, count, values);
    }
    free(sorted);
    free(values);
    return good;
}

bool measured_read(const json_t *document, struct measured *measured)
{
    *measured = (struct measured){.hosts = NULL};
    if (!hosts_read(json_object_get(document, "hosts"), measured) ||
        !measurements_read(json_object_get(document, "pairs"), true, measured) ||
        !measurements_read(json_object_get(document, "numbers"), false, measured))
        return false;
    for (int m = 0; m < measured->metric_count; m++)
        if (!metric_summarize(&measured->metrics[m], measured->host_count))
            return false;
    return true;
}

void measured_free(struct measured *measured)
{
    for (int m = 0; m < measured->metric_count; m++) {
        free(measured->metrics[m].of);
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
                                            {"both", "Bandwidth both ways at once"}};
    for (size_t i = 0; metric->of_pairs && i < sizeof titles / sizeof titles[0]; i++)
        if (strcmp(metric->name, titles[i][0]) == 0)
            return titles[i][1];
    return metric->name;
}
