/*
 * resolve.c - reads the texts of options into a job, and settles options that depend on others.
 */
#include "cli/options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "collective/formats/formats.h"
#include "dataplane/memory/memory.h"

#define TIMEOUT_LEAST 0.2 /* seconds */

static enum source source_of(const struct command_line *line, const char *name)
{
    return command_line_argument(line, name)->source;
}

static void note_unused(const struct command_line *line, const struct request *request,
                        const char *option, bool used, const char *why)
{
    char names[COLLECTIVES_TEXT_MOST];
    if (!used && source_of(line, option) == SOURCE_FLAG)
        say_verbose(1, "%s %s: --%s is not used", collectives_text(request, names), why, option);
}

/* Options that no collective of the job takes have no effect. A job of barriers alone shows what
 * they are: a bor allreduce of bytes. */
static void settle_contract(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    const struct traits any = job_traits(job);
    note_unused(line, request, "op", any.takes_operator, "combines nothing");
    note_unused(line, request, "root", any.rooted, "has no root");
    note_unused(line, request, "datatype", any.sized, "moves no data");
    note_unused(line, request, "min-bytes", any.sized, "moves no data");
    note_unused(line, request, "max-bytes", any.sized, "moves no data");
    if (!any.rooted)
        job->root = 0;
    if (!any.takes_operator)
        job->reductions[0] = job->reductions[1] = NULL;
    if (!any.sized) {
        job->datatypes[0] = datatype_find("uint8");
        job->datatypes[1] = NULL;
        job->reductions[0] = any.reduces ? reduction_find("bor") : NULL;
        job->smallest = job->largest = job->datatypes[0]->size;
        job->factor = 2;
        job->increment = 0;
    }
}

/* A given bound moves a default bound. */
static enum status settle_bounds(const struct command_line *line, struct job *job)
{
    if (job->smallest <= job->largest)
        return STATUS_OK;
    if (source_of(line, "max-bytes") == SOURCE_DEFAULT) {
        job->largest = job->smallest;
        return STATUS_OK;
    }
    if (source_of(line, "min-bytes") == SOURCE_DEFAULT) {
        job->smallest = job->largest;
        return STATUS_OK;
    }
    char least[SIZE_TEXT_MOST], most[SIZE_TEXT_MOST];
    return fail_option(STATUS_USAGE, "min-bytes max-bytes",
                       "--min-bytes %s is more than --max-bytes %s: swap them",
                       size_format(job->smallest, least), size_format(job->largest, most));
}

/* Collectives with blocks of equal length refuse --counts, since it would have no effect on the
 * measurement. A file sets the block lengths, so there is one size. */
static enum status settle_counts(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    const struct traits any = job_traits(job);
    bool sweeps = false;
    if (!any.counted && source_of(line, "counts") == SOURCE_FLAG) {
        char form[COLLECTIVES_TEXT_MOST + 1], names[COLLECTIVES_TEXT_MOST];
        snprintf(form, sizeof form, "%sv", collectives_text(request, names));
        bool has = collective_find(form) != NULL;
        return fail_option(STATUS_USAGE, "counts",
                           "%s has blocks of one length: leave --counts out%s%s", names,
                           has ? ", or run " : "", has ? form : "");
    }
    for (int i = 0; job->collectives[i]; i++)
        sweeps |= job_sweeps(job, job->collectives[i]);
    if (sweeps || !any.counted)
        return STATUS_OK;
    if (source_of(line, "min-bytes") == SOURCE_FLAG || source_of(line, "max-bytes") == SOURCE_FLAG)
        return fail_option(
            STATUS_USAGE, "counts min-bytes max-bytes",
            "--counts %s sets the block lengths: leave --min-bytes and --max-bytes out",
            job->counts.path);
    job->largest = job->smallest;
    return STATUS_OK;
}

/* Sizes of a sweep: -i of other tools is the number of iterations. */
#define SIZES_MOST 10000000

static enum status settle_steps(const struct command_line *line, struct job *job)
{
    enum source factor = source_of(line, "step-factor"), bytes = source_of(line, "step-bytes");
    char least[SIZE_TEXT_MOST], most[SIZE_TEXT_MOST];
    if (bytes == SOURCE_NONE)
        return STATUS_OK;
    if (factor == bytes)
        return fail_option(
            STATUS_USAGE, "step-factor step-bytes",
            "--step-factor and --step-bytes both set the next size: give one of them");
    if (bytes > factor && job_traits(job).sized &&
        (job->largest - job->smallest) / job->increment >= SIZES_MOST)
        return fail_option(
            STATUS_USAGE, "step-bytes min-bytes max-bytes",
            "--step-bytes %zu makes %zu sizes from %s to %s: a sweep has %d at most, "
            "so take larger steps, or a factor (-f); -n is the number of iterations",
            job->increment, (job->largest - job->smallest) / job->increment + 1,
            size_format(job->smallest, least), size_format(job->largest, most), SIZES_MOST);
    if (bytes > factor)
        job->factor = 0;
    else
        job->increment = 0;
    return STATUS_OK;
}

#define BUDGET_USUAL 5 /* seconds */
static enum status settle_work(const struct command_line *line, struct job *job)
{
    if (!job->iterations_auto && source_of(line, "budget") == SOURCE_FLAG)
        return fail_option(STATUS_USAGE, "budget iterations",
                           "--budget limits the time of -n auto, but -n is %ld: give -n auto "
                           "too, or leave --budget out",
                           job->iterations);
    if (!job->iterations_auto)
        job->budget = 0;
    else if (source_of(line, "budget") == SOURCE_NONE)
        job->budget = BUDGET_USUAL;
    if (job->iterations == 0 && job->checked <= 0)
        return fail_option(
            STATUS_USAGE, "iterations check",
            "--iterations 0 and --check %s leave nothing to do: give at least one of them",
            job->checked == CHECKED_ALL ? "all" : "0");
    if (job->min_busbw > 0 && job->iterations == 0)
        return fail_option(STATUS_USAGE, "min-busbw iterations",
                           "--min-busbw needs timed iterations: give --iterations of at least 1");
    if (job->min_busbw > 0 && !job_traits(job).sized)
        return fail_option(STATUS_USAGE, "min-busbw",
                           "%s moves no data and has no bandwidth: leave --min-busbw out",
                           job->collectives[0]->name);
    return STATUS_OK;
}

static enum status settle_timeout(const struct job *job)
{
    return job->bootstrap.timeout < TIMEOUT_LEAST
               ? fail_option(
                     STATUS_USAGE, "timeout",
                     "--timeout %g is too short: a rank that waits for its core would be taken "
                     "for lost; give at least %g seconds",
                     job->bootstrap.timeout, TIMEOUT_LEAST)
               : STATUS_OK;
}

/* --np and --rendezvous exclude each other: a flag overrides a variable. If both are flags, or both
 * variables, the bootstrap refuses them. A plan takes more ranks than one machine starts. Judges
 * --timeout, too. */
#define STARTED_MOST 4096
static enum status settle_ranks(const struct command_line *line, struct job *job)
{
    enum source np = source_of(line, "np"), rendezvous = source_of(line, "rendezvous");
    if (rendezvous > np)
        job->bootstrap.np = 0;
    if (job->bootstrap.np > STARTED_MOST)
        return fail_option(
            STATUS_USAGE, "np",
            "--np %d is too large: one machine starts %d ranks at most; `cctest plan` "
            "takes up to %d",
            job->bootstrap.np, STARTED_MOST, JOB_RANKS_MOST);
    if (rendezvous < np) {
        job->bootstrap.rendezvous = NULL;
        if (source_of(line, "rank") < np)
            job->bootstrap.rank = -1;
        if (source_of(line, "world") < np)
            job->bootstrap.world = -1;
    }
    return settle_timeout(job);
}

static enum status settle_injections(const struct job *job)
{
    for (int i = 0; i < job->injection_count; i++) {
        if (job->bootstrap.ranks_as == RANKS_THREADS &&
            injection_takes_process(&job->injections[i]))
            return fail_option(STATUS_USAGE, "ranks-as inject",
                               "--inject kill and stop hit all ranks if they are threads "
                               "(--ranks-as threads): use processes, or inject silent");
    }
    return STATUS_OK;
}

static enum status operator_refuse(const struct datatype *datatype,
                                   const struct reduction *reduction)
{
    return fail_option(STATUS_USAGE, "op datatype", "--op %s does not go with --datatype %s: %s",
                       reduction->name, datatype->name, reduce_refusal(datatype, reduction));
}

/* Pairs of a type and an operator that do not go together are left out, but each that is named goes
 * with one of the others at least. */
static enum status settle_operators(const struct job *job)
{
    const struct datatype *const *types = job->datatypes;
    const struct reduction *const *operators = job->reductions;
    int served[DATATYPES] = {0};
    if (!job_traits(job).takes_operator)
        return STATUS_OK;
    for (int o = 0; operators[o]; o++) {
        int serves = 0;
        for (int d = 0; types[d]; d++) {
            bool goes = !reduce_refusal(types[d], operators[o]);
            serves += goes;
            served[d] += goes;
        }
        if (serves == 0 && !job->types_all)
            return operator_refuse(types[0], operators[o]);
    }
    for (int d = 0; types[d] && !job->types_all; d++)
        if (served[d] == 0)
            return operator_refuse(types[d], operators[0]);
    return STATUS_OK;
}

/* From here on a candidate is what its lines run. */
static enum status settle_candidates(struct request *request)
{
    TRY(settle_operators(&request->job));
    job_cross(&request->job);
    return files_settle(request);
}

/* Options of the device executor. */
static enum status settle_executor(const struct job *job)
{
    if (job->memory->host_reads && job->executor == EXECUTOR_DEVICE)
        return fail_option(
            STATUS_USAGE, "executor",
            "--executor device runs schedules inside GPUs, but the buffers are in %s "
            "memory: give -m cuda too, or leave it out",
            job->memory->name);
    bool no_device = job->memory->host_reads || job->executor == EXECUTOR_HOST;
    if (job->protocol != PROTOCOL_AUTO && no_device)
        return fail_option(STATUS_USAGE, "protocol executor",
                           "--protocol is about schedules that run inside GPUs: give -m cuda "
                           "and no --executor host, or leave it out");
    if ((job->protocol == PROTOCOL_LL && job->copy != COPY_AUTO && job->copy != COPY_LL) ||
        (job->protocol == PROTOCOL_SIMPLE && job->copy == COPY_LL))
        return fail_option(STATUS_USAGE, "protocol copy",
                           "--protocol %s excludes --copy %s: leave one of them out",
                           job->protocol == PROTOCOL_LL ? "ll" : "simple", copy_names[job->copy]);
    if (job->graph && no_device)
        return fail_option(STATUS_USAGE, "graph executor",
                           "--graph replays launches of kernels that run schedules: give -m "
                           "cuda and no --executor host, or leave it out");
    return STATUS_OK;
}

/* Mistakes come first: another status than that of a machine that lacks something. */
static enum status settle_memory(const struct command_line *line, const struct job *job)
{
    if (job->memory->host_reads && source_of(line, "device") == SOURCE_FLAG)
        return fail_option(
            STATUS_USAGE, "device",
            "--device chooses GPUs, but the buffers are in %s memory: give -m cuda too, or "
            "leave it out",
            job->memory->name);
    const char *why = job->memory->unavailable ? job->memory->unavailable() : NULL;
    return why ? fail(STATUS_UNAVAILABLE, "%s memory cannot be used here: %s", job->memory->name,
                      why)
               : STATUS_OK;
}

static enum status settle_vendor(const struct job *job)
{
    const struct vendor *vendor = job_vendor(job);
    char text[VENDOR_WHY_MOST];
    const char *why = vendor ? vendor->unavailable(text) : NULL;
    return why ? fail(STATUS_UNAVAILABLE, "%s cannot be used here: %s", vendor->title, why)
               : STATUS_OK;
}

static enum status settle_run(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    job->compares = job->model != NULL;
    TRY(settle_bounds(line, job));
    TRY(settle_steps(line, job));
    TRY(settle_counts(line, request));
    settle_contract(line, request);
    TRY(settle_candidates(request));
    TRY(settle_ranks(line, job));
    TRY(settle_work(line, job));
    TRY(settle_injections(job));
    TRY(outputs_settle(line, request));
    TRY(job_check_vendors(job, 0));
    TRY(settle_executor(job));
    TRY(settle_memory(line, job));
    TRY(settle_vendor(job));
    return transports_settle(request);
}

static enum status settle_plan(const struct command_line *line, struct request *request)
{
    settle_contract(line, request);
    TRY(settle_counts(line, request));
    TRY(settle_candidates(request));
    return outputs_settle(line, request);
}

static enum status settle_accept(const struct command_line *line, struct request *request)
{
    if (request->accept.stages == 0)
        request->accept.stages = (1u << STAGE_SOAK) - 1;
    if (request->accept.duration > 0)
        request->accept.stages |= 1u << STAGE_SOAK;
    TRY(settle_ranks(line, &request->job));
    TRY(outputs_settle(line, request));
    TRY(settle_memory(line, &request->job));
    return transports_settle(request);
}

/* The collectives that most programs use: neither forms with counts, which a user names, nor
 * exchanges. */
static void tune_collectives(struct job *job)
{
    int count = 0;
    for (int i = 0; collectives[i]; i++)
        if (!collectives[i]->counted && collectives[i]->id != COLLECTIVE_SENDRECV)
            job->collectives[count++] = collectives[i];
}

/* The algorithms of sendrecv exchange in different patterns, so none is the fastest. */
static enum status settle_tuned_collectives(struct job *job)
{
    int kept = 0;
    for (int i = 0; job->collectives[i]; i++) {
        bool sendrecv = job->collectives[i]->id == COLLECTIVE_SENDRECV;
        if (sendrecv && !job->collectives_all)
            return fail(STATUS_USAGE,
                        "sendrecv cannot be tuned: its algorithms exchange in different "
                        "patterns; leave it out");
        if (!sendrecv)
            job->collectives[kept++] = job->collectives[i];
    }
    job->collectives[kept] = NULL;
    return STATUS_OK;
}

#define TUNE_BUDGET_USUAL 300 /* seconds */
static enum status settle_tune(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    enum status status = settle_bounds(line, job);
    if (source_of(line, "tuning") == SOURCE_ENVIRONMENT) { /* it is for runs */
        tuned_free(job->tuned);
        job->tuned = NULL;
    }
    if (!job->tuned && (job->datatypes[1] || job->reductions[1]))
        return fail_option(STATUS_USAGE, "datatype op",
                           "tune measures one datatype and one operation: give one each to "
                           "--datatype and --op");
    if (job->tuned && !request->tune.ompi && !request->tune.mpich && !request->tune.nccl)
        return fail_option(STATUS_USAGE, "tuning",
                           "tune --tuning %.200s measures nothing: say where its winners go, by "
                           "--ompi, --mpich or --nccl",
                           job->tuned->path);
    if (job->tuned && line->word_count > 1)
        return fail_option(
            STATUS_USAGE, "tuning",
            "tune --tuning writes the winners of all collectives of %.200s: leave '%.100s' "
            "out",
            job->tuned->path, line->words[1]);
    if (job->tuned && (request->files.json || request->tune.rank_count > 0 || job->model))
        return fail_option(STATUS_USAGE, "tuning json rank-counts model",
                           "tune --tuning measures nothing: leave --json, --rank-counts and "
                           "--model out");
    if (source_of(line, "budget") == SOURCE_NONE)
        job->budget = TUNE_BUDGET_USUAL;
    TRY(status);
    TRY(settle_tuned_collectives(job));
    TRY(settle_steps(line, job));
    settle_contract(line, request);
    TRY(settle_operators(job));
    TRY(settle_ranks(line, job));
    TRY(outputs_settle(line, request));
    TRY(settle_executor(job));
    TRY(settle_memory(line, job));
    return transports_settle(request);
}

static enum status settle_fit(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    TRY(settle_ranks(line, job));
    job->memory = memory_find("host");
    return transports_settle(request);
}

static enum status settle_topology(const struct request *request)
{
    const struct job *job = &request->job;
    if (request->predict.topology && job->shape_groups > 0)
        return fail_option(STATUS_USAGE, "topology shape",
                           "--topology says which ranks share a host: leave --shape out");
    if (request->predict.place && !request->predict.topology)
        return fail_option(STATUS_USAGE, "place",
                           "--place says where ranks sit on a topology: give --topology, too");
    if (request->files.svg && !request->predict.topology)
        return fail_option(STATUS_USAGE, "svg",
                           "--svg draws the load of a topology's links: give --topology, too");
    if (request->files.svg && job->candidate_count > 1)
        return fail_option(STATUS_USAGE, "svg",
                           "--svg draws one algorithm, and these are %d: name one with -a",
                           job->candidate_count);
    return STATUS_OK;
}

static enum status settle_predict(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    if (!job->model)
        return fail(STATUS_USAGE,
                    "a prediction needs the costs of a machine: give --model FILE, which "
                    "cctest fit -o FILE makes");
    if (job->bootstrap.np == 0 && job->shape_groups > 0)
        job->bootstrap.np = job->shape_groups * job->shape_ranks;
    if (job->bootstrap.np == 0)
        return fail(STATUS_USAGE, "a prediction needs the number of ranks: give --np N");
    TRY(settle_bounds(line, job));
    TRY(settle_steps(line, job));
    TRY(settle_counts(line, request));
    settle_contract(line, request);
    TRY(settle_candidates(request));
    TRY(settle_topology(request));
    return outputs_settle(line, request);
}

/* The collectives: the first word of a run, else the second (plan, list). */
static enum status find_collectives(const struct command_line *line, struct request *request)
{
    int index = line->command->bit == FOR_RUN ? 0 : 1;
    if (line->command->bit & (FOR_HELP | FOR_REPORT | FOR_GUIDELINES))
        return STATUS_OK;
    const char *word = index < line->word_count ? line->words[index] : NULL;
    if (word && line->command->bit == FOR_LIST && is_algorithm(word))
        return STATUS_OK;
    bool several = word && (strchr(word, ',') || strcmp(word, "all") == 0);
    if (word && line->command->bit == FOR_LIST && !several && !collective_find(word))
        return unknown_listed(word);
    if (word)
        return collectives_read(word, request);
    if (line->command->bit == FOR_TUNE)
        tune_collectives(&request->job);
    if (line->command->bit & (FOR_PLAN | FOR_PREDICT))
        return fail(STATUS_USAGE, "which collective? Write cctest %s", line->command->synopsis);
    return STATUS_OK;
}

enum status command_line_resolve(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    *request = (struct request){.job.bootstrap = {.rank = -1, .world = -1}};
    TRY(find_collectives(line, request));
    for (int i = 0; option_table[i].name; i++) {
        const struct argument *argument = &line->arguments[i];
        if (argument->source != SOURCE_NONE)
            TRY(argument->option->kind->parse(argument, request));
    }
    job->watches = job->bootstrap.verbosity >= 1 || request->files.json;
    job->gathers_samples = request->files.samples != NULL;
    if (job->collectives[0] && (line->command->bit & (FOR_RUN | FOR_PLAN | FOR_PREDICT)) &&
        job->candidate_count == 0)
        TRY(choices_default(request));
    switch (line->command->bit) {
    case FOR_RUN:
        return settle_run(line, request);
    case FOR_PLAN:
        return settle_plan(line, request);
    case FOR_PREDICT:
        return settle_predict(line, request);
    case FOR_FIT:
        return settle_fit(line, request);
    case FOR_ACCEPT:
        return settle_accept(line, request);
    case FOR_TUNE:
        return settle_tune(line, request);
    case FOR_INFO:
        return settle_ranks(line, job);
    default:
        return STATUS_OK;
    }
}
