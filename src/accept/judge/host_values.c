/*
 * host_values.c - outliers among the values of hosts.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdlib.h>

static bool is_number(double value)
{
    return isfinite(value) && value > 0;
}

static double excess_of(const struct value_rule *rule, double value, double than)
{
    return rule->less_is_better ? log(value / than) : log(than / value);
}

static double value_of(const struct value_rule *rule, double excess, double median)
{
    return median * exp(rule->less_is_better ? excess : -excess);
}

static double share_excess(const struct value_rule *rule, double share)
{
    return rule->less_is_better ? log1p(share) : -log1p(-share);
}

/* The median of the hosts' changes since the earlier run, excess. */
static double change_find(const struct value_rule *rule, const double *values, int hosts,
                          double *scratch)
{
    size_t count = 0;
    for (int h = 0; h < hosts; h++)
        if (is_number(values[h]) && is_number(rule->earlier[h]))
            scratch[count++] = excess_of(rule, values[h], rule->earlier[h]);
    return median_of(scratch, count);
}

int host_values_judge(const struct value_rule *rule, const double *values, int hosts, bool *outlier,
                      struct reason *reasons)
{
    double *scratch = calloc((size_t)hosts, sizeof *scratch);
    if (!scratch)
        return -1;
    size_t count = 0;
    for (int h = 0; h < hosts; h++)
        if (is_number(values[h]))
            scratch[count++] = values[h];
    double median = median_of(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = excess_of(rule, scratch[i], median);
    double deviation = spread_of(scratch, count).deviation;
    double change = rule->earlier ? change_find(rule, values, hosts, scratch) : 0;
    free(scratch);
    double factor = spread_factor(rule->judged, FALSE_ALARMS);
    int outliers = 0;
    for (int h = 0; h < hosts; h++) {
        outlier[h] = false;
        if (!is_number(values[h]))
            continue;
        double slack = fmax(factor * deviation, share_excess(rule, rule->floor));
        struct excess_limit limit = {.excess = count < HOSTS_COMPARED ? INFINITY : slack,
                                     .yardstick = YARDSTICK_FLEET};
        if (rule->asked > 0 && excess_of(rule, rule->asked, median) < limit.excess)
            limit = (struct excess_limit){.excess = excess_of(rule, rule->asked, median),
                                          .yardstick = YARDSTICK_PROFILE};
        if (rule->earlier && is_number(rule->earlier[h])) {
            slack = fmax(factor * sqrt(2) * deviation, share_excess(rule, rule->earlier_floor));
            double excess = excess_of(rule, rule->earlier[h], median) + change + slack;
            if (excess < limit.excess)
                limit = (struct excess_limit){.excess = excess, .yardstick = YARDSTICK_EARLIER};
        }
        outlier[h] = excess_of(rule, values[h], median) > limit.excess;
        outliers += outlier[h];
        reasons[h] = (struct reason){.yardstick = limit.yardstick,
                                     .value = values[h],
                                     .median = median,
                                     .deviation = deviation * median,
                                     .threshold = value_of(rule, limit.excess, median)};
    }
    return outliers;
}
