/*
 * fallback.c - why pairs of ranks run over a transport that they do not prefer, grouped by reason.
 */
#include "dataplane/transport/transport.h"

#include <stdio.h>
#include <string.h>

static struct fallback *fallback_find(struct fallbacks *fallbacks, const struct fallback *like)
{
    for (int i = 0; i < fallbacks->count; i++) {
        struct fallback *fallback = &fallbacks->list[i];
        if (fallback->cause == like->cause && strcmp(fallback->preferred, like->preferred) == 0 &&
            strcmp(fallback->taken, like->taken) == 0 &&
            strcmp(fallback->reason, like->reason) == 0)
            return fallback;
    }
    return NULL;
}

static void fallback_merge(struct fallback *fallback, const struct fallback *more)
{
    if (fallback->pairs == 0) {
        *fallback = *more;
        return;
    }
    fallback->pairs += more->pairs;
    fallback->others |= more->others || more->rank != fallback->rank;
    if (more->cause > fallback->cause) /* of several reasons, the one that is always shown */
        fallback->cause = more->cause;
}

void fallbacks_add(struct fallbacks *fallbacks, const struct fallback *more)
{
    struct fallback *fallback = more->reason[0] ? fallback_find(fallbacks, more) : NULL;
    if (!fallback && more->reason[0] && fallbacks->count < FALLBACKS_MOST) {
        fallback = &fallbacks->list[fallbacks->count++];
        fallback->pairs = 0;
    }
    if (fallback) {
        fallback_merge(fallback, more);
    } else {
        fallback_merge(&fallbacks->further, more);
        fallbacks->further.reason[0] = '\0';
    }
}

/* `ranks`: counts only where it decodes. */
static void fallback_code(struct codec codec, int ranks, struct fallback *fallback)
{
    code_u32(codec, &fallback->cause, 0, FALLBACK_CAUSES - 1);
    code_text(codec, fallback->preferred, sizeof fallback->preferred);
    code_text(codec, fallback->taken, sizeof fallback->taken);
    code_text(codec, fallback->reason, sizeof fallback->reason);
    code_u64(codec, &fallback->pairs);
    code_require(codec, fallback->pairs > 0 && fallback->pairs < UINT32_MAX);
    code_int(codec, &fallback->low, 0, ranks - 1);
    code_int(codec, &fallback->high, fallback->low + 1, ranks - 1);
    code_int(codec, &fallback->rank, fallback->low, fallback->high);
    code_require(codec, fallback->rank == fallback->low || fallback->rank == fallback->high);
    code_flag(codec, &fallback->others);
}

void fallbacks_encode(const struct fallbacks *fallbacks, struct bytes *share)
{
    bool further = fallbacks->further.pairs > 0;
    bytes_put_u32(share, (uint32_t)(fallbacks->count + further));
    for (int i = 0; i < fallbacks->count + further; i++) {
        struct fallback sent = i < fallbacks->count ? fallbacks->list[i] : fallbacks->further;
        fallback_code(codec_to(share), 0, &sent);
    }
}

bool fallbacks_decode(struct fallbacks *fallbacks, int ranks, struct reader *reader)
{
    struct fallback fallback;
    uint32_t count = read_u32(reader);
    code_require(codec_from(reader), count <= FALLBACKS_MOST + 1);
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        fallback_code(codec_from(reader), ranks, &fallback);
        if (!reader->bad)
            fallbacks_add(fallbacks, &fallback);
    }
    return !reader->bad;
}

const char *fallback_text(const struct fallback *fallback, const struct member *members,
                          char to[FALLBACK_TEXT_MOST])
{
    struct text text = text_in(to, FALLBACK_TEXT_MOST);
    int low = fallback->low, high = fallback->high, rank = fallback->rank;
    unsigned long long pairs = fallback->pairs;
    if (fallback->reason[0] == '\0') {
        text_add(&text,
                 "%llu more pairs of ranks, such as ranks %d (%s) and %d (%s), run over "
                 "another transport than they prefer, for further reasons",
                 pairs, low, members[low].host, high, members[high].host);
        return to;
    }
    if (pairs == 1)
        text_add(&text, "ranks %d (%s) and %d (%s) run over %s", low, members[low].host, high,
                 members[high].host, fallback->taken);
    else
        text_add(&text, "%llu pairs of ranks run over %s, such as ranks %d (%s) and %d (%s)", pairs,
                 fallback->taken, low, members[low].host, high, members[high].host);
    if (fallback->cause == FALLBACK_UNREACHABLE)
        text_add(&text, ", because %s does not connect them: %s", fallback->preferred,
                 fallback->reason);
    else
        text_add(&text, ", because %s cannot be used on rank %d%s: %s", fallback->preferred, rank,
                 fallback->others ? " and others" : "", fallback->reason);
    return to;
}
