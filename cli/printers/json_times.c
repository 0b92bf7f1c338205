/*
 * json_times.c - the times of a line in JSON, and how sure they are.
 */
#include "cli/printers/json_times.h"

#include <math.h>

/* A number, or null where there is none. */
static json_t *number_json(double number)
{
    return isnan(number) ? json_null() : json_real(number);
}

static json_t *statistics_json(const struct statistics *times)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:f}", "min", times->min, "p50", times->p50, "mean",
                     times->mean, "p90", times->p90, "p99", number_json(times->p99), "max",
                     times->max);
}

static json_t *interval_json(const struct median_interval *interval)
{
    if (interval->coverage == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "low_us", interval->low, "high_us",
                     interval->high, "level", MEDIAN_LEVEL, "coverage", interval->coverage,
                     "margin", median_interval_margin(interval), "reached",
                     median_interval_is_narrow(interval));
}

static json_t *modes_json(const struct modes *modes)
{
    if (modes->median[0] == 0)
        return json_null();
    json_t *both = json_array();
    for (int i = 0; i < 2; i++)
        json_array_append_new(
            both, json_pack("{s:f, s:f}", "median_us", modes->median[i], "share", modes->share[i]));
    return both;
}

static json_t *trend_json(const struct trend *trend)
{
    return trend->change == 0 ? json_null()
                              : json_pack("{s:f, s:f}", "change", trend->change, "z", trend->z);
}

void times_put(json_t *line, const struct result *result)
{
    json_object_set_new(line, "time_us", statistics_json(&result->time_us));
    json_object_set_new(line, "device_time_us",
                        result->device_us.max > 0 ? statistics_json(&result->device_us)
                                                  : json_null());
    json_object_set_new(line, "ended", json_string(sampling_end_names[result->end]));
    json_object_set_new(line, "median_interval", interval_json(&result->p50_interval));
    json_object_set_new(line, "modes", modes_json(&result->modes));
    json_object_set_new(line, "trend", trend_json(&result->trend));
}
