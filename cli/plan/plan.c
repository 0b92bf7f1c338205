/*
 * plan.c - `cctest plan`: shows the steps of an algorithm without running it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "collective/formats/formats.h"
#include "cli/plan/internal.h"
#include "base/io/io.h"
#include "host/host.h"
#include "run/run.h"

#define RANKS_STANDARD 4
#define HEAD_MOST      512

/* Without -b, a block is one element, so that element numbers are block numbers; a file shows its
 * own elements. From 128 ranks on, several channels cut a whole vector in units of CHANNEL_UNIT
 * elements, so their blocks differ. */
static size_t plan_bytes(const struct command_line *line, const struct job *job,
                         const struct candidate *candidate, int ranks)
{
    size_t element = (size_t)channel_count_host(job) * candidate->datatype->size;
    const struct file_plan *plan = candidate->choice.file;
    if (command_line_argument(line, "min-bytes")->source != SOURCE_DEFAULT)
        return job->smallest;
    return plan ? collective_bytes(&plan->problem, element) : (size_t)ranks * element;
}

static enum status plan_check(struct request *request, int ranks, const struct split *split)
{
    struct job *job = &request->job;
    const char *one = request->files.svg    ? "svg"
                      : request->plan.goal  ? "goal"
                      : request->plan.msccl ? "msccl"
                                            : NULL;
    if (one && job->candidate_count > 1)
        return fail_option(STATUS_USAGE, one,
                           "--%s %s one algorithm, and these are %d: name one with -a", one,
                           request->files.svg ? "draws" : "writes", job->candidate_count);
    if (request->files.svg && ranks > PICTURE_RANKS_MOST)
        return fail_option(STATUS_USAGE, "np",
                           "a picture of %d ranks is unreadable: give --np of at most %d", ranks,
                           PICTURE_RANKS_MOST);
    if (job_vendor(job))
        return fail(STATUS_USAGE,
                    "%s runs steps of its own, which it does not show: name another "
                    "algorithm with -a",
                    job_vendor(job)->title);
    if (job->root == ROOT_ALL)
        return fail_option(STATUS_USAGE, "root",
                           "a plan has one root: give --root a rank's number");
    if (job->bootstrap.rank >= ranks)
        return fail_option(STATUS_USAGE, "rank",
                           "--rank %d is not among the %d ranks: choose one from 0 to %d",
                           job->bootstrap.rank, ranks, ranks - 1);
    return job_check_ranks(job, ranks, split);
}

/* "allreduce ring, 4 ranks, size 16 bytes, count 4 of float, out of place" */
static void head_write(const struct candidate *candidate, const struct problem *problem,
                       char text[HEAD_MOST])
{
    const struct collective *collective = candidate->collective;
    const struct datatype *datatype = candidate->datatype;
    struct text head = text_in(text, HEAD_MOST);
    text_add(&head, "%s %.300s, %d rank%s", collective->name, candidate->text, problem->ranks,
             plural(problem->ranks));
    if (collective->sized)
        text_add(&head, ", size %zu bytes, count %zu of %s, %s",
                 collective_bytes(problem, datatype->size), problem->count, datatype->name,
                 problem->in_place ? "in-place" : "out of place");
    if (collective->rooted)
        text_add(&head, ", root %d", problem->root);
}

static void head_print(const struct candidate *candidate, const struct problem *problem)
{
    char head[HEAD_MOST];
    const struct file_plan *file = candidate->choice.file;
    head_write(candidate, problem, head);
    if (file && file->note)
        printf("# %s: %s\n", candidate->text, file->note);
    if (candidate->why[0])
        printf("# auto picks %s: %s\n", candidate->text, candidate->why);
    printf("# %s\n# -> sends to, <- receives from, <-+ also combines; [a..b): elements a to b-1\n",
           head);
}

/* Refuses a document of so many ranks that does not fit the memory. `schedule`: of one of them; the
 * others have about as many operations. Text needs no memory. */
#define OPERATION_JSON_BYTES 3000 /* as measured; rings have 2700 */
static enum status json_fits(const struct schedule *schedule, int ranks)
{
    size_t left = memory_available();
    double bytes = OPERATION_JSON_BYTES * (double)schedule->count * ranks;
    if (bytes <= (double)left)
        return STATUS_OK;
    return fail_option(
        STATUS_USAGE, "json",
        "the JSON of %d ranks with about %zu operations each takes %.0f MiB of memory, and "
        "%zu are left: show one with --rank R, or leave --json out",
        ranks, schedule->count, bytes / (1 << 20), left >> 20);
}

/* The rank that sends the most elements, and the steps of all. */
struct busiest {
    int rank, steps;
    struct sent sent;
};

static void busiest_keep(struct busiest *busiest, const struct schedule *schedule)
{
    struct sent sent = schedule_sent(schedule);
    if (schedule->steps > busiest->steps)
        busiest->steps = schedule->steps;
    if (sent.elements > busiest->sent.elements) {
        busiest->rank = schedule->rank;
        busiest->sent = sent;
    }
}

static void busiest_print(const struct busiest *busiest, const struct candidate *candidate)
{
    printf("\n# %s %.300s: %d step%s; rank %d sends the most: %zu message%s, %zu element%s (%zu "
           "bytes)\n\n",
           candidate->collective->name, candidate->text, busiest->steps, plural(busiest->steps),
           busiest->rank, busiest->sent.messages, plural((long long)busiest->sent.messages),
           busiest->sent.elements, plural((long long)busiest->sent.elements),
           busiest->sent.elements * candidate->datatype->size);
}

/* One algorithm: all ranks, or the one of --rank. `plans`: an array for the JSON, or NULL. */
static enum status plan_choice(const struct job *job, const struct problem *problem, int index,
                               bool text, json_t *plans)
{
    int first = job->bootstrap.rank >= 0 ? job->bootstrap.rank : 0;
    int last = job->bootstrap.rank >= 0 ? job->bootstrap.rank : problem->ranks - 1;
    const struct candidate *candidate = &job->candidates[index];
    const struct planned planned = {candidate->choice, *problem, candidate->datatype->name,
                                    collective_bytes(problem, candidate->datatype->size),
                                    channel_count_host(job)};
    json_t *plan = plans ? json_object_of(planned_fields, &planned, NULL) : NULL;
    if (plan)
        json_array_append_new(plans, plan);
    struct busiest busiest = {.rank = first};
    for (int rank = first; rank <= last; rank++) {
        struct schedule *schedule = NULL;
        enum status status = schedule_build(&job->candidates[index].choice, problem, rank,
                                            channel_count_host(job), true, &schedule);
        if (status == STATUS_OK && plan && rank == first)
            status = json_fits(schedule, last - first + 1);
        if (status != STATUS_OK) {
            schedule_free(schedule);
            return status;
        }
        if (text && rank == first)
            head_print(&job->candidates[index], problem);
        if (text)
            plan_print(schedule, job->bootstrap.verbosity > 0);
        if (plan)
            json_array_append_new(json_object_get(plan, "schedules"),
                                  json_object_of(schedule_fields, schedule, NULL));
        busiest_keep(&busiest, schedule);
        schedule_free(schedule);
    }
    if (text && first < last)
        busiest_print(&busiest, candidate);
    return STATUS_OK;
}

/* The schedules of all ranks. To be freed with schedules_free(), also after an error. */
static enum status schedules_build(const struct job *job, const struct problem *problem,
                                   struct schedule ***schedules)
{
    const struct choice *choice = &job->candidates[0].choice;
    enum status status = STATUS_OK;
    *schedules = calloc((size_t)problem->ranks, sizeof **schedules);
    if (!*schedules)
        return fail(STATUS_ERROR, "out of memory for the schedules of %d ranks", problem->ranks);
    for (int rank = 0; rank < problem->ranks && status == STATUS_OK; rank++)
        status = schedule_build(choice, problem, rank, channel_count_host(job), true,
                                &(*schedules)[rank]);
    return status;
}

static void schedules_free(struct schedule **schedules, int ranks)
{
    for (int rank = 0; schedules && rank < ranks; rank++)
        schedule_free(schedules[rank]);
    free(schedules);
}

/* The picture needs all ranks, also when it shows one: a message may carry data of other ranks. */
static enum status plan_picture(const struct job *job, const struct problem *problem,
                                const char *path)
{
    char head[HEAD_MOST];
    struct schedule **schedules;
    enum status status = schedules_build(job, problem, &schedules);
    head_write(&job->candidates[0], problem, head);
    if (status == STATUS_OK)
        status = plan_draw((const struct schedule *const *)schedules, problem, job->bootstrap.rank,
                           head, job->candidates[0].choice.algorithm->summary, path);
    schedules_free(schedules, problem->ranks);
    return status;
}

/* The schedules of all ranks in one text, which a writer makes of each of them or of all at
 * once. */
struct plan_text {
    const struct job *job;
    double calc; /* as of struct plan_options */
    const struct problem *problem;
    FILE *out;
};

static enum status text_goal(const struct plan_text *text)
{
    const struct job *job = text->job;
    char head[HEAD_MOST];
    enum status status = STATUS_OK;
    head_write(&job->candidates[0], text->problem, head);
    goal_begin(text->out, head, text->problem->ranks);
    for (int rank = 0; rank < text->problem->ranks && status == STATUS_OK; rank++) {
        struct schedule *schedule = NULL;
        status = schedule_build(&job->candidates[0].choice, text->problem, rank,
                                channel_count_host(job), true, &schedule);
        if (status == STATUS_OK)
            status = goal_rank(text->out, schedule, job->candidates[0].datatype->size, text->calc);
        schedule_free(schedule);
    }
    return status;
}

static enum status text_msccl(const struct plan_text *text)
{
    char name[64];
    struct schedule **schedules;
    enum status status = schedules_build(text->job, text->problem, &schedules);
    snprintf(name, sizeof name, "cctest-%s-%s", text->problem->collective->name,
             text->job->candidates[0].choice.algorithm->name);
    if (status == STATUS_OK)
        status = msccl_write(text->out, name, (const struct schedule *const *)schedules);
    schedules_free(schedules, text->problem->ranks);
    return status;
}

/* `path`: NULL: it is not wanted. */
static enum status plan_text_put(const struct request *request, const struct problem *problem,
                                 enum status (*write)(const struct plan_text *text),
                                 const char *path)
{
    struct draft text;
    if (!path)
        return STATUS_OK;
    enum status made =
        write(&(struct plan_text){&request->job, request->plan.calc, problem, draft_open(&text)});
    return draft_put(&text, made, path);
}

enum status plan_command(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    const struct file_plan *file = job->candidates[0].choice.file;
    int standard = file ? file->problem.ranks : RANKS_STANDARD;
    int ranks = job->bootstrap.np ? job->bootstrap.np : standard;
    int *here = calloc((size_t)ranks, sizeof *here);
    struct split split;
    if (!here)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    job->smallest = job->largest = plan_bytes(line, job, &job->candidates[0], ranks);
    enum status status = job_split(job, ranks, here, &split);
    free(here);
    if (status == STATUS_OK)
        status = plan_check(request, ranks, &split);
    if (status != STATUS_OK) {
        split_free(&split);
        return status;
    }
    const struct rank_group all = split_group(&split, 0);
    bool text = !outputs_take_standard(request, FOR_PLAN);
    json_t *document = request->files.json ? json_document() : NULL;
    json_t *plans = document ? json_array() : NULL;
    if (document)
        json_object_set_new(document, "plans", plans);
    for (int i = 0; i < job->candidate_count && status == STATUS_OK; i++) {
        struct sized_problem sized;
        size_t bytes = plan_bytes(line, job, &job->candidates[i], ranks);
        status = job_problem(job, &job->candidates[i], bytes, &all, &sized);
        if (status == STATUS_OK && request->files.svg)
            status = plan_picture(job, &sized.problem, request->files.svg);
        if (status == STATUS_OK)
            status = plan_text_put(request, &sized.problem, text_goal, request->plan.goal);
        if (status == STATUS_OK)
            status = plan_text_put(request, &sized.problem, text_msccl, request->plan.msccl);
        if (status == STATUS_OK)
            status = plan_choice(job, &sized.problem, i, text, plans);
        counts_free(sized.counts);
    }
    split_free(&split);
    if (document && status == STATUS_OK)
        status = json_put(document, request->files.json);
    json_decref(document);
    return status;
}
