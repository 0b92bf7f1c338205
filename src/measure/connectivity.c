/*
 * connectivity.c - how the ranks of a job came to be connected.
 *
 * A job may have a million links, so each rank sums up its own, and rank 0 those sums.
 */
#include "measure/connectivity.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rank_list.h"
#include "control/control.h"
#include "run/start_barrier.h"
#include "transport/links.h"

static struct link_class *class_find(struct connections *connections, const struct link_class *like)
{
    for (int i = 0; i < connections->class_count; i++) {
        struct link_class *class = &connections->classes[i];
        if (strcmp(class->transport, like->transport) == 0 &&
            strcmp(class->words, like->words) == 0)
            return class;
    }
    return NULL;
}

/* Those that were not measured say nothing of the times. */
static void class_merge(struct link_class *class, const struct link_class *more)
{
    class->count += more->count;
    if (more->most_ns > 0 && (class->most_ns == 0 || more->least_ns < class->least_ns))
        class->least_ns = more->least_ns;
    if (more->most_ns > class->most_ns) {
        class->most_ns = more->most_ns;
        class->from = more->from;
        class->to = more->to;
    }
}

void connections_add(struct connections *connections, const struct link_class *more)
{
    struct link_class link = *more, *class = class_find(connections, more);
    struct link_class *end = &connections->classes[connections->class_count];
    bool summed_up = connections->class_count > 0 && strcmp(end[-1].transport, LINK_OTHERS) == 0;
    if (!class && connections->class_count - summed_up == LINK_CLASSES_MOST) {
        snprintf(link.transport, sizeof link.transport, LINK_OTHERS);
        snprintf(link.words, sizeof link.words, LINK_OTHERS_WORDS);
        class = class_find(connections, &link);
    }
    if (class) {
        class_merge(class, &link);
        return;
    }
    if (summed_up) { /* they stay the last */
        *end = end[-1];
        end--;
    }
    *end = link;
    connections->class_count++;
}

/* What a rank says of itself. */
struct summary {
    uint64_t strangers;
    struct link_class classes[LINK_CLASSES_MOST + 1]; /* the first so many of them */
};

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
        connections_add(own, &link);
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

/* What a rank says of its links. */
static bool classes_check(const struct link_class *classes, size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++) {
        const struct link_class *it = &classes[i];
        if (!memchr(it->transport, '\0', sizeof it->transport) ||
            !memchr(it->words, '\0', sizeof it->words) || it->count < 0 || it->count >= ranks ||
            it->from < 0 || it->from >= ranks || it->to < 0 || it->to >= ranks)
            return false;
    }
    return true;
}

enum status connections_gather(struct control *control, struct links *links,
                               const struct start *start, struct connections *connections)
{
    int ranks = control_ranks(control);
    struct connections own = {0};
    struct blobs blobs;
    connections_sum_up(links, control_rank(control), ranks, &own);
    struct summary summary = {.strangers = links_strangers(links)};
    memcpy(summary.classes, own.classes, sizeof own.classes);
    const size_t head = offsetof(struct summary, classes);
    *connections =
        (struct connections){.ranks = ranks, .gates = start->gates, .gate = start->gate_of};
    enum status status = control_gather(
        control, &summary, head + (size_t)own.class_count * sizeof summary.classes[0], &blobs);
    for (int r = 0; r < blobs.count && status == STATUS_OK; r++) {
        const struct summary *theirs = blobs.data[r];
        size_t count =
            blobs.size[r] < head ? 0 : (blobs.size[r] - head) / sizeof theirs->classes[0];
        if (blobs.size[r] < head || count > LINK_CLASSES_MOST + 1 ||
            !classes_check(theirs->classes, count, ranks)) {
            status = fail(STATUS_ERROR,
                          "rank %d told nonsense about its links: do all ranks run the same "
                          "cctest?",
                          r);
            break;
        }
        connections->strangers += theirs->strangers;
        for (size_t i = 0; i < count; i++)
            connections_add(connections, &theirs->classes[i]);
    }
    bool root = status == STATUS_OK && blobs.count > 0;
    blobs_free(&blobs);
    return root ? connections_note(connections, control_members(control)) : status;
}
