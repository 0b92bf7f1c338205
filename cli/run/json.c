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
 * The groups of a split job.
 */
struct group_entry {
    char name[GROUP_NAME_MOST];
    struct rank_group group;
};

static json_t *group_ranks_make(const void *object, const void *context)
{
    const struct rank_group *group = &((const struct group_entry *)object)->group;
    json_t *ranks = json_array();
    (void)context;
    for (int r = 0; r < group->ranks; r++)
        json_array_append_new(ranks, json_integer(group->members[r]));
    return ranks;
}

const struct json_field group_fields[] = {
    {"name", "name", "name of the group: its host, its rail, or its number with its ranks",
     JSON_MEMBER(struct group_entry, name)},
    {"ranks", "[rank]{1,0}", "ranks of the group", JSON_MADE(group_ranks_make)},
    {0},
};

/* The document's "groups"; null: the job is not split. */
static json_t *groups_json(const struct job *job, const struct participants *participants)
{
    const struct split *split = participants->split;
    if (job->split.kind == SPLIT_NONE)
        return json_null();
    json_t *groups = json_array();
    for (int g = 0; g < split->groups->groups; g++) {
        struct group_entry line = {.group = split_group(split, g)};
        split_name(&job->split, &line.group, participants->members, line.name);
        json_array_append_new(groups, json_object_of(group_fields, &line, NULL));
    }
    return groups;
}

/*
 * Links, and why pairs of ranks do not run over the transport that they prefer.
 */
static json_t *two_ranks(int first, int second)
{
    return json_pack("[i, i]", first, second);
}

static json_t *slowest_link_make(const void *object, const void *context)
{
    const struct link_class *class = object;
    (void)context;
    return two_ranks(class->from, class->to);
}

const struct json_field one_way_fields[] = {
    {"least", "count", "least of these links", JSON_MEMBER(struct link_class, least_ns)},
    {"most", "count", "most of these links", JSON_MEMBER(struct link_class, most_ns)},
    {"slowest", "pair", "the two ranks of the slowest link", JSON_MADE(slowest_link_make)},
    {0},
};

static json_t *one_way_make(const void *class, const void *context)
{
    return ((const struct link_class *)class)->most_ns > 0
               ? json_object_of(one_way_fields, class, context)
               : json_null();
}

const struct json_field link_class_fields[] = {
    {"transport", "name", "transport of these links; others: links of further kinds together",
     JSON_MEMBER(struct link_class, transport)},
    {"link_kind", "string", "the kind of these links, in the words of the transport",
     JSON_MEMBER(struct link_class, words)},
    {"count", "positive", "links; a pair of ranks has two", JSON_MEMBER(struct link_class, count)},
    {"one_way_ns", "one_way_ns?",
     "nanoseconds of a cache line between the two cores, or null: not measured",
     JSON_MADE(one_way_make)},
    {0},
};

/* A fallback, with its sentence; what several reasons have not in common is NULL. */
struct fallback_line {
    struct fallback fallback;
    char text[FALLBACK_TEXT_MOST];
    const char *cause, *preferred, *taken, *reason;
};

static json_t *example_make(const void *object, const void *context)
{
    const struct fallback *fallback = &((const struct fallback_line *)object)->fallback;
    (void)context;
    return two_ranks(fallback->low, fallback->high);
}

const struct json_field fallback_fields[] = {
    {"pairs", "positive", "how many", JSON_MEMBER(struct fallback_line, fallback.pairs)},
    {"example", "pair", "one of them", JSON_MADE(example_make)},
    {"text", "name", "the sentence", JSON_MEMBER(struct fallback_line, text)},
    {"cause", "absent|refused|unreachable?", "null: further pairs, of several causes",
     JSON_MEMBER(struct fallback_line, cause)},
    {"preferred", "name?", "transport", JSON_MEMBER(struct fallback_line, preferred)},
    {"taken", "name?", "transport", JSON_MEMBER(struct fallback_line, taken)},
    {"reason", "name?", "the cause in words", JSON_MEMBER(struct fallback_line, reason)},
    {0},
};

static json_t *fallback_json(const struct fallback *fallback, const struct member *members)
{
    static const char *const causes[FALLBACK_CAUSES] = {
        [FALLBACK_ABSENT] = "absent",
        [FALLBACK_REFUSED] = "refused",
        [FALLBACK_UNREACHABLE] = "unreachable",
    };
    struct fallback_line line = {.fallback = *fallback};
    fallback_text(fallback, members, line.text);
    if (fallback->reason[0]) {
        line.cause = causes[fallback->cause];
        line.preferred = fallback->preferred;
        line.taken = fallback->taken;
        line.reason = fallback->reason;
    }
    return json_object_of(fallback_fields, &line, NULL);
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
 * Ranks, and the library beside them.
 */
const struct json_field memory_device_fields[] = {
    {"number", "count", "as CUDA counts", JSON_MEMBER(struct memory_device, number)},
    {"bus", "name?", "PCI address; null: CUDA does not tell it",
     JSON_MEMBER(struct memory_device, bus)},
    {"uuid", "name", "UUID of the GPU, or of the part of it that the rank has",
     JSON_MEMBER(struct memory_device, uuid)},
    {"name", "name", "model of the GPU", JSON_MEMBER(struct memory_device, name)},
    {0},
};

/* A rank, as it is known before the ranks connect. */
struct rank_line {
    struct member member;
    int core, ring_place, barrier_group; /* -1: none, or not known yet */
    const struct memory_device *device;  /* NULL: likewise */
};

static json_t *device_make(const void *object, const void *context)
{
    const struct memory_device *device = ((const struct rank_line *)object)->device;
    return device ? json_object_of(memory_device_fields, device, context) : json_null();
}

/* A list to be filled later. */
static json_t *empty_list_make(const void *object, const void *context)
{
    (void)object, (void)context;
    return json_array();
}

const struct json_field member_fields[] = {
    {"rank", "rank", NULL, JSON_MEMBER(struct rank_line, member.rank)},
    {"host", "name", "name of the host", JSON_MEMBER(struct rank_line, member.host)},
    {"pid", "positive", "its process, on its host", JSON_MEMBER(struct rank_line, member.pid)},
    {"node", "count", "the host's number in the job, from 0",
     JSON_MEMBER(struct rank_line, member.node)},
    {"local_rank", "count", "the rank's number on its host, from 0",
     JSON_MEMBER(struct rank_line, member.local_rank)},
    {"core", "count?", "that it is bound to, or null", JSON_MEMBER(struct rank_line, core)},
    {"ring_place", "count?", "with order=auto, its place on rings, from 0, or null",
     JSON_MEMBER(struct rank_line, ring_place)},
    {"device", "memory_device?", "the GPU of its buffers, or null", JSON_MADE(device_make)},
    {"barrier_group", "count?",
     "equal for ranks that share a start barrier in memory; null: not connected yet",
     JSON_MEMBER(struct rank_line, barrier_group)},
    {"nics", "names", "names of the ports that it uses", JSON_MADE(empty_list_make)},
    {"gpus", "names", "names of the GPUs that it uses", JSON_MADE(empty_list_make)},
    {0},
};

static json_t *member_json(const struct participants *participants, int rank)
{
    const int *ring = participants->split->ring_place;
    const struct rank_line line = {
        .member = participants->members[rank],
        .core = participants->bindings ? participants->bindings[rank].core : -1,
        .ring_place = ring ? ring[rank] : -1,
        .barrier_group = -1,
        .device = participants->devices ? &participants->devices[rank] : NULL,
    };
    return json_object_of(member_fields, &line, NULL);
}

/* A library of another maker that runs beside cctest's own algorithms. */
struct library_line {
    const char *name;
    char version[32];
};

const struct json_field library_fields[] = {
    {"name", "name", "name of the library", JSON_MEMBER(struct library_line, name)},
    {"version", "string", "version of the library", JSON_MEMBER(struct library_line, version)},
    {0},
};

static json_t *vendor_json(const struct job *job)
{
    const struct vendor *vendor = job_vendor(job);
    if (!vendor)
        return json_null();
    struct library_line line = {.name = vendor->title};
    vendor->version(line.version, sizeof line.version);
    return json_object_of(library_fields, &line, NULL);
}

/*
 * Prints a run as one JSON object.
 */
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

static void json_begin(struct report *report, const struct job *job,
                       const struct participants *participants)
{
    struct json_report *json = json_report_of(report);
    json_t *ranks = json_object_get(json->document, "ranks");
    struct request shown = *json->request;
    shown.job = *job; /* with the picks of auto */
    for (int i = 0; i < participants->ranks && !participants->model; i++)
        json_array_append_new(ranks, member_json(participants, i));
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
    json_t *ranks = json_object_get(json->document, "ranks");
    (void)job;
    json_object_set_new(json->document, "links",
                        json_list_of(link_class_fields, connectivity->classes,
                                     sizeof *connectivity->classes,
                                     (size_t)connectivity->class_count, NULL));
    json_object_set_new(json->document, "fallbacks", fallbacks_json(connectivity));
    for (int r = 0; r < connectivity->ranks; r++)
        json_object_set_new(json_array_get(ranks, (size_t)r), "barrier_group",
                            json_integer(connectivity->node_barrier_of[r]));
    devices_put(json->document, connectivity);
    json_object_set_new(json->document, "start_note",
                        connectivity->note[0] ? json_string(connectivity->note) : json_null());
    json_store(json);
}

static void json_result(struct report *report, const struct job *job, const struct result *result)
{
    struct json_report *json = json_report_of(report);
    json_array_append_new(json_object_get(json->document, "results"),
                          line_json(job, result, json->document));
    json_keep(json);
}

const struct json_field error_fields[] = {
    {"rank", "rank_or_none", "-1: none", JSON_MEMBER(struct job_error, rank)},
    {"host", "string", "empty: none, or unknown", JSON_MEMBER(struct job_error, host)},
    {"phase", "start|join|setup|connect|warmup|check|time|gather|end",
     "in which the rank was; start: of the program", JSON_MEMBER(struct job_error, phase)},
    {"message", "name", "the sentence", JSON_MEMBER(struct job_error, message)},
    {0},
};

static void error_add(json_t *document, const struct job_error *error)
{
    json_array_append_new(json_object_get(document, "errors"),
                          json_object_of(error_fields, error, NULL));
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

/* The keys of a document as it begins; the context is the request, NULL where its command line was
 * refused. */
static json_t *running_make(const void *unused, const void *request)
{
    (void)unused, (void)request;
    return json_string("running");
}

static json_t *command_line_make(const void *unused, const void *request)
{
    (void)unused;
    return command_line_json(request);
}

static json_t *began_make(const void *unused, const void *request)
{
    (void)unused, (void)request;
    return json_date(time(NULL));
}

static json_t *empty_object_make(const void *unused, const void *request)
{
    (void)unused, (void)request;
    return json_object();
}

static json_t *null_make(const void *unused, const void *request)
{
    (void)unused, (void)request;
    return json_null();
}

static json_t *no_key_make(const void *unused, const void *request)
{
    (void)unused, (void)request;
    return NULL;
}

const struct json_field run_fields[] = {
    JSON_DOCUMENT,
    {"status", "status",
     "running until the end, then the word for the exit status: 0 ok, 1 error, 2 usage, 3 "
     "wrong-data, 4 slow, 5 timeout, 77 unavailable, 130 interrupted",
     JSON_MADE(running_make)},
    {"command_line", "name?",
     "the command line, for a shell, with what the environment gave; null: it was refused or is no "
     "UTF-8, or an agent runs the job",
     JSON_MADE(command_line_make)},
    {"began", "date", "when the run began, in UTC: 2026-11-29T05:38:04Z", JSON_MADE(began_make)},
    {"seconds", "amount?", "that the run took; null: it goes on, or did not begin",
     JSON_MADE(null_make)},
    {"options", "options_or_none", "empty if the command line was refused",
     JSON_MADE(empty_object_make)},
    {"vendor", "library?", "the vendor's library that runs beside cctest's own algorithms, or null",
     JSON_MADE(null_make)},
    {"bootstrap", "name?", "how the ranks met: local, tcp, pmix ...; null: they did not",
     JSON_MADE(null_make)},
    {"ranks", "[member]",
     "one for each rank, in order; empty before they have met, and where nothing has run",
     JSON_MADE(empty_list_make)},
    {"links", "[link_class]", "kinds of links", JSON_MADE(empty_list_make)},
    {"groups", "[group]{1,0}?", "of --split; null: the job is not split", JSON_MADE(null_make)},
    {"fallbacks", "[fallback]",
     "pairs of ranks that do not run over the transport that they prefer",
     JSON_MADE(empty_list_make)},
    {"nics", "[device_in_use]", "NIC ports in use", JSON_MADE(empty_list_make)},
    {"nic_differences", "sentences", "sentences about ports that differ from the others",
     JSON_MADE(empty_list_make)},
    {"nic_faults", "[faulty_port]",
     "what ports counted in the whole job that a healthy network does not count",
     JSON_MADE(empty_list_make)},
    {"nics_unfinished", "[reading]", "what ports counted in a line that did not end",
     JSON_MADE(empty_list_make)},
    {"gpus", "[device_in_use]", "GPUs in use", JSON_MADE(empty_list_make)},
    {"gpu_differences", "sentences", "sentences about GPUs that differ from the others",
     JSON_MADE(empty_list_make)},
    {"gpu_faults", "[faulty_gpu]",
     "what GPUs counted in the whole job that a healthy GPU does not count",
     JSON_MADE(empty_list_make)},
    {"gpus_unfinished", "[reading]", "what GPUs counted in a line that did not end",
     JSON_MADE(empty_list_make)},
    {"start_note", "name?", "what the start barrier could not do, or null", JSON_MADE(null_make)},
    {"network", "network", "network that predicted ranks sit on (--topology)", JSON_OPTIONAL,
     JSON_MADE(no_key_make)},
    {"rejected_connections", "count?",
     "connections from outside the job that were dropped (where it failed before its ranks had "
     "connected, those that rank 0 dropped); null: rank 0 could not report",
     JSON_MADE(null_make)},
    {"results", "[result]", "one for each line of the table", JSON_MADE(empty_list_make)},
    {"errors", "[error]", "what went wrong, the first cause first", JSON_MADE(empty_list_make)},
    {0},
};

/* All keys of a run, before it has begun. */
static json_t *document_begin(const struct request *request)
{
    json_t *document = json_object_of(run_fields, "", request);
    if (!document)
        memory_end();
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
