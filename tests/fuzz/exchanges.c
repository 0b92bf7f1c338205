/*
 * exchanges.c - a whole session in which ranks send invalid data to each other. All code that reads
 * an exchange runs unchanged, on a control plane of this file.
 *
 * The share of each other rank is a copy of this rank's own, which the input then changes. A job of
 * one rank runs to its end; a job of three ends when its ranks would connect.
 *
 * Input: flags, then edits: the exchange, the rank, the offset (16 bits), the number of bytes (CUT:
 * the rest of the share is cut off), and these bytes. With REASONS: flags, then only a rank's
 * reasons for other transports.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/options/options.h"
#include "cli/run/run.h"
#include "cli/run/internal.h"
#include "controlplane/control/control.h"
#include "run/results/internal.h"
#include "run/run.h"
#include "run/session/session.h"
#include "fuzz.h"

enum { THREE = 1, JSON = 2, PROFILE = 4, TWO_HOSTS = 8, REASONS = 16 };

/* The exchanges of a session, in their order. */
enum { NEEDS, PLACES, OFFERS, REACH, LINKS, SETS, SLOWEST, RESULTS, SESSION_EXCHANGES };

#define CUT          255
#define BLOB_MOST    ((size_t)1 << 17)
#define REASON_RANKS 16

/* ---- the control plane ---- */

struct control {
    int rank, ranks;
    struct member members[3];
    struct progress progress;
    unsigned exchanges;
    bool ended;
    struct reader edits;
};

/* Changes the shares as the input says. An edit that is cut off changes nothing. */
static void edits_apply(struct reader edits, unsigned exchange, struct blobs *blobs)
{
    while (edits.left >= 5) {
        unsigned number = input_u8(&edits), rank = input_u8(&edits) % (unsigned)blobs->count;
        size_t at = input_u16(&edits), length = input_u8(&edits);
        bool cuts = length == CUT;
        length = cuts ? 0 : length < edits.left ? length : edits.left;
        const unsigned char *bytes = read_bytes(&edits, length);
        if (number != exchange)
            continue;
        size_t old = blobs->size[rank];
        size_t size = cuts && at < old ? at : !cuts && at + length > old ? at + length : old;
        unsigned char *more = calloc(1, size ? size : 1);
        if (!more)
            abort();
        if (blobs->data[rank])
            memcpy(more, blobs->data[rank], old < size ? old : size);
        if (length > 0)
            memcpy(more + at, bytes, length);
        free(blobs->data[rank]);
        blobs->data[rank] = size ? more : NULL;
        blobs->size[rank] = size;
        if (size == 0)
            free(more);
    }
}

enum status control_exchange(struct control *control, enum exchange kind, struct bytes *share,
                             const char *what, struct blobs *blobs)
{
    int count = kind == EXCHANGE_PEERS ? 1 : control->ranks;
    (void)what;
    *blobs = (struct blobs){.count = count,
                            .data = calloc((size_t)count, sizeof *blobs->data),
                            .size = calloc((size_t)count, sizeof *blobs->size)};
    for (int r = 0; r < count; r++) {
        blobs->size[r] = share->size;
        blobs->data[r] = share->size ? malloc(share->size) : NULL;
        if (share->size)
            memcpy(blobs->data[r], share->data, share->size);
    }
    bytes_free(share);
    edits_apply(control->edits, control->exchanges++, blobs);
    control->ended = control->ranks > 1 && control->exchanges > REACH;
    return STATUS_OK;
}

/* The words of the others are its own, until the input changes them. */
enum status control_maximum(struct control *control, uint64_t *words, size_t count,
                            const char *what)
{
    struct bytes share = {0};
    struct blobs blobs;
    for (size_t i = 0; i < count; i++)
        bytes_put_u64(&share, words[i]);
    control_exchange(control, EXCHANGE_PEERS, &share, what, &blobs);
    struct reader reader = {.at = blobs.data[0], .left = blobs.size[0]};
    for (size_t i = 0; i < count; i++)
        words[i] = read_u64(&reader);
    blobs_free(&blobs);
    return STATUS_OK;
}

/* The next job. */
static struct {
    unsigned flags;
    struct reader edits;
} next;

enum status control_join(const struct membership *membership, const struct control_config *config,
                         struct control **result)
{
    (void)config;
    struct control *control = calloc(1, sizeof *control);
    *result = control;
    control->ranks = membership->ranks;
    control->edits = next.edits;
    for (int r = 0; r < control->ranks; r++) {
        bool away = r == 2 && next.flags & TWO_HOSTS;
        control->members[r] =
            (struct member){.rank = r, .pid = getpid(), .node = away, .local_rank = away ? 0 : r};
        snprintf(control->members[r].host, sizeof control->members[r].host, "host%d", away);
    }
    return STATUS_OK;
}

int control_rank(const struct control *control)
{
    return control->rank;
}

int control_ranks(const struct control *control)
{
    return control->ranks;
}

const struct member *control_members(const struct control *control)
{
    return control->members;
}

bool control_is_late(const struct control *control)
{
    (void)control;
    return false; /* there is no clock here */
}

bool control_ended(const struct control *control)
{
    return control->ended;
}

bool control_lost(const struct control *control, int peer)
{
    require(peer >= 0 && peer < control->ranks);
    return false;
}

struct progress *control_progress(struct control *control)
{
    return &control->progress;
}

void control_watch(struct control *control, enum status (*watch)(void *argument), void *argument)
{
    (void)control, (void)watch, (void)argument; /* no exchange waits here */
}

void control_enter(struct control *control, enum phase phase)
{
    atomic_store(&control->progress.phase, phase);
}

void control_name_algorithm(struct control *control, int index, const char *text)
{
    (void)control;
    require(index >= 0 && text[0]);
}

enum status control_fail(struct control *control, enum status status)
{
    (void)control;
    require(status != STATUS_OK && log_current()->failure.text[0]); /* there is a sentence */
    return status;
}

enum status control_finish(struct control *control, enum status status)
{
    (void)control;
    return status;
}

void control_send_postmortem(struct control *control, struct bytes *share)
{
    (void)control;
    bytes_free(share);
}

void control_gather_postmortems(struct control *control, const bool *from, double seconds,
                                struct blobs *blobs)
{
    (void)control;
    (void)from;
    (void)seconds;
    *blobs = (struct blobs){0};
}

int control_errors(const struct control *control, const struct job_error **errors)
{
    (void)control;
    *errors = NULL;
    return 0;
}

uint64_t control_rejected(const struct control *control)
{
    (void)control;
    return 0;
}

void control_close(struct control *control)
{
    free(control);
}

/* ---- the memory ---- */

/* A session that fails leaves its regions to the end of the process. There are too many sessions
 * here for that. */
static struct memory_kind kind;
static struct region kept[BUFFER_SETS_MOST + 1];
static int kept_count;

static enum status kind_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    enum status status = memory_kinds[0]->allocate(bytes, tick, region);
    require(status == STATUS_OK && kept_count <= BUFFER_SETS_MOST);
    kept[kept_count++] = *region;
    region->kind = &kind;
    return status;
}

/* Each region goes in kind_release_all(), whether the session releases it or not. */
static void kind_release(struct region *region)
{
    *region = (struct region){.fd = -1};
}

static void kind_release_all(void)
{
    while (kept_count > 0)
        memory_kinds[0]->release(&kept[--kept_count]);
}

/* ---- the job ---- */

static void request_make(struct request *request, bool profile)
{
    static char words[][16] = {"cctest",    "allreduce", "-b", "64",          "-e",
                               "64",        "-n",        "2",  "-w",          "1",
                               "-v",        "--slots",   "2",  "--slot-size", "256",
                               "--timeout", "9",         "-a", "ring,tree",   "--profile"};
    char *list[sizeof words / sizeof words[0] + 1] = {NULL};
    int count = (int)(sizeof words / sizeof words[0]) - !profile;
    for (int i = 0; i < count; i++)
        list[i] = words[i];
    static struct command_line line;
    require(command_line_read(count, list, NULL, &line) == STATUS_OK);
    require(command_line_resolve(&line, request) == STATUS_OK);
    kind = *memory_kinds[0];
    kind.allocate = kind_allocate;
    kind.release = kind_release;
    request->job.memory = &kind;
}

/* Rank 0 decodes another rank's reasons for other transports, and makes text of them. A job that
 * fits here has none. */
static void try_reasons(struct reader *share)
{
    struct member members[REASON_RANKS] = {{0}};
    struct fallbacks fallbacks = {.count = 0};
    char text[FALLBACK_TEXT_MOST];
    if (!fallbacks_decode(&fallbacks, REASON_RANKS, share))
        return;
    require(fallbacks.count <= FALLBACKS_MOST);
    for (int i = 0; i < fallbacks.count; i++)
        fallback_text(&fallbacks.list[i], members, text);
    if (fallbacks.further.pairs > 0)
        fallback_text(&fallbacks.further, members, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct request request;
    struct outcome outcome = {0};
    struct log log;
    next.edits = (struct reader){.at = data, .left = size};
    next.flags = input_u8(&next.edits);
    if (next.flags & REASONS) {
        try_reasons(&next.edits);
        return 0;
    }
    /* The machine is not tested here, and hwloc takes long to look at it. */
    setenv("HWLOC_SYNTHETIC", "l3:1 core:2 pu:1", 1);
    request_make(&request, next.flags & PROFILE);
    bool json = next.flags & JSON;
    struct output_queue *queue = output_queue_create();
    require(queue);
    output_queue_open(queue, open("/dev/null", O_WRONLY));
    struct report *report =
        json ? json_open("/dev/null", &request, queue, &outcome) : table_open(queue, &outcome);
    struct membership membership = {.ranks = next.flags & THREE ? 3 : 1,
                                    .secret = "fuzz",
                                    .started_here = true,
                                    .bootstrap = "fuzz"};
    require(report && output_queue_fd(queue) >= 0);
    log_init(&log, 0, 0);
    log_attach(&log);
    struct session_arguments arguments = {.job = &request.job, .options = "fuzz", .report = report};
    session_run(&membership, &arguments);
    job_release(&request.job);
    kind_release_all();
    log_attach(NULL);
    if (json)
        json_close(report);
    else
        table_close(report);
    output_queue_destroy(queue);
    return 0;
}

/* ---- seeds ---- */

static void edit_put(struct bytes *out, unsigned exchange, unsigned rank, size_t at,
                     const void *bytes, size_t size)
{
    const unsigned char head[] = {(unsigned char)exchange, (unsigned char)rank,
                                  (unsigned char)(at & 255), (unsigned char)(at >> 8),
                                  (unsigned char)size};
    bytes_put(out, head, sizeof head);
    if (size != CUT)
        bytes_put(out, bytes, size);
}

/* `size` bytes that are not zero: a text without an end. */
static void edit_fill(struct bytes *out, unsigned exchange, unsigned rank, size_t at, size_t size)
{
    char words[200];
    memset(words, 'x', sizeof words);
    for (size_t part; size > 0; size -= part, at += part) {
        part = size < sizeof words ? size : sizeof words;
        edit_put(out, exchange, rank, at, words, part);
    }
}

static void seed_begin(struct bytes *out, unsigned flags)
{
    const unsigned char first = (unsigned char)flags;
    out->size = 0;
    bytes_put(out, &first, 1);
}

/* Edits of each exchange, so that random changes reach all of them. */
static void seed_all(struct bytes *out)
{
    static const unsigned char ones[] = {255, 255, 255, 255};
    static const char *const names[SESSION_EXCHANGES] = {"needs", "places", "offers",  "reach",
                                                         "links", "sets",   "slowest", "results"};
    char name[64];
    for (unsigned e = 0; e < SESSION_EXCHANGES; e++) {
        unsigned flags = (e % 2 ? JSON | PROFILE : 0) | (e <= REACH ? THREE : 0);
        for (unsigned at = 0; at < 3; at++) {
            seed_begin(out, flags | (at ? TWO_HOSTS : 0));
            edit_put(out, e, at, 8 * (size_t)at, ones, sizeof ones);
            snprintf(name, sizeof name, "%s-%u", names[e], 8 * at);
            fuzz_seed(name, out->data, out->size);
        }
        seed_begin(out, flags);
        edit_put(out, e, 1, 1, NULL, CUT);
        snprintf(name, sizeof name, "%s-cut", names[e]);
        fuzz_seed(name, out->data, out->size);
        seed_begin(out, flags);
        edit_fill(out, e, 1, 4, 1600);
        snprintf(name, sizeof name, "%s-long", names[e]);
        fuzz_seed(name, out->data, out->size);
    }
}

/* A whole result in the place of the one that the rank made. */
static void seed_result(struct bytes *out, const char *name, unsigned flags,
                        const struct finding *finding, struct peer_stats *peer,
                        const char *transport)
{
    uint64_t late[2] = {5, 7}, samples[2] = {1000, 2000};
    struct link_stats links = {.count = 1, .peers = peer};
    struct rank_result result = {
        .late = late,
        .samples = samples,
        .wrong = finding->kind != FINDING_NONE ? 3 : 0,
        .finding = *finding,
        .evidence = {.iterations = finding->evidence.count > 0, .of = {finding->evidence}},
        .transport = {transport_find("shm")},
        .transports = 1,
        .used = {true},
        .links = peer ? &links : NULL};
    struct counter counter = {.name = "symbol_error", .value = 3};
    struct device_change change = {.name = "mlx5_0:1",
                                   .counters = {.counters = &counter, .count = 1}};
    if (peer)
        result.changes = (struct device_changes){.devices = &change, .count = 1};
    const struct job job = {.iterations = 2, .watches = true};
    struct bytes share = {0};
    rank_summary_encode(&result, &job, NULL, NULL, &share);
    char *word = memmem(share.data, share.size, "shm", 3);
    require(word);
    memcpy(word, transport, 3);
    seed_begin(out, flags);
    edit_put(out, RESULTS, 0, 0, NULL, CUT);
    for (size_t at = 0, part; at < share.size; at += part) {
        part = share.size - at < 200 ? share.size - at : 200;
        edit_put(out, RESULTS, 0, at, share.data + at, part);
    }
    fuzz_seed(name, out->data, out->size);
    bytes_free(&share);
}

static void seed_rank_results(struct bytes *out)
{
    const struct finding none = {0};
    struct peer_stats peer = {.counted = 1}, stray = {.peer = 7000};
    struct finding finding = {.kind = FINDING_RESULT,
                              .iteration = 1,
                              .wrong = 3,
                              .hop_peer = -1,
                              .first = {.at = 2, .source = EVERY_RANK},
                              .explanation_count = 2,
                              .explanations = {{.fitting = 1, .stretches = 1}, {.fitting = 9}},
                              .unexplained = 4,
                              .unlooked = 1};
    seed_result(out, "result", JSON, &none, &peer, "shm");
    seed_result(out, "stray-peer", JSON, &none, &stray, "shm");
    seed_result(out, "transport-unknown", JSON, &none, NULL, "rdm");
    seed_result(out, "finding", JSON, &finding, NULL, "shm");
    finding.explanations[0].hypotheses[0].kind = HYPOTHESIS_MISSING;
    finding.explanations[0].hypotheses[0].set.length = 1;
    seed_result(out, "finding-set", 0, &finding, NULL, "shm");
    finding.evidence = (struct iteration_evidence){.iteration = 1, .spread = true, .count = 2};
    finding.evidence.of[1].at = 7;
    seed_result(out, "finding-evidence", JSON, &finding, NULL, "shm");
    finding.hop_peer = 7000;
    seed_result(out, "finding-hop", 0, &finding, NULL, "shm");
    finding = (struct finding){.kind = FINDING_OVERRUN, .wrong = 1, .overrun = {.bytes = 3}};
    seed_result(out, "finding-overrun", 0, &finding, NULL, "shm");
    finding.overrun.buffer = BUFFERS;
    seed_result(out, "finding-buffer", 0, &finding, NULL, "shm");
}

/* One class of links, and two; from a job of one rank, whose own share says that it has none. */
static void seed_links(struct bytes *out)
{
    for (unsigned count = 1; count <= 2; count++) {
        struct bytes share = {0};
        bytes_put_u64(&share, 0); /* rejected connections */
        bytes_put_u32(&share, count);
        for (unsigned i = 0; i < count; i++) {
            bytes_put_text(&share, "shm");
            bytes_put_text(&share, "near");
            bytes_put_u32(&share, 0); /* links */
            bytes_put_u64(&share, 1);
            bytes_put_u64(&share, 9);
            bytes_put_u32(&share, 0);
            bytes_put_u32(&share, 0);
        }
        bytes_put_u32(&share, 0); /* reasons for other transports */
        bytes_put_u32(&share, 0); /* NICs */
        seed_begin(out, 0);
        edit_put(out, LINKS, 0, 0, share.data, share.size);
        fuzz_seed(count == 1 ? "link" : "links", out->data, out->size);
        bytes_free(&share);
    }
}

/* As many as there may be, and one more. */
static void seed_fallbacks(void)
{
    struct fallbacks fallbacks = {.count = FALLBACKS_MOST};
    for (int i = 0; i <= FALLBACKS_MOST; i++) {
        struct fallback fallback = {.cause = (enum fallback_cause)(i % FALLBACK_CAUSES),
                                    .preferred = "verbs",
                                    .taken = "tcp",
                                    .pairs = 1,
                                    .low = 1,
                                    .high = 2,
                                    .rank = 1 + i % 2,
                                    .others = i > 4};
        if (i < FALLBACKS_MOST)
            snprintf(fallback.reason, sizeof fallback.reason, "reason %d", i);
        *(i < FALLBACKS_MOST ? &fallbacks.list[i] : &fallbacks.further) = fallback;
    }
    for (int more = 0; more < 2; more++) {
        struct bytes share = {0};
        const unsigned char flags = REASONS;
        bytes_put(&share, &flags, 1);
        fallbacks_encode(&fallbacks, &share);
        share.data[1] += (unsigned char)more;
        fuzz_seed(more ? "reasons-many" : "reasons", share.data, share.size);
        bytes_free(&share);
    }
}

/* NICs that differ, in the place of none; a fact of the last one has a scope that there is not. */
static void seed_nics(struct bytes *out)
{
    static const char *const rates[] = {"400 Gb/s", "400 Gb/s", "100 Gb/s", "9"};
    for (int count = 1; count <= 4; count++) {
        struct device_list list = {0};
        struct bytes share = {0};
        char name[] = "mlx5_0:1";
        for (int i = 0; i < count; i++) {
            name[5] = (char)('0' + i);
            struct device *device = device_add(&list, "port", name);
            device_fact(device, i == 3 ? FACT_SCOPES : FACT_ALL, "rate", "%s", rates[i]);
            device_fact(device, FACT_MODEL, "firmware", "28.%d", i / 2);
        }
        bytes_put_u64(&share, 0);
        bytes_put_u32(&share, 0); /* links */
        bytes_put_u32(&share, 0); /* reasons for other transports */
        device_list_encode(&list, &share);
        seed_begin(out, count % 2 ? JSON : 0);
        edit_put(out, LINKS, 0, 0, NULL, CUT);
        for (size_t at = 0, part; at < share.size; at += part) {
            part = share.size - at < 200 ? share.size - at : 200;
            edit_put(out, LINKS, 0, at, share.data + at, part);
        }
        snprintf(name, sizeof name, "nics-%d", count);
        fuzz_seed(name, out->data, out->size);
        bytes_free(&share);
        device_list_free(&list);
    }
}

/* An offer that is longer than any address, in the place of all. */
static void seed_offers(struct bytes *out)
{
    struct bytes share = {0};
    bytes_put_u32(&share, 2);
    bytes_put_u32(&share, 1);
    bytes_put_u32(&share, TRANSPORT_ADDRESS_MOST + 1);
    seed_begin(out, THREE);
    edit_put(out, OFFERS, 1, 0, share.data, share.size);
    edit_fill(out, OFFERS, 1, share.size, 2 * TRANSPORT_ADDRESS_MOST);
    fuzz_seed("offer-endless", out->data, out->size);
    bytes_free(&share);
}

void fuzz_seeds(void)
{
    struct bytes out = {0};
    seed_all(&out);
    seed_rank_results(&out);
    seed_links(&out);
    seed_fallbacks();
    seed_nics(&out);
    seed_offers(&out);
    bytes_free(&out);
}
