/*
 * values.c - the values of hosts by themselves: outliers among them, and drift over the rotations
 * of a soak.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

double worse_by(bool less_is_better, double value, double than)
{
    return less_is_better ? log(value / than) : log(than / value);
}

double worse_share(bool less_is_better, double share)
{
    return less_is_better ? log1p(share) : -log1p(-share);
}

double worse_value(bool less_is_better, double than, double excess)
{
    return than * exp(less_is_better ? excess : -excess);
}

/*
 * Outliers among the values of hosts.
 */
static bool is_number(double value)
{
    return isfinite(value) && value > 0;
}

/* The median of the hosts' changes since the earlier run, excess. */
static double change_find(const struct value_rule *rule, const struct judged_value *values,
                          int hosts, double *scratch)
{
    size_t count = 0;
    for (int h = 0; h < hosts; h++)
        if (is_number(values[h].value) && is_number(rule->earlier[h]))
            scratch[count++] = worse_by(rule->less_is_better, values[h].value, rule->earlier[h]);
    return median_of(scratch, count);
}

void host_values_judge(const struct value_rule *rule, struct judged_value *values, int hosts)
{
    const bool less = rule->less_is_better;
    double *scratch = new_array((size_t)hosts, sizeof *scratch);
    size_t count = 0;
    for (int h = 0; h < hosts; h++)
        if (is_number(values[h].value))
            scratch[count++] = values[h].value;
    double median = median_of(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = worse_by(less, scratch[i], median);
    double deviation = spread_of(scratch, count).deviation;
    double change = rule->earlier ? change_find(rule, values, hosts, scratch) : 0;
    free(scratch);
    double factor = spread_factor(rule->judged, rule->alarms);
    for (int h = 0; h < hosts; h++) {
        double value = values[h].value;
        values[h].outlier = false;
        if (!is_number(value))
            continue;
        struct excess_limit limit = {.excess = INFINITY, .reference = REFERENCE_FLEET};
        if (count >= HOSTS_COMPARED)
            limit.excess = fmax(factor * deviation, worse_share(less, rule->floor));
        if (rule->asked > 0)
            limit_tighten(&limit, worse_by(less, rule->asked, median), REFERENCE_PROFILE);
        if (rule->earlier && is_number(rule->earlier[h]))
            limit_tighten(
                &limit,
                worse_by(less, rule->earlier[h], median) + change +
                    fmax(factor * sqrt(2) * deviation, worse_share(less, rule->earlier_floor)),
                REFERENCE_EARLIER);
        values[h].outlier = worse_by(less, value, median) > limit.excess;
        values[h].reason = (struct reason){.reference = limit.reference,
                                           .value = value,
                                           .median = median,
                                           .deviation = deviation * median,
                                           .threshold = worse_value(less, median, limit.excess)};
    }
}

/*
 * Gaps.
 */
struct reason gaps_limit(double *seconds, size_t hosts, double least, double judged, double alarms)
{
    struct reason limit = {0};
    if (hosts < HOSTS_COMPARED) {
        limit.median = hosts > 1 ? select_value(seconds, hosts, 0) : 0;
    } else {
        struct spread spread = spread_of(seconds, hosts);
        limit.median = spread.median;
        limit.deviation = spread.deviation;
    }
    double slack = fmax(least, spread_factor(judged, alarms) * limit.deviation);
    limit.threshold = limit.median + fmax(limit.median, slack);
    return limit;
}

/*
 * Drift.
 */
#define DIPS_LEAST 2

/* A share: what is worse by less is neither drift nor dip. */
#define FLOOR_BANDWIDTH 0.1
#define FLOOR_LATENCY   0.3

struct work {
    const struct drift_series *series;
    double *excess;  /* as the values; NAN: not measured */
    double *scratch; /* as many */
    double limit;    /* beyond which an excess is a dip */
    int dips, measured;
};

static double *cell_of(double *cells, const struct drift_series *series, int rotation, int host)
{
    return &cells[rotation * series->hosts + host];
}

static double floor_excess(const struct drift_series *series)
{
    return worse_share(series->less_is_better,
                       series->less_is_better ? FLOOR_LATENCY : FLOOR_BANDWIDTH);
}

/* The excess of a rotation's values over their median. */
static void rotation_take(struct work *work, int rotation)
{
    const struct drift_series *series = work->series;
    const double *values = &series->values[rotation * series->hosts];
    size_t count = 0;
    for (int h = 0; h < series->hosts; h++)
        if (values[h] > 0)
            work->scratch[count++] = values[h];
    double base = count >= HOSTS_COMPARED ? median_of(work->scratch, count) : 1;
    for (int h = 0; h < series->hosts; h++)
        *cell_of(work->excess, series, rotation, h) =
            values[h] > 0 ? worse_by(series->less_is_better, values[h], base) : NAN;
}

/* The cells of a host in the rotations in which it was measured, in their order; how many. */
static int host_cells(const struct drift_series *series, const double *cells, int host,
                      double *numbers)
{
    int count = 0;
    for (int c = host; c < series->rotations * series->hosts; c += series->hosts)
        if (series->values[c] > 0)
            numbers[count++] = cells[c];
    return count;
}

/* Takes away what a host always has. */
static void host_center(struct work *work, int host)
{
    int count = host_cells(work->series, work->excess, host, work->scratch);
    double median = median_of(work->scratch, (size_t)count);
    for (int r = 0; r < work->series->rotations; r++)
        *cell_of(work->excess, work->series, r, host) -= median;
}

static void limit_find(struct work *work)
{
    int cells = work->series->rotations * work->series->hosts;
    size_t count = 0;
    for (int c = 0; c < cells; c++)
        if (!isnan(work->excess[c]))
            work->scratch[count++] = work->excess[c];
    double deviation = spread_of(work->scratch, count).deviation;
    work->limit = fmax(spread_factor((double)count, 1) * deviation, floor_excess(work->series));
}

/* The test of Mann and Kendall: how probable is it by chance that excess rises or falls so? 1
 * where it falls. */
static double rise_chance(const double *excess, int count)
{
    double k = count, rises = 0;
    for (int i = 0; i < count; i++)
        for (int later = i + 1; later < count; later++)
            rises += COMPARE(excess[later], excess[i]);
    return rises <= 0 ? 1 : erfc((rises - 1) / sqrt(k * (k - 1) * (2 * k + 5) / 18) / M_SQRT2);
}

static double thirds_median(const double *values, int count, bool last, double *scratch)
{
    int third = count / 3;
    for (int i = 0; i < third; i++)
        scratch[i] = values[last ? count - third + i : i];
    return median_of(scratch, (size_t)third);
}

static void drift_find(const struct work *work, int host, struct drift *drift)
{
    double *values = work->scratch, *scratch = values + work->series->rotations;
    int count = drift->measured = host_cells(work->series, work->excess, host, values);
    if (count < 3)
        return;
    double chance = rise_chance(values, count);
    double change =
        thirds_median(values, count, true, scratch) - thirds_median(values, count, false, scratch);
    drift->worse = work->series->less_is_better ? expm1(change) : -expm1(-change);
    drift->drifts =
        chance * work->series->judged < work->series->alarms && change > floor_excess(work->series);
    host_cells(work->series, work->series->values, host, values);
    drift->first = thirds_median(values, count, false, scratch);
    drift->last = thirds_median(values, count, true, scratch);
}

static void dips_count(struct work *work, int host, struct drift *drift)
{
    double worst = work->limit;
    for (int r = 0; r < work->series->rotations; r++) {
        double excess = *cell_of(work->excess, work->series, r, host);
        drift->dips += excess > work->limit;
        if (excess > worst) {
            worst = excess;
            drift->worst = r;
        }
    }
    work->dips += drift->dips;
    work->measured += drift->measured;
}

static void dips_judge(const struct work *work, struct drift *drift)
{
    double others = work->measured - drift->measured;
    drift->dips_share = (work->dips - drift->dips + 1) / (others + 2);
    drift->dips_often =
        !drift->drifts && drift->dips >= DIPS_LEAST &&
        binomial_tail(drift->measured, drift->dips, drift->dips_share) * work->series->judged <
            work->series->alarms;
}

void drifts_find(const struct drift_series *series, struct drift *drifts)
{
    size_t cells = (size_t)series->rotations * (size_t)series->hosts;
    struct work work = {.series = series,
                        .excess = new_array(cells, sizeof *work.excess),
                        .scratch =
                            new_array(cells + 2 * (size_t)series->rotations, sizeof(double))};
    for (int r = 0; r < series->rotations; r++)
        rotation_take(&work, r);
    for (int h = 0; h < series->hosts; h++)
        host_center(&work, h);
    limit_find(&work);
    for (int h = 0; h < series->hosts; h++) {
        drifts[h] = (struct drift){.measured = 0};
        drift_find(&work, h, &drifts[h]);
        dips_count(&work, h, &drifts[h]);
    }
    for (int h = 0; h < series->hosts; h++)
        dips_judge(&work, &drifts[h]);
    free(work.excess);
    free(work.scratch);
}

void drift_put(const struct drift_series *series, const char *name, const char *unit, int host,
               const struct drift *drift, struct text *text)
{
    char first[NUMBER_TEXT_MOST], last[NUMBER_TEXT_MOST];
    if (drift->drifts)
        text_add(text, "%s goes from %s to %s %s over %d rotations: %.0f%% worse%s", name,
                 number_text(drift->first, 3, first), number_text(drift->last, 3, last), unit,
                 drift->measured, 100 * drift->worse,
                 series->hosts < HOSTS_COMPARED ? "" : " beside the fleet");
    else
        text_add(text,
                 "%s dips in %d of %d rotations, to %s %s in rotation %d; other hosts in %.1f%%",
                 name, drift->dips, drift->measured,
                 number_text(series->values[drift->worst * series->hosts + host], 3, last), unit,
                 drift->worst + 1, 100 * drift->dips_share);
}
