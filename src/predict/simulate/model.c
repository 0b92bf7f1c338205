/*
 * model.c - what a simulation knows of a machine: which of the numbers of a model hold.
 */
#include "predict/simulate/simulate.h"

#include <math.h>
#include <string.h>

#include "dataplane/transport/transport.h"

const char *const distance_names[] = {
    [DISTANCE_CACHE] = "same-cache", [DISTANCE_NODE] = "same-node", [DISTANCE_NETWORK] = "network", NULL};
const char *const movement_names[] = {
    [MOVEMENT_PUSH] = "push", [MOVEMENT_PULL] = "pull", [MOVEMENT_GRANT] = "grant", NULL};
const char *const port_names[] = {
    [PORT_NONE] = "none", [PORT_RANK] = "rank", [PORT_NODE] = "node", NULL};

double curve_at(const struct curve *curve, double bytes)
{
    const struct curve_point *points = curve->points;
    int last = curve->count - 1;
    if (last < 0)
        return 0;
    if (bytes <= points[0].bytes)
        return points[0].value;
    for (int i = 1; i <= last; i++) {
        if (bytes > points[i].bytes)
            continue;
        double along = log(bytes / points[i - 1].bytes) / log(points[i].bytes / points[i - 1].bytes);
        return points[i - 1].value + along * (points[i].value - points[i - 1].value);
    }
    return points[last].value;
}

void core_latency_add(struct core_latency *latency, double least, double most)
{
    if (most <= 0)
        return;
    latency->least = latency->most > 0 && latency->least < least ? latency->least : least;
    latency->most = latency->most > most ? latency->most : most;
}

const struct link_model *model_link_moved(const struct model *model)
{
    for (int i = 0; i < model->link_count; i++)
        if (model->links[i].core.most > CORES_MOVED_FACTOR * model->links[i].core.least)
            return &model->links[i];
    return NULL;
}

/* The links of a transport at a distance. Of several those that nic= names, unless it names none. */
struct link_set {
    const struct link_model *of[LINK_MODELS_MOST];
    int count;
};

static struct link_set links_find(const struct model *model, const struct transport_choice *choice,
                                  enum rank_distance distance)
{
    struct link_set all = {.count = 0}, named = {.count = 0};
    for (int i = 0; i < model->link_count; i++) {
        const struct link_model *link = &model->links[i];
        if (link->distance != distance || strcmp(link->transport, choice->transport->name) != 0)
            continue;
        all.of[all.count++] = link;
        if (link->rail[0] && choice_allows_nic(choice, link->rail))
            named.of[named.count++] = link;
    }
    return named.count > 0 ? named : all;
}

/* Those that ranks at this distance use; of no transport, if the model has none. */
static struct link_set model_links(const struct model *model, const struct transport_choice *choices,
                                   enum rank_distance distance)
{
    struct link_set links = {.count = 0};
    for (const struct transport_choice *it = choices; it->transport && links.count == 0; it++) {
        links = links_find(model, it, distance);
        /* A model of one host may have only one of the two distances within it. */
        if (links.count == 0 && distance != DISTANCE_NETWORK)
            links = links_find(model, it,
                               distance == DISTANCE_CACHE ? DISTANCE_NODE : DISTANCE_CACHE);
    }
    return links;
}

const struct link_model *model_link(const struct model *model, const struct transport_choice *choices,
                                    enum rank_distance distance, int rail)
{
    struct link_set links = model_links(model, choices, distance);
    return links.count > 0 ? links.of[rail % links.count] : NULL;
}

int model_rails(const struct model *model, const struct transport_choice *choices)
{
    int count = model_links(model, choices, DISTANCE_NETWORK).count;
    return count > 1 ? count : 1;
}

const struct path_cost *link_path(const struct link_model *link, enum path path, size_t bytes)
{
    const struct path_cost *found = NULL, *nearest = &link->paths[0];
    for (int i = 0; i < link->path_count; i++) {
        const struct path_cost *row = &link->paths[i];
        if (row->path == path && (row->least <= bytes || !found))
            found = row;
        if (row->path <= path && (row->least <= bytes || row->path > nearest->path))
            nearest = row;
    }
    return found ? found : nearest;
}

const struct curve *model_combine(const struct model *model, const struct datatype *datatype,
                                  const struct reduction *reduction)
{
    const struct combine_cost *best = NULL;
    int likeness = -1;
    for (int i = 0; i < model->combine_count; i++) {
        const struct combine_cost *row = &model->combines[i];
        int like = 2 * (strcmp(row->datatype, datatype->name) == 0) +
                   (strcmp(row->reduction, reduction->name) == 0);
        if (like > likeness) {
            likeness = like;
            best = row;
        }
    }
    return best ? &best->byte : NULL;
}
