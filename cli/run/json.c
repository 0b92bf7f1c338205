/*
 * json.c - prints a run as one JSON object, for scripts.
 *
 * A file holds a valid object at any time: first with status "running", at the end with everything.
 * In between it is written after each line, or, when that takes long, after some.
 * Keys may be added, never renamed.
 */
#include "cli/run/internal.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "cli/predict/predict.h"
#include "collective/formats/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The groups of a split job in JSON.
 */
/* The document's "groups": the name and the ranks of each; null: the job is not split. */
static json_t *groups_json(const struct job *job, const struct participants *participants)
{
    const struct split *split = participants->split;
    if (job->split.kind == SPLIT_NONE)
        return json_null();
    json_t *groups = json_array();
    for (int g = 0; g < split->groups->groups; g++) {
        const struct rank_group group = split_group(split, g);
        char name[GROUP_NAME_MOST];
        json_t *ranks = json_array();
        split_name(&job->split, &group, participants->members, name);
        for (int r = 0; r < group.ranks; r++)
            json_array_append_new(ranks, json_integer(group.members[r]));
        json_array_append_new(groups, json_pack("{s:s, s:o}", "name", name, "ranks", ranks));
    }
    return groups;
}

/* Puts the results of all groups into that of a line, in the order of the document's "groups", and
 * which of them are the slowest, the median and the fastest. */
static void groups_put(json_t *line, const struct result *result)
{
    json_t *groups = json_array();
    for (int g = 0; g < result->group_count; g++) {
        json_t *group = json_object();
        timing_put(NULL, group, &result->groups[g].timing, true);
        json_object_set_new(group, "wrong", json_integer((json_int_t)result->groups[g].wrong));
        json_array_append_new(groups, group);
    }
    json_object_set_new(line, "slowest_group", json_integer(result->slowest_group));
    json_object_set_new(line, "median_group", json_integer(result->median_group));
    json_object_set_new(line, "fastest_group", json_integer(result->fastest_group));
    json_object_set_new(line, "groups", groups);
}

/*
 * In JSON, why pairs of ranks do not run over the transport that they prefer.
 */
static json_t *fallback_json(const struct fallback *fallback, const struct member *members)
{
    static const char *const causes[FALLBACK_CAUSES] = {
        [FALLBACK_ABSENT] = "absent",
        [FALLBACK_REFUSED] = "refused",
        [FALLBACK_UNREACHABLE] = "unreachable",
    };
    char text[FALLBACK_TEXT_MOST];
    bool told = fallback->reason[0] != '\0';
    return json_pack("{s:I, s:[i, i], s:s, s:s?, s:s?, s:s?, s:s?}", "pairs",
                     (json_int_t)fallback->pairs, "example", fallback->low, fallback->high, "text",
                     fallback_text(fallback, members, text), "cause",
                     told ? causes[fallback->cause] : NULL, "preferred",
                     told ? fallback->preferred : NULL, "taken", told ? fallback->taken : NULL,
                     "reason", told ? fallback->reason : NULL);
}

/* One object for each reason. */
static json_t *fallbacks_json(const struct connectivity *connectivity)
{
    const struct fallbacks *fallbacks = &connectivity->fallbacks;
    json_t *list = json_array();
    for (int i = 0; i < fallbacks->count; i++)
        json_array_append_new(list, fallback_json(&fallbacks->list[i], connectivity->members));
    if (fallbacks->further.pairs > 0)
        json_array_append_new(list, fallback_json(&fallbacks->further, connectivity->members));
    return list;
}

/*
 * Prints a run as one JSON object.
 */
#define PEERS_MOST  4096 /* of all ranks, in one line */
#define WRITE_SHARE 0.1  /* of the time, for writing documents before the last */
#define WRITE_BRIEF 0.05 /* seconds that writing may always take */

struct json_report {
    struct report report;
    const char *path;
    const struct request *request; /* NULL: no job has begun */
    struct outcome *outcome;
    /* The descriptor of a stream is open from the start: its reader finds no end before the
     * document. */
    struct output_queue *queue;
    json_t *document;
    bool ended;   /* the document is whole but for the status */
    int draft;    /* of a stream, the document so far, for the process that concludes; -1: none */
    double due;   /* clock_seconds() when it may be written again, */
    double began; /* and when it was opened */
};

static struct json_report *json_report_of(struct report *report)
{
    return (struct json_report *)report;
}

static void json_send(struct json_report *json)
{
    size_t length = 0;
    char *text = json_text(json->document, &length);
    if (!text)
        output_queue_fail(json->queue, ENOMEM);
    else
        output_queue_put(json->queue, text, length);
    free(text);
}

static void json_replace(struct json_report *json)
{
    struct log log;
    struct log *speaker = log_current();
    log_init(&log, speaker->rank, speaker->verbosity);
    log_attach(&log);
    output_queue_settle(json->queue);
    bool good = json_put(json->document, json->path) == STATUS_OK;
    log_attach(speaker);
    if (!good)
        outcome_fail(json->outcome, "%s", log.failure.text);
}

/* The document without its status is kept where it survives this process: in the file, or beside a
 * stream, whose reader wants one document. No rank waits for a file system that is busy. */
static void json_store(struct json_report *json)
{
    size_t length = 0;
    if (!output_is_stream(json->path)) {
        json_send(json);
        if (output_queue_error(json->queue))
            json_replace(json); /* for the sentence */
        return;
    }
    char *text = json_text(json->document, &length);
    if (text && ftruncate(json->draft, 0) == 0 && lseek(json->draft, 0, SEEK_SET) == 0)
        write_all(json->draft, text, length); /* else there is no draft */
    free(text);
}

/* Measured results stay, whatever happens next. A document that has become long is written the less
 * often. */
static void json_keep(struct json_report *json)
{
    double begin = clock_seconds();
    if (begin < json->due)
        return;
    json_store(json);
    double end = clock_seconds();
    json->due = end - begin > WRITE_BRIEF ? end + (end - begin) / WRITE_SHARE : end;
}

/* The library of another maker that runs beside cctest's own algorithms. */
static json_t *vendor_json(const struct job *job)
{
    const struct vendor *vendor = job_vendor(job);
    char version[32];
    if (!vendor)
        return json_null();
    vendor->version(version, sizeof version);
    return json_pack("{s:s, s:s}", "name", vendor->title, "version", version);
}

/* The device that has a rank's memory. */
static json_t *memory_device_json(const struct memory_device *device)
{
    if (!device)
        return json_null();
    return json_pack("{s:i, s:s?, s:s, s:s}", "number", device->number, "bus",
                     device->bus[0] ? device->bus : NULL, "uuid", device->uuid, "name",
                     device->name);
}

static void json_begin(struct report *report, const struct job *job,
                       const struct participants *participants)
{
    struct json_report *json = json_report_of(report);
    json_t *ranks = json_object_get(json->document, "ranks");
    struct request shown = *json->request;
    shown.job = *job; /* with the picks of auto */
    for (int i = 0; i < participants->ranks && !participants->model; i++) {
        const struct member *member = &participants->members[i];
        int core = participants->bindings ? participants->bindings[i].core : -1;
        const int *ring = participants->split->ring_place;
        json_t *rank = json_pack(
            "{s:i, s:s, s:I, s:i, s:i, s:o, s:o, s:o, s:n}", "rank", member->rank, "host",
            member->host, "pid", (json_int_t)member->pid, "node", member->node, "local_rank",
            member->local_rank, "core", core < 0 ? json_null() : json_integer(core), "ring_place",
            ring ? json_integer(ring[i]) : json_null(), "device",
            memory_device_json(participants->devices ? &participants->devices[i] : NULL),
            "barrier_group");
        devices_begin_rank(rank);
        json_array_append_new(ranks, rank);
    }
    json_object_set_new(json->document, "groups", groups_json(job, participants));
    json_object_set_new(json->document, "vendor", vendor_json(job));
    if (participants->topology)
        json_object_set_new(json->document, "network", topology_json(participants->topology));
    json_object_set_new(json->document, "bootstrap", json_string(participants->bootstrap));
    json_object_set_new(json->document, "options", json_options(&shown, FOR_RUN));
    json_store(json);
}

static void json_connected(struct report *report, const struct job *job,
                           const struct connectivity *connectivity)
{
    struct json_report *json = json_report_of(report);
    json_t *ranks = json_object_get(json->document, "ranks"), *links = json_array();
    (void)job;
    for (int i = 0; i < connectivity->class_count; i++) {
        const struct link_class *class = &connectivity->classes[i];
        json_t *one_way = json_null();
        if (class->most_ns > 0)
            one_way =
                json_pack("{s:I, s:I, s:[i, i]}", "least", (json_int_t) class->least_ns, "most",
                          (json_int_t) class->most_ns, "slowest", class->from, class->to);
        json_array_append_new(links, json_pack("{s:s, s:s, s:i, s:o}", "transport",
                                               class->transport, "link_kind", class->words, "count",
                                               class->count, "one_way_ns", one_way));
    }
    json_object_set_new(json->document, "links", links);
    json_object_set_new(json->document, "fallbacks", fallbacks_json(connectivity));
    for (int r = 0; r < connectivity->ranks; r++)
        json_object_set_new(json_array_get(ranks, (size_t)r), "barrier_group",
                            json_integer(connectivity->node_barrier_of[r]));
    devices_put(json->document, connectivity);
    json_object_set_new(json->document, "start_note",
                        connectivity->note[0] ? json_string(connectivity->note) : json_null());
    json_store(json);
}

static json_t *result_profile(const struct result *result)
{
    json_t *ranks = json_array();
    for (int r = 0; r < result->ranks; r++) {
        const double *share = result->profile[r].share;
        json_array_append_new(
            ranks,
            json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "rank", r, "copying",
                      share[PROFILE_COPY], "reducing", share[PROFILE_REDUCE], "waiting_peer",
                      share[PROFILE_PEER], "waiting_credit", share[PROFILE_CREDIT], "bookkeeping",
                      share[PROFILE_BOOKKEEPING], "p50_us", result->profile[r].time_us));
    }
    return ranks;
}

/* A rank with its host, as the document's "ranks" has it. */
static json_t *rank_named(const struct json_report *json, int rank)
{
    json_t *member = json_array_get(json_object_get(json->document, "ranks"), (size_t)rank);
    return json_pack("{s:i, s:O}", "rank", rank, "host", json_object_get(member, "host"));
}

/* The name of the host of a rank. */
static json_t *host_named(const json_t *document, int rank)
{
    const json_t *member = json_array_get(json_object_get(document, "ranks"), (size_t)rank);
    return json_incref(json_object_get(member, "host"));
}

static const char *host_direction(const struct bottleneck_host *host)
{
    return host->from && host->to ? "both" : host->from ? "from" : "to";
}

static json_t *bottleneck_hosts(const struct json_report *json, const struct bottleneck *bottleneck)
{
    json_t *hosts = json_array(), *rank;
    size_t r;
    for (int i = 0; i < bottleneck->host_count && i < BOTTLENECK_HOSTS_MOST; i++) {
        const struct bottleneck_host *host = &bottleneck->hosts[i];
        json_t *name = NULL;
        json_array_foreach(json_object_get(json->document, "ranks"), r,
                           rank) if (json_integer_value(json_object_get(rank, "node")) ==
                                     host->node) name = json_object_get(rank, "host");
        json_array_append_new(
            hosts, json_pack("{s:O, s:s}", "host", name, "direction", host_direction(host)));
    }
    return hosts;
}

static json_t *result_bottleneck(const struct json_report *json, const struct result *result)
{
    static const struct {
        const char *kind, *direction;
    } words[] = {
        [BOTTLENECK_RANK] = {"rank", NULL},   [BOTTLENECK_LINK] = {"link", "from"},
        [BOTTLENECK_PAIR] = {"link", "both"}, [BOTTLENECK_HOST] = {"host", NULL},
        [BOTTLENECK_CUT] = {"cut", "both"},
    };
    const struct bottleneck *bottleneck = &result->bottleneck;
    enum bottleneck_kind kind = bottleneck->kind;
    if (kind == BOTTLENECK_NONE)
        return json_pack("{s:n}", "kind");
    json_t *named = json_pack("{s:s, s:s, s:f}", "kind", words[kind].kind, "words",
                              result->bottleneck_text, "share", bottleneck->share);
    if (kind == BOTTLENECK_RANK) {
        json_object_update_missing_new(named, rank_named(json, bottleneck->rank));
        json_object_set_new(named, "late_us", json_real((double)bottleneck->late * 1e-3));
        return named;
    }
    json_t *from = rank_named(json, bottleneck->from), *to = rank_named(json, bottleneck->to);
    const char *direction = words[kind].direction;
    if (kind == BOTTLENECK_HOST || kind == BOTTLENECK_CUT)
        json_object_set_new(named, "hosts", bottleneck_hosts(json, bottleneck));
    if (kind == BOTTLENECK_HOST) {
        json_t *first = json_array_get(json_object_get(named, "hosts"), 0);
        json_object_set(named, "host", json_object_get(first, "host"));
        direction = host_direction(&bottleneck->hosts[0]);
    }
    json_t *numbers = json_pack("{s:s, s:o, s:o, s:i, s:f, s:f}", "direction", direction, "from",
                                from, "to", to, "links", bottleneck->links, "GBps",
                                bottleneck->rate * 1e-9, "others_GBps", bottleneck->others * 1e-9);
    json_object_update_new(named, numbers);
    return named;
}

/* null: no rank. */
static json_t *rank_maybe(const struct json_report *json, int rank)
{
    return rank < 0 ? json_null() : rank_named(json, rank);
}

static json_t *result_losses(const struct json_report *json, const struct result *result)
{
    static const char *const words[][2] = {
        [LOSS_LINK] = {"link", "from"},  [LOSS_PAIR_FROM] = {"hosts", "from"},
        [LOSS_PAIR] = {"hosts", "both"}, [LOSS_FROM] = {"host", "from"},
        [LOSS_TO] = {"host", "to"},      [LOSS_HOST] = {"host", "both"},
        [LOSS_ALL] = {"all", "both"}};
    json_t *list = json_array();
    for (int i = 0; i < LOSSES_MOST && i < result->loss_count; i++) {
        const struct loss *loss = &result->losses[i];
        json_t *host = loss->host < 0 ? json_null() : rank_named(json, loss->host);
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:O, s:o, s:o}", "kind", words[loss->kind][0],
                      "direction", words[loss->kind][1], "words", loss->text, "packets",
                      (json_int_t)loss->packets, "resent", (json_int_t)loss->resent, "host",
                      json_is_null(host) ? host : json_object_get(host, "host"), "from",
                      rank_maybe(json, loss->from), "to", rank_maybe(json, loss->to)));
        json_decref(host);
    }
    return list;
}

static json_t *delay_host(const void *object, const void *context)
{
    const struct delay *delay = object;
    return host_named(context, delay->rank);
}

const struct json_field delay_fields[] = {
    {"host", "name", "name of the far host", JSON_MADE(delay_host)},
    {"round_trip_us", "microseconds", "microseconds of a round trip, at least",
     JSON_SCALED(struct delay, ns, 1e-3)},
    {"others_us", "microseconds", "the median of those among the other hosts",
     JSON_SCALED(struct delay, others_ns, 1e-3)},
    {"words", "name", "the sentence", JSON_MEMBER(struct delay, text)},
    {0},
};

static json_t *result_delays(const struct json_report *json, const struct result *result)
{
    int count = result->delay_count < DELAYS_MOST ? result->delay_count : DELAYS_MOST;
    return json_list_of(delay_fields, result->delays, sizeof *result->delays, (size_t)count,
                        json->document);
}

static json_t *result_outliers(const struct json_report *json, const struct result *result)
{
    static const char *const causes[] = {[OUTLIER_UNKNOWN] = NULL,
                                         [OUTLIER_STOPPED] = "stopped",
                                         [OUTLIER_LATE] = "late",
                                         [OUTLIER_RESENT] = "resent",
                                         [OUTLIER_AWAITED] = "awaited"};
    json_t *list = json_array();
    for (int i = 0; i < OUTLIERS_MOST && i < result->outlier_count; i++) {
        const struct outlier *outlier = &result->outliers[i];
        json_array_append_new(list,
                              json_pack("{s:I, s:f, s:s?, s:s, s:o, s:o}", "iteration",
                                        (json_int_t)outlier->iteration, "time_us", outlier->time_us,
                                        "cause", causes[outlier->cause], "words", outlier->text,
                                        "rank", rank_maybe(json, outlier->rank), "peer",
                                        rank_maybe(json, outlier->peer)));
    }
    return json_pack("{s:I, s:o}", "count", (json_int_t)result->outlier_count, "longest", list);
}

/* The statistics of the links to `most` peers at most. */
static json_t *sample_peers(const struct rank_sample *sample, int most)
{
    json_t *peers = json_array();
    for (int i = 0; i < sample->peers && i < most; i++) {
        const struct peer_stats *stats = &sample->peer[i];
        json_t *peer = json_pack("{s:i, s:I, s:I}", "peer", stats->peer, "sent",
                                 (json_int_t)stats->sent, "received", (json_int_t)stats->received);
        if (stats->counted)
            json_object_update_new(
                peer, json_pack("{s:f, s:f, s:f, s:o}", "on_the_way_us", (double)stats->busy * 1e-3,
                                "awaited_us", (double)stats->starved * 1e-3, "round_trip_us",
                                (double)stats->least_ns * 1e-3, "GBps",
                                stats->busy ? json_real((double)stats->sent / (double)stats->busy)
                                            : json_null()));
        if (stats->counted || stats->packets > 0)
            json_object_update_new(peer,
                                   json_pack("{s:I, s:I}", "packets", (json_int_t)stats->packets,
                                             "resent", (json_int_t)stats->resent));
        json_array_append_new(peers, peer);
    }
    return peers;
}

/* Each rank's times; with -v also the statistics of its links. Empty: nothing was timed. */
static json_t *result_samples(const struct job *job, const struct result *result)
{
    json_t *samples = json_array();
    int most = result->ranks < PEERS_MOST ? PEERS_MOST / result->ranks : 1;
    for (int r = 0; result->samples && r < result->ranks; r++) {
        const struct rank_sample *sample = &result->samples[r];
        json_t *waits = sample->core_wait < 0 ? json_null() : json_real(sample->core_wait);
        json_t *rows = json_pack("{s:i, s:f, s:f, s:o}", "rank", r, "late_us", sample->late_us,
                                 "p50_us", sample->time_us, "core_wait_share", waits);
        if (job->bootstrap.verbosity >= 1)
            json_object_set_new(rows, "peers", sample_peers(sample, most));
        json_array_append_new(samples, rows);
    }
    return samples;
}

/* A message has its sender first. */
static json_t *place_json(const struct place *place)
{
    bool message = place->kind == PLACE_MESSAGE;
    json_t *ranks =
        message ? json_pack("[i, i]", place->from, place->rank) : json_pack("[i]", place->rank);
    return json_pack("{s:s, s:o, s:o, s:b}", "kind", message ? "message" : "rank", "ranks", ranks,
                     "step", place->step >= 0 ? json_integer(place->step) : json_null(),
                     "flipped_bit", place->flips);
}

/* Faults of the data, and in which places they may have happened. */
static json_t *result_faults(const struct result *result)
{
    json_t *faults = json_array();
    for (int f = 0; f < result->fault_count; f++) {
        const struct traced_fault *fault = &result->faults[f];
        json_t *ranks = json_array(), *places = json_array();
        for (int r = 0; r < fault->rank_count; r++)
            json_array_append_new(ranks, json_integer(fault->ranks[r]));
        for (int i = 0; i < fault->places.count && i < PLACES_MOST; i++)
            json_array_append_new(places, place_json(&fault->places.of[i]));
        json_array_append_new(faults, json_pack("{s:o, s:s, s:i, s:i, s:i, s:o}", "ranks", ranks,
                                                "what", fault->places.lost ? "lost" : "altered",
                                                "elements", fault->places.elements, "explained",
                                                fault->places.explained, "place_count",
                                                fault->places.count, "places", places));
    }
    return faults;
}

static void json_result(struct report *report, const struct job *job, const struct result *result)
{
    struct json_report *json = json_report_of(report);
    struct line_fields fields;
    fields_open(&fields, job, result);
    json_t *line = fields.line;
    if (job->split.kind != SPLIT_NONE)
        groups_put(line, result);
    bool late = result->late_rank >= 0;
    json_object_set_new(line, "late_rank", late ? json_integer(result->late_rank) : json_null());
    json_object_set_new(line, "late_us", late ? json_real(result->late_us) : json_null());
    json_object_set_new(line, "bottleneck", result_bottleneck(json, result));
    json_object_set_new(line, "losses", result_losses(json, result));
    json_object_set_new(line, "delays", result_delays(json, result));
    json_object_set_new(line, "outliers", result_outliers(json, result));
    json_object_set_new(line, "samples", result_samples(job, result));
    if (result->fault_count > 0)
        json_object_set_new(line, "faults", result_faults(result));
    if (result->load)
        json_object_set_new(line, "load", load_json(result->load));
    if (result->profile)
        json_object_set_new(line, "profile", result_profile(result));
    readings_put(line, &result->devices);
    json_array_append(json_object_get(json->document, "results"), line);
    fields_close(&fields);
    json_keep(json);
}

static void error_add(json_t *document, const struct job_error *error)
{
    json_array_append_new(json_object_get(document, "errors"),
                          json_pack("{s:i, s:s, s:s, s:s}", "rank", error->rank, "host",
                                    error->host, "phase", error->phase, "message", error->message));
}

static void json_end(struct report *report, const struct job *job, const struct job_end *end)
{
    struct json_report *json = json_report_of(report);
    (void)job;
    json_object_set_new(json->document, "rejected_connections",
                        end->rejected < 0 ? json_null() : json_integer(end->rejected));
    devices_end(json->document, end);
    for (int i = 0; i < end->error_count; i++)
        error_add(json->document, &end->errors[i]);
    json->ended = true;
    if (output_is_stream(json->path))
        json_store(json);
    else
        json_replace(json);
}

enum status json_announce(struct report *report)
{
    struct json_report *json = json_report_of(report);
    json_object_set_new(json->document, "options", json_options(json->request, FOR_RUN));
    if (output_is_stream(json->path))
        return STATUS_OK;
    return json_put(json->document, json->path) == STATUS_OK ? STATUS_OK : STATUS_USAGE;
}

/* The document that rank 0, another process, left behind; false: none that can be read. */
static bool json_load(struct json_report *json)
{
    bool stream = output_is_stream(json->path);
    if (stream && lseek(json->draft, 0, SEEK_SET) != 0)
        return false;
    json_t *left = stream ? json_loadfd(json->draft, 0, NULL) : json_load_file(json->path, 0, NULL);
    if (!left || !json_is_array(json_object_get(left, "errors"))) {
        json_decref(left);
        return false;
    }
    json_decref(json->document);
    json->document = left;
    return true;
}

bool json_is_replaceable(struct report *report)
{
    return !output_is_stream(json_report_of(report)->path);
}

enum status json_conclude(struct report *report, enum status status, const struct job_error *error)
{
    struct json_report *json = json_report_of(report);
    if (!json->ended && !json_load(json) && json->outcome->ended) {
        struct rlimit file; /* the draft of a stream is one, in memory */
        bool bounded = getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY;
        outcome_fail(
            json->outcome,
            "the results in %s are lost: the data that rank 0 wrote cannot be read%s", json->path,
            bounded ? ", perhaps because files may not be that large: raise that limit (ulimit -f)"
                    : "");
        status = status_worse(status, STATUS_ERROR);
    }
    json->ended = true;
    if (error)
        error_add(json->document, error);
    json_object_set_new(json->document, "seconds", json_real(clock_seconds() - json->began));
    json_object_set_new(json->document, "status", json_string(status_word(status)));
    if (output_is_stream(json->path))
        json_send(json);
    else
        json_replace(json);
    return status;
}

enum status json_open_stream(struct report *report)
{
    struct json_report *json = json_report_of(report);
    enum status status = STATUS_OK;
    int fd = STDOUT_FILENO;
    if (!output_is_standard(json->path) && output_is_stream(json->path))
        status = output_open(json->path, &fd);
    output_queue_open(json->queue, fd);
    return status;
}

/* All keys of a run, before it has begun. `request`: NULL: its command line was refused. */
static json_t *document_begin(const struct request *request)
{
    json_t *document = json_document();
    if (!document)
        memory_end();
    json_object_set_new(document, "command_line", command_line_json(request));
    json_object_set_new(document, "began", json_date(time(NULL)));
    json_object_set_new(document, "seconds", json_null());
    json_object_set_new(document, "status", json_string("running"));
    json_object_set_new(document, "options", json_object());
    json_object_set_new(document, "vendor", json_null());
    json_object_set_new(document, "bootstrap", json_null());
    json_object_set_new(document, "ranks", json_array());
    json_object_set_new(document, "groups", json_null());
    json_object_set_new(document, "links", json_array());
    json_object_set_new(document, "fallbacks", json_array());
    devices_begin(document);
    json_object_set_new(document, "start_note", json_null());
    json_object_set_new(document, "rejected_connections", json_null());
    json_object_set_new(document, "results", json_array());
    json_object_set_new(document, "errors", json_array());
    return document;
}

/* A refusal does not wait for the reader of a FIFO. False: there is none; else *path leads to it,
 * by *fd (-1: as it is). */
static bool refusal_opens(const char **path, int *fd, char place[32])
{
    struct stat about;
    *fd = -1;
    if (stat(*path, &about) != 0 || !S_ISFIFO(about.st_mode))
        return true;
    *fd = open(*path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return false;
    fcntl(*fd, F_SETFL, 0);
    snprintf(place, 32, "/dev/fd/%d", *fd);
    *path = place;
    return true;
}

void json_refuse(const char *path, const struct request *request, enum status status)
{
    char place[32];
    int fd;
    if (!refusal_opens(&path, &fd, place))
        return;
    struct job_error error = job_error_make(NO_RANK, "", "start", log_current()->failure.text);
    struct log log; /* one complaint is enough */
    struct log *speaker = log_current();
    json_t *document = document_begin(request);
    log_init(&log, speaker->rank, speaker->verbosity);
    log_attach(&log);
    error_add(document, &error);
    json_object_set_new(document, "status", json_string(status_word(status)));
    json_put(document, path);
    log_attach(speaker);
    json_decref(document);
    if (fd >= 0)
        close(fd);
}

struct report *json_open(const char *path, const struct request *request,
                         struct output_queue *queue, struct outcome *outcome)
{
    struct json_report *json = new_array(1, sizeof *json);
    json->report = (struct report){
        .begin = json_begin, .connected = json_connected, .result = json_result, .end = json_end};
    json->path = path;
    json->request = request;
    json->queue = queue;
    if (!output_is_stream(path))
        output_queue_open_file(queue, path);
    json->draft = output_is_stream(path) ? memfd_create("cctest-json", MFD_CLOEXEC) : -1;
    json->outcome = outcome;
    json->began = clock_seconds();
    json->document = document_begin(request);
    return &json->report;
}

void json_close(struct report *report)
{
    if (!report)
        return;
    struct json_report *json = json_report_of(report);
    if (json->draft >= 0)
        close(json->draft);
    json_decref(json->document);
    free(json);
}
