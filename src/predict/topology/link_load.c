/*
 * link_load.c - what an algorithm puts on each link, step by step.
 */
#include "predict/topology/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

/* A row for each step: what links carry, then what ranks send, then what they receive. */
struct link_load {
    const struct topology *topology;
    const int *end_of_rank;
    int ranks, steps;
    size_t width;
    double **rows;
    struct step_load *step; /* of each, by link_load_finish() */
    uint32_t *route;        /* topology_route_most() */
};

enum status link_load_create(const struct topology *topology, const int *end_of_rank, int ranks,
                             struct link_load **made)
{
    struct link_load *load = *made = calloc(1, sizeof *load);
    if (load) {
        load->topology = topology;
        load->end_of_rank = end_of_rank;
        load->ranks = ranks;
        load->width = topology_links(topology) + 2 * (size_t)ranks;
        load->route = malloc(topology_route_most(topology) * sizeof *load->route);
    }
    if (load && load->route)
        return STATUS_OK;
    link_load_free(load);
    *made = NULL;
    return fail(STATUS_ERROR, "out of memory for the load of links");
}

void link_load_free(struct link_load *load)
{
    if (!load)
        return;
    for (int s = 0; s < load->steps; s++)
        free(load->rows[s]);
    free(load->rows);
    free(load->step);
    free(load->route);
    free(load);
}

static enum status step_reach(struct link_load *load, int step)
{
    if (step < load->steps)
        return STATUS_OK;
    double bytes = (double)load->width * sizeof **load->rows * (step + 1.0);
    if (bytes > (double)LOAD_BYTES_MOST)
        return fail(STATUS_USAGE,
                    "the load of %u links in %d steps or more takes more than %zu GiB of memory: "
                    "give fewer ranks, a smaller topology or an algorithm of fewer steps",
                    topology_links(load->topology), step + 1, LOAD_BYTES_MOST >> 30);
    for (; load->steps <= step; load->steps++) {
        double *row = calloc(load->width, sizeof *row);
        if (!row || !list_reserve(&load->rows, (size_t)load->steps, sizeof row)) {
            free(row);
            return fail(STATUS_ERROR, "out of memory for the load of links");
        }
        load->rows[load->steps] = row;
    }
    return STATUS_OK;
}

enum status link_load_add(struct link_load *load, int step, int from, int to, double bytes)
{
    enum status status = step_reach(load, step);
    if (status != STATUS_OK || from == to)
        return status;
    double *row = load->rows[step], *sent = row + topology_links(load->topology);
    size_t count = topology_route(load->topology, load->end_of_rank[from], load->end_of_rank[to],
                                  load->route, topology_route_most(load->topology));
    for (size_t l = 0; l < count; l++)
        row[load->route[l]] += bytes;
    sent[from] += bytes;
    sent[load->ranks + to] += bytes;
    return STATUS_OK;
}

int link_load_steps(const struct link_load *load)
{
    return load->steps;
}

static struct step_load step_measure(const struct link_load *load, int step)
{
    const double *row = load->rows[step];
    uint32_t links = topology_links(load->topology);
    struct step_load found = {.link = NO_LINK};
    for (uint32_t l = 0; l < links; l++) {
        double time = row[l] > 0 ? row[l] / topology_capacity(load->topology, l) : 0;
        if (time > found.links) {
            found.links = time;
            found.link = l;
        }
    }
    for (size_t e = links; e < load->width; e++)
        found.ends = fmax(found.ends, row[e]);
    return found;
}

enum status link_load_finish(struct link_load *load)
{
    load->step = calloc((size_t)load->steps + 1, sizeof *load->step);
    if (!load->step)
        return fail(STATUS_ERROR, "out of memory for the load of links");
    for (int s = 0; s < load->steps; s++)
        load->step[s] = step_measure(load, s);
    return STATUS_OK;
}

struct step_load link_load_step(const struct link_load *load, int step)
{
    return load->step[step];
}

double link_load_bytes(const struct link_load *load, int step, uint32_t link)
{
    return load->rows[step][link];
}

struct load_sums link_load_sums(const struct link_load *load)
{
    struct load_sums sums = {0};
    for (int s = 0; s < load->steps; s++) {
        const struct step_load step = load->step[s];
        sums.ends += step.ends;
        sums.all += fmax(step.ends, step.links);
    }
    return sums;
}

double link_load_factor(const struct link_load *load)
{
    struct load_sums sums = link_load_sums(load);
    return sums.ends > 0 ? sums.all / sums.ends : 1;
}

const struct topology *link_load_topology(const struct link_load *load)
{
    return load->topology;
}

/* Puts a link in its place among the `*count` that are sorted. */
static void top_add(struct loaded_link *top, int *count, int most, struct loaded_link link)
{
    int at = *count;
    while (at > 0 && top[at - 1].time < link.time)
        at--;
    if (at == most)
        return;
    int kept = *count < most ? *count : most - 1;
    memmove(top + at + 1, top + at, (size_t)(kept - at) * sizeof *top);
    top[at] = link;
    *count = kept + 1;
}

int link_load_top(const struct link_load *load, struct loaded_link *top, int most)
{
    int count = 0;
    for (uint32_t l = 0; l < topology_links(load->topology); l++) {
        struct loaded_link link = {.link = l};
        double busiest = 0;
        for (int s = 0; s < load->steps; s++) {
            link.bytes += load->rows[s][l];
            busiest = fmax(busiest, load->rows[s][l]);
        }
        if (link.bytes == 0)
            continue;
        double capacity = topology_capacity(load->topology, l);
        link.time = link.bytes / capacity;
        link.peak = busiest / capacity;
        top_add(top, &count, most, link);
    }
    return count;
}
