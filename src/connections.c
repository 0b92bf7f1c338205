/*
 * connections.c - how the ranks of a job came to be connected.
 *
 * A job may have a million links, so each rank sums up its own, and rank 0 those sums.
 */
#include "connections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "links.h"
#include "log.h"
#include "ranks_text.h"
#include "start.h"

/* Adds links to those that are like them. */
static void class_add(struct connections *connections, const struct link_class *more)
{
    int at = 0;
    while (at < connections->class_count &&
           (strcmp(connections->classes[at].transport, more->transport) != 0 ||
            strcmp(connections->classes[at].words, more->words) != 0))
        at++;
    if (at == LINK_CLASSES_MOST)
        return;
    struct link_class *class = &connections->classes[at];
    if (at == connections->class_count) {
        connections->class_count++;
        *class = *more;
        return;
    }
    class->count += more->count;
    if (more->least_ns < class->least_ns)
        class->least_ns = more->least_ns;
    if (more->most_ns > class->most_ns) {
        class->most_ns = more->most_ns;
        class->from = more->from;
        class->to = more->to;
    }
}

static void connections_sum_up(struct links *links, int rank, int ranks, struct connections *own)
{
    for (int peer = 0; peer < ranks; peer++) {
        struct link_class link = {.count = 1, .from = rank, .to = peer};
        const char *words = links_describe(links, peer, &link.least_ns);
        if (!words)
            continue;
        snprintf(link.transport, sizeof link.transport, "%s", links_transport(links, peer)->name);
        snprintf(link.words, sizeof link.words, "%s", words);
        link.most_ns = link.least_ns;
        class_add(own, &link);
    }
}

/* Ranks that meet nobody at a gate though others are on their host. */
static enum status connections_note(struct connections *connections, const struct member *members)
{
    int ranks = connections->ranks, count = 0;
    int *on_node = calloc((size_t)ranks, sizeof *on_node);
    int *at_gate = calloc((size_t)ranks, sizeof *at_gate);
    bool *listed = calloc((size_t)ranks, sizeof *listed);
    enum status status = STATUS_OK;
    if (!on_node || !at_gate || !listed)
        status = fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    for (int r = 0; r < ranks && !status; r++) {
        on_node[members[r].node]++;
        at_gate[connections->gate[r]]++;
    }
    for (int r = 0; r < ranks && !status; r++)
        count += listed[r] = at_gate[connections->gate[r]] == 1 && on_node[members[r].node] > 1;
    char list[RANKS_TEXT_MOST];
    if (count > 0)
        snprintf(connections->note, sizeof connections->note,
                 "%s can share no memory with others of the same host: the start barrier takes the "
                 "links there, so iterations begin less evenly",
                 ranks_text(listed, ranks, list, sizeof list));
    free(listed);
    free(at_gate);
    free(on_node);
    return status;
}

enum status connections_gather(struct control *control, struct links *links,
                               const struct start *start, struct connections *connections)
{
    int ranks = control_ranks(control);
    struct connections own = {0};
    struct blobs blobs;
    connections_sum_up(links, control_rank(control), ranks, &own);
    enum status status = control_gather(control, own.classes,
                                        (size_t)own.class_count * sizeof own.classes[0], &blobs);
    if (status != STATUS_OK)
        return status;
    *connections =
        (struct connections){.ranks = ranks, .gates = start->gates, .gate = start->gate_of};
    for (int r = 0; r < blobs.count; r++) {
        const struct link_class *classes = blobs.data[r];
        for (size_t i = 0; i < blobs.size[r] / sizeof *classes; i++)
            class_add(connections, &classes[i]);
    }
    bool root = blobs.count > 0;
    blobs_free(&blobs);
    return root ? connections_note(connections, control_members(control)) : STATUS_OK;
}
