/*
 * links.c - one rank's links to all others: which transport serves which peer.
 *
 * Both ends of a pair must come to the same choice, so nobody chooses by what it sees alone: the
 * ranks exchange their addresses, then what each can reach, and take the first transport that works
 * both ways. A transport that one rank cannot use at all is no failure while another reaches its
 * peers.
 */
#include "transport/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define LINKS_TRANSPORTS_MOST 8 /* a byte holds one bit for each */
#define REASON_MOST           TRANSPORT_ADDRESS_MOST

struct link {
    const struct transport *transport;
    struct endpoint *endpoint; /* NULL: not usable on this rank */
    bool used;                 /* it has been connected to somebody */
};

struct links {
    int rank, ranks;
    struct link link[LINKS_TRANSPORTS_MOST];
    int count;
    uint64_t strangers;  /* of endpoints that are closed */
    signed char *serves; /* for each peer: which link; -1: none (this rank itself) */
};

/* What a rank says of one transport: its address, or why it has none. */
struct transport_offer {
    uint16_t size;
    uint16_t is_reason;
    char data[REASON_MOST];
};

/* Opens what can be opened, and writes a card for each. */
static enum status links_introduce(struct links *links, const struct transport_config *config,
                                   struct transport_offer *offers)
{
    for (int i = 0; i < links->count; i++) {
        struct link *link = &links->link[i];
        const char *reason = link->transport->unavailable();
        memset(&offers[i], 0, sizeof(offers[i]));
        if (reason) {
            snprintf(offers[i].data, sizeof(offers[i].data), "%s", reason);
            offers[i].size = (uint16_t)strlen(offers[i].data);
            offers[i].is_reason = true;
            continue;
        }
        enum status status = link->transport->open(config, &link->endpoint);
        if (status != STATUS_OK)
            return status;
        offers[i].size = (uint16_t)link->transport->address(link->endpoint, offers[i].data);
    }
    return STATUS_OK;
}

/* Those of who allows other transports are not looked at further. */
static enum status offers_check(const struct links *links, const struct blobs *blobs)
{
    size_t size = (size_t)links->count * sizeof(struct transport_offer);
    for (int r = 0; r < blobs->count; r++) {
        const struct transport_offer *offers = blobs->data[r];
        bool good = blobs->size[r] == size || r != links->rank;
        for (int i = 0; good && blobs->size[r] == size && i < links->count; i++)
            good = offers[i].size <= sizeof(offers[i].data);
        if (!good)
            return fail(STATUS_ERROR,
                        "rank %d told nonsense about its addresses: do all ranks run the same "
                        "cctest?",
                        r);
    }
    return STATUS_OK;
}

/* Can this rank reach `peer` by link `i`? NULL: yes, else why not, valid until the next call. */
static const char *links_attach(struct links *links, int i, int peer, const struct blobs *blobs,
                                char text[REASON_MOST + 64])
{
    const struct transport_offer *offers = blobs->data[links->rank];
    const struct link *link = &links->link[i];
    if (!link->endpoint) {
        snprintf(text, REASON_MOST + 64, "%.*s", (int)offers[i].size, offers[i].data);
        return text;
    }
    if (blobs->size[peer] != blobs->size[links->rank])
        return "it allows other transports";
    offers = blobs->data[peer];
    if (!offers[i].is_reason)
        return link->transport->attach(link->endpoint, peer, offers[i].data, offers[i].size);
    snprintf(text, REASON_MOST + 64, "rank %d cannot use it: %.*s", peer, (int)offers[i].size,
             offers[i].data);
    return text;
}

/* No transport reaches `peer` from here and back: says why not, for each. */
static enum status links_unreachable(struct links *links, int peer, unsigned mine,
                                     const struct blobs *offers, const struct member *members)
{
    char story[900] = "", text[REASON_MOST + 64];
    size_t end = 0;
    bool exhausted = false;
    for (int i = 0; i < links->count && end < sizeof(story) - 1; i++) {
        const char *reason;
        if (mine >> i & 1) {
            snprintf(text, sizeof(text), "rank %d cannot reach back", peer);
            reason = text;
        } else {
            reason = links_attach(links, i, peer, offers, text);
        }
        int size =
            snprintf(story + end, sizeof(story) - end, "; %s: %s", links->link[i].transport->name,
                     reason ? reason : "it could not before");
        end += (size_t)size;
        exhausted |= links->link[i].endpoint && links->link[i].endpoint->exhausted;
    }
    const char *here = members[links->rank].host, *there = members[peer].host;
    if (exhausted)
        return fail(STATUS_ERROR,
                    "no transport that is allowed (-x) connects rank %d on %s and rank %d on %s%s; "
                    "raise the limit of open files (ulimit -n)",
                    links->rank, here, peer, there, story);
    return fail_peer(REASON_PEER_UNREACHABLE, peer,
                     "no transport that is allowed (-x) connects rank %d on %s and rank %d on %s%s",
                     links->rank, here, peer, there, story);
}

/* Attaches all peers, and agrees with each on the first transport that works both ways. */
static enum status links_agree(struct links *links, struct control *control,
                               const struct blobs *offers)
{
    char text[REASON_MOST + 64];
    struct blobs reach = {0};
    unsigned char *mine =
        calloc((size_t)links->ranks, 1); /* a bit for each transport that attaches */
    if (!mine)
        return fail(STATUS_ERROR, "out of memory for %d peers", links->ranks);
    for (int peer = 0; peer < links->ranks; peer++) {
        for (int i = 0; i < links->count && peer != links->rank; i++) {
            if (!links_attach(links, i, peer, offers, text))
                mine[peer] |= (unsigned char)(1u << i);
        }
    }
    enum status status = control_allgather(control, mine, (size_t)links->ranks, &reach);
    for (int peer = 0; status == STATUS_OK && peer < links->ranks; peer++) {
        if (peer == links->rank)
            continue;
        const unsigned char *theirs = reach.data[peer];
        if (!theirs || reach.size[peer] != (size_t)links->ranks) {
            status = fail(STATUS_ERROR,
                          "rank %d told nonsense about whom it can reach: do all ranks "
                          "run the same cctest?",
                          peer);
            break;
        }
        unsigned both = mine[peer] & theirs[links->rank];
        if (both)
            links->serves[peer] = (signed char)__builtin_ctz(both);
        else
            status = links_unreachable(links, peer, mine[peer], offers, control_members(control));
    }
    blobs_free(&reach);
    free(mine);
    return status;
}

enum status links_open(const struct transport *const *allowed,
                       const struct transport_config *config, struct control *control,
                       struct links **result)
{
    struct transport_offer offers[LINKS_TRANSPORTS_MOST];
    struct blobs blobs = {0};
    struct links *links = calloc(1, sizeof(*links));
    if (!links)
        return fail(STATUS_ERROR, "out of memory for links");
    links->rank = config->rank;
    links->ranks = config->ranks;
    while (allowed[links->count] && links->count < LINKS_TRANSPORTS_MOST) {
        links->link[links->count].transport = allowed[links->count];
        links->count++;
    }
    links->serves = malloc((size_t)config->ranks);
    enum status status = links->serves
                             ? links_introduce(links, config, offers)
                             : fail(STATUS_ERROR, "out of memory for %d peers", config->ranks);
    if (status == STATUS_OK) {
        memset(links->serves, -1, (size_t)config->ranks);
        status =
            control_allgather(control, offers, sizeof(offers[0]) * (size_t)links->count, &blobs);
    }
    if (status == STATUS_OK)
        status = offers_check(links, &blobs);
    if (status == STATUS_OK)
        status = links_agree(links, control, &blobs);
    blobs_free(&blobs);
    if (status == STATUS_OK)
        *result = links;
    else
        links_close(links);
    return status;
}

/* What a rank wants to be connected to: the number of lanes, then a byte for each peer. */
static unsigned char *wish_make(const struct links *links, const unsigned char *wishes, int lanes)
{
    unsigned char *wish = calloc(sizeof(lanes) + (size_t)links->ranks, 1);
    if (!wish)
        return NULL;
    memcpy(wish, &lanes, sizeof(lanes));
    memcpy(wish + sizeof(lanes), wishes, (size_t)links->ranks);
    return wish;
}

/* Reads what `peer` wishes: are this rank and it to be connected, and how many lanes are needed? */
static enum status wish_read(const struct links *links, const struct blobs *wishes, int peer,
                             unsigned char *wanted, int *lanes)
{
    const unsigned char *wish = wishes->data[peer];
    int theirs = -1;
    if (wish && wishes->size[peer] == sizeof(theirs) + (size_t)links->ranks)
        memcpy(&theirs, wish, sizeof(theirs));
    if (theirs < 0 || theirs > LINKS_LANES_MOST)
        return fail(STATUS_ERROR,
                    "rank %d asks for connections that make no sense: do all ranks run the same "
                    "cctest?",
                    peer);
    *lanes = theirs > *lanes ? theirs : *lanes;
    wanted[peer] |= wish[sizeof(theirs) + (size_t)links->rank];
    return STATUS_OK;
}

/* Connects link `i` to those that it serves and of whom one of the `wishes` is wanted. */
static enum status link_connect(struct links *links, int i, const unsigned char *wanted, int wishes,
                                int *peers, int lanes)
{
    struct link *link = &links->link[i];
    int count = 0;
    for (int peer = 0; peer < links->ranks; peer++) {
        if (wanted[peer] & wishes && links->serves[peer] == i)
            peers[count++] = peer;
    }
    if (count == 0)
        return STATUS_OK;
    link->used = true;
    return link->transport->connect(link->endpoint, peers, count, lanes);
}

/* All are connected: nobody else is to come. */
static void links_settle(struct links *links)
{
    for (int i = 0; i < links->count; i++) {
        struct link *link = &links->link[i];
        if (!link->used) {
            links->strangers += link->endpoint ? link->endpoint->strangers : 0;
            link->transport->close(link->endpoint);
            link->endpoint = NULL;
        } else if (link->transport->settle) {
            link->transport->settle(link->endpoint);
        }
    }
}

enum status links_connect(struct links *links, struct control *control, const unsigned char *mine,
                          int lanes)
{
    struct blobs wishes = {0};
    size_t size = sizeof(lanes) + (size_t)links->ranks;
    unsigned char *wish = wish_make(links, mine, lanes);
    int *chosen = malloc((size_t)links->ranks * sizeof(*chosen));
    enum status status;
    if (!wish || !chosen) {
        status = fail(STATUS_ERROR, "out of memory for connecting");
        goto out;
    }
    status = control_allgather(control, wish, size, &wishes);
    for (int peer = 0; status == STATUS_OK && peer < links->ranks; peer++) {
        status = wish_read(links, &wishes, peer, wish + sizeof(lanes), &lanes);
    }
    /* All ranks go through the transports in the same order, so none waits for one that waits for
     * it. */
    for (int i = 0; status == STATUS_OK && i < links->count; i++)
        status = link_connect(links, i, wish + sizeof(lanes), LINKS_WISHED | LINKS_ONE_MORE, chosen,
                              lanes);
    for (int i = 0; status == STATUS_OK && i < links->count; i++)
        status = link_connect(links, i, wish + sizeof(lanes), LINKS_ONE_MORE, chosen, lanes + 1);
    links_settle(links);
out:
    blobs_free(&wishes);
    free(wish);
    free(chosen);
    return status;
}

struct channel *links_channel(struct links *links, int peer, int lane, bool sends)
{
    int i = links->serves[peer];
    return i < 0 ? NULL
                 : links->link[i].transport->channel(links->link[i].endpoint, peer, lane, sends);
}

enum status links_progress(struct links *links)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < links->count && status == STATUS_OK; i++) {
        if (links->link[i].used)
            status = links->link[i].transport->progress(links->link[i].endpoint);
    }
    return status;
}

enum status links_check(struct links *links)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < links->count && status == STATUS_OK; i++) {
        if (links->link[i].used && links->link[i].transport->check)
            status = links->link[i].transport->check(links->link[i].endpoint);
    }
    return status;
}

struct idle_report links_idle_report(const struct links *links)
{
    struct idle_report idle = {.unheard = -1};
    for (int i = 0; i < links->count; i++) {
        const struct link *link = &links->link[i];
        if (link->used && link->transport->idle_report)
            link->transport->idle_report(link->endpoint, &idle);
    }
    return idle;
}

const char *links_describe(struct links *links, int peer, uint64_t *ns)
{
    *ns = 0;
    int i = links->serves[peer];
    if (i < 0 || !links->link[i].used || !links_channel(links, peer, 0, true))
        return NULL;
    const struct link *link = &links->link[i];
    return link->transport->describe ? link->transport->describe(link->endpoint, peer, ns) : "";
}

const struct transport *links_transport(const struct links *links, int peer)
{
    return links->serves[peer] < 0 ? NULL : links->link[(int)links->serves[peer]].transport;
}

struct endpoint *links_endpoint(struct links *links, int index)
{
    for (int i = 0; i < links->count; i++) {
        if (links->link[i].used && index-- == 0)
            return links->link[i].endpoint;
    }
    return NULL;
}

uint64_t links_strangers(const struct links *links)
{
    uint64_t strangers = links->strangers;
    for (int i = 0; i < links->count; i++)
        strangers += links->link[i].endpoint ? links->link[i].endpoint->strangers : 0;
    return strangers;
}

void links_watch(struct links *links, bool watched)
{
    for (int i = 0; i < links->count; i++) {
        if (links->link[i].used)
            links->link[i].endpoint->watched = watched;
    }
}

void links_close(struct links *links)
{
    if (!links)
        return;
    for (int i = 0; i < links->count; i++)
        links->link[i].transport->close(links->link[i].endpoint);
    free(links->serves);
    free(links);
}
