/*
 * bottleneck_report.c - brings together what the two ends of each link counted, and words the
 * bottleneck that follows.
 */
#include "run/results/internal.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"

static enum status samples_read(struct result *result, const struct rank_summaries *summaries)
{
    result->samples = calloc((size_t)summaries->count, sizeof *result->samples);
    if (!result->samples)
        return fail(STATUS_ERROR, "out of memory for the samples of %d ranks", summaries->count);
    for (int r = 0; r < summaries->count; r++) {
        const struct rank_summary *summary = &summaries->of[r];
        result->samples[r] = (struct rank_sample){.late_us = (double)summary->late * 1e-3,
                                                  .time_us = summary->duration,
                                                  .peers = summary->peers,
                                                  .peer = summary->peer};
    }
    return STATUS_OK;
}

/* What rank `rank` saw of `peer`; NULL: it is not among the peers that it reports. */
static const struct peer_stats *peer_find(const struct result *result, int rank, int peer)
{
    const struct rank_sample *sample = &result->samples[rank];
    for (int i = 0; i < sample->peers; i++)
        if (sample->peer[i].peer == peer)
            return &sample->peer[i];
    return NULL;
}

/* The links that both ends report; returns how many. */
static int links_gather(const struct result *result, struct bottleneck_link *links)
{
    int count = 0;
    for (int r = 0; r < result->ranks; r++) {
        for (int i = 0; i < result->samples[r].peers; i++) {
            const struct peer_stats *out = &result->samples[r].peer[i];
            const struct peer_stats *in = peer_find(result, out->peer, r);
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

static void add_links(struct text *text, const struct bottleneck *bottleneck,
                      const struct member *members)
{
    const char *from = members[bottleneck->from].host, *to = members[bottleneck->to].host;
    const char *host = bottleneck->node == members[bottleneck->to].node ? to : from;
    bool one = bottleneck->links == 1;
    if (bottleneck->kind == BOTTLENECK_LINK && one)
        text_add(text, "the link from rank %d (%s) to rank %d (%s)", bottleneck->from, from,
                 bottleneck->to, to);
    else if (bottleneck->kind == BOTTLENECK_LINK)
        text_add(text, "the links from host %s to host %s", from, to);
    else if (bottleneck->kind == BOTTLENECK_PAIR)
        text_add(text, "the links between host %s and host %s", from, to);
    else
        text_add(text, "all links %s host %s",
                 bottleneck->kind == BOTTLENECK_FROM ? "from"
                 : bottleneck->kind == BOTTLENECK_TO ? "to"
                                                     : "to and from",
                 host);
    text_add(text, ": %.1f MB/s, the others' median is %.1f MB/s or more; ",
             bottleneck->rate * 1e-6, bottleneck->others * 1e-6);
    if (one)
        text_add(text, "it was");
    else
        text_add(text, "that from rank %d to rank %d was", bottleneck->from, bottleneck->to);
    text_add(text, " waited for in %.0f %% of the time", bottleneck->share * 100);
}

static void bottleneck_text(const struct bottleneck *bottleneck, const struct member *members,
                            char *buffer, size_t size)
{
    struct text text = text_in(buffer, size);
    if (bottleneck->kind == BOTTLENECK_RANK)
        text_add(&text,
                 "rank %d (%s) begins late: %.0f us after the start releases it (median; the "
                 "others at most %.0f us), %.0f %% of the time",
                 bottleneck->rank, members[bottleneck->rank].host, (double)bottleneck->late * 1e-3,
                 (double)bottleneck->next * 1e-3, bottleneck->share * 100);
    else if (bottleneck->kind != BOTTLENECK_NONE)
        add_links(&text, bottleneck, members);
}

enum status bottleneck_report(struct result *result, const struct member *members,
                              const struct rank_summaries *summaries, uint64_t duration,
                              uint64_t time)
{
    enum status status = samples_read(result, summaries);
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
            late[r] = summaries->of[r].late;
        }
        const struct bottleneck_case given = {
            .ranks = result->ranks,
            .node = node,
            .late = late,
            .late_rank = result->late_rank,
            .duration = duration,
            .time = time,
            .links = links,
            .link_count = links_gather(result, links),
        };
        bottleneck_find(&given, &result->bottleneck);
        bottleneck_text(&result->bottleneck, members, result->bottleneck_text,
                        sizeof result->bottleneck_text);
    } else {
        status = fail(STATUS_ERROR, "out of memory for the links of %d ranks", result->ranks);
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
