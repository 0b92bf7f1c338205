/*
 * table_head.c - the head of the table: what runs where, and all that is the same for every line.
 */
#include "cli/run/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/parse.h"
#include "base/text.h"
#include "collective/formats/formats.h"
#include "predict/simulate/simulate.h"
#include "predict/topology/topology.h"

#define NAMES_SHOWN 8  /* collectives, or algorithms, in the first line; more are counted */
#define RING_SHOWN  64 /* ranks */

static void print_hosts(FILE *out, const struct participants *participants)
{
    const struct member *members = participants->members;
    int hosts = 0, count = participants->ranks, last = 0;
    for (int i = 0; i < count; i++)
        if (members[i].node >= hosts) {
            hosts = members[i].node + 1;
            last = i;
        }
    fprintf(out, "%d rank%s on ", count, count == 1 ? "" : "s");
    if (hosts <= 1)
        fprintf(out, "%s", count ? members[0].host : "this host");
    else
        fprintf(out, "%d hosts, %s to %s", hosts, members[0].host, members[last].host);
}

/* How a rank is bound, and the words for it: where all are bound alike, and where they are not. */
enum bound { BOUND_ALONE, BOUND_SHARED, BOUND_NOT, BOUNDS };
static const char *const bound_all[BOUNDS] = {"a core for each rank", "ranks share cores",
                                              "ranks not bound"};
static const char *const bound_some[BOUNDS] = {"alone on a core", "on a shared core", "not bound"};

static enum bound binding_bound(const struct cpu_binding *binding)
{
    return binding->core < 0 ? BOUND_NOT : binding->sharing > 1 ? BOUND_SHARED : BOUND_ALONE;
}

static void print_bindings(FILE *out, const struct participants *participants)
{
    int ranks = participants->bindings ? participants->ranks : 0;
    const char *separator = "\n# "; /* a line of its own */
    bool *listed = new_array((size_t)ranks, sizeof *listed);
    for (int bound = 0; ranks > 0 && bound < BOUNDS; bound++) {
        int count = 0;
        char list[RANK_LIST_MOST];
        for (int r = 0; r < ranks; r++)
            count += listed[r] = binding_bound(&participants->bindings[r]) == (enum bound)bound;
        if (count == ranks)
            fprintf(out, "%s%s", separator, bound_all[bound]);
        else if (count > 0)
            fprintf(out, "%s%s %s", separator, rank_list_text(listed, ranks, list, sizeof list),
                    bound_some[bound]);
        separator = count > 0 ? "; " : separator;
    }
    free(listed);
}

/* The algorithms that auto picked, and why. */
static void print_picks(FILE *out, const struct job *job)
{
    for (int i = 0; i < job->candidate_count; i++) {
        const struct candidate *picked = &job->candidates[i];
        bool sweeps = job_sweeps(job, picked->collective);
        char least[SIZE_TEXT_MOST], most[SIZE_TEXT_MOST];
        if (!picked->why[0] || !candidate_is_first(job, i))
            continue;
        fprintf(out, "auto picks %s", picked->text);
        if (job->collectives[1])
            fprintf(out, " for %s", picked->collective->name);
        if (sweeps && picked->least == picked->most)
            fprintf(out, " at %s", size_format(picked->least, least));
        else if (sweeps)
            fprintf(out, " from %s to %s", size_format(picked->least, least),
                    size_format(picked->most, most));
        fprintf(out, ": %s\n# ", picked->why);
    }
}

static void print_vendor(FILE *out, const struct candidate *candidate)
{
    char version[32];
    if (!candidate->choice.algorithm->vendor)
        return;
    const struct vendor *vendor = vendor_find(candidate->choice.algorithm->vendor);
    vendor->version(version, sizeof version);
    fprintf(out, "# %s: the library %s %s, not cctest's own; it chooses its algorithm and links\n",
            candidate->text, vendor->title, version);
}

/* The note that a user should read on a file with schedules. */
static void print_file(FILE *out, const struct candidate *candidate)
{
    const struct file_plan *plan = candidate->choice.file;
    if (plan && plan->note)
        fprintf(out, "# %s: %s\n", candidate->text, plan->note);
}

void column_texts(const struct candidate *candidate, const char *texts[COLUMNS])
{
    bool sized = candidate->collective->sized;
    texts[COLUMN_COLLECTIVE] = candidate->collective->name;
    texts[COLUMN_DATATYPE] = sized ? candidate->datatype->name : "-";
    texts[COLUMN_OPERATOR] = sized && candidate->reduction ? candidate->reduction->name : "-";
    texts[COLUMN_ALGORITHM] = candidate->text;
}

/* "; float sum": what all lines have in common; "": nothing. */
static void print_common(FILE *out, const struct job *job, const struct columns *columns)
{
    const char *separator = "; ";
    for (enum work_column column = COLUMN_DATATYPE; column <= COLUMN_OPERATOR; column++) {
        const char *texts[COLUMNS], *shared = "-";
        for (int i = 0; i < job->candidate_count && strcmp(shared, "-") == 0; i++) {
            column_texts(&job->candidates[i], texts);
            shared = texts[column];
        }
        if (columns->widths[column] || strcmp(shared, "-") == 0)
            continue;
        fprintf(out, "%s%s", separator, shared);
        separator = " ";
    }
}

/* "allreduce ring, rhd"; "allreduce, allgather: ring, rhd, bruck". */
static void print_names(FILE *out, const struct job *job)
{
    const char *shown[NAMES_SHOWN];
    int count = 0, names = 0;
    while (job->collectives[count])
        count++;
    for (int c = 0; c < count && count <= NAMES_SHOWN; c++)
        fprintf(out, "%s%s", c ? ", " : "", job->collectives[c]->name);
    if (count > NAMES_SHOWN)
        fprintf(out, "%d collectives", count);
    for (int i = 0; i < job->candidate_count; i++) {
        bool known = !candidate_is_first(job, i);
        for (int k = 0; k < i && count > 1 && !known; k++)
            known = strcmp(job->candidates[k].text, job->candidates[i].text) == 0;
        if (!known && names < NAMES_SHOWN)
            shown[names] = job->candidates[i].text;
        names += !known;
    }
    for (int n = 0; n < names && names <= NAMES_SHOWN; n++)
        fprintf(out, "%s%s", n ? ", " : count > 1 ? ": " : " ", shown[n]);
    if (names > NAMES_SHOWN)
        fprintf(out, ", %d algorithms", names);
}

/* The groups that run at once. */
static void print_split(FILE *out, const struct job *job, const struct split *split)
{
    const struct shape *groups = split->groups;
    int each = shape_size(groups, 0);
    if (job->split.kind == SPLIT_NONE)
        return;
    fprintf(
        out,
        "# %d group%s of %d rank%s at the same time (--split %s); p50 to busbw: of the slowest; "
        "median, fastest: p50 of these\n",
        groups->groups, groups->groups == 1 ? "" : "s", each, each == 1 ? "" : "s",
        job->split.text);
}

/* How the lines were measured. */
static void print_iterations(FILE *out, const struct job *job,
                             const struct participants *participants)
{
    fprintf(out, "\n# %ld warm-up, ", job->warmup);
    if (job->iterations_auto)
        fprintf(out, "as many timed as the median needs in %g s", job->budget);
    else
        fprintf(out, "%ld timed", job->iterations);
    if (job->checked == CHECKED_ALL)
        fputs(" and checked", out);
    else
        fprintf(out, ", %ld checked", job->checked);
    fprintf(out, " iterations; %s",
            job->start == START_BARRIER ? "barrier before each iteration"
                                        : "iterations back to back");
    print_bindings(out, participants);
}

/* The ranks as rings with order=auto pass them. */
static void print_ring(FILE *out, const struct participants *participants)
{
    const int *place = participants->split->ring_place;
    int ranks = participants->ranks;
    if (!place)
        return;
    int *order = new_array((size_t)ranks, sizeof *order);
    for (int r = 0; r < ranks; r++)
        order[place[r]] = r;
    fputs("# rings with order=auto pass ranks", out);
    for (int i = 0; i < ranks && i < RING_SHOWN; i++)
        fprintf(out, " %d", order[i]);
    fputs(ranks > RING_SHOWN ? " ...\n" : "\n", out);
    free(order);
}

/* Where the times of predicted lines come from. */
static void print_model(FILE *out, const struct job *job, const struct participants *participants)
{
    const struct model *model = participants->model;
    fprintf(out, "\n# predicted by the model %s, made on %s, %s: nothing has run", job->model,
            model->host, model->made);
    for (int r = 0; r < participants->ranks; r++)
        if (participants->members[r].local_rank >= model->cores) {
            fprintf(out, "; ranks share the %d core%s of a host, by the model", model->cores,
                    model->cores == 1 ? "" : "s");
            return;
        }
}

/*
 * Prints which ranks use which GPU: host by host, by PCI address.
 *
 * Ranks that share one are named: they also share its time.
 */
#define GPUS_SHOWN 8 /* of many */

/* By host, then by GPU, then by rank. */
static int places_compare(const void *a, const void *b, void *argument)
{
    const struct participants *participants = argument;
    int x = *(const int *)a, y = *(const int *)b;
    int order = participants->members[x].node - participants->members[y].node;
    if (order == 0)
        order = memory_device_compare(&participants->devices[x], &participants->devices[y]);
    return order ? order : x - y;
}

/* The end of the ranks in `order` that use the GPU of the one at `begin`. */
static int group_end(const struct participants *participants, const int *order, int begin)
{
    const struct memory_device *devices = participants->devices;
    int end = begin, first = order[begin];
    while (end < participants->ranks &&
           participants->members[order[end]].node == participants->members[first].node &&
           memory_device_compare(&devices[order[end]], &devices[first]) == 0)
        end++;
    return end;
}

static void group_print(FILE *out, const struct participants *participants, const int *order,
                        int count)
{
    const struct memory_device *device = &participants->devices[order[0]];
    char list[RANK_LIST_MOST], gpu[MEMORY_DEVICE_TEXT];
    struct text text = text_in(list, sizeof list);
    struct rank_list ranks = {0};
    for (int i = 0; i < count; i++)
        rank_list_put(&ranks, order[i]);
    rank_list_end(&ranks, &text);
    fprintf(out, "# %s %s %s of host %s: %s\n", list, count > 1 ? "share" : "uses",
            memory_device_text(device, gpu), participants->members[order[0]].host, device->name);
}

/* The ranks from `begin` on in `order`, which are not shown GPU by GPU. */
static void rest_print(FILE *out, const struct participants *participants, const int *order,
                       int begin)
{
    bool *shares = new_array((size_t)participants->ranks, sizeof *shares);
    int gpus = 0, shared = 0;
    char list[RANK_LIST_MOST];
    for (int at = begin, end; at < participants->ranks; at = end, gpus++) {
        end = group_end(participants, order, at);
        for (int i = at; i < end; i++)
            shares[order[i]] = end - at > 1;
        shared += end - at > 1;
    }
    fprintf(out, "# %d ranks use %d more GPUs (-v lists them)", participants->ranks - begin, gpus);
    if (shared > 0)
        fprintf(out, "; %s share %d of these",
                rank_list_text(shares, participants->ranks, list, sizeof list), shared);
    fputc('\n', out);
    free(shares);
}

/* A line for each GPU that has a rank's memory: for a few of many, unless `all`. Prints nothing
 * where the host has it. */
static void gpus_print(FILE *out, const struct participants *participants, bool all)
{
    int ranks = participants->ranks, shown = 0;
    if (!participants->devices)
        return;
    int *order = new_array((size_t)ranks, sizeof *order);
    for (int r = 0; r < ranks; r++)
        order[r] = r;
    qsort_r(order, (size_t)ranks, sizeof *order, places_compare, (void *)(uintptr_t)participants);
    for (int at = 0, end; at < ranks; at = end, shown++) {
        end = group_end(participants, order, at);
        if (shown == GPUS_SHOWN && !all && end < ranks) {
            rest_print(out, participants, order, at);
            break;
        }
        group_print(out, participants, order + at, end - at);
    }
    free(order);
}

void head_print(FILE *out, const struct job *job, const struct participants *participants,
                const struct columns *columns)
{
    const struct traits any = job_traits(job);
    fprintf(out, "# cctest %s: ", CCTEST_VERSION);
    print_names(out, job);
    fputs("\n# ", out);
    print_picks(out, job);
    print_hosts(out, participants);
    if (participants->model)
        fputs(" (predicted)", out);
    else
        fprintf(out, " (%s%s)", participants->bootstrap,
                job->bootstrap.ranks_as == RANKS_THREADS ? ", as threads" : "");
    fprintf(out, "; memory %s; transport %s", job->memory->name, job->transports_text);
    if (job->channels != CHANNELS_AUTO)
        fprintf(out, "; channels %d", job->channels);
    else if (job_considers_devices(job))
        fputs("; channels auto", out);
    print_common(out, job, columns);
    if (any.sized)
        fprintf(out, "; %s", job->in_place ? "in-place" : "out of place");
    if (any.counted)
        fprintf(out, "; counts %s", job->counts_text);
    if (any.rooted && job->root == ROOT_ALL)
        fputs("; every root in turn", out);
    else if (any.rooted)
        fprintf(out, "; root %d", job->root);
    if (participants->model)
        print_model(out, job, participants);
    else
        print_iterations(out, job, participants);
    if (participants->topology)
        fprintf(out, "\n# on %s; ranks placed %s", topology_words(participants->topology),
                participants->place ? participants->place : "block");
    fputs("\n", out);
    print_split(out, job, participants->split);
    if (job->bootstrap.verbosity >= 1)
        print_ring(out, participants);
    gpus_print(out, participants, job->bootstrap.verbosity >= 1);
    for (int i = 0; i < job->candidate_count; i++) {
        if (!candidate_is_first(job, i))
            continue;
        if (job->candidates[i].choice.algorithm->round_trip)
            fprintf(out, "# %s: there and back is one iteration; half of its time is shown\n",
                    job->candidates[i].text);
        print_vendor(out, &job->candidates[i]);
        print_file(out, &job->candidates[i]);
    }
}
