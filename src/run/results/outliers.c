/*
 * outliers.c - which iterations of a line are outliers, and what the ranks know of them.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"

#define SAMPLES_LEAST 5 /* iterations: of fewer, one is no outlier */
#define TIMES         3 /* the median */
#define QUARTILES     10
#define SHARE         2 /* one part in so many of what is beyond the median has to be the cause's */

/* Above it an iteration is an outlier. */
static uint64_t outlier_limit(const struct outlier_case *given, uint64_t *median)
{
    size_t bytes = given->count * sizeof(uint64_t);
    uint64_t *sorted = given->count >= SAMPLES_LEAST ? malloc(bytes) : NULL;
    if (!sorted)
        return UINT64_MAX;
    memcpy(sorted, given->durations, bytes);
    times_sort(sorted, given->count, given->tick);
    *median = sorted[(given->count - 1) / 2];
    uint64_t above = sorted[(3 * given->count - 1) / 4] - *median, limit = TIMES * *median;
    free(sorted);
    limit = limit > *median + OUTLIER_LEAST ? limit : *median + OUTLIER_LEAST;
    return limit > *median + QUARTILES * above ? limit : *median + QUARTILES * above;
}

/* The evidence of the ranks about one iteration. */
struct account {
    const struct outlier_case *given;
    uint64_t iteration, least; /* ns: of what explains it */
    int *awaited;              /* by rank: which it waited for; -1: none */
    int root;                  /* that all waited for, as common_root() says; -1: none */
    struct outlier *outlier;
    struct text text;
};

static bool incident_counts(const struct account *account, const struct incident *incident,
                            enum incident_kind kind)
{
    return incident->kind == kind && incident->first <= account->iteration &&
           account->iteration <= incident->last &&
           (kind == INCIDENT_RESENT || incident->amount >= account->least);
}

/* A walk over the incidents of the ranks that took part; it begins as {0}. */
struct incident_walk {
    int place, at; /* of the next one: in the group, and of that rank */
    int rank;      /* of the last one */
};

/* The next incident of this kind that counts; NULL: none does. */
static const struct incident *incident_next(const struct account *account, enum incident_kind kind,
                                            struct incident_walk *walk)
{
    const struct outlier_case *given = account->given;
    for (; walk->place < given->group->ranks; walk->place++, walk->at = 0) {
        walk->rank = given->group->members[walk->place];
        const struct rank_summary *summary = &given->summaries->items[walk->rank];
        while (walk->at < summary->incident_count) {
            const struct incident *incident = &summary->incidents[walk->at++];
            if (incident_counts(account, incident, kind))
                return incident;
        }
    }
    return NULL;
}

static void put_rank(struct account *account, int rank)
{
    text_add(&account->text, "rank %d (%s)", rank, account->given->members[rank].host);
}

static void put_time(struct text *text, uint64_t ns)
{
    char time[TIME_TEXT_MOST];
    text_add(text, "%s", time_text((double)ns * 1e-9, time));
}

/* The number of ranks with such an incident; *worst has most of it. */
static int ranks_with(const struct account *account, enum incident_kind kind, int *worst,
                      uint64_t *most)
{
    const struct incident *incident;
    struct incident_walk walk = {0};
    int count = 0, last = -1;
    *most = 0;
    while ((incident = incident_next(account, kind, &walk))) {
        count += walk.rank != last;
        last = walk.rank;
        if (incident->amount > *most) {
            *worst = walk.rank;
            *most = incident->amount;
        }
    }
    return count;
}

static bool explain_stopped(struct account *account)
{
    uint64_t most;
    int rank, count = ranks_with(account, INCIDENT_STOPPED, &rank, &most);
    if (count == 0)
        return false;
    put_rank(account, rank);
    text_add(&account->text, " did not run for ");
    put_time(&account->text, most);
    if (count > 1)
        text_add(&account->text, ", nor did %d other rank%s", count - 1, plural(count - 1));
    account->outlier->rank = rank;
    return true;
}

static bool explain_late(struct account *account)
{
    uint64_t most;
    int rank, count = ranks_with(account, INCIDENT_LATE, &rank, &most);
    if (count == 0)
        return false;
    put_rank(account, rank);
    text_add(&account->text, " began it ");
    put_time(&account->text, most);
    text_add(&account->text, " late");
    if (count > 1)
        text_add(&account->text, ", and %d other rank%s likewise", count - 1, plural(count - 1));
    account->outlier->rank = rank;
    return true;
}

/* The end of the way from rank to rank that begins at `rank`, where each waits for the next; of two
 * that wait for each other the lower one; -1: a larger circle. */
static int wait_root(const int *awaited, int ranks, int rank)
{
    for (int hops = 0; hops <= ranks; hops++, rank = awaited[rank]) {
        if (awaited[rank] < 0)
            return rank;
        if (awaited[awaited[rank]] == rank)
            return rank < awaited[rank] ? rank : awaited[rank];
    }
    return -1;
}

/* All that waited did so, at the end, for the same rank or for the same two. */
static int common_root(const int *awaited, int ranks)
{
    int root = -1;
    for (int r = 0; r < ranks; r++) {
        int own = awaited[r] < 0 ? -1 : wait_root(awaited, ranks, r);
        if (awaited[r] >= 0 && (own < 0 || (root >= 0 && own != root)))
            return -1;
        root = own >= 0 ? own : root;
    }
    return root;
}

/* Sets account->awaited, which the caller frees, and account->root. */
static void waits_gather(struct account *account)
{
    const struct incident *incident;
    struct incident_walk walk = {0};
    int ranks = account->given->summaries->count;
    account->awaited = new_array((size_t)ranks, sizeof *account->awaited);
    memset(account->awaited, -1, (size_t)ranks * sizeof *account->awaited);
    while ((incident = incident_next(account, INCIDENT_AWAITED, &walk)))
        account->awaited[walk.rank] = incident->peer;
    account->root = common_root(account->awaited, ranks);
}

/* Did all wait for this rank, or did it wait for the rank that all waited for? */
static bool is_awaited(const struct account *account, int rank)
{
    int root = account->root;
    return root >= 0 &&
           (rank == root || account->awaited[rank] == root || account->awaited[root] == rank);
}

/* The connections that sent packets again meanwhile. */
struct resent {
    uint64_t packets;
    int connections;
    int from, to; /* the first */
    int hosts[2]; /* those that all of them have an end at; -1: not this one */
};

static void resent_add(struct resent *resent, const struct member *members, int from, int to,
                       uint64_t packets)
{
    int ends[2] = {members[from].node, members[to].node};
    if (resent->connections++ == 0)
        *resent =
            (struct resent){.connections = 1, .from = from, .to = to, .hosts = {ends[0], ends[1]}};
    for (int i = 0; i < 2; i++)
        if (resent->hosts[i] != ends[0] && resent->hosts[i] != ends[1])
            resent->hosts[i] = -1;
    resent->packets += packets;
}

/* The packets of all connections, or only of the connections that may have caused the common wait:
 * they end at the rank that was waited for, or at a rank that waited for it. */
static struct resent resent_gather(const struct account *account, bool all)
{
    const struct incident *incident;
    struct resent resent = {.connections = 0};
    struct incident_walk walk = {0};
    while ((incident = incident_next(account, INCIDENT_RESENT, &walk)))
        if (all || is_awaited(account, walk.rank) || is_awaited(account, incident->peer))
            resent_add(&resent, account->given->members, walk.rank, incident->peer,
                       incident->amount);
    return resent;
}

static void put_resent(struct account *account, const struct resent *resent)
{
    const struct member *members = account->given->members;
    unsigned long long packets = resent->packets;
    struct text *text = &account->text;
    text_add(text, "meanwhile %llu packet%s ", packets, plural((long long)packets));
    bool a = resent->hosts[0] >= 0, b = resent->hosts[1] >= 0;
    if (resent->connections == 1) {
        text_add(text, "from ");
        put_rank(account, resent->from);
        text_add(text, " to ");
        put_rank(account, resent->to);
    } else if (a && b) {
        text_add(text, "between hosts %s and %s", members[resent->from].host,
                 members[resent->to].host);
    } else if (a || b) {
        text_add(text, "from and to host %s", members[a ? resent->from : resent->to].host);
    } else {
        text_add(text, "of %d connections", resent->connections);
    }
    text_add(text, " %s sent again", packets == 1 ? "was" : "were");
}

static bool explain_resent(struct account *account)
{
    const struct resent resent = resent_gather(account, account->root < 0);
    if (resent.connections == 0)
        return false;
    put_resent(account, &resent);
    if (resent.connections == 1) {
        account->outlier->rank = resent.from;
        account->outlier->peer = resent.to;
    }
    return true;
}

static bool explain_awaited(struct account *account)
{
    const int *awaited = account->awaited;
    int root = account->root, waiters = 0, waiter = -1;
    if (root < 0)
        return false;
    for (int r = 0; r < account->given->summaries->count; r++)
        if (awaited[r] == root) {
            waiter = r;
            waiters++;
        }
    if (awaited[root] >= 0) /* of two that wait for each other */
        waiter = awaited[root];
    account->outlier->rank = root;
    if (awaited[root] >= 0 || waiters == 1) {
        account->outlier->peer = waiter;
        put_rank(account, waiter);
        text_add(&account->text, " waited for ");
        put_rank(account, root);
        text_add(&account->text, ", or for the network between them");
    } else {
        text_add(&account->text, "%d ranks waited for ", waiters);
        put_rank(account, root);
        text_add(&account->text, ", or for its network");
    }
    text_add(&account->text, ": why is not known");
    const struct resent elsewhere = resent_gather(account, true);
    if (elsewhere.connections > 0) {
        text_add(&account->text, "; ");
        put_resent(account, &elsewhere);
    }
    return true;
}

/* Whatever is more certain comes first. */
static const struct {
    enum outlier_cause cause;
    bool (*explain)(struct account *account);
} causes[] = {
    {OUTLIER_STOPPED, explain_stopped},
    {OUTLIER_LATE, explain_late},
    {OUTLIER_RESENT, explain_resent},
    {OUTLIER_AWAITED, explain_awaited},
};

static void outlier_explain(const struct outlier_case *given, uint64_t median,
                            struct outlier *outlier)
{
    uint64_t duration = given->durations[outlier->iteration];
    struct account account = {.given = given,
                              .iteration = (uint64_t)outlier->iteration,
                              .least = (duration - median) / SHARE,
                              .outlier = outlier,
                              .text = text_in(outlier->text, sizeof outlier->text)};
    text_add(&account.text, "iteration %ld took ", outlier->iteration);
    put_time(&account.text, duration);
    text_add(&account.text, ", the median is ");
    put_time(&account.text, median);
    text_add(&account.text, ": ");
    waits_gather(&account);
    size_t i = 0, count = sizeof causes / sizeof *causes;
    while (i < count && !causes[i].explain(&account))
        i++;
    free(account.awaited);
    outlier->cause = i < count ? causes[i].cause : OUTLIER_UNKNOWN;
    if (i == count)
        text_add(&account.text, "why is not known");
}

/* Keeps the longest, in order. */
static void outlier_keep(struct result *result, const struct outlier *outlier)
{
    long kept = result->outlier_count < OUTLIERS_MOST ? result->outlier_count : OUTLIERS_MOST;
    long at = kept;
    result->outlier_count++;
    while (at > 0 && result->outliers[at - 1].time_us < outlier->time_us)
        at--;
    if (at == OUTLIERS_MOST)
        return;
    long behind = (kept < OUTLIERS_MOST ? kept : OUTLIERS_MOST - 1) - at;
    memmove(&result->outliers[at + 1], &result->outliers[at],
            (size_t)behind * sizeof *result->outliers);
    result->outliers[at] = *outlier;
}

void outliers_find(const struct outlier_case *given, struct result *result)
{
    uint64_t median = 0, limit = outlier_limit(given, &median);
    for (size_t i = 0; i < given->count; i++)
        if (given->durations[i] > limit)
            outlier_keep(result, &(struct outlier){.iteration = (long)i,
                                                   .time_us = (double)given->durations[i] * 1e-3,
                                                   .rank = -1,
                                                   .peer = -1});
    for (int i = 0; i < OUTLIERS_MOST && i < result->outlier_count; i++)
        outlier_explain(given, median, &result->outliers[i]);
}
