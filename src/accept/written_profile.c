/*
 * written_profile.c - the profile that --write-profile makes of the hosts that are good.
 */
#include "accept/written_profile.h"

#include <stdlib.h>
#include <string.h>

#include "accept/stage.h"
#include "base/log.h"
#include "inventory/typical.h"
#include "screening/spread.h"

/* What a later run may be worse by than the median of this one. */
#define ROOM_BANDWIDTH 0.1
#define ROOM_LATENCY   0.25

static void number_put(FILE *out, const char *key, double median)
{
    int index = measured_find(key);
    char value[VALUE_TEXT_MOST];
    if (index < 0 || median <= 0)
        return;
    bool less = measured_numbers[index].less_is_better;
    double asked = median * (less ? 1 + ROOM_LATENCY : 1 - ROOM_BANDWIDTH), rounded;
    snprintf(value, sizeof value, "%.3g", asked);
    rounded = strtod(value, NULL);
    fprintf(out, "%s %s %s\n", key, profile_operator_names[less ? PROFILE_MOST : PROFILE_LEAST],
            value_text(measured_numbers[index].unit, rounded, value));
}

/* The median of a metric of the good hosts. */
static double metric_median(const struct acceptance *acceptance, const char *metric,
                            double *scratch)
{
    size_t count = 0;
    for (int i = 0; i < acceptance->number_count; i++) {
        const struct host_number *number = &acceptance->numbers[i];
        if (strcmp(number->metric, metric) == 0 &&
            findings_health(&acceptance->findings, number->host) == HEALTH_GOOD)
            scratch[count++] = number->value;
    }
    return count > 0 ? median_of(scratch, count) : 0;
}

/* What the good hosts measured by themselves: the median, of several metrics (one for each NIC) the
 * worst; 0: nothing. */
static double own_median(const struct acceptance *acceptance, int index, double *scratch)
{
    double worst = 0;
    const char *last = "";
    for (int i = 0; i < acceptance->number_count; i++) {
        const struct host_number *number = &acceptance->numbers[i];
        if (strcmp(number->key, measured_numbers[index].key) != 0 ||
            strcmp(number->metric, last) == 0)
            continue;
        last = number->metric;
        double median = metric_median(acceptance, last, scratch);
        if (median > 0 &&
            (worst == 0 || (median > worst) == measured_numbers[index].less_is_better))
            worst = median;
    }
    return worst;
}

static bool numbers_put(FILE *out, const struct acceptance *acceptance)
{
    double *scratch = calloc((size_t)acceptance->number_count + 1, sizeof *scratch);
    if (!scratch)
        return false;
    fputs("\n# measured: the medians, with some room\n", out);
    for (int i = 0; measured_numbers[i].key; i++)
        number_put(out, measured_numbers[i].key, own_median(acceptance, i, scratch));
    for (int m = 0; acceptance->fleet && m < METRICS; m++)
        number_put(out, reading_metric_keys[m], fleet_median(acceptance->fleet, (enum metric)m));
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
