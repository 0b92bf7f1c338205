/*
 * baseline.c - an earlier run that hosts of today are held against.
 */
#include "accept/accept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text_file.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Today's number of an earlier host; -1: it is not here, or the number is none. */
static int host_today(const struct baseline *baseline, const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);
    json_int_t host = json_is_integer(number) ? json_integer_value(number) : -1;
    return host >= 0 && host < baseline->hosts ? baseline->host_of[host] : -1;
}

/* Its index among names; -1: it is none of them. */
static int name_index(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static enum status hosts_match(struct baseline *baseline, const json_t *document, const char *path,
                               const char *const *labels, int count)
{
    const json_t *hosts = json_object_get(document, "hosts");
    baseline->hosts = (int)json_array_size(hosts);
    baseline->host_of = calloc((size_t)baseline->hosts + 1, sizeof *baseline->host_of);
    if (!baseline->host_of)
        return fail(STATUS_ERROR, "out of memory for the hosts of %s", path);
    for (int h = 0; h < baseline->hosts; h++) {
        const char *name = text_of(json_array_get(hosts, (size_t)h), "name");
        baseline->host_of[h] = name_index(name, labels, count);
        baseline->common += baseline->host_of[h] >= 0;
    }
    if (baseline->common == 0)
        return fail(STATUS_USAGE,
                    "%s is of other hosts than these (%s is not among them): --baseline takes the "
                    "JSON of an earlier run on the same hosts",
                    path, labels[0]);
    return STATUS_OK;
}

/* The number that the rail of an earlier reading has today; -1: none. */
static int rail_today(const json_t *pair, const char *const *names, int count)
{
    const char *part = text_of(pair, "part");
    if (!names[0])
        return part[0] ? -1 : 0;
    return name_index(part, names, count);
}

enum status baseline_pairs_take(struct baseline *baseline, const char *const *names, int count)
{
    size_t index;
    const json_t *pair;
    enum status status = STATUS_OK;
    readings_free(&baseline->pairs);
    baseline->pairs = (struct readings){0};
    json_array_foreach(baseline->measured, index, pair)
    {
        struct reading reading = {
            .from = host_today(baseline, pair, "from"),
            .to = host_today(baseline, pair, "to"),
            .rail = rail_today(pair, names, count),
            .value = json_number_value(json_object_get(pair, "value")),
        };
        int metric = name_index(text_of(pair, "metric"), reading_metric_names, METRICS);
        bool known = strcmp(text_of(pair, "stage"), accept_stage_names[STAGE_PAIRS]) == 0 &&
                     strcmp(text_of(pair, "outcome"), "ok") == 0 && metric >= 0 &&
                     reading.from >= 0 && reading.to >= 0 && reading.rail >= 0 && reading.value > 0;
        reading.metric = known ? (enum metric)metric : METRIC_LATENCY;
        if (known && status == STATUS_OK)
            status = readings_add(&baseline->pairs, &reading);
    }
    return status;
}

enum status baseline_read(const char *path, const char *const *labels, int hosts,
                          struct baseline *baseline)
{
    json_error_t error;
    char *text;
    *baseline = (struct baseline){.hosts = 0};
    enum status status = text_file_read(path, &text);
    if (status != STATUS_OK)
        return status;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!document)
        return fail(STATUS_USAGE, "%s:%d: it is no JSON, and so no earlier run: %s", path,
                    error.line, error.text);
    if (strcmp(text_of(document, "command"), "accept") != 0 ||
        !json_is_array(json_object_get(document, "pairs")) ||
        !json_is_array(json_object_get(document, "numbers")))
        status = fail(STATUS_USAGE, "%s is not the JSON of a run of cctest accept", path);
    if (status == STATUS_OK)
        status = hosts_match(baseline, document, path, labels, hosts);
    if (status == STATUS_OK)
        baseline->measured = json_incref(json_object_get(document, "pairs"));
    if (status == STATUS_OK)
        baseline->numbers = json_incref(json_object_get(document, "numbers"));
    json_decref(document);
    return status;
}

void baseline_free(struct baseline *baseline)
{
    readings_free(&baseline->pairs);
    json_decref(baseline->measured);
    json_decref(baseline->numbers);
    free(baseline->host_of);
}

bool baseline_values(const struct baseline *baseline, const char *stage, const char *metric,
                     double *values, int hosts)
{
    size_t index;
    const json_t *number;
    bool known = false;
    memset(values, 0, (size_t)hosts * sizeof *values);
    json_array_foreach(baseline->numbers, index, number)
    {
        int host = host_today(baseline, number, "host");
        double value = json_number_value(json_object_get(number, "value"));
        if (host < 0 || value <= 0 || strcmp(text_of(number, "stage"), stage) != 0 ||
            strcmp(text_of(number, "metric"), metric) != 0)
            continue;
        values[host] = value;
        known = true;
    }
    return known;
}
