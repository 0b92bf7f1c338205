/*
 * connectivity.c - how the ranks of a job came to be connected.
 *
 * A job may have a million links, so each rank sums up its own, and rank 0 adds the sums.
 */
#include "run/results/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

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

bool link_class_is_staged(const struct link_class *class)
{
    size_t length = strlen(class->words), staged = strlen(LINK_STAGED);
    return length >= staged && strcmp(class->words + length - staged, LINK_STAGED) == 0;
}

/* Links that were not measured leave the times as they are. */
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
    if (summed_up) { /* the sum of the others stays last */
        *end = end[-1];
        end--;
    }
    *end = link;
    connectivity->class_count++;
}

static void connectivity_sum_up(struct links *links, int rank, int ranks, struct connectivity *own)
{
    for (int peer = 0; peer < ranks; peer++) {
        struct link_class link = {.count = 1, .from = rank, .to = peer};
        const char *words = links_describe(links, peer, &link.least_ns);
        if (!words)
            continue;
        snprintf(link.transport, sizeof link.transport, "%s", links_transport(links, peer)->name);
        bool stages = links_stages(links, peer);
        snprintf(link.words, sizeof link.words, "%s%s%s", words, words[0] && stages ? ", " : "",
                 stages ? LINK_STAGED : "");
        link.most_ns = link.least_ns;
        connectivity_add(own, &link);
    }
}

/* Notes ranks that meet no other at their node barrier though others run on their host. */
static void connectivity_note(struct connectivity *connectivity, const struct member *members)
{
    int ranks = connectivity->ranks, count = 0;
    int *on_node = new_array((size_t)ranks, sizeof *on_node);
    int *at_node_barrier = new_array((size_t)ranks, sizeof *at_node_barrier);
    bool *listed = new_array((size_t)ranks, sizeof *listed);
    for (int r = 0; r < ranks; r++) {
        on_node[members[r].node]++;
        at_node_barrier[connectivity->node_barrier_of[r]]++;
    }
    for (int r = 0; r < ranks; r++)
        count += listed[r] =
            at_node_barrier[connectivity->node_barrier_of[r]] == 1 && on_node[members[r].node] > 1;
    char list[RANK_LIST_MOST];
    if (count > 0)
        snprintf(
            connectivity->note, sizeof connectivity->note,
            "%s cannot share memory with other ranks of the same host: their start barrier uses "
            "the links, so iterations start less evenly",
            rank_list_text(listed, ranks, list, sizeof list));
    free(listed);
    free(at_node_barrier);
    free(on_node);
}

static void class_code(struct codec codec, int ranks, struct link_class *class)
{
    code_text(codec, class->transport, sizeof class->transport);
    code_text(codec, class->words, sizeof class->words);
    code_int(codec, &class->count, 0, ranks - 1);
    code_u64(codec, &class->least_ns);
    code_u64(codec, &class->most_ns);
    code_int(codec, &class->from, 0, ranks - 1);
    code_int(codec, &class->to, 0, ranks - 1);
}

/* A rank's share of the exchange: rejected connections, then its classes of links, then why links
 * are not of a preferred class. */
static void connectivity_share_encode(struct connectivity *own, const struct fallbacks *fallbacks,
                                      struct bytes *share)
{
    bytes_put_u64(share, own->rejected);
    bytes_put_u32(share, (uint32_t)own->class_count);
    for (int i = 0; i < own->class_count; i++)
        class_code(codec_to(share), 0, &own->classes[i]);
    fallbacks_encode(fallbacks, share);
}

/* Adds the share of a rank to the sums. */
static bool connectivity_share_decode(void *argument, int rank, struct reader *reader)
{
    struct connectivity *connectivity = argument;
    struct link_class class;
    connectivity->rejected += read_u64(reader);
    uint32_t count = read_u32(reader);
    reader->bad |= count > LINK_CLASSES_MOST + 1;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        class_code(codec_from(reader), connectivity->ranks, &class);
        if (!reader->bad)
            connectivity_add(connectivity, &class);
    }
    return fallbacks_decode(&connectivity->fallbacks, connectivity->ranks, reader) &&
           device_table_decode(&connectivity->devices, rank, reader);
}

/* Rank 0's conclusions from the shares of all ranks. */
static void connectivity_conclude(struct connectivity *connectivity, const struct member *members)
{
    device_table_complete(&connectivity->devices);
    connectivity->differences = differences_of(&connectivity->devices);
    connectivity_note(connectivity, members);
}

enum status connectivity_gather(struct control *control, struct links *links,
                                const struct device_watch *watch, const struct start_barrier *start,
                                struct connectivity *connectivity)
{
    int ranks = control_ranks(control), rank = control_rank(control);
    struct connectivity own = {.rejected = links_rejected(links)};
    struct bytes share = {0};
    if (rank > 0) /* rank 0 goes on counting */
        own.rejected += control_rejected(control);
    connectivity_sum_up(links, rank, ranks, &own);
    connectivity_share_encode(&own, links_fallbacks(links), &share);
    device_watch_encode_facts(watch, &share);
    *connectivity = (struct connectivity){.ranks = ranks,
                                          .members = control_members(control),
                                          .node_barriers = start->node_barriers,
                                          .node_barrier_of = start->node_barrier_of,
                                          .devices.members = control_members(control)};
    TRY(exchange_decode(control, EXCHANGE_GATHER, &share, "link", connectivity_share_decode,
                        connectivity));
    if (rank == 0)
        connectivity_conclude(connectivity, control_members(control));
    return STATUS_OK;
}

void connectivity_free(struct connectivity *connectivity)
{
    device_table_free(&connectivity->devices);
    differences_free(connectivity->differences);
    connectivity->differences = NULL;
}
