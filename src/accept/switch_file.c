/*
 * switch_file.c - which hosts stand behind which switches.
 */
#include "accept/switch_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/host_list.h"
#include "base/log.h"
#include "base/text_file.h"

#define LEVELS_MOST 16 /* above the leaves: more is a circle */
#define BLANKS      " \t\r\v\f"
#define FORMS       "give 's1: n[1-16,18]', or Slurm's 'SwitchName=s1 Nodes=n[1-16,18]'"

/* Texts point into the file. */
struct file_switch {
    const char *name;
    const char *below; /* a list of switches; NULL: it has hosts */
    long line;
    int level; /* 0: it has hosts */
    int root;  /* of the part of the network that it belongs to: another switch, or itself */
};

/* A name of a host of the run. */
struct host_key {
    char *name;
    int host;
};

struct cable {
    int above, below; /* switches */
};

struct switch_file {
    const char *path;
    char *text, *rest;
    long line, next_line;
    struct file_switch *switches;
    int switch_count, switch_room;
    int *by_name; /* switches */
    const char *const *hosts;
    int host_count;
    struct host_key *keys; /* by name */
    int key_count;
    int *leaf_of; /* by host; -1: not named yet */
    struct cable *cables;
    int cable_count, cable_room;
    int current;        /* the switch whose list is expanded */
    enum status status; /* of the expansion */
};

/* ---- hosts of the run ---- */

static int key_compare(const void *a, const void *b)
{
    return strcmp(((const struct host_key *)a)->name, ((const struct host_key *)b)->name);
}

static bool key_add(struct switch_file *file, const char *name, size_t length, int host)
{
    file->keys[file->key_count] = (struct host_key){.name = strndup(name, length), .host = host};
    return file->keys[file->key_count].name && ++file->key_count;
}

/* Each host by its name, and by its name without the domain. */
static bool keys_make(struct switch_file *file)
{
    file->keys = calloc(2 * (size_t)file->host_count + 1, sizeof *file->keys);
    bool made = file->keys;
    for (int h = 0; made && h < file->host_count; h++) {
        const char *name = file->hosts[h];
        size_t whole = strlen(name), part = strcspn(name, ".");
        made = key_add(file, name, whole, h) && (part == whole || key_add(file, name, part, h));
    }
    if (made)
        qsort(file->keys, (size_t)file->key_count, sizeof *file->keys, key_compare);
    return made;
}

/* Puts a host behind the current switch, if it is one of the run. */
static bool host_take(void *argument, const char *name)
{
    struct switch_file *file = argument;
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s", name);
    const struct host_key key = {.name = wanted}, *end = file->keys + file->key_count,
                          *at = bsearch(&key, file->keys, (size_t)file->key_count,
                                        sizeof *file->keys, key_compare);
    while (at && at > file->keys && key_compare(at - 1, &key) == 0)
        at--;
    for (; at && at < end && key_compare(at, &key) == 0; at++) {
        int *leaf = &file->leaf_of[at->host];
        if (*leaf >= 0 && *leaf != file->current) {
            file->status =
                fail(STATUS_USAGE,
                     "%.200s, line %ld: host %.64s is behind switch %.64s already (line %ld): name "
                     "each host behind one switch",
                     file->path, file->line, name, file->switches[*leaf].name,
                     file->switches[*leaf].line);
            return false;
        }
        *leaf = file->current;
    }
    return true;
}

/* ---- lines ---- */

/* The next line, with those that it goes on in; NULL: there is none. */
static char *line_next(struct switch_file *file)
{
    char *begin = file->rest, *end = begin;
    if (!begin)
        return NULL;
    for (file->line = file->next_line;; end++) {
        end += strcspn(end, "\n");
        file->next_line++;
        char *last = end > begin && end[-1] == '\r' ? end - 1 : end;
        if (*end == '\0' || last == begin || last[-1] != '\\')
            break;
        memset(last - 1, ' ', (size_t)(end - last) + 2);
    }
    file->rest = *end ? end + 1 : NULL;
    *end = '\0';
    begin[strcspn(begin, "#")] = '\0';
    return begin + strspn(begin, BLANKS);
}

static enum status line_refuse(const struct switch_file *file, const char *text, const char *why)
{
    return fail(STATUS_USAGE, "%.200s, line %ld: '%.80s' %s", file->path, file->line, text, why);
}

static enum status switch_add(struct switch_file *file, const char *name, const char *below)
{
    if (file->switch_count == file->switch_room) {
        int room = 2 * file->switch_room + 64;
        struct file_switch *switches =
            realloc(file->switches, (size_t)room * sizeof *file->switches);
        if (!switches)
            return fail(STATUS_ERROR, "out of memory for the switches of %.200s", file->path);
        file->switches = switches;
        file->switch_room = room;
    }
    file->current = file->switch_count++;
    file->switches[file->current] = (struct file_switch){
        .name = name, .below = below, .line = file->line, .root = file->current};
    return STATUS_OK;
}

static enum status list_expand(struct switch_file *file, const char *list,
                               bool (*each)(void *argument, const char *name))
{
    file->status = STATUS_OK;
    const char *wrong = host_list_expand(list, each, file);
    if (wrong)
        return fail(STATUS_USAGE,
                    "%.200s, line %ld: '%.80s' is no list of names, %s: give names as n[1-16,18], "
                    "with commas between them and without blanks",
                    file->path, file->line, list, wrong);
    return file->status;
}

static enum status leaf_add(struct switch_file *file, const char *name, const char *hosts)
{
    enum status status = switch_add(file, name, NULL);
    return status == STATUS_OK ? list_expand(file, hosts, host_take) : status;
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

static enum status slurm_line(struct switch_file *file, char *line)
{
    char *name = NULL, *nodes = NULL, *below = NULL, *key, *value;
    while (*line) {
        if (!assignment_take(&line, &key, &value))
            return line_refuse(file, key, "is not KEY=VALUE: give a value for each key");
        if (strcasecmp(key, "SwitchName") == 0)
            name = value;
        else if (!name)
            return line_refuse(file, key,
                               "stands where SwitchName= is expected: give a line of Slurm's "
                               "topology/tree for each switch");
        else if (strcasecmp(key, "Nodes") == 0)
            nodes = value;
        else if (strcasecmp(key, "Switches") == 0)
            below = value;
    }
    if (!nodes == !below)
        return line_refuse(file, name,
                           nodes ? "has Nodes= and Switches=: give one of them"
                                 : "has neither Nodes= nor Switches=: give one of them");
    return nodes ? leaf_add(file, name, nodes) : switch_add(file, name, below);
}

static enum status plain_line(struct switch_file *file, char *line)
{
    size_t length = strcspn(line, BLANKS ":");
    char *colon = line + length + strspn(line + length, BLANKS);
    if (length == 0 || *colon != ':')
        return line_refuse(file, line, "is no line of a switch: " FORMS);
    char *hosts = colon + 1 + strspn(colon + 1, BLANKS);
    for (size_t end = strlen(hosts); end > 0 && strchr(BLANKS, hosts[end - 1]);)
        hosts[--end] = '\0';
    line[length] = '\0';
    return *hosts ? leaf_add(file, line, hosts) : line_refuse(file, line, "has no hosts: " FORMS);
}

static enum status lines_read(struct switch_file *file)
{
    enum status status = STATUS_OK;
    for (char *line; status == STATUS_OK && (line = line_next(file));)
        if (*line)
            status = strchr(line, '=') ? slurm_line(file, line) : plain_line(file, line);
    if (status == STATUS_OK && file->switch_count == 0)
        status = fail(STATUS_USAGE, "%.200s names no switch: " FORMS, file->path);
    return status;
}

/* ---- switches above switches ---- */

static int names_compare(const void *a, const void *b, void *argument)
{
    const struct file_switch *switches = argument, *x = &switches[*(const int *)a],
                             *y = &switches[*(const int *)b];
    int order = strcmp(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static enum status names_sort(struct switch_file *file)
{
    file->by_name = calloc((size_t)file->switch_count, sizeof *file->by_name);
    if (!file->by_name)
        return fail(STATUS_ERROR, "out of memory for the switches of %.200s", file->path);
    for (int s = 0; s < file->switch_count; s++)
        file->by_name[s] = s;
    qsort_r(file->by_name, (size_t)file->switch_count, sizeof *file->by_name, names_compare,
            file->switches);
    for (int i = 1; i < file->switch_count; i++) {
        const struct file_switch *first = &file->switches[file->by_name[i - 1]],
                                 *again = &file->switches[file->by_name[i]];
        if (strcmp(first->name, again->name) == 0)
            return fail(STATUS_USAGE,
                        "%.200s, line %ld: switch %.64s has a line already (line %ld): give each "
                        "switch one line",
                        file->path, again->line, again->name, first->line);
    }
    return STATUS_OK;
}

/* The switch of a name; -1: there is none. */
static int switch_find(const struct switch_file *file, const char *name)
{
    for (int low = 0, high = file->switch_count; low < high;) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, file->switches[file->by_name[middle]].name);
        if (order == 0)
            return file->by_name[middle];
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
    struct switch_file *file = argument;
    int below = switch_find(file, name);
    if (below < 0) {
        file->status = fail(STATUS_USAGE,
                            "%.200s, line %ld: switch %.64s has no line of its own: add it, with "
                            "its hosts or switches",
                            file->path, file->line, name);
        return false;
    }
    if (file->cable_count == file->cable_room) {
        int room = 2 * file->cable_room + 64;
        struct cable *cables = realloc(file->cables, (size_t)room * sizeof *cables);
        if (!cables) {
            file->status = fail(STATUS_ERROR, "out of memory for the cables of %.200s", file->path);
            return false;
        }
        file->cables = cables;
        file->cable_room = room;
    }
    file->cables[file->cable_count++] = (struct cable){.above = file->current, .below = below};
    return true;
}

static enum status cables_find(struct switch_file *file)
{
    enum status status = STATUS_OK;
    for (int s = 0; s < file->switch_count && status == STATUS_OK; s++) {
        file->current = s;
        file->line = file->switches[s].line;
        if (file->switches[s].below)
            status = list_expand(file, file->switches[s].below, cable_take);
    }
    return status;
}

/* A switch is a level above the highest one that is below it. */
static enum status levels_find(struct switch_file *file)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int c = 0; c < file->cable_count; c++) {
            struct file_switch *above = &file->switches[file->cables[c].above];
            int level = file->switches[file->cables[c].below].level + 1;
            if (level > LEVELS_MOST)
                return fail(STATUS_USAGE,
                            "%.200s, line %ld: switch %.64s is more than %d levels above its "
                            "hosts: check that no switch is below itself",
                            file->path, above->line, above->name, LEVELS_MOST);
            changed = changed || level > above->level;
            above->level = level > above->level ? level : above->level;
        }
    }
    return STATUS_OK;
}

/* ---- levels ---- */

static int root_of(const struct switch_file *file, int number)
{
    while (file->switches[number].root != number)
        number = file->switches[number].root;
    return number;
}

/* The root of two parts is the higher one, then the first in the file. */
static void parts_join(struct switch_file *file, int a, int b)
{
    a = root_of(file, a);
    b = root_of(file, b);
    int over = file->switches[a].level - file->switches[b].level;
    if (over > 0 || (over == 0 && a < b))
        file->switches[b].root = a;
    else
        file->switches[a].root = b;
}

/* Numbers the switches in the order of the file. `switch_of`: of each host; -1: none. */
static enum status level_make(const struct switch_file *file, const int *switch_of,
                              struct switch_level *level)
{
    int *number = calloc((size_t)file->switch_count, sizeof *number);
    *level = (struct switch_level){.name = calloc((size_t)file->switch_count, sizeof *level->name),
                                   .of = calloc((size_t)file->host_count, sizeof *level->of)};
    bool made = number && level->name && level->of;
    for (int h = 0; made && h < file->host_count; h++)
        if (switch_of[h] >= 0)
            number[switch_of[h]] = 1;
    for (int s = 0; made && s < file->switch_count; s++)
        if (number[s]) {
            number[s] = level->count;
            level->name[level->count] = strdup(file->switches[s].name);
            made = level->name[level->count++];
        }
    for (int h = 0; made && h < file->host_count; h++)
        level->of[h] = switch_of[h] < 0 ? -1 : number[switch_of[h]];
    free(number);
    return made ? STATUS_OK
                : fail(STATUS_ERROR, "out of memory for the switches of %.200s", file->path);
}

/* Fills the part of each host; how many parts there are. `seen`: of each switch. */
static int parts_find(const struct switch_file *file, int *part_of, int *seen)
{
    int parts = 0;
    memset(seen, 0, (size_t)file->switch_count * sizeof *seen);
    for (int h = 0; h < file->host_count; h++) {
        part_of[h] = file->leaf_of[h] < 0 ? -1 : root_of(file, file->leaf_of[h]);
        parts += part_of[h] >= 0 && !seen[part_of[h]]++;
    }
    return parts;
}

/* Joins what each level joins, until another one would leave a single part. */
static enum status above_find(struct switch_file *file, int leaves, struct switch_level *above)
{
    int parts = leaves, next = 0;
    size_t count = (size_t)file->host_count;
    int *part_of = calloc(count, sizeof *part_of), *kept = calloc(count, sizeof *kept);
    int *seen = calloc((size_t)file->switch_count, sizeof *seen);
    enum status status = part_of && kept && seen
                             ? STATUS_OK
                             : fail(STATUS_ERROR, "out of memory for %d hosts", file->host_count);
    for (int level = 1; status == STATUS_OK && level <= LEVELS_MOST; level++) {
        for (int c = 0; c < file->cable_count; c++)
            if (file->switches[file->cables[c].above].level == level)
                parts_join(file, file->cables[c].above, file->cables[c].below);
        next = parts_find(file, part_of, seen);
        if (next < 2)
            break;
        parts = next;
        memcpy(kept, part_of, count * sizeof *kept);
    }
    if (status == STATUS_OK && parts < leaves)
        status = level_make(file, kept, above);
    free(part_of);
    free(kept);
    free(seen);
    return status;
}

/* ---- the file ---- */

/* Hosts of the run that the file lacks. */
static enum status hosts_check(const struct switch_file *file)
{
    const char **lacking = calloc((size_t)file->host_count, sizeof *lacking);
    char list[400];
    struct text text = text_in(list, sizeof list);
    int count = 0;
    if (!lacking)
        return fail(STATUS_ERROR, "out of memory for %d hosts", file->host_count);
    for (int h = 0; h < file->host_count; h++)
        if (file->leaf_of[h] < 0 && file->hosts[h][0])
            lacking[count++] = file->hosts[h];
    host_list_add(&text, lacking, count);
    free(lacking);
    if (count == 0)
        return STATUS_OK;
    return fail(STATUS_USAGE,
                "%.200s has no switch for %.300s, which %s in this run: add %s to the line of %s "
                "switch",
                file->path, list, count == 1 ? "is" : "are", count == 1 ? "it" : "them",
                count == 1 ? "its" : "their");
}

static enum status file_read(struct switch_file *file)
{
    enum status status = text_file_read(file->path, &file->text);
    file->rest = file->text;
    if (status == STATUS_OK && (!file->leaf_of || !keys_make(file)))
        status = fail(STATUS_ERROR, "out of memory for %d hosts", file->host_count);
    for (int h = 0; status == STATUS_OK && h < file->host_count; h++)
        file->leaf_of[h] = -1;
    if (status == STATUS_OK)
        status = lines_read(file);
    if (status == STATUS_OK)
        status = names_sort(file);
    if (status == STATUS_OK)
        status = cables_find(file);
    if (status == STATUS_OK)
        status = levels_find(file);
    return status == STATUS_OK ? hosts_check(file) : status;
}

enum status switch_file_read(const char *path, const char *const *hosts, int count,
                             struct switch_level *leaves, struct switch_level *above)
{
    struct switch_file file = {.path = path,
                               .next_line = 1,
                               .hosts = hosts,
                               .host_count = count,
                               .leaf_of = calloc((size_t)count, sizeof *file.leaf_of)};
    *leaves = *above = (struct switch_level){0};
    enum status status = file_read(&file);
    if (status == STATUS_OK)
        status = level_make(&file, file.leaf_of, leaves);
    if (status == STATUS_OK)
        status = above_find(&file, leaves->count, above);
    for (int k = 0; k < file.key_count; k++)
        free(file.keys[k].name);
    free(file.keys);
    free(file.text);
    free(file.switches);
    free(file.by_name);
    free(file.leaf_of);
    free(file.cables);
    return status;
}
