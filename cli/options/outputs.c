/*
 * outputs.c - files that are written and read: no two of them may be one.
 */
#include "cli/options/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "predict/topology/topology.h"

#define LINKS_MOST 16 /* to follow, as names of links may lead in a circle */

/* An option that names a file of results, and the file; NULL: none. */
struct output {
    const char *option, *path;
};

/* The name that a link has in its place; false: it is none. */
static bool link_follow(char name[PATH_MAX])
{
    char target[PATH_MAX], *slash = strrchr(name, '/');
    ssize_t length = readlink(name, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    char *from = slash && target[0] != '/' ? slash + 1 : name;
    return snprintf(from, PATH_MAX - (size_t)(from - name), "%s", target) <
           PATH_MAX - (int)(from - name);
}

/* The name without links of a file that may not be there; false: its folder is not there. */
static bool place_find(const char *path, char place[PATH_MAX])
{
    char name[PATH_MAX], folder[PATH_MAX];
    snprintf(name, sizeof name, "%s", path);
    for (int i = 0; i < LINKS_MOST && link_follow(name); i++)
        ;
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - name) : 1,
             slash ? name : ".");
    if (!realpath(folder, place))
        return false;
    size_t length = strlen(place);
    return snprintf(place + length, PATH_MAX - length, "/%s", last) < PATH_MAX - (int)length;
}

bool outputs_are_one(const char *one, const char *other)
{
    char place[PATH_MAX], other_place[PATH_MAX];
    struct stat about, other_about;
    if (strcmp(one, other) == 0)
        return true;
    if (strcmp(one, "-") == 0 || strcmp(other, "-") == 0)
        return false;
    if (stat(one, &about) == 0 && stat(other, &other_about) == 0)
        return about.st_dev == other_about.st_dev && about.st_ino == other_about.st_ino;
    return place_find(one, place) && place_find(other, other_place) &&
           strcmp(place, other_place) == 0;
}

/* For fail_option(). */
static const char *options_of(const char *one, const char *other, char options[OPTIONS_TEXT])
{
    snprintf(options, OPTIONS_TEXT, "%s %s", one, other);
    return options;
}

static enum status settle_two_outputs(const struct output *one, const struct output *other)
{
    char options[OPTIONS_TEXT];
    if (!one->path || !other->path || !outputs_are_one(one->path, other->path))
        return STATUS_OK;
    options_of(one->option, other->option, options);
    if (strcmp(one->path, "-") == 0)
        return fail_option(
            STATUS_USAGE, options,
            "--%s and --%s cannot both go to standard output: give one of them a file", one->option,
            other->option);
    struct stat file;
    bool device = stat(one->path, &file) == 0 && !S_ISREG(file.st_mode);
    if (!device)
        return fail_option(STATUS_USAGE, options,
                           "--%s and --%s name the same file: give each a file of its own",
                           one->option, other->option);
    return STATUS_OK;
}

static enum status settle_input(const struct output *output, const struct output *input)
{
    char options[OPTIONS_TEXT];
    if (!output->path || !input->path || !outputs_are_one(output->path, input->path))
        return STATUS_OK;
    return fail_option(STATUS_USAGE, options_of(output->option, input->option, options),
                       "--%s names %s, which --%s reads: give it a file of its own", output->option,
                       output->path, input->option);
}

/* The file of --topology, which may stand before keys; NULL: it names a family. */
static const char *topology_file(const char *text, char file[PATH_MAX])
{
    return text && topology_reads(text, file, PATH_MAX) ? file : NULL;
}

bool command_line_reads(const struct command_line *line, const char *path)
{
    static const char *const inputs[] = {"profile", "baseline", "switches", "counts",
                                         "split",   "tuning",   "model",    "place"};
    char file[PATH_MAX];
    const char *topology = topology_file(command_line_argument(line, "topology")->text, file);
    bool reads = topology && outputs_are_one(path, topology);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const struct argument *input = command_line_argument(line, inputs[i]);
        reads |= input->source > SOURCE_DEFAULT && outputs_are_one(path, input->text);
    }
    for (int i = 1; line->command && (line->command->bit & FOR_GUIDELINES) && i < line->word_count;
         i++)
        reads |= outputs_are_one(path, line->words[i]);
    return reads || files_named(command_line_argument(line, "algorithm")->text, path, outputs_are_one);
}

enum status outputs_settle(const struct command_line *line, const struct request *request)
{
    const struct accept_options *accept = &request->accept;
    const struct split_spec *split = &request->job.split;
    char file[PATH_MAX];
    const struct output outputs[] = {{"json", request->files.json},
                                     {"csv", request->files.csv},
                                     {"samples", request->files.samples},
                                     {"svg", request->files.svg},
                                     {"good", accept->good},
                                     {"bad", accept->bad},
                                     {"junit", accept->junit},
                                     {"html", request->files.html},
                                     {"write-profile", accept->write_profile},
                                     {"ompi", request->tune.ompi},
                                     {"mpich", request->tune.mpich},
                                     {"nccl", request->tune.nccl},
                                     {"goal", request->plan.goal},
                                     {"msccl", request->plan.msccl},
                                     {"output", request->files.output}};
    const struct output inputs[] = {
        {"profile", accept->profile},
        {"baseline", accept->baseline},
        {"switches", accept->switches},
        {"counts", request->job.counts_text},
        {"tuning", request->job.tuned ? request->job.tuned->path : NULL},
        {"model", request->job.model},
        {"topology", topology_file(request->predict.topology, file)},
        {"place", request->predict.place},
        {"split", split->kind == SPLIT_FILE ? split->text : NULL}};
    const char *list = command_line_argument(line, "algorithm")->text;
    const int count = sizeof outputs / sizeof outputs[0];
    const int input_count = sizeof inputs / sizeof inputs[0];
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        for (int k = i + 1; k < count && status == STATUS_OK; k++)
            status = settle_two_outputs(&outputs[i], &outputs[k]);
        for (int k = 0; k < input_count && status == STATUS_OK; k++)
            status = settle_input(&outputs[i], &inputs[k]);
        if (status == STATUS_OK && outputs[i].path && files_named(list, outputs[i].path, outputs_are_one))
            status = settle_input(&outputs[i], &(struct output){"algorithm", outputs[i].path});
    }
    return status;
}
