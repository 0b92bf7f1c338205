/*
 * resolve.c - reads the texts of options into a job, and settles options that depend on others.
 */
#include "cli/options/resolve.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/size.h"
#include "cli/options/choices.h"
#include "cli/options/names.h"
#include "cli/options/transports.h"
#include "memory/reduce.h"

#define TIMEOUT_LEAST 0.2 /* seconds */

static enum source source_of(const struct command_line *line, const char *name)
{
    return command_line_argument(line, name)->source;
}

static void note_unused(const struct command_line *line, const struct job *job, const char *option,
                        bool used, const char *why)
{
    if (!used && source_of(line, option) == SOURCE_FLAG)
        say_verbose(1, "%s %s: --%s is not used", job->collective->name, why, option);
}

/* A barrier is a one-byte bor allreduce, whatever the other options. */
static void settle_contract(const struct command_line *line, struct job *job)
{
    const struct collective *collective = job->collective;
    note_unused(line, job, "op", collective->reduces && collective->sized, "combines nothing");
    note_unused(line, job, "root", collective->rooted, "has no root");
    note_unused(line, job, "datatype", collective->sized, "moves no data");
    note_unused(line, job, "min-bytes", collective->sized, "moves no data");
    note_unused(line, job, "max-bytes", collective->sized, "moves no data");
    if (!collective->rooted)
        job->root = 0;
    if (!collective->reduces)
        job->reduction = NULL;
    if (!collective->sized) {
        job->datatype = datatype_find("uint8");
        job->reduction = collective->reduces ? reduction_find("bor") : NULL;
        job->smallest = job->largest = job->datatype->size;
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
    const struct collective *collective = job->collective;
    if (!collective->counted && source_of(line, "counts") == SOURCE_FLAG) {
        char form[64];
        snprintf(form, sizeof form, "%sv", collective->name);
        bool has = collective_find(form) != NULL;
        return fail(STATUS_USAGE, "%s has blocks of one length: leave --counts out%s%s",
                    collective->name, has ? ", or run " : "", has ? form : "");
    }
    if (!collective->counted || job->counts.distribution != DISTRIBUTION_FILE)
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

static enum status settle_work(const struct job *job)
{
    if (job->iterations == 0 && job->checked == 0)
        return fail(STATUS_USAGE,
                    "--iterations 0 and --check 0 leave nothing to do: give at least one of them");
    if (job->min_busbw > 0 && job->iterations == 0)
        return fail(STATUS_USAGE,
                    "--min-busbw needs timed iterations: give --iterations of at least 1");
    if (job->min_busbw > 0 && !job->collective->sized)
        return fail(STATUS_USAGE, "%s moves no data and has no bandwidth: leave --min-busbw out",
                    job->collective->name);
    return STATUS_OK;
}

/* --np and --rendezvous exclude each other: a flag overrides a variable. If both are flags, or both
 * variables, the bootstrap refuses them. A plan starts no ranks, so only a run has this limit. */
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

/* An option that names a file of results, and the file; NULL: none. */
struct output {
    const char *option, *path;
};

static enum status settle_two_outputs(const struct output *one, const struct output *other)
{
    if (!one->path || !other->path || strcmp(one->path, other->path) != 0)
        return STATUS_OK;
    if (strcmp(one->path, "-") == 0)
        return fail(STATUS_USAGE,
                    "--%s and --%s cannot both go to standard output: give one of them a file",
                    one->option, other->option);
    struct stat file;
    bool device = stat(one->path, &file) == 0 && !S_ISREG(file.st_mode);
    if (!device)
        return fail(STATUS_USAGE, "--%s and --%s name the same file: give each a file of its own",
                    one->option, other->option);
    return STATUS_OK;
}

/* Refuses two outputs to the same place. */
static enum status settle_outputs(const struct job *job)
{
    const struct output outputs[] = {
        {"json", job->json}, {"csv", job->csv}, {"samples", job->samples}, {"svg", job->svg}};
    const int count = sizeof outputs / sizeof outputs[0];
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        for (int k = i + 1; k < count && status == STATUS_OK; k++)
            status = settle_two_outputs(&outputs[i], &outputs[k]);
    return status;
}

static enum status settle_operator(const struct job *job)
{
    const char *why = job->reduction ? reduce_refusal(job->datatype, job->reduction) : NULL;
    if (!why)
        return STATUS_OK;
    return fail(STATUS_USAGE, "--op %s does not go with --datatype %s: %s", job->reduction->name,
                job->datatype->name, why);
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
    enum status status = settle_bounds(line, job);
    if (status == STATUS_OK)
        status = settle_steps(line, job);
    if (status == STATUS_OK)
        status = settle_counts(line, job);
    if (status != STATUS_OK)
        return status;
    settle_contract(line, job);
    status = settle_operator(job);
    if (status != STATUS_OK)
        return status;
    status = settle_ranks(line, job);
    if (status == STATUS_OK)
        status = settle_timeout(job);
    if (status == STATUS_OK)
        status = settle_work(job);
    if (status == STATUS_OK)
        status = settle_injections(job);
    if (status == STATUS_OK)
        status = settle_outputs(job);
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

/* The collective: the first word of a run, else the second (plan, list). */
static enum status find_collective(const struct command_line *line, struct job *job)
{
    int index = line->command->bit == FOR_RUN ? 0 : 1;
    if (line->command->bit == FOR_HELP)
        return STATUS_OK;
    if (index < line->word_count) {
        job->collective = collective_find(line->words[index]);
        bool algorithm = line->command->bit == FOR_LIST && is_algorithm(line->words[index]);
        return job->collective || algorithm ? STATUS_OK : unknown_collective(line->words[index]);
    }
    if (line->command->bit == FOR_PLAN)
        return fail(STATUS_USAGE, "which collective? Write cctest %s", line->command->synopsis);
    return STATUS_OK;
}

enum status command_line_resolve(const struct command_line *line, struct job *job)
{
    *job = (struct job){.bootstrap = {.rank = -1, .world = -1}};
    enum status status = find_collective(line, job);
    for (int i = 0; status == STATUS_OK && option_table[i].name; i++) {
        const struct argument *argument = &line->arguments[i];
        if (argument->source != SOURCE_NONE)
            status = argument->option->kind->parse(argument, job);
    }
    if (status != STATUS_OK)
        return status;
    if (job->collective && line->command->bit != FOR_LIST && job->candidate_count == 0)
        status = choices_default(job);
    if (status == STATUS_OK && line->command->bit == FOR_RUN)
        status = settle_run(line, job);
    if (status == STATUS_OK && line->command->bit == FOR_PLAN) {
        settle_contract(line, job);
        status = settle_counts(line, job);
        if (status == STATUS_OK)
            status = settle_operator(job);
        if (status == STATUS_OK)
            status = settle_outputs(job);
    }
    if (status == STATUS_OK && line->command->bit == FOR_INFO) {
        status = settle_ranks(line, job);
        if (status == STATUS_OK)
            status = settle_timeout(job);
    }
    return status;
}
