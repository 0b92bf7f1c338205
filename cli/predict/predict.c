/*
 * predict.c - `cctest predict`: how long collectives would take on ranks that need not be there.
 */

#include "base/log.h"
#include "base/stats/stats.h"
#include "cli/commands.h"
#include "cli/predict/internal.h"
#include "cli/run/run.h"
#include "collective/collective.h"
#include "predict/predict.h"
#include "run/run.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ranks that sit on a topology.
 */
/* `place` NULL: block. STATUS_USAGE if either is wrong, or the ranks do not fit. To be freed with
 * placed_ranks_free(), also after an error. */
static enum status placed_ranks_make(const char *spec, const char *place, int ranks,
                                     struct placed_ranks *placed)
{
    *placed = (struct placed_ranks){.spec = spec,
                                    .place = place ? place : "block",
                                    .ranks = ranks,
                                    .end = calloc((size_t)ranks, sizeof *placed->end),
                                    .host = calloc((size_t)ranks, sizeof *placed->host)};
    if (!placed->end || !placed->host)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    enum status status = topology_parse(spec, &placed->topology);
    if (status == STATUS_OK)
        status = placement_make(placed->topology, placed->place, ranks, placed->end);
    for (int r = 0; r < ranks && status == STATUS_OK; r++)
        placed->host[r] = topology_host(placed->topology, placed->end[r]);
    return status;
}

/* ---- the ring ---- */

static uint32_t ends_distance(const void *argument, int a, int b)
{
    const struct placed_ranks *placed = argument;
    int from = a < b ? a : b, to = a < b ? b : a; /* the ways there and back may differ */
    return topology_distance(placed->topology, placed->end[from], placed->end[to]);
}

static int ends_compare(const void *a, const void *b, void *argument)
{
    const struct placed_ranks *placed = argument;
    int x = placed->end[*(const int *)a], y = placed->end[*(const int *)b];
    return (x > y) - (x < y);
}

/* A short ring of the ranks: of each, its place on it (problem->ring_place). The caller frees it
 * with free(); NULL after an error. */
static enum status placed_ranks_ring(const struct placed_ranks *placed, int **ring_place)
{
    const struct rank_distances distances = {ends_distance, placed};
    *ring_place =
        ring_places_find(&distances, placed->ranks, ends_compare, (void *)(uintptr_t)placed);
    return *ring_place ? STATUS_OK : STATUS_ERROR;
}

/* Zeroed is allowed. */
static void placed_ranks_free(struct placed_ranks *placed)
{
    topology_free(placed->topology);
    free(placed->end);
    free(placed->host);
    *placed = (struct placed_ranks){0};
}

/*
 * `cctest predict`.
 */
/* The ranks of a job that does not run. */
struct absent_ranks {
    int ranks;
    struct placed_ranks placed; /* with --topology */
    int *node;                  /* of each rank */
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
static enum status absent_ranks_place(const struct request *request, struct absent_ranks *absent)
{
    const struct job *job = &request->job;
    enum status status =
        job_check_shape(job, absent->ranks,
                        job->split.kind == SPLIT_NONE ? "" : ", the ranks of all groups together");
    if (status != STATUS_OK)
        return status;
    int each = job->shape_ranks > 0 ? job->shape_ranks : absent->ranks;
    for (int r = 0; r < absent->ranks; r++)
        absent->node[r] = r / each;
    if (!request->predict.topology)
        return STATUS_OK;
    status = placed_ranks_make(request->predict.topology, request->predict.place, absent->ranks,
                               &absent->placed);
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

/* --shape says on which hosts all ranks are, and not, as in a run, which nodes a group has. */
static enum status absent_ranks_split(const struct job *job, struct absent_ranks *absent)
{
    struct job unshaped = *job;
    unshaped.shape_groups = unshaped.shape_ranks = 0;
    return job_split(&unshaped, absent->ranks, absent->node, &absent->split);
}

static enum status absent_ranks_make(const struct request *request, struct absent_ranks *absent)
{
    const struct job *job = &request->job;
    int ranks = job->bootstrap.np;
    *absent = (struct absent_ranks){.ranks = ranks,
                                    .node = calloc((size_t)ranks, sizeof *absent->node),
                                    .members = calloc((size_t)ranks, sizeof *absent->members)};
    if (!absent->node || !absent->members)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    TRY(absent_ranks_place(request, absent));
    TRY(members_name(absent));
    return absent_ranks_split(job, absent);
}

/* After the candidates are checked, among which are the picks of auto then. */
static enum status absent_ranks_ring(const struct request *request, struct absent_ranks *absent)
{
    const struct job *job = &request->job;
    if (!request->predict.topology || !job_orders_rings(job))
        return STATUS_OK;
    return placed_ranks_ring(&absent->placed, &absent->split.ring_place);
}

static enum status group_load_add(const struct job *job, const struct candidate *candidate,
                                  size_t bytes, const struct rank_group *group,
                                  struct link_load *load)
{
    struct sized_problem sized;
    enum status status = job_problem(job, candidate, bytes, group, &sized);
    if (status == STATUS_OK)
        status = message_load_add(&candidate->choice, &sized.problem, channel_count_host(job),
                                  candidate->datatype->size, load);
    counts_free(sized.counts);
    return status;
}

/* At the largest size, with a topology: the load of its links by all groups, which is drawn with
 * --svg. */
static enum status load_make(const struct request *request, int choice, size_t bytes,
                             const struct absent_ranks *absent, struct link_load **load)
{
    const struct job *job = &request->job;
    const struct candidate *candidate = &job->candidates[choice];
    const struct placed_ranks *placed = &absent->placed;
    *load = NULL;
    if (!request->predict.topology || job_next_size(job, candidate, bytes) > 0)
        return STATUS_OK;
    enum status status = link_load_create(placed->topology, placed->end, placed->ranks, load);
    for (int g = 0; g < absent->split.groups->groups && status == STATUS_OK; g++) {
        const struct rank_group group = split_group(&absent->split, g);
        status = group_load_add(job, candidate, bytes, &group, *load);
    }
    if (status == STATUS_OK)
        status = link_load_finish(*load);
    if (status == STATUS_OK && request->files.svg) {
        char title[CANDIDATE_TITLE_MOST + 80], words[400];
        char groups[40] = "";
        if (job->split.kind != SPLIT_NONE)
            snprintf(groups, sizeof groups, " in %d groups", absent->split.groups->groups);
        snprintf(title, sizeof title, "%s %s, %d ranks%s, %zu bytes", candidate->collective->name,
                 candidate->text, absent->ranks, groups, bytes);
        snprintf(words, sizeof words, "%s; ranks placed %.100s", topology_words(placed->topology),
                 placed->place);
        status = load_draw(*load, title, words, request->files.svg);
    }
    return status;
}

static struct timing predicted_timing(const struct candidate *candidate, int ranks, size_t bytes,
                                      double time)
{
    struct timing timing = {.slowest = {.rank = -1}};
    timing.time_us = (struct statistics){
        .min = time, .p50 = time, .mean = time, .p90 = time, .p99 = NAN, .max = time};
    if (candidate->collective->sized) {
        timing.algbw = bandwidth_algorithm(bytes, time);
        timing.busbw = timing.algbw * collective_bus_factor(candidate->collective, ranks);
    }
    return timing;
}

static enum status result_report(struct report *report, const struct job *job, int choice,
                                 size_t asked, const struct absent_ranks *absent,
                                 const struct prediction *prediction, const double *group_time,
                                 const struct link_load *load)
{
    const struct shape *groups = absent->split.groups;
    struct result result = {.choice = choice,
                            .asked = asked,
                            .count = prediction->count,
                            .bytes = prediction->bytes,
                            .root = job->root,
                            .channels = job->channels,
                            .is_predicted = true,
                            .simulated_ranks = prediction->simulated.ranks,
                            .load = load,
                            .groups = calloc((size_t)groups->groups, sizeof *result.groups),
                            .group_count = groups->groups,
                            .transport = "model",
                            .engine = "model",
                            .late_rank = -1,
                            .ranks = absent->ranks};
    if (!result.groups)
        return fail(STATUS_ERROR, "out of memory for the results of %d groups", groups->groups);
    for (int g = 0; g < groups->groups; g++)
        result.groups[g].timing = predicted_timing(&job->candidates[choice], shape_size(groups, g),
                                                   prediction->bytes, group_time[g]);
    enum status status =
        group_results_compare(&result, &job->split, &absent->split, absent->members);
    if (status == STATUS_OK)
        report->result(report, job, &result);
    free(result.groups);
    return status;
}

/* With -v: where one rank stood for all. */
static void symmetry_say(const struct job *job, int choice, size_t bytes,
                         const struct simulated *simulated)
{
    static const char *const words[SYMMETRIES] = {
        [SYMMETRY_RING] = "the peers of each are as far around the ring of ranks",
        [SYMMETRY_XOR] = "the numbers of its peers differ in the same bits from that of each",
        [SYMMETRY_GROUPS] =
            "the peers of each are as far around the rings of groups and of places"};
    if (simulated->symmetry != SYMMETRY_NONE)
        say_verbose(1, "%s %s, %zu bytes: rank 0 stands for all, since %s",
                    job->candidates[choice].collective->name, job->candidates[choice].text, bytes,
                    words[simulated->symmetry]);
}

/* The load comes first: one that is too large is refused at once. */
static enum status line_predict(const struct request *request, int choice, size_t bytes,
                                const struct prediction_setting *setting, const struct model *model,
                                const struct absent_ranks *absent, struct report *report)
{
    const struct job *job = &request->job;
    struct prediction prediction;
    struct link_load *load;
    enum status status = load_make(request, choice, bytes, absent, &load);
    if (status == STATUS_OK)
        status = prediction_make(job, &job->candidates[choice], bytes, &absent->split, setting,
                                 model, &prediction);
    if (status == STATUS_OK) {
        symmetry_say(job, choice, bytes, &prediction.simulated);
        status = result_report(report, job, choice, bytes, absent, &prediction, setting->group_time,
                               load);
    }
    link_load_free(load);
    return status;
}

static enum status lines_predict(const struct request *request, const struct model *model,
                                 const struct absent_ranks *absent, struct report *report)
{
    const struct job *job = &request->job;
    double *group_time = calloc((size_t)absent->split.groups->groups, sizeof *group_time);
    const struct prediction_setting setting = {.node = absent->node,
                                               .topology = absent->placed.topology,
                                               .end = absent->placed.end,
                                               .group_time = group_time};
    enum status status =
        group_time ? STATUS_OK : fail(STATUS_ERROR, "out of memory for the times of groups");
    for (int first = 0, end; first < job->candidate_count && status == STATUS_OK; first = end) {
        end = job_contest_end(job, first);
        const struct candidate *longest = &job->candidates[first];
        for (size_t bytes = job_first_size(job, longest), next = 1;
             next != 0 && status == STATUS_OK; bytes = next) {
            for (int c = first; c < end && status == STATUS_OK; c++)
                if (candidate_runs_at(&job->candidates[c], bytes))
                    status = line_predict(request, c, bytes, &setting, model, absent, report);
            next = job_next_size(job, longest, bytes);
        }
    }
    free(group_time);
    return status;
}

enum status predict_command(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    struct absent_ranks absent = {0};
    struct printers printers = {.outcome = NULL};
    (void)line;
    enum status status = prediction_check(job);
    if (status == STATUS_OK)
        status = absent_ranks_make(request, &absent);
    if (status == STATUS_OK)
        status = job_check_ranks(job, absent.ranks, &absent.split);
    if (status == STATUS_OK)
        status = absent_ranks_ring(request, &absent);
    if (status != STATUS_OK) {
        absent_ranks_free(&absent);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    struct model *model = NULL;
    status = model_read(job->model, &model);
    if (status == STATUS_OK)
        status = printers_open(&printers, request, PRINT_TABLE, true);
    if (status == STATUS_OK) {
        const struct participants participants = {.ranks = absent.ranks,
                                                  .members = absent.members,
                                                  .split = &absent.split,
                                                  .bootstrap = "none",
                                                  .topology = absent.placed.topology,
                                                  .place = request->predict.place,
                                                  .model = model};
        const struct job_end end = {.rejected = -1};
        printers.report.begin(&printers.report, job, &participants);
        status = lines_predict(request, model, &absent, &printers.report);
        printers.report.end(&printers.report, job, &end);
        status = printers_finish(&printers, true, status);
    } else {
        printers_close(&printers);
    }
    free(model);
    absent_ranks_free(&absent);
    return status;
}

void prediction_steps_print(FILE *out, const struct result *result)
{
    double measured = 0, predicted = 0, parted = 0; /* so far, us */
    struct step_end part = {0};
    int at = -1;
    if (result->predicted_us <= 0 || result->steps < 2)
        return;
    for (int s = 0; s < result->steps; s++) { /* a step may end before those before it */
        const struct step_end *end = &result->step_end[s];
        const struct step_end own = {.measured_us = fmax(end->measured_us - measured, 0),
                                     .predicted_us = fmax(end->predicted_us - predicted, 0)};
        double apart = fabs(own.measured_us - own.predicted_us);
        if (apart > parted) {
            parted = apart;
            part = own;
            at = s;
        }
        measured += own.measured_us;
        predicted += own.predicted_us;
    }
    if (at >= 0)
        fprintf(out, "#   step %d (of 0 to %d) differs most: it took %.2f us, predicted %.2f\n", at,
                result->steps - 1, part.measured_us, part.predicted_us);
}
