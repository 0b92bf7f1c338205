/*
 * predict.c - `cctest predict`: how long collectives would take on ranks that need not be there.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/model/prediction.h"
#include "cli/printers/printers.h"
#include "cli/topology/load_svg.h"
#include "cli/topology/message_load.h"
#include "run/channel_count.h"
#include "measure/statistics.h"
#include "run/candidates.h"

/* The ranks of a job that does not run. */
struct absent_ranks {
    int ranks;
    struct placed_ranks placed; /* with --topology */
    int *node; /* of each rank */
    struct member *members;
    struct split split;
};

static void absent_ranks_free(struct absent_ranks *absent)
{
    free(absent->node);
    free(absent->members);
    placed_ranks_free(&absent->placed);
    split_free(&absent->split);
}

/* The host of each rank, by the topology; else each has as many ranks as --shape says, or all. */
static enum status absent_ranks_place(const struct job *job, struct absent_ranks *absent)
{
    int each = job->shape_ranks > 0 ? job->shape_ranks : absent->ranks;
    for (int r = 0; r < absent->ranks; r++)
        absent->node[r] = r / each;
    if (!job->topology)
        return STATUS_OK;
    enum status status =
        placed_ranks_make(job->topology, job->place, absent->ranks, &absent->placed);
    if (status != STATUS_OK)
        return status;
    free(absent->node);
    absent->node = hosts_number(absent->placed.host, absent->ranks);
    return absent->node ? STATUS_OK
                        : fail(STATUS_ERROR, "out of memory for %d ranks", absent->ranks);
}

static enum status members_name(struct absent_ranks *absent)
{
    int *met = calloc((size_t)absent->ranks, sizeof *met); /* ranks of each host */
    if (!met)
        return fail(STATUS_ERROR, "out of memory for %d ranks", absent->ranks);
    for (int r = 0; r < absent->ranks; r++) {
        int node = absent->node[r];
        struct member *member = &absent->members[r];
        *member = (struct member){.rank = r, .node = node, .local_rank = met[node]++};
        snprintf(member->host, sizeof member->host, "host %d", node);
    }
    free(met);
    return STATUS_OK;
}

static enum status absent_ranks_make(const struct job *job, struct absent_ranks *absent)
{
    int ranks = job->bootstrap.np;
    *absent = (struct absent_ranks){.ranks = ranks,
                                    .node = calloc((size_t)ranks, sizeof *absent->node),
                                    .members = calloc((size_t)ranks, sizeof *absent->members)};
    if (!absent->node || !absent->members)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    enum status status = absent_ranks_place(job, absent);
    if (status == STATUS_OK)
        status = members_name(absent);
    if (status == STATUS_OK)
        status = job_split(job, ranks, absent->node, &absent->split);
    if (status == STATUS_OK && job->topology && job_orders_rings(job))
        status = placed_ranks_ring(&absent->placed, &absent->split.ring_place);
    return status;
}

/* At the largest size, with a topology: the load of its links, which is drawn with --svg. */
static enum status load_make(const struct job *job, int choice, size_t bytes,
                             const struct absent_ranks *absent, struct link_load **load)
{
    const struct candidate *candidate = &job->candidates[choice];
    const struct rank_group all = split_group(&absent->split, 0);
    struct sized_problem sized;
    *load = NULL;
    if (!job->topology || job_next_size(job, candidate, bytes) > 0)
        return STATUS_OK;
    enum status status = job_problem(job, candidate, bytes, &all, &sized);
    if (status != STATUS_OK)
        return status;
    status = message_load_make(&candidate->choice, &sized.problem, channel_count_host(job),
                               candidate->datatype->size, &absent->placed, load);
    counts_free(sized.counts);
    if (status == STATUS_OK && job->svg) {
        char title[CANDIDATE_TITLE_MOST + 80], words[400];
        snprintf(title, sizeof title, "%s %s, %d ranks, %zu bytes", candidate->collective->name,
                 candidate->text, absent->ranks, bytes);
        snprintf(words, sizeof words, "%s; ranks placed %.100s",
                 topology_words(absent->placed.topology), absent->placed.place);
        status = load_draw(*load, title, words, job->svg);
    }
    return status;
}

static void result_report(struct report *report, const struct job *job, int choice, size_t asked,
                          const struct absent_ranks *absent, const struct prediction *prediction,
                          const struct link_load *load)
{
    const struct candidate *candidate = &job->candidates[choice];
    struct group_result group = {.timing = {.slowest = {.rank = -1}}};
    double time = prediction->time;
    group.timing.time_us = (struct statistics){
        .min = time, .p50 = time, .mean = time, .p90 = time, .p99 = NAN, .max = time};
    group.timing.algbw = bandwidth_algorithm(prediction->bytes, time);
    group.timing.busbw =
        group.timing.algbw * collective_bus_factor(candidate->collective, absent->ranks);
    if (!candidate->collective->sized)
        group.timing.algbw = group.timing.busbw = 0;
    const struct result result = {.choice = choice,
                                  .asked = asked,
                                  .count = prediction->count,
                                  .bytes = prediction->bytes,
                                  .root = job->root,
                                  .channels = job->channels,
                                  .is_predicted = true,
                                  .simulated_ranks = prediction->simulated.ranks,
                                  .load = load,
                                  .groups = &group,
                                  .group_count = 1,
                                  .transport = "model",
                                  .way = "model",
                                  .timing = group.timing,
                                  .late_rank = -1,
                                  .ranks = absent->ranks};
    report->result(report, job, &result);
}

/* With -v: where one rank stood for all. */
static void symmetry_say(const struct job *job, int choice, size_t bytes,
                         const struct simulated *simulated)
{
    static const char *const words[SYMMETRIES] = {
        [SYMMETRY_RING] = "the peers of each are as far around the ring of ranks",
        [SYMMETRY_XOR] = "the numbers of its peers differ in the same bits from that of each",
        [SYMMETRY_GROUPS] = "the peers of each are as far around the rings of groups and of places"};
    if (simulated->symmetry != SYMMETRY_NONE)
        say_verbose(1, "%s %s, %zu bytes: rank 0 stands for all, since %s",
                    job->candidates[choice].collective->name, job->candidates[choice].text, bytes,
                    words[simulated->symmetry]);
}

/* The load comes first: one that is too large is refused at once. */
static enum status line_predict(const struct job *job, int choice, size_t bytes,
                                const struct prediction_setting *setting,
                                const struct model *model, const struct absent_ranks *absent,
                                struct report *report)
{
    struct prediction prediction;
    struct link_load *load;
    enum status status = load_make(job, choice, bytes, absent, &load);
    if (status == STATUS_OK)
        status = prediction_make(job, &job->candidates[choice], bytes, &absent->split, setting, model,
                                 &prediction);
    if (status == STATUS_OK) {
        symmetry_say(job, choice, bytes, &prediction.simulated);
        result_report(report, job, choice, bytes, absent, &prediction, load);
    }
    link_load_free(load);
    return status;
}

static enum status lines_predict(const struct job *job, const struct model *model,
                                 const struct absent_ranks *absent, struct report *report)
{
    const struct prediction_setting setting = {
        .node = absent->node, .topology = absent->placed.topology, .end = absent->placed.end};
    enum status status = STATUS_OK;
    for (int first = 0, end; first < job->candidate_count && status == STATUS_OK; first = end) {
        end = job_contest_end(job, first);
        const struct candidate *longest = &job->candidates[first];
        for (size_t bytes = job_first_size(job, longest); bytes > 0 && status == STATUS_OK;
             bytes = job_next_size(job, longest, bytes))
            for (int c = first; c < end && status == STATUS_OK; c++)
                if (candidate_runs_at(&job->candidates[c], bytes))
                    status = line_predict(job, c, bytes, &setting, model, absent, report);
    }
    return status;
}

enum status predict_command(const struct command_line *line, struct job *job)
{
    struct absent_ranks absent = {0};
    struct printers printers;
    (void)line;
    enum status status = prediction_check(job);
    if (status == STATUS_OK)
        status = absent_ranks_make(job, &absent);
    if (status == STATUS_OK)
        status = job_check_ranks(job, absent.ranks, &absent.split);
    if (status != STATUS_OK) {
        absent_ranks_free(&absent);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    status = printers_open(&printers, job, PRINT_TABLE, true);
    if (status == STATUS_OK) {
        const struct model *model = printers.predictor.model;
        const struct participants participants = {.ranks = absent.ranks,
                                                  .members = absent.members,
                                                  .split = &absent.split,
                                                  .bootstrap = "none",
                                                  .topology = absent.placed.topology,
                                                  .model = model};
        const struct job_end end = {.rejected = -1};
        printers.report.begin(&printers.report, job, &participants);
        status = lines_predict(job, model, &absent, &printers.report);
        printers.report.end(&printers.report, job, &end);
        status = printers_finish(&printers, true, status);
    } else {
        printers_close(&printers);
    }
    absent_ranks_free(&absent);
    return status;
}
