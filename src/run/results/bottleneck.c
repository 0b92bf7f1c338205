/*
 * bottleneck.c - finds the bottleneck from the counts at both ends of all links.
 *
 * First come hosts all of whose links are slow (slow_hosts.c), then a slow way between two parts of
 * the hosts (slow_cut.c). Else the link with the longest time of
 * its own is the suspect, if it accounts for a third of the time, or the links between its two
 * hosts, in one direction or both. They are confirmed if the other links with as much to carry
 * reach three times the rate. Links that carry only what comes through the suspect are no others:
 * behind the first link of a chain nothing comes faster than through it.
 */

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "run/results/internal.h"

#include <math.h>
#include <stdlib.h>

uint64_t bottleneck_own(const struct bottleneck_link *link)
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
static bool suspects_hold(const struct bottleneck_case *given, enum bottleneck_kind kind,
                          bool one_node, const struct bottleneck_link *worst,
                          const struct bottleneck_link *link)
{
    if (one_node)
        return link == worst;
    int from = given->node[link->from], to = given->node[link->to];
    int a = given->node[worst->from], b = given->node[worst->to];
    return (from == a && to == b) || (kind == BOTTLENECK_PAIR && from == b && to == a);
}

double bottleneck_rate(uint64_t bytes, uint64_t ns)
{
    return (double)bytes * 1e9 / (double)(ns > BOTTLENECK_TICK ? ns : BOTTLENECK_TICK);
}

/* By rank: does all that comes to it come through `link`? NULL: a circle leads through the link, so
 * that each rank brings something of its own. To be freed. */
static bool *ranks_fed(const struct bottleneck_case *given, const struct bottleneck_link *through)
{
    bool *fed = new_array((size_t)given->ranks, sizeof *fed);
    bool *open = new_array((size_t)given->ranks, sizeof *open); /* it has another source */
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < given->link_count; i++) {
            const struct bottleneck_link *link = &given->links[i];
            bool *of = link == through || fed[link->from] ? fed : NULL;
            if (link->bytes > 0 && of && !of[link->to])
                more = of[link->to] = true;
        }
    }
    bool circle = fed[through->from];
    for (bool more = !circle; more;) {
        more = false;
        for (int i = 0; i < given->link_count; i++) {
            const struct bottleneck_link *link = &given->links[i];
            bool other = link != through && link->bytes > 0 &&
                         (!fed[link->from] || open[link->from]) && fed[link->to];
            if (other && !open[link->to])
                more = open[link->to] = true;
        }
    }
    for (int r = 0; r < given->ranks; r++)
        fed[r] = fed[r] && !open[r];
    free(open);
    if (circle)
        free(fed);
    return circle ? NULL : fed;
}

/* Are the suspects slow, and no other links? `rates`: room for one of each link. `fed`: ranks_fed()
 * of the worst one. */
static bool suspects_confirm(const struct bottleneck_case *given, bool one_node,
                             const struct bottleneck_link *worst, struct bottleneck *bottleneck,
                             const bool *fed, double *rates)
{
    uint64_t longest = bottleneck_own(worst), bytes = 0, time = 0;
    int slow = 0, others = 0;
    bottleneck->links = 0;
    for (int i = 0; i < given->link_count; i++) {
        const struct bottleneck_link *link = &given->links[i];
        if (!link_counts(given, link, one_node))
            continue;
        bool comparable =
            link->bytes >= worst->bytes / BOTTLENECK_COMPARABLE && !(fed && fed[link->from]);
        uint64_t own = bottleneck_own(link);
        if (suspects_hold(given, bottleneck->kind, one_node, worst, link)) {
            bottleneck->links++;
            slow += link->busy >= longest / BOTTLENECK_PRONOUNCED; /* several ranks wait in turn */
            bytes += link->bytes;
            time += own;
        } else if (own >= longest / BOTTLENECK_NEARLY) {
            return false;
        } else if (comparable) {
            rates[others++] = bottleneck_rate(link->bytes, link->busy);
        }
    }
    if (others == 0 || slow * 3 < bottleneck->links * 2)
        return false;
    qsort(rates, (size_t)others, sizeof *rates, compare_doubles);
    bottleneck->rate = bottleneck_rate(bytes, time);
    bottleneck->others = rates[(others - 1) / 2];
    return bottleneck->others >= BOTTLENECK_PRONOUNCED * bottleneck->rate;
}

static const struct bottleneck_link *link_worst(const struct bottleneck_case *given, bool one_node)
{
    const struct bottleneck_link *worst = NULL;
    for (int i = 0; i < given->link_count; i++) {
        const struct bottleneck_link *link = &given->links[i];
        if (link_counts(given, link, one_node) &&
            (!worst || bottleneck_own(link) > bottleneck_own(worst)))
            worst = link;
    }
    return worst;
}

static bool find_links(const struct bottleneck_case *given, struct bottleneck *bottleneck)
{
    bool one_node = is_one_node(given);
    if (!one_node && (slow_hosts_find(given, bottleneck) || slow_cut_find(given, bottleneck)))
        return true;
    const struct bottleneck_link *worst = link_worst(given, one_node);
    uint64_t own = worst ? bottleneck_own(worst) : 0;
    if (given->ranks < 3 || own < BOTTLENECK_LEAST || own < given->time / BOTTLENECK_SHARE)
        return false;
    double *rates = new_array((size_t)given->link_count, sizeof *rates);
    bool *fed = ranks_fed(given, worst), found = false;
    for (enum bottleneck_kind kind = BOTTLENECK_LINK;
         !found && kind <= (one_node ? BOTTLENECK_LINK : BOTTLENECK_PAIR); kind++) {
        bottleneck->kind = kind;
        found = suspects_confirm(given, one_node, worst, bottleneck, fed, rates);
    }
    free(fed);
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
    const struct bottleneck none = {.rank = -1, .from = -1, .to = -1};
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
        result->samples[r] = (struct rank_sample){
            .late_us = (double)summary->late * 1e-3,
            .time_us = summary->duration,
            .core_wait = summary->core_wait_is_known ? fmin(1, summary->core_wait) : -1,
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

/* The name of a host, by its number. */
static const char *node_name(const struct member *members, int ranks, int node)
{
    int r = 0;
    while (r < ranks - 1 && members[r].node != node)
        r++;
    return members[r].host;
}

static void add_hosts(struct text *text, const struct bottleneck *bottleneck,
                      const struct member *members, int ranks)
{
    int shown = bottleneck->host_count < BOTTLENECK_HOSTS_MOST ? bottleneck->host_count
                                                               : BOTTLENECK_HOSTS_MOST;
    for (int i = 0; i < shown; i++) {
        const struct bottleneck_host *host = &bottleneck->hosts[i];
        text_add(text, "%sall links %s host %s",
                 i == 0                            ? ""
                 : i == bottleneck->host_count - 1 ? " and "
                                                   : ", ",
                 host->from && host->to ? "to and from"
                 : host->from           ? "from"
                                        : "to",
                 node_name(members, ranks, host->node));
    }
    if (shown < bottleneck->host_count)
        text_add(text, " and of %d more", bottleneck->host_count - shown);
}

/* All hosts of the smaller part. */
static void add_cut(struct text *text, const struct bottleneck *bottleneck,
                    const struct member *members, int ranks)
{
    text_add(text, "the links between hosts");
    for (int i = 0; i < bottleneck->host_count && i < BOTTLENECK_HOSTS_MOST; i++)
        text_add(text, "%s %s", i ? "," : "", node_name(members, ranks, bottleneck->hosts[i].node));
    if (bottleneck->host_count > BOTTLENECK_HOSTS_MOST)
        text_add(text, ", %d more", bottleneck->host_count - BOTTLENECK_HOSTS_MOST);
    text_add(text, " and all others");
}

static void add_links(struct text *text, const struct bottleneck *bottleneck,
                      const struct member *members, int ranks)
{
    const char *from = members[bottleneck->from].host, *to = members[bottleneck->to].host;
    bool one = bottleneck->links == 1;
    if (bottleneck->kind == BOTTLENECK_HOST)
        add_hosts(text, bottleneck, members, ranks);
    else if (bottleneck->kind == BOTTLENECK_CUT)
        add_cut(text, bottleneck, members, ranks);
    else if (bottleneck->kind == BOTTLENECK_PAIR)
        text_add(text, "the links between host %s and host %s", from, to);
    else if (one)
        text_add(text, "the link from rank %d (%s) to rank %d (%s)", bottleneck->from, from,
                 bottleneck->to, to);
    else
        text_add(text, "the links from host %s to host %s", from, to);
    text_add(text, ": %.1f MB/s, the others' median is %.1f MB/s or more; ",
             bottleneck->rate * 1e-6, bottleneck->others * 1e-6);
    if (bottleneck->kind == BOTTLENECK_HOST || bottleneck->kind == BOTTLENECK_CUT)
        text_add(text, "they were");
    else if (one)
        text_add(text, "it was");
    else
        text_add(text, "that from rank %d to rank %d was", bottleneck->from, bottleneck->to);
    text_add(text, " waited for in %.0f %% of the time", bottleneck->share * 100);
    if (bottleneck->kind == BOTTLENECK_CUT)
        text_add(text, "; look at what they share, such as an uplink");
}

static void bottleneck_text(struct result *result, const struct member *members)
{
    const struct bottleneck *bottleneck = &result->bottleneck;
    struct text text = text_in(result->bottleneck_text, sizeof result->bottleneck_text);
    if (bottleneck->kind == BOTTLENECK_RANK)
        text_add(&text,
                 "rank %d (%s) begins late: %.0f us after the start releases it (median; the "
                 "others at most %.0f us), %.0f %% of the time",
                 bottleneck->rank, members[bottleneck->rank].host, (double)bottleneck->late * 1e-3,
                 (double)bottleneck->next * 1e-3, bottleneck->share * 100);
    else if (bottleneck->kind != BOTTLENECK_NONE)
        add_links(&text, bottleneck, members, result->ranks);
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
    bottleneck_text(result, members);
    free(links);
    free(late);
    free(node);
}

void bottleneck_report_free(struct result *result)
{
    free(result->samples);
    result->samples = NULL;
}
