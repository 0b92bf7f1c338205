/*
 * fleet.c - from readings to levels, and their spreads.
 */
#include "accept/judge/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

#define CLASS_LEAST   8      /* bandwidths at one distance, to have a reference of their own */
#define HOST_SHARE    2      /* no host has more than 1 / this of them */
#define NOISE_LEAST   3      /* readings of a cell that tell of noise */
#define MEDIAN_ERROR  1.2533 /* sqrt(pi / 2): deviation of a median / that of a mean */
#define NORMAL_MAD    1.4826 /* as in base/stats/stats.h */
#define SLOW_LEAST    0.15   /* excess above the better half (14%): less leaves a level as it is; */
#define SLOW_LOSS     1.0    /* of a loss: 0.17% of the packets above none */
#define SLOW_READINGS 5      /* of a host, to tell whether it is slow, */
#define SLOW_HOSTS    16     /* unless there are so many */
#define SLOW_TURNS    8

int fleet_find(const struct fleet *fleet, enum metric metric, int rail, enum direction direction)
{
    return ((int)metric * fleet->config.rails + rail) * DIRECTIONS + (int)direction;
}

int fleet_from(const struct fleet *fleet, const struct reading *reading)
{
    return fleet_find(fleet, reading->metric, reading->rail, DIRECTION_SEND);
}

int fleet_to(const struct fleet *fleet, const struct reading *reading)
{
    return fleet_find(fleet, reading->metric, reading->rail,
                      reading->metric == METRIC_LATENCY ? DIRECTION_SEND : DIRECTION_RECEIVE);
}

bool fleet_has(const struct fleet *fleet, const struct reading *reading)
{
    int hosts = fleet->config.hosts;
    return reading->from >= 0 && reading->from < hosts && reading->to >= 0 && reading->to < hosts &&
           reading->from != reading->to && reading->rail >= 0 &&
           reading->rail < fleet->config.rails && (unsigned)reading->metric < METRICS;
}

enum reading_outcome reading_outcome(const struct reading *reading)
{
    double least = reading->metric == METRIC_LOSS ? 0 : DBL_TRUE_MIN;
    bool usable = isfinite(reading->value) && reading->value >= least;
    return reading->outcome == READING_VALUE && !usable ? READING_ERROR : reading->outcome;
}

bool is_less_better(enum metric metric)
{
    return metric == METRIC_LATENCY || metric == METRIC_LOSS;
}

#define LOSS_ROUNDING 1e-9 /* %, of a logarithm and back */

static double start_of(enum metric metric)
{
    return metric == METRIC_LOSS ? LOSS_START : 0;
}

double metric_excess(enum metric metric, double value, double reference)
{
    double start = start_of(metric);
    return worse_by(is_less_better(metric), value + start, reference + start);
}

double metric_value(enum metric metric, double reference, double excess)
{
    double start = start_of(metric);
    double value = worse_value(is_less_better(metric), reference + start, excess) - start;
    return start > 0 && value < LOSS_ROUNDING ? 0 : value;
}

static int cell_of(const struct fleet *fleet, int series, int host)
{
    return series * fleet->config.hosts + host;
}

static int class_of(const struct fleet *fleet, const struct reading *reading)
{
    return (int)reading->metric * fleet->config.rails + reading->rail;
}

static enum distance distance_of(const struct fleet *fleet, const struct reading *reading)
{
    const int *switches = fleet->config.switches;
    bool near = switches && switches[reading->from] >= 0 &&
                switches[reading->from] == switches[reading->to];
    return near ? DISTANCE_NEAR : DISTANCE_FAR;
}

double fleet_excess(const struct fleet *fleet, const struct reading *reading)
{
    if (reading_outcome(reading) != READING_VALUE)
        return INFINITY;
    double reference =
        fleet->classes[class_of(fleet, reading)].reference[distance_of(fleet, reading)];
    return metric_excess(reading->metric, reading->value, reference);
}

double fleet_distance_median(const struct fleet *fleet, enum metric metric, int rail,
                             enum distance distance)
{
    int class = (int)metric * fleet->config.rails + rail;
    return fleet->classes[class].apart ? fleet->classes[class].reference[distance] : 0;
}

double fleet_value(const struct fleet *fleet, int series, double excess)
{
    const struct series *s = &fleet->series[series];
    return metric_value(s->metric, s->reference, excess);
}

double fleet_link_value(const struct fleet *fleet, int series, int host, int peer, double excess)
{
    const struct series *s = &fleet->series[series];
    const struct reading link = {.from = host, .to = peer, .rail = s->rail, .metric = s->metric};
    double reference = fleet->classes[class_of(fleet, &link)].reference[distance_of(fleet, &link)];
    return metric_value(s->metric, reference, excess);
}

bool fleet_knows(const struct fleet *fleet, enum metric metric)
{
    bool known = false;
    for (int s = 0; s < fleet->series_count; s++)
        known |= fleet->series[s].metric == metric && fleet->series[s].levels.count > 0;
    return known;
}

double fleet_median(const struct fleet *fleet, enum metric metric)
{
    double values[RAILS_MOST];
    size_t known = 0;
    for (int r = 0; r < fleet->config.rails; r++) {
        int series = fleet_find(fleet, metric, r, DIRECTION_SEND);
        const struct spread *levels = &fleet->series[series].levels;
        if (levels->count > 0)
            values[known++] = fleet_value(fleet, series, levels->median);
    }
    return median_of(values, known);
}

double fleet_level(const struct fleet *fleet, int series, int host)
{
    return fleet->level[cell_of(fleet, series, host)];
}

double fleet_worst(const struct fleet *fleet, int series, int host)
{
    int cell = cell_of(fleet, series, host);
    const double *excess = bins_of(&fleet->cells, cell);
    double worst = NAN;
    for (size_t i = 0; i < bins_size(&fleet->cells, cell); i++)
        worst = fmax(worst, excess[i]); /* which takes a number for a NAN */
    return worst;
}

double fleet_best(const struct fleet *fleet, int series, int host)
{
    return fleet->best[cell_of(fleet, series, host)];
}

static int from_cell(const struct fleet *fleet, const struct reading *reading)
{
    return cell_of(fleet, fleet_from(fleet, reading), reading->from);
}

static int to_cell(const struct fleet *fleet, const struct reading *reading)
{
    return cell_of(fleet, fleet_to(fleet, reading), reading->to);
}

/* The bin of a reading's metric, rail and distance; -1: it has no value, or that of a slow host. */
static int bin_of(const struct fleet *fleet, const struct reading *reading)
{
    if (!fleet_has(fleet, reading) || reading_outcome(reading) != READING_VALUE ||
        fleet->slow[from_cell(fleet, reading)] || fleet->slow[to_cell(fleet, reading)])
        return -1;
    return class_of(fleet, reading) * DISTANCE_KINDS + (int)distance_of(fleet, reading);
}

static void values_fill(const struct fleet *fleet, const struct reading *readings, size_t count,
                        struct arena *memory, struct bins *values)
{
    bins_create(values, memory, METRICS * fleet->config.rails * DISTANCE_KINDS);
    for (size_t i = 0; i < count; i++)
        if (bin_of(fleet, &readings[i]) >= 0)
            bins_count(values, bin_of(fleet, &readings[i]));
    bins_reserve(values, memory);
    for (size_t i = 0; i < count; i++)
        if (bin_of(fleet, &readings[i]) >= 0)
            bins_put(values, bin_of(fleet, &readings[i]), readings[i].value);
}

/* May each bin's median be a reference? Latencies always, since distance explains them. A bandwidth
 * needs enough readings, of enough hosts. Losses never: distance explains none. */
static void usable_find(const struct fleet *fleet, const struct reading *readings, size_t count,
                        const struct bins *values, bool *usable)
{
    int hosts = fleet->config.hosts;
    int *ends = new_array((size_t)values->count * (size_t)hosts, sizeof *ends);
    for (size_t i = 0; i < count; i++)
        if (bin_of(fleet, &readings[i]) >= 0) {
            ends[bin_of(fleet, &readings[i]) * hosts + readings[i].from]++;
            ends[bin_of(fleet, &readings[i]) * hosts + readings[i].to]++;
        }
    for (int b = 0; b < values->count; b++) {
        enum metric metric = (enum metric)(b / DISTANCE_KINDS / fleet->config.rails);
        bool latency = metric == METRIC_LATENCY;
        usable[b] = metric != METRIC_LOSS && bins_size(values, b) >= (latency ? 1 : CLASS_LEAST);
        for (int h = 0; usable[b] && !latency && h < hosts; h++)
            usable[b] = (size_t)ends[b * hosts + h] * HOST_SHARE <= bins_size(values, b);
    }
    free(ends);
}

/* The references of all metrics, rails and distances: medians of values. */
static void references_find(struct fleet *fleet, const struct reading *readings, size_t count)
{
    int classes = METRICS * fleet->config.rails;
    struct arena *memory = arena_create();
    struct bins values;
    bool *usable = arena_new(memory, (size_t)classes * DISTANCE_KINDS, sizeof *usable);
    values_fill(fleet, readings, count, memory, &values);
    if (fleet->config.switches)
        usable_find(fleet, readings, count, &values, usable);
    for (int c = 0; c < classes; c++) {
        int near = c * DISTANCE_KINDS + DISTANCE_NEAR, far = c * DISTANCE_KINDS + DISTANCE_FAR;
        size_t nears = bins_size(&values, near), fars = bins_size(&values, far);
        double own[DISTANCE_KINDS] = {median_of(bins_of(&values, near), nears),
                                      median_of(bins_of(&values, far), fars)};
        double all = median_of(bins_of(&values, near), nears + fars); /* the two lie together */
        struct fleet_class *class = &fleet->classes[c];
        class->apart = usable[near] && usable[far];
        for (int d = 0; d < DISTANCE_KINDS; d++)
            class->reference[d] = class->apart ? own[d] : all;
        for (int d = 0; d < DIRECTIONS; d++)
            fleet->series[c * DIRECTIONS + d].reference = all;
    }
    arena_free(memory);
}

/* How many readings each cell has with partners that are not slow: all of them count where it has
 * none. */
static void partners_count(struct fleet *fleet, const struct reading *readings, size_t count)
{
    memset(fleet->partners, 0, (size_t)fleet->cell_count * sizeof *fleet->partners);
    for (size_t i = 0; i < count; i++) {
        if (!fleet_has(fleet, &readings[i]))
            continue;
        int from = from_cell(fleet, &readings[i]), to = to_cell(fleet, &readings[i]);
        fleet->partners[from] += !fleet->slow[to];
        fleet->partners[to] += !fleet->slow[from];
    }
}

/* Does a reading with this partner say something of a cell? */
static bool cell_takes(const struct fleet *fleet, int cell, int partner)
{
    return !fleet->slow[partner] || fleet->partners[cell] == 0;
}

static void cells_fill(struct fleet *fleet, const struct reading *readings, size_t count)
{
    bins_empty(&fleet->cells);
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(fleet, r))
            continue;
        int from = from_cell(fleet, r), to = to_cell(fleet, r);
        double excess = fleet_excess(fleet, r);
        if (cell_takes(fleet, from, to))
            bins_put(&fleet->cells, from, excess);
        if (cell_takes(fleet, to, from))
            bins_put(&fleet->cells, to, excess);
    }
}

static void cells_reserve(struct fleet *fleet, const struct reading *readings, size_t count)
{
    bins_create(&fleet->cells, fleet->memory, fleet->cell_count);
    for (size_t i = 0; i < count; i++)
        if (fleet_has(fleet, &readings[i])) {
            bins_count(&fleet->cells, from_cell(fleet, &readings[i]));
            bins_count(&fleet->cells, to_cell(fleet, &readings[i]));
        }
    bins_reserve(&fleet->cells, fleet->memory);
}

/* The lower median of each cell's readings, or the best of them. */
static void levels_find(struct fleet *fleet, bool best)
{
    for (int c = 0; c < fleet->cell_count; c++) {
        size_t size = bins_size(&fleet->cells, c);
        fleet->level[c] =
            size > 0 ? select_value(bins_of(&fleet->cells, c), size, best ? 0 : (size - 1) / 2)
                     : NAN;
    }
}

/* All readings of a cell, counted or not. */
static size_t readings_of(const struct fleet *fleet, int cell)
{
    return fleet->cells.start[cell + 1] - fleet->cells.start[cell];
}

/* The least level of the slow hosts of a series; INFINITY: there are none. The two ends of an
 * exchange have the same reading, so of few hosts with few readings each a half may lie together by
 * chance. */
static double slow_level(struct fleet *fleet, int series)
{
    double *sorted = fleet->scratch;
    size_t count = 0;
    for (int h = 0; h < fleet->config.hosts; h++)
        if (!isnan(fleet_level(fleet, series, h)) &&
            (fleet->config.hosts >= SLOW_HOSTS ||
             readings_of(fleet, cell_of(fleet, series, h)) >= SLOW_READINGS))
            sorted[count++] = fleet_level(fleet, series, h);
    if (count < HOSTS_COMPARED)
        return INFINITY;
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    double least = fleet->series[series].metric == METRIC_LOSS ? SLOW_LOSS : SLOW_LEAST;
    double worst = sorted[(count - 1) / 2]; /* of the better half */
    for (size_t k = (count + 1) / 2; k < count; k++)
        if (sorted[k] - worst > fmax(least, worst - sorted[0]))
            return sorted[k];
    return INFINITY;
}

/* True: other hosts are slow than before. Latencies of a kernel have two modes, by which cores its
 * threads run on: where half of a few readings are in each, no host is slow. */
static bool slow_find(struct fleet *fleet)
{
    bool changed = false;
    for (int s = 0; s < fleet->series_count; s++) {
        bool latency = fleet->series[s].metric == METRIC_LATENCY;
        double least = latency ? INFINITY : slow_level(fleet, s);
        for (int h = 0; h < fleet->config.hosts; h++) {
            bool slow = least < INFINITY && fleet_level(fleet, s, h) >= least;
            changed |= slow != fleet->slow[cell_of(fleet, s, h)];
            fleet->slow[cell_of(fleet, s, h)] = slow;
        }
    }
    return changed;
}

static void bests_find(struct fleet *fleet, const struct reading *readings, size_t count)
{
    for (int c = 0; c < fleet->cell_count; c++)
        fleet->best[c] = NAN;
    for (size_t i = 0; i < count; i++)
        if (fleet_has(fleet, &readings[i])) {
            double excess = fleet_excess(fleet, &readings[i]);
            double *from = &fleet->best[from_cell(fleet, &readings[i])];
            double *to = &fleet->best[to_cell(fleet, &readings[i])];
            *from = fmin(*from, excess);
            *to = fmin(*to, excess);
        }
}

/* Where half of a fleet is slow, most partners of a good host may be: the first levels are the best
 * readings, which tell the hosts that are slow with all. */
static void levels_settle(struct fleet *fleet, const struct reading *readings, size_t count)
{
    bool changed = true;
    cells_reserve(fleet, readings, count);
    for (int turn = 0; turn <= SLOW_TURNS && changed; turn++) {
        references_find(fleet, readings, count);
        partners_count(fleet, readings, count);
        cells_fill(fleet, readings, count);
        levels_find(fleet, turn == 0);
        if (turn < SLOW_TURNS) /* the last levels are those without the last slow hosts */
            changed = slow_find(fleet) || turn == 0;
    }
}

/*
 * The least spread that a level must have, from the noise of single readings: the readings of a
 * cell lie around its level as noise makes them, and the median of k readings with the deviation d
 * has the deviation 1.2533 * d / sqrt(k). The many readings give a better estimate than the few
 * levels of a small fleet. The reading that is the level itself says nothing, and is left out; so
 * are cells of two readings, where one faulty host of 3 would decide. NAN: no reading is left.
 */
static double cells_noise(struct fleet *fleet, int series, bool slow)
{
    size_t count = 0, cells = 0;
    for (int h = 0; h < fleet->config.hosts; h++) {
        int c = cell_of(fleet, series, h);
        size_t size = bins_size(&fleet->cells, c);
        const double *excess = bins_of(&fleet->cells, c);
        if (size < NOISE_LEAST || !isfinite(fleet->level[c]) || fleet->slow[c] != slow)
            continue;
        cells++;
        for (size_t i = 0; i < size; i++)
            if (i != (size - 1) / 2 && isfinite(excess[i]))
                fleet->scratch[count++] = fabs(excess[i] - fleet->level[c]);
    }
    if (count == 0)
        return NAN;
    double each = (double)count / (double)cells + 1; /* readings of a cell, about */
    return MEDIAN_ERROR * NORMAL_MAD * median_of(fleet->scratch, count) / sqrt(each);
}

/* Two good hosts of four have too few readings with each other: then the noise of the slow ones. It
 * is none of good ones that lost no packet. */
static double levels_noise(struct fleet *fleet, int series)
{
    double noise = cells_noise(fleet, series, false);
    if (isnan(noise))
        noise = cells_noise(fleet, series, true);
    return isnan(noise) ? 0 : noise;
}

static void spreads_find(struct fleet *fleet)
{
    for (int s = 0; s < fleet->series_count; s++) {
        fleet->series[s].noise = levels_noise(fleet, s);
        size_t count = 0;
        for (int h = 0; h < fleet->config.hosts; h++)
            if (isfinite(fleet_level(fleet, s, h)) && !fleet->slow[cell_of(fleet, s, h)])
                fleet->scratch[count++] = fleet_level(fleet, s, h);
        fleet->series[s].levels = spread_of(fleet->scratch, count);
        fleet->series[s].levels.deviation =
            fmax(fleet->series[s].levels.deviation, fleet->series[s].noise);
    }
}

struct fleet *fleet_create(const struct fleet_config *config, const struct reading *readings,
                           size_t count)
{
    struct arena *memory = arena_create();
    struct fleet *fleet = arena_new(memory, 1, sizeof *fleet);
    size_t classes = (size_t)(METRICS * config->rails), hosts = (size_t)config->hosts;
    *fleet = (struct fleet){
        .memory = memory,
        .config = *config,
        .series_count = (int)classes * DIRECTIONS,
        .cell_count = (int)(classes * hosts) * DIRECTIONS,
        .series = arena_new(memory, classes * DIRECTIONS, sizeof *fleet->series),
        .classes = arena_new(memory, classes, sizeof *fleet->classes),
        .level = arena_new(memory, classes * hosts * DIRECTIONS, sizeof *fleet->level),
        .best = arena_new(memory, classes * hosts * DIRECTIONS, sizeof *fleet->best),
        .slow = arena_new(memory, classes * hosts * DIRECTIONS, sizeof *fleet->slow),
        .partners = arena_new(memory, classes * hosts * DIRECTIONS, sizeof *fleet->partners),
        .scratch = arena_new(memory, 2 * count + hosts, sizeof *fleet->scratch)};
    if (config->switches) {
        int *switches = arena_new(memory, hosts, sizeof *switches);
        memcpy(switches, config->switches, hosts * sizeof *switches);
        fleet->config.switches = switches;
    }
    for (int s = 0; s < fleet->series_count; s++) {
        fleet->series[s].metric = (enum metric)(s / DIRECTIONS / config->rails);
        fleet->series[s].rail = s / DIRECTIONS % config->rails;
        fleet->series[s].direction = (enum direction)(s % DIRECTIONS);
    }
    levels_settle(fleet, readings, count);
    bests_find(fleet, readings, count);
    spreads_find(fleet);
    return fleet;
}

void fleet_free(struct fleet *fleet)
{
    if (fleet)
        arena_free(fleet->memory);
}
