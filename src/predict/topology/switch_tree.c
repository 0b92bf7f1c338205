/*
 * switch_tree.c - a file of switches.
 */
#include "predict/topology/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/host_list.h"
#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"

#define BLANKS " \t\r\v\f"
#define FORMS  "give 's1: n[1-16,18]', or Slurm's 'SwitchName=s1 Nodes=n[1-16,18]'"

/* The tree, and what stands where in its text. */
struct tree_reader {
    struct switch_tree *tree;
    char *rest;
    long line, next_line;
    int current;        /* the switch whose list is expanded */
    enum status status; /* of the expansion */
};

/* ---- lines ---- */

/* The next line, with those that it goes on in; NULL: there is none. */
static char *line_next(struct tree_reader *reader)
{
    char *begin = reader->rest, *end = begin;
    if (!begin)
        return NULL;
    for (reader->line = reader->next_line;; end++) {
        end += strcspn(end, "\n");
        reader->next_line++;
        char *last = end > begin && end[-1] == '\r' ? end - 1 : end;
        if (*end == '\0' || last == begin || last[-1] != '\\')
            break;
        memset(last - 1, ' ', (size_t)(end - last) + 2);
    }
    reader->rest = *end ? end + 1 : NULL;
    *end = '\0';
    begin[strcspn(begin, "#")] = '\0';
    return begin + strspn(begin, BLANKS);
}

static enum status line_refuse(const struct tree_reader *reader, const char *text, const char *why)
{
    return fail_line(STATUS_USAGE, reader->tree->path, reader->line, "'%.80s' %s", text, why);
}

static enum status switch_add(struct tree_reader *reader, struct tree_switch found)
{
    struct switch_tree *tree = reader->tree;
    if (!list_reserve(&tree->switches, (size_t)tree->switch_count, sizeof found))
        return fail(STATUS_ERROR, "out of memory for the switches of %.200s", tree->path);
    found.line = reader->line;
    tree->switches[tree->switch_count++] = found;
    return STATUS_OK;
}

/* Takes "KEY=VALUE" off the line, the value in quotes or up to a blank. False: it is something
 * else. */
static bool assignment_take(char **line, char **key, char **value)
{
    char *at = *key = *line;
    at += strcspn(at, "=" BLANKS);
    char *end = at;
    at += strspn(at, BLANKS);
    if (*at != '=' || end == *key)
        return false;
    at++;
    at += strspn(at, BLANKS);
    *end = '\0';
    bool quoted = *at == '"';
    *value = at += quoted;
    at += strcspn(at, quoted ? "\"" : BLANKS);
    if (quoted && *at != '"')
        return false;
    *line = at + (*at != '\0');
    *at = '\0';
    *line += strspn(*line, BLANKS);
    return **value != '\0';
}

/* Slurm takes any whole number. */
static bool speed_read(const char *text, double *speed)
{
    char *end;
    *speed = strtod(text, &end);
    return strspn(text, "0123456789.") == strlen(text) && end != text && *end == '\0' &&
           *speed > 0 && *speed <= 1e12;
}

static enum status slurm_line(struct tree_reader *reader, char *line)
{
    struct tree_switch found = {0};
    char *key, *value;
    while (*line) {
        if (!assignment_take(&line, &key, &value))
            return line_refuse(reader, key, "is not KEY=VALUE: give a value for each key");
        if (strcasecmp(key, "SwitchName") == 0)
            found.name = value;
        else if (!found.name)
            return line_refuse(reader, key,
                               "stands where SwitchName= is expected: give a line of Slurm's "
                               "topology/tree for each switch");
        else if (strcasecmp(key, "Nodes") == 0)
            found.hosts = value;
        else if (strcasecmp(key, "Switches") == 0)
            found.below = value;
        else if (strcasecmp(key, "LinkSpeed") == 0 && !speed_read(value, &found.speed))
            return line_refuse(reader, value,
                               "is no LinkSpeed: give a number above 0, of digits, up to 1e12");
    }
    if (!found.hosts == !found.below)
        return line_refuse(reader, found.name,
                           found.hosts ? "has Nodes= and Switches=: give one of them"
                                       : "has neither Nodes= nor Switches=: give one of them");
    return switch_add(reader, found);
}

static enum status plain_line(struct tree_reader *reader, char *line)
{
    size_t length = strcspn(line, BLANKS ":");
    char *colon = line + length + strspn(line + length, BLANKS);
    if (length == 0 || *colon != ':')
        return line_refuse(reader, line, "is no line of a switch: " FORMS);
    char *hosts = colon + 1 + strspn(colon + 1, BLANKS);
    for (size_t end = strlen(hosts); end > 0 && strchr(BLANKS, hosts[end - 1]);)
        hosts[--end] = '\0';
    line[length] = '\0';
    if (*hosts == '\0')
        return line_refuse(reader, line, "has no hosts: " FORMS);
    return switch_add(reader, (struct tree_switch){.name = line, .hosts = hosts});
}

static enum status lines_read(struct tree_reader *reader)
{
    enum status status = STATUS_OK;
    for (char *line; status == STATUS_OK && (line = line_next(reader));)
        if (*line)
            status = strchr(line, '=') ? slurm_line(reader, line) : plain_line(reader, line);
    if (status == STATUS_OK && reader->tree->switch_count == 0)
        status = fail(STATUS_USAGE, "%.200s names no switch: " FORMS, reader->tree->path);
    return status;
}

/* ---- lists ---- */

static enum status list_expand(const struct switch_tree *tree, const struct tree_switch *place,
                               const char *list, bool (*each)(void *argument, const char *name),
                               void *argument)
{
    const char *wrong = host_list_expand(list, each, argument);
    if (wrong)
        return fail_line(STATUS_USAGE, tree->path, place->line,
                         "'%.80s' is no list of names, %s: give names as n[1-16,18], with commas "
                         "between them and without blanks",
                         list, wrong);
    return STATUS_OK;
}

/* The function that is called with each host, and its status. */
struct host_visit {
    enum status (*each)(void *argument, const char *host);
    void *argument;
    enum status status;
};

static bool host_visit(void *argument, const char *host)
{
    struct host_visit *visit = argument;
    visit->status = visit->each(visit->argument, host);
    return visit->status == STATUS_OK;
}

enum status switch_tree_hosts(const struct switch_tree *tree, int number,
                              enum status (*each)(void *argument, const char *host), void *argument)
{
    struct host_visit visit = {each, argument, STATUS_OK};
    const struct tree_switch *place = &tree->switches[number];
    TRY(list_expand(tree, place, place->hosts, host_visit, &visit));
    return visit.status;
}

/* ---- switches above switches ---- */

static int names_compare(const void *a, const void *b, void *argument)
{
    const struct tree_switch *switches = argument, *x = &switches[*(const int *)a],
                             *y = &switches[*(const int *)b];
    return strcmp(x->name, y->name) ?: COMPARE(x->line, y->line);
}

static enum status names_sort(struct switch_tree *tree)
{
    tree->by_name = calloc((size_t)tree->switch_count, sizeof *tree->by_name);
    if (!tree->by_name)
        return fail(STATUS_ERROR, "out of memory for the switches of %.200s", tree->path);
    for (int s = 0; s < tree->switch_count; s++)
        tree->by_name[s] = s;
    qsort_r(tree->by_name, (size_t)tree->switch_count, sizeof *tree->by_name, names_compare,
            tree->switches);
    for (int i = 1; i < tree->switch_count; i++) {
        const struct tree_switch *first = &tree->switches[tree->by_name[i - 1]],
                                 *again = &tree->switches[tree->by_name[i]];
        if (strcmp(first->name, again->name) == 0)
            return fail_line(
                STATUS_USAGE, tree->path, again->line,
                "switch %.64s has a line already (line %ld): give each switch one line",
                again->name, first->line);
    }
    return STATUS_OK;
}

/* The switch of a name; -1: there is none. */
static int switch_find(const struct switch_tree *tree, const char *name)
{
    for (int low = 0, high = tree->switch_count; low < high;) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, tree->switches[tree->by_name[middle]].name);
        if (order == 0)
            return tree->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* A cable from the current switch down to another. */
static bool cable_take(void *argument, const char *name)
{
    struct tree_reader *reader = argument;
    struct switch_tree *tree = reader->tree;
    int below = switch_find(tree, name);
    if (below < 0) {
        reader->status = fail_line(
            STATUS_USAGE, tree->path, tree->switches[reader->current].line,
            "switch %.64s has no line of its own: add it, with its hosts or switches", name);
        return false;
    }
    if (!list_reserve(&tree->cables, (size_t)tree->cable_count, sizeof *tree->cables)) {
        reader->status = fail(STATUS_ERROR, "out of memory for the cables of %.200s", tree->path);
        return false;
    }
    tree->cables[tree->cable_count++] = (struct tree_cable){reader->current, below};
    return true;
}

static enum status cables_find(struct tree_reader *reader)
{
    const struct switch_tree *tree = reader->tree;
    for (int s = 0; s < tree->switch_count; s++) {
        const struct tree_switch *place = &tree->switches[s];
        reader->current = s;
        reader->status = STATUS_OK;
        if (!place->below)
            continue;
        enum status status = list_expand(tree, place, place->below, cable_take, reader);
        if (status != STATUS_OK || reader->status != STATUS_OK)
            return status != STATUS_OK ? status : reader->status;
    }
    return STATUS_OK;
}

/* A switch is a level above the highest one that is below it. */
static enum status levels_find(struct switch_tree *tree)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int c = 0; c < tree->cable_count; c++) {
            struct tree_switch *above = &tree->switches[tree->cables[c].above];
            int level = tree->switches[tree->cables[c].below].level + 1;
            if (level > SWITCH_LEVELS_MOST)
                return fail_line(STATUS_USAGE, tree->path, above->line,
                                 "switch %.64s is more than %d levels above its hosts: check that "
                                 "no switch is below itself",
                                 above->name, SWITCH_LEVELS_MOST);
            changed = changed || level > above->level;
            above->level = level > above->level ? level : above->level;
        }
    }
    return STATUS_OK;
}

/* ---- the file ---- */

enum status switch_tree_parse(const char *path, char *text, struct switch_tree *tree)
{
    *tree = (struct switch_tree){.path = path, .text = text};
    struct tree_reader reader = {.tree = tree, .rest = text, .next_line = 1};
    TRY(lines_read(&reader));
    TRY(names_sort(tree));
    TRY(cables_find(&reader));
    return levels_find(tree);
}

void switch_tree_free(struct switch_tree *tree)
{
    free(tree->text);
    free(tree->switches);
    free(tree->by_name);
    free(tree->cables);
    *tree = (struct switch_tree){0};
}
