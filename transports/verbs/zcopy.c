/*
 * zcopy.c - long messages: offers by the receiver, and segments that the sender writes into place.
 *
 * The receiver knows where its message goes, so it offers: one strided piece after another, ahead
 * of the data, for transfers that wait behind the present one, too. An offer is 80 bytes, written
 * into the next entry of the ring in the sender's block. An entry is free again when all bytes of
 * its piece have come. How far a piece may be written follows the transfer's limit, by a word of
 * its own behind the offer.
 *
 * The sender writes segments of about a grain. A segment is one WRITE, or several where the peer's
 * runs are short, and its last one notifies. Pieces of the message that are long are gathered by
 * the NIC; short ones are packed into staging first, if a CPU can read them.
 */
#include "transports/verbs/internal.h"

#include <string.h>

#include "base/log.h"
#include "base/numbers.h"

#define RUN_LEAST     4096 /* auto: a shorter run at the receiver goes through slots */
#define GATHER_LEAST  512  /* a shorter run at the sender is packed */
#define SEGMENT_LEAST ((size_t)64 << 10)
#define SEGMENT_MOST  ((size_t)1 << 20)

static const struct verbs_grants *grants_of(const struct channel *channel)
{
    return &verbs_lane_of(channel)->grants;
}

/* Entries of the peer's ring, into which this rank writes offers. */
static uint32_t offers_most(const struct verbs_receiver *in)
{
    return verbs_lane_of(&in->base)->out.grants.offers;
}

static struct verbs_offered *offered_at(const struct verbs_receiver *in, uint32_t number)
{
    return &in->offered[verbs_ring_at(number, offers_most(in))];
}

/* Receiver: offers. */

bool verbs_takes_slots(const struct channel *channel, const struct transfer *transfer)
{
    if (transfer->kind == TRANSFER_RECV_REDUCE)
        return true;
    if (channel->endpoint->config.copy != COPY_AUTO || verbs_lane_of(channel)->direct)
        return false;
    for (size_t i = 0; i < transfer->to.count; i++)
        if (transfer->to.pieces[i].run < RUN_LEAST)
            return true;
    return false;
}

/* How far [begin, end) of the transfer may be written. */
static size_t offered_limit(const struct verbs_offered *offered)
{
    size_t limit = offered->transfer->limit;
    return limit <= offered->begin ? 0 : smaller(limit, offered->end) - offered->begin;
}

static uint64_t offer_address(const struct verbs_receiver *in, uint32_t number)
{
    return verbs_lane_of(&in->base)->out.remote + verbs_offers_at() +
           verbs_ring_at(number, offers_most(in)) * sizeof(struct verbs_offer);
}

/* The piece at the cursor, from its byte on: whole runs, or the rest of one, as long as an offer
 * may be. */
static struct verbs_offer offer_of(const struct cursor *cursor)
{
    const struct piece *piece = cursor->piece;
    char *at = piece->base + cursor->time * piece->stride + cursor->offset;
    size_t run = smaller(piece->run - cursor->offset, VERBS_LIMIT_MOST);
    bool whole = run == piece->run;
    size_t times = whole ? piece->times - cursor->time : 1;
    return (struct verbs_offer){.address = (uintptr_t)at,
                                .run = run,
                                .stride = piece->stride,
                                .times = smaller(times, VERBS_LIMIT_MOST / run)};
}

static enum status offer_write(struct verbs_receiver *in, struct verbs_offer *offer,
                               const struct verbs_offered *offered)
{
    struct verbs_lane *lane = verbs_lane_of(&in->base);
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)in->base.endpoint;
    const void *address = (const void *)(uintptr_t)offer->address;
    for (int i = 0; offer->times > 0 && i < endpoint->rail_count; i++) {
        const struct ibv_mr *region = verbs_region_find(&endpoint->rails[i], address);
        if (!region)
            return fail(STATUS_ERROR, "a message of rank %d goes to memory that is not registered",
                        in->base.peer);
        offer->keys[i] = region->rkey;
    }
    uint32_t number = in->offers_made++;
    struct verbs_offered *entry = offered_at(in, number);
    struct verbs_words words = entry->words;
    offer->first_limit = offered->limit;
    offer->sequence = number + 1;
    *entry = *offered;
    entry->words = words; /* they are the entry's, whatever it offers */
    return verbs_pair_write_offer(verbs_pair_of(&in->base), offer, offer_address(in, number),
                                  lane->out.peer_polls ? VERBS_NO_NOTICE : VERBS_NOTICE_OFFER);
}

/* The transfer whose bytes are offered next; NULL: none is posted. */
static struct transfer *offering(const struct verbs_receiver *in)
{
    return in->offered_last ? in->offered_last->next : in->base.first;
}

/* Offers one piece more of the transfer. */
static enum status offer_make(struct verbs_receiver *in, struct transfer *transfer)
{
    struct verbs_offered offered = {
        .transfer = transfer, .begin = in->offer_begin, .end = transfer->length};
    struct verbs_offer offer = {0};
    offered.by_slots = verbs_takes_slots(&in->base, transfer);
    TRY(verbs_require_reach(&in->base, transfer, offered.by_slots));
    if (!offered.by_slots) {
        if (in->offer_begin == 0)
            cursor_start(&in->offer_cursor, transfer->to);
        offer = offer_of(&in->offer_cursor);
        offered.end = smaller(offered.begin + offer.run * offer.times, transfer->length);
        cursor_advance(&in->offer_cursor, offered.end - offered.begin);
        offered.limit = offered_limit(&offered);
    }
    in->offer_begin = offered.end;
    return offer_write(in, &offer, &offered);
}

/* The limit of the offer with this sequence number. */
static uint64_t limit_word(uint32_t sequence, size_t limit)
{
    return (uint64_t)(sequence & 255) << VERBS_LIMIT_BITS | limit;
}

static enum status limit_write(struct verbs_receiver *in, uint32_t number)
{
    struct verbs_pair *pair = verbs_pair_of(&in->base);
    struct verbs_offered *offered = offered_at(in, number);
    size_t limit = offered_limit(offered);
    if (offered->by_slots || limit == offered->limit || !verbs_has_control_room(&in->base) ||
        !verbs_words_are_free(pair, &offered->words))
        return STATUS_OK;
    offered->limit = limit;
    return verbs_pair_write_word(pair, &offered->words,
                                 verbs_word_of(limit_word(number + 1, limit)),
                                 offer_address(in, number) + offsetof(struct verbs_offer, limits));
}

enum status verbs_offers_make(struct verbs_receiver *in)
{
    enum status status = STATUS_OK;
    for (uint32_t i = in->offers_open; status == STATUS_OK && i != in->offers_made; i++)
        status = limit_write(in, i);
    for (struct transfer *transfer; status == STATUS_OK && (transfer = offering(in));) {
        if (verbs_is_zcopy(&in->base, transfer->length)) {
            if (in->offers_made - in->offers_open == offers_most(in) ||
                !verbs_has_control_room(&in->base))
                return STATUS_OK;
            status = offer_make(in, transfer);
            if (in->offer_begin < transfer->length)
                continue;
        }
        in->offered_last = transfer;
        in->offer_begin = 0;
    }
    return status;
}

/* Offers whose bytes have all come are open no more. */
static void offers_close(struct verbs_receiver *in, const struct transfer *transfer)
{
    while (in->offers_open != in->offers_made) {
        const struct verbs_offered *offered = offered_at(in, in->offers_open);
        if (offered->transfer != transfer || offered->end > transfer->issued)
            return;
        in->offers_open++;
    }
}

void verbs_offers_end(struct verbs_receiver *in, const struct transfer *transfer)
{
    offers_close(in, transfer);
    if (in->offered_last == transfer)
        in->offered_last = NULL;
}

enum status verbs_segment_receive(struct verbs_receiver *in, struct transfer *transfer,
                                  size_t *bytes)
{
    const struct verbs_grants *grants = grants_of(&in->base);
    struct verbs_lane *lane = verbs_lane_of(&in->base);
    struct verbs_pair *pair = &lane->pairs[in->segments_taken % (uint32_t)lane->pair_count];
    *bytes = 0;
    if (pair->arrived_first == pair->arrived_last)
        return STATUS_OK;
    const struct verbs_offered *offered = offered_at(in, in->offers_open);
    uint32_t length = pair->arrived[verbs_ring_at(pair->arrived_first, grants->segments)];
    if (in->offers_open == in->offers_made || offered->transfer != transfer ||
        length > offered->end - transfer->issued || length > transfer->limit - transfer->issued)
        return verbs_too_long(&in->base);
    TRY(lane->direct ? verbs_flush(in->base.endpoint, transfer) : STATUS_OK);
    pair->arrived_first++;
    in->segments_taken++;
    *bytes = length;
    transfer->issued += length;
    transfer_advance(transfer, length);
    offers_close(in, transfer);
    return STATUS_OK;
}

/* Sender. */

static enum status offer_invalid(const struct verbs_sender *out)
{
    return fail_peer(REASON_PEER_INVALID, out->base.peer,
                     "rank %d offered memory in a way that does not follow the protocol (verbs): "
                     "check that all ranks run the same version of cctest",
                     out->base.peer);
}

/* An entry of this rank's ring, into which the peer writes. */
static struct verbs_offer *offer_entry(const struct verbs_sender *out, uint32_t number)
{
    const struct verbs_lane *lane = verbs_lane_of(&out->base);
    struct verbs_offer *ring = (struct verbs_offer *)(lane->block + verbs_offers_at());
    return &ring[verbs_ring_at(number, grants_of(&out->base)->offers)];
}

bool verbs_offer_take(struct verbs_sender *out, const struct transfer *transfer,
                      enum status *status)
{
    if (out->has_offer &&
        (out->offer.times == 0 || out->offer_at < out->offer.run * out->offer.times))
        return true;
    const struct verbs_lane *lane = verbs_lane_of(&out->base);
    const struct verbs_offer *next = offer_entry(out, out->offers_taken);
    out->has_offer = false;
    if (lane->in.polls ? verbs_word_read(&next->sequence) != out->offers_taken + 1
                       : out->offers_arrived == out->offers_taken)
        return false;
    memcpy(&out->offer, next, VERBS_OFFER_BYTES);
    const struct verbs_offer *offer = &out->offer;
    size_t left = transfer->length - transfer->issued;
    bool whole = offer->times == 0 && transfer->issued == 0;
    if (!whole &&
        (offer->times == 0 || offer->run == 0 || offer->run > left ||
         offer->times > left / offer->run || offer->times > VERBS_LIMIT_MOST / offer->run)) {
        *status = offer_invalid(out);
        return false;
    }
    out->offers_taken++;
    out->offer_at = 0;
    out->offer_limit = smaller(offer->first_limit, offer->run * offer->times);
    out->has_offer = true;
    return true;
}

/* Bytes of the present piece that both limits allow. */
static size_t segment_allowed(struct verbs_sender *out, const struct transfer *transfer)
{
    const struct verbs_offer *entry = offer_entry(out, out->offers_taken - 1);
    size_t whole = out->offer.run * out->offer.times;
    for (int i = 0; out->offer_limit < whole && i < VERBS_WORDS; i++) {
        uint64_t word;
        if (!verbs_word_value(verbs_word_read(&entry->limits[i]), &word))
            continue;
        size_t limit = smaller(word & VERBS_LIMIT_MOST, whole);
        if (word == limit_word(out->offers_taken, limit) && limit > out->offer_limit)
            out->offer_limit = limit;
    }
    return smaller(out->offer_limit - out->offer_at, transfer->limit - transfer->issued);
}

/* Limits of an offer do not outlast the next one in the entry: sequences come round. A NIC that
 * reorders may place an earlier limit of this offer after this; the end of the next clears it. */
static void offer_end(struct verbs_sender *out)
{
    struct verbs_offer *entry = offer_entry(out, out->offers_taken - 1);
    for (int i = 0; i < VERBS_WORDS; i++)
        verbs_word_clear(&entry->limits[i]);
}

/* Adds one WRITE of up to `most` bytes from staging. Returns its bytes; 0: staging is full. */
static size_t segment_pack(struct verbs_sender *out, struct verbs_pair *pair,
                           struct verbs_chain *chain, struct cursor *from, size_t most)
{
    char *room = verbs_staging_take(out, pair, pair->posted + (uint32_t)chain->count);
    if (!room)
        return 0;
    size_t bytes = smaller(most, verbs_slot_bytes(out, 1));
    cursor_gather(from, room, bytes);
    out->base.endpoint->traffic.copied_sending += bytes;
    const struct ibv_mr *staging = pair->lane->arena->mrs[pair->rail->index];
    verbs_chain_gather(chain, room, bytes, staging->lkey);
    return bytes;
}

/* The region of the next run, if the NIC is to gather it; NULL: it is to be packed. */
static const struct ibv_mr *segment_region(const struct verbs_pair *pair, const struct cursor *from,
                                           size_t most, size_t *run)
{
    const char *at = cursor_peek(from, most, run);
    if (*run < most && *run < GATHER_LEAST && !pair->lane->direct)
        return NULL;
    return verbs_region_find(pair->rail, at);
}

/* Adds one WRITE of up to `most` bytes, into one run of the peer. Returns its bytes; 0: no room. */
static size_t segment_write(struct verbs_sender *out, struct verbs_pair *pair,
                            struct verbs_chain *chain, struct cursor *from, size_t most)
{
    const struct verbs_offer *offer = &out->offer;
    size_t in_run = out->offer_at % offer->run, run, bytes = 0;
    uint64_t remote = offer->address + out->offer_at / offer->run * offer->stride + in_run;
    most = smaller(most, offer->run - in_run);
    const struct ibv_mr *region = segment_region(pair, from, most, &run);
    verbs_chain_add(chain, remote, offer->keys[pair->remote_rail]);
    if (!region)
        bytes = segment_pack(out, pair, chain, from, most);
    for (int i = 0; region && bytes < most && i < pair->gather_most; i++) {
        verbs_chain_gather(chain, cursor_peek(from, run, &run), run, region->lkey);
        cursor_advance(from, run);
        bytes += run;
        if (bytes < most)
            region = segment_region(pair, from, most - bytes, &run);
    }
    if (bytes == 0)
        verbs_chain_drop(chain);
    out->offer_at += bytes;
    return bytes;
}

static bool segment_has_room(struct verbs_sender *out)
{
    if (out->segments_sent - out->segments_credited >= out->grants.segments)
        verbs_credits_read(out);
    return out->segments_sent - out->segments_done < out->grants.segments &&
           out->segments_sent - out->segments_credited < out->grants.segments;
}

enum status verbs_segment_send(struct verbs_sender *out, struct transfer *transfer, size_t *bytes)
{
    struct verbs_lane *lane = verbs_lane_of(&out->base);
    struct verbs_pair *pair = &lane->pairs[out->segments_sent % (uint32_t)lane->pair_count];
    size_t most = smaller(segment_allowed(out, transfer),
                          transfer_turn(transfer, SEGMENT_LEAST, SEGMENT_MOST));
    uint32_t room = verbs_pair_room(pair);
    *bytes = 0;
    if (most == 0)
        return STATUS_OK;
    if (room <= VERBS_RESERVE + 1 || !segment_has_room(out)) {
        profile_starve(transfer->profile);
        return STATUS_OK;
    }
    room =
        room - VERBS_RESERVE - 1 < VERBS_CHAIN_MOST ? room - VERBS_RESERVE - 1 : VERBS_CHAIN_MOST;
    struct verbs_chain chain;
    chain.count = 0;
    profile_enter(transfer->profile, PROFILE_COPY);
    for (size_t more = 1; more > 0 && *bytes < most && (uint32_t)chain.count < room;) {
        more = segment_write(out, pair, &chain, &transfer->cursor, most - *bytes);
        *bytes += more;
    }
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    if (*bytes == 0)
        return STATUS_OK;
    if (out->offer_at == out->offer.run * out->offer.times)
        offer_end(out);
    struct verbs_segment *segment =
        &out->segments[verbs_ring_at(out->segments_sent, out->grants.segments)];
    *segment = (struct verbs_segment){.transfer = transfer, .bytes = *bytes};
    struct verbs_work work = {.segment_of = out, .segment = out->segments_sent++};
    transfer->issued += *bytes;
    pair->rail->bytes += *bytes;
    verbs_busy_begin(out);
    return verbs_pair_post(pair, &chain, VERBS_NOTICE_SEGMENT, *bytes, &work, true);
}
