/*
 * choices.c - option values that are algorithms with their own options, counts, or groups.
 */
#include "cli/options/options.h"

#include "base/log.h"
#include "base/text.h"
#include "collective/formats/formats.h"
#include "host/facts/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Algorithms: name[:key=value]... */

static enum status choice_default(struct request *request, const struct collective *collective)
{
    return job_add_choice(&request->job, collective, &(struct choice){.algorithm = NULL}, "auto");
}

enum status choices_default(struct request *request)
{
    enum status status = STATUS_OK;
    for (int c = 0; request->job.collectives[c] && status == STATUS_OK; c++)
        status = choice_default(request, request->job.collectives[c]);
    return status;
}

static enum status choice_read_file(struct request *request, const struct collective *collective,
                                    const char *item)
{
    struct choice choice;
    TRY(file_item_read(request, collective, file_item_path(item), &choice));
    return choice.algorithm ? job_add_choice(&request->job, collective, &choice, item) : STATUS_OK;
}

/* Adds an item of the list for one collective. It may have no such algorithm. */
static enum status choice_read(struct request *request, const struct collective *collective,
                               const char *item)
{
    char name[ITEM_MOST], shown[ITEM_MOST];
    if (file_item_path(item))
        return choice_read_file(request, collective, item);
    const char *colon = strchr(item, ':');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(item, ":"), item);
    const struct algorithm *algorithm = algorithm_find(collective->id, name);
    if (!algorithm)
        return strcmp(item, "auto") == 0 ? choice_default(request, collective) : STATUS_OK;
    struct choice choice;
    snprintf(shown, sizeof shown, "%s%s", algorithm->name, colon ? colon : "");
    TRY(choice_text_read(algorithm, item, &choice));
    return job_add_choice(&request->job, collective, &choice, shown);
}

/* Refuses an item that none of the collectives has. */
static enum status item_check(const struct request *request, const char *item)
{
    char name[ITEM_MOST];
    const char *colon = strchr(item, ':'), *path = file_item_path(item);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(item, ":"), item);
    if (path && *path)
        return STATUS_OK;
    if (path || strcmp(name, "file") == 0)
        return fail_option(STATUS_USAGE, "algorithm",
                           "'%s' of --algorithm names no file with schedules: give file:PATH",
                           item);
    for (int c = 0; request->job.collectives[c]; c++)
        if (algorithm_find(request->job.collectives[c]->id, name))
            return STATUS_OK;
    if (strcmp(name, "auto") == 0)
        return colon ? fail(STATUS_USAGE,
                            "'auto:%s': auto takes no options: leave them out, or name an "
                            "algorithm",
                            colon + 1)
                     : STATUS_OK;
    if (strcmp(name, "all") == 0)
        return fail_option(STATUS_USAGE, "algorithm",
                           "'all' of --algorithm stands for all algorithms: write it "
                           "alone, without options");
    return unknown_algorithm(name, request->job.collectives);
}

static enum status list_check(const struct request *request, const char *list)
{
    char item[ITEM_MOST];
    enum status status = STATUS_OK;
    for (int count = 0; status == STATUS_OK && list_next(&list, ',', item); count++) {
        if (count == ALGORITHMS_MOST)
            return fail_option(STATUS_USAGE, "algorithm",
                               "--algorithm names more than %d algorithms: compare fewer at once",
                               ALGORITHMS_MOST);
        status = item_check(request, item);
    }
    return status;
}

/* The algorithms of the list that a collective has. */
static enum status choices_read(struct request *request, const struct collective *collective,
                                const char *list)
{
    char item[ITEM_MOST];
    enum status status = STATUS_OK;
    while (status == STATUS_OK && list_next(&list, ',', item))
        status = choice_read(request, collective, item);
    return status;
}

/* A collective that none of the algorithms serves is left out of `cctest all`. */
static enum status algorithm_read(const struct argument *argument, struct request *request)
{
    int kept = 0;
    request->job.choices_all = strcmp(argument->text, "all") == 0;
    enum status status = request->job.choices_all ? STATUS_OK : list_check(request, argument->text);
    for (int c = 0; request->job.collectives[c] && status == STATUS_OK; c++) {
        const struct collective *collective = request->job.collectives[c];
        int before = request->job.candidate_count;
        status = request->job.choices_all ? job_add_all(&request->job, collective)
                                          : choices_read(request, collective, argument->text);
        if (status != STATUS_OK || request->job.candidate_count > before)
            request->job.collectives[kept++] = collective;
        else if (!request->job.collectives_all)
            return fail_option(
                STATUS_USAGE, "algorithm",
                "%s has no algorithm of --algorithm %s: add one of its own, or 'auto', or "
                "leave %s out",
                collective->name, argument->text, collective->name);
    }
    if (status == STATUS_OK)
        request->job.collectives[kept] = NULL;
    return status;
}

/* The name that ranks compare: hosts may have a file at different paths. */
static const char *name_compared(const struct candidate *candidate, char text[CANDIDATE_TEXT_MOST])
{
    const struct file_plan *plan = candidate->choice.file;
    if (!plan)
        return candidate->text;
    snprintf(text, CANDIDATE_TEXT_MOST, "FILE (schedules %016llx)",
             (unsigned long long)plan->fingerprint);
    return text;
}

/* The algorithms of each collective. `once`: a name that several collectives have, only once. */
static json_t *algorithm_names(const struct request *request, bool once)
{
    json_t *names = json_array(), *seen = json_object();
    for (int c = 0; c < request->job.candidate_count; c++) {
        char compared[CANDIDATE_TEXT_MOST];
        const char *text = once ? request->job.candidates[c].text
                                : name_compared(&request->job.candidates[c], compared);
        const struct collective *collective = request->job.candidates[c].collective;
        if (!candidate_is_first(&request->job, c))
            continue;
        json_t *first = json_object_get(seen, text);
        if (!first)
            json_object_set_new(seen, text, json_string(collective->name));
        if (!once || !first || strcmp(json_string_value(first), collective->name) == 0)
            json_array_append_new(names, json_string(text));
    }
    json_decref(seen);
    return names;
}

static json_t *algorithm_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return algorithm_names(request, true);
}

/* Ranks with other lists are told apart, whichever algorithms the collectives have in common. */
static json_t *algorithm_compare(const struct option_row *option, const struct request *request)
{
    (void)option;
    return algorithm_names(request, false);
}

/* Counts and groups. */

static enum status counts_parse(const struct argument *argument, struct request *request)
{
    request->job.counts_text = argument->text;
    return counts_read(argument->text, &request->job.counts);
}

static json_t *counts_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return job_traits(&request->job).counted ? json_string(request->job.counts_text) : json_null();
}

/* Hosts may have the file at different paths, so its numbers are compared. */
static json_t *counts_compare(const struct option_row *option, const struct request *request)
{
    if (!job_traits(&request->job).counted || !request->job.counts.numbers)
        return counts_show(option, request);
    return json_sprintf("FILE (numbers %016llx)",
                        (unsigned long long)counts_fingerprint(&request->job.counts));
}

static enum status shape_parse(const struct argument *argument, struct request *request)
{
    const char *cross = strchr(argument->text, 'x');
    char groups[32];
    long long number[2];
    snprintf(groups, sizeof groups, "%.*s", (int)strcspn(argument->text, "x"), argument->text);
    if (!cross || whole_parse(groups, 1, CHOICE_GROUP_MOST, &number[0]) ||
        whole_parse(cross + 1, 1, CHOICE_GROUP_MOST, &number[1]))
        return argument_refuse(argument, "is not NODESxRANKS",
                               "give both from 1 to 65536, such as 2x4");
    request->job.shape_groups = (int)number[0];
    request->job.shape_ranks = (int)number[1];
    return STATUS_OK;
}

static json_t *shape_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    if (request->job.shape_groups == 0)
        return json_null();
    return json_sprintf("%dx%d", request->job.shape_groups, request->job.shape_ranks);
}

static enum status split_parse(const struct argument *argument, struct request *request)
{
    return split_read(argument->text, &request->job.split);
}

static json_t *split_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return request->job.split.text ? json_string(request->job.split.text) : json_null();
}

/* As for a file of counts. */
static json_t *split_compare(const struct option_row *option, const struct request *request)
{
    if (request->job.split.kind != SPLIT_FILE)
        return split_show(option, request);
    return json_sprintf("FILE (groups %016llx)",
                        (unsigned long long)split_fingerprint(&request->job.split));
}

const struct option_kind kind_counts = {
    .parse = counts_parse, .show = counts_show, .compare = counts_compare, .type = "text_or_null"};
const struct option_kind kind_shape = {.parse = shape_parse, .show = shape_show, .type = "shape"};
const struct option_kind kind_split = {
    .parse = split_parse, .show = split_show, .compare = split_compare, .type = "text_or_null"};
const struct option_kind kind_algorithm = {
    .parse = algorithm_read, .show = algorithm_show, .compare = algorithm_compare, .type = "names"};

/*
 * Option values about tuning: what was measured before, and numbers of ranks.
 */
/* A file of `cctest tune`. */

static enum status tuning_read(const struct argument *argument, struct request *request)
{
    return tuning_file_read(argument->text, &request->job.tuned);
}

static json_t *tuning_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return request->job.tuned ? json_string(request->job.tuned->path) : json_null();
}

/* Hosts may have the file at different paths, so its numbers are compared. */
static json_t *tuning_compare(const struct option_row *option, const struct request *request)
{
    if (!request->job.tuned)
        return tuning_show(option, request);
    return json_sprintf("FILE (numbers %016llx)",
                        (unsigned long long)request->job.tuned->fingerprint);
}

static void difference_add(struct text *text, const char *what, const char *there, const char *here)
{
    if (*there && strcmp(there, here) != 0)
        text_add(text, "%s%s %s, and here it is %s", text->used > 0 ? "; " : "", what, there, here);
}

void tuning_warn(const struct request *request)
{
    const struct tuned *tuned = request->job.tuned;
    char model[VALUE_TEXT_MOST], differences[400] = "";
    struct text text = text_in(differences, sizeof differences);
    bool picks = false;
    for (int c = 0; c < request->job.candidate_count; c++)
        picks |= !request->job.candidates[c].choice.algorithm || request->job.candidates[c].why[0];
    if (!tuned || !picks)
        return;
    int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    cpu_model_read("", model);
    difference_add(&text, "on CPUs", tuned->cpu, model);
    if (tuned->threads > 0 && tuned->threads != threads)
        text_add(&text, "%sof %d CPUs a host, and here there are %d", text.used > 0 ? "; " : "",
                 tuned->threads, threads);
    difference_add(&text, "with memory", tuned->memory, request->job.memory->name);
    difference_add(&text, "with transport", tuned->transport, request->job.transports_text);
    if (text.used > 0)
        say("%.200s was measured %s: what auto picks may not be the fastest; cctest tune makes "
            "another",
            tuned->path, differences);
}

/* "2,4,8". */

static int whole_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static enum status rank_counts_read(const struct argument *argument, struct request *request)
{
    const char *list = argument->text;
    char item[ITEM_MOST];
    struct tune_options *tune = &request->tune;
    int kept = 0;
    tune->rank_count = 0;
    while (list_next(&list, ',', item)) {
        long long value;
        const char *why = whole_parse(item, 2, JOB_RANKS_MOST, &value);
        if (!why && tune->rank_count == TUNE_RANKS_MOST)
            why = "has one number too many";
        if (why)
            return argument_refuse(argument, why, "give numbers of ranks from 2, such as 2,4,8");
        tune->ranks[tune->rank_count++] = (int)value;
    }
    qsort(tune->ranks, (size_t)tune->rank_count, sizeof *tune->ranks, whole_compare);
    for (int i = 0; i < tune->rank_count; i++)
        if (i == 0 || tune->ranks[i] != tune->ranks[kept - 1])
            tune->ranks[kept++] = tune->ranks[i];
    tune->rank_count = kept;
    return STATUS_OK;
}

static json_t *rank_counts_show(const struct option_row *option, const struct request *request)
{
    json_t *list = json_array();
    (void)option;
    for (int i = 0; i < request->tune.rank_count; i++)
        json_array_append_new(list, json_integer(request->tune.ranks[i]));
    if (request->tune.rank_count > 0)
        return list;
    json_decref(list);
    return json_null();
}

const struct option_kind kind_tuning = {
    .parse = tuning_read, .show = tuning_show, .compare = tuning_compare, .type = "text_or_null"};
const struct option_kind kind_rank_counts = {
    .parse = rank_counts_read, .show = rank_counts_show, .type = "rank_counts"};
