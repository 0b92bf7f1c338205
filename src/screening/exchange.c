/*
 * exchange.c - shares of transfers, groups that stand out, and bounds of collectives.
 */
#include "screening/exchange.h"

#include <math.h>
#include <stdlib.h>

#include "screening/bins.h"

/* GB/s of a host in one direction; 0: it has no level. */
static double rate_of(const struct fleet *fleet, int host, int rail, enum direction direction)
{
    int series = fleet_find(fleet, METRIC_BOTH, rail, direction);
    double level = fleet_level(fleet, series, host);
    return isfinite(level) ? fleet_value(fleet, series, level) : 0;
}

double exchange_promise(const struct fleet *fleet, int from, int to, int rail)
{
    return fmin(rate_of(fleet, from, rail, DIRECTION_SEND),
                rate_of(fleet, to, rail, DIRECTION_RECEIVE));
}

int exchange_slowest(const struct fleet *fleet, const bool *present, double *rate)
{
    int slowest = -1;
    *rate = 0;
    for (int h = 0; h < fleet_shape(fleet)->hosts; h++) {
        double sends = 0, receives = 0;
        for (int r = 0; r < fleet_shape(fleet)->rails; r++) {
            sends += rate_of(fleet, h, r, DIRECTION_SEND);
            receives += rate_of(fleet, h, r, DIRECTION_RECEIVE);
        }
        double least = fmin(sends, receives);
        if (present[h] && least > 0 && (slowest < 0 || least < *rate)) {
            slowest = h;
            *rate = least;
        }
    }
    return slowest;
}

/* The share of a transfer; 0: it has none. */
static double share_of(const struct fleet *fleet, const struct reading *transfer)
{
    if (!fleet_has(fleet, transfer) || reading_outcome(transfer) != READING_VALUE)
        return 0;
    double promise = exchange_promise(fleet, transfer->from, transfer->to, transfer->rail);
    return promise > 0 ? transfer->value / promise : 0;
}

/* The groups that a transfer belongs to: those of its ends, if they differ. Returns how many. */
static int groups_of(const struct fleet *fleet, const struct reading *transfer, const int *group_of,
                     int groups[2])
{
    int count = 0;
    if (!(share_of(fleet, transfer) > 0) || group_of[transfer->from] == group_of[transfer->to])
        return 0;
    if (group_of[transfer->from] >= 0)
        groups[count++] = group_of[transfer->from];
    if (group_of[transfer->to] >= 0)
        groups[count++] = group_of[transfer->to];
    return count;
}

static bool shares_fill(struct bins *bins, const struct fleet *fleet,
                        const struct reading *transfers, size_t count, const int *group_of)
{
    int groups[2];
    for (size_t i = 0; i < count; i++)
        for (int g = groups_of(fleet, &transfers[i], group_of, groups); g-- > 0;)
            bins_count(bins, groups[g]);
    if (!bins_reserve(bins))
        return false;
    for (size_t i = 0; i < count; i++)
        for (int g = groups_of(fleet, &transfers[i], group_of, groups); g-- > 0;)
            bins_put(bins, groups[g], share_of(fleet, &transfers[i]));
    return true;
}

static void groups_judge(const struct bins *bins, int group_count, double *scratch,
                         struct exchange_group *groups, struct exchange_shares *shares)
{
    size_t known = 0;
    for (int g = 0; g < group_count; g++) {
        size_t size = bins_size(bins, g);
        groups[g] = (struct exchange_group){.transfers = (int)size,
                                            .share = median_of(bins_of(bins, g), size)};
        if (size > 0)
            scratch[known++] = log(groups[g].share);
    }
    struct spread spread = spread_of(scratch, known);
    double factor = spread_factor((double)known, FALSE_ALARMS);
    shares->median = exp(spread.median);
    shares->deviation = spread.deviation * shares->median;
    shares->threshold =
        shares->median * exp(-fmax(factor * spread.deviation, -log1p(-GROUP_FLOOR)));
    for (int g = 0; g < group_count; g++)
        groups[g].stands_out = groups[g].transfers > 0 && groups[g].share < shares->threshold;
}

bool exchange_judge(const struct fleet *fleet, const struct reading *transfers, size_t count,
                    const int *group_of, int group_count, struct exchange_group *groups,
                    struct exchange_shares *shares)
{
    struct bins bins;
    double *scratch = calloc(count + (size_t)group_count + 1, sizeof *scratch);
    bool done = bins_create(&bins, group_count) && scratch;
    *shares = (struct exchange_shares){0};
    for (size_t i = 0; done && i < count; i++) {
        double share = share_of(fleet, &transfers[i]);
        if (share > 0)
            scratch[shares->transfers++] = share;
    }
    if (done && shares->transfers > 0) {
        shares->share = median_of(scratch, (size_t)shares->transfers);
        shares->congested = shares->share < SHARE_LEAST;
    }
    done = done && shares_fill(&bins, fleet, transfers, count, group_of);
    if (done)
        groups_judge(&bins, group_count, scratch, groups, shares);
    bins_free(&bins);
    free(scratch);
    return done;
}

double allreduce_least_us(int hosts, double bytes, double rate)
{
    return 2.0 * (hosts - 1) / hosts * bytes / (rate * 1e3);
}

double alltoall_least_us(int hosts, int ranks, double bytes, double rate)
{
    return ranks * bytes * (hosts - 1) / hosts / (rate * 1e3);
}
