/*
 * bottleneck.c - finds the bottleneck from the counts at both ends of all links.
 *
 * The link with the longest time of its own is the suspect. If it accounts for a third of the time,
 * the suspects are widened from it to its host's links, step by step, until they include all links
 * that are nearly as slow. They are confirmed if the other links with as much to carry reach three
 * times the rate.
 */

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "run/results/internal.h"

#include <stdlib.h>

#define TICK       4000000u  /* ns: the kernel counts in jiffies, of 4 ms as a rule */
#define LEAST      40000000u /* ns: a link's own time, below which its ticks say too little */
#define SHARE      3         /* one part in so many of the time has to be the suspect's */
#define PRONOUNCED 3         /* times slower than the others */
#define COMPARABLE 4         /* one part in so many of the suspect's bytes */
#define NEARLY     2         /* one part in so many of the suspect's own time is nearly as slow */

static uint64_t link_own(const struct bottleneck_link *link)
{
    return link->busy < link->starved ? link->busy : link->starved;
}

/* Between hosts; where there is one host only, between its ranks. */
static bool link_counts(const struct bottleneck_case *given, const struct bottleneck_link *link,
                        bool one_node)
{
    return link->bytes > 0 && (one_node || given->node[link->from] != given->node[link->to]);
}

static bool is_one_node(const struct bottleneck_case *given)
{
    for (int r = 1; r < given->ranks; r++)
        if (given->node[r] != given->node[0])
            return false;
    return true;
}

/* Is `link` a suspect of this kind, where `worst` is the first one? */
static bool suspects_hold(const struct bottleneck_case *given, enum bottleneck_kind kind, int node,
                          bool one_node, const struct bottleneck_link *worst,
                          const struct bottleneck_link *link)
{
    if (one_node)
        return link == worst;
    int from = given->node[link->from], to = given->node[link->to];
    int a = given->node[worst->from], b = given->node[worst->to];
    switch (kind) {
    case BOTTLENECK_LINK:
        return from == a && to == b;
    case BOTTLENECK_PAIR:
        return (from == a && to == b) || (from == b && to == a);
    case BOTTLENECK_FROM:
        return from == node;
    case BOTTLENECK_TO:
        return to == node;
    default:
        return from == node || to == node;
    }
}

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return COMPARE(x, y);
}

/* Bytes per second. */
static double rate_of(uint64_t bytes, uint64_t ns)
{
    return (double)bytes * 1e9 / (double)(ns > TICK ? ns : TICK);
}

/* Are the suspects slow, and no other links? `rates`: room for one of each link. */
static bool suspects_confirm(const struct bottleneck_case *given, bool one_node,
                             const struct bottleneck_link *worst, struct bottleneck *bottleneck,
                             double *rates)
{
    uint64_t longest = link_own(worst), bytes = 0, time = 0;
    int slow = 0, others = 0;
    bottleneck->links = 0;
    for (int i = 0; i < given->link_count; i++) {
        const struct bottleneck_link *link = &given->links[i];
        if (!link_counts(given, link, one_node))
            continue;
        bool comparable = link->bytes >= worst->bytes / COMPARABLE;
        uint64_t own = link_own(link);
        if (suspects_hold(given, bottleneck->kind, bottleneck->node, one_node, worst, link)) {
            bottleneck->links++;
            slow += own >= longest / PRONOUNCED;
            bytes += link->bytes;
            time += own;
        } else if (own >= longest / NEARLY) {
            return false;
        } else if (comparable) {
            rates[others++] = rate_of(link->bytes, link->busy);
        }
    }
    if (others == 0 || slow * 3 < bottleneck->links * 2)
        return false;
    qsort(rates, (size_t)others, sizeof *rates, compare_rates);
    bottleneck->rate = rate_of(bytes, time);
    bottleneck->others = rates[(others - 1) / 2];
    return bottleneck->others >= PRONOUNCED * bottleneck->rate;
}

/* Does a host send (or receive) no more bytes than half as much again as the next one? The host
 * of an algorithm's root sends more, so its links are slower for a good reason. */
static bool node_is_comparable(const struct bottleneck_case *given, int node, bool sends)
{
    uint64_t mine = 0, most = 0;
    uint64_t *bytes = new_array((size_t)given->ranks, sizeof *bytes); /* of each node */
    for (int i = 0; i < given->link_count; i++) {
        const struct bottleneck_link *link = &given->links[i];
        if (link_counts(given, link, false))
            bytes[given->node[sends ? link->from : link->to]] += link->bytes;
    }
    for (int n = 0; n < given->ranks; n++) {
        if (n == node)
            mine = bytes[n];
        else if (bytes[n] > most)
            most = bytes[n];
    }
    free(bytes);
    return mine <= most + most / 2;
}

static bool step_is_fair(const struct bottleneck_case *given, enum bottleneck_kind kind, int node)
{
    return node < 0 || ((kind == BOTTLENECK_TO || node_is_comparable(given, node, true)) &&
                        (kind == BOTTLENECK_FROM || node_is_comparable(given, node, false)));
}

static const struct bottleneck_link *link_worst(const struct bottleneck_case *given, bool one_node)
{
    const struct bottleneck_link *worst = NULL;
    for (int i = 0; i < given->link_count; i++) {
        const struct bottleneck_link *link = &given->links[i];
        if (link_counts(given, link, one_node) && (!worst || link_own(link) > link_own(worst)))
            worst = link;
    }
    return worst;
}

static bool find_links(const struct bottleneck_case *given, struct bottleneck *bottleneck)
{
    bool one_node = is_one_node(given);
    const struct bottleneck_link *worst = link_worst(given, one_node);
    uint64_t own = worst ? link_own(worst) : 0;
    if (given->ranks < 3 || own < LEAST || own < given->time / SHARE)
        return false;
    double *rates = new_array((size_t)given->link_count, sizeof *rates);
    const int from = given->node[worst->from], to = given->node[worst->to];
    const struct {
        enum bottleneck_kind kind;
        int node;
    } steps[] = {{BOTTLENECK_LINK, -1}, {BOTTLENECK_PAIR, -1},   {BOTTLENECK_FROM, from},
                 {BOTTLENECK_TO, to},   {BOTTLENECK_HOST, from}, {BOTTLENECK_HOST, to}};
    bool found = false;
    for (int i = 0; !found && i < (one_node ? 1 : 6); i++) {
        bottleneck->kind = steps[i].kind;
        bottleneck->node = steps[i].node;
        found = step_is_fair(given, bottleneck->kind, bottleneck->node) &&
                suspects_confirm(given, one_node, worst, bottleneck, rates);
    }
    free(rates);
    bottleneck->from = worst->from;
    bottleneck->to = worst->to;
    bottleneck->share = given->time > own ? (double)own / (double)given->time : 1;
    return found;
}

static bool find_rank(const struct bottleneck_case *given, struct bottleneck *bottleneck)
{
    bottleneck->rank = given->late_rank;
    if (bottleneck->rank < 0)
        return false;
    bottleneck->kind = BOTTLENECK_RANK;
    bottleneck->late = given->late[bottleneck->rank];
    for (int r = 0; r < given->ranks; r++)
        if (r != bottleneck->rank && given->late[r] > bottleneck->next)
            bottleneck->next = given->late[r];
    bottleneck->share =
        given->duration > bottleneck->late ? (double)bottleneck->late / (double)given->duration : 1;
    return true;
}

void bottleneck_find(const struct bottleneck_case *given, struct bottleneck *bottleneck)
{
    const struct bottleneck none = {.rank = -1, .from = -1, .to = -1, .node = -1};
    struct bottleneck rank = none, links = none;
    bool is_rank = find_rank(given, &rank), is_link = find_links(given, &links);
    *bottleneck = is_link && !(is_rank && rank.share >= links.share) ? links
                  : is_rank                                          ? rank
                                                                     : none;
}

/*
 * Brings together what the two ends of each link counted, and words the
 * bottleneck that follows.
 */
static void samples_read(struct result *result, const struct rank_summaries *summaries)
{
    result->samples = new_array((size_t)summaries->count, sizeof *result->samples);
    for (int r = 0; r < summaries->count; r++) {
        const struct rank_summary *summary = &summaries->items[r];
        result->samples[r] = (struct rank_sample){.late_us = (double)summary->late * 1e-3,
                                                  .time_us = summary->duration,
                                                  .peers = summary->peers,
                                                  .peer = summary->peer};
    }
}

/* The counts of rank `rank` for `peer`; NULL: it is not among the peers that it reports. */
static const struct peer_stats *peer_find(const struct result *result, int rank, int peer)
{
    const struct rank_sample *sample = &result->samples[rank];
    for (int i = 0; i < sample->peers; i++)
        if (sample->peer[i].peer == peer)
            return &sample->peer[i];
    return NULL;
}

/* The links that both ends report; returns how many. */
static int links_gather(const struct result *result, struct bottleneck_link *links)
{
    int count = 0;
    for (int r = 0; r < result->ranks; r++) {
        for (int i = 0; i < result->samples[r].peers; i++) {
            const struct peer_stats *out = &result->samples[r].peer[i];
            const struct peer_stats *in = peer_find(result, out->peer, r);
            if (in && out->sent > 0 && out->counted)
                links[count++] = (struct bottleneck_link){.from = r,
                                                          .to = out->peer,
                                                          .bytes = out->sent,
                                                          .busy = out->busy,
                                                          .starved = in->starved};
        }
    }
    return count;
}

static void add_links(struct text *text, const struct bottleneck *bottleneck,
                      const struct member *members)
{
    const char *from = members[bottleneck->from].host, *to = members[bottleneck->to].host;
    const char *host = bottleneck->node == members[bottleneck->to].node ? to : from;
    bool one = bottleneck->links == 1;
    if (bottleneck->kind == BOTTLENECK_LINK && one)
        text_add(text, "the link from rank %d (%s) to rank %d (%s)", bottleneck->from, from,
                 bottleneck->to, to);
    else if (bottleneck->kind == BOTTLENECK_LINK)
        text_add(text, "the links from host %s to host %s", from, to);
    else if (bottleneck->kind == BOTTLENECK_PAIR)
        text_add(text, "the links between host %s and host %s", from, to);
    else
        text_add(text, "all links %s host %s",
                 bottleneck->kind == BOTTLENECK_FROM ? "from"
                 : bottleneck->kind == BOTTLENECK_TO ? "to"
                                                     : "to and from",
                 host);
    text_add(text, ": %.1f MB/s, the others' median is %.1f MB/s or more; ",
             bottleneck->rate * 1e-6, bottleneck->others * 1e-6);
    if (one)
        text_add(text, "it was");
    else
        text_add(text, "that from rank %d to rank %d was", bottleneck->from, bottleneck->to);
    text_add(text, " waited for in %.0f %% of the time", bottleneck->share * 100);
}

static void bottleneck_text(const struct bottleneck *bottleneck, const struct member *members,
                            char *buffer, size_t size)
{
    struct text text = text_in(buffer, size);
    if (bottleneck->kind == BOTTLENECK_RANK)
        text_add(&text,
                 "rank %d (%s) begins late: %.0f us after the start releases it (median; the "
                 "others at most %.0f us), %.0f %% of the time",
                 bottleneck->rank, members[bottleneck->rank].host, (double)bottleneck->late * 1e-3,
                 (double)bottleneck->next * 1e-3, bottleneck->share * 100);
    else if (bottleneck->kind != BOTTLENECK_NONE)
        add_links(&text, bottleneck, members);
}

void bottleneck_report(struct result *result, const struct member *members,
                       const struct rank_summaries *summaries, uint64_t duration, uint64_t time)
{
    samples_read(result, summaries);
    size_t most = 1, ranks = (size_t)result->ranks;
    for (size_t r = 0; r < ranks; r++)
        most += (size_t)result->samples[r].peers;
    struct bottleneck_link *links = new_array(most, sizeof *links);
    uint64_t *late = new_array(ranks, sizeof *late);
    int *node = new_array(ranks, sizeof *node);
    for (size_t r = 0; r < ranks; r++) {
        node[r] = members[r].node;
        late[r] = summaries->items[r].late;
    }
    const struct bottleneck_case given = {
        .ranks = result->ranks,
        .node = node,
        .late = late,
        .late_rank = result->late_rank,
        .duration = duration,
        .time = time,
        .links = links,
        .link_count = links_gather(result, links),
    };
    bottleneck_find(&given, &result->bottleneck);
    bottleneck_text(&result->bottleneck, members, result->bottleneck_text,
                    sizeof result->bottleneck_text);
    free(links);
    free(late);
    free(node);
}

void bottleneck_report_free(struct result *result)
{
    free(result->samples);
    result->samples = NULL;
}
