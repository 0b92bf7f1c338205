/*
 * drift.c - hosts over the rotations of a soak.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats/stats.h"

#define DIPS_LEAST 2

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

static double worse_than(const struct drift_series *series, double value, double than)
{
    return series->less_is_better ? log(value / than) : log(than / value);
}

static double floor_excess(const struct drift_series *series)
{
    return series->less_is_better ? log1p(series->floor) : -log1p(-series->floor);
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
            values[h] > 0 ? worse_than(series, values[h], base) : NAN;
}

/* The excess of a host in the rotations in which it was measured, in their order; how many. */
static int host_excess(const struct work *work, int host, double *excess)
{
    int count = 0;
    for (int r = 0; r < work->series->rotations; r++) {
        double one = *cell_of(work->excess, work->series, r, host);
        if (!isnan(one))
            excess[count++] = one;
    }
    return count;
}

/* Takes away what a host always has. */
static void host_center(struct work *work, int host)
{
    double median = median_of(work->scratch, (size_t)host_excess(work, host, work->scratch));
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

/* The test of Mann and Kendall: how probable is it by chance that excess rises or falls so? 1 where it
 * falls. */
static double rise_chance(const double *excess, int count)
{
    double k = count, rises = 0;
    for (int i = 0; i < count; i++)
        for (int later = i + 1; later < count; later++)
            rises += (excess[later] > excess[i]) - (excess[later] < excess[i]);
    return rises <= 0 ? 1 : erfc((rises - 1) / sqrt(k * (k - 1) * (2 * k + 5) / 18) / M_SQRT2);
}

static double thirds_median(const double *values, int count, bool last, double *scratch)
{
    int third = count / 3;
    for (int i = 0; i < third; i++)
        scratch[i] = values[last ? count - third + i : i];
    return median_of(scratch, (size_t)third);
}

static int host_values(const struct work *work, int host, double *values)
{
    int count = 0;
    for (int r = 0; r < work->series->rotations; r++) {
        double value = work->series->values[r * work->series->hosts + host];
        if (value > 0)
            values[count++] = value;
    }
    return count;
}

static void drift_find(const struct work *work, int host, struct drift *drift)
{
    double *values = work->scratch, *scratch = values + work->series->rotations;
    int count = drift->measured = host_excess(work, host, values);
    if (count < 3)
        return;
    double chance = rise_chance(values, count);
    double change =
        thirds_median(values, count, true, scratch) - thirds_median(values, count, false, scratch);
    drift->worse = work->series->less_is_better ? expm1(change) : -expm1(-change);
    drift->drifts =
        chance * work->series->judged < FALSE_ALARMS && change > floor_excess(work->series);
    host_values(work, host, values);
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
        drift->dips >= DIPS_LEAST &&
        binomial_tail(drift->measured, drift->dips, drift->dips_share) * work->series->judged <
            FALSE_ALARMS;
}

bool drifts_find(const struct drift_series *series, struct drift *drifts)
{
    size_t cells = (size_t)series->rotations * (size_t)series->hosts;
    struct work work = {.series = series,
                        .excess = calloc(cells, sizeof *work.excess),
                        .scratch = calloc(cells + 2 * (size_t)series->rotations, sizeof(double))};
    bool made = work.excess && work.scratch;
    for (int r = 0; r < series->rotations && made; r++)
        rotation_take(&work, r);
    for (int h = 0; h < series->hosts && made; h++)
        host_center(&work, h);
    if (made)
        limit_find(&work);
    for (int h = 0; h < series->hosts && made; h++) {
        drifts[h] = (struct drift){.measured = 0};
        drift_find(&work, h, &drifts[h]);
        dips_count(&work, h, &drifts[h]);
    }
    for (int h = 0; h < series->hosts && made; h++)
        dips_judge(&work, &drifts[h]);
    free(work.excess);
    free(work.scratch);
    return made;
}
