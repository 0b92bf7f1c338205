/*
 * bottleneck_report.c - brings together what the two ends of each link counted, and puts the judgement into
 * words.
 */
#include "measure/bottleneck_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static enum status samples_read(struct result *result, const struct blobs *rank_results)
{
    size_t peers = 0, at = 0;
    for (int r = 0; r < rank_results->count; r++)
        peers += (size_t)((const struct rank_result_wire *)rank_results->data[r])->peers;
    /* One piece of memory: the samples, and what they point to. */
    struct rank_sample *samples = calloc(1, (size_t)rank_results->count * sizeof *samples +
                                                (peers + 1) * sizeof *samples->flows);
    if (!samples)
        return fail(STATUS_ERROR, "out of memory for the samples of %d ranks", rank_results->count);
    struct peer_stats *flows = (struct peer_stats *)(void *)&samples[rank_results->count];
    for (int r = 0; r < rank_results->count; r++) {
        const struct rank_result_wire *wire = rank_results->data[r];
        samples[r] = (struct rank_sample){.late_us = (double)wire->late * 1e-3,
                                          .time_us = wire->duration,
                                          .peers = wire->peers,
                                          .flows = &flows[at]};
        memcpy(&flows[at], rank_result_wire_peers(wire, result->iterations),
               (size_t)wire->peers * sizeof *flows);
        at += (size_t)wire->peers;
    }
    result->samples = samples;
    return STATUS_OK;
}

/* What rank `rank` saw of `peer`; NULL: nothing worth telling. */
static const struct peer_stats *flow_find(const struct result *result, int rank, int peer)
{
    const struct rank_sample *sample = &result->samples[rank];
    for (int i = 0; i < sample->peers; i++)
        if (sample->flows[i].peer == peer)
            return &sample->flows[i];
    return NULL;
}

/* The links of which both ends tell; returns how many. */
static int links_gather(const struct result *result, struct bottleneck_link *links)
{
    int count = 0;
    for (int r = 0; r < result->ranks; r++) {
        for (int i = 0; i < result->samples[r].peers; i++) {
            const struct peer_stats *out = &result->samples[r].flows[i];
            const struct peer_stats *in = flow_find(result, out->peer, r);
            if (in && out->sent > 0 && out->counted)
                links[count++] = (struct bottleneck_link){.from = r,
                                                          .to = out->peer,
                                                          .bytes = out->sent,
                                                          .busy = out->busy,
                                                          .starved = in->starved};
        }
    }
    return count;
}

static void tell_links(const struct bottleneck *bottleneck, const struct member *members,
                       char *text, size_t size)
{
    const char *from = members[bottleneck->from].host, *to = members[bottleneck->to].host;
    const char *host = bottleneck->node == members[bottleneck->to].node ? to : from;
    char who[200];
    switch (bottleneck->kind) {
    case BOTTLENECK_LINK:
        if (bottleneck->links == 1)
            snprintf(who, sizeof who, "the link from rank %d (%s) to rank %d (%s)",
                     bottleneck->from, from, bottleneck->to, to);
        else
            snprintf(who, sizeof who, "the links from host %s to host %s", from, to);
        break;
    case BOTTLENECK_PAIR:
        snprintf(who, sizeof who, "the links between host %s and host %s", from, to);
        break;
    default:
        snprintf(who, sizeof who, "all links %s host %s",
                 bottleneck->kind == BOTTLENECK_FROM ? "from"
                 : bottleneck->kind == BOTTLENECK_TO ? "to"
                                                     : "to and from",
                 host);
        break;
    }
    snprintf(text, size, "%s: %.1f MB/s, the others' median is %.1f MB/s or more; ", who,
             bottleneck->rate * 1e-6, bottleneck->others * 1e-6);
    size_t used = strlen(text);
    if (bottleneck->links == 1)
        snprintf(text + used, size - used, "it was waited for in %.0f %% of the time",
                 bottleneck->share * 100);
    else
        snprintf(text + used, size - used,
                 "that from rank %d to rank %d was waited for in %.0f %% "
                 "of the time",
                 bottleneck->from, bottleneck->to, bottleneck->share * 100);
}

static void bottleneck_tell(const struct bottleneck *bottleneck, const struct member *members,
                            char *text, size_t size)
{
    text[0] = '\0';
    if (bottleneck->kind == BOTTLENECK_RANK)
        snprintf(
            text, size,
            "rank %d (%s) begins late: %.0f us after the start releases it (median; the others "
            "at most %.0f us), %.0f %% of the time",
            bottleneck->rank, members[bottleneck->rank].host, (double)bottleneck->late * 1e-3,
            (double)bottleneck->next * 1e-3, bottleneck->share * 100);
    else if (bottleneck->kind != BOTTLENECK_NOBODY)
        tell_links(bottleneck, members, text, size);
}

enum status bottleneck_report(struct result *result, const struct member *members,
                              const struct blobs *rank_results, uint64_t duration, uint64_t time)
{
    enum status status = samples_read(result, rank_results);
    if (status != STATUS_OK)
        return status;
    size_t most = 1, ranks = (size_t)result->ranks;
    for (size_t r = 0; r < ranks; r++)
        most += (size_t)result->samples[r].peers;
    struct bottleneck_link *links = malloc(most * sizeof *links);
    uint64_t *late = malloc(ranks * sizeof *late);
    int *node = malloc(ranks * sizeof *node);
    if (links && late && node) {
        for (size_t r = 0; r < ranks; r++) {
            node[r] = members[r].node;
            late[r] = ((const struct rank_result_wire *)rank_results->data[r])->late;
        }
        const struct bottleneck_case given = {
            .ranks = result->ranks,
            .node = node,
            .late = late,
            .duration = duration,
            .time = time,
            .links = links,
            .link_count = links_gather(result, links),
        };
        bottleneck_find(&given, &result->bottleneck);
        bottleneck_tell(&result->bottleneck, members, result->accusation,
                        sizeof result->accusation);
    } else {
        status = fail(STATUS_ERROR, "out of memory for what %d ranks saw", result->ranks);
    }
    free(links);
    free(late);
    free(node);
    return status;
}

void bottleneck_report_free(struct result *result)
{
    free(result->samples);
    result->samples = NULL;
}
