/*
 * references.c - what hosts are compared with besides each other: a profile, and an earlier run.
 */
#include "accept/internal.h"

#include "base/io/io.h"
#include "base/stats/stats.h"
#include "base/text_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct measured_number measured_numbers[MEASURED] = {
    {"self.copy", "copy by all cores", VALUE_GBYTES, false, LOOK_CPUS, 0.1, "copy", "GBps", 1},
    {"self.sum", "sum by all cores", VALUE_GBYTES, false, LOOK_CPUS, 0.1, "sum", "GBps", 1},
    {"self.core", "the slowest core", VALUE_STEPS, false, LOOK_CPUS, 0.1, "core", "Msteps", 1},
    {"self.gpu.copy", "copy inside a GPU", VALUE_GBYTES, false, LOOK_GPUS, 0.1, "gpu-copy", "GBps",
     1},
    {"self.gpu.host_to_device", "copy from host to GPU", VALUE_GBYTES, false, LOOK_GPUS, 0.1,
     "host-to-device", "GBps", 1},
    {"self.gpu.device_to_host", "copy from GPU to host", VALUE_GBYTES, false, LOOK_GPUS, 0.1,
     "device-to-host", "GBps", 1},
    {"self.loop", "loop through a NIC", VALUE_GBYTES, false, LOOK_NICS, 0.1, "sendrecv",
     "busbw_GBps", 1},
    {"node.allreduce.latency", "allreduce of 1K among its agents", VALUE_MICROSECONDS, true,
     LOOK_AGENTS, 0.3, "allreduce", "time_us.p50", 1 << 10},
    {"node.allreduce.busbw", "allreduce of 1M", VALUE_GBYTES, false, LOOK_AGENTS, 0.15, "allreduce",
     "busbw_GBps", 1 << 20},
    {"node.alltoall.busbw", "alltoall of 1M", VALUE_GBYTES, false, LOOK_AGENTS, 0.15, "alltoall",
     "busbw_GBps", 1 << 20},
    [MEASURED_PAIRS + METRIC_LATENCY] = {"pairs.latency", "latency", VALUE_MICROSECONDS, true},
    [MEASURED_PAIRS + METRIC_ALONE] = {"pairs.bandwidth", "alone", VALUE_GBYTES, false},
    [MEASURED_PAIRS + METRIC_BOTH] = {"pairs.bandwidth_both", "both", VALUE_GBYTES, false},
    [MEASURED_PAIRS + METRIC_LOSS] = {"pairs.loss", "loss", VALUE_PERCENT, true},
};

/* The index of a key; -1: no stage measures that. */
static int measured_find(const char *key)
{
    int index = MEASURED - 1;
    while (index >= 0 && strcmp(measured_numbers[index].key, key) != 0)
        index--;
    return index;
}

/* ---- reading ---- */

static enum status asked_take(struct host_profile *profile, const struct profile_line *line,
                              int index)
{
    const struct measured_number *number = &measured_numbers[index];
    enum profile_operator operator= number->less_is_better ? PROFILE_MOST : PROFILE_LEAST;
    if (line->operator!= operator)
        return fail_line(STATUS_USAGE, line->file, line->number,
                         "%s is measured: write %s behind it", line->key,
                         profile_operator_names[operator]);
    if (profile->asked[index] > 0)
        return fail_line(STATUS_USAGE, line->file, line->number, "%s is there twice", line->key);
    TRY(profile_number(line, number->unit, &profile->asked[index]));
    if (profile->asked[index] <= 0)
        return fail_line(STATUS_USAGE, line->file, line->number, "%s is above 0, not '%s'",
                         line->key, line->value);
    return STATUS_OK;
}

static enum status fact_take(struct host_profile *profile, const struct profile_line *line)
{
    struct expected_fact fact;
    TRY(expected_fact_read(line, &fact));
    *LIST_ADD(profile->facts.items, profile->facts.count) = fact;
    return STATUS_OK;
}

static enum status line_take(struct host_profile *profile, const char *text, const char *path,
                             int number)
{
    struct profile_line line;
    TRY(profile_line_read(text, path, number, &line));
    if (!line.key[0])
        return STATUS_OK;
    int index = measured_find(line.key);
    return index >= 0 ? asked_take(profile, &line, index) : fact_take(profile, &line);
}

enum status host_profile_read(const char *path, struct host_profile *profile)
{
    char *text = NULL, *rest;
    *profile = (struct host_profile){0};
    enum status status = text_file_read(path, &text);
    rest = text;
    for (int number = 1; status == STATUS_OK && rest; number++)
        status = line_take(profile, strsep(&rest, "\n"), path, number);
    free(text);
    return status;
}

void host_profile_free(struct host_profile *profile)
{
    free(profile->facts.items);
}

/*
 * The profile that --write-profile makes of the hosts that are good.
 */
/* The shares by which a later run may be worse than the median of this one, and than its worst good
 * host: each of these hosts is to meet the profile. */
#define ROOM_BANDWIDTH 0.1
#define ROOM_LATENCY   0.25
#define ROOM_WORST     0.03

/* A number of the good hosts. */
struct made_number {
    double median, worst; /* 0: none has it */
};

static double worse_of(double a, double b, bool less_is_better)
{
    return a <= 0 ? b : b <= 0 ? a : less_is_better ? fmax(a, b) : fmin(a, b);
}

static void number_put(FILE *out, const struct measured_number *measured, struct made_number made)
{
    char value[VALUE_TEXT_MOST];
    bool less = measured->less_is_better;
    if (made.median <= 0 && measured->unit != VALUE_PERCENT)
        return;
    double asked = worse_of(made.median * (less ? 1 + ROOM_LATENCY : 1 - ROOM_BANDWIDTH),
                            made.worst * (less ? 1 + ROOM_WORST : 1 - ROOM_WORST), less);
    if (measured->unit == VALUE_PERCENT)
        asked = fmax(asked, 0) + LOSS_START; /* a packet more or less */
    snprintf(value, sizeof value, "%.3g", asked);
    fprintf(out, "%s %s %s\n", measured->key,
            profile_operator_names[less ? PROFILE_MOST : PROFILE_LEAST],
            value_text(measured->unit, strtod(value, NULL), value));
}

/* The good hosts' own measurements; of several numbers (one for each NIC) the worst. Those of a
 * number stand together. */
static struct made_number own_made(const struct acceptance *acceptance, const enum health *healths,
                                   const struct measured_number *measured, double *scratch)
{
    const struct readings *readings = &acceptance->readings;
    struct made_number made = {0};
    bool less = measured->less_is_better;
    for (int first = 0, end; first < readings->count; first = end) {
        const struct host_number *number = readings->items[first].number;
        size_t count = 0;
        for (end = first; end < readings->count && readings->items[end].number == number; end++) {
            const struct reading *reading = &readings->items[end];
            if (!number || number->measured != measured || healths[reading->from] != HEALTH_GOOD)
                continue;
            made.worst = worse_of(made.worst, reading->value, less);
            scratch[count++] = reading->value;
        }
        made.median = worse_of(made.median, median_of(scratch, count), less);
    }
    return made;
}

/* The good hosts' measurements in pairs. `scratch` has room for all hosts in all series. */
static struct made_number pairs_made(const struct acceptance *acceptance,
                                     const enum health *healths, enum metric metric,
                                     double *scratch)
{
    const struct fleet *fleet = acceptance->fleet;
    struct made_number made = {0};
    size_t count = 0;
    for (int s = 0; s < fleet->series_count; s++)
        for (int h = 0; h < acceptance->roster->host_count; h++) {
            double level = fleet_level(fleet, s, h);
            if (fleet->series[s].metric != metric || !isfinite(level) || healths[h] != HEALTH_GOOD)
                continue;
            scratch[count] = fleet_value(fleet, s, level);
            made.worst = worse_of(made.worst, scratch[count++],
                                  measured_numbers[MEASURED_PAIRS + metric].less_is_better);
        }
    made.median = median_of(scratch, count);
    return made;
}

static void numbers_put(FILE *out, const struct acceptance *acceptance)
{
    size_t hosts = (size_t)acceptance->roster->host_count;
    size_t cells = acceptance->fleet ? hosts * (size_t)acceptance->fleet->series_count : 0;
    size_t measured = (size_t)acceptance->readings.count;
    double *scratch = new_array(cells > measured ? cells : measured, sizeof *scratch);
    enum health *healths = findings_healths(&acceptance->findings, (int)hosts);
    fputs("\n# measured: the medians and the worst, with some room\n", out);
    for (int i = 0; i < MEASURED_PAIRS; i++)
        number_put(out, &measured_numbers[i],
                   own_made(acceptance, healths, &measured_numbers[i], scratch));
    for (int m = 0; acceptance->fleet && m < METRICS; m++)
        if (fleet_knows(acceptance->fleet, (enum metric)m))
            number_put(out, &measured_numbers[MEASURED_PAIRS + m],
                       pairs_made(acceptance, healths, (enum metric)m, scratch));
    free(healths);
    free(scratch);
}

enum status written_profile_put(const struct acceptance *acceptance, FILE *out)
{
    size_t most = (size_t)acceptance->roster->host_count;
    int *hosts = new_array(most, sizeof *hosts), count = hosts_good(acceptance, hosts);
    struct inventory_host *compared = new_array(most, sizeof *compared);
    for (int i = 0; i < count && acceptance->inventories; i++)
        compared[i] = (struct inventory_host){.name = acceptance->labels[hosts[i]],
                                              .inventory = &acceptance->inventories[hosts[i]]};
    fprintf(out, "# for cctest accept --profile: made of %d good host%s by cctest %s\n", count,
            plural(count), CCTEST_VERSION);
    bool put = inventory_typical_put(compared, count, out);
    numbers_put(out, acceptance);
    free(hosts);
    free(compared);
    if (!put)
        return fail(STATUS_ERROR, "out of memory for a profile");
    return count > 0 ? STATUS_OK : fail(STATUS_ERROR, "no profile is written: no host is good");
}

/*
 * An earlier run.
 */
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

static enum status baseline_match(struct baseline *baseline, const json_t *document,
                                  const char *path, const char *const *labels, int count)
{
    const json_t *hosts = json_object_get(document, "hosts");
    baseline->hosts = (int)json_array_size(hosts);
    baseline->host_of = new_array((size_t)baseline->hosts, sizeof *baseline->host_of);
    for (int h = 0; h < baseline->hosts; h++) {
        const char *name = word_of(json_array_get(hosts, (size_t)h), "name");
        baseline->host_of[h] = name_index(name, labels, count);
        baseline->common += baseline->host_of[h] >= 0;
    }
    if (baseline->common == 0)
        return fail_option(
            STATUS_USAGE, "baseline",
            "%s is of other hosts than these (%s is not among them): --baseline takes the "
            "JSON of an earlier run on the same hosts",
            path, labels[0]);
    return STATUS_OK;
}

/* The number that the rail of an earlier reading has today; -1: none. */
static int rail_today(const json_t *pair, const char *const *names, int count)
{
    const char *part = word_of(pair, "part");
    if (!names[0])
        return part[0] ? -1 : 0;
    return name_index(part, names, count);
}

void baseline_pairs_take(struct baseline *baseline, const char *const *names, int count)
{
    size_t index;
    const json_t *pair;
    free(baseline->pairs.items);
    baseline->pairs = (struct readings){0};
    json_array_foreach(baseline->measured, index, pair)
    {
        struct reading reading = {
            .from = host_today(baseline, pair, "from"),
            .to = host_today(baseline, pair, "to"),
            .rail = rail_today(pair, names, count),
            .value = json_number_value(json_object_get(pair, "value")),
        };
        int metric = METRICS - 1;
        while (metric >= 0 &&
               strcmp(word_of(pair, "metric"), measured_numbers[MEASURED_PAIRS + metric].name) != 0)
            metric--;
        bool known = strcmp(word_of(pair, "stage"), accept_stage_names[STAGE_PAIRS]) == 0 &&
                     strcmp(word_of(pair, "outcome"), "ok") == 0 && metric >= 0 &&
                     reading.from >= 0 && reading.to >= 0 && reading.rail >= 0;
        reading.metric = known ? (enum metric)metric : METRIC_LATENCY;
        if (known)
            *LIST_ADD(baseline->pairs.items, baseline->pairs.count) = reading;
    }
}

enum status baseline_read(const char *path, const char *const *labels, int hosts,
                          struct baseline *baseline)
{
    json_error_t error;
    char *text;
    *baseline = (struct baseline){.hosts = 0};
    TRY(text_file_read(path, &text));
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!document)
        return fail_line(STATUS_USAGE, path, error.line, "it is no JSON, and so no earlier run: %s",
                         error.text);
    if (strcmp(word_of(document, "command"), "accept") != 0 ||
        !json_is_array(json_object_get(document, "pairs")) ||
        !json_is_array(json_object_get(document, "numbers"))) {
        json_decref(document);
        return fail(STATUS_USAGE, "%s is not the JSON of a run of cctest accept", path);
    }
    enum status status = baseline_match(baseline, document, path, labels, hosts);
    if (status == STATUS_OK) {
        baseline->measured = json_incref(json_object_get(document, "pairs"));
        baseline->numbers = json_incref(json_object_get(document, "numbers"));
    }
    json_decref(document);
    return status;
}

void baseline_free(struct baseline *baseline)
{
    free(baseline->pairs.items);
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
        if (host < 0 || value <= 0 || strcmp(word_of(number, "stage"), stage) != 0 ||
            strcmp(word_of(number, "metric"), metric) != 0)
            continue;
        values[host] = value;
        known = true;
    }
    return known;
}
