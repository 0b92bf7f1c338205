/*
 * slurm.c - the network that Slurm's topology.conf describes.
 */
#include "predict/topology/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct slurm_reader {
    struct topology *t;
    struct link_graph *graph;
    struct switch_tree tree;
    int current;    /* the switch whose hosts are taken */
    double unit;    /* a LinkSpeed= that is 1 */
    double *demand; /* of each switch: what comes from below it, then what it passes up */
    int *parents;   /* of each switch */
};

static enum status no_memory(const struct slurm_reader *reader)
{
    return fail(STATUS_ERROR, "out of memory for the switches of %.200s", reader->tree.path);
}

/* ---- hosts ---- */

static enum status host_take(void *argument, const char *host)
{
    struct slurm_reader *reader = argument;
    const struct tree_switch *leaf = &reader->tree.switches[reader->current];
    double port = reader->t->rate * (leaf->speed > 0 ? leaf->speed / reader->unit : 1);
    if (reader->graph->place_count == HOSTS_MOST)
        return fail_line(STATUS_USAGE, reader->tree.path, leaf->line,
                         "this is the host after %d, which are the most", HOSTS_MOST);
    reader->demand[reader->current] += port;
    return link_graph_add_place(reader->graph, host, reader->current, port) ? STATUS_OK
                                                                            : no_memory(reader);
}

static int places_compare(const void *a, const void *b, void *argument)
{
    const struct graph_place *places = argument;
    int x = *(const int *)a, y = *(const int *)b;
    return strcmp(places[x].name, places[y].name) ?: COMPARE(x, y);
}

/* No host is behind two switches. */
static enum status hosts_check(const struct slurm_reader *reader)
{
    struct graph_place *places = reader->graph->places;
    const struct tree_switch *switches = reader->tree.switches;
    int count = reader->graph->place_count, *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    enum status status = sorted ? STATUS_OK : no_memory(reader);
    for (int p = 0; sorted && p < count; p++)
        sorted[p] = p;
    if (sorted)
        qsort_r(sorted, (size_t)count, sizeof *sorted, places_compare, places);
    for (int i = 1; i < count && status == STATUS_OK; i++) {
        const struct graph_place *before = &places[sorted[i - 1]], *place = &places[sorted[i]];
        const struct tree_switch *first = &switches[before->vertex],
                                 *again = &switches[place->vertex];
        if (strcmp(before->name, place->name) == 0)
            status = fail_line(
                STATUS_USAGE, reader->tree.path, again->line,
                "host %.64s is behind switch %.64s already (line %ld): name each host once",
                place->name, first->name, first->line);
    }
    free(sorted);
    return status;
}

static void unit_find(struct slurm_reader *reader)
{
    for (int s = 0; s < reader->tree.switch_count; s++) {
        const struct tree_switch *one = &reader->tree.switches[s];
        if (one->hosts && one->speed > 0 && (reader->unit == 0 || one->speed < reader->unit))
            reader->unit = one->speed;
    }
    if (reader->unit == 0)
        reader->unit = 1;
}

static enum status hosts_add(struct slurm_reader *reader)
{
    enum status status = STATUS_OK;
    unit_find(reader);
    for (int s = 0; s < reader->tree.switch_count && status == STATUS_OK; s++) {
        const struct tree_switch *one = &reader->tree.switches[s];
        reader->current = s;
        if (link_graph_add_vertex(reader->graph, one->name) < 0)
            status = no_memory(reader);
        else if (one->hosts)
            status = switch_tree_hosts(&reader->tree, s, host_take, reader);
    }
    return status == STATUS_OK ? hosts_check(reader) : status;
}

/* ---- cables ---- */

/* Level by level, since what a switch passes up follows from what comes from below. */
static enum status cables_add(struct slurm_reader *reader, double oversubscription)
{
    const struct switch_tree *tree = &reader->tree;
    for (int c = 0; c < tree->cable_count; c++)
        reader->parents[tree->cables[c].below]++;
    for (int level = 0; level <= SWITCH_LEVELS_MOST; level++)
        for (int c = 0; c < tree->cable_count; c++) {
            int above = tree->cables[c].above, below = tree->cables[c].below;
            if (tree->switches[below].level != level)
                continue;
            double speed = tree->switches[above].speed;
            double capacity =
                speed > 0 ? reader->t->rate * speed / reader->unit
                          : reader->demand[below] / oversubscription / reader->parents[below];
            reader->demand[above] += capacity;
            if (!link_graph_add_edges(reader->graph, above, below, capacity, 1))
                return no_memory(reader);
        }
    return STATUS_OK;
}

/* Lines that only name hosts leave switches that nothing connects. */
static enum status cables_check(const struct switch_tree *tree)
{
    if (tree->switch_count < 2 || tree->cable_count > 0)
        return STATUS_OK;
    return fail(STATUS_USAGE,
                "%.200s names %d switches and none that connects them: add a line such as "
                "'SwitchName=spine Switches=%.64s,%.64s' with all that are below it",
                tree->path, tree->switch_count, tree->switches[0].name, tree->switches[1].name);
}

/* ---- the topology ---- */

static enum status slurm_read(struct slurm_reader *reader, struct spec *spec)
{
    char *content = spec->content;
    spec->content = NULL;
    TRY(switch_tree_parse(spec->name, content, &reader->tree));
    size_t switches = (size_t)reader->tree.switch_count;
    reader->graph = link_graph_create(reader->t);
    reader->demand = calloc(switches, sizeof *reader->demand);
    reader->parents = calloc(switches, sizeof *reader->parents);
    if (!reader->demand || !reader->parents)
        return no_memory(reader);
    reader->graph->has_ports = true;
    TRY(hosts_add(reader));
    TRY(cables_check(&reader->tree));
    TRY(cables_add(reader, spec_value(spec, "oversubscription")));
    return link_graph_finish(reader->t, spec);
}

static enum status slurm_make(struct topology *t, struct spec *spec)
{
    struct slurm_reader reader = {.t = t};
    enum status status = slurm_read(&reader, spec);
    struct text words = text_in(t->words, sizeof t->words);
    if (status == STATUS_OK)
        text_add(&words, "%.100s: %d hosts, %d switches", spec->name, t->hosts,
                 reader.tree.switch_count);
    switch_tree_free(&reader.tree);
    free(reader.demand);
    free(reader.parents);
    return status;
}

const struct topology_family family_slurm = {
    .name = "topology.conf",
    .help = "Slurm's switches and hosts",
    .keys = {{.name = "oversubscription",
              .least = 0.01,
              .most = 1000,
              .standard = 1,
              .is_real = true,
              .help = "what comes from below a switch by what its links up carry, without "
                      "LinkSpeed="}},
    .make = slurm_make,
    LINK_GRAPH_HOOKS,
};
