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

static void fallback_encode(const struct fallback *fallback, struct bytes *share)
{
    bytes_put_u32(share, fallback->cause);
    bytes_put_text(share, fallback->preferred);
    bytes_put_text(share, fallback->taken);
    bytes_put_text(share, fallback->reason);
    bytes_put_u64(share, fallback->pairs);
    bytes_put_u32(share, (uint32_t)fallback->low);
    bytes_put_u32(share, (uint32_t)fallback->high);
    bytes_put_u32(share, (uint32_t)fallback->rank);
    bytes_put_u32(share, fallback->others);
}

void fallbacks_encode(const struct fallbacks *fallbacks, struct bytes *share)
{
    bool further = fallbacks->further.pairs > 0;
    bytes_put_u32(share, (uint32_t)(fallbacks->count + further));
    for (int i = 0; i < fallbacks->count; i++)
        fallback_encode(&fallbacks->list[i], share);
    if (further)
        fallback_encode(&fallbacks->further, share);
}

static bool fallback_decode(struct fallback *fallback, int ranks, struct reader *reader)
{
    *fallback = (struct fallback){0};
    uint32_t cause = read_u32(reader);
    read_text(reader, fallback->preferred, sizeof fallback->preferred);
    read_text(reader, fallback->taken, sizeof fallback->taken);
    read_text(reader, fallback->reason, sizeof fallback->reason);
    fallback->cause = (enum fallback_cause)(cause % FALLBACK_CAUSES);
    fallback->pairs = read_u64(reader);
    fallback->low = (int)read_u32(reader);
    fallback->high = (int)read_u32(reader);
    fallback->rank = (int)read_u32(reader);
    uint32_t others = read_u32(reader);
    fallback->others = others != 0;
    return !reader->bad && cause < FALLBACK_CAUSES && others <= 1 && fallback->pairs > 0 &&
           fallback->pairs < UINT32_MAX && fallback->low >= 0 && fallback->low < fallback->high &&
           fallback->high < ranks &&
           (fallback->rank == fallback->low || fallback->rank == fallback->high);
}

bool fallbacks_decode(struct fallbacks *fallbacks, int ranks, struct reader *reader)
{
    struct fallback fallback;
    uint32_t count = read_u32(reader);
    bool good = !reader->bad && count <= FALLBACKS_MOST + 1;
    for (uint32_t i = 0; good && i < count; i++) {
        good = fallback_decode(&fallback, ranks, reader);
        if (good)
            fallbacks_add(fallbacks, &fallback);
    }
    return good;
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
