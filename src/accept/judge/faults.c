/*
 * faults.c - from suspects to places: hosts, NICs and links; and sentences about them.
 */
#include "accept/judge/internal.h"

#include "base/numbers.h"

#include <math.h>
#include <stdlib.h>

#define PARTNERS_NAMED 3

/* Suspects that become one fault, or one for each rail. */
struct merging {
    const struct fleet *fleet;
    const struct isolation *isolation;
    struct fleet_faults *found;
    int host, peer; /* peer -1: of the host itself */
    enum complaint complaint;
    const struct suspect **suspects; /* room for all suspects */
    int count;
    bool confirmed;
};

static const struct series *series_of(const struct merging *m, const struct suspect *suspect)
{
    return &m->fleet->series[suspect->series];
}

static void gather_from(struct merging *m, int host, int peer, enum suspect_state state)
{
    for (const struct suspect *s = m->isolation->hosts[host].suspects; s; s = s->sibling)
        if (s->peer == peer && s->state == state &&
            suspect_complaint(m->isolation, s) == m->complaint)
            m->suspects[m->count++] = s;
}

/* Gathers what is confirmed; else what is open. Bandwidths that are slow alone leave out those of
 * both directions at once. */
static void gather(struct merging *m)
{
    m->count = 0;
    for (int s = 0; s < 2 && m->count == 0; s++) {
        m->confirmed = s == 0;
        enum suspect_state state = m->confirmed ? SUSPECT_CONFIRMED : SUSPECT_OPEN;
        gather_from(m, m->host, m->peer, state);
        if (m->peer >= 0)
            gather_from(m, m->peer, m->host, state);
    }
    bool alone = false;
    for (int i = 0; i < m->count; i++)
        alone = alone || series_of(m, m->suspects[i])->metric == METRIC_ALONE;
    int kept = 0;
    for (int i = 0; i < m->count; i++)
        if (!alone || m->complaint != COMPLAINT_BANDWIDTH ||
            series_of(m, m->suspects[i])->metric == METRIC_ALONE)
            m->suspects[kept++] = m->suspects[i];
    m->count = kept;
}

/* How far a suspect is above the fleet, excess. */
static double height_of(const struct merging *m, const struct suspect *suspect)
{
    return suspect->excess - series_of(m, suspect)->levels.median;
}

static const struct suspect *worst_of(const struct merging *m, uint64_t rails)
{
    const struct suspect *worst = NULL;
    for (int i = 0; i < m->count; i++) {
        const struct suspect *suspect = m->suspects[i];
        if (!(rails >> series_of(m, suspect)->rail & 1))
            continue;
        if (!worst || suspect->outcome > worst->outcome ||
            (suspect->outcome == worst->outcome && height_of(m, suspect) > height_of(m, worst)))
            worst = suspect;
    }
    return worst;
}

/* Is a suspect slow in the middle of its readings? Else it is so now and then. */
static bool is_steady(const struct merging *m, const struct suspect *suspect)
{
    return suspect->peer < 0 &&
           limits_exceeds(m->isolation->limits, suspect->series, suspect->host);
}

/* Is a cell of the host good, beside a fault of it? Where the fault shows now and then, the
 * level is good, and so each reading must be. */
static bool is_good_cell(const struct merging *m, const struct suspect *worst, enum metric metric,
                         int rail, enum direction direction)
{
    int series = fleet_find(m->fleet, metric, rail, direction);
    double level = fleet_level(m->fleet, series, m->host);
    double median = m->fleet->series[series].levels.median;
    double limit = limits_cell(m->isolation->limits, series, m->host).excess - median;
    if (m->complaint == COMPLAINT_FAILURE)
        return isfinite(level);
    bool steady = is_steady(m, worst);
    double excess = steady ? level : fleet_worst(m->fleet, series, m->host);
    double most = steady ? fmin(limit, height_of(m, worst)) : height_of(m, worst);
    return excess - median <= most / 2; /* false of a NAN */
}

/* Likewise in a metric; what shows now and then is looked for in both metrics of bandwidth. */
static bool is_good_beside(const struct merging *m, const struct suspect *worst, enum metric metric,
                           int rail, enum direction direction)
{
    bool bandwidth = metric == METRIC_ALONE || metric == METRIC_BOTH;
    if (!bandwidth || is_steady(m, worst))
        return is_good_cell(m, worst, metric, rail, direction);
    return is_good_cell(m, worst, METRIC_ALONE, rail, direction) &&
           is_good_cell(m, worst, METRIC_BOTH, rail, direction);
}

static uint64_t rails_of(const struct merging *m)
{
    uint64_t rails = 0;
    for (int i = 0; i < m->count; i++)
        rails |= UINT64_C(1) << series_of(m, m->suspects[i])->rail;
    return rails;
}

/* Have all rails the fault? A host that fails on more than one fails on any. */
static bool has_all_rails(const struct merging *m)
{
    uint64_t faulty = rails_of(m);
    const struct suspect *worst = worst_of(m, faulty);
    const struct series *series = series_of(m, worst);
    if (m->complaint == COMPLAINT_FAILURE && (faulty & (faulty - 1)) != 0)
        return true;
    for (int r = 0; r < m->fleet->config.rails; r++)
        if (!(faulty >> r & 1) &&
            (m->peer >= 0 || is_good_beside(m, worst, series->metric, r, series->direction)))
            return false;
    return true;
}

/* Does a link lose packets from one host to another, although that is not confirmed? So it does by
 * the mean of the reading that made it a suspect and of those that were measured again. */
static bool loses_at_times(const struct merging *m, const struct suspect *worst, int from, int to)
{
    int series = worst->series;
    const struct suspect *s = suspect_find(m->isolation, from, to, series, false);
    if (m->complaint != COMPLAINT_LOSS || !s)
        return false;
    double first = fleet_link_value(m->fleet, series, from, to, s->excess);
    double mean = suspect_excess(m->isolation, s, (first + s->sum) / (1 + s->values));
    return mean - series_of(m, s)->levels.median > height_of(m, worst) / 2;
}

/* The direction of the host that the suspects of some rails share. */
static enum direction direction_of(const struct merging *m, uint64_t rails)
{
    const struct suspect *worst = worst_of(m, rails);
    const struct series *series = series_of(m, worst);
    if (m->complaint == COMPLAINT_LATENCY || series->metric == METRIC_LATENCY ||
        (m->complaint == COMPLAINT_FAILURE && worst->outcome != READING_WRONG))
        return DIRECTION_ANY;
    bool faulty[DIRECTIONS] = {false};
    for (int i = 0; i < m->count; i++) {
        const struct series *s = series_of(m, m->suspects[i]);
        bool forth = m->suspects[i]->host == m->host; /* of a link: it sends */
        if (rails >> s->rail & 1)
            faulty[forth ? s->direction : 1 - s->direction] = true;
    }
    if (m->peer >= 0) {
        faulty[DIRECTION_SEND] |= loses_at_times(m, worst, m->host, m->peer);
        faulty[DIRECTION_RECEIVE] |= loses_at_times(m, worst, m->peer, m->host);
    }
    for (int d = 0; d < DIRECTIONS && m->peer < 0; d++)
        for (int r = 0; r < m->fleet->config.rails; r++)
            if ((rails >> r & 1) && !is_good_beside(m, worst, series->metric, r, (enum direction)d))
                faulty[d] = true;
    return faulty[DIRECTION_SEND] == faulty[DIRECTION_RECEIVE] ? DIRECTION_ANY
           : faulty[DIRECTION_SEND]                            ? DIRECTION_SEND
                                                               : DIRECTION_RECEIVE;
}

/* Is it slow only where both directions are in use? Of a link: no reading of one direction was. */
static bool is_duplex(const struct merging *m, const struct suspect *worst,
                      enum direction direction, uint64_t rails)
{
    if (series_of(m, worst)->metric != METRIC_BOTH || direction != DIRECTION_ANY)
        return false;
    for (int r = 0; r < m->fleet->config.rails && m->peer < 0; r++)
        if ((rails >> r & 1) && (!is_good_beside(m, worst, METRIC_ALONE, r, DIRECTION_SEND) ||
                                 !is_good_beside(m, worst, METRIC_ALONE, r, DIRECTION_RECEIVE)))
            return false;
    return true;
}

static enum fleet_fault_kind kind_of(const struct merging *m, const struct suspect *worst,
                                     enum direction direction, uint64_t rails)
{
    if (m->complaint != COMPLAINT_BANDWIDTH)
        return m->complaint == COMPLAINT_FAILURE ? FLEET_FAULT_FAILURE
               : m->complaint == COMPLAINT_LOSS  ? FLEET_FAULT_LOSS
                                                 : FLEET_FAULT_LATENCY;
    return is_duplex(m, worst, direction, rails) ? FLEET_FAULT_DUPLEX : FLEET_FAULT_SLOW;
}

/* The value of an excess, of a link beside those at its distance. */
static double value_of(const struct merging *m, const struct suspect *suspect, double excess)
{
    return suspect->peer < 0
               ? fleet_value(m->fleet, suspect->series, excess)
               : fleet_link_value(m->fleet, suspect->series, suspect->host, suspect->peer, excess);
}

static struct reason reason_of(const struct merging *m, const struct suspect *worst)
{
    const struct series *series = series_of(m, worst);
    struct reason reason = {.metric = series->metric, .reference = worst->limit.reference};
    if (worst->outcome != READING_VALUE || !isfinite(worst->excess))
        return reason;
    double deviation = worst->peer < 0 ? series->levels.deviation
                                       : m->isolation->limits->series[worst->series].deviation;
    reason.value = value_of(m, worst, worst->excess);
    reason.median = value_of(m, worst, series->levels.median);
    reason.deviation = series->metric == METRIC_LOSS
                           ? value_of(m, worst, series->levels.median + deviation) - reason.median
                           : deviation * reason.median;
    reason.threshold = value_of(m, worst, worst->limit.excess);
    return reason;
}

static double least_by_chance(const struct merging *m, uint64_t rails)
{
    double least = INFINITY;
    for (int i = 0; i < m->count; i++)
        if (rails >> series_of(m, m->suspects[i])->rail & 1)
            least = fmin(least, m->suspects[i]->by_chance);
    return least;
}

/* The sender of a link in one direction alone is named first. */
static void fleet_fault_add(struct merging *m, enum fleet_fault_place place, uint64_t rails,
                            bool all_rails)
{
    const struct suspect *worst = worst_of(m, rails);
    enum direction direction = direction_of(m, rails);
    bool turned = place != PLACE_HOST && direction == DIRECTION_RECEIVE;
    *LIST_ADD(m->found->items, m->found->count) =
        (struct fleet_fault){.kind = kind_of(m, worst, direction, rails),
                             .place = place,
                             .host = turned ? m->peer : m->host,
                             .peer = turned ? m->host : m->peer,
                             .rail = all_rails ? -1 : series_of(m, worst)->rail,
                             .direction = turned ? DIRECTION_SEND : direction,
                             .reason = reason_of(m, worst),
                             .confirmed = m->confirmed,
                             .ended_early = !m->isolation->is_done,
                             .by_chance = least_by_chance(m, rails),
                             .worst = worst};
}

/* One fault of all rails, or one for each. */
static void fleet_fault_add_rails(struct merging *m, enum fleet_fault_place place)
{
    uint64_t rails = rails_of(m);
    if (m->fleet->config.rails == 1 || has_all_rails(m)) {
        fleet_fault_add(m, place, rails, true);
        return;
    }
    for (int r = 0; r < m->fleet->config.rails; r++)
        if (rails >> r & 1)
            fleet_fault_add(m, place, UINT64_C(1) << r, false);
}

/* Does a failure of the host stand for a link's, too? Then the link's is told. */
static bool is_told_with_a_link(const struct merging *m)
{
    if (m->complaint != COMPLAINT_FAILURE || m->confirmed)
        return false;
    for (const struct suspect *s = m->isolation->suspects; s; s = s->next)
        if (s->peer >= 0 && s->outcome != READING_VALUE &&
            (s->host == m->host || s->peer == m->host))
            return true;
    return false;
}

static void host_merge(struct merging *m)
{
    bool two = m->fleet->config.hosts == 2;
    m->peer = -1;
    gather(m);
    if (m->count == 0 || is_told_with_a_link(m))
        return;
    if (two && m->host == 1 && m->found->count > 0)
        return; /* told with host 0 */
    if (two) {
        m->peer = 1 - m->host;
        fleet_fault_add(m, PLACE_EITHER, rails_of(m), m->fleet->config.rails == 1);
    } else
        fleet_fault_add_rails(m, PLACE_HOST);
}

/* The end's suspect for a link's failure, if there is one with this state. */
static bool end_is(const struct merging *m, int host, enum suspect_state state)
{
    for (const struct suspect *s = m->isolation->hosts[host].suspects; s; s = s->sibling)
        if (s->peer < 0 && s->state == state && suspect_complaint(m->isolation, s) == m->complaint)
            return true;
    return false;
}

/* A failure that was seen once, and not again with anybody, stays one of all three. */
static void gather_passing_failure(struct merging *m)
{
    if (m->count > 0 || m->complaint != COMPLAINT_FAILURE)
        return;
    m->confirmed = false;
    gather_from(m, m->host, m->peer, SUSPECT_CLEARED);
    gather_from(m, m->peer, m->host, SUSPECT_CLEARED);
}

static bool is_slowness(enum complaint complaint)
{
    return complaint == COMPLAINT_BANDWIDTH || complaint == COMPLAINT_LATENCY;
}

/* Is an end of a link slow itself on a suspect's rail, in a latency or a bandwidth, and as far from
 * the fleet? Cores that are busy show in the one with all partners, and in the other with some. */
static bool is_slow_by_end(const struct merging *m, const struct suspect *link)
{
    const int ends[] = {m->host, m->peer};
    for (int e = 0; e < 2; e++)
        for (const struct suspect *s = m->isolation->hosts[ends[e]].suspects; s; s = s->sibling)
            if (s->peer < 0 && s->state == SUSPECT_CONFIRMED &&
                is_slowness(suspect_complaint(m->isolation, s)) &&
                series_of(m, s)->rail == series_of(m, link)->rail &&
                height_of(m, s) >= height_of(m, link))
                return true;
    return false;
}

static void ends_explain(struct merging *m)
{
    int kept = 0;
    if (!is_slowness(m->complaint))
        return;
    for (int i = 0; i < m->count; i++)
        if (!is_slow_by_end(m, m->suspects[i]))
            m->suspects[kept++] = m->suspects[i];
    m->count = kept;
}

static void link_merge(struct merging *m)
{
    if (end_is(m, m->host, SUSPECT_CONFIRMED) || end_is(m, m->peer, SUSPECT_CONFIRMED))
        return; /* it explains the link */
    gather(m);
    gather_passing_failure(m);
    ends_explain(m);
    if (m->count == 0)
        return;
    if (!m->confirmed && m->complaint != COMPLAINT_FAILURE) {
        m->found->untried++;
        return;
    }
    bool open = end_is(m, m->host, SUSPECT_OPEN) || end_is(m, m->peer, SUSPECT_OPEN);
    fleet_fault_add_rails(m, m->confirmed && !open ? PLACE_LINK : PLACE_EITHER);
}

/* Merges each link once: at the first of its suspects. */
static bool is_first_of_link(const struct isolation *isolation, const struct suspect *link)
{
    for (int end = 0; end < 2; end++) {
        int from = end ? link->peer : link->host, to = end ? link->host : link->peer;
        for (const struct suspect *s = isolation->hosts[from].suspects; s; s = s->sibling)
            if (s->peer == to && s->number < link->number)
                return false;
    }
    return true;
}

static void merge_all(struct merging *m)
{
    for (int c = 0; c < COMPLAINTS; c++) {
        m->complaint = (enum complaint)c;
        for (m->host = 0; m->host < m->fleet->config.hosts; m->host++)
            if (m->isolation->hosts[m->host].suspects)
                host_merge(m);
        for (const struct suspect *link = m->isolation->suspects; link; link = link->next) {
            m->host = link->host < link->peer ? link->host : link->peer;
            m->peer = link->host < link->peer ? link->peer : link->host;
            if (link->peer >= 0 && is_first_of_link(m->isolation, link))
                link_merge(m);
        }
    }
}

/* The direction of a fault as its host, or its peer, sees it. */
static enum direction direction_at(const struct fleet_fault *fault, int host)
{
    return fault->host == host || fault->direction == DIRECTION_ANY
               ? fault->direction
               : (enum direction)(1 - fault->direction);
}

/* Is the loss one of the fault's host, or of its link, on its rail and in its direction? */
static bool loss_covers(const struct fleet_fault *loss, const struct fleet_fault *fault)
{
    bool same_link = fault->peer >= 0 && loss->peer >= 0 &&
                     (loss->host == fault->host || loss->host == fault->peer) &&
                     (loss->peer == fault->host || loss->peer == fault->peer);
    bool end = loss->peer < 0 && (loss->host == fault->host || loss->host == fault->peer);
    enum direction of_loss = loss->direction, of_fault = direction_at(fault, loss->host);
    return (same_link || end) && (loss->rail < 0 || loss->rail == fault->rail) &&
           (of_loss == DIRECTION_ANY || of_fault == DIRECTION_ANY || of_loss == of_fault);
}

/* Do lost packets explain why a host or a link is slow, or late? */
static bool is_by_loss(const struct fleet_faults *found, const struct fleet_fault *fault)
{
    bool slow = fault->kind == FLEET_FAULT_SLOW || fault->kind == FLEET_FAULT_DUPLEX;
    bool late = fault->kind == FLEET_FAULT_FAILURE && fault->worst->outcome == READING_LATE;
    for (int i = 0; i < found->count && (slow || late); i++) {
        const struct fleet_fault *loss = &found->items[i];
        if (loss->kind == FLEET_FAULT_LOSS && loss->confirmed && loss_covers(loss, fault))
            return true;
    }
    return false;
}

static void losses_explain(struct fleet_faults *found)
{
    int kept = 0;
    bool *explained = new_array((size_t)found->count, sizeof *explained);
    for (int i = 0; i < found->count; i++)
        explained[i] = is_by_loss(found, &found->items[i]);
    for (int i = 0; i < found->count; i++)
        if (!explained[i])
            found->items[kept++] = found->items[i];
    found->count = kept;
    free(explained);
}

static int compare_faults(const void *a, const void *b)
{
    const struct fleet_fault *left = a, *right = b;
    return COMPARE(right->kind, left->kind) ?:
           COMPARE(right->worst->outcome, left->worst->outcome) ?:
           COMPARE(left->host, right->host) ?:
           COMPARE(left->rail, right->rail);
}

struct fleet_faults *fleet_faults_find(const struct isolation *isolation)
{
    struct fleet_faults *found = new_array(1, sizeof *found);
    struct merging m = {.fleet = isolation->fleet,
                        .isolation = isolation,
                        .found = found,
                        .suspects = new_array((size_t)isolation->count, sizeof *m.suspects)};
    merge_all(&m);
    losses_explain(found);
    free(m.suspects);
    for (const struct suspect *s = isolation->suspects; s; s = s->next)
        found->passing += s->state == SUSPECT_CLEARED && s->outcome == READING_VALUE;
    if (found->count > 0)
        qsort(found->items, (size_t)found->count, sizeof *found->items, compare_faults);
    return found;
}

void fleet_faults_free(struct fleet_faults *faults)
{
    if (faults)
        free(faults->items);
    free(faults);
}

enum health fleet_fault_health(const struct fleet_fault *fault)
{
    const struct suspect *worst = fault->worst;
    bool noise = worst->tries == 0 || (worst->hits < worst->tries && fault->by_chance >= 1);
    bool passes =
        fault->ended_early && !fault->confirmed && noise && fault->kind != FLEET_FAULT_FAILURE;
    return passes                                           ? HEALTH_GOOD
           : fault->place == PLACE_HOST && fault->confirmed ? HEALTH_BAD
                                                            : HEALTH_SUSPECT;
}

/* ---- sentences ---- */

const char *metric_unit(enum metric metric)
{
    return metric == METRIC_LATENCY ? "us" : metric == METRIC_LOSS ? "%" : "GB/s";
}

static void put_rail(int rail, const struct fleet_names *names, struct text *text)
{
    if (names->rails)
        text_add(text, "%s", names->rails[rail]);
    else
        text_add(text, "rail %d", rail);
}

/* Does the sentence about a host begin with what it does? */
static bool is_deed(const struct fleet_fault *s)
{
    return s->kind == FLEET_FAULT_FAILURE ? s->worst->outcome == READING_WRONG
                                          : s->kind != FLEET_FAULT_LATENCY;
}

/* "n17: ", "n17: mlx5_2 ", "n17: mlx5_2: ", "link n3-n9 on mlx5_2: " */
static void put_place(const struct fleet_fault *s, const struct fleet_names *names,
                      struct text *text)
{
    bool of_host = s->place == PLACE_HOST;
    if (of_host)
        text_add(text, "%s", names->hosts[s->host]);
    else if (s->place == PLACE_LINK)
        text_add(text, "link %s-%s", names->hosts[s->host], names->hosts[s->peer]);
    else
        text_add(text, "%s, %s or the link between them", names->hosts[s->host],
                 names->hosts[s->peer]);
    if (s->rail >= 0) {
        text_add(text, of_host ? ": " : " on ");
        put_rail(s->rail, names, text);
    }
    text_add(text, s->rail >= 0 && of_host && is_deed(s) ? " " : ": ");
}

const char *const threshold_words[REFERENCES] = {
    [REFERENCE_FLEET] = "threshold",
    [REFERENCE_RATE] = "threshold by the link's rate",
    [REFERENCE_EARLIER] = "threshold by the earlier run",
    [REFERENCE_PROFILE] = "threshold by the profile",
    [REFERENCE_FAILURE] = "threshold",
    [REFERENCE_RAILS] = "threshold by the other rails",
};

static void put_reason(const struct reason *reason, struct text *text)
{
    char value[NUMBER_TEXT_MOST], median[NUMBER_TEXT_MOST], spread[NUMBER_TEXT_MOST],
        threshold[NUMBER_TEXT_MOST];
    text_add(text, "%s %s, the fleet's median is %s (spread %s, %s %s)",
             number_text(reason->value, 3, value), metric_unit(reason->metric),
             number_text(reason->median, 3, median), number_text(reason->deviation, 2, spread),
             threshold_words[reason->reference], number_text(reason->threshold, 3, threshold));
}

static const char *const host_deeds[] = {[DIRECTION_SEND] = "sends",
                                         [DIRECTION_RECEIVE] = "receives",
                                         [DIRECTION_ANY] = "sends and receives"};

static void put_slow(const struct fleet_fault *s, const struct fleet_names *names,
                     struct text *text)
{
    static const char *const meanwhile[] = {[DIRECTION_SEND] = " while it receives",
                                            [DIRECTION_RECEIVE] = " while it sends",
                                            [DIRECTION_ANY] = " at once"};
    bool is_both = s->reason.metric == METRIC_BOTH;
    const char *both = is_both ? meanwhile[s->direction] : "";
    if (s->place == PLACE_HOST)
        text_add(text, "%s%s at ", host_deeds[s->direction], both);
    else if (s->direction == DIRECTION_SEND)
        text_add(text, "%s sends to %s%s at ", names->hosts[s->host], names->hosts[s->peer], both);
    else
        text_add(text, "each sends to the other%s at ", is_both ? " at the same time" : "");
    put_reason(&s->reason, text);
}

/* "loses packets that it sends: 5.1% of them are sent again, the fleet's median is ..." */
static void put_loss(const struct fleet_fault *s, const struct fleet_names *names,
                     struct text *text)
{
    static const char *const ways[] = {[DIRECTION_SEND] = " that it sends",
                                       [DIRECTION_RECEIVE] = " that are sent to it",
                                       [DIRECTION_ANY] = ""};
    if (s->place == PLACE_HOST)
        text_add(text, "loses packets%s: ", ways[s->direction]);
    else if (s->direction == DIRECTION_SEND)
        text_add(text, "loses packets from %s to %s: ", names->hosts[s->host],
                 names->hosts[s->peer]);
    else
        text_add(text, "loses packets: ");
    text_add(text, "%.3g%% are sent again, the fleet's median is %.2g%% (spread %.2g%%, %s %.2g%%)",
             s->reason.value, s->reason.median, s->reason.deviation,
             threshold_words[s->reason.reference], s->reason.threshold);
}

static void put_failure(const struct fleet_fault *s, const struct fleet_names *names,
                        struct text *text)
{
    enum reading_outcome outcome = s->worst->outcome;
    if (outcome == READING_LOST)
        text_add(text, "a worker was lost");
    else if (outcome == READING_LATE)
        text_add(text, "a measurement did not end in its time");
    else if (outcome == READING_ERROR)
        text_add(text, "a measurement failed");
    else if (s->place == PLACE_HOST)
        text_add(text, "%s wrong data", host_deeds[s->direction]);
    else if (s->direction == DIRECTION_SEND)
        text_add(text, "%s receives wrong data from %s", names->hosts[s->peer],
                 names->hosts[s->host]);
    else
        text_add(text, "wrong data");
}

static bool is_named_before(const struct suspect *suspect, int partner)
{
    for (int w = 0; w < partner; w++)
        if (suspect->partners[w] == suspect->partners[partner])
            return true;
    return false;
}

/* "n02", "n02 and n31", "n02, n31, n40 and others". */
static void put_partners(const struct suspect *suspect, const struct fleet_names *names,
                         struct text *text)
{
    int partners = 0, named = 0;
    for (int w = 0; w < suspect->partner_count; w++)
        partners += !is_named_before(suspect, w);
    int most = partners <= PARTNERS_NAMED + 1 ? partners : PARTNERS_NAMED;
    for (int w = 0; w < suspect->partner_count && named < most; w++) {
        if (is_named_before(suspect, w))
            continue;
        const char *before = named == 0 ? "" : named == partners - 1 ? " and " : ", ";
        text_add(text, "%s%s", before, names->hosts[suspect->partners[w]]);
        named++;
    }
    if (partners > named)
        text_add(text, " and others");
}

static void put_evidence(const struct fleet_fault *s, const struct fleet_names *names,
                         struct text *text)
{
    const struct suspect *worst = s->worst;
    if (s->confirmed && s->place == PLACE_HOST && worst->partner_count > 0) {
        text_add(text, ": confirmed with ");
        put_partners(worst, names, text);
    } else if (s->confirmed || worst->tries > 0)
        text_add(text, ": %s in %d of %d measurements", s->confirmed ? "confirmed" : "seen again",
                 worst->hits, worst->tries);
    else
        text_add(text, s->ended_early ? ": not tried again"
                                      : ": not confirmed, since no good partner is there");
}

void fleet_fault_put(const struct fleet_fault *fault, const struct fleet_names *names,
                     struct text *text)
{
    put_place(fault, names, text);
    if (fault->kind == FLEET_FAULT_FAILURE)
        put_failure(fault, names, text);
    else if (fault->kind == FLEET_FAULT_LOSS)
        put_loss(fault, names, text);
    else if (fault->kind == FLEET_FAULT_LATENCY) {
        text_add(text, "latency ");
        put_reason(&fault->reason, text);
    } else
        put_slow(fault, names, text);
    put_evidence(fault, names, text);
}

void series_name_put(const struct fleet *fleet, int series, const struct fleet_names *names,
                     struct text *text)
{
    static const char *const what[] = {[METRIC_LATENCY] = "latency",
                                       [METRIC_ALONE] = "bandwidth one way",
                                       [METRIC_BOTH] = "bandwidth in both directions at once",
                                       [METRIC_LOSS] = "loss of packets"};
    const struct series *rest = &fleet->series[series];
    text_add(text, "%s", what[rest->metric]);
    if (fleet->config.rails > 1) {
        text_add(text, " of ");
        put_rail(rest->rail, names, text);
    }
    if (rest->metric != METRIC_LATENCY)
        text_add(text, " (%s)", rest->direction == DIRECTION_SEND ? "sent" : "received");
}

void fleet_note_put(const struct fleet_note *note, const struct fleet *fleet,
                    const struct fleet_names *names, struct text *text)
{
    const struct series *series = &fleet->series[note->series];
    static const char *const asked[REFERENCES] = {
        [REFERENCE_RATE] = "70% of the link's rate",
        [REFERENCE_EARLIER] = "the threshold by the earlier run",
        [REFERENCE_PROFILE] = "the threshold by the profile",
        [REFERENCE_RAILS] = "the threshold by the other rails (15% worse)",
    };
    bool rails_lose = note->reference == REFERENCE_RAILS && series->metric == METRIC_LOSS;
    const char *unit = metric_unit(series->metric);
    char value[NUMBER_TEXT_MOST], threshold[NUMBER_TEXT_MOST];
    text_add(text, "all hosts: the median of their ");
    series_name_put(fleet, note->series, names, text);
    text_add(text, " is %s %s; %s is %s %s", number_text(note->value, 3, value), unit,
             rails_lose ? "the threshold by the other rails (twice their loss, and 0.1%)"
             : asked[note->reference] ? asked[note->reference]
                                      : "the threshold",
             number_text(note->threshold, 3, threshold), unit);
}

const char *fleet_size_remark(int hosts)
{
    switch (hosts) {
    case 1:
        return "one host: stages between hosts are left out";
    case 2:
        return "2 hosts: only a link's rate, a profile or an earlier run can show that they are "
               "slow, and a fault may be of either host or of the link between them";
    case 3:
        return "3 hosts: one faulty host or link can be told from the others, two cannot";
    default:
        return NULL;
    }
}
