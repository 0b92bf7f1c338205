/*
 * missed.c - what a run could not have seen: the faults below its limits.
 */
#include "accept/internal.h"

#include "base/clock.h"

#include <math.h>

/* Events with a mean rate stay away for so many mean intervals in one of 20 cases: exp(-3). */
#define INTERVALS_SURE 3.0

struct missed missed_by(const struct acceptance *acceptance)
{
    struct missed missed = {.host_bandwidth = INFINITY,
                            .link_bandwidth = INFINITY,
                            .latency = INFINITY,
                            .loss = INFINITY};
    const struct sensitivity *least = &acceptance->sensitivity;
    double seconds = clock_seconds() - acceptance->began;
    missed.standstill = gaps_least(acceptance, (size_t)acceptance->roster->host_count - 1);
    missed.interval = seconds / INTERVALS_SURE;
    if (!acceptance->isolated)
        return missed;
    missed.host_bandwidth = fmax(least->host[METRIC_ALONE], least->host[METRIC_BOTH]);
    missed.link_bandwidth = fmax(least->link[METRIC_ALONE], least->link[METRIC_BOTH]);
    missed.latency = least->host[METRIC_LATENCY];
    missed.loss = least->link[METRIC_LOSS];
    return missed;
}

const struct json_field missed_fields[] = {
    {"host_bandwidth_share", "fraction?",
     "by which a host is slower; null: no suspects of pairs were tried again",
     JSON_MEMBER(struct missed, host_bandwidth)},
    {"link_bandwidth_share", "fraction?", "by which a link is slower",
     JSON_MEMBER(struct missed, link_bandwidth)},
    {"latency_us", "amount?", "by which a latency is longer", JSON_MEMBER(struct missed, latency)},
    {"loss_percent", "percentage?", "of the packets of a link; null: its transport counts none",
     JSON_MEMBER(struct missed, loss)},
    {"standstill_seconds", "amount", "of a host, in all", JSON_MEMBER(struct missed, standstill)},
    {"interval_seconds", "amount",
     "between two lost carriers or counted errors, of which none may come in the run",
     JSON_MEMBER(struct missed, interval)},
    {0},
};

void missed_put(const struct missed *missed, struct text *text)
{
    char latency[TIME_TEXT_MOST], interval[TIME_TEXT_MOST];
    if (isinf(missed->host_bandwidth))
        text_add(text, "all slow hosts and links, since none was measured again, ");
    else
        text_add(text, "hosts that are slower by less than %.0f%%, links by less than %.0f%%, ",
                 100 * missed->host_bandwidth, 100 * missed->link_bandwidth);
    if (isfinite(missed->latency))
        text_add(text, "latencies that are longer by less than %s, ",
                 time_text(1e-6 * missed->latency, latency));
    if (isfinite(missed->loss))
        text_add(text, "links that lose less than %.2g%% of the packets, ", missed->loss);
    text_add(text,
             "hosts that are stopped or silent for less than %.2f s in all, and lost carriers or "
             "counted errors that are rarer than one in %s",
             missed->standstill, time_text(missed->interval, interval));
}
