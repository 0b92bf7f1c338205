/*
 * verbs.c - what the NICs of other ranks say before a queue pair connects: a rank's address, and
 * librdmacm's requests and answers, which any host of the network can send.
 *
 * Input: which of them it is, options as bits, then the bytes.
 */
#include <arpa/inet.h>

#include "transports/verbs/internal.h"
#include "fuzz.h"

#define RANKS      4
#define PATHS_EACH 2

/* Options that change what two ends must have alike. */
enum { MTU_GIVEN = 1, GID_GIVEN = 2, IWARP = 4, INFINIBAND = 8 };

static const unsigned char secret[32] = "the secret of this job";

/* Rank 1 of four, with one rail, and a lane with two queue pairs to each peer. */
static struct {
    struct verbs_endpoint endpoint;
    struct verbs_peer peers[RANKS];
    struct verbs_lane lanes[RANKS], *lane_of[RANKS];
    struct verbs_pair pairs[RANKS][PATHS_EACH];
    struct transport_setting settings[VERBS_OPTIONS];
} rank;

static struct verbs_rail *rank_make(unsigned options)
{
    struct verbs_endpoint *endpoint = &rank.endpoint;
    struct verbs_rail *rail = &endpoint->rails[0];
    memset(&rank, 0, sizeof rank);
    endpoint->base.config = (struct transport_config){.rank = 1, .ranks = RANKS, .secret = secret};
    endpoint->address = (struct verbs_address){.nonce = 77, .rail_count = 1};
    endpoint->peers = rank.peers;
    endpoint->rail_count = 1;
    rail->endpoint = endpoint;
    rail->port = (struct verbs_port){.name = "mlx5_0:1",
                                     .link_layer = options & INFINIBAND ? IBV_LINK_LAYER_INFINIBAND
                                                                        : IBV_LINK_LAYER_ETHERNET,
                                     .iwarp = (options & IWARP) != 0,
                                     .mtu = IBV_MTU_1024,
                                     .prefix = 24,
                                     .pkey = 0xffff};
    inet_pton(AF_INET6, "::ffff:10.0.0.1", rail->port.gid.raw);
    rank.settings[VERBS_MTU].given = options & MTU_GIVEN;
    rank.settings[VERBS_GID].given = options & GID_GIVEN;
    for (int peer = 0; peer < RANKS; peer++) {
        struct verbs_lane *lane = &rank.lanes[peer];
        rank.lane_of[peer] = lane;
        rank.peers[peer] = (struct verbs_peer){.rank = peer,
                                               .address.nonce = (uint64_t)peer,
                                               .lane_count = peer != 1,
                                               .lanes = &rank.lane_of[peer]};
        lane->peer = &rank.peers[peer];
        lane->pairs = rank.pairs[peer];
        lane->pair_count = PATHS_EACH;
        for (int path = 0; path < PATHS_EACH; path++)
            lane->pairs[path] = (struct verbs_pair){.rail = rail, .lane = lane, .path = path};
    }
    return rail;
}

static void try_address(const unsigned char *data, size_t size, unsigned options)
{
    struct verbs_rail *rail = rank_make(options);
    struct verbs_address address, again;
    unsigned char blob[TRANSPORT_ADDRESS_MOST];
    if (!verbs_address_decode(data, size, &address))
        return;
    require(address.rail_count >= 1 && address.rail_count <= VERBS_RAILS_MOST);
    require(address.home >= 0 && address.home < address.rail_count);
    require(strlen(address.host) < VERBS_HOST_MOST);
    for (int i = 0; i < address.rail_count; i++) {
        const struct verbs_port *port = &address.ports[i];
        char reason[TRANSPORT_REASON_MOST] = "";
        struct ibv_qp_attr attr = {0};
        require(strlen(port->name) < VERBS_NAME_MOST);
        const char *why = verbs_port_compare(rail, port, address.host, rank.settings, reason);
        require(!why || (why[0] && strlen(why) < TRANSPORT_REASON_MOST));
        if (why)
            continue;
        verbs_port_route(rail, port, rank.settings, &attr);
        require(attr.path_mtu >= IBV_MTU_256 && attr.path_mtu <= IBV_MTU_4096);
    }
    size_t length = verbs_address_encode(&address, blob);
    require(length == size && verbs_address_decode(blob, length, &again));
    require(again.nonce == address.nonce && again.rail_count == address.rail_count);
}

/* No stranger finds a queue pair: the seeds have the ones that ranks send. */
static void try_request(const unsigned char *data, size_t size, unsigned options)
{
    struct verbs_rail *rail = rank_make(options);
    unsigned char request[VERBS_REQUEST_BYTES], answer[VERBS_ANSWER_BYTES];
    struct verbs_pair *pair = verbs_request_find(rail, data, size);
    if (pair) {
        require(pair->lane->peer->rank > 1 && !verbs_rank_connects(pair));
        verbs_request_encode(pair, request);
        require(memcmp(request, data, sizeof request) == 0);
        pair->cm = (void *)pair; /* connected: there is no second one */
        require(!verbs_request_find(rail, data, size));
    }
    pair = &rank.pairs[0][0];
    require(verbs_rank_connects(pair));
    verbs_answer_encode(pair, answer);
    require(!verbs_answer_holds(pair, data, size) || memcmp(answer, data, sizeof answer) == 0);
}

enum { ADDRESS, REQUEST, KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    unsigned kind = input_u8(&input) % KINDS, options = input_u8(&input);
    if (kind == ADDRESS)
        try_address(input.at, input.left, options);
    else
        try_request(input.at, input.left, options);
    return 0;
}

static void seed(const char *name, int kind, unsigned options, const void *data, size_t size)
{
    struct bytes bytes = {0};
    const unsigned char head[] = {(unsigned char)kind, (unsigned char)options};
    bytes_put(&bytes, head, sizeof head);
    bytes_put(&bytes, data, size);
    fuzz_seed(name, bytes.data, bytes.size);
    bytes_free(&bytes);
}

void fuzz_seeds(void)
{
    struct verbs_rail *rail = rank_make(0);
    struct verbs_address address = {.nonce = 5, .host = "n1"};
    unsigned char blob[TRANSPORT_ADDRESS_MOST], request[VERBS_REQUEST_BYTES],
        answer[VERBS_ANSWER_BYTES];
    for (int i = 0; i < VERBS_RAILS_MOST; i++)
        address.ports[i] = rail->port;
    address.rail_count = 1;
    require(verbs_address_decode(blob, verbs_address_encode(&address, blob), &address));
    seed("address", ADDRESS, 0, blob, verbs_address_encode(&address, blob));
    seed("address-infiniband", ADDRESS, INFINIBAND, blob, verbs_address_encode(&address, blob));
    address.ports[0].other_count = 1;
    address.ports[0].others[0] = (struct verbs_subnet){.address = {10, 1, 0, 1}, .prefix = 16};
    seed("address-subnets", ADDRESS, 0, blob, verbs_address_encode(&address, blob));
    address.ports[0].mtu = IBV_MTU_4096;
    seed("address-mtu", ADDRESS, MTU_GIVEN, blob, verbs_address_encode(&address, blob));
    address.ports[1].gid.raw[14] = 7;
    address.rail_count = VERBS_RAILS_MOST;
    address.home = VERBS_RAILS_MOST - 1;
    seed("address-rails", ADDRESS, GID_GIVEN, blob, verbs_address_encode(&address, blob));
    verbs_request_encode(&rank.pairs[2][1], request);
    require(verbs_request_find(rail, request, sizeof request) == &rank.pairs[2][1]);
    seed("request", REQUEST, 0, request, sizeof request);
    verbs_answer_encode(&rank.pairs[0][0], answer);
    seed("answer", REQUEST, 0, answer, sizeof answer);
}
