/*
 * limits.c - the limits of cells and readings by all references.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

#define LEVEL_ALARMS   1    /* cells that noise may make suspects */
#define READING_ALARMS 8    /* hosts / this: pairs, likewise */
#define RAILS_FLOOR    0.15 /* by which a rail of the whole fleet may lie below the others */
#define NOTES_MOST     4    /* of a series */

struct references references_default(void)
{
    return (struct references){
        .floor = {[METRIC_LATENCY] = 0.15,
                  [METRIC_ALONE] = 0.05,
                  [METRIC_BOTH] = 0.05,
                  [METRIC_LOSS] = 1.0},
        .latency_floor = 0.5,
        .earlier_floor = 0.1,
        .alarms = ALARMS_PAIRS * FALSE_ALARMS,
    };
}

struct excess_limit limits_cell(const struct limits *limits, int series, int host)
{
    return limits->cell[series * limits->hosts + host];
}

bool limits_exceeds(const struct limits *limits, int series, int host)
{
    return fleet_level(limits->fleet, series, host) > limits_cell(limits, series, host).excess;
}

double limits_share(double beyond, double healthy)
{
    return (fmax(beyond, 0) + 1) / (healthy + 2);
}

static double median_value(const struct limits *limits, int series)
{
    return fleet_value(limits->fleet, series, limits->fleet->series[series].levels.median);
}

/* The excess by which a level or a reading may be worse, whatever its noise. */
static double floor_excess(const struct limits *limits, const struct series *series)
{
    double share = limits->references.floor[series->metric];
    if (series->metric == METRIC_LATENCY && series->reference > 0)
        share = fmax(share, limits->references.latency_floor / series->reference);
    return worse_share(is_less_better(series->metric), share);
}

static void note_add(struct limits *limits, enum reference reference, int series, double threshold)
{
    limits->notes[limits->note_count++] = (struct fleet_note){
        .reference = reference,
        .series = series,
        .value = median_value(limits, series),
        .threshold = threshold,
    };
}

void limit_tighten(struct excess_limit *limit, double excess, enum reference reference)
{
    if (excess < limit->excess)
        *limit = (struct excess_limit){.excess = excess, .reference = reference};
}

static struct excess_limit *cell_of(struct limits *limits, int series, int host)
{
    return &limits->cell[series * limits->hosts + host];
}

static void fleet_hold(struct limits *limits, int s)
{
    const struct series *series = &limits->fleet->series[s];
    double slack = fmax(limits->factor * series->levels.deviation, floor_excess(limits, series));
    for (int h = 0; h < limits->hosts; h++)
        limit_tighten(cell_of(limits, s, h), series->levels.median + slack, REFERENCE_FLEET);
}

/* Holds a series against a value that its hosts should reach. Where the fleet itself does not, it
 * is noted, and no host is suspected; nor is one unless the fleet reaches `fleet_least`. */
static void value_hold(struct limits *limits, int s, enum reference reference, double value,
                       double fleet_least)
{
    const struct series *series = &limits->fleet->series[s];
    double median = median_value(limits, s);
    if (value <= 0 || series->levels.count == 0)
        return;
    if (metric_excess(series->metric, median, value) > 0)
        note_add(limits, reference, s, value);
    else if (metric_excess(series->metric, median, fleet_least) <= 0)
        for (int h = 0; h < limits->hosts; h++)
            limit_tighten(cell_of(limits, s, h),
                          metric_excess(series->metric, value, series->reference), reference);
}

/* The excess that a host's level of the earlier run has among those of today; NAN: it had none. */
static double earlier_level(const struct limits *limits, int s, int host)
{
    const struct series *series = &limits->fleet->series[s];
    double level = fleet_level(limits->earlier, s, host);
    if (!isfinite(level))
        return NAN;
    return metric_excess(series->metric, fleet_value(limits->earlier, s, level), series->reference);
}

/* The excess that a host may lose since an earlier run: no less than it may differ from the fleet
 * by. */
static double earlier_floor(const struct limits *limits, enum metric metric)
{
    const struct references *references = &limits->references;
    double share = fmax(references->earlier_floor, references->floor[metric]);
    return worse_share(is_less_better(metric), share);
}

/*
 * Compares hosts with an earlier run. The fleet's change is the median of its hosts' changes; one
 * beyond the floor is a note. A host is a suspect if it changed by more than the fleet and
 *
 *     max(factor * sqrt(2) * deviation, floor),
 *
 * since the difference of two levels has sqrt(2) times the deviation of one: that of their noise,
 * since how hosts differ is the same in both.
 */
static void earlier_hold(struct limits *limits, int s)
{
    const struct series *series = &limits->fleet->series[s];
    double floor = earlier_floor(limits, series->metric);
    size_t count = 0;
    for (int h = 0; h < limits->hosts; h++) {
        double change = fleet_level(limits->fleet, s, h) - earlier_level(limits, s, h);
        if (isfinite(change))
            limits->scratch[count++] = change;
    }
    if (count == 0)
        return;
    double change = median_of(limits->scratch, count);
    limits->series[s].changed = change;
    if (change > floor)
        note_add(limits, REFERENCE_EARLIER, s,
                 fleet_value(limits->fleet, s, series->levels.median - change + floor));
    double slack = fmax(limits->factor * sqrt(2) * series->noise, floor);
    for (int h = 0; h < limits->hosts; h++) {
        double then = earlier_level(limits, s, h);
        if (isfinite(then))
            limit_tighten(cell_of(limits, s, h), then + change + slack, REFERENCE_EARLIER);
    }
}

/* A rail that is slower than the other rails on all hosts: a note. */
static void rails_hold(struct limits *limits, int s)
{
    const struct series *series = &limits->fleet->series[s];
    size_t others = 0;
    for (int r = 0; r < limits->fleet->config.rails; r++) {
        int other = fleet_find(limits->fleet, series->metric, r, series->direction);
        if (other != s && limits->fleet->series[other].levels.count > 0)
            limits->scratch[others++] = median_value(limits, other);
    }
    if (others == 0 || series->levels.count == 0)
        return;
    double median = median_of(limits->scratch, others);
    double share = fmax(RAILS_FLOOR, limits->references.floor[series->metric]);
    double threshold =
        metric_value(series->metric, median, worse_share(is_less_better(series->metric), share));
    if (metric_excess(series->metric, median_value(limits, s), threshold) > 0)
        note_add(limits, REFERENCE_RAILS, s, threshold);
}

static void cells_hold(struct limits *limits)
{
    const struct references *references = &limits->references;
    for (int s = 0; s < limits->fleet->series_count; s++) {
        const struct series *series = &limits->fleet->series[s];
        fleet_hold(limits, s);
        double rate = references->rates && series->metric == METRIC_ALONE
                          ? references->rates[series->rail]
                          : 0;
        value_hold(limits, s, REFERENCE_RATE, RATE_LEAST * rate, RATE_FLEET * rate);
        double asked = references->asked[series->metric];
        value_hold(limits, s, REFERENCE_PROFILE, asked, asked);
        if (limits->earlier)
            earlier_hold(limits, s);
        rails_hold(limits, s);
    }
}

/* Is it a value between two hosts that are within their limits? */
static bool is_healthy(const struct limits *limits, const struct reading *r)
{
    const struct fleet *fleet = limits->fleet;
    return fleet_has(fleet, r) && reading_outcome(r) == READING_VALUE &&
           !limits_exceeds(limits, fleet_from(fleet, r), r->from) &&
           !limits_exceeds(limits, fleet_to(fleet, r), r->to);
}

/* The noise of single readings, without those of suspects, and the limit that follows. A reading is
 * in the series of its sender. */
static void readings_hold(struct limits *limits, const struct reading *readings, size_t count)
{
    for (int s = 0; s < limits->fleet->series_count; s += DIRECTIONS) {
        const struct series *series = &limits->fleet->series[s];
        size_t size = 0;
        for (size_t i = 0; i < count; i++)
            if (is_healthy(limits, &readings[i]) && fleet_from(limits->fleet, &readings[i]) == s)
                limits->scratch[size++] = fleet_excess(limits->fleet, &readings[i]);
        limits->series[s].deviation = spread_of(limits->scratch, size).deviation;
        double slack = fmax(limits->reading_factor * limits->series[s].deviation,
                            floor_excess(limits, series));
        double wider = fmax(limits->factor * series->levels.deviation, slack);
        limits->series[s].reading = series->levels.median + wider;
    }
}

static void beyond_count(struct limits *limits, const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!is_healthy(limits, r))
            continue;
        double excess = fleet_excess(limits->fleet, r);
        bool beyond = excess > limits_cell(limits, fleet_from(limits->fleet, r), r->from).excess;
        struct healthy_readings *noise = &limits->noise[r->metric == METRIC_LATENCY];
        noise->count++;
        noise->count_of[r->from]++;
        noise->count_of[r->to]++;
        noise->beyond += beyond;
        noise->beyond_of[r->from] += beyond;
        noise->beyond_of[r->to] += beyond;
        noise->beyond_reading += excess > limits_reading(limits, r).excess;
    }
}

/* By metric, rail, sender and receiver. */
static int compare_readings(const void *a, const void *b)
{
    const struct reading *left = a, *right = b;
    return COMPARE(left->metric, right->metric) ?: COMPARE(left->rail, right->rail) ?:
           COMPARE(left->from, right->from) ?: COMPARE(left->to, right->to);
}

/* Takes the strictest of the fleet, the profile and the earlier reading of the same pair. */
struct excess_limit limits_reading(const struct limits *limits, const struct reading *reading)
{
    int s = fleet_from(limits->fleet, reading);
    struct excess_limit limit = {.excess = limits->series[s].reading, .reference = REFERENCE_FLEET};
    const struct reading *then = limits->earlier ? bsearch(reading, limits->earlier_readings,
                                                           limits->references.earlier_count,
                                                           sizeof *reading, compare_readings)
                                                 : NULL;
    if (then && reading_outcome(then) == READING_VALUE) {
        double slack = fmax(limits->reading_factor * sqrt(2) * limits->series[s].deviation,
                            earlier_floor(limits, then->metric));
        limit_tighten(&limit, fleet_excess(limits->fleet, then) + limits->series[s].changed + slack,
                      REFERENCE_EARLIER);
    }
    return limit;
}

/* How many packets a reading of losses is of; 0: it is not known. */
static double packets_find(struct limits *limits, const struct reading *readings, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (readings[i].metric == METRIC_LOSS && readings[i].packets > 0)
            limits->scratch[known++] = readings[i].packets;
    return median_of(limits->scratch, known);
}

static void earlier_take(struct limits *limits)
{
    const struct references *references = &limits->references;
    if (!references->earlier)
        return;
    size_t count = references->earlier_count;
    limits->earlier = fleet_create(&limits->fleet->config, references->earlier, count);
    limits->earlier_readings = arena_new(limits->memory, count, sizeof *limits->earlier_readings);
    memcpy(limits->earlier_readings, references->earlier, count * sizeof *references->earlier);
    qsort(limits->earlier_readings, count, sizeof *limits->earlier_readings, compare_readings);
}

struct limits *limits_create(const struct fleet *fleet, const struct references *references,
                             const struct reading *readings, size_t count)
{
    size_t series = (size_t)fleet->series_count, hosts = (size_t)fleet->config.hosts;
    struct arena *memory = arena_create();
    struct limits *limits = arena_new(memory, 1, sizeof *limits);
    *limits = (struct limits){
        .memory = memory,
        .fleet = fleet,
        .references = *references,
        .hosts = fleet->config.hosts,
        .cell = arena_new(memory, series * hosts, sizeof *limits->cell),
        .series = arena_new(memory, series, sizeof *limits->series),
        .scratch = arena_new(memory, count + hosts + (size_t)fleet->config.rails, sizeof(double)),
        .notes = arena_new(memory, series * NOTES_MOST, sizeof *limits->notes)};
    for (size_t c = 0; c < series * hosts; c++)
        limits->cell[c].excess = INFINITY;
    limits->noise = arena_new(memory, 2, sizeof *limits->noise);
    for (int n = 0; n < 2; n++) {
        limits->noise[n].count_of = arena_new(memory, hosts, sizeof(double));
        limits->noise[n].beyond_of = arena_new(memory, hosts, sizeof(double));
    }
    earlier_take(limits);
    size_t cells = 0, judged = 0;
    for (int s = 0; s < limits->fleet->series_count; s++)
        for (int h = 0; h < limits->hosts; h++)
            cells += !isnan(fleet_level(fleet, s, h));
    for (size_t i = 0; i < count; i++)
        judged += fleet_has(fleet, &readings[i]);
    limits->factor = spread_factor((double)cells, LEVEL_ALARMS);
    limits->reading_factor =
        spread_factor((double)judged, fmax(1, (double)limits->hosts / READING_ALARMS));
    limits->packets = packets_find(limits, readings, count);
    cells_hold(limits);
    readings_hold(limits, readings, count);
    beyond_count(limits, readings, count);
    return limits;
}

/* How much worse than its median a value of a series is at a limit: see struct sensitivity. */
static double missed_of(const struct limits *limits, int s, double excess)
{
    const struct series *series = &limits->fleet->series[s];
    double median = median_value(limits, s), value = fleet_value(limits->fleet, s, excess);
    if (series->metric == METRIC_LATENCY)
        return value - median;
    if (series->metric == METRIC_LOSS)
        return fmax(value, limits->packets > 0 ? 100 * LOST_SURE / limits->packets : 0);
    return 1 - value / median;
}

struct sensitivity limits_sensitivity(const struct limits *limits)
{
    struct sensitivity least;
    for (int m = 0; m < METRICS; m++)
        least.host[m] = least.link[m] = 0;
    for (int s = 0; s < limits->fleet->series_count; s++) {
        const struct series *series = &limits->fleet->series[s];
        double *host = &least.host[series->metric], *link = &least.link[series->metric];
        if (series->levels.count == 0)
            continue;
        double slack =
            fmax(limits->factor * series->levels.deviation, floor_excess(limits, series));
        *host = fmax(*host, missed_of(limits, s, series->levels.median + slack));
        if (series->direction == DIRECTION_SEND)
            *link = fmax(*link, missed_of(limits, s, limits->series[s].reading));
    }
    for (int m = 0; m < METRICS; m++)
        if (!fleet_knows(limits->fleet, (enum metric)m))
            least.host[m] = least.link[m] = INFINITY;
    return least;
}

void limits_free(struct limits *limits)
{
    if (!limits)
        return;
    fleet_free(limits->earlier);
    arena_free(limits->memory);
}
