/*
 * candidates.c - the candidates of a job: what its lines run. They begin as algorithms of
 * collectives; then they get datatypes and operators; then, when the ranks are known, `auto`
 * becomes its picks, and what does not suit the ranks is refused or left out.
 */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

static void job_add_candidate(struct job *job, const struct candidate *candidate)
{
    *LIST_ADD(job->candidates, job->candidate_count) = *candidate;
}

void job_copy(const struct job *job, struct job *copy)
{
    *copy = *job;
    copy->candidates = NULL;
    copy->candidate_count = 0;
    for (int i = 0; i < job->candidate_count; i++)
        job_add_candidate(copy, &job->candidates[i]);
}

bool candidates_compete(const struct candidate *a, const struct candidate *b)
{
    return a->collective == b->collective && a->datatype == b->datatype &&
           a->reduction == b->reduction;
}

int job_contest_end(const struct job *job, int first)
{
    int end = first + 1;
    while (end < job->candidate_count &&
           candidates_compete(&job->candidates[first], &job->candidates[end]))
        end++;
    return end;
}

bool candidate_is_first(const struct job *job, int candidate)
{
    const struct candidate *list = job->candidates;
    int first = candidate;
    while (first > 0 && list[first - 1].collective == list[candidate].collective)
        first--;
    return candidates_compete(&list[first], &list[candidate]);
}

bool job_is_one_contest(const struct job *job)
{
    return job_contest_end(job, 0) >= job->candidate_count;
}

const char *candidate_title(const struct job *job, const struct candidate *candidate,
                            char text[CANDIDATE_TITLE_MOST])
{
    struct text title = text_in(text, CANDIDATE_TITLE_MOST);
    text_add(&title, "%s %s", candidate->collective->name, candidate->text);
    if (candidate->collective->sized && (job->datatypes[1] || job->reductions[1]))
        text_add(&title, " %s%s%s", candidate->datatype->name, candidate->reduction ? " " : "",
                 candidate->reduction ? candidate->reduction->name : "");
    return text;
}

uint64_t candidate_trips(const struct candidate *candidate)
{
    return candidate->choice.algorithm->round_trip ? 2 : 1;
}

int candidate_roots(const struct job *job, const struct candidate *candidate, int ranks)
{
    return candidate->collective->rooted && job->root == ROOT_ALL ? ranks : 1;
}

bool job_orders_rings(const struct job *job)
{
    for (int c = 0; c < job->candidate_count; c++)
        if (choice_orders(&job->candidates[c].choice))
            return true;
    return false;
}

/* A vendor's library connects the ranks in the first run of each root, which is not to be timed. */
long candidate_warmups(const struct job *job, const struct candidate *candidate, int ranks)
{
    long connecting =
        candidate->choice.algorithm->vendor ? candidate_roots(job, candidate, ranks) : 0;
    if (connecting > job->iterations)
        connecting = job->iterations;
    return connecting > job->warmup ? connecting : job->warmup;
}

/* Each root has one at least. */
long candidate_checks(const struct job *job, const struct candidate *candidate, int ranks)
{
    long roots = candidate_roots(job, candidate, ranks);
    if (job->checked == CHECKED_ALL)
        return job->iterations;
    return job->checked > 0 && job->checked < roots ? roots : job->checked;
}

/* The job's candidates, while a new list takes their place. */
struct old_candidates {
    struct candidate *list;
    int count;
};

static struct old_candidates candidates_take(struct job *job)
{
    const struct old_candidates old = {job->candidates, job->candidate_count};
    job->candidates = NULL;
    job->candidate_count = 0;
    return old;
}

/* Adds candidates [first, end) of one collective, on one datatype with one operator. */
static void cross_pair(struct job *job, const struct old_candidates *old, int first, int end,
                       const struct datatype *datatype, const struct reduction *reduction)
{
    if (reduction && reduce_refusal(datatype, reduction))
        return;
    for (int i = first; i < end; i++) {
        struct candidate candidate = old->list[i];
        candidate.datatype = datatype;
        candidate.reduction = reduction;
        job_add_candidate(job, &candidate);
    }
}

static void cross_collective(struct job *job, const struct old_candidates *old, int first, int end)
{
    const struct collective *collective = old->list[first].collective;
    if (!collective->sized) {
        cross_pair(job, old, first, end, datatype_find("uint8"),
                   collective->reduces ? reduction_find("bor") : NULL);
        return;
    }
    for (int d = 0; job->datatypes[d]; d++) {
        if (!collective->reduces)
            cross_pair(job, old, first, end, job->datatypes[d], NULL);
        for (int o = 0; collective->reduces && job->reductions[o]; o++)
            cross_pair(job, old, first, end, job->datatypes[d], job->reductions[o]);
    }
}

void job_cross(struct job *job)
{
    const struct old_candidates old = candidates_take(job);
    for (int first = 0, end; first < old.count; first = end) {
        for (end = first; end < old.count; end++)
            if (old.list[end].collective != old.list[first].collective)
                break;
        cross_collective(job, &old, first, end);
    }
    free(old.list);
}

/* The size by which auto picks: that of the problem that the asked size makes. */
static enum status auto_bytes(const struct job *job, const struct candidate *automatic,
                              const struct rank_group *group, size_t asked, size_t *bytes)
{
    struct sized_problem sized;
    TRY(job_problem(job, automatic, asked, group, &sized));
    *bytes = collective_bytes(&sized.problem, automatic->datatype->size);
    counts_free(sized.counts);
    return STATUS_OK;
}

/* By the measurements of --tuning, else by the rules. The text of a pick has its options. */
static enum status auto_pick(const struct job *job, const struct problem *problem, size_t bytes,
                             struct candidate *picked)
{
    struct tuned_pick tuned;
    const char *why;
    if (job->tuned && tuned_choose(job->tuned, problem, bytes, &tuned)) {
        picked->choice = tuned.algorithm->choice;
        snprintf(picked->text, sizeof picked->text, "%s", tuned.algorithm->text);
        snprintf(picked->why, sizeof picked->why, "%s", tuned.why);
        return STATUS_OK;
    }
    const struct algorithm *algorithm = algorithm_auto(problem, bytes, &why);
    if (!algorithm)
        return fail(STATUS_USAGE, "auto knows no algorithm for %s on %d ranks: name one with -a",
                    problem->collective->name, problem->ranks);
    picked->choice = choice_of(algorithm);
    snprintf(picked->text, sizeof picked->text, "%s", algorithm->name);
    snprintf(picked->why, sizeof picked->why, "%s%s", why,
             job->tuned ? " (--tuning has no measurement of this collective)" : "");
    return STATUS_OK;
}

/* Adds auto's pick for each size of the sweep. */
static enum status auto_expand(struct job *job, const struct candidate *automatic,
                               const struct rank_group *group)
{
    struct problem problem = {
        .collective = automatic->collective, .ranks = group->ranks, .shape = group->nodes};
    struct candidate last = {.text = ""};
    for (size_t bytes = job_first_size(job, automatic), next = 1; next != 0; bytes = next) {
        struct candidate picked = *automatic;
        size_t size;
        TRY(auto_bytes(job, automatic, group, bytes, &size));
        TRY(auto_pick(job, &problem, size, &picked));
        picked.least = bytes;
        if (strcmp(picked.text, last.text) != 0 || strcmp(picked.why, last.why) != 0)
            job_add_candidate(job, &picked);
        last = picked;
        job->candidates[job->candidate_count - 1].most = bytes;
        next = job_next_size(job, automatic, bytes);
    }
    return STATUS_OK;
}

static enum status candidates_expand(struct job *job, const struct rank_group *group)
{
    const struct old_candidates old = candidates_take(job);
    enum status status = STATUS_OK;
    for (int i = 0; i < old.count && status == STATUS_OK; i++)
        if (old.list[i].choice.algorithm)
            job_add_candidate(job, &old.list[i]);
        else
            status = auto_expand(job, &old.list[i], group);
    free(old.list);
    return status;
}

/* A grouped algorithm is accepted until the nodes are known. */
static const char *choice_refusal(const struct job *job, const struct candidate *candidate,
                                  const struct rank_group *group, char *why, size_t size)
{
    const struct choice *choice = &candidate->choice;
    struct problem problem = {.collective = candidate->collective,
                              .ranks = group->ranks,
                              .root = job->root == ROOT_ALL ? 0 : job->root,
                              .shape = group->nodes};
    if (!choice->algorithm ||
        (choice->algorithm->grouped && !group->nodes && choice->group_count == 0))
        return NULL;
    return choice_refuses(choice, &problem, why, size);
}

/* By the first group that it cannot serve. Groups with the same nodes are alike. */
static const char *split_refusal(const struct job *job, const struct candidate *candidate,
                                 const struct split *split, char *why, size_t size)
{
    const char *refusal = NULL;
    for (int g = 0; g < split->groups->groups && !refusal; g++) {
        const struct rank_group group = split_group(split, g);
        if (g == 0 || (split->nodes && !shape_equal(split->nodes[g], split->nodes[g - 1])))
            refusal = choice_refusal(job, candidate, &group, why, size);
    }
    return refusal;
}

/* Why the result of a candidate has no meaning; NULL: it has one. */
static const char *meaning_refusal(const struct candidate *candidate, int ranks, char *text,
                                   size_t size)
{
    const struct reduction *reduction = candidate->reduction;
    int most = reduction ? reduce_ranks_most(candidate->datatype, reduction) : ranks;
    if (ranks <= most)
        return NULL;
    snprintf(text, size,
             "--op %s of %s over %d ranks is always 0: choose a wider --datatype, or at most %d "
             "ranks",
             reduction->name, candidate->datatype->name, ranks, most);
    return text;
}

/* *keeps: it runs. If it does not, but was not named by itself either, the rest of the job does. */
static enum status candidate_check(const struct job *job, const struct candidate *candidate,
                                   const struct split *split, bool *keeps)
{
    int ranks = shape_size(split->groups, 0);
    char text[VENDOR_WHY_MOST], title[CANDIDATE_TITLE_MOST];
    const char *meaning = meaning_refusal(candidate, ranks, text, sizeof text);
    const char *why = meaning ? meaning : job_vendor_refusal(job, candidate, ranks, text);
    bool optional = job->types_all;
    if (!why) {
        why = split_refusal(job, candidate, split, text, sizeof text);
        optional = job->choices_all;
    }
    *keeps = !why;
    candidate_title(job, candidate, title);
    if (why && !optional)
        return why == meaning
                   ? fail_option(STATUS_USAGE, "datatype op", "%s", why)
                   : fail_option(STATUS_USAGE, candidate->choice.file ? "np root" : "shape",
                                 "%s: %s", title, why);
    if (why)
        say_verbose(1, "%s is left out: %s", title, why);
    return STATUS_OK;
}

/* Removes what is left out. Each collective keeps something. */
static enum status check_candidates(struct job *job, const struct split *split)
{
    int kept = 0, left = 0;
    for (int i = 0; i < job->candidate_count; i++) {
        const struct candidate candidate = job->candidates[i];
        bool keeps, last = i + 1 == job->candidate_count ||
                           job->candidates[i + 1].collective != candidate.collective;
        TRY(candidate_check(job, &candidate, split, &keeps));
        if (keeps)
            job->candidates[kept++] = candidate;
        left += keeps;
        if (last && left == 0)
            return fail(STATUS_USAGE, "no algorithm for %s accepts %d ranks: choose another number",
                        candidate.collective->name, shape_size(split->groups, 0));
        left = last ? 0 : left;
    }
    job->candidate_count = kept;
    return STATUS_OK;
}

/* A file may be too short for the ranks. */
static enum status check_counts(const struct job *job, const struct rank_group *group)
{
    for (int i = 0; i < job->candidate_count; i++) {
        const struct candidate *candidate = &job->candidates[i];
        struct sized_problem sized;
        if (!candidate->collective->counted ||
            (i > 0 && candidate->collective == candidate[-1].collective))
            continue;
        TRY(job_problem(job, candidate, job->smallest, group, &sized));
        counts_free(sized.counts);
    }
    return STATUS_OK;
}

/* Does a file of schedules serve each size? */
static enum status check_file(const struct job *job, const struct candidate *candidate,
                              const struct rank_group *group)
{
    char why[FILE_WHY_MOST];
    for (size_t bytes = job_first_size(job, candidate), next = 1; next != 0; bytes = next) {
        struct sized_problem sized;
        TRY(job_problem(job, candidate, bytes, group, &sized));
        const char *refusal =
            file_plan_refuses(candidate->choice.file, &sized.problem, channel_count_host(job), why);
        counts_free(sized.counts);
        if (refusal)
            return fail_option(STATUS_USAGE, "channels", "%s %s: %s", candidate->collective->name,
                               candidate->text, refusal);
        next = job_next_size(job, candidate, bytes);
    }
    return STATUS_OK;
}

static enum status check_files(const struct job *job, const struct rank_group *group)
{
    for (int i = 0; i < job->candidate_count; i++)
        if (job->candidates[i].choice.file)
            TRY(check_file(job, &job->candidates[i], group));
    return STATUS_OK;
}

static enum status check_root(const struct job *job, int ranks)
{
    const char *where = job->split.kind == SPLIT_NONE ? "" : " of a group";
    if (!job_traits(job).rooted || job->root == ROOT_ALL || job->root < ranks)
        return STATUS_OK;
    return fail(STATUS_USAGE, "root %d is not among the %d rank%s%s: choose one from 0 to %d",
                job->root, ranks, plural(ranks), where, ranks - 1);
}

enum status job_check_ranks(struct job *job, int ranks, const struct split *split)
{
    for (int i = 0; i < job->injection_count; i++)
        if (job->injections[i].rank >= ranks)
            return fail_option(
                STATUS_USAGE, "inject",
                "rank %d of --inject is not among the %d ranks: choose one from 0 to %d",
                job->injections[i].rank, ranks, ranks - 1);
    if (!split->groups)
        return STATUS_OK;
    struct rank_group group = split_group(split, 0);
    group.nodes = split_common_nodes(split);
    TRY(check_root(job, group.ranks));
    TRY(job_check_vendors(job, group.ranks));
    if (split->nodes)
        TRY(candidates_expand(job, &group));
    TRY(check_candidates(job, split));
    TRY(check_counts(job, &group));
    return check_files(job, &group);
}

enum status job_add_choice(struct job *job, const struct collective *collective,
                           const struct choice *choice, const char *text)
{
    if (strlen(text) >= CANDIDATE_TEXT_MOST)
        return fail(STATUS_USAGE,
                    "'%.60s...' is longer than %d characters: leave out defaults, give --shape "
                    "instead of groups=, or give a file a shorter path",
                    text, CANDIDATE_TEXT_MOST - 1);
    struct candidate candidate = {.collective = collective, .choice = *choice, .most = SIZE_MAX};
    snprintf(candidate.text, sizeof candidate.text, "%s", text);
    job_add_candidate(job, &candidate);
    return STATUS_OK;
}

enum status job_add_all(struct job *job, const struct collective *collective)
{
    for (int i = 0; algorithms[i]; i++) {
        struct choice choice = choice_of(algorithms[i]);
        if (algorithm_serves(algorithms[i], collective->id) && !algorithms[i]->vendor)
            TRY(job_add_choice(job, collective, &choice, algorithms[i]->name));
    }
    return STATUS_OK;
}
