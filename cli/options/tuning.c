/*
 * tuning.c - option values about tuning: what was measured before, and numbers of ranks.
 */
#include "cli/options/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "tune/tune.h"
#include "host/facts/facts.h"

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
    .parse = tuning_read, .show = tuning_show, .compare = tuning_compare};
const struct option_kind kind_rank_counts = {.parse = rank_counts_read, .show = rank_counts_show};
