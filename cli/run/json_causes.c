/*
 * json_causes.c - the causes of a line's times and of its wrong data in JSON: ranks, links and
 * hosts that account for them, the samples of each rank, and the places of faults.
 */
#include "cli/run/internal.h"

#include <math.h>

/*
 * The ranks, links and hosts behind the time. The context is the document.
 */
struct named_rank {
    int rank;
};

/* The host of a rank, as the document's "ranks" has it. */
static const char *host_of(const json_t *document, int rank)
{
    const json_t *member = json_array_get(json_object_get(document, "ranks"), (size_t)rank);
    return word_of(member, "host");
}

static json_t *named_host_make(const void *named, const void *document)
{
    return json_string(host_of(document, ((const struct named_rank *)named)->rank));
}

const struct json_field rank_and_host_fields[] = {
    {"rank", "rank", NULL, JSON_MEMBER(struct named_rank, rank)},
    {"host", "name", "name of its host", JSON_MADE(named_host_make)},
    {0},
};

static json_t *rank_or_null(int rank, const void *document)
{
    return object_or_null(rank >= 0, rank_and_host_fields, &(struct named_rank){rank}, document);
}

/* A bottleneck as JSON has it. */
struct bottleneck_line {
    const char *kind, *words, *host, *direction;
    double share, late_us, rate, others;
    int rank, links;
    const struct bottleneck *bottleneck;
    bool has_hosts, has_link;
};

static const char *host_direction(const struct bottleneck_host *host)
{
    return host->from && host->to ? "both" : host->from ? "from" : "to";
}

/* The name of the host with this number. */
static const char *node_name(const json_t *document, int node)
{
    const json_t *ranks = json_object_get(document, "ranks");
    const char *name = "";
    for (size_t r = 0; r < json_array_size(ranks); r++)
        if (whole_of(json_array_get(ranks, r), "node") == node)
            name = word_of(json_array_get(ranks, r), "host");
    return name;
}

static json_t *slow_host_make(const void *host, const void *document)
{
    return json_string(node_name(document, ((const struct bottleneck_host *)host)->node));
}

static json_t *slow_direction_make(const void *host, const void *document)
{
    (void)document;
    return json_string(host_direction(host));
}

const struct json_field slow_host_fields[] = {
    {"host", "name", "name of the host", JSON_MADE(slow_host_make)},
    {"direction", "from|to|both", "direction of its slow links: from the host, to it, or both",
     JSON_MADE(slow_direction_make)},
    {0},
};

static json_t *slow_hosts_make(const void *object, const void *document)
{
    const struct bottleneck_line *line = object;
    const struct bottleneck *bottleneck = line->bottleneck;
    int count = bottleneck->host_count < BOTTLENECK_HOSTS_MOST ? bottleneck->host_count
                                                               : BOTTLENECK_HOSTS_MOST;
    return line->has_hosts ? json_list_of(slow_host_fields, bottleneck->hosts,
                                          sizeof *bottleneck->hosts, (size_t)count, document)
                           : NULL;
}

static json_t *slow_from_make(const void *object, const void *document)
{
    const struct bottleneck_line *line = object;
    return line->has_link ? rank_or_null(line->bottleneck->from, document) : NULL;
}

static json_t *slow_to_make(const void *object, const void *document)
{
    const struct bottleneck_line *line = object;
    return line->has_link ? rank_or_null(line->bottleneck->to, document) : NULL;
}

const struct json_field bottleneck_fields[] = {
    {"kind", "rank|link|host|cut?",
     "a late rank, a link or all between two hosts, all links of hosts, a cut between two parts; "
     "null: none",
     JSON_MEMBER(struct bottleneck_line, kind)},
    {"words", "name", "the sentence", JSON_OPTIONAL, JSON_MEMBER(struct bottleneck_line, words)},
    {"share", "share", "fraction of the time in which it was waited for", JSON_OPTIONAL,
     JSON_MEMBER(struct bottleneck_line, share)},
    {"rank", "rank", NULL, JSON_OPTIONAL, JSON_MEMBER(struct bottleneck_line, rank)},
    {"host", "name", "host of that rank; of slow hosts the slowest", JSON_OPTIONAL,
     JSON_MEMBER(struct bottleneck_line, host)},
    {"late_us", "microseconds", "microseconds", JSON_OPTIONAL,
     JSON_MEMBER(struct bottleneck_line, late_us)},
    {"hosts", "[slow_host]{1,8}",
     "all hosts whose links are slow, the slowest first; of a cut those of the smaller part; up to "
     "eight",
     JSON_OPTIONAL, JSON_MADE(slow_hosts_make)},
    {"direction", "from|to|both", "of the links; of several hosts those of the slowest",
     JSON_OPTIONAL, JSON_MEMBER(struct bottleneck_line, direction)},
    {"from", "rank_and_host", "the sender of the link that was waited for longest", JSON_OPTIONAL,
     JSON_MADE(slow_from_make)},
    {"to", "rank_and_host", "its receiver", JSON_OPTIONAL, JSON_MADE(slow_to_make)},
    {"links", "positive", "how many are slow", JSON_OPTIONAL,
     JSON_MEMBER(struct bottleneck_line, links)},
    {"GBps", "rate", "rate of that link", JSON_OPTIONAL,
     JSON_SCALED(struct bottleneck_line, rate, 1e-9)},
    {"others_GBps", "rate", "median rate of the others", JSON_OPTIONAL,
     JSON_SCALED(struct bottleneck_line, others, 1e-9)},
    {0},
};

json_t *line_bottleneck(const void *object, const void *document)
{
    static const char *const kinds[] = {
        [BOTTLENECK_NONE] = NULL,   [BOTTLENECK_RANK] = "rank", [BOTTLENECK_LINK] = "link",
        [BOTTLENECK_PAIR] = "link", [BOTTLENECK_HOST] = "host", [BOTTLENECK_CUT] = "cut"};
    static const char *const directions[] = {
        [BOTTLENECK_LINK] = "from", [BOTTLENECK_PAIR] = "both", [BOTTLENECK_CUT] = "both"};
    const struct result *result = object;
    const struct bottleneck *bottleneck = &result->bottleneck;
    enum bottleneck_kind kind = bottleneck->kind;
    bool is_rank = kind == BOTTLENECK_RANK, is_host = kind == BOTTLENECK_HOST,
         has_link = kind != BOTTLENECK_NONE && !is_rank;
    const struct bottleneck_line line = {
        .kind = kinds[kind],
        .words = kind ? result->bottleneck_text : NULL,
        .host = is_rank   ? host_of(document, bottleneck->rank)
                : is_host ? node_name(document, bottleneck->hosts[0].node)
                          : NULL,
        .direction = is_host    ? host_direction(&bottleneck->hosts[0])
                     : has_link ? directions[kind]
                                : NULL,
        .share = kind ? bottleneck->share : NAN,
        .late_us = is_rank ? (double)bottleneck->late * 1e-3 : NAN,
        .rate = has_link ? bottleneck->rate : NAN,
        .others = has_link ? bottleneck->others : NAN,
        .rank = is_rank ? bottleneck->rank : NONE,
        .links = has_link ? bottleneck->links : NONE,
        .bottleneck = bottleneck,
        .has_hosts = is_host || kind == BOTTLENECK_CUT,
        .has_link = has_link,
    };
    return json_object_of(bottleneck_fields, &line, document);
}

static const char *const loss_kinds[] = {
    [LOSS_LINK] = "link", [LOSS_PAIR_FROM] = "hosts", [LOSS_PAIR] = "hosts", [LOSS_FROM] = "host",
    [LOSS_TO] = "host",   [LOSS_HOST] = "host",       [LOSS_ALL] = "all"};
static const char *const loss_directions[] = {
    [LOSS_LINK] = "from", [LOSS_PAIR_FROM] = "from", [LOSS_PAIR] = "both", [LOSS_FROM] = "from",
    [LOSS_TO] = "to",     [LOSS_HOST] = "both",      [LOSS_ALL] = "both"};

static json_t *loss_host_make(const void *loss, const void *document)
{
    int rank = ((const struct loss *)loss)->host;
    return rank < 0 ? json_null() : json_string(host_of(document, rank));
}

static json_t *loss_from_make(const void *loss, const void *document)
{
    return rank_or_null(((const struct loss *)loss)->from, document);
}

static json_t *loss_to_make(const void *loss, const void *document)
{
    return rank_or_null(((const struct loss *)loss)->to, document);
}

const struct json_field loss_fields[] = {
    {"kind", "link|hosts|host|all",
     "one connection, those between two hosts, those of a host, or all alike",
     JSON_WORDS(struct loss, kind, loss_kinds)},
    {"direction", "from|to|both", "direction of the packets, seen from the host or sender",
     JSON_WORDS(struct loss, kind, loss_directions)},
    {"words", "name", "the sentence", JSON_MEMBER(struct loss, text)},
    {"packets", "count", "with data, that were sent over them, again or not",
     JSON_MEMBER(struct loss, packets)},
    {"resent", "count", "of them, those that were sent again", JSON_MEMBER(struct loss, resent)},
    {"host", "name?", "name of the host, for kind host; else null", JSON_MADE(loss_host_make)},
    {"from", "rank_and_host?",
     "of one connection its sender, of two hosts a rank of the first, else null",
     JSON_MADE(loss_from_make)},
    {"to", "rank_and_host?", "its receiver, or a rank of the second host, else null",
     JSON_MADE(loss_to_make)},
    {0},
};

static json_t *delay_host_make(const void *delay, const void *document)
{
    return json_string(host_of(document, ((const struct delay *)delay)->rank));
}

const struct json_field delay_fields[] = {
    {"host", "name", "name of the far host", JSON_MADE(delay_host_make)},
    {"round_trip_us", "microseconds", "microseconds of a round trip, at least",
     JSON_SCALED(struct delay, ns, 1e-3)},
    {"others_us", "microseconds", "the median of those among the other hosts",
     JSON_SCALED(struct delay, others_ns, 1e-3)},
    {"words", "name", "the sentence", JSON_MEMBER(struct delay, text)},
    {0},
};

static json_t *outlier_rank_make(const void *outlier, const void *document)
{
    return rank_or_null(((const struct outlier *)outlier)->rank, document);
}

static json_t *outlier_peer_make(const void *outlier, const void *document)
{
    return rank_or_null(((const struct outlier *)outlier)->peer, document);
}

static const char *const outlier_causes[] = {[OUTLIER_UNKNOWN] = NULL,
                                             [OUTLIER_STOPPED] = "stopped",
                                             [OUTLIER_LATE] = "late",
                                             [OUTLIER_RESENT] = "resent",
                                             [OUTLIER_AWAITED] = "awaited"};

const struct json_field outlier_fields[] = {
    {"iteration", "count", "of the timed ones, from 0", JSON_MEMBER(struct outlier, iteration)},
    {"time_us", "microseconds", "from release to end, there and back where an iteration goes so",
     JSON_MEMBER(struct outlier, time_us)},
    {"cause", "stopped|late|resent|awaited?",
     "a rank did not run, or began late; packets were sent again; a rank was awaited; null: not "
     "known",
     JSON_WORDS(struct outlier, cause, outlier_causes)},
    {"words", "name", "the sentence", JSON_MEMBER(struct outlier, text)},
    {"rank", "rank_and_host?", "that the cause names; of packets their sender; null: no single one",
     JSON_MADE(outlier_rank_make)},
    {"peer", "rank_and_host?", "the other end, or null", JSON_MADE(outlier_peer_make)},
    {0},
};

/* The reported ones: the first of an array of `most`. */
#define REPORTED(fields, items, count, most, context)                                              \
    json_list_of(fields, items, sizeof *(items), (size_t)((count) < (most) ? (count) : (most)),    \
                 context)

json_t *line_losses(const void *object, const void *document)
{
    const struct result *result = object;
    return REPORTED(loss_fields, result->losses, result->loss_count, LOSSES_MOST, document);
}

json_t *line_delays(const void *object, const void *document)
{
    const struct result *result = object;
    return REPORTED(delay_fields, result->delays, result->delay_count, DELAYS_MOST, document);
}

static json_t *longest_make(const void *object, const void *document)
{
    const struct result *result = object;
    return REPORTED(outlier_fields, result->outliers, result->outlier_count, OUTLIERS_MOST,
                    document);
}

const struct json_field outliers_fields[] = {
    {"count", "count", "number of these iterations", JSON_MEMBER(struct result, outlier_count)},
    {"longest", "[outlier]{0,3}", "of them", JSON_MADE(longest_make)},
    {0},
};

json_t *line_outliers(const void *result, const void *document)
{
    return json_object_of(outliers_fields, result, document);
}

/*
 * The samples of ranks.
 */
#define PEERS_MOST 4096 /* in one line of the table, over all ranks */

/* The link of a rank to a peer; what its transport does not count is below 0 or no number. */
struct peer_line {
    int peer;
    uint64_t sent, received;
    double on_the_way_us, awaited_us, round_trip_us;
    long packets, resent;
    const struct peer_stats *stats;
};

static json_t *peer_rate_make(const void *peer, const void *context)
{
    const struct peer_stats *stats = ((const struct peer_line *)peer)->stats;
    (void)context;
    if (!stats->counted)
        return NULL;
    return stats->busy ? json_real((double)stats->sent / (double)stats->busy) : json_null();
}

const struct json_field peer_fields[] = {
    {"peer", "rank", NULL, JSON_MEMBER(struct peer_line, peer)},
    {"sent", "count", "bytes in the timed iterations", JSON_MEMBER(struct peer_line, sent)},
    {"received", "count", "bytes in the timed iterations", JSON_MEMBER(struct peer_line, received)},
    {"on_the_way_us", "microseconds",
     "microseconds in which bytes to it were on their way; where the transport counts them",
     JSON_OPTIONAL, JSON_MEMBER(struct peer_line, on_the_way_us)},
    {"awaited_us", "microseconds", "microseconds in which bytes from it were awaited",
     JSON_OPTIONAL, JSON_MEMBER(struct peer_line, awaited_us)},
    {"packets", "count",
     "packets with data that were sent, again or not, those of the start barrier too; where the "
     "transport counts them; 0: not known",
     JSON_OPTIONAL, JSON_MEMBER(struct peer_line, packets)},
    {"resent", "count", "of them, those that were sent again", JSON_OPTIONAL,
     JSON_MEMBER(struct peer_line, resent)},
    {"round_trip_us", "microseconds", "the shortest round trip in microseconds; 0: not known",
     JSON_OPTIONAL, JSON_MEMBER(struct peer_line, round_trip_us)},
    {"GBps", "amount?", "10^9 bytes a second while bytes were on their way; null: none were",
     JSON_OPTIONAL, JSON_MADE(peer_rate_make)},
    {0},
};

static json_t *peer_json(const struct peer_stats *stats)
{
    bool has_times = stats->counted, has_packets = stats->counted || stats->packets > 0;
    const struct peer_line line = {
        .peer = stats->peer,
        .sent = stats->sent,
        .received = stats->received,
        .on_the_way_us = has_times ? (double)stats->busy * 1e-3 : NAN,
        .awaited_us = has_times ? (double)stats->starved * 1e-3 : NAN,
        .round_trip_us = has_times ? (double)stats->least_ns * 1e-3 : NAN,
        .packets = has_packets ? (long)stats->packets : NONE,
        .resent = has_packets ? (long)stats->resent : NONE,
        .stats = stats,
    };
    return json_object_of(peer_fields, &line, NULL);
}

/* The samples of a line; the context of each. */
struct samples {
    const struct rank_sample *first;
    int peers; /* of each rank that are shown; 0: none are asked for */
};

static json_t *sample_rank_make(const void *sample, const void *samples)
{
    const struct rank_sample *first = ((const struct samples *)samples)->first;
    return json_integer((const struct rank_sample *)sample - first);
}

static json_t *core_wait_make(const void *sample, const void *samples)
{
    double share = ((const struct rank_sample *)sample)->core_wait;
    (void)samples;
    return share < 0 ? json_null() : json_real(share);
}

static json_t *peers_make(const void *object, const void *samples)
{
    const struct rank_sample *sample = object;
    int most = ((const struct samples *)samples)->peers;
    if (most == 0)
        return NULL;
    json_t *peers = json_array();
    for (int i = 0; i < sample->peers && i < most; i++)
        json_array_append_new(peers, peer_json(&sample->peer[i]));
    return peers;
}

const struct json_field sample_fields[] = {
    {"rank", "rank", NULL, JSON_MADE(sample_rank_make)},
    {"late_us", "microseconds", "from the release to its beginning",
     JSON_MEMBER(struct rank_sample, late_us)},
    {"p50_us", "microseconds", "from the release to its end",
     JSON_MEMBER(struct rank_sample, time_us)},
    {"core_wait_share", "fraction?",
     "share of an iteration in which it had bytes to move and others had its core, mean over the "
     "timed ones; null: most of them follow one of less than 1 ms, a device or a vendor's library "
     "ran them, or the kernel does not tell",
     JSON_MADE(core_wait_make)},
    {"peers", "[peer]", "with -v: its links", JSON_OPTIONAL, JSON_MADE(peers_make)},
    {0},
};

/* Empty: nothing was timed. */
json_t *line_samples(const void *object, const void *document)
{
    const struct table_line *line = object;
    const struct result *result = &line->result;
    int most = result->ranks < PEERS_MOST ? PEERS_MOST / result->ranks : 1;
    const struct samples samples = {.first = result->samples,
                                    .peers = line->job->bootstrap.verbosity >= 1 ? most : 0};
    (void)document;
    return json_list_of(sample_fields, result->samples, sizeof *result->samples,
                        result->samples ? (size_t)result->ranks : 0, &samples);
}

static json_t *profile_rank_make(const void *profile, const void *first)
{
    return json_integer((const struct rank_profile *)profile - (const struct rank_profile *)first);
}

const struct json_field profile_fields[] = {
    {"rank", "rank", NULL, JSON_MADE(profile_rank_make)},
    {"copying", "share", NULL, JSON_MEMBER(struct rank_profile, share[PROFILE_COPY])},
    {"reducing", "share", NULL, JSON_MEMBER(struct rank_profile, share[PROFILE_REDUCE])},
    {"waiting_peer", "share", NULL, JSON_MEMBER(struct rank_profile, share[PROFILE_PEER])},
    {"waiting_credit", "share", NULL, JSON_MEMBER(struct rank_profile, share[PROFILE_CREDIT])},
    {"bookkeeping", "share", NULL, JSON_MEMBER(struct rank_profile, share[PROFILE_BOOKKEEPING])},
    {"p50_us", "microseconds", "its own, from release to end",
     JSON_MEMBER(struct rank_profile, time_us)},
    {0},
};

json_t *line_profile(const void *object, const void *document)
{
    const struct result *result = object;
    (void)document;
    return result->profile ? json_list_of(profile_fields, result->profile, sizeof *result->profile,
                                          (size_t)result->ranks, result->profile)
                           : NULL;
}

/*
 * The places in which wrong data may have its cause.
 */
static json_t *place_kind_make(const void *place, const void *context)
{
    (void)context;
    return json_string(((const struct place *)place)->kind == PLACE_MESSAGE ? "message" : "rank");
}

static json_t *place_ranks_make(const void *object, const void *context)
{
    const struct place *place = object;
    (void)context;
    return place->kind == PLACE_MESSAGE ? json_pack("[i, i]", place->from, place->rank)
                                        : json_pack("[i]", place->rank);
}

const struct json_field fault_place_fields[] = {
    {"kind", "message|rank",
     "message: the link that carried it, or the memory of its ends; rank: its own work on the "
     "value, or its memory",
     JSON_MADE(place_kind_make)},
    {"ranks", "[rank]{1,2}", "of a message: the sender and the receiver",
     JSON_MADE(place_ranks_make)},
    {"step", "count?", "null: none, or several", JSON_MEMBER(struct place, step)},
    {"flipped_bit", "boolean", "does one flipped bit explain it there?",
     JSON_MEMBER(struct place, flips)},
    {0},
};

static json_t *fault_ranks_make(const void *object, const void *context)
{
    const struct traced_fault *fault = object;
    json_t *ranks = json_array();
    (void)context;
    for (int r = 0; r < fault->rank_count; r++)
        json_array_append_new(ranks, json_integer(fault->ranks[r]));
    return ranks;
}

static json_t *fault_kind_make(const void *fault, const void *context)
{
    (void)context;
    return json_string(((const struct traced_fault *)fault)->places.lost ? "lost" : "altered");
}

static json_t *fault_places_make(const void *fault, const void *context)
{
    const struct place_list *places = &((const struct traced_fault *)fault)->places;
    return REPORTED(fault_place_fields, places->of, places->count, PLACES_MOST, context);
}

const struct json_field fault_fields[] = {
    {"ranks", "[rank]{1,0}", "that have wrong data of it", JSON_MADE(fault_ranks_make)},
    {"what", "altered|lost", "a value was altered, or a message lost", JSON_MADE(fault_kind_make)},
    {"elements", "count", "wrong elements that were followed back",
     JSON_MEMBER(struct traced_fault, places.elements)},
    {"explained", "count", "of which one place explains each",
     JSON_MEMBER(struct traced_fault, places.explained)},
    {"place_count", "count", "places that explain all of these; 0: none does",
     JSON_MEMBER(struct traced_fault, places.count)},
    {"places", "[fault_place]{0,32}",
     "the first 32 of them, one of which has the fault; those where one flipped bit does it come "
     "first",
     JSON_MADE(fault_places_make)},
    {0},
};

json_t *line_faults(const void *object, const void *document)
{
    const struct result *result = object;
    return result->fault_count > 0
               ? json_list_of(fault_fields, result->faults, sizeof *result->faults,
                              (size_t)result->fault_count, document)
               : NULL;
}
