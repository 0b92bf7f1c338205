/*
 * intermittent.c - faults that come and go, and leave medians as they are: a carrier that is lost,
 * hosts that stand still, and packets that arrive twice.
 */
#include "accept/internal.h"

#include "base/clock.h"
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Network interfaces that lose their carrier.
 */
#define CARRIER_COUNTER "carrier_lost"
#define CARRIER_LEAST   2 /* times: once, somebody may have pulled a cable */

static uint64_t carriers_lost(const struct counter_growth *growth)
{
    const struct counter_list *list = &growth->device.counters;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->counters[i].name, CARRIER_COUNTER) == 0)
            return list->counters[i].value;
    return 0;
}

/* The same interface of the same host, in all stages; of another host with `any_host`. */
static bool is_same_device(const struct counter_growth *a, const struct counter_growth *b,
                           bool any_host)
{
    return (any_host || a->host == b->host) && strcmp(a->device.name, b->device.name) == 0;
}

/* The growths in which carriers were lost. */
struct carrier_growths {
    const struct counter_growth **items;
    int count;
};

static struct carrier_growths carriers_collect(const struct acceptance *acceptance)
{
    struct carrier_growths growths = {.items = NULL};
    for (int i = 0; i < acceptance->growth.count; i++)
        if (carriers_lost(&acceptance->growth.items[i]) > 0)
            *LIST_ADD(growths.items, growths.count) = &acceptance->growth.items[i];
    return growths;
}

/* On how many hosts did this interface lose its carrier? */
static int hosts_of_device(const struct carrier_growths *growths, const struct counter_growth *one,
                           int hosts)
{
    int count = 0;
    bool *counted = new_array((size_t)hosts, sizeof *counted);
    for (int i = 0; i < growths->count; i++)
        if (is_same_device(growths->items[i], one, true) && !counted[growths->items[i]->host]) {
            counted[growths->items[i]->host] = true;
            count++;
        }
    free(counted);
    return count;
}

/* Where most hosts lost it, the switch did. */
static void carrier_find(struct acceptance *acceptance, const struct carrier_growths *growths,
                         int index)
{
    const struct counter_growth *one = growths->items[index];
    int hosts = acceptance->roster->host_count, losers = hosts_of_device(growths, one, hosts);
    bool most = hosts > 1 && 2 * losers > hosts;
    unsigned long long losses = 0;
    for (int i = 0; i < growths->count; i++) {
        bool same = is_same_device(growths->items[i], one, most);
        if (same && i < index)
            return; /* found already */
        losses += same ? carriers_lost(growths->items[i]) : 0;
    }
    double seconds = clock_seconds() - acceptance->began;
    if (most)
        stage_finds(acceptance, one->stage, FOUND_NETWORK, -1, HEALTH_GOOD, STATUS_SLOW,
                    "all: %s lost its carrier on %d of %d hosts, %llu times in %.0f s: suspect "
                    "the switch that these hosts share",
                    one->device.name, losers, hosts, losses, seconds);
    else
        stage_finds(acceptance, one->stage, FOUND_CARRIER, one->host,
                    losses >= CARRIER_LEAST ? HEALTH_BAD : HEALTH_SUSPECT, STATUS_SLOW,
                    "%s: %s lost its carrier %llu time%s in %.0f s: suspect its cable, its "
                    "transceiver, or the port at the other end",
                    acceptance->labels[one->host], one->device.name, losses, plural(losses),
                    seconds);
}

void carriers_judge(struct acceptance *acceptance)
{
    struct carrier_growths growths = carriers_collect(acceptance);
    for (int i = 0; i < growths.count; i++)
        carrier_find(acceptance, &growths, i);
    free(growths.items);
}

/* A link that goes down lets no packet through, either. */
static bool host_lost_carrier(const struct acceptance *acceptance, int host)
{
    struct carrier_growths growths = carriers_collect(acceptance);
    bool lost = false;
    for (int i = 0; i < growths.count; i++)
        lost |= growths.items[i]->host == host;
    free(growths.items);
    return lost;
}

/*
 * Hosts that stand still now and then. Each of them is compared with the others by its time in all.
 */
#define GAPS_LEAST  0.4   /* seconds, and */
#define GAPS_SHARE  0.015 /* of the run: less, above the fleet's median, is no fault; */
#define ROOT_FACTOR 2 /* likewise for rank 0's host: where a slow network is full, its words wait */
#define GAPS_FEW    3 /* times as much where few hosts are compared, which have no spread */

enum gap {
    GAP_STOPPED, /* its agent did not run */
    GAP_UNHEARD, /* it ran, and heard no word of rank 0 */
    GAPS
};

static enum accept_stage last_stage(const struct acceptance *acceptance)
{
    int count = acceptance->stage_count;
    return count > 0 ? acceptance->stages[count - 1].stage : STAGE_START;
}

static void gap_find(struct acceptance *acceptance, int host, enum gap gap, enum health health,
                     const struct reason *reason)
{
    static const char *const clauses[GAPS][2] = {
        [GAP_STOPPED] = {"did not run", "its processes were stopped, or other processes had its "
                                        "cores"},
        [GAP_UNHEARD] = {"fell silent for rank 0", "no packet passed its link or the network "
                                                   "behind it"}};
    const struct host_gaps *gaps = &acceptance->roster->hosts[host].gaps;
    unsigned long long times = gap == GAP_STOPPED ? gaps->stops : gaps->unheard;
    stage_finds(acceptance, last_stage(acceptance),
                gap == GAP_STOPPED ? FOUND_STOPPED : FOUND_UNHEARD, host, health, STATUS_SLOW,
                "%s: %s %llu time%s, for %.2f s in all of %.0f s (the fleet's median: %.2f s, "
                "threshold %.2f s): %s%s",
                acceptance->labels[host], clauses[gap][0], times, plural(times), reason->value,
                clock_seconds() - acceptance->began, reason->median, reason->threshold,
                clauses[gap][1], health == HEALTH_SUSPECT ? ", or the link of rank 0" : "");
}

/* The link of rank 0's host stands still for all others, two at least. */
static bool root_gaps_find(struct acceptance *acceptance, double median, double least, int others)
{
    int root = acceptance->roster->agents[0].host;
    if (others < 2 || median < ROOT_FACTOR * least || host_lost_carrier(acceptance, root))
        return false;
    stage_finds(acceptance, last_stage(acceptance), FOUND_UNHEARD, root, HEALTH_BAD, STATUS_SLOW,
                "%s: fell silent for all other hosts, for %.2f s in all of %.0f s (the hosts' "
                "median): no packet passed its link or the network behind it",
                acceptance->labels[root], median, clock_seconds() - acceptance->began);
    return true;
}

/* Seconds of each host in all; NAN: it has none. Rank 0's host hears rank 0, and while rank 0 is
 * stopped, no host does. */
static double gap_seconds(const struct roster *roster, int host, enum gap gap)
{
    int root = roster->agents[0].host;
    double stopped = 1e-6 * (double)roster->hosts[root].gaps.stopped_us;
    const struct host_gaps *gaps = &roster->hosts[host].gaps;
    if (roster->hosts[host].lost || (gap == GAP_UNHEARD && host == root))
        return NAN;
    return gap == GAP_STOPPED ? 1e-6 * (double)gaps->stopped_us
                              : fmax(1e-6 * (double)gaps->unheard_us - stopped, 0);
}

double gaps_least(const struct acceptance *acceptance, size_t compared)
{
    double seconds = clock_seconds() - acceptance->began;
    return fmax(GAPS_LEAST, GAPS_SHARE * seconds) * (compared < HOSTS_COMPARED ? GAPS_FEW : 1);
}

static void gap_judge(struct acceptance *acceptance, enum gap gap, double *scratch)
{
    const struct roster *roster = acceptance->roster;
    size_t count = 0;
    for (int h = 0; h < roster->host_count; h++)
        if (!isnan(gap_seconds(roster, h, gap)))
            scratch[count++] = gap_seconds(roster, h, gap);
    double least = gaps_least(acceptance, count);
    struct reason reason = gaps_limit(scratch, count, least, GAPS * (double)roster->host_count,
                                      ALARMS_GAPS * acceptance->asked->false_alarms);
    if (count == 0 || (count == 1 && gap == GAP_STOPPED)) /* it is compared with nothing */
        return;
    if (gap == GAP_UNHEARD && root_gaps_find(acceptance, reason.median, least, (int)count))
        return;
    for (int h = 0; h < roster->host_count; h++) {
        reason.value = gap_seconds(roster, h, gap);
        if (reason.value > reason.threshold &&
            !(gap == GAP_UNHEARD && host_lost_carrier(acceptance, h)))
            gap_find(acceptance, h, gap, count == 1 ? HEALTH_SUSPECT : HEALTH_BAD, &reason);
    }
}

void gaps_judge(struct acceptance *acceptance)
{
    double *scratch = new_array((size_t)acceptance->roster->host_count, sizeof *scratch);
    for (enum gap gap = 0; gap < GAPS; gap++)
        gap_judge(acceptance, gap, scratch);
    free(scratch);
}

/*
 * Packets that arrive twice, though nobody sent them again. TCP drops the second.
 */
#define DOUBLES_LEAST 100 /* packets of a host, above the fleet's median */
#define DOUBLES_ENDS  0.9 /* of the packets of one end of a link, the other end has at least */
#define DOUBLES_LEFT                                                                               \
    0.5 /* of the packets of a host that is named, more are not explained by others */

/* Growth of a host's counters of TCP, in all stages. */
struct tcp_growth {
    double resent, sent_twice, came_twice; /* packets */
};

static void tcp_growth_add(struct tcp_growth *growth, const struct counter *counter)
{
    double value = (double)counter->value;
    if (strcmp(counter->name, TCP_COUNTER TCP_RESENT) == 0)
        growth->resent += value;
    else if (strcmp(counter->name, TCP_COUNTER TCP_SENT_TWICE) == 0)
        growth->sent_twice += value;
    else if (strcmp(counter->name, TCP_COUNTER TCP_CAME_TWICE) == 0)
        growth->came_twice += value;
}

/* The growth of each host, as an array. */
static struct tcp_growth *tcp_growths(const struct acceptance *acceptance)
{
    struct tcp_growth *growths = new_array((size_t)acceptance->roster->host_count, sizeof *growths);
    for (int i = 0; i < acceptance->growth.count; i++) {
        const struct counter_growth *growth = &acceptance->growth.items[i];
        for (int c = 0; c < growth->device.counters.count; c++)
            tcp_growth_add(&growths[growth->host], &growth->device.counters.counters[c]);
    }
    return growths;
}

/* Doubled packets: those that a host sent, and those for it. */
struct doubles {
    double *counts[2]; /* [of a host's packets: sent][host] */
    double limits[2], medians[2];
    double named[2];    /* the count of the host that was named last; it has none any more */
    double unexplained; /* of all hosts, less those of the hosts that are named */
};

static void doubles_open(struct doubles *doubles, const struct acceptance *acceptance)
{
    size_t hosts = (size_t)acceptance->roster->host_count;
    struct tcp_growth *growths = tcp_growths(acceptance);
    doubles->counts[0] = new_array(hosts, sizeof **doubles->counts);
    doubles->counts[1] = new_array(hosts, sizeof **doubles->counts);
    doubles->unexplained = 0;
    for (size_t h = 0; h < hosts; h++) {
        doubles->counts[1][h] = fmax(growths[h].sent_twice - growths[h].resent, 0);
        doubles->unexplained += doubles->counts[1][h];
    }
    for (size_t h = 0; h < hosts; h++) /* any other host may have sent those again */
        doubles->counts[0][h] = fmin(growths[h].came_twice, doubles->unexplained);
    for (int sent = 0; sent < 2; sent++) {
        double *sorted = new_array(hosts, sizeof *sorted);
        memcpy(sorted, doubles->counts[sent], hosts * sizeof *sorted);
        struct reason limit = gaps_limit(sorted, hosts, DOUBLES_LEAST, 2 * (double)hosts,
                                         ALARMS_DOUBLES * acceptance->asked->false_alarms);
        doubles->limits[sent] = limit.threshold;
        doubles->medians[sent] = limit.median;
        doubles->named[sent] = INFINITY;
        free(sorted);
    }
    free(growths);
}

static void doubles_find(struct acceptance *acceptance, const struct doubles *doubles, int host,
                         int sent)
{
    stage_finds(acceptance, last_stage(acceptance), FOUND_DOUBLED, host, HEALTH_SUSPECT,
                STATUS_SLOW,
                "%s: %.0f packets %s twice without a retransmission (the fleet's median: %.0f): a "
                "switch or bridge on the path duplicates packets",
                acceptance->labels[host], doubles->counts[sent][host],
                sent ? "from it arrived" : "to it arrived", doubles->medians[sent]);
}

/* Is a count that of the other end of a link, whose first end was named last? */
static bool is_other_end(const struct doubles *doubles, int most)
{
    double count = doubles->counts[most % 2][most / 2], named = doubles->named[1 - most % 2];
    return count > DOUBLES_ENDS * named && named > DOUBLES_ENDS * count;
}

/* The host and direction with the most of what is not explained, 2 * host + sent; -1: none. The two
 * ends of a link that doubles packets have about as many, and neither explains the other. */
static int doubles_most(const struct doubles *doubles, int hosts)
{
    int most = -1;
    for (int i = 0; i < 2 * hosts; i++) {
        double count = doubles->counts[i % 2][i / 2], limit = doubles->limits[i % 2];
        bool is_left = doubles->unexplained > fmax(limit, DOUBLES_LEFT * count);
        if (count > limit && (is_left || is_other_end(doubles, i)) &&
            (most < 0 || count > doubles->counts[most % 2][most / 2]))
            most = i;
    }
    return most;
}

/* Each packet has a sender and a receiver: the host with the most explains those of others. */
void doubles_judge(struct acceptance *acceptance)
{
    int most, hosts = acceptance->roster->host_count;
    struct doubles doubles;
    if (hosts < HOSTS_COMPARED)
        return;
    doubles_open(&doubles, acceptance);
    while ((most = doubles_most(&doubles, hosts)) >= 0) {
        double *count = &doubles.counts[most % 2][most / 2];
        doubles_find(acceptance, &doubles, most / 2, most % 2);
        if (!is_other_end(&doubles, most)) /* its packets are those of the first */
            doubles.unexplained -= *count;
        doubles.named[most % 2] = *count;
        *count = 0;
    }
    free(doubles.counts[0]);
    free(doubles.counts[1]);
}

/*
 * Links of hosts that come and go.
 */
/* Is it a link that was slow, lost packets, or whose measurement failed? A host that comes and goes
 * explains neither wrong data nor vanishing packets, and its own loss is a finding of its own. */
static bool may_be_explained(const struct found *found)
{
    return found->peer >= 0 && found->health == HEALTH_SUSPECT && !found->loss &&
           found->status != STATUS_WRONG_DATA &&
           (found->kind == FOUND_SLOW_PATH || found->kind == FOUND_LOSS ||
            found->kind == FOUND_FAILED);
}

/* Does a finding of this host alone explain what its link with `peer` showed? A host that is
 * stopped loses no packets. Words of rank 0 cross the link with rank 0's host, and explain nothing
 * there. */
static bool explains_link(const struct acceptance *acceptance, const struct found *found,
                          const struct found *link, int host, int peer)
{
    bool stopped = found->kind == FOUND_STOPPED && link->kind != FOUND_LOSS;
    bool unheard = found->kind == FOUND_UNHEARD && peer != acceptance->roster->agents[0].host;
    return found->host == host && found->peer < 0 && found->health == HEALTH_BAD &&
           (found->kind == FOUND_CARRIER || stopped || unheard);
}

void links_judge(struct acceptance *acceptance)
{
    struct findings *findings = &acceptance->findings;
    for (int i = 0; i < findings->count; i++) {
        struct found *link = &findings->items[i];
        int end = -1;
        if (!may_be_explained(link))
            continue;
        for (int j = 0; j < findings->count; j++)
            if (explains_link(acceptance, &findings->items[j], link, link->host, link->peer))
                end = link->host;
            else if (explains_link(acceptance, &findings->items[j], link, link->peer, link->host))
                end = link->peer;
        if (end < 0)
            continue;
        struct text text = text_after(link->text, sizeof link->text);
        text_add(&text, "; the fault of %s explains it", acceptance->labels[end]);
        link->kind = FOUND_NOTE;
        link->health = HEALTH_GOOD;
        link->status = STATUS_OK;
    }
}
