/*
 * links.c - one rank's links to all others: which transport serves which peer.
 *
 * Both ends of a pair must choose the same transport. So all ranks exchange their addresses. The
 * ends of each pair that is to be connected exchange which transports reach the other, and take the
 * first that works both ways. A
 * transport that one rank cannot use at all is no failure while another reaches its peers.
 */
#include "dataplane/transport/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

#define LINKS_TRANSPORTS_MOST 8 /* a byte holds one bit for each */
#define REASON_MOST           (OFFER_MOST + 64)
_Static_assert(TRANSPORT_REASON_MOST <= OFFER_MOST, "a reason fits into an offer");

struct link {
    const struct transport *transport;
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST];
    struct endpoint *endpoint; /* NULL: not usable on this rank */
    bool used;                 /* it connects at least one peer */
};

struct links {
    int rank, ranks;
    struct link link[LINKS_TRANSPORTS_MOST];
    int count;
    uint64_t rejected; /* of endpoints that are closed */
    int lanes;         /* the most that any rank asks for */
    unsigned wishes;   /* of any rank of any other: the bits together */
    const struct peer_exchange *exchange;
    signed char *serves;   /* for each peer: which link; -1: none (it is not connected) */
    unsigned char *here;   /* for each peer: a bit for each transport that reaches it from here */
    unsigned char *back;   /* and for each that reaches this rank from there */
    unsigned char *wanted; /* for each peer: the wishes */
    char **reasons;        /* for each peer and transport: why it is not here; NULL: it is */
    struct offers offers;  /* until all are connected */
    struct fallbacks fallbacks; /* those that this rank reports, once all are connected */
};

/* Does the endpoint reach the memory of all its regions, or do rings help? Else closes it. */
static enum status link_check_memory(struct link *link, char *reason)
{
    const struct transport_config *config = &link->endpoint->config;
    for (int i = 0; i < config->region_count && !config->stages; i++) {
        const struct region *region = &config->regions[i];
        if (region->bytes == 0 || endpoint_reaches(link->endpoint, region->kind, reason))
            continue;
        link->transport->close(link->endpoint);
        link->endpoint = NULL;
        return STATUS_UNAVAILABLE;
    }
    return STATUS_OK;
}

/* Opens the endpoint of a transport. One that this rank cannot use is no failure, unless the user
 * named it. */
static enum status link_open(struct link *link, const struct transport_config *shared, bool named,
                             struct transport_offer *offer)
{
    const struct transport *transport = link->transport;
    const char *absent = transport->unavailable ? transport->unavailable() : NULL;
    struct transport_config config = *shared;
    char reason[TRANSPORT_REASON_MOST] = "";
    enum status status = STATUS_UNAVAILABLE;
    config.settings = link->settings;
    if (!absent)
        status = transport->open(&config, &link->endpoint, reason);
    if (status == STATUS_OK)
        status = link_check_memory(link, reason);
    if (status == STATUS_UNAVAILABLE) {
        if (absent)
            snprintf(reason, sizeof reason, "%s", absent);
        if (named)
            return fail(STATUS_UNAVAILABLE, "transport %s cannot be used here: %s", transport->name,
                        reason);
        bool missed = !absent || (transport->present && transport->present());
        offer->kind = missed ? OFFER_REFUSED : OFFER_ABSENT;
        offer->size = strlen(reason);
        memcpy(offer->data, reason, offer->size);
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        offer->kind = OFFER_ADDRESS;
        offer->size = transport->address(link->endpoint, offer->data);
    }
    return status;
}

enum status links_open(const struct transport_choice *allowed,
                       const struct transport_config *config, struct links **result)
{
    struct links *links = new_array(1, sizeof *links);
    size_t ranks = (size_t)config->ranks;
    *result = links;
    links->rank = config->rank;
    links->ranks = config->ranks;
    links->exchange = config->exchange;
    while (allowed[links->count].transport && links->count < LINKS_TRANSPORTS_MOST) {
        struct link *link = &links->link[links->count];
        link->transport = allowed[links->count].transport;
        memcpy(link->settings, allowed[links->count].settings, sizeof link->settings);
        links->count++;
    }
    links->serves = new_array(ranks, 1);
    links->here = new_array(ranks, 1);
    links->back = new_array(ranks, 1);
    links->wanted = new_array(ranks, 1);
    links->reasons = new_array(ranks * (size_t)links->count, sizeof *links->reasons);
    offers_open(&links->offers, links->rank, links->ranks, links->count);
    memset(links->serves, -1, ranks);
    for (int i = 0; i < links->count; i++)
        TRY(link_open(&links->link[i], config, allowed[i].named, &links->offers.mine[i]));
    return STATUS_OK;
}

/* Offers. */

void links_wish(struct links *links, const unsigned char *wishes, int lanes)
{
    links->lanes = lanes;
    memcpy(links->wanted, wishes, (size_t)links->ranks);
    for (int peer = 0; peer < links->ranks; peer++)
        links->wishes |= wishes[peer];
}

void links_encode_offers(const struct links *links, struct bytes *share)
{
    bytes_put_u32(share, (uint32_t)links->lanes);
    bytes_put_u32(share, links->wishes);
    bytes_put_u32(share, (uint32_t)links->count);
    for (int i = 0; i < links->count; i++)
        offer_code(codec_to(share), &links->offers.mine[i]);
}

/* The offers of a rank that allows another number of transports are read, and not used. */
bool links_decode_offers(struct links *links, int rank, struct reader *reader)
{
    uint32_t lanes = read_u32(reader), wishes = read_u32(reader), count = read_u32(reader);
    bool good = lanes <= LINKS_LANES_MOST && wishes <= (LINKS_WISHED | LINKS_ONE_MORE) &&
                count <= LINKS_TRANSPORTS_MOST;
    if (good && (int)lanes > links->lanes)
        links->lanes = (int)lanes;
    links->wishes |= wishes;
    for (uint32_t i = 0; good && i < count && !reader->bad; i++) {
        struct transport_offer offer;
        offer_code(codec_from(reader), &offer);
        if (!reader->bad && count == (uint32_t)links->count)
            offers_take(&links->offers, rank, (int)i, &offer, links->wanted[rank]);
    }
    return good && !reader->bad;
}

/* Reach. */

/* Can this rank reach `peer` by link `i`? NULL: yes; else why not, valid until the next call. */
static const char *link_attach(struct links *links, int i, int peer, char text[REASON_MOST])
{
    const struct transport_offer *mine = &links->offers.mine[i];
    const struct transport_offer *offer = offers_of(&links->offers, peer, i);
    const struct link *link = &links->link[i];
    if (!link->endpoint) {
        snprintf(text, REASON_MOST, "%.*s", (int)mine->size, mine->data);
        return text;
    }
    if (offer->kind == OFFER_NONE)
        return "it allows other transports";
    if (offer->kind == OFFER_ADDRESS)
        return link->transport->attach(link->endpoint, peer, offer->data, offer->size);
    snprintf(text, REASON_MOST, "rank %d cannot use it: %.*s", peer, (int)offer->size, offer->data);
    return text;
}

/* Why link `i` does not reach `peer`, as attach() said: asked again, it might say another thing. */
static const char *link_reason(const struct links *links, int i, int peer)
{
    return links->reasons[(size_t)peer * (size_t)links->count + (size_t)i];
}

void links_attach(struct links *links)
{
    char text[REASON_MOST];
    for (int peer = 0; peer < links->ranks; peer++)
        for (int i = 0; i < links->count && links->wanted[peer]; i++) {
            const char *reason = link_attach(links, i, peer, text);
            if (reason)
                links->reasons[(size_t)peer * (size_t)links->count + (size_t)i] = new_text(reason);
            else
                links->here[peer] |= (unsigned char)(1u << i);
        }
}

int links_encode_reach(const struct links *links, int *peers, unsigned char *reach)
{
    int count = 0;
    for (int peer = 0; peer < links->ranks; peer++) {
        if (!links->wanted[peer])
            continue;
        reach[count] = links->here[peer];
        peers[count++] = peer;
    }
    return count;
}

void links_decode_reach(struct links *links, const int *peers, int count,
                        const unsigned char *reach)
{
    for (int i = 0; i < count; i++)
        links->back[peers[i]] = reach[i];
}

/* Connections. */

/* No transport connects this rank and `peer` both ways: says why not, for each. */
static enum status links_unreachable(struct links *links, int peer, const struct member *members)
{
    char reasons[900];
    struct text list = text_in(reasons, sizeof reasons);
    bool exhausted = false;
    for (int i = 0; i < links->count; i++) {
        const char *name = links->link[i].transport->name;
        if (links->here[peer] >> i & 1)
            text_add(&list, "; %s: rank %d cannot reach back", name, peer);
        else
            text_add(&list, "; %s: %s", name, link_reason(links, i, peer));
        exhausted |= links->link[i].endpoint && links->link[i].endpoint->exhausted;
    }
    const char *here = members[links->rank].host, *there = members[peer].host;
    if (exhausted)
        return fail(STATUS_ERROR,
                    "no transport that is allowed (-x) connects rank %d on %s and rank %d on %s%s; "
                    "raise the limit of open files (ulimit -n)",
                    links->rank, here, peer, there, reasons);
    return fail_peer(REASON_PEER_UNREACHABLE, peer,
                     "no transport that is allowed (-x) connects rank %d on %s and rank %d on %s%s",
                     links->rank, here, peer, there, reasons);
}

/* Why link `i` does not serve `peer` although it is preferred to the one that does. */
static void link_explain(struct links *links, int i, int peer)
{
    const struct transport_offer *mine = &links->offers.mine[i];
    const struct transport_offer *theirs = offers_of(&links->offers, peer, i);
    bool is_mine = mine->kind != OFFER_ADDRESS;
    const struct transport_offer *offer = is_mine ? mine : theirs;
    struct fallback fallback = {.cause = FALLBACK_UNREACHABLE,
                                .pairs = 1,
                                .low = peer < links->rank ? peer : links->rank,
                                .high = peer < links->rank ? links->rank : peer,
                                .rank = is_mine ? links->rank : peer};
    if (offer->kind == OFFER_ABSENT || offer->kind == OFFER_REFUSED) {
        fallback.cause = offer->kind == OFFER_ABSENT ? FALLBACK_ABSENT : FALLBACK_REFUSED;
        snprintf(fallback.reason, sizeof fallback.reason, "%.*s", (int)offer->size, offer->data);
    } else {
        snprintf(fallback.reason, sizeof fallback.reason, "%s", link_reason(links, i, peer));
    }
    snprintf(fallback.preferred, sizeof fallback.preferred, "%s", links->link[i].transport->name);
    snprintf(fallback.taken, sizeof fallback.taken, "%s", links_transport(links, peer)->name);
    fallbacks_add(&links->fallbacks, &fallback);
}

/* One end of each pair reports: the lower rank if it knows the reason, else the higher one. Local
 * transports are as good as any on a host unless they stage, and expected to fail between hosts. */
static void links_explain(struct links *links, const struct member *members)
{
    for (int peer = 0; peer < links->ranks; peer++) {
        int serves = links->serves[peer];
        bool remote = members[peer].node != members[links->rank].node;
        const struct link *link = serves < 0 ? NULL : &links->link[serves];
        if (!link || (link->transport->local && !endpoint_stages(link->endpoint)))
            continue;
        for (int i = 0; i < serves; i++) {
            bool here = links->here[peer] >> i & 1, back = links->back[peer] >> i & 1;
            if (!here && (links->rank < peer || back) &&
                !(remote && links->link[i].transport->local))
                link_explain(links, i, peer);
        }
    }
}

/* Do two ranks have an endpoint of this transport? All ranks know the same of that. */
static bool link_is_offered(const struct links *links, int i)
{
    return links->offers.addresses[i] >= 2;
}

/* Connects the peers that link `i` serves and for which one of `wishes` is set. A rank without them
 * takes part in the exchange of those that have some. */
static enum status link_connect(struct links *links, int i, int wishes, int *peers, int lanes)
{
    struct link *link = &links->link[i];
    int count = 0;
    for (int peer = 0; peer < links->ranks; peer++) {
        if (links->wanted[peer] & wishes && links->serves[peer] == i)
            peers[count++] = peer;
    }
    int exchanges = link_is_offered(links, i) ? link->transport->exchanges : 0;
    link->used |= count > 0;
    if (link->endpoint && (count > 0 || exchanges > 0))
        return link->transport->connect(link->endpoint, peers, count, lanes);
    for (; exchanges > 0; exchanges--)
        TRY(links->exchange->call(links->exchange->argument, peers, 0, NULL, 0, NULL));
    return STATUS_OK;
}

/* All ranks are connected: closes what only connecting needs. */
static void links_settle(struct links *links)
{
    for (int i = 0; i < links->count; i++) {
        struct link *link = &links->link[i];
        if (!link->used) {
            links->rejected += link->endpoint ? link->endpoint->rejected : 0;
            link->transport->close(link->endpoint);
            link->endpoint = NULL;
        } else if (link->transport->settle) {
            link->transport->settle(link->endpoint);
        }
    }
    offers_close(&links->offers);
}

enum status links_choose(struct links *links, const struct member *members)
{
    for (int peer = 0; peer < links->ranks; peer++) {
        unsigned both = links->here[peer] & links->back[peer];
        if (both)
            links->serves[peer] = (signed char)__builtin_ctz(both);
        else if (links->wanted[peer])
            TRY(links_unreachable(links, peer, members));
    }
    return STATUS_OK;
}

int links_ring_directions(const struct links *links, int peer, const struct memory_kind *kind)
{
    char reason[TRANSPORT_REASON_MOST];
    const struct endpoint *endpoint = links->link[(int)links->serves[peer]].endpoint;
    if (!endpoint_serves(endpoint, kind, false, reason))
        return 2;
    return endpoint->config.combines && !endpoint_serves(endpoint, kind, true, reason);
}

enum status links_connect(struct links *links, const struct member *members)
{
    int *peers = new_array((size_t)links->ranks, sizeof *peers);
    enum status status = STATUS_OK;
    /* All ranks take the transports in the same order, so no two ranks wait for each other. */
    for (int i = 0; links->wishes && status == STATUS_OK && i < links->count; i++)
        status = link_connect(links, i, LINKS_WISHED | LINKS_ONE_MORE, peers, links->lanes);
    bool more = links->wishes & LINKS_ONE_MORE;
    for (int i = 0; more && status == STATUS_OK && i < links->count; i++)
        status = link_connect(links, i, LINKS_ONE_MORE, peers, links->lanes + 1);
    if (status == STATUS_OK)
        links_explain(links, members);
    links_settle(links);
    free(peers);
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
    for (int i = 0; i < links->count; i++)
        if (links->link[i].used && links->link[i].transport->check)
            TRY(links->link[i].transport->check(links->link[i].endpoint));
    return STATUS_OK;
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

bool links_stages(const struct links *links, int peer)
{
    int i = links->serves[peer];
    return i >= 0 && links->link[i].used && endpoint_stages(links->link[i].endpoint);
}

const struct fallbacks *links_fallbacks(const struct links *links)
{
    return &links->fallbacks;
}

const struct transport *links_transport(const struct links *links, int peer)
{
    return links->serves[peer] < 0 ? NULL : links->link[(int)links->serves[peer]].transport;
}

const struct endpoint *links_open_endpoint(const struct links *links, int index)
{
    for (int i = 0; i < links->count; i++)
        if (links->link[i].endpoint && index-- == 0)
            return links->link[i].endpoint;
    return NULL;
}

struct endpoint *links_endpoint(struct links *links, int index)
{
    for (int i = 0; i < links->count; i++) {
        if (links->link[i].used && index-- == 0)
            return links->link[i].endpoint;
    }
    return NULL;
}

uint64_t links_rejected(const struct links *links)
{
    uint64_t rejected = links->rejected;
    for (int i = 0; i < links->count; i++)
        rejected += links->link[i].endpoint ? links->link[i].endpoint->rejected : 0;
    return rejected;
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
    free(links->here);
    free(links->back);
    free(links->wanted);
    offers_close(&links->offers);
    for (size_t i = 0; links->reasons && i < (size_t)links->ranks * (size_t)links->count; i++)
        free(links->reasons[i]);
    free(links->reasons);
    free(links);
}
