/*
 * rdmacm.c - connects queue pairs through librdmacm, which finds the way between two NICs by their
 * IP addresses (connect=rdmacm). iWARP has no other way.
 *
 * Each rank listens on each of its rails (listener.c). Of two ranks the higher one connects to the
 * lower, with one connection for each queue pair:
 *
 *     higher rank                              lower rank
 *     address and route are found
 *     request: whose, which lane, proof     -> checks it; its queue pair is made ready
 *     checks it; its queue pair is ready    <- answer: proof
 *     establishes the connection            -> the connection is established
 *     (both have told each other so, over the control plane)
 *     iWARP: sends the first message        -> receives it
 *
 * A request that no rank of this job can have made is rejected and counted. So is a copy of one:
 * the ranks have exchanged the numbers of their queue pairs over the control plane.
 *
 * librdmacm opens devices itself, so it does not know queue pairs of the transport's own context.
 * This file changes their states, as rdma_init_qp_attr() says.
 */
#include "transports/verbs/internal.h"

#include "base/log.h"
#include "transports/verbs/library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The proof that two ranks exchange when librdmacm connects a queue pair of theirs.
 */
#define SECRET_BYTES 32
#define PROOF_BYTES  VERBS_ANSWER_BYTES

enum verbs_role { ROLE_REQUESTS, ROLE_ANSWERS };

/* The queue pair that a request is for, in network order. */
struct pair_claim {
    uint32_t from, to; /* ranks */
    uint32_t lane, path;
};
_Static_assert(sizeof(struct pair_claim) + PROOF_BYTES == VERBS_REQUEST_BYTES, "it is a request");

bool verbs_rank_connects(const struct verbs_pair *pair)
{
    return pair->rail->endpoint->base.config.rank > pair->lane->peer->rank;
}

static struct pair_claim claim_of(const struct verbs_pair *pair)
{
    uint32_t own = (uint32_t)pair->rail->endpoint->base.config.rank;
    uint32_t peer = (uint32_t)pair->lane->peer->rank;
    bool connects = verbs_rank_connects(pair);
    return (struct pair_claim){.from = htonl(connects ? own : peer),
                               .to = htonl(connects ? peer : own),
                               .lane = htonl((uint32_t)pair->lane->number),
                               .path = htonl((uint32_t)pair->path)};
}

static void nonce_put(uint64_t nonce, unsigned char bytes[8])
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(nonce >> 8 * i);
}

/* The proof of the rank that has this role. */
static void prove(const struct verbs_pair *pair, enum verbs_role role,
                  unsigned char proof[PROOF_BYTES])
{
    static const char label[] = "cctest verbs rdmacm";
    const struct verbs_endpoint *endpoint = pair->rail->endpoint;
    const struct pair_claim claim = claim_of(pair);
    const unsigned char direction = (unsigned char)role;
    bool connects = verbs_rank_connects(pair);
    unsigned char nonces[2][8]; /* of the rank that connects, and of the other */
    nonce_put(endpoint->address.nonce, nonces[!connects]);
    nonce_put(pair->lane->peer->address.nonce, nonces[connects]);
    crypto_generichash_state state;
    crypto_generichash_init(&state, endpoint->base.config.secret, SECRET_BYTES, PROOF_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)label, sizeof label);
    crypto_generichash_update(&state, &direction, 1);
    crypto_generichash_update(&state, nonces[0], sizeof nonces);
    crypto_generichash_update(&state, (const unsigned char *)&claim, sizeof claim);
    crypto_generichash_final(&state, proof, PROOF_BYTES);
}

static bool proof_holds(const struct verbs_pair *pair, enum verbs_role role,
                        const unsigned char *proof)
{
    unsigned char expected[PROOF_BYTES];
    prove(pair, role, expected);
    return sodium_memcmp(expected, proof, PROOF_BYTES) == 0;
}

void verbs_request_encode(const struct verbs_pair *pair, unsigned char request[VERBS_REQUEST_BYTES])
{
    const struct pair_claim claim = claim_of(pair);
    memcpy(request, &claim, sizeof claim);
    prove(pair, ROLE_REQUESTS, request + sizeof claim);
}

struct verbs_pair *verbs_request_find(const struct verbs_rail *rail, const unsigned char *request,
                                      size_t size)
{
    const struct verbs_endpoint *endpoint = rail->endpoint;
    struct pair_claim claim;
    if (size < VERBS_REQUEST_BYTES) /* InfiniBand adds zeros */
        return NULL;
    memcpy(&claim, request, sizeof claim);
    uint32_t from = ntohl(claim.from), lane = ntohl(claim.lane), path = ntohl(claim.path);
    if (from >= (uint32_t)endpoint->base.config.ranks)
        return NULL;
    const struct verbs_peer *peer = &endpoint->peers[from];
    if (lane >= (uint32_t)peer->lane_count || path >= (uint32_t)peer->lanes[lane]->pair_count)
        return NULL;
    struct verbs_pair *pair = &peer->lanes[lane]->pairs[path];
    const struct pair_claim expected = claim_of(pair);
    bool waits = pair->rail == rail && !pair->cm && !verbs_rank_connects(pair);
    return waits && memcmp(&claim, &expected, sizeof claim) == 0 &&
                   proof_holds(pair, ROLE_REQUESTS, request + sizeof claim)
               ? pair
               : NULL;
}

void verbs_answer_encode(const struct verbs_pair *pair, unsigned char answer[VERBS_ANSWER_BYTES])
{
    prove(pair, ROLE_ANSWERS, answer);
}

bool verbs_answer_holds(const struct verbs_pair *pair, const unsigned char *answer, size_t size)
{
    return size >= PROOF_BYTES && proof_holds(pair, ROLE_ANSWERS, answer);
}

/*
 * Connects queue pairs through librdmacm.
 */
#define WAIT_MS      5    /* between two ticks */
#define RESOLVE_MS   2000 /* for one attempt to find an address or a route, */
#define RESOLVE_MOST 3    /* of this many */

/* A rail that connects by librdmacm only; NULL: there is none. */
static const struct verbs_rail *iwarp_find(const struct verbs_endpoint *endpoint)
{
    for (int i = 0; i < endpoint->rail_count; i++)
        if (endpoint->rails[i].port.iwarp)
            return &endpoint->rails[i];
    return NULL;
}

enum status verbs_cm_open(struct verbs_endpoint *endpoint, char *reason)
{
    const struct verbs_rail *iwarp = iwarp_find(endpoint);
    const struct transport_setting *connect = &endpoint->settings[VERBS_CONNECT];
    if (iwarp && connect->given && connect->number == VERBS_CONNECT_EXCHANGE) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s is iWARP, which connects by librdmacm only: leave connect=exchange out",
                 iwarp->port.name);
        return STATUS_UNAVAILABLE;
    }
    if (!iwarp && !(connect->given && connect->number == VERBS_CONNECT_RDMACM))
        return STATUS_OK;
    const char *why = verbs_library_load_cm();
    if (why) {
        snprintf(reason, TRANSPORT_REASON_MOST, "connect=rdmacm needs another library: %s", why);
        return STATUS_UNAVAILABLE;
    }
    endpoint->cm = rdma_create_event_channel();
    if (!endpoint->cm) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "librdmacm cannot connect queue pairs (connect=rdmacm): %s; " VERBS_CM_ADVICE,
                 strerror(errno));
        return STATUS_UNAVAILABLE;
    }
    int flags = fcntl(endpoint->cm->fd, F_GETFL);
    fcntl(endpoint->cm->fd, F_SETFL, flags | O_NONBLOCK);
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++)
        status = verbs_listen(&endpoint->rails[i], reason);
    return status;
}

void verbs_cm_settle(struct verbs_endpoint *endpoint)
{
    for (int i = 0; i < endpoint->rail_count; i++)
        verbs_listen_end(&endpoint->rails[i]);
}

void verbs_cm_disconnect(struct verbs_pair *pair)
{
    if (pair->cm) {
        rdma_destroy_id(pair->cm);
        tick_on(pair->rail->endpoint->base.config.tick);
    }
    pair->cm = NULL;
}

void verbs_cm_close(struct verbs_endpoint *endpoint)
{
    verbs_cm_settle(endpoint);
    if (!endpoint->cm)
        return;
    rdma_destroy_event_channel(endpoint->cm);
    tick_on(endpoint->base.config.tick);
    endpoint->cm = NULL;
}

/* Failures. */

/* "NIC rxe0:1 of rank 1 cannot ... NIC rxe0:1 of rank 0 on host: ...". */
static enum status pair_failed(const struct verbs_pair *pair, enum failure_reason reason,
                               const char *what, const char *why)
{
    const struct verbs_peer *peer = pair->lane->peer;
    const struct verbs_endpoint *endpoint = pair->rail->endpoint;
    char text[MESSAGE_MOST];
    snprintf(text, sizeof text,
             "NIC %s of rank %d on %s %s NIC %s of rank %d on %s by librdmacm: %s",
             pair->rail->port.name, endpoint->base.config.rank, endpoint->address.host, what,
             peer->address.ports[pair->remote_rail].name, peer->rank, peer->address.host, why);
    if (reason == REASON_OWN)
        return fail(STATUS_ERROR, "%s", text);
    return fail_peer(reason, peer->rank, "%s", text);
}

static enum status call_failed(const struct verbs_pair *pair, const char *what)
{
    return pair_failed(pair, REASON_OWN, what, strerror(errno));
}

/* Queue pairs. */

/* On iWARP the kernel does it while it connects. */
static enum status pair_make_ready(struct verbs_pair *pair)
{
    static const enum ibv_qp_state states[] = {IBV_QPS_RTR, IBV_QPS_RTS};
    for (int i = 0; i < 2 && !pair->rail->port.iwarp; i++) {
        struct ibv_qp_attr attr = {.qp_state = states[i]};
        int mask = 0;
        if (rdma_init_qp_attr(pair->cm, &attr, &mask) != 0)
            return call_failed(pair, "has no way to");
        TRY(verbs_pair_change(pair, &attr, mask));
    }
    return STATUS_OK;
}

/* The parameters that both ends give for their queue pair. */
static struct rdma_conn_param pair_parameters(const struct verbs_pair *pair, const void *data,
                                              size_t size)
{
    return (struct rdma_conn_param){.private_data = data,
                                    .private_data_len = (uint8_t)size,
                                    .responder_resources = 1,
                                    .initiator_depth = 1,
                                    .retry_count = pair->rail->endpoint->patience.retries,
                                    .rnr_retry_count = VERBS_RNR_RETRIES,
                                    .srq = 1,
                                    .qp_num = pair->qp->qp_num};
}

static enum status pair_is_established(struct verbs_pair *pair)
{
    pair->established = true;
    return tick_on(pair->rail->endpoint->base.config.tick)
               ? STATUS_OK
               : fail(STATUS_ERROR, "stopped connecting, because the job has ended");
}

/* Does the other end name the queue pair that its rank has told of? iWARP does not name it. */
static bool is_from_peer(const struct verbs_pair *pair, const struct rdma_conn_param *said)
{
    return pair->rail->port.iwarp || said->qp_num == pair->remote_number;
}

static const struct verbs_port *pair_remote_port(const struct verbs_pair *pair)
{
    return &pair->lane->peer->address.ports[pair->remote_rail];
}

/* The end that connects. */

static enum status pair_resolve(struct verbs_pair *pair)
{
    struct verbs_endpoint *endpoint = pair->rail->endpoint;
    struct verbs_rail *rail = pair->rail;
    const struct verbs_port *port = pair_remote_port(pair);
    struct rdma_cm_id *id;
    int own, theirs;
    pair->resolved++;
    verbs_port_meet(rail, port, &own, &theirs);
    struct sockaddr_storage here = verbs_cm_address(&rail->port, own, 0, rail->scope);
    struct sockaddr_storage there = verbs_cm_address(port, theirs, port->cm_port, rail->scope);
    if (rdma_create_id(endpoint->cm, &id, pair, RDMA_PS_TCP) != 0)
        return call_failed(pair, "cannot connect to");
    pair->cm = id;
    return rdma_resolve_addr(id, (struct sockaddr *)&here, (struct sockaddr *)&there, RESOLVE_MS)
               ? call_failed(pair, "cannot look for")
               : STATUS_OK;
}

/* A neighbour may answer late when many ask at once. */
static enum status pair_resolve_again(struct verbs_pair *pair, int error)
{
    if (pair->resolved == RESOLVE_MOST)
        return pair_failed(pair, REASON_PEER_UNREACHABLE, "does not find", strerror(error));
    verbs_cm_disconnect(pair);
    return pair_resolve(pair);
}

static enum status pair_request(struct verbs_pair *pair)
{
    unsigned char request[VERBS_REQUEST_BYTES];
    verbs_request_encode(pair, request);
    struct rdma_conn_param parameters = pair_parameters(pair, request, sizeof request);
    return rdma_connect(pair->cm, &parameters) ? call_failed(pair, "cannot connect to") : STATUS_OK;
}

static enum status pair_take_answer(struct verbs_pair *pair, const struct rdma_conn_param *answer)
{
    if (!verbs_answer_holds(pair, answer->private_data, answer->private_data_len) ||
        !is_from_peer(pair, answer))
        return pair_failed(pair, REASON_OWN, "is answered in place of",
                           "what answers is not that rank");
    TRY(pair_make_ready(pair));
    if (!pair->rail->port.iwarp && rdma_establish(pair->cm) != 0)
        TRY(call_failed(pair, "cannot connect to"));
    return pair_is_established(pair);
}

/* The end that listens. */

static enum status request_take(struct rdma_cm_id *id, const struct verbs_rail *rail,
                                const struct rdma_conn_param *request)
{
    unsigned char answer[VERBS_ANSWER_BYTES];
    struct verbs_pair *pair =
        verbs_request_find(rail, request->private_data, request->private_data_len);
    if (!pair || !is_from_peer(pair, request)) {
        atomic_fetch_add(&rail->endpoint->base.rejected, 1);
        rdma_reject(id, NULL, 0);
        rdma_destroy_id(id);
        return STATUS_OK;
    }
    int own, theirs;
    verbs_port_meet(pair->rail, pair_remote_port(pair), &own, &theirs);
    pair->cm = id;
    id->context = pair;
    TRY(pair_make_ready(pair));
    verbs_answer_encode(pair, answer);
    struct rdma_conn_param parameters = pair_parameters(pair, answer, sizeof answer);
    return rdma_accept(id, &parameters) ? call_failed(pair, "cannot accept") : STATUS_OK;
}

/* Events. */

#define DATA_MOST 256

/* An event, acknowledged: its connection may be destroyed. */
struct cm_event {
    enum rdma_cm_event_type type;
    int status; /* a negative errno; of REJECTED: the CM's reason */
    struct rdma_cm_id *id;
    void *context;                /* a queue pair; of CONNECT_REQUEST: the rail */
    struct rdma_conn_param param; /* of requests and answers */
    unsigned char data[DATA_MOST];
};

/* False: there is none. */
static bool event_read(struct rdma_event_channel *channel, struct cm_event *event)
{
    struct rdma_cm_event *read;
    if (rdma_get_cm_event(channel, &read) != 0)
        return false;
    bool is_request = read->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    *event = (struct cm_event){.type = read->event,
                               .status = read->status,
                               .id = read->id,
                               .context = is_request ? read->listen_id->context : read->id->context,
                               .param = read->param.conn};
    if (read->param.conn.private_data)
        memcpy(event->data, read->param.conn.private_data, read->param.conn.private_data_len);
    else
        event->param.private_data_len = 0;
    event->param.private_data = event->data;
    rdma_ack_cm_event(read);
    return true;
}

#define REJECTED_NO_LISTENER 8  /* of InfiniBand's reasons */
#define REJECTED_BY_PEER     28 /* the peer has called rdma_reject() */

static enum status pair_refused(const struct verbs_pair *pair, const struct cm_event *event)
{
    char why[120];
    if (event->type != RDMA_CM_EVENT_REJECTED)
        snprintf(why, sizeof why, "%s (%s)", strerror(abs(event->status)),
                 rdma_event_str(event->type));
    else if (event->status == REJECTED_NO_LISTENER || event->status == -ECONNREFUSED)
        snprintf(why, sizeof why, "it does not listen (any more)");
    else if (event->status == REJECTED_BY_PEER)
        snprintf(why, sizeof why, "the process there is not a rank of this job");
    else
        snprintf(why, sizeof why, "it was rejected (%d)", event->status);
    return pair_failed(pair, REASON_PEER_UNREACHABLE, "cannot connect to", why);
}

static enum status event_handle(const struct cm_event *event)
{
    struct verbs_pair *pair = event->context;
    switch (event->type) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        return request_take(event->id, event->context, &event->param);
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return rdma_resolve_route(pair->cm, RESOLVE_MS) ? call_failed(pair, "has no route to")
                                                        : STATUS_OK;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return pair_request(pair);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
        return pair_resolve_again(pair, abs(event->status));
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        return pair_take_answer(pair, &event->param);
    case RDMA_CM_EVENT_ESTABLISHED: /* iWARP has no separate answer */
        if (pair->established)
            return STATUS_OK;
        return verbs_rank_connects(pair) ? pair_take_answer(pair, &event->param)
                                         : pair_is_established(pair);
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
        return pair_refused(pair, event);
    default:
        return STATUS_OK; /* the end of a connection shows in its completions */
    }
}

/* Waiting. */

/* The stage that all queue pairs of a call wait for. */
enum cm_stage { STAGE_ESTABLISHED, STAGE_GREETED };

static bool pair_is_at(const struct verbs_pair *pair, enum cm_stage stage)
{
    return stage == STAGE_ESTABLISHED ? pair->established
                                      : pair->greeted || !pair->rail->port.iwarp;
}

/* The queue pairs to these peers: calls `visit` until it fails. */
static enum status pairs_visit(struct verbs_endpoint *endpoint, const int *peers, int count,
                               enum status (*visit)(struct verbs_pair *pair))
{
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        const struct verbs_peer *peer = &endpoint->peers[peers[i]];
        for (struct verbs_pair *pair = NULL;
             status == STATUS_OK && (pair = verbs_peer_next(peer, pair));)
            status = visit(pair);
    }
    return status;
}

/* One that is not there yet; NULL: all are. */
static const struct verbs_pair *pair_missing(const struct verbs_endpoint *endpoint,
                                             const int *peers, int count, enum cm_stage stage)
{
    for (int i = 0; i < count; i++) {
        const struct verbs_peer *peer = &endpoint->peers[peers[i]];
        for (const struct verbs_pair *pair = NULL; (pair = verbs_peer_next(peer, pair));)
            if (!pair_is_at(pair, stage))
                return pair;
    }
    return NULL;
}

/* Handles what has happened since the last call. */
static enum status events_handle(struct verbs_endpoint *endpoint, enum cm_stage stage)
{
    struct cm_event event;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && event_read(endpoint->cm, &event))
        status = event_handle(&event);
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++)
        if (stage == STAGE_GREETED && endpoint->rails[i].cq)
            status = verbs_rail_poll(&endpoint->rails[i]);
    return status;
}

static enum status pairs_await(struct verbs_endpoint *endpoint, const int *peers, int count,
                               enum cm_stage stage)
{
    const struct verbs_pair *missing;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (missing = pair_missing(endpoint, peers, count, stage))) {
        struct pollfd set = {.fd = endpoint->cm->fd, .events = POLLIN};
        enum tick_answer answer = tick_wait(endpoint->base.config.tick, missing->lane->peer->rank);
        if (answer == TICK_ENDED)
            return fail(STATUS_ERROR, "stopped connecting, because the job has ended");
        if (answer == TICK_LATE)
            return pair_failed(missing, REASON_PEER_LATE, "waits for",
                               stage == STAGE_ESTABLISHED ? "it has not connected"
                                                          : "its first message has not come");
        poll(&set, 1, WAIT_MS);
        status = events_handle(endpoint, stage);
    }
    return status;
}

static enum status pair_begin(struct verbs_pair *pair)
{
    return pair->cm || !verbs_rank_connects(pair) ? STATUS_OK : pair_resolve(pair);
}

enum status verbs_cm_connect(struct verbs_endpoint *endpoint, const int *peers, int count)
{
    TRY(pairs_visit(endpoint, peers, count, pair_begin));
    return pairs_await(endpoint, peers, count, STAGE_ESTABLISHED);
}

static enum status pair_greet(struct verbs_pair *pair)
{
    bool greets = pair->rail->port.iwarp && verbs_rank_connects(pair) && !pair->greeted;
    pair->greeted |= greets;
    return greets ? verbs_pair_greet(pair) : STATUS_OK;
}

enum status verbs_cm_greet(struct verbs_endpoint *endpoint, const int *peers, int count)
{
    TRY(pairs_visit(endpoint, peers, count, pair_greet));
    return pairs_await(endpoint, peers, count, STAGE_GREETED);
}
