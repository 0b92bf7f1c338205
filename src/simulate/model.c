/*
 * model.c - what a simulation knows of a machine: which of the numbers of a model hold.
 */
#include "simulate/model.h"

#include <math.h>
#include <string.h>

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

static const struct link_model *model_link_of(const struct model *model, const char *transport,
                                              enum rank_distance distance)
{
    for (int i = 0; i < model->link_count; i++)
        if (model->links[i].distance == distance &&
            strcmp(model->links[i].transport, transport) == 0)
            return &model->links[i];
    return NULL;
}

const struct link_model *model_link(const struct model *model, const struct transport_choice *choices,
                                    enum rank_distance distance)
{
    for (const struct transport_choice *choice = choices; choice->transport; choice++) {
        const struct link_model *link = model_link_of(model, choice->transport->name, distance);
        /* A model of one host may have only one of the two distances within it. */
        if (!link && distance != DISTANCE_NETWORK)
            link = model_link_of(model, choice->transport->name,
                                 distance == DISTANCE_CACHE ? DISTANCE_NODE : DISTANCE_CACHE);
        if (link)
            return link;
    }
    return NULL;
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
