/*
 * internal.h - for the files of transports/verbs/ alone.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_INTERNAL_H
#define CCTEST_TRANSPORTS_VERBS_INTERNAL_H

#include <sys/socket.h>

#include "transports/verbs/verbs.h"

/* ---- How a rail is addressed, and whether the rails of two ranks reach each other. ---- */

/* Bytes of an MTU; 0: it is none. */
static inline int verbs_mtu_bytes(unsigned mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

/* The MTU that mtu= asks for; else `otherwise`. */
static inline enum ibv_mtu verbs_mtu_asked(const struct transport_setting *settings,
                                           enum ibv_mtu otherwise)
{
    return settings[VERBS_MTU].given ? (enum ibv_mtu)(IBV_MTU_256 + settings[VERBS_MTU].number)
                                     : otherwise;
}

/* Chooses the GID and the P_Key of an open rail, and fills rail->port. False: `reason`. */
bool verbs_rail_address(struct verbs_rail *rail, const struct transport_setting *settings,
                        char *reason);

size_t verbs_address_encode(const struct verbs_address *address, void *blob);
bool verbs_address_decode(const void *blob, size_t size, struct verbs_address *address);

/* NULL if the rail reaches `port` of a rank on `host`. Else why not, written into `reason` with the
 * values of both ends. */
const char *verbs_port_compare(const struct verbs_rail *rail, const struct verbs_port *port,
                               const char *host, const struct transport_setting *settings,
                               char *reason);

/* A GID of the port by its number: 0 is port->gid, the others follow. */
union ibv_gid verbs_port_gid(const struct verbs_port *port, int number);

/* By which GIDs, by number, the rail and the peer's port reach each other. Both ends find the same,
 * since it follows from the two ports alone. A port whose GID is given (gid=) has no other. Notes
 * which one the rail uses. */
void verbs_port_meet(struct verbs_rail *rail, const struct verbs_port *port, int *own, int *theirs);

/* The address of the peer's port for a queue pair of the rail, and its MTU. Notes which address of
 * the rail it uses. */
void verbs_port_route(struct verbs_rail *rail, const struct verbs_port *port,
                      const struct transport_setting *settings, struct ibv_qp_attr *attr);

/* ---- The registered memory of a lane: credit line, offers, slots, staging. ---- */

/* The end of a slot, where the receiver polls: the bytes of the message, and the number of the
 * slot's use from 1. The number lies behind all else: Soft-RoCE may copy a word byte by byte. */
struct verbs_trailer {
    uint64_t word; /* bytes (low 32 bits) | number (high 32) */
};

/* The place of a number in a ring of `count` entries, a power of two. */
static inline uint32_t verbs_ring_at(uint32_t number, uint32_t count)
{
    return number & (count - 1);
}

#define VERBS_ALIGNMENT 16 /* of the bytes in a slot: of an element of any type */

/* Bytes from slot to slot. */
static inline size_t verbs_slot_stride(const struct verbs_grants *grants)
{
    return (grants->slot_bytes + VERBS_ALIGNMENT + sizeof(struct verbs_trailer) + 63) / 64 * 64;
}

static inline size_t verbs_trailer_at(const struct verbs_grants *grants)
{
    return verbs_slot_stride(grants) - sizeof(struct verbs_trailer);
}

/* Where in a slot `bytes` bytes begin: close in front of the trailer, so that one WRITE carries
 * both. */
static inline size_t verbs_payload_at(const struct verbs_grants *grants, size_t bytes)
{
    return (verbs_trailer_at(grants) - bytes) / VERBS_ALIGNMENT * VERBS_ALIGNMENT;
}

static inline size_t verbs_offers_at(void)
{
    return VERBS_CREDITS;
}

static inline size_t verbs_slots_at(const struct verbs_grants *grants)
{
    return VERBS_CREDITS + grants->offers * sizeof(struct verbs_offer);
}

static inline size_t verbs_staging_at(const struct verbs_grants *grants)
{
    return verbs_slots_at(grants) + grants->slots * verbs_slot_stride(grants);
}

static inline size_t verbs_block_bytes(const struct verbs_grants *grants)
{
    return verbs_staging_at(grants) + grants->slots * verbs_slot_stride(grants);
}

/* A value of 48 bits as a word that a peer writes, with 16 bits that check it: a NIC places 8
 * aligned bytes at once, but Soft-RoCE copies them one by one. A word of 0 holds nothing. */
static inline uint64_t verbs_word_check(uint64_t value)
{
    return (value + 1) * 0x9e3779b97f4a7c15u >> 48 << 48;
}

static inline uint64_t verbs_word_of(uint64_t value)
{
    return verbs_word_check(value) | value;
}

/* False: it holds nothing, or is not whole yet. */
static inline bool verbs_word_value(uint64_t word, uint64_t *value)
{
    *value = word & (((uint64_t)1 << 48) - 1);
    return word != 0 && word == verbs_word_of(*value);
}

/* Reads a word that a NIC writes: what was written before it by the same WRITE is visible. */
static inline uint64_t verbs_word_read(const void *at)
{
    return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* Empties a word that a NIC may write at the same time. */
static inline void verbs_word_clear(uint64_t *at)
{
    __atomic_store_n(at, 0, __ATOMIC_RELAXED);
}

/* ---- The data path of verbs: which way a message goes. ---- */

/* Moves what the channel's transfers can move now. */
enum status verbs_send_progress(struct verbs_sender *out);
enum status verbs_receive_progress(struct verbs_receiver *in);

/* ---- Makes the lanes between this rank and its peers. ---- */

/* transport->connect; calls config.exchange twice. */
enum status verbs_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* Destroys the queue pairs of a peer and frees its lanes. */
void verbs_disconnect(struct verbs_peer *peer);

/* ---- The hooks of the transport that tell of its NICs: their facts and their counters. ---- */

struct endpoint;

void verbs_devices(struct device_list *list);
void verbs_endpoint_devices(const struct endpoint *endpoint, struct device_list *list);
struct meter *verbs_device_meter(const char *device);
uint64_t verbs_device_sent(const struct endpoint *base, const char *device);

/* ---- Short messages, each whole in one slot. ---- */

/* transport->eager_most and transport->eager_move. */
size_t verbs_eager_most(const struct channel *base);
enum status verbs_eager_move(struct channel *base, const struct transfer *transfer, bool *moved);

/* ---- Failures of the device, of a queue pair or of a port, as sentences for the user. ---- */

/* ibv_post_send() returned `error`, an errno, negative for some providers. */
enum status verbs_post_failed(const struct verbs_pair *pair, int error);

/* A call on the rail failed with an errno: "cannot ...". */
enum status verbs_rail_failed(const struct verbs_rail *rail, const char *what, int error);

/* A completion that is not a success; `pair` NULL: of a queue pair that is not known. A flushed
 * request is a consequence: the cause is told by the first error of the queue pair, or by an
 * event. STATUS_OK: nothing to tell yet. */
enum status verbs_completion_failed(struct verbs_rail *rail, struct verbs_pair *pair,
                                    const struct ibv_wc *completion);

/* Reads the asynchronous events of the rail; never blocks. */
enum status verbs_rail_check(struct verbs_rail *rail);

/* ---- lane.c ---- */

/* New queue pairs of a rail, and how many of them are the first of their lane: these take slots and
 * offers, too. */
struct verbs_demand {
    uint32_t pairs, firsts;
};

/* For `lanes` new lanes, with these demands by rail: as much as is fast, within what is left of
 * this rank's share of the host's memory for slots, within `memory` bytes (verbs_memory_share()),
 * and within the receives that its NICs have left.
 * --slots (rounded down to a power of two) and --slot-size prevail. */
struct verbs_grants verbs_grants_choose(const struct verbs_endpoint *endpoint, size_t lanes,
                                        const struct verbs_demand *demands, size_t memory);

#define VERBS_MEMORY_PART 4 /* of what is available, for the slots of all ranks here */

/* Bytes of slots that fit into this rank's part of the memory that is available now. */
size_t verbs_memory_share(const struct verbs_endpoint *endpoint);

/* Receives that they may take at a time. */
size_t verbs_grants_receives(const struct verbs_grants *grants, const struct verbs_demand *demand);

/* May a peer grant this? */
bool verbs_grants_valid(const struct verbs_grants *grants);

/* ---- Work requests: posting them to queue pairs, and taking their completions. ---- */

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

/* The word of a notification to the receiver: 2 bits of kind, 30 of a number of bytes. */
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

/* Enters a queue pair into the rail's table. */
void verbs_rail_enter(struct verbs_rail *rail, struct verbs_pair *pair);

/* ---- lane.c ---- */

/* By the length, --copy and lane->direct, which both ends know. */
bool verbs_is_zcopy(const struct channel *channel, size_t length);

/* The lane that a channel belongs to, and the queue pair for slots, credits and offers. */
static inline struct verbs_lane *verbs_lane_of(const struct channel *channel)
{
    size_t offset = channel->sends ? offsetof(struct verbs_lane, out.base)
                                   : offsetof(struct verbs_lane, in.base);
    return (struct verbs_lane *)((uintptr_t)channel - offset);
}

static inline struct verbs_pair *verbs_pair_of(const struct channel *channel)
{
    return &verbs_lane_of(channel)->pairs[0];
}

/* Is there room to post offers and limits, and credits too? */
static inline bool verbs_has_control_room(const struct channel *channel)
{
    return verbs_pair_room(verbs_pair_of(channel)) >= VERBS_RESERVE;
}

static inline bool verbs_has_credit_room(const struct verbs_receiver *in)
{
    return verbs_has_control_room(&in->base) &&
           verbs_words_are_free(verbs_pair_of(&in->base), &in->credits);
}

/* Sender: reads the credits that the peer has written. */
void verbs_credits_read(struct verbs_sender *out);

/* Tells the sender what has been taken. There is room. */
enum status verbs_credits_write(struct verbs_receiver *in);

/* The same, if that is half of what was granted. */
static inline enum status verbs_credits_return(struct verbs_receiver *in)
{
    const struct verbs_grants *grants = &verbs_lane_of(&in->base)->grants;
    uint32_t slots = in->slots_taken - in->slots_returned;
    uint32_t segments = in->segments_taken - in->segments_returned;
    bool due = slots >= (grants->slots + 1) / 2 || segments >= (grants->segments + 1) / 2;
    return due ? verbs_credits_write(in) : STATUS_OK;
}

/* Tells the sender all that has been taken, if the receiver is idle. */
enum status verbs_credits_return_rest(struct verbs_receiver *in);

/* Bytes of a message that fit into a slot at both ends: whole elements. */
size_t verbs_slot_bytes(const struct verbs_sender *out, size_t element);

/* Is the next staging slot free? */
static inline bool verbs_staging_is_free(const struct verbs_sender *out)
{
    const struct verbs_grants *grants = &verbs_lane_of(&out->base)->grants;
    const struct verbs_staged *staged =
        &out->staged[verbs_ring_at(out->staging_next, grants->slots)];
    return !staged->pair || verbs_pair_is_past(staged->pair, staged->position);
}

/* A staging slot, in use until the pair's requests in front of `position` are complete; NULL: the
 * next one is in use still. */
char *verbs_staging_take(struct verbs_sender *out, const struct verbs_pair *pair,
                         uint64_t position);

/* Fails: the peer sent a longer message than this rank expects. */
enum status verbs_too_long(const struct channel *channel);

/* ---- Where a rail listens for the requests of librdmacm, and its addresses there. ---- */

#define VERBS_CM_ADVICE                                                                            \
    "load rdma_ucm, and give this user or container access to /dev/infiniband/rdma_cm"

/* The IP address that GID `number` of the port stands for, with this port number. `scope`: as in
 * struct verbs_rail. */
struct sockaddr_storage verbs_cm_address(const struct verbs_port *port, int number,
                                         uint16_t port_number, uint32_t scope);

/* Listens at each address of the rail, at one port number, and sets its cm_port. Forgets further
 * addresses where it cannot listen. STATUS_UNAVAILABLE: not at the first, for `reason`. */
enum status verbs_listen(struct verbs_rail *rail, char *reason);
void verbs_listen_end(struct verbs_rail *rail);

/* ---- Which NIC ports a rank uses. ---- */

/* Opens the ports that the option nic names, or the nearest one that is usable; ranks of a host
 * share equally near ones. STATUS_UNAVAILABLE: `reason` says why (TRANSPORT_REASON_MOST bytes). */
enum status verbs_nics_open(struct verbs_endpoint *endpoint, char *reason);

/* ---- pair.c ---- */

/* Work requests of each of the `pairs` queue pairs on a rail: its memory is this rank's. */
uint32_t verbs_pair_depth(uint32_t pairs);

/* The limits of a queue pair. */
struct verbs_pair_limits {
    uint32_t depth;       /* work requests: as asked */
    uint32_t inline_most; /* bytes of one: as many as the device accepts, */
    int gather_most;      /* and pieces */
};

/* Tries to create a queue pair on rail->cq and rail->srq. NULL: errno says why not. */
struct ibv_qp *verbs_pair_try(const struct verbs_rail *rail, struct verbs_pair_limits *limits);

/* Creates a queue pair of `depth` work requests on pair->rail, in the state INIT. */
enum status verbs_pair_create(struct verbs_pair *pair, uint32_t depth);

/* Connects it to pair->remote_number: it receives and sends then. May block while the address of
 * the peer is looked up; ticks between attempts. */
enum status verbs_pair_connect(struct verbs_pair *pair);

/* Does the NIC promise that the bytes of a WRITE land in their order? */
bool verbs_pair_keeps_order(const struct verbs_pair *pair);

/* Does this rank poll the slots that the peer writes over this queue pair (poll=memory), or its
 * completion queue? */
bool verbs_pair_polls_memory(const struct verbs_pair *pair);

#define VERBS_RNR_RETRIES 6 /* how often a message that finds no receive is sent again */

/* Changes its state to attr->qp_state, as librdmacm has found it out, but with the retries of this
 * job and what options ask for. */
enum status verbs_pair_change(struct verbs_pair *pair, struct ibv_qp_attr *attr, int mask);

/* Destroys it; one that was not created is allowed. */
void verbs_pair_destroy(struct verbs_pair *pair);

/* ---- The queue pairs to a peer. ---- */

/* The queue pair behind `pair`, in the order of lanes and paths; of NULL: the first. NULL: there is
 * none. */
static inline struct verbs_pair *verbs_peer_next(const struct verbs_peer *peer,
                                                 const struct verbs_pair *pair)
{
    int lane = pair ? pair->lane->number : 0, path = pair ? pair->path + 1 : 0;
    while (lane < peer->lane_count && path >= peer->lanes[lane]->pair_count) {
        lane++;
        path = 0;
    }
    return lane < peer->lane_count ? &peer->lanes[lane]->pairs[path] : NULL;
}

/* ---- Whether a NIC has what the transport needs: queue pairs of the kind RC, with a shared
 * receive queue.
 * ---- */

/* Creates and destroys one of each on an open rail. False: the NIC cannot serve, for `reason`
 * (TRANSPORT_REASON_MOST bytes). */
bool verbs_rail_probe(const struct verbs_rail *rail, char *reason);

/* ---- What two ranks prove to each other when librdmacm connects a queue pair of theirs.
 *
 * A proof is a hash of what the connection is for, of both ranks' nonces and of its direction,
 * keyed with the job's secret: it opens no other queue pair, and none of another job.
 * ---- */

#define VERBS_ANSWER_BYTES  32        /* the proof */
#define VERBS_REQUEST_BYTES (16 + 32) /* which queue pair, and the proof; InfiniBand carries 56 */

/* Does this rank connect to the peer of the queue pair, and not the peer to this rank? */
bool verbs_rank_connects(const struct verbs_pair *pair);

/* The request of the rank that connects. */
void verbs_request_encode(const struct verbs_pair *pair,
                          unsigned char request[VERBS_REQUEST_BYTES]);

/* The queue pair on this rail that a request of `size` bytes is for, and which has no connection
 * yet; NULL: no rank of this job sent it. */
struct verbs_pair *verbs_request_find(const struct verbs_rail *rail, const unsigned char *request,
                                      size_t size);

/* The answer of the other rank. */
void verbs_answer_encode(const struct verbs_pair *pair, unsigned char answer[VERBS_ANSWER_BYTES]);

/* Is it the answer of the peer's rank? */
bool verbs_answer_holds(const struct verbs_pair *pair, const unsigned char *answer, size_t size);

/* ---- rail.c ---- */

/* Opens a port. False: it cannot be used, for `reason` (TRANSPORT_REASON_MOST bytes); the rail is
 * to be closed even so. */
bool verbs_rail_open(struct verbs_rail *rail, struct verbs_endpoint *endpoint,
                     const struct verbs_nic *nic, char *reason);

/* Makes the queues of completions and receives, if they do not exist, and posts `receives` more
 * receives, for queue pairs of `sends` more requests together. */
enum status verbs_rail_prepare(struct verbs_rail *rail, uint32_t receives, uint32_t sends);

/* About the bytes of all its queues. */
size_t verbs_rail_queue_bytes(const struct verbs_rail *rail);

/* Frees everything but what a thread that hangs in the driver still uses; its queue pairs are
 * destroyed. */
void verbs_rail_close(struct verbs_rail *rail);

/* ---- Connects queue pairs through librdmacm (connect=rdmacm). ---- */

/* Does nothing unless the option or an iWARP rail asks for librdmacm. Else listens on each open
 * rail, and sets the cm_port of each. STATUS_UNAVAILABLE: it cannot, for `reason`. */
enum status verbs_cm_open(struct verbs_endpoint *endpoint, char *reason);

/* Connects all queue pairs to these peers that are not connected yet. They are in the state INIT at
 * both ends. Blocks, and ticks. */
enum status verbs_cm_connect(struct verbs_endpoint *endpoint, const int *peers, int count);

/* iWARP: the end that connected each of these queue pairs sends the first message, and the other
 * one waits for it. Called when both know that they are connected: siw overlooks an earlier one. */
enum status verbs_cm_greet(struct verbs_endpoint *endpoint, const int *peers, int count);

/* No queue pair will be connected any more: stops listening. */
void verbs_cm_settle(struct verbs_endpoint *endpoint);

/* Frees the connection of a queue pair, which is destroyed already. */
void verbs_cm_disconnect(struct verbs_pair *pair);

/* Frees the rest, once all connections are freed. */
void verbs_cm_close(struct verbs_endpoint *endpoint);

/* ---- Why this rank cannot use verbs, and what to do. ---- */

#define VERBS_NO_DEVICE                                                                            \
    "this host has no RDMA device: load the driver of its NIC (such as mlx5_ib), or use another "  \
    "transport"

/* All write one clause into `reason` (TRANSPORT_REASON_MOST bytes). */

/* The library finds no device. */
void verbs_refuse_host(char *reason);

/* The device cannot be opened: `error`, an errno. */
void verbs_refuse_device(const struct verbs_rail *rail, int error, char *reason);
/* The port is not active. */
void verbs_refuse_port(const struct verbs_rail *rail, char *reason);

/* The device creates no queue of a kind that verbs needs: `error`, an errno. */
void verbs_refuse_queue(const struct verbs_rail *rail, const char *what, int error, char *reason);

/* No NIC port is `asked`. The reason lists the ports that there are, and the nearest name. */
void verbs_refuse_name(const struct verbs_nic *nics, int count, const struct verbs_nic_name *asked,
                       char *reason);

/* The limit of locked memory leaves no room for the buffers, once for each rail, for its queues,
 * and for the slots of a peer, of all ranks of this process. False: it leaves room, as far as can
 * be known before ranks connect. */
bool verbs_refuse_memory(const struct verbs_endpoint *endpoint, char *reason);

/* The limit of locked memory, and what to do so that each rank can register `bytes`: the limit is
 * that of a process, whose ranks may be several. Returns `text`. */
#define VERBS_MEMORY_ADVICE_MOST 320
const char *verbs_memory_advice(const struct verbs_endpoint *endpoint, size_t bytes,
                                char text[VERBS_MEMORY_ADVICE_MOST]);

/* ---- The memory that NICs reach: registers it, and finds what was registered. ---- */

/* Does the driver of the NIC import dmabufs? Leaves nothing behind. */
bool verbs_imports_dmabuf(struct ibv_pd *pd);

/* Chooses how the rails, which are open, reach the regions that no CPU reads: endpoint->gdr. By the
 * option gdr, else the first way that works for all rails and all kinds of memory.
 * STATUS_UNAVAILABLE: the rank lacks what the option asks for: `reason` (TRANSPORT_REASON_MOST
 * bytes). */
enum status verbs_gdr_choose(struct verbs_endpoint *endpoint, char *reason);

bool verbs_reaches(const struct endpoint *base, const struct memory_kind *kind, char *reason);

/* Has this rank memory that no CPU reads and its NICs reach? */
static inline bool verbs_is_direct(const struct verbs_endpoint *endpoint)
{
    return endpoint->gdr == VERBS_GDR_DMABUF || endpoint->gdr == VERBS_GDR_PEERMEM;
}

/* Registers the endpoint's regions on all rails, once, unless --copy bcopy needs none. */
enum status verbs_regions_register(struct verbs_endpoint *endpoint);
void verbs_regions_deregister(struct verbs_rail *rail);

/* Registers [address, address + bytes) of host memory. NULL: it failed; the failure is recorded. */
struct ibv_mr *verbs_register(struct verbs_rail *rail, void *address, size_t bytes, int access);
/* For writes of peers that this rank polls, so without relaxed ordering. */
struct ibv_mr *verbs_register_polled(struct verbs_rail *rail, void *address, size_t bytes);

/* The registered region of this rank that holds `address`; NULL: none. */
const struct ibv_mr *verbs_region_find(const struct verbs_rail *rail, const void *address);

/* Fails if nobody can move the transfer: it lies in memory that no CPU reads, and it goes through
 * slots, or the NICs do not reach that memory. Looks at it when it begins. */
enum status verbs_unreached_fail(const struct channel *channel, const struct transfer *transfer);
static inline enum status verbs_require_reach(const struct channel *channel,
                                              const struct transfer *transfer, bool by_slots)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)channel->endpoint;
    if (endpoint->gdr == VERBS_GDR_AUTO || transfer->issued > 0 ||
        (verbs_is_direct(endpoint) && !by_slots))
        return STATUS_OK;
    return verbs_unreached_fail(channel, transfer);
}

/* Makes the segments of the transfer that have arrived visible: once for all that came together. */
enum status verbs_flush(struct endpoint *base, const struct transfer *transfer);

/* ---- Short messages, and messages that are combined: through the receiver's slots. ---- */

/* Is there room to send a slot? If not, completions or credits may bring it. */
static inline bool verbs_slot_is_free(struct verbs_sender *out)
{
    if (out->slots_sent - out->slots_credited >= out->grants.slots)
        verbs_credits_read(out);
    return out->slots_sent - out->slots_credited < out->grants.slots &&
           verbs_pair_room(verbs_pair_of(&out->base)) > VERBS_RESERVE + 2 &&
           verbs_staging_is_free(out);
}

/* Sends `bytes` bytes of the message at `from` (at most a slot, not 0), and advances. A slot is
 * free. */
enum status verbs_slot_send(struct verbs_sender *out, struct cursor *from, size_t bytes);

/* Receiver: the next slot is the one that slots_taken says. */
static inline void verbs_slot_await(struct verbs_receiver *in)
{
    const struct verbs_lane *lane = verbs_lane_of(&in->base);
    const struct verbs_grants *grants = &lane->grants;
    in->slot = lane->block + verbs_slots_at(grants) +
               verbs_ring_at(in->slots_taken, grants->slots) * verbs_slot_stride(grants);
    in->trailer = in->slot + verbs_trailer_at(grants);
}

/* Has the next slot arrived? */
static inline bool verbs_slot_is_there(const struct verbs_receiver *in)
{
    return in->polls ? verbs_word_read(in->trailer) >> 32 == in->slots_taken + 1
                     : in->slots_arrived != in->slots_taken;
}

/* The bytes of the next slot, which has arrived: *bytes of them. NULL: no slot holds so many, or
 * none. */
static inline const char *verbs_slot_arrived(const struct verbs_receiver *in, size_t *bytes)
{
    const struct verbs_grants *grants = &verbs_lane_of(&in->base)->grants;
    *bytes = in->polls ? (uint32_t)verbs_word_read(in->trailer)
                       : in->slot_lengths[verbs_ring_at(in->slots_taken, grants->slots)];
    bool valid = *bytes > 0 && *bytes <= grants->slot_bytes;
    return valid ? in->slot + verbs_payload_at(grants, *bytes) : NULL;
}

/* The next slot is taken. There was room for its credit when it began (internal.h), and none has
 * been written since. */
static inline enum status verbs_slot_taken(struct verbs_receiver *in)
{
    in->slots_taken++;
    verbs_slot_await(in);
    return verbs_credits_return(in);
}

/* ---- What a lane waited for, and what it does while nothing moves. ---- */

/* Segments are in flight from here on, or none is any more. */
void verbs_busy_begin(struct verbs_sender *out);
void verbs_busy_end(struct verbs_sender *out);

/* A visit of a receiving channel has moved bytes, or not. */
void verbs_starve_note(struct verbs_receiver *in, bool moved);

/* transport->wait_stats and transport->idle_report. */
void verbs_wait_stats(const struct channel *base, struct wait_stats *wait_stats);
void verbs_idle_report(const struct endpoint *base, struct idle_report *idle);

/* Called now and then while nothing moves: notes which queue pairs make no progress. */
void verbs_stalls_note(struct verbs_endpoint *endpoint);

/* ---- Long messages: offers by the receiver, segments that the sender writes into place. ---- */

/* Does the receiver let this message of the zcopy path come through slots? */
bool verbs_takes_slots(const struct channel *channel, const struct transfer *transfer);

/* Offers the memory of posted transfers, as far as the ring of offers goes, and tells the sender
 * how far limits have moved. */
enum status verbs_offers_make(struct verbs_receiver *in);

/* All of the transfer has come. */
void verbs_offers_end(struct verbs_receiver *in, const struct transfer *transfer);

/* Takes the next segment. *bytes: its length; 0: none has come. */
enum status verbs_segment_receive(struct verbs_receiver *in, struct transfer *transfer,
                                  size_t *bytes);

/* Sender: is there an offer for the next byte of the transfer, in out->offer? */
bool verbs_offer_take(struct verbs_sender *out, const struct transfer *transfer,
                      enum status *status);

/* Writes the next segment. *bytes: its length; 0: no room, or a limit. */
enum status verbs_segment_send(struct verbs_sender *out, struct transfer *transfer, size_t *bytes);

#endif
