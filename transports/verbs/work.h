/*
 * work.h - work requests: posting them to queue pairs, and taking their completions.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_WORK_H
#define CCTEST_TRANSPORTS_VERBS_WORK_H

#include "transports/verbs/verbs.h"

/* Requests that data leaves free, so that credits, offers and limits find room. */
#define VERBS_RESERVE 4

#define VERBS_RECEIVES_LEAST 8192 /* of a shared receive queue, if the device has so many */
#define VERBS_SENDS_LEAST    4096 /* completions of sends that a completion queue has room for */

/* About the bytes of queues with so many entries: as mlx5 has them, with requests of 256 bytes
 * inline. */
static inline size_t verbs_queue_bytes(size_t requests, size_t receives, size_t completions)
{
    return 320 * requests + 32 * receives + 64 * completions;
}

/* What a notification tells the receiver: 2 bits of kind, 30 of a number of bytes. */
enum verbs_notice {
    VERBS_NO_NOTICE,      /* sent: the first message over a connection of iWARP */
    VERBS_NOTICE_SLOT,    /* the next slot holds so many bytes */
    VERBS_NOTICE_OFFER,   /* the next offer has been written */
    VERBS_NOTICE_SEGMENT, /* a segment of so many bytes has been written */
};
#define VERBS_NOTICE_MOST ((1u << 30) - 1) /* bytes of a slot or segment */

#define VERBS_CHAIN_MOST 16 /* WRITEs in one post */

/* WRITEs that are posted together. */
struct verbs_chain {
    int count;
    struct ibv_send_wr writes[VERBS_CHAIN_MOST + 1]; /* and the SEND of a notice */
    struct ibv_sge pieces[VERBS_CHAIN_MOST][VERBS_GATHER_MOST];
};

/* Work requests that the queue pair takes now. */
static inline uint32_t verbs_pair_room(const struct verbs_pair *pair)
{
    return pair->depth - (uint32_t)(pair->posted - pair->retired);
}

/* Are all requests in front of `position` complete? */
static inline bool verbs_pair_is_past(const struct verbs_pair *pair, uint64_t position)
{
    return pair->retired >= position;
}

/* Adds a WRITE without pieces yet, to `remote` in memory with the key `key`. */
static inline struct ibv_send_wr *verbs_chain_add(struct verbs_chain *chain, uint64_t remote,
                                                  uint32_t key)
{
    struct ibv_send_wr *write = &chain->writes[chain->count];
    /* Field by field: to clear all 128 bytes takes longer than the rest of a short message. */
    write->next = NULL;
    write->sg_list = chain->pieces[chain->count];
    write->num_sge = 0;
    write->opcode = IBV_WR_RDMA_WRITE;
    write->send_flags = 0;
    write->wr.rdma.remote_addr = remote;
    write->wr.rdma.rkey = key;
    if (chain->count > 0)
        write[-1].next = write;
    chain->count++;
    return write;
}

/* Adds a piece of local memory to the last WRITE. */
static inline void verbs_chain_gather(struct verbs_chain *chain, const void *address, size_t bytes,
                                      uint32_t key)
{
    struct ibv_send_wr *write = &chain->writes[chain->count - 1];
    write->sg_list[write->num_sge++] =
        (struct ibv_sge){.addr = (uintptr_t)address, .length = (uint32_t)bytes, .lkey = key};
}

/* Takes away the last WRITE. */
static inline void verbs_chain_drop(struct verbs_chain *chain)
{
    if (--chain->count > 0)
        chain->writes[chain->count - 1].next = NULL;
}

/* Posts a chain, for which there is room (one request more than WRITEs for a notice). A completion
 * tells when all of it is complete, if `work` is set (copied) or `signals`; and now and then by
 * itself. Errors: the device refuses the request. */
enum status verbs_pair_post(struct verbs_pair *pair, struct verbs_chain *chain,
                            enum verbs_notice notice, size_t bytes, const struct verbs_work *work,
                            bool signals);

/* Posts an offer, which the caller may overwrite at once. There is room for two requests. */
enum status verbs_pair_write_offer(struct verbs_pair *pair, const struct verbs_offer *offer,
                                   uint64_t remote, enum verbs_notice notice);

/* Is the next place of a word that changes free? */
static inline bool verbs_words_are_free(const struct verbs_pair *pair,
                                        const struct verbs_words *words)
{
    return words->written < VERBS_WORDS ||
           verbs_pair_is_past(pair, words->positions[words->written % VERBS_WORDS]);
}

/* Posts a new value of such a word, whose places begin at `remote`. There is room, and the next
 * place is free. */
enum status verbs_pair_write_word(struct verbs_pair *pair, struct verbs_words *words,
                                  uint64_t value, uint64_t remote);

/* Posts the first message of the end that has connected, for which iWARP's other end waits. */
enum status verbs_pair_greet(struct verbs_pair *pair);

/* Takes the completions of a rail. */
enum status verbs_rail_poll(struct verbs_rail *rail);

/* Posts the entries [first, first + count) of the rail's receive queue. */
enum status verbs_rail_post_receives(struct verbs_rail *rail, uint32_t first, uint32_t count);

/* Enters a queue pair into the rail's table; false: out of memory. */
bool verbs_rail_enter(struct verbs_rail *rail, struct verbs_pair *pair);

#endif
