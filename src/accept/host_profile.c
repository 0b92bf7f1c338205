/*
 * host_profile.c - reads a profile of hosts.
 */
#include "accept/accept.h"

#include "accept/judge/judge.h"
#include "base/log.h"
#include "base/stats/stats.h"
#include "base/text_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct measured_number measured_numbers[] = {
    {"self.copy", VALUE_GBYTES, false},
    {"self.sum", VALUE_GBYTES, false},
    {"self.core", VALUE_STEPS, false},
    {"self.gpu.copy", VALUE_GBYTES, false},
    {"self.gpu.host_to_device", VALUE_GBYTES, false},
    {"self.gpu.device_to_host", VALUE_GBYTES, false},
    {"self.loop", VALUE_GBYTES, false},
    {"node.allreduce.latency", VALUE_MICROSECONDS, true},
    {"node.allreduce.busbw", VALUE_GBYTES, false},
    {"node.alltoall.busbw", VALUE_GBYTES, false},
    {"pairs.latency", VALUE_MICROSECONDS, true},
    {"pairs.bandwidth", VALUE_GBYTES, false},
    {"pairs.bandwidth_both", VALUE_GBYTES, false},
    {.key = NULL},
};
_Static_assert(sizeof measured_numbers / sizeof measured_numbers[0] <= MEASURED_MOST,
               "a profile has a place for each");

int measured_find(const char *key)
{
    for (int i = 0; measured_numbers[i].key; i++)
        if (strcmp(measured_numbers[i].key, key) == 0)
            return i;
    return -1;
}

/* ---- reading ---- */

static enum status asked_take(struct host_profile *profile, const struct profile_line *line,
                              int index)
{
    const struct measured_number *number = &measured_numbers[index];
    enum profile_operator operator= number->less_is_better ? PROFILE_MOST : PROFILE_LEAST;
    if (line->operator!= operator)
        return fail(STATUS_USAGE, "%s:%d: %s is measured: write %s behind it", line->file,
                    line->number, line->key, profile_operator_names[operator]);
    if (profile->asked[index] > 0)
        return fail(STATUS_USAGE, "%s:%d: %s is there twice", line->file, line->number, line->key);
    enum status status = profile_number(line, number->unit, &profile->asked[index]);
    if (status == STATUS_OK && profile->asked[index] <= 0)
        return fail(STATUS_USAGE, "%s:%d: %s is above 0, not '%s'", line->file, line->number,
                    line->key, line->value);
    return status;
}

static enum status fact_take(struct host_profile *profile, const struct profile_line *line)
{
    struct expected_fact *facts =
        realloc(profile->facts, (size_t)(profile->fact_count + 1) * sizeof *facts);
    if (!facts)
        return fail(STATUS_ERROR, "out of memory for the profile");
    profile->facts = facts;
    enum status status = expected_fact_read(line, &facts[profile->fact_count]);
    profile->fact_count += status == STATUS_OK;
    return status;
}

static enum status line_take(struct host_profile *profile, const char *text, const char *path,
                             int number)
{
    struct profile_line line;
    enum status status = profile_line_read(text, path, number, &line);
    if (status != STATUS_OK || !line.key[0])
        return status;
    int index = measured_find(line.key);
    return index >= 0 ? asked_take(profile, &line, index) : fact_take(profile, &line);
}

enum status host_profile_read(const char *path, struct host_profile *profile)
{
    char *text = NULL, *rest;
    *profile = (struct host_profile){.facts = NULL};
    enum status status = text_file_read(path, &text);
    rest = text;
    for (int number = 1; status == STATUS_OK && rest; number++)
        status = line_take(profile, strsep(&rest, "\n"), path, number);
    free(text);
    return status;
}

void host_profile_free(struct host_profile *profile)
{
    free(profile->facts);
}

double host_profile_asked(const struct host_profile *profile, const char *key)
{
    int index = measured_find(key);
    return index >= 0 ? profile->asked[index] : 0;
}

/*
 * The profile that --write-profile makes of the hosts that are good.
 */
/* What a later run may be worse by than the median of this one, and than its worst good host: each of
 * these hosts is to meet the profile. */
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

static void number_put(FILE *out, const char *key, struct made_number made)
{
    int index = measured_find(key);
    char value[VALUE_TEXT_MOST];
    if (index < 0 || made.median <= 0)
        return;
    bool less = measured_numbers[index].less_is_better;
    double asked = worse_of(made.median * (less ? 1 + ROOM_LATENCY : 1 - ROOM_BANDWIDTH),
                            made.worst * (less ? 1 + ROOM_WORST : 1 - ROOM_WORST), less);
    snprintf(value, sizeof value, "%.3g", asked);
    fprintf(out, "%s %s %s\n", key, profile_operator_names[less ? PROFILE_MOST : PROFILE_LEAST],
            value_text(measured_numbers[index].unit, strtod(value, NULL), value));
}

static bool is_good(const struct acceptance *acceptance, int host)
{
    return findings_health(&acceptance->findings, host) == HEALTH_GOOD;
}

static struct made_number metric_made(const struct acceptance *acceptance, const char *metric,
                                      bool less, double *scratch)
{
    size_t count = 0;
    struct made_number made = {0};
    for (int i = 0; i < acceptance->number_count; i++) {
        const struct host_number *number = &acceptance->numbers[i];
        if (strcmp(number->metric, metric) != 0 || !is_good(acceptance, number->host))
            continue;
        made.worst = worse_of(made.worst, number->value, less);
        scratch[count++] = number->value;
    }
    made.median = count > 0 ? median_of(scratch, count) : 0;
    return made;
}

/* What the good hosts measured by themselves; of several metrics (one for each NIC) the worst. */
static struct made_number own_made(const struct acceptance *acceptance, int index, double *scratch)
{
    struct made_number made = {0};
    bool less = measured_numbers[index].less_is_better;
    const char *last = "";
    for (int i = 0; i < acceptance->number_count; i++) {
        const struct host_number *number = &acceptance->numbers[i];
        if (strcmp(number->key, measured_numbers[index].key) != 0 ||
            strcmp(number->metric, last) == 0)
            continue;
        last = number->metric;
        struct made_number one = metric_made(acceptance, last, less, scratch);
        made.median = worse_of(made.median, one.median, less);
        made.worst = worse_of(made.worst, one.worst, less);
    }
    return made;
}

/* What the good hosts had in their pairs. `scratch` has room for all hosts in all series. */
static struct made_number pairs_made(const struct acceptance *acceptance, enum metric metric,
                                     double *scratch)
{
    const struct fleet *fleet = acceptance->fleet;
    struct made_number made = {0};
    size_t count = 0;
    for (int s = 0; s < fleet_series_count(fleet); s++)
        for (int h = 0; h < acceptance->roster->host_count; h++) {
            double level = fleet_level(fleet, s, h);
            if (fleet_series(fleet, s)->metric != metric || !isfinite(level) ||
                !is_good(acceptance, h))
                continue;
            scratch[count] = fleet_value(fleet, s, level);
            made.worst = worse_of(made.worst, scratch[count++], metric == METRIC_LATENCY);
        }
    made.median = count > 0 ? median_of(scratch, count) : 0;
    return made;
}

static bool numbers_put(FILE *out, const struct acceptance *acceptance)
{
    size_t hosts = (size_t)acceptance->roster->host_count;
    size_t cells = acceptance->fleet ? hosts * (size_t)fleet_series_count(acceptance->fleet) : 0;
    size_t most =
        cells > (size_t)acceptance->number_count ? cells : (size_t)acceptance->number_count;
    double *scratch = calloc(most + 1, sizeof *scratch);
    if (!scratch)
        return false;
    fputs("\n# measured: the medians and the worst, with some room\n", out);
    for (int i = 0; measured_numbers[i].key; i++)
        number_put(out, measured_numbers[i].key, own_made(acceptance, i, scratch));
    for (int m = 0; acceptance->fleet && m < METRICS; m++)
        number_put(out, reading_metric_keys[m], pairs_made(acceptance, (enum metric)m, scratch));
    free(scratch);
    return true;
}

enum status written_profile_put(const struct acceptance *acceptance, FILE *out)
{
    size_t most = (size_t)acceptance->roster->host_count;
    int *hosts = calloc(most, sizeof *hosts);
    struct inventory_host *compared = calloc(most, sizeof *compared);
    int count = hosts ? hosts_good(acceptance, hosts) : 0;
    char text[COUNTED_MOST];
    bool put = hosts && compared;
    for (int i = 0; i < count && put && acceptance->inventories; i++)
        compared[i] = (struct inventory_host){.name = host_label(acceptance, hosts[i]),
                                              .inventory = &acceptance->inventories[hosts[i]]};
    if (put) {
        fprintf(out, "# for cctest accept --profile: made of %s by cctest %s\n",
                counted(count, "good host", text), CCTEST_VERSION);
        put = inventory_typical_put(compared, count, out) && numbers_put(out, acceptance);
    }
    free(hosts);
    free(compared);
    if (!put)
        return fail(STATUS_ERROR, "out of memory for a profile");
    return count > 0 ? STATUS_OK : fail(STATUS_ERROR, "no profile is written: no host is good");
}
