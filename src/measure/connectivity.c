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

static struct link_class *class_find(struct connectivity *connectivity,
                                     const struct link_class *like)
{
    for (int i = 0; i < connectivity->class_count; i++) {
        struct link_class *class = &connectivity->classes[i];
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

void connectivity_add(struct connectivity *connectivity, const struct link_class *more)
{
    struct link_class link = *more, *class = class_find(connectivity, more);
    struct link_class *end = &connectivity->classes[connectivity->class_count];
    bool summed_up = connectivity->class_count > 0 && strcmp(end[-1].transport, LINK_OTHERS) == 0;
    if (!class && connectivity->class_count - summed_up == LINK_CLASSES_MOST) {
        snprintf(link.transport, sizeof link.transport, LINK_OTHERS);
        snprintf(link.words, sizeof link.words, LINK_OTHERS_WORDS);
        class = class_find(connectivity, &link);
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
    connectivity->class_count++;
}

/* What a rank says of itself. */
struct summary {
    uint64_t strangers;
    struct link_class classes[LINK_CLASSES_MOST + 1]; /* the first so many of them */
};

static void connectivity_sum_up(struct links *links, int rank, int ranks, struct connectivity *own)
{
    for (int peer = 0; peer < ranks; peer++) {
        struct link_class link = {.count = 1, .from = rank, .to = peer};
        const char *words = links_describe(links, peer, &link.least_ns);
        if (!words)
            continue;
        snprintf(link.transport, sizeof link.transport, "%s", links_transport(links, peer)->name);
        snprintf(link.words, sizeof link.words, "%s", words);
        link.most_ns = link.least_ns;
        connectivity_add(own, &link);
    }
}

/* Ranks that meet nobody at a gate though others are on their host. */
static enum status connectivity_note(struct connectivity *connectivity,
                                     const struct member *members)
{
    int ranks = connectivity->ranks, count = 0;
    int *on_node = calloc((size_t)ranks, sizeof *on_node);
    int *at_node_barrier = calloc((size_t)ranks, sizeof *at_node_barrier);
    bool *listed = calloc((size_t)ranks, sizeof *listed);
    enum status status = STATUS_OK;
    if (!on_node || !at_node_barrier || !listed)
        status = fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    for (int r = 0; r < ranks && !status; r++) {
        on_node[members[r].node]++;
        at_node_barrier[connectivity->node_barrier[r]]++;
    }
    for (int r = 0; r < ranks && !status; r++)
        count += listed[r] =
            at_node_barrier[connectivity->node_barrier[r]] == 1 && on_node[members[r].node] > 1;
    char list[RANK_LIST_MOST];
    if (count > 0)
        snprintf(connectivity->note, sizeof connectivity->note,
                 "%s can share no memory with others of the same host: the start barrier takes the "
                 "links there, so iterations begin less evenly",
                 rank_list_text(listed, ranks, list, sizeof list));
    free(listed);
    free(at_node_barrier);
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

enum status connectivity_gather(struct control *control, struct links *links,
                                const struct start_barrier *start,
                                struct connectivity *connectivity)
{
    int ranks = control_ranks(control);
    struct connectivity own = {0};
    struct blobs blobs;
    connectivity_sum_up(links, control_rank(control), ranks, &own);
    struct summary summary = {.strangers = links_strangers(links)};
    memcpy(summary.classes, own.classes, sizeof own.classes);
    const size_t head = offsetof(struct summary, classes);
    *connectivity = (struct connectivity){
        .ranks = ranks, .gates = start->gates, .node_barrier = start->node_barrier_of};
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
        connectivity->strangers += theirs->strangers;
        for (size_t i = 0; i < count; i++)
            connectivity_add(connectivity, &theirs->classes[i]);
    }
    bool root = status == STATUS_OK && blobs.count > 0;
    blobs_free(&blobs);
    return root ? connectivity_note(connectivity, control_members(control)) : status;
}
