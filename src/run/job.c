/*
 * job.c - what follows from a job without running it: its sizes, its problems, its groups of ranks.
 */
#include "run/run.h"

#include "base/list.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_release(struct job *job)
{
    free(job->candidates);
    schedule_files_free(job->files);
    free(job->counts.numbers);
    free(job->split.group);
    tuned_free(job->tuned);
    job->tuned = NULL;
    job->candidates = NULL;
    job->files = NULL;
    job->candidate_count = 0;
    job->counts.numbers = NULL;
    job->split.group = NULL;
}

struct traits job_traits(const struct job *job)
{
    struct traits traits = {.counted = false};
    for (int i = 0; job->collectives[i]; i++) {
        const struct collective *collective = job->collectives[i];
        traits.counted |= collective->counted;
        traits.reduces |= collective->reduces;
        traits.rooted |= collective->rooted;
        traits.sized |= collective->sized;
        traits.takes_operator |= collective->reduces && collective->sized;
    }
    return traits;
}

bool job_sweeps(const struct job *job, const struct collective *collective)
{
    return collective->sized &&
           !(collective->counted && job->counts.distribution == DISTRIBUTION_FILE);
}

size_t job_first_size(const struct job *job, const struct candidate *candidate)
{
    return candidate->collective->sized ? job->smallest : candidate->datatype->size;
}

size_t job_next_size(const struct job *job, const struct candidate *candidate, size_t bytes)
{
    size_t next;
    if (!job_sweeps(job, candidate->collective))
        return 0;
    if (job->increment) {
        if (__builtin_add_overflow(bytes, job->increment, &next))
            return 0;
    } else if (bytes == 0) {
        next = candidate->datatype->size;
    } else if (__builtin_mul_overflow(bytes, job->factor, &next)) {
        return 0;
    }
    return next > bytes && next <= job->largest ? next : 0;
}

unsigned long long job_size_count(const struct job *job, const struct candidate *candidate)
{
    unsigned long long count = 1;
    if (job->increment && job_sweeps(job, candidate->collective))
        return count + (job->largest - job->smallest) / job->increment;
    for (size_t bytes = job_first_size(job, candidate);
         (bytes = job_next_size(job, candidate, bytes)) != 0;)
        count++;
    return count;
}

/* The shape of the nodes of a group. */
static enum status group_nodes(const struct job *job, const struct rank_group *group,
                               const int *node, struct shape **nodes)
{
    int each = job->shape_ranks;
    char why[160] = "";
    if (job->shape_groups > 0) {
        *nodes = shape_of_sizes(&each, 1, group->ranks, why, sizeof why);
    } else {
        int *nodes_of_ranks = new_array((size_t)group->ranks, sizeof *nodes_of_ranks);
        for (int r = 0; r < group->ranks; r++)
            nodes_of_ranks[r] = node[group->members[r]];
        *nodes = shape_create(nodes_of_ranks, group->ranks);
        free(nodes_of_ranks);
    }
    return *nodes ? STATUS_OK
                  : fail(STATUS_ERROR, "out of memory for the nodes of %d ranks", group->ranks);
}

enum status job_check_shape(const struct job *job, int ranks, const char *whose)
{
    long long wanted = (long long)job->shape_groups * job->shape_ranks;
    if (job->shape_groups == 0 || wanted == ranks)
        return STATUS_OK;
    return fail_option(STATUS_USAGE, *whose ? "shape split" : "shape",
                       "--shape %dx%d is for %lld ranks, not %d%s: let them agree",
                       job->shape_groups, job->shape_ranks, wanted, ranks, whose);
}

enum status job_split(const struct job *job, int ranks, const int *node, struct split *split)
{
    *split = (struct split){0};
    TRY(split_groups(&job->split, ranks, node, &split->groups));
    if (!split->groups)
        return STATUS_OK;
    TRY(job_check_shape(job, shape_size(split->groups, 0),
                        job->split.kind == SPLIT_NONE ? "" : ", as a group of --split has"));
    if (job->shape_groups == 0 && !node)
        return STATUS_OK;
    int count = split->groups->groups;
    struct shape **nodes = new_array((size_t)count, sizeof *nodes);
    enum status status = STATUS_OK;
    for (int g = 0; g < count && status == STATUS_OK; g++) {
        const struct rank_group group = split_group(split, g);
        status = group_nodes(job, &group, node, &nodes[g]);
    }
    split->nodes = nodes;
    return status;
}

enum status job_problem(const struct job *job, const struct candidate *candidate, size_t bytes,
                        const struct rank_group *group, struct sized_problem *sized)
{
    int ranks = group->ranks;
    const struct collective *collective = candidate->collective;
    const struct choice *choice = &candidate->choice;
    struct problem *problem = &sized->problem;
    struct counts **counts = &sized->counts;
    *sized = (struct sized_problem){
        .problem = {.collective = collective,
                    .ranks = ranks,
                    .root = collective->rooted && job->root != ROOT_ALL ? job->root : 0,
                    .count = collective_count(collective, bytes, candidate->datatype->size, ranks),
                    .in_place = job->in_place,
                    .finishes = candidate->reduction && candidate->reduction->finishes,
                    .shape = group->nodes,
                    .members = group->members,
                    .ring_place = group->ring_place}};
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

struct inputs job_inputs(const struct job *job, const struct candidate *candidate,
                         const struct rank_group *group, uint64_t iteration)
{
    return (struct inputs){.datatype = candidate->datatype,
                           .reduction = candidate->reduction,
                           .ranks = group->ranks,
                           .seed = job->seed + (uint64_t)group->number,
                           .iteration = iteration};
}

static bool job_has_schedules(const struct job *job)
{
    bool has = false;
    for (int c = 0; c < job->candidate_count; c++)
        has |= job->candidates[c].choice.algorithm && !job->candidates[c].choice.algorithm->vendor;
    return has;
}

/* The option that acts on schedules only, and its value as a sentence has it; NULL: none given. */
static const char *schedule_option(const struct job *job, const char **value)
{
    *value = "";
    for (int i = 0; i < job->injection_count; i++)
        if (injection_takes_message(&job->injections[i])) {
            *value = " corrupt or drop";
            return "inject";
        }
    const char *option = job->channels > 1               ? "channels"
                         : job->chunk != GRAIN_AUTO      ? "chunk"
                         : job->copy != COPY_AUTO        ? "copy"
                         : job->slots                    ? "slots"
                         : job->slot_bytes               ? "slot-size"
                         : job->profile                  ? "profile"
                         : job->split.kind != SPLIT_NONE ? "split"
                                                         : NULL;
    if (option || job_has_schedules(job))
        return option;
    if (job->executor == EXECUTOR_DEVICE) {
        *value = " device";
        return "executor";
    }
    return job->graph ? "graph" : job->protocol != PROTOCOL_AUTO ? "protocol" : NULL;
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

const char *job_vendor_refusal(const struct job *job, const struct candidate *candidate, int ranks,
                               char text[VENDOR_WHY_MOST])
{
    const struct algorithm *algorithm = candidate->choice.algorithm;
    const struct vendor_task task = {.collective = candidate->collective,
                                     .datatype = candidate->datatype,
                                     .reduction = candidate->reduction,
                                     .ranks = ranks,
                                     .in_place = job->in_place};
    if (!algorithm || !algorithm->vendor)
        return NULL;
    return vendor_find(algorithm->vendor)->refuses(&task, text);
}

enum status job_check_vendors(const struct job *job, int ranks)
{
    const struct vendor *vendor = job_vendor(job);
    if (!vendor)
        return STATUS_OK;
    if (job->memory != vendor->memory)
        return fail_option(STATUS_USAGE, "algorithm",
                           "--algorithm %s needs its buffers in %s memory: give -m %s",
                           vendor->name, vendor->memory->name, vendor->memory->name);
    const char *value, *option = schedule_option(job, &value);
    if (option)
        return fail_option(
            STATUS_USAGE, option,
            "--%s%s acts on cctest's own algorithms, and %s has messages of its own: leave "
            "one of the two out",
            option, value, vendor->title);
    for (int i = 0; i < job->candidate_count && !job->types_all; i++) {
        const struct candidate *candidate = &job->candidates[i];
        char text[VENDOR_WHY_MOST];
        const char *why = job_vendor_refusal(job, candidate, ranks, text);
        if (why)
            return fail(STATUS_USAGE, "%s %s: %s", candidate->collective->name, vendor->name, why);
    }
    return STATUS_OK;
}

bool job_considers_devices(const struct job *job)
{
    return job->executor != EXECUTOR_HOST && device_group_serves(job->memory) &&
           job_has_schedules(job);
}

bool candidate_runs_at(const struct candidate *candidate, size_t bytes)
{
    return bytes >= candidate->least && bytes <= candidate->most;
}
