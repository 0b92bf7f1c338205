/*
 * job.c - what follows from a job without running it: its sizes, its problems, and whether a number
 * of ranks suits it.
 */
#include "run/job.h"

#include "base/log.h"
#include "memory/reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t job_next_size(const struct job *job, size_t bytes)
{
    size_t next;
    if (job->increment) {
        if (__builtin_add_overflow(bytes, job->increment, &next))
            return 0;
    } else if (bytes == 0) {
        next = job->datatype->size;
    } else if (__builtin_mul_overflow(bytes, job->factor, &next)) {
        return 0;
    }
    return next > bytes && next <= job->largest ? next : 0;
}

unsigned long long job_size_count(const struct job *job)
{
    unsigned long long count = 1;
    if (job->increment)
        return count + (job->largest - job->smallest) / job->increment;
    for (size_t bytes = job->smallest; (bytes = job_next_size(job, bytes)) != 0;)
        count++;
    return count;
}

enum status job_shape(const struct job *job, int ranks, const int *node, struct shape **shape)
{
    int groups = job->shape_groups, each = job->shape_ranks;
    long long wanted = (long long)groups * each;
    char why[160] = "";
    *shape = NULL;
    if (groups > 0 && wanted != ranks)
        return fail(STATUS_USAGE, "--shape %dx%d is for %lld ranks, not %d: let them agree", groups,
                    each, wanted, ranks);
    if (groups > 0)
        *shape = shape_of_sizes(&each, 1, ranks, why, sizeof why);
    else if (node)
        *shape = shape_create(node, ranks);
    if (!*shape && (groups > 0 || node))
        return fail(STATUS_ERROR, "out of memory for the groups of %d ranks", ranks);
    return STATUS_OK;
}

enum status job_problem(const struct job *job, const struct choice *choice, size_t bytes, int ranks,
                        const struct shape *shape, struct sized_problem *sized)
{
    const struct collective *collective = job->collective;
    struct problem *problem = &sized->problem;
    struct counts **counts = &sized->counts;
    *sized = (struct sized_problem){
        .problem = {.collective = collective,
                    .ranks = ranks,
                    .root = collective->rooted && job->root != ROOT_ALL ? job->root : 0,
                    .count = collective_count(collective, bytes, job->datatype->size, ranks),
                    .in_place = job->in_place,
                    .finishes = job->reduction && job->reduction->finishes,
                    .shape = shape}};
    enum status status = STATUS_OK;
    if (choice->algorithm && choice->algorithm->partner)
        status = choice_partners(choice, ranks, counts);
    else if (collective->counted)
        status = counts_create(&job->counts,
                               collective->source.blocks && collective->destination.blocks
                                   ? COUNTS_MATRIX
                                   : COUNTS_VECTOR,
                               ranks, problem->count * (size_t)ranks, job->seed, counts);
    problem->counts = *counts;
    if (status == STATUS_OK && collective->counted)
        problem->count = counts_mean(*counts);
    return status;
}

/* A grouped algorithm is accepted until the groups are known. */
static const char *choice_refusal(const struct job *job, const struct choice *choice, int ranks,
                                  const struct shape *shape, char *why, size_t size)
{
    struct problem problem = {.collective = job->collective,
                              .ranks = ranks,
                              .root = job->root == ROOT_ALL ? 0 : job->root,
                              .shape = shape};
    if (!choice->algorithm || (choice->algorithm->grouped && !shape && choice->group_count == 0))
        return NULL;
    return choice_refuses(choice, &problem, why, size);
}

static bool job_has_schedules(const struct job *job)
{
    bool has = false;
    for (int c = 0; c < job->candidate_count; c++)
        has |= job->candidates[c].choice.algorithm && !job->candidates[c].choice.algorithm->vendor;
    return has;
}

/* What acts on schedules only. */
static const char *schedule_option(const struct job *job)
{
    for (int i = 0; i < job->injection_count; i++)
        if (injection_takes_message(&job->injections[i]))
            return "--inject corrupt or drop";
    return job->channels > 1                  ? "--channels"
           : job->chunk != GRAIN_AUTO         ? "--chunk"
           : job->copy != COPY_AUTO           ? "--copy"
           : job->slots                       ? "--slots"
           : job->slot_bytes                  ? "--slot-size"
           : job->profile                     ? "--profile"
           : job_has_schedules(job)           ? NULL
           : job->executor == EXECUTOR_DEVICE ? "--executor device"
           : job->graph                       ? "--graph"
           : job->protocol != PROTOCOL_AUTO   ? "--protocol"
                                              : NULL;
}

const struct vendor *job_vendor(const struct job *job)
{
    for (int i = 0; i < job->candidate_count; i++) {
        const struct algorithm *algorithm = job->candidates[i].choice.algorithm;
        if (algorithm && algorithm->vendor)
            return vendor_find(algorithm->vendor);
    }
    return NULL;
}

enum status job_check_vendors(const struct job *job, int ranks)
{
    const struct vendor *vendor = job_vendor(job);
    const struct vendor_task task = {.collective = job->collective,
                                     .datatype = job->datatype,
                                     .reduction = job->reduction,
                                     .ranks = ranks,
                                     .in_place = job->in_place};
    char text[VENDOR_WHY_MOST];
    if (!vendor)
        return STATUS_OK;
    if (job->memory != vendor->memory)
        return fail(STATUS_USAGE, "--algorithm %s needs its buffers in %s memory: give -m %s",
                    vendor->name, vendor->memory->name, vendor->memory->name);
    const char *option = schedule_option(job), *why = vendor->refuses(&task, text);
    if (option)
        return fail(STATUS_USAGE,
                    "%s acts on cctest's own algorithms, and %s has messages of its own: leave "
                    "one of the two out",
                    option, vendor->title);
    return why ? fail(STATUS_USAGE, "%s %s: %s", job->collective->name, vendor->name, why)
               : STATUS_OK;
}

bool job_considers_devices(const struct job *job)
{
    return job->executor != EXECUTOR_HOST && device_group_serves(job->memory) &&
           job_has_schedules(job);
}

bool job_drops(const struct job *job, int rank)
{
    for (int i = 0; i < job->injection_count; i++)
        if (job->injections[i].kind == INJECT_DROP && job->injections[i].rank == rank)
            return true;
    return false;
}

bool job_runs_at(const struct job *job, int candidate, size_t bytes)
{
    return bytes >= job->candidates[candidate].least && bytes <= job->candidates[candidate].most;
}

/* The candidates of a job, while `auto` is replaced by its picks. */
struct candidates {
    struct candidate list[CANDIDATES_MOST];
    int count;
};

static enum status candidates_add(struct candidates *candidates, const struct candidate *candidate)
{
    if (candidates->count == CANDIDATES_MOST)
        return fail(STATUS_USAGE, "more than %d algorithms to run: compare fewer at once",
                    CANDIDATES_MOST);
    candidates->list[candidates->count++] = *candidate;
    return STATUS_OK;
}

/* The size by which auto picks: that of the problem that the asked size makes. */
static enum status auto_bytes(const struct job *job, int ranks, size_t asked, size_t *bytes)
{
    static const struct choice unknown;
    struct sized_problem sized;
    enum status status = job_problem(job, &unknown, asked, ranks, NULL, &sized);
    if (status == STATUS_OK)
        *bytes = collective_bytes(&sized.problem, job->datatype->size);
    counts_free(sized.counts);
    return status;
}

/* Adds auto's pick for each size of the sweep. */
static enum status auto_expand(const struct job *job, int ranks, const struct shape *shape,
                               struct candidates *candidates)
{
    struct problem problem = {.collective = job->collective, .ranks = ranks, .shape = shape};
    struct candidate *last = NULL;
    for (size_t bytes = job->smallest, next = 1; next != 0; bytes = next) {
        const char *why;
        size_t size;
        enum status status = auto_bytes(job, ranks, bytes, &size);
        if (status != STATUS_OK)
            return status;
        const struct algorithm *algorithm = algorithm_auto(&problem, size, &why);
        if (!algorithm)
            return fail(STATUS_USAGE,
                        "auto knows no algorithm for %s on %d ranks: name one with -a",
                        job->collective->name, ranks);
        if (!last || last->choice.algorithm != algorithm) {
            struct candidate picked = {.choice = choice_of(algorithm), .least = bytes, .why = why};
            snprintf(picked.text, sizeof picked.text, "%s", algorithm->name);
            status = candidates_add(candidates, &picked);
            if (status != STATUS_OK)
                return status;
            last = &candidates->list[candidates->count - 1];
        }
        last->most = bytes;
        next = job_next_size(job, bytes);
    }
    return STATUS_OK;
}

static enum status candidates_expand(struct job *job, int ranks, const struct shape *shape)
{
    struct candidates *candidates = calloc(1, sizeof *candidates);
    if (!candidates)
        return fail(STATUS_ERROR, "out of memory for algorithms");
    enum status status = STATUS_OK;
    for (int i = 0; i < job->candidate_count && status == STATUS_OK; i++)
        status = job->candidates[i].choice.algorithm
                     ? candidates_add(candidates, &job->candidates[i])
                     : auto_expand(job, ranks, shape, candidates);
    if (status == STATUS_OK) {
        memcpy(job->candidates, candidates->list, sizeof job->candidates);
        job->candidate_count = candidates->count;
    }
    free(candidates);
    return status;
}

/* Removes algorithms that refuse, under `-a all`. */
static enum status check_candidates(struct job *job, int ranks, const struct shape *shape)
{
    const char *name = job->collective->name;
    int kept = 0;
    for (int i = 0; i < job->candidate_count; i++) {
        const struct candidate *candidate = &job->candidates[i];
        char text[256];
        const char *why = choice_refusal(job, &candidate->choice, ranks, shape, text, sizeof text);
        if (why && !job->choices_all)
            return fail(STATUS_USAGE, "%s %s: %s", name, candidate->text, why);
        if (why)
            say_verbose(1, "%s %s is left out: %s", name, candidate->text, why);
        else if (kept++ != i)
            job->candidates[kept - 1] = *candidate;
    }
    if (kept == 0)
        return fail(STATUS_USAGE, "no algorithm for %s accepts %d ranks: choose another number",
                    name, ranks);
    job->candidate_count = kept;
    return STATUS_OK;
}

enum status job_check_ranks(struct job *job, int ranks, const struct shape *shape)
{
    if (job->collective->rooted && job->root != ROOT_ALL && job->root >= ranks)
        return fail(STATUS_USAGE, "root %d is not among the %d ranks: choose one from 0 to %d",
                    job->root, ranks, ranks - 1);
    for (int i = 0; i < job->injection_count; i++)
        if (job->injections[i].rank >= ranks)
            return fail(STATUS_USAGE,
                        "rank %d of --inject is not among the %d ranks: choose one from 0 to %d",
                        job->injections[i].rank, ranks, ranks - 1);
    int most = job->reduction ? reduce_ranks_most(job->datatype, job->reduction) : ranks;
    if (ranks > most)
        return fail(STATUS_USAGE,
                    "--op %s of %s over %d ranks is always 0: choose a wider --datatype, or at "
                    "most %d ranks",
                    job->reduction->name, job->datatype->name, ranks, most);
    enum status status = job_check_vendors(job, ranks);
    if (status == STATUS_OK && shape)
        status = candidates_expand(job, ranks, shape);
    if (status == STATUS_OK)
        status = check_candidates(job, ranks, shape);
    struct sized_problem sized;
    if (status != STATUS_OK || !job->collective->counted)
        return status;
    status = job_problem(job, &job->candidates[0].choice, job->smallest, ranks, shape, &sized);
    counts_free(sized.counts);
    return status;
}
