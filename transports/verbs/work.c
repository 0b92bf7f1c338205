/*
 * work.c - work requests: posting them to queue pairs, and taking their completions.
 *
 * Most requests ask for no completion. A completion stands for all requests of its queue pair in
 * front of it, and without one the queue pair never has room again; so at least one in four of
 * its depth asks.
 */
#include "transports/verbs/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#define BATCH      16 /* completions taken in one call */
#define WAIT_POLLS 64 /* emulated (tests/rdma): longer than the answer to a short message takes */

/* Numbers of work requests: receives have this bit, and the number of their entry. */
#define IS_RECEIVE ((uint64_t)1 << 63)

/* Posting. */

static struct verbs_work *work_at(const struct verbs_pair *pair, uint64_t position)
{
    return &pair->work[position & (pair->depth - 1)];
}

enum status verbs_pair_post(struct verbs_pair *pair, struct verbs_chain *chain,
                            enum verbs_notice notice, size_t bytes, const struct verbs_work *work,
                            bool signals)
{
    uint32_t word = htonl((uint32_t)notice << 30 | (uint32_t)bytes);
    struct ibv_sge word_piece = {.addr = (uintptr_t)&word, .length = sizeof word};
    struct ibv_send_wr *last = &chain->writes[chain->count - 1], *bad;
    if (notice != VERBS_NO_NOTICE && pair->rail->port.iwarp) {
        last->next = last + 1;
        *++last = (struct ibv_send_wr){.opcode = IBV_WR_SEND,
                                       .sg_list = &word_piece,
                                       .num_sge = 1,
                                       .send_flags = IBV_SEND_INLINE};
        chain->count++;
    } else if (notice != VERBS_NO_NOTICE) {
        last->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        last->imm_data = word;
    }
    uint32_t count = (uint32_t)chain->count;
    for (uint32_t i = 0; i < count; i++) {
        chain->writes[i].wr_id = pair->posted + i;
        *work_at(pair, pair->posted + i) = (struct verbs_work){0};
    }
    if (work)
        *work_at(pair, pair->posted + count - 1) = *work;
    pair->unsignaled += count;
    if (work || signals || pair->unsignaled >= pair->depth / 4) {
        last->send_flags |= IBV_SEND_SIGNALED;
        pair->unsignaled = 0;
    }
    int error = ibv_post_send(pair->qp, chain->writes, &bad);
    if (error)
        return verbs_post_failed(pair, error);
    pair->posted += count;
    return STATUS_OK;
}

static enum status write_small(struct verbs_pair *pair, const void *data, size_t bytes,
                               uint64_t remote, enum verbs_notice notice, bool signals)
{
    struct verbs_chain chain;
    const struct verbs_sender *out = &pair->lane->out;
    chain.count = 0;
    struct ibv_send_wr *write =
        verbs_chain_add(&chain, remote, out->remote_keys[pair->remote_rail]);
    verbs_chain_gather(&chain, data, bytes, 0);
    write->send_flags = IBV_SEND_INLINE;
    return verbs_pair_post(pair, &chain, notice, 0, NULL, signals);
}

enum status verbs_pair_write_offer(struct verbs_pair *pair, const struct verbs_offer *offer,
                                   uint64_t remote, enum verbs_notice notice)
{
    return write_small(pair, offer, VERBS_OFFER_BYTES, remote, notice, false);
}

/* Half of the places ask for a completion, by which the other half becomes free, too. */
enum status verbs_pair_write_word(struct verbs_pair *pair, struct verbs_words *words,
                                  uint64_t value, uint64_t remote)
{
    size_t place = words->written % VERBS_WORDS;
    enum status status = write_small(pair, &value, sizeof value, remote + place * sizeof value,
                                     VERBS_NO_NOTICE, place % (VERBS_WORDS / 2) == 0);
    words->written++;
    words->positions[place] = pair->posted;
    return status;
}

enum status verbs_pair_greet(struct verbs_pair *pair)
{
    static const uint32_t word;
    struct ibv_sge piece = {.addr = (uintptr_t)&word, .length = sizeof word};
    struct ibv_send_wr send = {.wr_id = pair->posted,
                               .opcode = IBV_WR_SEND,
                               .sg_list = &piece,
                               .num_sge = 1,
                               .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED},
                       *bad;
    *work_at(pair, pair->posted) = (struct verbs_work){0};
    int error = ibv_post_send(pair->qp, &send, &bad);
    if (error)
        return verbs_post_failed(pair, error);
    pair->posted++;
    return STATUS_OK;
}

/* Receiving. */

/* Posts the entries of rail->due. */
static enum status receives_post(struct verbs_rail *rail)
{
    struct ibv_recv_wr receives[VERBS_RECEIVE_BATCH], *bad;
    struct ibv_sge rooms[VERBS_RECEIVE_BATCH];
    uint32_t count = rail->due_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = rail->due[i];
        rooms[i] = (struct ibv_sge){.addr = (uintptr_t)&rail->receive_room[entry],
                                    .length = sizeof *rail->receive_room,
                                    .lkey = rail->receive_mr ? rail->receive_mr->lkey : 0};
        receives[i] = (struct ibv_recv_wr){.wr_id = IS_RECEIVE | entry,
                                           .next = i + 1 < count ? &receives[i + 1] : NULL,
                                           .sg_list = &rooms[i],
                                           .num_sge = rail->receive_mr ? 1 : 0};
    }
    rail->due_count = 0;
    int error = ibv_post_srq_recv(rail->srq, receives, &bad);
    return error ? verbs_rail_failed(rail, "cannot post a receive", error) : STATUS_OK;
}

/* The entry is to be posted (again). Calls of the driver take longer than the rest of a short
 * message, so entries are posted together. */
static enum status receive_due(struct verbs_rail *rail, uint32_t entry)
{
    rail->due[rail->due_count++] = entry;
    return rail->due_count < rail->due_most ? STATUS_OK : receives_post(rail);
}

/* A rank that has waited a while posts what is more than half a batch, so that it need not when the
 * next completion has come. */
static enum status receives_post_early(struct verbs_rail *rail)
{
    bool waits = ++rail->vain_polls == WAIT_POLLS;
    return waits && rail->due_count > rail->due_most / 2 ? receives_post(rail) : STATUS_OK;
}

enum status verbs_rail_post_receives(struct verbs_rail *rail, uint32_t first, uint32_t count)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
        status = receive_due(rail, first + i);
    return status == STATUS_OK && rail->due_count > 0 ? receives_post(rail) : status;
}

/* Completions. */

static uint32_t hash(const struct verbs_rail *rail, uint32_t number)
{
    return number * 0x9e3779b1u >> 8 & rail->pairs_mask;
}

static struct verbs_pair *pair_find(const struct verbs_rail *rail, uint32_t number)
{
    uint32_t i = hash(rail, number);
    while (rail->pairs[i] && rail->pairs[i]->qp->qp_num != number)
        i = (i + 1) & rail->pairs_mask;
    return rail->pairs[i];
}

/* There is room. */
static void pair_place(struct verbs_rail *rail, struct verbs_pair *pair)
{
    uint32_t i = hash(rail, pair->qp->qp_num);
    while (rail->pairs[i])
        i = (i + 1) & rail->pairs_mask;
    rail->pairs[i] = pair;
}

/* At most half of the table is used. */
void verbs_rail_enter(struct verbs_rail *rail, struct verbs_pair *pair)
{
    if (2 * (rail->pair_count + 1) > rail->pairs_mask) {
        struct verbs_pair **old = rail->pairs;
        uint32_t size = old ? rail->pairs_mask + 1 : 0, more = size ? 2 * size : 64;
        rail->pairs = new_array(more, sizeof *rail->pairs);
        rail->pairs_mask = more - 1;
        for (uint32_t i = 0; i < size; i++)
            if (old[i])
                pair_place(rail, old[i]);
        free(old);
    }
    pair_place(rail, pair);
    rail->pair_count++;
}

/* The memory of a segment is free. Bytes are done in their order, whichever rail they took. */
static void segment_completed(struct verbs_sender *out, uint32_t number)
{
    out->segments[verbs_ring_at(number, out->grants.segments)].complete = true;
    while (out->segments_done != out->segments_sent) {
        struct verbs_segment *segment =
            &out->segments[verbs_ring_at(out->segments_done, out->grants.segments)];
        if (!segment->complete)
            return;
        transfer_advance(segment->transfer, segment->bytes);
        out->segments_done++;
    }
    verbs_busy_end(out);
}

/* All requests up to `position` are complete. */
static void pair_retire(struct verbs_pair *pair, uint64_t position)
{
    while (!verbs_pair_is_past(pair, position + 1)) {
        const struct verbs_work *work = work_at(pair, pair->retired++);
        if (work->segment_of)
            segment_completed(work->segment_of, work->segment);
    }
}

static enum status notice_invalid(const struct verbs_pair *pair)
{
    int peer = pair->lane->peer->rank;
    return fail_peer(REASON_PEER_INVALID, peer,
                     "rank %d sent a notice that does not follow the protocol (verbs, lane %d): "
                     "check that all ranks run the same version of cctest",
                     peer, pair->lane->number);
}

/* Takes a peer's notice. Everything is checked against what this rank granted. */
static enum status notice_take(struct verbs_pair *pair, uint32_t word)
{
    struct verbs_lane *lane = pair->lane;
    struct verbs_receiver *in = &lane->in;
    const struct verbs_grants *grants = &lane->grants;
    uint32_t bytes = word & VERBS_NOTICE_MOST;
    switch (word >> 30) {
    case VERBS_NOTICE_SLOT:
        if (in->slots_arrived - in->slots_taken >= grants->slots || bytes == 0 ||
            bytes > grants->slot_bytes)
            return notice_invalid(pair);
        in->slot_lengths[verbs_ring_at(in->slots_arrived++, grants->slots)] = bytes;
        return STATUS_OK;
    case VERBS_NOTICE_OFFER:
        if (lane->out.offers_arrived - lane->out.offers_taken >= grants->offers)
            return notice_invalid(pair);
        lane->out.offers_arrived++;
        return STATUS_OK;
    case VERBS_NOTICE_SEGMENT:
        if (pair->arrived_last - pair->arrived_first >= grants->segments || bytes == 0)
            return notice_invalid(pair);
        pair->arrived[verbs_ring_at(pair->arrived_last++, grants->segments)] = bytes;
        pair->rail->endpoint->segments_arrived++;
        return STATUS_OK;
    default:
        if (!pair->rail->port.iwarp || pair->greeted || bytes > 0)
            return notice_invalid(pair);
        pair->greeted = true;
        return STATUS_OK;
    }
}

static enum status completion_take(struct verbs_rail *rail, const struct ibv_wc *completion,
                                   uint64_t now)
{
    struct verbs_pair *pair = pair_find(rail, completion->qp_num);
    if (completion->status != IBV_WC_SUCCESS)
        return verbs_completion_failed(rail, pair, completion);
    if (!pair)
        return STATUS_OK;
    pair->last_success = now;
    if (!(completion->wr_id & IS_RECEIVE)) {
        pair_retire(pair, completion->wr_id);
        return STATUS_OK;
    }
    uint32_t entry = (uint32_t)completion->wr_id;
    uint32_t word =
        completion->wc_flags & IBV_WC_WITH_IMM ? completion->imm_data : rail->receive_room[entry];
    TRY(receive_due(rail, entry));
    return notice_take(pair, ntohl(word));
}

enum status verbs_rail_poll(struct verbs_rail *rail)
{
    struct ibv_wc completions[BATCH];
    enum status status = STATUS_OK;
    for (int count = BATCH; status == STATUS_OK && count == BATCH;) {
        count = ibv_poll_cq(rail->cq, BATCH, completions);
        if (count < 0)
            return verbs_rail_failed(rail, "cannot poll its completion queue", EIO);
        if (count == 0)
            return receives_post_early(rail);
        rail->vain_polls = 0;
        uint64_t now = clock_coarse_ns();
        for (int i = 0; status == STATUS_OK && i < count; i++)
            status = completion_take(rail, &completions[i], now);
    }
    return status;
}
