/*
 * release.c - when the start barrier of a run releases the ranks of several hosts.
 */
#include "predict/simulate/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The barrier's message of one byte, from one host to another. */
static double token_time(const struct simulation *simulation)
{
    const struct link_model *link =
        model_link(simulation->model, simulation->transports, DISTANCE_NETWORK, 0);
    if (!link)
        return 0; /* the simulation fails by itself */
    const struct path_cost *cost = link_path(link, PATH_LINE, 1);
    return cost->send_overhead + cost->gap + cost->wire + cost->latency + cost->receive_overhead;
}

static void tokens_pass(double *host, double *next, int hosts, double token)
{
    for (int step = 1; step < hosts; step *= 2) {
        for (int h = 0; h < hosts; h++)
            next[h] = fmax(host[h], host[(h - step + hosts) % hosts] + token);
        memcpy(host, next, (size_t)hosts * sizeof *host);
    }
}

bool release_find(const struct simulation *simulation, const double *came, double *released)
{
    const int ranks = simulation_ranks(simulation), *node = simulation->node;
    double *host = calloc((size_t)ranks, sizeof *host), *next = calloc((size_t)ranks, sizeof *next);
    double first = INFINITY;
    int hosts = 0;
    bool done = host && next;
    for (int r = 0; r < ranks && done; r++) {
        hosts = node[r] >= hosts ? node[r] + 1 : hosts;
        host[node[r]] = fmax(host[node[r]], came[r]);
    }
    if (done)
        tokens_pass(host, next, hosts, token_time(simulation));
    for (int h = 0; h < hosts; h++)
        first = fmin(first, host[h]);
    for (int r = 0; r < ranks && done; r++)
        released[r] = host[node[r]] - first;
    free(host);
    free(next);
    return done;
}
