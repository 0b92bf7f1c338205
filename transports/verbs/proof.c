/*
 * proof.c - what two ranks prove to each other when librdmacm connects a queue pair of theirs.
 */
#include "transports/verbs/internal.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <string.h>

#define SECRET_BYTES 32
#define PROOF_BYTES  VERBS_ANSWER_BYTES

enum verbs_role { ROLE_REQUESTS, ROLE_ANSWERS };

/* Which queue pair a request is for, in network order. */
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
