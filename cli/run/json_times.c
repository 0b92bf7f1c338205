/*
 * json_times.c - the times of a line in JSON, and how sure they are.
 */
#include "cli/run/internal.h"

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

void timing_put(json_t *line, const struct timing *timing)
{
    const struct slowest_rank *slowest = &timing->slowest;
    json_object_set_new(line, "time_us", statistics_json(&timing->time_us));
    json_object_set_new(line, "device_time_us",
                        timing->device_us.max > 0 ? statistics_json(&timing->device_us)
                                                  : json_null());
    json_object_set_new(line, "median_interval", interval_json(&timing->p50_interval));
    json_object_set_new(line, "modes", modes_json(&timing->modes));
    json_object_set_new(line, "trend", trend_json(&timing->trend));
    json_object_set_new(line, "algbw_GBps", json_real(timing->algbw));
    json_object_set_new(line, "busbw_GBps", json_real(timing->busbw));
    json_object_set_new(line, "slowest",
                        slowest->rank < 0 ? json_null()
                                          : json_pack("{s:i, s:I}", "rank", slowest->rank,
                                                      "iterations", (json_int_t)slowest->times));
}
