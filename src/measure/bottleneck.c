/*
 * bottleneck.c - who is to blame, from what was counted at both ends of all links.
 *
 * The link whose own time is longest is the suspect. If it accounts for a third of the time, the
 * suspicion is widened from it to its host's links, step by step, until all links that are nearly
 * as slow are among the suspects. It is confirmed if the links that are left, and that had as much
 * to carry, reach three times the rate.
 */
#include "measure/bottleneck.h"

#include <stdbool.h>
#include <stdlib.h>

#include "measure/statistics.h"

#define TICK       4000000u  /* ns: the kernel counts in jiffies, of 4 ms as a rule */
#define LEAST      40000000u /* ns: a link's own time, below which its ticks say too little */
#define SHARE      3         /* one part in so many of the time has to be the suspect's */
#define PRONOUNCED 3         /* times slower than the others */
#define COMPARABLE 4         /* one part in so many of the suspect's bytes */
#define NEARLY     2         /* one part in so many of the suspect's own time is nearly as slow */

static uint64_t link_own(const struct culprit_link *link)
{
    return link->busy < link->starved ? link->busy : link->starved;
}

/* Between hosts; where there is one host only, between its ranks. */
static bool link_counts(const struct culprit_case *given, const struct culprit_link *link,
                        bool one_node)
{
    return link->bytes > 0 && (one_node || given->node[link->from] != given->node[link->to]);
}

static bool is_one_node(const struct culprit_case *given)
{
    for (int r = 1; r < given->ranks; r++)
        if (given->node[r] != given->node[0])
            return false;
    return true;
}

/* Does the suspicion of this kind, which began with `worst`, take in `link`? */
static bool suspects_hold(const struct culprit_case *given, enum culprit_kind kind, int node,
                          bool one_node, const struct culprit_link *worst,
                          const struct culprit_link *link)
{
    if (one_node)
        return link == worst;
    int from = given->node[link->from], to = given->node[link->to];
    int a = given->node[worst->from], b = given->node[worst->to];
    switch (kind) {
    case CULPRIT_LINK:
        return from == a && to == b;
    case CULPRIT_PAIR:
        return (from == a && to == b) || (from == b && to == a);
    case CULPRIT_FROM:
        return from == node;
    case CULPRIT_TO:
        return to == node;
    default:
        return from == node || to == node;
    }
}

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Bytes per second. */
static double rate_of(uint64_t bytes, uint64_t ns)
{
    return (double)bytes * 1e9 / (double)(ns > TICK ? ns : TICK);
}

/* Is it those that the suspicion takes in, and only those? `rates`: room for one of each link. */
static bool suspects_confirm(const struct culprit_case *given, bool one_node,
                             const struct culprit_link *worst, struct culprit *culprit,
                             double *rates)
{
    uint64_t longest = link_own(worst), bytes = 0, time = 0;
    int slow = 0, others = 0;
    culprit->links = 0;
    for (int i = 0; i < given->link_count; i++) {
        const struct culprit_link *link = &given->links[i];
        if (!link_counts(given, link, one_node))
            continue;
        bool comparable = link->bytes >= worst->bytes / COMPARABLE;
        uint64_t own = link_own(link);
        if (suspects_hold(given, culprit->kind, culprit->node, one_node, worst, link)) {
            culprit->links++;
            slow += own >= longest / PRONOUNCED;
            bytes += link->bytes;
            time += own;
        } else if (own >= longest / NEARLY) {
            return false;
        } else if (comparable) {
            rates[others++] = rate_of(link->bytes, link->busy);
        }
    }
    if (others == 0 || slow * 3 < culprit->links * 2)
        return false;
    qsort(rates, (size_t)others, sizeof *rates, compare_rates);
    culprit->rate = rate_of(bytes, time);
    culprit->others = rates[(others - 1) / 2];
    return culprit->others >= PRONOUNCED * culprit->rate;
}

/* Do all bytes to or from a host have no more to share its links with than those of another host?
 * Of an algorithm's root that is not so, and its links are slower for it. */
static bool node_is_comparable(const struct culprit_case *given, int node, bool sends)
{
    uint64_t mine = 0, most = 0;
    uint64_t *bytes = calloc((size_t)given->ranks, sizeof *bytes); /* of each node */
    for (int i = 0; bytes && i < given->link_count; i++) {
        const struct culprit_link *link = &given->links[i];
        if (link_counts(given, link, false))
            bytes[given->node[sends ? link->from : link->to]] += link->bytes;
    }
    for (int n = 0; bytes && n < given->ranks; n++) {
        if (n == node)
            mine = bytes[n];
        else if (bytes[n] > most)
            most = bytes[n];
    }
    bool known = bytes != NULL;
    free(bytes);
    return known && mine <= most + most / 2;
}

static bool step_is_fair(const struct culprit_case *given, enum culprit_kind kind, int node)
{
    return node < 0 || ((kind == CULPRIT_TO || node_is_comparable(given, node, true)) &&
                        (kind == CULPRIT_FROM || node_is_comparable(given, node, false)));
}

static const struct culprit_link *link_worst(const struct culprit_case *given, bool one_node)
{
    const struct culprit_link *worst = NULL;
    for (int i = 0; i < given->link_count; i++) {
        const struct culprit_link *link = &given->links[i];
        if (link_counts(given, link, one_node) && (!worst || link_own(link) > link_own(worst)))
            worst = link;
    }
    return worst;
}

static bool find_links(const struct culprit_case *given, struct culprit *culprit)
{
    bool one_node = is_one_node(given);
    const struct culprit_link *worst = link_worst(given, one_node);
    uint64_t own = worst ? link_own(worst) : 0;
    if (given->ranks < 3 || own < LEAST || own < given->time / SHARE)
        return false;
    double *rates = malloc((size_t)given->link_count * sizeof *rates);
    const int from = given->node[worst->from], to = given->node[worst->to];
    const struct {
        enum culprit_kind kind;
        int node;
    } steps[] = {{CULPRIT_LINK, -1}, {CULPRIT_PAIR, -1},   {CULPRIT_FROM, from},
                 {CULPRIT_TO, to},   {CULPRIT_HOST, from}, {CULPRIT_HOST, to}};
    bool found = false;
    for (int i = 0; rates && !found && i < (one_node ? 1 : 6); i++) {
        culprit->kind = steps[i].kind;
        culprit->node = steps[i].node;
        found = step_is_fair(given, culprit->kind, culprit->node) &&
                suspects_confirm(given, one_node, worst, culprit, rates);
    }
    free(rates);
    culprit->from = worst->from;
    culprit->to = worst->to;
    culprit->share = given->time > own ? (double)own / (double)given->time : 1;
    return found;
}

static bool find_rank(const struct culprit_case *given, struct culprit *culprit)
{
    culprit->rank = measure_late_rank(given->late, given->ranks, given->duration);
    if (culprit->rank < 0)
        return false;
    culprit->kind = CULPRIT_RANK;
    culprit->late = given->late[culprit->rank];
    for (int r = 0; r < given->ranks; r++)
        if (r != culprit->rank && given->late[r] > culprit->next)
            culprit->next = given->late[r];
    culprit->share =
        given->duration > culprit->late ? (double)culprit->late / (double)given->duration : 1;
    return true;
}

void culprit_find(const struct culprit_case *given, struct culprit *culprit)
{
    const struct culprit nobody = {.rank = -1, .from = -1, .to = -1, .node = -1};
    struct culprit rank = nobody, links = nobody;
    bool is_rank = find_rank(given, &rank), is_link = find_links(given, &links);
    *culprit = is_link && !(is_rank && rank.share >= links.share) ? links : is_rank ? rank : nobody;
}
