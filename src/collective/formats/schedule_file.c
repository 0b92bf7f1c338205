/*
 * schedule_file.c - a file with schedules, in cctest's JSON or in MSCCL's XML: its first character
 * tells which.
 */
#include "collective/formats/internal.h"

#include "base/log.h"
#include "base/numbers.h"
#include "base/text_file.h"
#include "collective/prove/prove.h"
#include "host/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Proves the schedules of a file before anything runs them, and notes what a run
 * needs to know of each part: which source element it comes from, and so how long it is.
 */
/* Parts that the operations of all ranks move. */
static uint64_t parts_moved(const struct file_plan *plan)
{
    uint64_t moved = 0;
    for (int r = 0; r < plan->problem.ranks; r++)
        for (size_t i = 0; i < plan->ranks[r].count; i++)
            moved += plan->ranks[r].operations[i].length;
    return moved;
}

static enum status check_limits(const struct file_plan *plan)
{
    const struct problem *problem = &plan->problem;
    uint64_t operations = 0, parts = 0, moved = parts_moved(plan);
    uint64_t channels = (uint64_t)problem->ranks * (uint64_t)problem->ranks * (uint64_t)plan->lanes;
    for (int r = 0; r < problem->ranks; r++) {
        operations += plan->ranks[r].count;
        parts += collective_extent(problem, r, BUFFER_SOURCE) + plan->ranks[r].scratch +
                 collective_extent(problem, r, BUFFER_DESTINATION);
    }
    const struct {
        const char *what;
        uint64_t count, most;
    } limits[] = {{"operations", operations, FILE_OPERATIONS_MOST},
                  {"elements in the buffers of all ranks", parts, FILE_PARTS_MOST},
                  {"elements in all messages and local operations", moved, FILE_MOVED_MOST},
                  {"pairs of ranks, times their lanes", channels, FILE_CHANNELS_MOST}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (limits[i].count > limits[i].most)
            return fail(STATUS_USAGE,
                        "%.200s has %llu %s, and more than %llu are not proven: write it for fewer "
                        "elements, or fewer ranks",
                        plan->path, (unsigned long long)limits[i].count, limits[i].what,
                        (unsigned long long)limits[i].most);
    return STATUS_OK;
}

/* The schedule of parts of one rank. */
static enum status rank_build(const struct file_plan *plan, const struct problem *problem, int rank,
                              struct schedule **schedule)
{
    const struct file_rank *source = &plan->ranks[rank];
    struct builder *b = builder_create(problem, rank);
    if (!b)
        return STATUS_ERROR;
    struct group group = builder_group(b);
    if (source->scratch)
        view_scratch_block(b, source->scratch);
    replay_put(b, &group,
               &(struct replay){.operations = source->operations,
                                .count = source->count,
                                .epochs = source->epochs,
                                .epoch_count = source->epoch_count,
                                .lanes = plan->lanes});
    enum status status = builder_finish(b, true, schedule);
    /* In place a copy of an element onto itself vanishes, and lines no longer fit. */
    if (status == STATUS_OK && (*schedule)->count == source->count)
        (*schedule)->lines = source->lines;
    return status;
}

/* A target that overlaps itself or an input, which the conflict rule finds before the verifier
 * does. */
static enum status refuse_overlap(const struct file_plan *plan, const struct failure *found)
{
    bool memory = strncmp(found->text, "out of memory", strlen("out of memory")) == 0;
    return memory ? fail_again(found)
                  : fail(STATUS_USAGE, "%.200s is no right %s: %s", plan->path,
                         plan->problem.collective->name, found->text);
}

/* A malformed operation is no failure of this program, as it would be in an algorithm of its
 * own. */
static enum status rank_try(const struct file_plan *plan, const struct problem *problem, int rank,
                            struct schedule **schedule)
{
    struct log *outer = log_current(), inner;
    log_init(&inner, outer->rank, 0);
    log_attach(&inner);
    enum status status = rank_build(plan, problem, rank, schedule);
    log_attach(outer);
    return status == STATUS_OK ? STATUS_OK : refuse_overlap(plan, &inner.failure);
}

static enum status proof_build(const struct file_plan *plan, const struct problem *problem,
                               struct file_proof *proof)
{
    size_t ranks = (size_t)problem->ranks;
    enum status status = STATUS_OK;
    proof->schedules = calloc(ranks, sizeof(struct schedule *));
    proof->origins = calloc(ranks, sizeof *proof->origins);
    if (!proof->schedules || !proof->origins)
        return fail(STATUS_ERROR, "out of memory for the schedules of %.200s", plan->path);
    for (int r = 0; r < problem->ranks && status == STATUS_OK; r++) {
        size_t moved = 1;
        status = rank_try(plan, problem, r, &proof->schedules[r]);
        for (size_t i = 0; status == STATUS_OK && i < proof->schedules[r]->count; i++)
            moved += proof->schedules[r]->operations[i].length;
        proof->origins[r] = status == STATUS_OK ? malloc(moved * sizeof(uint32_t)) : NULL;
        if (status == STATUS_OK && !proof->origins[r])
            status = fail(STATUS_ERROR, "out of memory for the schedules of %.200s", plan->path);
    }
    return status;
}

/* Does the message put a part of a block, or take it, where another part of a block belongs? */
static bool message_uneven(struct message message, size_t count, const uint32_t *origins)
{
    for (size_t i = 0; i < message.count; i++)
        for (size_t x = 0; x < message.spans[i].run * message.spans[i].times; x++, origins++) {
            const struct span *span = &message.spans[i];
            size_t at = span_element(span, x);
            if (span->buffer != BUFFER_SCRATCH && at % count != *origins % count)
                return true;
        }
    return false;
}

static void note_uneven(const struct file_plan *plan, struct file_proof *proof)
{
    size_t count = plan->problem.count;
    proof->uneven_rank = NO_RANK;
    for (int r = 0; r < plan->problem.ranks && count > 1 && !plan->counts; r++) {
        const struct schedule *schedule = proof->schedules[r];
        const uint32_t *origins = proof->origins[r];
        for (size_t i = 0; i < schedule->count; origins += schedule->operations[i++].length) {
            const struct operation *operation = &schedule->operations[i];
            if (message_uneven(operation->to, count, origins) ||
                message_uneven(operation->from, count, origins) ||
                message_uneven(operation->with, count, origins)) {
                proof->uneven_rank = r;
                proof->uneven_operation = i;
                return;
            }
        }
    }
}

static enum status proof_verify(const struct file_plan *plan, const struct problem *problem,
                                struct file_proof *proof)
{
    struct verification verification;
    enum status status = STATUS_OK;
    /* A barrier tells only who has come, so a contribution may come twice. */
    verify_origins((const struct schedule *const *)proof->schedules, problem->ranks,
                   !problem->collective->sized, proof->origins, &verification);
    if (!verification.right)
        status = fail_option(
            STATUS_USAGE, plan->in_place == problem->in_place ? "" : "in-place",
            "%.200s is no right %s%s: %s%s%s%s", plan->path, problem->collective->name,
            problem->in_place ? ", in place" : "", verification.error,
            plan->in_place == problem->in_place ? ""
            : plan->in_place ? " (it is written for buffers in place: give --in-place)"
                             : " (it is written for buffers of their own: leave --in-place out)",
            plan->note ? "; " : "", plan->note ? plan->note : "");
    verification_free(&verification);
    return status;
}

static void proof_free(struct file_proof *proof, int ranks)
{
    for (int r = 0; proof && r < ranks; r++) {
        if (proof->schedules)
            schedule_free(proof->schedules[r]);
        if (proof->origins)
            free(proof->origins[r]);
    }
    if (proof) {
        free(proof->schedules);
        free(proof->origins);
    }
    free(proof);
}

enum status file_plan_prove(struct file_plan *plan, bool in_place)
{
    struct problem problem = plan->problem;
    problem.in_place = in_place;
    if (plan->proof)
        return STATUS_OK;
    enum status status = check_limits(plan);
    if (status != STATUS_OK)
        return status;
    struct file_proof *proof = calloc(1, sizeof *proof);
    if (!proof)
        return fail(STATUS_ERROR, "out of memory for the schedules of %.200s", plan->path);
    status = proof_build(plan, &problem, proof);
    if (status == STATUS_OK)
        status = proof_verify(plan, &problem, proof);
    if (status == STATUS_OK) {
        note_uneven(plan, proof);
        plan->proof = proof;
    } else {
        proof_free(proof, problem.ranks);
    }
    return status;
}

void file_plan_free(struct file_plan *plan)
{
    proof_free(plan->proof, plan->problem.ranks);
    counts_free(plan->counts);
    plan->proof = NULL;
    plan->counts = NULL;
}

/*
 * A file with schedules.
 */
struct schedule_file {
    struct schedule_file *next;
    char *path;
    struct arena *arena; /* owns the plans */
    struct file_plan *plans;
    size_t count;
};

/* Bytes for the document and the operations, for each byte of a file's text. */
#define MEMORY_FACTOR 12

static enum status file_parse(struct schedule_file *file, const char *text)
{
    size_t size = strlen(text);
    if (size > FILE_BYTES_MOST)
        return fail(STATUS_USAGE,
                    "%.200s is larger than 256M: write it for fewer elements, or fewer ranks",
                    file->path);
    if (size > memory_available() / MEMORY_FACTOR)
        return fail(
            STATUS_USAGE,
            "%.200s is of %zu MiB, which take about %zu times as much memory to be read, and %zu "
            "MiB are left: write it for fewer elements, or fewer ranks",
            file->path, size >> 20, (size_t)MEMORY_FACTOR, memory_available() >> 20);
    char first = text[strspn(text, " \t\r\n")];
    enum status status =
        first == '<'
            ? msccl_plan_read(file->path, text, size, file->arena, &file->plans, &file->count)
            : json_plans_read(file->path, text, file->arena, &file->plans, &file->count);
    uint64_t fingerprint = hash_bytes(HASH_BEGIN, text, size);
    for (size_t i = 0; i < file->count; i++)
        file->plans[i].fingerprint = fingerprint;
    return status;
}

enum status schedule_file_read(const char *path, struct schedule_file **list,
                               const struct schedule_file **file)
{
    char *text;
    for (struct schedule_file *known = *list; known; known = known->next)
        if (strcmp(known->path, path) == 0) {
            *file = known;
            return STATUS_OK;
        }
    if (access(path, F_OK) != 0)
        return fail(
            STATUS_USAGE,
            "cannot read %.200s: %s: each rank reads the schedules, so its host needs the file",
            path, strerror(errno));
    enum status status = text_file_read(path, &text);
    if (status != STATUS_OK)
        return status;
    struct schedule_file *made = calloc(1, sizeof *made);
    if (made)
        *made =
            (struct schedule_file){.next = *list, .path = strdup(path), .arena = arena_create()};
    if (!made || !made->path || !made->arena) {
        free(text);
        if (made)
            made->next = NULL;
        schedule_files_free(made);
        return fail(STATUS_ERROR, "out of memory for %.200s", path);
    }
    *file = *list = made;
    status = file_parse(made, text);
    free(text);
    return status;
}

enum status schedule_file_plan(const struct schedule_file *file,
                               const struct collective *collective, struct file_plan **plan)
{
    *plan = NULL;
    for (size_t i = 0; i < file->count; i++) {
        if (file->plans[i].problem.collective != collective)
            continue;
        if (*plan)
            return fail(
                STATUS_USAGE,
                "%.200s has several plans of %s, and -a file:PATH takes one: give each a file "
                "of its own",
                file->path, collective->name);
        *plan = &file->plans[i];
    }
    return STATUS_OK;
}

void schedule_files_free(struct schedule_file *list)
{
    while (list) {
        struct schedule_file *file = list;
        list = list->next;
        for (size_t i = 0; i < file->count; i++)
            file_plan_free(&file->plans[i]);
        arena_free(file->arena);
        free(file->path);
        free(file);
    }
}
