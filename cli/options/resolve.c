/*
 * resolve.c - reads the texts of options into a job, and settles options that depend on others.
 */
#include "cli/options/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "cli/options/choices.h"
#include "cli/options/lists.h"
#include "cli/options/names.h"
#include "cli/options/outputs.h"
#include "cli/options/schedule_files.h"
#include "cli/options/transports.h"
#include "collective/formats/choice_text.h"
#include "dataplane/memory/reduce.h"
#include "run/candidates.h"

#define TIMEOUT_LEAST 0.2 /* seconds */

static enum source source_of(const struct command_line *line, const char *name)
{
    return command_line_argument(line, name)->source;
}

static void note_unused(const struct command_line *line, const struct job *job, const char *option,
                        bool used, const char *why)
{
    char names[COLLECTIVES_TEXT_MOST];
    if (!used && source_of(line, option) == SOURCE_FLAG)
        say_verbose(1, "%s %s: --%s is not used", collectives_text(job, names), why, option);
}

/* Options that no collective of the job takes have no effect. A job of barriers alone shows what
 * they are: a bor allreduce of bytes. */
static void settle_contract(const struct command_line *line, struct job *job)
{
    const struct traits any = job_traits(job);
    note_unused(line, job, "op", any.takes_operator, "combines nothing");
    note_unused(line, job, "root", any.rooted, "has no root");
    note_unused(line, job, "datatype", any.sized, "moves no data");
    note_unused(line, job, "min-bytes", any.sized, "moves no data");
    note_unused(line, job, "max-bytes", any.sized, "moves no data");
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
    return fail(STATUS_USAGE, "--min-bytes %s is more than --max-bytes %s: swap them",
                size_format(job->smallest, least), size_format(job->largest, most));
}

/* Collectives with blocks of equal length refuse --counts, since it would have no effect on the
 * measurement. A file sets the block lengths, so there is one size. */
static enum status settle_counts(const struct command_line *line, struct job *job)
{
    const struct traits any = job_traits(job);
    bool sweeps = false;
    if (!any.counted && source_of(line, "counts") == SOURCE_FLAG) {
        char form[COLLECTIVES_TEXT_MOST + 1], names[COLLECTIVES_TEXT_MOST];
        snprintf(form, sizeof form, "%sv", collectives_text(job, names));
        bool has = collective_find(form) != NULL;
        return fail(STATUS_USAGE, "%s has blocks of one length: leave --counts out%s%s", names,
                    has ? ", or run " : "", has ? form : "");
    }
    for (int i = 0; job->collectives[i]; i++)
        sweeps |= job_sweeps(job, job->collectives[i]);
    if (sweeps || !any.counted)
        return STATUS_OK;
    if (source_of(line, "min-bytes") == SOURCE_FLAG || source_of(line, "max-bytes") == SOURCE_FLAG)
        return fail(STATUS_USAGE,
                    "--counts %s sets the block lengths: leave --min-bytes and --max-bytes out",
                    job->counts.path);
    job->largest = job->smallest;
    return STATUS_OK;
}

static enum status settle_steps(const struct command_line *line, struct job *job)
{
    enum source factor = source_of(line, "step-factor"), bytes = source_of(line, "step-bytes");
    if (bytes == SOURCE_NONE)
        return STATUS_OK;
    if (factor == bytes)
        return fail(STATUS_USAGE,
                    "--step-factor and --step-bytes both set the next size: give one of them");
    if (bytes > factor)
        job->factor = 0;
    else
        job->increment = 0;
    return STATUS_OK;
}

static enum status settle_timeout(const struct job *job)
{
    return job->bootstrap.timeout < TIMEOUT_LEAST
               ? fail(STATUS_USAGE,
                      "--timeout %g is too short: a rank that waits for its core would be taken "
                      "for lost; give at least %g seconds",
                      job->bootstrap.timeout, TIMEOUT_LEAST)
               : STATUS_OK;
}

#define BUDGET_USUAL 5 /* seconds */
static enum status settle_work(const struct command_line *line, struct job *job)
{
    if (!job->iterations_auto && source_of(line, "budget") == SOURCE_FLAG)
        return fail(STATUS_USAGE,
                    "--budget limits the time of -n auto, but -n is %ld: give -n auto "
                    "too, or leave --budget out",
                    job->iterations);
    if (!job->iterations_auto)
        job->budget = 0;
    else if (source_of(line, "budget") == SOURCE_NONE)
        job->budget = BUDGET_USUAL;
    if (job->iterations == 0 && job->checked <= 0)
        return fail(STATUS_USAGE,
                    "--iterations 0 and --check %s leave nothing to do: give at least one of them",
                    job->checked == CHECKED_ALL ? "all" : "0");
    if (job->min_busbw > 0 && job->iterations == 0)
        return fail(STATUS_USAGE,
                    "--min-busbw needs timed iterations: give --iterations of at least 1");
    if (job->min_busbw > 0 && !job_traits(job).sized)
        return fail(STATUS_USAGE, "%s moves no data and has no bandwidth: leave --min-busbw out",
                    job->collectives[0]->name);
    return STATUS_OK;
}

/* --np and --rendezvous exclude each other: a flag overrides a variable. If both are flags, or both
 * variables, the bootstrap refuses them. A plan takes more ranks than one machine starts. */
#define STARTED_MOST 4096
static enum status settle_ranks(const struct command_line *line, struct job *job)
{
    enum source np = source_of(line, "np"), rendezvous = source_of(line, "rendezvous");
    if (rendezvous > np)
        job->bootstrap.np = 0;
    if (job->bootstrap.np > STARTED_MOST)
        return fail(STATUS_USAGE,
                    "--np %d is too large: one machine starts %d ranks at most; `cctest plan` "
                    "takes up to %d",
                    job->bootstrap.np, STARTED_MOST, JOB_RANKS_MOST);
    if (rendezvous >= np)
        return STATUS_OK;
    job->bootstrap.rendezvous = NULL;
    if (source_of(line, "rank") < np)
        job->bootstrap.rank = -1;
    if (source_of(line, "world") < np)
        job->bootstrap.world = -1;
    return STATUS_OK;
}

static enum status settle_injections(const struct job *job)
{
    for (int i = 0; i < job->injection_count; i++) {
        if (job->bootstrap.ranks_as == RANKS_THREADS &&
            injection_takes_process(&job->injections[i]))
            return fail(STATUS_USAGE, "--inject kill and stop hit all ranks if they are threads "
                                      "(--ranks-as threads): use processes, or inject silent");
    }
    return STATUS_OK;
}

static enum status operator_refuse(const struct datatype *datatype,
                                   const struct reduction *reduction)
{
    return fail(STATUS_USAGE, "--op %s does not go with --datatype %s: %s", reduction->name,
                datatype->name, reduce_refusal(datatype, reduction));
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
static enum status settle_candidates(struct job *job)
{
    enum status status = settle_operators(job);
    if (status == STATUS_OK)
        status = job_cross(job);
    return status == STATUS_OK ? files_settle(job) : status;
}

/* Options of the device executor. */
static enum status settle_executor(const struct job *job)
{
    if (job->memory->host_reads && job->executor == EXECUTOR_DEVICE)
        return fail(STATUS_USAGE,
                    "--executor device runs schedules inside GPUs, but the buffers are in %s "
                    "memory: give -m cuda too, or leave it out",
                    job->memory->name);
    bool no_device = job->memory->host_reads || job->executor == EXECUTOR_HOST;
    if (job->protocol != PROTOCOL_AUTO && no_device)
        return fail(STATUS_USAGE,
                    "--protocol is about schedules that run inside GPUs: give -m cuda "
                    "and no --executor host, or leave it out");
    if ((job->protocol == PROTOCOL_LL && job->copy != COPY_AUTO && job->copy != COPY_LL) ||
        (job->protocol == PROTOCOL_SIMPLE && job->copy == COPY_LL))
        return fail(STATUS_USAGE, "--protocol %s excludes --copy %s: leave one of them out",
                    job->protocol == PROTOCOL_LL ? "ll" : "simple", copy_names[job->copy]);
    if (job->graph && no_device)
        return fail(STATUS_USAGE, "--graph replays launches of kernels that run schedules: give -m "
                                  "cuda and no --executor host, or leave it out");
    return STATUS_OK;
}

/* Mistakes come first: another status than that of a machine that lacks something. */
static enum status settle_memory(const struct command_line *line, const struct job *job)
{
    if (job->memory->host_reads && source_of(line, "device") == SOURCE_FLAG)
        return fail(STATUS_USAGE,
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

static enum status settle_run(const struct command_line *line, struct job *job)
{
    job->compares = job->model != NULL;
    enum status status = settle_bounds(line, job);
    if (status == STATUS_OK)
        status = settle_steps(line, job);
    if (status == STATUS_OK)
        status = settle_counts(line, job);
    if (status != STATUS_OK)
        return status;
    settle_contract(line, job);
    status = settle_candidates(job);
    if (status != STATUS_OK)
        return status;
    status = settle_ranks(line, job);
    if (status == STATUS_OK)
        status = settle_timeout(job);
    if (status == STATUS_OK)
        status = settle_work(line, job);
    if (status == STATUS_OK)
        status = settle_injections(job);
    if (status == STATUS_OK)
        status = outputs_settle(line, job);
    if (status == STATUS_OK)
        status = job_check_vendors(job, 0);
    if (status == STATUS_OK)
        status = settle_executor(job);
    if (status == STATUS_OK)
        status = settle_memory(line, job);
    if (status == STATUS_OK)
        status = settle_vendor(job);
    return status == STATUS_OK ? transports_settle(job) : status;
}

static enum status settle_accept(const struct command_line *line, struct job *job)
{
    enum status status = settle_ranks(line, job);
    if (job->accept.stages == 0)
        job->accept.stages = (1u << STAGE_SOAK) - 1;
    if (job->accept.duration > 0)
        job->accept.stages |= 1u << STAGE_SOAK;
    if (status == STATUS_OK)
        status = settle_timeout(job);
    if (status == STATUS_OK)
        status = outputs_settle(line, job);
    if (status == STATUS_OK)
        status = settle_memory(line, job);
    return status == STATUS_OK ? transports_settle(job) : status;
}

/* What most programs use: of the forms with counts, and of exchanges, one word asks. */
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
            return fail(STATUS_USAGE, "sendrecv cannot be tuned: its algorithms exchange in different "
                                      "patterns; leave it out");
        if (!sendrecv)
            job->collectives[kept++] = job->collectives[i];
    }
    job->collectives[kept] = NULL;
    return STATUS_OK;
}

#define TUNE_BUDGET_USUAL 300 /* seconds */
static enum status settle_tune(const struct command_line *line, struct job *job)
{
    enum status status = settle_bounds(line, job);
    if (source_of(line, "tuning") == SOURCE_ENVIRONMENT) { /* it is for runs */
        tuned_free(job->tuned);
        job->tuned = NULL;
    }
    if (!job->tuned && (job->datatypes[1] || job->reductions[1]))
        return fail(STATUS_USAGE, "tune measures one datatype and one operation: give one each to "
                                  "--datatype and --op");
    if (job->tuned && !job->tune.ompi && !job->tune.mpich && !job->tune.nccl)
        return fail(STATUS_USAGE, "tune --tuning %.200s measures nothing: say where its winners go, by "
                                  "--ompi, --mpich or --nccl",
                    job->tuned->path);
    if (job->tuned && line->word_count > 1)
        return fail(STATUS_USAGE, "tune --tuning writes the winners of all collectives of %.200s: leave '%.100s' "
                                  "out",
                    job->tuned->path, line->words[1]);
    if (job->tuned && (job->json || job->tune.rank_count > 0 || job->model))
        return fail(STATUS_USAGE, "tune --tuning measures nothing: leave --json, --rank-counts and "
                                  "--model out");
    if (source_of(line, "budget") == SOURCE_NONE)
        job->budget = TUNE_BUDGET_USUAL;
    if (status == STATUS_OK)
        status = settle_tuned_collectives(job);
    if (status == STATUS_OK)
        status = settle_steps(line, job);
    settle_contract(line, job);
    if (status == STATUS_OK)
        status = settle_operators(job);
    if (status == STATUS_OK)
        status = settle_ranks(line, job);
    if (status == STATUS_OK)
        status = settle_timeout(job);
    if (status == STATUS_OK)
        status = outputs_settle(line, job);
    if (status == STATUS_OK)
        status = settle_executor(job);
    if (status == STATUS_OK)
        status = settle_memory(line, job);
    return status == STATUS_OK ? transports_settle(job) : status;
}

static enum status settle_fit(const struct command_line *line, struct job *job)
{
    enum status status = settle_ranks(line, job);
    if (status == STATUS_OK)
        status = settle_timeout(job);
    job->memory = memory_find("host");
    return status == STATUS_OK ? transports_settle(job) : status;
}

static enum status settle_topology(const struct job *job)
{
    if (job->topology && job->shape_groups > 0)
        return fail(STATUS_USAGE, "--topology says which ranks share a host: leave --shape out");
    if (job->place && !job->topology)
        return fail(STATUS_USAGE, "--place says where ranks sit on a topology: give --topology, too");
    if (job->svg && !job->topology)
        return fail(STATUS_USAGE, "--svg draws the load of a topology's links: give --topology, too");
    if (job->svg && job->candidate_count > 1)
        return fail(STATUS_USAGE, "--svg draws one algorithm, and these are %d: name one with -a",
                    job->candidate_count);
    return STATUS_OK;
}

static enum status settle_predict(const struct command_line *line, struct job *job)
{
    if (!job->model)
        return fail(STATUS_USAGE, "a prediction needs the costs of a machine: give --model FILE, which "
                                  "cctest fit -o FILE makes");
    if (job->bootstrap.np == 0 && job->shape_groups > 0)
        job->bootstrap.np = job->shape_groups * job->shape_ranks;
    if (job->bootstrap.np == 0)
        return fail(STATUS_USAGE, "a prediction needs the number of ranks: give --np N");
    enum status status = settle_bounds(line, job);
    if (status == STATUS_OK)
        status = settle_steps(line, job);
    if (status == STATUS_OK)
        status = settle_counts(line, job);
    settle_contract(line, job);
    if (status == STATUS_OK)
        status = settle_candidates(job);
    if (status == STATUS_OK)
        status = settle_topology(job);
    return status == STATUS_OK ? outputs_settle(line, job) : status;
}

/* The collectives: the first word of a run, else the second (plan, list). */
static enum status find_collectives(const struct command_line *line, struct job *job)
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
        return collectives_read(word, job);
    if (line->command->bit == FOR_TUNE)
        tune_collectives(job);
    if (line->command->bit & (FOR_PLAN | FOR_PREDICT))
        return fail(STATUS_USAGE, "which collective? Write cctest %s", line->command->synopsis);
    return STATUS_OK;
}

enum status command_line_resolve(const struct command_line *line, struct job *job)
{
    *job = (struct job){.bootstrap = {.rank = -1, .world = -1}};
    enum status status = find_collectives(line, job);
    for (int i = 0; status == STATUS_OK && option_table[i].name; i++) {
        const struct argument *argument = &line->arguments[i];
        if (argument->source != SOURCE_NONE)
            status = argument->option->kind->parse(argument, job);
    }
    if (status != STATUS_OK)
        return status;
    if (job->collectives[0] && (line->command->bit & (FOR_RUN | FOR_PLAN | FOR_PREDICT)) &&
        job->candidate_count == 0)
        status = choices_default(job);
    if (status == STATUS_OK && line->command->bit == FOR_RUN)
        status = settle_run(line, job);
    if (status == STATUS_OK && line->command->bit == FOR_PLAN) {
        settle_contract(line, job);
        status = settle_counts(line, job);
        if (status == STATUS_OK)
            status = settle_candidates(job);
        if (status == STATUS_OK)
            status = outputs_settle(line, job);
    }
    if (status == STATUS_OK && line->command->bit == FOR_PREDICT)
        status = settle_predict(line, job);
    if (status == STATUS_OK && line->command->bit == FOR_FIT)
        status = settle_fit(line, job);
    if (status == STATUS_OK && line->command->bit == FOR_ACCEPT)
        status = settle_accept(line, job);
    if (status == STATUS_OK && line->command->bit == FOR_TUNE)
        status = settle_tune(line, job);
    if (status == STATUS_OK && line->command->bit == FOR_INFO) {
        status = settle_ranks(line, job);
        if (status == STATUS_OK)
            status = settle_timeout(job);
    }
    return status;
}
